//! Ways to write out of the workspace or out of a scope: none changes anything that it may not, each
//! is answered with the right reason, and nothing is left behind.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::escapes::{leaks, prison};
use crate::ground::{Ground, inventory, temporaries};
use crate::soak::rounds;

/// Why a call was not made, in the words that tell it.
#[derive(Debug, Clone, Copy)]
enum Why {
    Up,
    Outside,
    Link,
    Loop,
    Nul,
    TooLong,
    LongName,
    Scope,
    Special,
    Folder,
    NotAFolder,
    DeadLink,
}

impl Why {
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Up => &["contains `..`"],
            Self::Outside => &["is outside of the workspace"],
            Self::Link => &["leads through a symbolic link out of what this run may see"],
            Self::Loop => &["links that go round in circles"],
            Self::Nul => &["may not contain a NUL"],
            Self::TooLong => &["no path has more than"],
            Self::LongName => &["a name that is too long"],
            Self::Scope => &["is outside of what this run may see"],
            Self::Special => &["it is not written"],
            Self::Folder => &["is a folder", "names a folder"],
            Self::NotAFolder => &["goes through something that is not a folder"],
            Self::DeadLink => &["a symbolic link that leads to nothing"],
        }
    }
}

/// The calls that would change a path, and those that would read it.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    let edit = json!({"path": path, "old_text": "LEAKED", "new_text": "CHANGED"});
    let edits = json!({"path": path, "edits": [{"old_text": "MARK", "new_text": "CHANGED"}]});
    vec![
        ("write_file", json!({"path": path, "content": "CHANGED"})),
        ("edit_file", edit),
        ("edit_file", edits),
    ]
}

