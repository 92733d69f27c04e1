//! Ways out of the workspace or out of a scope, none of which may work.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};

use offshoot::workspace::existence::Existence;
use serde_json::json;

use crate::ground::{Ground, scopes};

/// A tree with every kind of way out. Each file says where it lies; what lies outside says LEAKED,
/// and one name there is never asked for.
pub fn prison() -> Ground {
    let ground = Ground::new();
    ground
        .outside_file("s.txt", "LEAKED")
        .outside_file("deep/d.txt", "LEAKED")
        .outside_file("LEAKED-name", "LEAKED")
        .outside_file("deep/LEAKED-name", "LEAKED");
    ground
        .file("in/i.txt", "MARK-in\n")
        .file("src/a.rs", "MARK-src\n")
        .file("src/deep/b.rs", "MARK-src\n")
        .file("srcx/x.rs", "MARK-xcrs\n")
        .file("docs/a.md", "MARK-docs-a\n")
        .file("docs/b.md", "MARK-docs-b\n");
    ground
        .link("out", "../outside")
        .link("out-slash", "../outside/")
        .link("out-absolute", ground.outside())
        .link("out-file", "../outside/s.txt")
        .link("out-file-absolute", ground.outside().join("s.txt"))
        .link("out-long-way", "in/../src/deep/../../../outside")
        .link("chain-1", "chain-2")
        .link("chain-2", "in/chain-3")
        .link("in/chain-3", "../../outside/s.txt")
        .link("in/up", "../../outside")
        .link("parent", "..")
        .link("in/grandparent", "../..")
        .link("loop-a", "loop-b")
        .link("loop-b", "loop-a")
        .link("itself", "itself")
        .link("root", "/")
        .link("etc", "/etc")
        .link("cwd", "/proc/self/cwd")
        .link("proc-root", "/proc/self/root")
        .link("fds", "/proc/self/fd")
        .link("dangling-out", "../outside/nothing")
        .link("dangling", "nothing");
    ground
        .link("src/to-in", "../in")
        .link("src/to-file", "../in/i.txt")
        .link("src/to-srcx", "../srcx")
        .link("src/to-root", "..")
        .link("src/within", "deep")
        .link("scope-link", "in")
        .link("docs/c.md", "b.md");
    fs::hard_link(ground.root().join("in/i.txt"), ground.root().join("hard.txt")).unwrap();
    ground
}

/// What each tool answers for a path.
pub fn tools_on(ground: &Ground, scopes: &[&str], path: &str) -> [(bool, String); 3] {
    let calls = [
        ("read_file", json!({"path": path})),
        ("list_files", json!({"path": path, "depth": 8, "hidden": true})),
        ("search", json!({"path": path, "pattern": "."})),
    ];
    calls.map(|(tool, arguments)| {
        let output = ground.call_within(scopes, tool, arguments);
        (output.ok, output.text)
    })
}

/// True if a text holds anything from outside.
pub fn leaks(text: &str) -> bool {
    text.contains("LEAKED") || text.contains("root:")
}

#[test]
#[expect(clippy::too_many_lines, reason = "a long table")]
fn no_path_leads_out_of_the_workspace() {
    let ground = prison();
    let absolute = |rest: &str| ground.root().join(rest).to_str().unwrap().to_owned();
    let outside = ground.outside().to_str().unwrap().to_owned();
    let long_name = "x".repeat(300);
    let long_path = "x/".repeat(2_500);
    let deep_up = "../".repeat(60) + "etc/passwd";
    let refused = [
        "..",
        "../",
        "../outside",
        "../outside/s.txt",
        "../ws/in/i.txt",
        "./../outside",
        "in/../../outside/s.txt",
        "in/..",
        "in/../in/i.txt",
        "in/i.txt/..",
        "src/deep/../../../outside",
        &deep_up,
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "///etc//passwd",
        "/etc/../etc/passwd",
        "/proc/self/cwd/Cargo.toml",
        "/proc/self/root/etc/passwd",
        "/dev/stdin",
        "/dev/zero",
        &outside,
        &format!("{outside}/s.txt"),
        &absolute("../outside/s.txt"),
        &absolute(".."),
        &format!("{}x/a", absolute("")),
        &format!("{}-outside", absolute("in")),
        "out",
        "out/",
        "out/.",
        "./out",
        "out/s.txt",
        "out//s.txt",
        "out/deep",
        "out/deep/d.txt",
        "out/nothing",
        "out-slash/s.txt",
        "out-absolute",
        "out-absolute/s.txt",
        "out-file",
        "out-file/",
        "out-file-absolute",
        "out-long-way",
        "out-long-way/s.txt",
        "chain-1",
        "chain-2",
        "in/chain-3",
        "in/up",
        "in/up/s.txt",
        "parent",
        "parent/outside/s.txt",
        "parent/ws",
        "in/grandparent/outside",
        "loop-a",
        "loop-a/x",
        "itself",
        "root",
        "root/etc/passwd",
        "etc",
        "etc/passwd",
        "cwd",
        "cwd/Cargo.toml",
        "proc-root/etc/passwd",
        "fds",
        "fds/0",
        "fds/1",
        "dangling-out",
        "dangling",
        "OUT",
        "In/I.txt",
        "out ",
        " out",
        "out.",
        "...",
        ". .",
        "…",
        "..\\outside\\s.txt",
        "%2e%2e/outside",
        "..%2foutside",
        "~",
        "~/",
        "~root",
        "$HOME",
        "${PWD}",
        "file:///etc/passwd",
        "C:\\Windows",
        "\\\\server\\share",
        "in/i.txt/x",
        "in/i.txt\0",
        "\0",
        "in\0/../../outside",
        &long_name,
        &long_path,
        "in/\u{202e}txt.i",
        "*",
        "in/*",
        "src/**",
        "\n",
        "-",
        "--help",
    ];
    for path in refused {
        for (ok, text) in tools_on(&ground, &["."], path) {
            assert!(!ok, "{path:?} was answered with: {text}");
            assert!(!leaks(&text), "{path:?} leaks: {text}");
        }
    }
    assert!(refused.len() >= 40);
}