fn check(ground: &Ground, scopes: &[&str], path: &str, why: Why) {
    let run = ground.run(scopes);
    // A model that had read everything is refused in the same way.
    run.call("read_file", json!({"path": path}));
    for (tool, arguments) in calls(path) {
        let shown = run.preview(tool, &arguments).expect_err(path);
        let output = run.call(tool, arguments);
        for text in [&shown, &output.text] {
            let told = why.words().iter().any(|words| text.contains(words));
            assert!(told, "{tool} {path:?} in {scopes:?}, not {why:?}: {text}");
            assert!(!leaks(text) && text.len() < 1_000, "{path:?}: {text}");
        }
        assert!(!output.ok && output.effects.wrote.is_empty(), "{tool} {path:?}");
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a long table")]
fn no_write_leads_out_of_the_workspace() {
    let ground = prison();
    ground.fifo("pipe").socket("sock").link("to-pipe", "pipe").link("dead", "none/deeper");
    let absolute = |rest: &str| ground.root().join(rest).to_str().unwrap().to_owned();
    let outside = ground.outside().to_str().unwrap().to_owned();
    let (long_name, long_path) = ("x".repeat(300), "x/".repeat(2_500));
    let deep_up = "../".repeat(60) + "etc/passwd";
    let table: Vec<(&str, Why)> = vec![
        ("..", Why::Up),
        ("../outside/s.txt", Why::Up),
        ("../outside/new.txt", Why::Up),
        ("../ws/in/i.txt", Why::Up),
        ("./../outside/s.txt", Why::Up),
        ("in/../../outside/s.txt", Why::Up),
        ("in/../in/i.txt", Why::Up),
        ("src/deep/../../../outside/new/deep.txt", Why::Up),
        ("new/../../outside/s.txt", Why::Up),
        (&deep_up, Why::Up),
        ("/etc/../etc/passwd", Why::Up),
        ("/etc/offshoot-was-here", Why::Outside),
        ("//etc/offshoot-was-here", Why::Outside),
        ("///tmp//offshoot-was-here", Why::Outside),
        ("/", Why::Folder),
        ("/proc/self/cwd/offshoot-was-here", Why::Outside),
        ("/proc/self/root/etc/offshoot-was-here", Why::Outside),
        ("/proc/self/fd/1", Why::Outside),
        ("/proc/self/mem", Why::Outside),
        ("/dev/null", Why::Outside),
        ("/dev/stdout", Why::Outside),
        (&outside, Why::Outside),
        ("out", Why::Link),
        ("out/s.txt", Why::Link),
        ("out//s.txt", Why::Link),
        ("./out/./s.txt", Why::Link),
        ("out/new.txt", Why::Link),
        ("out/new/deeper/new.txt", Why::Link),
        ("out/deep/d.txt", Why::Link),
        ("out-slash/s.txt", Why::Link),
        ("out-absolute", Why::Link),
        ("out-absolute/new.txt", Why::Link),
        ("out-file", Why::Link),
        ("out-file-absolute", Why::Link),
        ("out-long-way/s.txt", Why::Link),
        ("chain-1", Why::Link),
        ("chain-2", Why::Link),
        ("in/chain-3", Why::Link),
        ("in/up/s.txt", Why::Link),
        ("in/up/new.txt", Why::Link),
        ("parent/outside/s.txt", Why::Link),
        ("parent/ws/in/i.txt", Why::Link),
        ("parent/new.txt", Why::Link),
        ("in/grandparent/new.txt", Why::Link),
        ("dangling-out", Why::Link),
        ("dangling-out/new.txt", Why::Link),
        ("root/etc/offshoot-was-here", Why::Link),
        ("etc/offshoot-was-here", Why::Link),
        ("cwd/offshoot-was-here", Why::Link),
        ("proc-root/etc/offshoot-was-here", Why::Link),
        ("fds/1", Why::Link),
        ("loop-a", Why::Loop),
        ("loop-a/x", Why::Loop),
        ("itself", Why::Loop),
        ("dangling/new.txt", Why::DeadLink),
        ("dead/new.txt", Why::DeadLink),
        ("in/i.txt\0", Why::Nul),
        ("\0", Why::Nul),
        ("in\0/../../outside/s.txt", Why::Nul),
        (&long_name, Why::LongName),
        (&long_path, Why::Folder),
        ("pipe", Why::Special),
        ("to-pipe", Why::Special),
        ("sock", Why::Special),
        ("in", Why::Folder),
        ("in/", Why::Folder),
        ("in/.", Why::Folder),
        (".", Why::Folder),
        ("", Why::Folder),
        ("scope-link", Why::Folder),
        ("new-folder/", Why::Folder),
        ("in/i.txt/x", Why::NotAFolder),
        ("in/i.txt/x/y", Why::NotAFolder),
        ("hard.txt/x", Why::NotAFolder),
    ];
    assert!(table.len() >= 60, "{}", table.len());
    let before = (inventory(&ground.outside()), inventory(&ground.root()));
    for (path, why) in table {
        check(&ground, &["."], path, why);
    }
    let longer = "x/".repeat(2_500) + "y";
    let owned = [
        (absolute("../outside/s.txt"), Why::Up),
        (absolute(".."), Why::Up),
        (format!("{}-outside/new", absolute("in").trim_end_matches("/in")), Why::Outside),
        (format!("{outside}/s.txt"), Why::Outside),
        (format!("{outside}/new.txt"), Why::Outside),
        (absolute("out/s.txt"), Why::Link),
        (absolute("in"), Why::Folder),
        (longer, Why::TooLong),
    ];
    for (path, why) in owned {
        check(&ground, &["."], &path, why);
    }
    assert_eq!((inventory(&ground.outside()), inventory(&ground.root())), before);
    assert!(
        fs::read_dir("/etc")
            .unwrap()
            .all(|entry| entry.unwrap().file_name() != "offshoot-was-here")
    );
}

/// Spellings that other systems or shells would take for something else are plain names here: what
/// they make lies in the workspace.
#[test]
fn odd_names_are_names_inside() {
    let ground = prison();
    let outside = inventory(&ground.outside());
    let names = [
        "OUT/s.txt",
        "In/I.txt",
        "out ",
        " out",
        "out.",
        "...",
        ". .",
        "…",
        "~",
        "~root",
        "$HOME",
        "${PWD}/x",
        "..\\outside\\s.txt",
        "%2e%2e/outside",
        "..%2foutside",
        "C:\\Windows",
        "\\\\server\\share",
        "*",
        "src/**x",
        "-",
        "--help",
        "a\nb",
        "\u{202e}txt.i",
        "in/trailing..",
        "file:",
        "nul",
        "con.txt",
        "a b",
        "子.txt",
        "e\u{301}",
        "é",
    ];
    for name in names {
        let output = ground.call("write_file", json!({"path": name, "content": "CHANGED"}));
        assert!(
            output.ok && output.text.contains("(7 B, 1 line, new)"),
            "{name:?}: {}",
            output.text
        );
        assert_eq!(output.effects.wrote, [name]);
        assert_eq!(ground.read(name), b"CHANGED", "{name:?}");
    }
    assert_eq!(inventory(&ground.outside()), outside);
    assert_eq!(temporaries(&ground.root()), Vec::<String>::new());
}

#[test]
fn no_write_leads_out_of_a_scope() {
    let ground = prison();
    let table: &[(&[&str], &str, Why)] = &[
        (&["src"], "in/i.txt", Why::Scope),
        (&["src"], "in/new.txt", Why::Scope),
        (&["src"], "new.txt", Why::Scope),
        (&["src"], "srcx/x.rs", Why::Scope),
        (&["src"], "srcx/new.rs", Why::Scope),
        (&["src"], "sr", Why::Scope),
        (&["src"], "SRC/a.rs", Why::Scope),
        (&["src"], "src /a.rs", Why::Scope),
        (&["src"], "src./a.rs", Why::Scope),
        (&["src"], "hard.txt", Why::Scope),
        (&["src"], "src", Why::Folder),
        (&["src"], "src/to-in/i.txt", Why::Link),
        (&["src"], "src/to-in/new.txt", Why::Link),
        (&["src"], "src/to-file", Why::Link),
        (&["src"], "src/to-srcx/x.rs", Why::Link),
        (&["src"], "src/to-root/in/i.txt", Why::Link),
        (&["src"], "src/to-root/src/a.rs", Why::Link),
        (&["src"], "src/../in/i.txt", Why::Up),
        (&["src/**"], "src/to-in/new/deep.txt", Why::Link),
        (&["src/deep"], "src/a.rs", Why::Scope),
        (&["src/deep"], "src/within/b.rs", Why::Scope),
        (&["src/within"], "src/within/b.rs", Why::Link),
        (&["src/within"], "src/within/new.rs", Why::Link),
        (&["scope-link"], "scope-link/i.txt", Why::Link),
        (&["scope-link"], "scope-link", Why::Link),
        (&["docs/a.md"], "docs/b.md", Why::Scope),
        (&["docs/a.md"], "docs/new.md", Why::Scope),
        (&["docs/a.md"], "docs/a.md/x", Why::NotAFolder),
        (&["docs/c.md"], "docs/c.md", Why::Link),
        (&["docs/a.m"], "docs/a.md", Why::Scope),
        (&["out"], "out/s.txt", Why::Link),
        (&["out"], "out/new.txt", Why::Link),
        (&["out-file"], "out-file", Why::Link),
        (&["dangling-out"], "dangling-out", Why::Link),
        (&["dangling"], "dangling/new.txt", Why::Link),
        (&["/etc"], "/etc/offshoot-was-here", Why::Outside),
        (&[], "in/i.txt", Why::Scope),
        (&[], "new.txt", Why::Scope),
    ];
    let before = (inventory(&ground.outside()), inventory(&ground.root()));
    for (scopes, path, why) in table {
        check(&ground, scopes, path, *why);
    }
    assert_eq!((inventory(&ground.outside()), inventory(&ground.root())), before);
}

#[test]
fn a_refused_write_does_not_tell_what_exists_beyond_the_scope() {
    let ground = prison();
    let refusal = |path: &str| {
        let call = json!({"path": path, "content": "x"});
        ground.call_within(&["src"], "write_file", call).text.replace(path, "PATH")
    };
    assert_eq!(refusal("in/i.txt"), refusal("in/nothing"));
    assert_eq!(refusal("src/to-in/i.txt"), refusal("src/to-in/nothing"));
    assert_eq!(refusal("in"), refusal("nothing"));
}

#[test]
fn a_device_in_the_workspace_itself_is_not_written() {
    let devices = offshoot::workspace::Workspace::open(std::path::Path::new("/dev")).unwrap();
    for path in ["null", "zero", "full", "tty", "random"] {
        let error = devices.spot(&crate::ground::scopes(&["."]), path).unwrap_err().to_string();
        assert!(error.ends_with("is a device; it is not written"), "{error}");
    }
}

#[test]
fn a_name_that_is_no_utf_8_cannot_be_written_to_by_any_spelling() {
    let ground = Ground::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xE9.txt");
    fs::write(ground.root().join(name), "old").unwrap();
    symlink(name, ground.root().join("link")).unwrap();
    let output = ground
        .call("edit_file", json!({"path": "caf\u{fffd}.txt", "old_text": "old", "new_text": "x"}));
    assert!(output.text.starts_with("there is no `caf\u{fffd}.txt`"), "{}", output.text);
    let output =
        ground.call("edit_file", json!({"path": "link", "old_text": "old", "new_text": "x"}));
    assert!(!output.ok, "{}", output.text);
    assert_eq!(fs::read(ground.root().join(name)).unwrap(), b"old");
}

/// Swaps two names again and again while `work` runs.
fn swapping(one: &std::path::Path, other: &std::path::Path, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let (swap, here) = (rustix::fs::RenameFlags::EXCHANGE, rustix::fs::CWD);
                rustix::fs::renameat_with(here, one, here, other, swap).unwrap();
            }
        });
        // Also when the work panics, or the thread would never end.
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        done.store(true, Ordering::Relaxed);
        if let Err(fault) = ended {
            std::panic::resume_unwind(fault);
        }
    });
}

#[test]
fn a_folder_that_is_swapped_for_a_link_again_and_again_never_lets_a_write_out() {
    let ground = prison();
    ground.file("flip/s.txt", "harmless 0\n");
    let (flip, aside) = (ground.root().join("flip"), ground.root().join("aside"));
    symlink("../outside", &aside).unwrap();
    let outside = inventory(&ground.outside());
    let mut written = 0;
    swapping(&flip, &aside, || {
        for round in 0..rounds(300, 10_000) {
            let run = ground.run(&["."]);
            let edit = json!({"path": "flip/s.txt", "edits": [
                {"old_text": "harmless", "new_text": format!("harmless {round}")},
            ]});
            for (tool, arguments) in [
                ("edit_file", edit),
                (
                    "write_file",
                    json!({"path": format!("flip/{round}/n.txt"), "content": "CHANGED"}),
                ),
                ("write_file", json!({"path": "flip/new.txt", "content": format!("{round}")})),
                ("read_file", json!({"path": "flip/s.txt"})),
            ] {
                let output = run.call(tool, arguments);
                assert!(!leaks(&output.text), "{}", output.text);
                written += usize::from(!output.effects.wrote.is_empty());
            }
            if round % 50 == 0 {
                assert_eq!(inventory(&ground.outside()), outside, "round {round}");
            }
        }
    });
    assert_eq!(inventory(&ground.outside()), outside);
    assert_eq!(temporaries(&ground.root()), Vec::<String>::new());
    assert!(written > 0, "no write found the folder in place");
}

#[test]
fn a_file_that_is_swapped_for_a_link_again_and_again_is_never_written_through() {
    let ground = prison();
    ground.file("flip.txt", "harmless\n");
    let (flip, aside) = (ground.root().join("flip.txt"), ground.root().join("aside.txt"));
    symlink("../outside/s.txt", &aside).unwrap();
    let outside = inventory(&ground.outside());
    swapping(&flip, &aside, || {
        for round in 0..rounds(300, 10_000) {
            let run = ground.run(&["."]);
            run.call("read_file", json!({"path": "flip.txt"}));
            let content = format!("harmless {round}\n");
            let output = run.call("write_file", json!({"path": "flip.txt", "content": content}));
            assert!(!leaks(&output.text), "{}", output.text);
            let edit = json!({"path": "flip.txt", "old_text": "harmless", "new_text": "harmless "});
            assert!(!leaks(&run.call("edit_file", edit).text));
        }
    });
    assert_eq!(inventory(&ground.outside()), outside);
    assert_eq!(temporaries(&ground.root()), Vec::<String>::new());
}