#[test]
fn paths_that_stay_inside_are_read() {
    let ground = prison();
    let absolute = ground.root().join("in/i.txt").to_str().unwrap().to_owned();
    let inside = [
        "in/i.txt",
        "./in/i.txt",
        "in//i.txt",
        "in/./i.txt",
        "in/i.txt/",
        &absolute,
        "scope-link/i.txt",
        "src/to-in/i.txt",
        "src/to-file",
        "src/to-root/in/i.txt",
        "hard.txt",
    ];
    for path in inside {
        let output = ground.call("read_file", json!({"path": path}));
        assert!(output.ok && output.text.ends_with("1\tMARK-in"), "{path}: {}", output.text);
    }
    // The real path counts where the workspace was opened through a link.
    symlink(ground.root(), ground.outside().join("door")).unwrap();
    let through = offshoot::workspace::Workspace::open(&ground.outside().join("door")).unwrap();
    for path in [&absolute, ground.outside().join("door/in/i.txt").to_str().unwrap()] {
        assert_eq!(through.normalise(path).unwrap(), "in/i.txt");
    }
}

#[test]
fn a_whole_listing_and_search_hold_nothing_from_outside() {
    let ground = prison();
    for (ok, text) in tools_on(&ground, &["."], ".").into_iter().skip(1) {
        assert!(ok && !leaks(&text), "{text}");
    }
    let output = ground.call("search", json!({"pattern": "LEAK(ED)"}));
    assert!(output.ok && output.text.starts_with("no match for `LEAK(ED)`"), "{}", output.text);
}

#[test]
fn no_path_leads_out_of_a_scope() {
    let ground = prison();
    let escapes: &[(&[&str], &str)] = &[
        (&["src"], "in/i.txt"),
        (&["src"], "in"),
        (&["src"], "srcx"),
        (&["src"], "srcx/x.rs"),
        (&["src"], "sr"),
        (&["src"], "SRC/a.rs"),
        (&["src"], "src /a.rs"),
        (&["src"], "src/to-in"),
        (&["src"], "src/to-in/i.txt"),
        (&["src"], "src/to-file"),
        (&["src"], "src/to-srcx/x.rs"),
        (&["src"], "src/to-root"),
        (&["src"], "src/to-root/in/i.txt"),
        (&["src"], "src/../in/i.txt"),
        (&["src"], "hard.txt"),
        (&["src/**"], "src/to-in/i.txt"),
        (&["src/deep"], "src/a.rs"),
        (&["src/deep"], "src/within/b.rs"),
        (&["src/within"], "src/within/b.rs"),
        (&["src/to-in"], "src/to-in/i.txt"),
        (&["scope-link"], "scope-link"),
        (&["scope-link"], "scope-link/i.txt"),
        (&["scope-link/i.txt"], "scope-link/i.txt"),
        (&["docs/a.md"], "docs/b.md"),
        (&["docs/a.md"], "docs/a.md/../b.md"),
        (&["docs/c.md"], "docs/c.md"),
        (&["docs/a.m"], "docs/a.md"),
        (&["out"], "out"),
        (&["out"], "out/s.txt"),
        (&["out/deep"], "out/deep/d.txt"),
        (&["out-file"], "out-file"),
        (&["nothing"], "in/i.txt"),
        (&["src", "docs"], "in/i.txt"),
        (&[], "."),
        (&[], "in/i.txt"),
    ];
    for (scopes, path) in escapes {
        for (ok, text) in tools_on(&ground, scopes, path) {
            assert!(!ok, "{path} in {scopes:?} was answered with: {text}");
            assert!(!text.contains("MARK") && !leaks(&text), "{path}: {text}");
        }
    }
}

#[test]
fn a_refusal_does_not_tell_what_exists_beyond_the_scope() {
    let ground = prison();
    let refusal = |path: &str| {
        let text = ground.call_within(&["src"], "read_file", json!({"path": path})).text;
        text.replace(path, "PATH")
    };
    assert_eq!(refusal("in/i.txt"), refusal("in/nothing"));
    assert_eq!(refusal("src/to-in/i.txt"), refusal("src/to-in/nothing"));
    assert!(refusal("in/i.txt").ends_with("which is: `src`"), "{}", refusal("in/i.txt"));
}

#[test]
fn a_folder_above_the_scopes_shows_the_scopes_and_nothing_else() {
    let ground = prison();
    let output = ground.call_within(&["src/deep", "docs/a.md"], "list_files", json!({}));
    assert!(output.ok);
    assert_eq!(
        output.text,
        "(2 entries in the parts of the workspace that this run may see)\n\
         docs/a.md  12 B\n\
         src/deep/b.rs  9 B"
    );
    let output =
        ground.call_within(&["src/deep", "docs/a.md"], "search", json!({"pattern": "MARK"}));
    assert!(output.text.contains("docs/a.md:1:MARK-docs-a\nsrc/deep/b.rs:1:MARK-src"));
    assert!(!output.text.contains("MARK-in") && !output.text.contains("src/a.rs"));
}

#[test]
fn evidence_is_looked_up_within_the_scopes() {
    let ground = prison();
    ground.file("three.txt", "1\n2\n3").folder("src/empty").fifo("src/pipe");
    let all = scopes(&["."]);
    let src = scopes(&["src"]);
    let absolute = ground.root().join("three.txt").to_str().unwrap().to_owned();
    let one_line = Existence::File { lines: Some(1) };
    let table = [
        (&all, "three.txt", Existence::File { lines: Some(3) }),
        (&all, absolute.as_str(), Existence::File { lines: Some(3) }),
        (&all, "src/empty", Existence::Folder),
        (&all, ".", Existence::Folder),
        (&all, "nothing", Existence::Missing),
        (&all, "loop-a", Existence::Unreadable),
        (&all, "in/i.txt/x", Existence::Missing),
        (&all, "../outside/s.txt", Existence::OutOfScope),
        (&all, "/etc/passwd", Existence::OutOfScope),
        (&all, "out/s.txt", Existence::OutOfScope),
        (&all, "out/nothing", Existence::OutOfScope),
        (&all, "src/pipe", Existence::File { lines: None }),
        (&src, "src/a.rs", one_line),
        (&src, "src/within/b.rs", one_line),
        (&src, "three.txt", Existence::OutOfScope),
        (&src, "no-such", Existence::OutOfScope),
        (&src, "src/to-file", Existence::OutOfScope),
        (&src, ".", Existence::OutOfScope),
    ];
    for (scopes, path, right) in table {
        assert_eq!(ground.workspace().exists(scopes, path), right, "{path}");
    }
}

#[test]
fn a_folder_that_is_swapped_for_a_link_again_and_again_never_lets_out() {
    let ground = prison();
    ground.file("flip/s.txt", "harmless");
    let (flip, aside) = (ground.root().join("flip"), ground.root().join("aside"));
    symlink("../outside", &aside).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let swap = rustix::fs::RenameFlags::EXCHANGE;
                let here = rustix::fs::CWD;
                rustix::fs::renameat_with(here, &flip, here, &aside, swap).unwrap();
            }
        });
        for _ in 0..200 {
            for (tool, arguments) in [
                ("read_file", json!({"path": "flip/s.txt"})),
                ("search", json!({"pattern": "^LEAK(ED)", "path": "flip"})),
                ("search", json!({"pattern": "^LEAK(ED)"})),
            ] {
                let text = ground.call(tool, arguments).text;
                assert!(!leaks(&text), "{text}");
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn names_that_are_no_utf_8_or_no_line_are_listed_safely() {
    let ground = Ground::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xE9.txt");
    fs::write(ground.root().join(name), "needle").unwrap();
    ground.file("two\nlines\u{1b}[2J.txt", "needle").file("\u{202e}txt.exe", "needle");
    let listed = ground.call("list_files", json!({})).text;
    let right = "(3 entries in the workspace)\n\
                 caf\u{FFFD}.txt  6 B\n\
                 two\\nlines\\u{1b}[2J.txt  6 B\n\
                 \\u{202e}txt.exe  6 B";
    assert_eq!(listed, right);
    let found = ground.call("search", json!({"pattern": "needle"})).text;
    assert!(found.contains("caf\u{FFFD}.txt:1:needle"), "{found}");
    assert!(found.contains("two\\nlines\\u{1b}[2J.txt:1:needle"), "{found}");
}
