//! What `write_file` leaves on the disk and says about it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use offshoot::domain::approval::PreviewBody;
use serde_json::json;

use crate::ground::{Ground, inventory, temporaries};

fn mode(ground: &Ground, path: &str) -> u32 {
    fs::metadata(ground.root().join(path)).unwrap().mode() & 0o7777
}

fn set_mode(ground: &Ground, path: &str, mode: u32) {
    fs::set_permissions(ground.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_new_file_is_written_with_its_folders_and_told_in_numbers() {
    let ground = Ground::new();
    let output = ground.call("write_file", json!({"path": "src/new/a.rs", "content": "one\ntwo"}));
    assert_eq!(output.text, "wrote src/new/a.rs (7 B, 2 lines, new)\nfolders made: src, src/new");
    assert_eq!((output.ok, output.effects.wrote), (true, vec!["src/new/a.rs".to_owned()]));
    assert_eq!(ground.read("src/new/a.rs"), b"one\ntwo");
    let empty = ground.call("write_file", json!({"path": "empty", "content": ""}));
    assert_eq!(empty.text, "wrote empty (0 B, 0 lines, new)");
    assert_eq!(temporaries(&ground.root()), Vec::<String>::new());
}

#[test]
fn a_file_is_replaced_only_by_who_knows_what_is_in_it() {
    let ground = Ground::new();
    ground.file("a.txt", "old\n");
    let write = |content: &str| json!({"path": "a.txt", "content": content});
    let run = ground.run(&["."]);
    let output = run.call("write_file", write("new\n"));
    let right = "`a.txt` exists and you have not read it; read it first, or change parts of it with \
                 edit_file";
    assert_eq!((output.ok, output.text.as_str()), (false, right));
    assert_eq!(run.preview("write_file", &write("new\n")), Err(right.to_owned()));
    let output = run.read("a.txt").call("write_file", write("new\n"));
    assert_eq!(output.text, "wrote a.txt (4 B, 1 line, replaced 4 B)");
    // What it wrote itself it knows.
    let output = run.call("write_file", write("newer\n"));
    assert_eq!(output.text, "wrote a.txt (6 B, 1 line, replaced 4 B)");
    ground.file("a.txt", "by another\n");
    let output = run.call("write_file", write("x"));
    let right = "`a.txt` was changed by somebody else since you read it; read it again before you \
                 replace it";
    assert_eq!((output.ok, output.text.as_str()), (false, right));
    run.read("a.txt").seen().changed("a.txt", "task #3");
    let output = run.call("write_file", write("x"));
    assert!(output.text.starts_with("`a.txt` was changed by task #3 since"), "{}", output.text);
    assert_eq!(ground.read("a.txt"), b"by another\n");
    assert!(run.read("a.txt").call("write_file", write("x")).ok);
}

#[test]
fn a_part_that_was_read_counts_and_so_does_an_empty_file() {
    let ground = Ground::new();
    ground.file("long.txt", "x\n".repeat(5_000)).file("empty.txt", "");
    let run = ground.run(&["."]);
    run.call("read_file", json!({"path": "long.txt", "limit": 1}));
    for path in ["long.txt", "empty.txt"] {
        let output =
            run.read("empty.txt").call("write_file", json!({"path": path, "content": "x"}));
        assert!(output.ok, "{}", output.text);
    }
    // A reading that failed shows nothing.
    ground.file("three.txt", "1\n2\n3\n");
    run.call("read_file", json!({"path": "three.txt", "offset": 9}));
    assert!(!run.call("write_file", json!({"path": "three.txt", "content": "x"})).ok);
}

#[test]
fn the_same_content_changes_nothing() {
    let ground = Ground::new();
    ground.file("a.txt", "same\n");
    let before = fs::metadata(ground.root().join("a.txt")).unwrap();
    let output = ground.call("write_file", json!({"path": "a.txt", "content": "same\n"}));
    let right = "`a.txt` is unchanged: it has this content already (5 B, 1 line)";
    assert_eq!((output.ok, output.text.as_str()), (true, right));
    assert_eq!(output.effects.wrote, Vec::<String>::new());
    let after = fs::metadata(ground.root().join("a.txt")).unwrap();
    assert_eq!((before.ino(), before.mtime_nsec()), (after.ino(), after.mtime_nsec()));
}

#[test]
fn modes_are_kept_and_a_new_file_gets_what_new_files_get() {
    let ground = Ground::new();
    for (path, bits) in [("run.sh", 0o755), ("s600", 0o600), ("odd", 0o4751), ("group", 0o664)] {
        ground.file(path, "old");
        set_mode(&ground, path, bits);
        let run = ground.run(&["."]);
        let output = run.read(path).call("write_file", json!({"path": path, "content": "new"}));
        assert!(output.ok, "{}", output.text);
        assert_eq!((mode(&ground, path), ground.read(path)), (bits, b"new".to_vec()), "{path}");
    }
    fs::write(ground.root().join("theirs"), "").unwrap();
    ground.call("write_file", json!({"path": "ours", "content": ""}));
    assert_eq!(mode(&ground, "ours"), mode(&ground, "theirs"));
}

#[test]
fn attributes_that_a_user_noted_are_kept() {
    use rustix::fs::{XattrFlags, getxattr, setxattr};
    let ground = Ground::new();
    ground.file("a.txt", "old");
    let path = ground.root().join("a.txt");
    if setxattr(&path, "user.origin", b"here", XattrFlags::empty()).is_err() {
        crate::aloud::skipped("this file system keeps no extended attributes");
        return;
    }
    let run = ground.run(&["."]);
    assert!(run.read("a.txt").call("write_file", json!({"path": "a.txt", "content": "new"})).ok);
    let mut value = [0_u8; 16];
    let length = getxattr(&path, "user.origin", value.as_mut_slice()).unwrap();
    assert_eq!(&value[..length], b"here");
}

#[test]
fn links_inside_are_followed_and_stay_and_other_names_keep_the_old_content() {
    let ground = Ground::new();
    ground
        .file("deep/target.txt", "old")
        .link("link.txt", "mid")
        .link("mid", "deep/up")
        .link("deep/up", "../deep/target.txt")
        .link("folder", "deep")
        .link("new.txt", "deep/made.txt")
        .file("h1", "old");
    fs::hard_link(ground.root().join("h1"), ground.root().join("h2")).unwrap();
    let run = ground.run(&["."]);
    run.read("link.txt").read("h1");
    let write = |path: &str, content: &str| {
        run.call("write_file", json!({"path": path, "content": content}))
    };
    let output = write("link.txt", "new");
    assert_eq!(
        output.text,
        "wrote link.txt (3 B, 1 line, replaced 3 B)\n`link.txt` leads through a symbolic link; the \
         file changed is `deep/target.txt`"
    );
    assert_eq!(output.effects.wrote, ["deep/target.txt"]);
    assert_eq!(ground.read("deep/target.txt"), b"new");
    // The same file by another way is known.
    assert!(write("folder/target.txt", "newer").ok);
    assert!(write("deep/target.txt", "newest").ok);
    for link in ["link.txt", "mid", "deep/up", "folder"] {
        assert!(ground.root().join(link).is_symlink(), "{link}");
    }
    assert_eq!(write("new.txt", "made").effects.wrote, ["deep/made.txt"]);
    assert_eq!(ground.read("deep/made.txt"), b"made");
    let output = write("h1", "new");
    let right = "it had 1 other name (hard links), where the old content stays";
    assert_eq!(output.text.lines().nth(1), Some(right));
    assert_eq!((ground.read("h1"), ground.read("h2")), (b"new".to_vec(), b"old".to_vec()));
    assert_eq!(temporaries(&ground.root()), Vec::<String>::new());
}

#[test]
fn a_read_only_file_is_refused_whoever_asks() {
    let ground = Ground::new();
    ground.file("ro.txt", "old");
    set_mode(&ground, "ro.txt", 0o444);
    let run = ground.run(&["."]);
    let output = run.read("ro.txt").call("write_file", json!({"path": "ro.txt", "content": "new"}));
    let right = "`ro.txt` is read-only (mode 444) and was not changed; if it is meant to be changed, \
                 it has to be made writable first";
    assert_eq!((output.ok, output.text.as_str()), (false, right));
    assert_eq!(ground.read("ro.txt"), b"old");
}

#[test]
fn a_scope_that_does_not_exist_yet_can_be_written_into() {
    let ground = Ground::new();
    ground.file("src/a.rs", "");
    let write = |scopes: &[&str], path: &str| {
        ground.call_within(scopes, "write_file", json!({"path": path, "content": "x"}))
    };
    let output = write(&["src/new/part"], "src/new/part/deep/b.rs");
    let made = "folders made: src/new, src/new/part, src/new/part/deep";
    assert_eq!(output.text.lines().nth(1), Some(made));
    assert!(write(&["notes/a.md"], "notes/a.md").ok);
    assert_eq!(ground.read("notes/a.md"), b"x");
    let output = write(&["src/a.rs/part"], "src/a.rs/part/b.rs");
    assert!(!output.ok && output.text.contains("not a folder"), "{}", output.text);
}

#[test]
fn what_is_made_is_what_was_shown() {
    let ground = Ground::new();
    ground.file("a.txt", "1\n2\n3\n").link("link.txt", "a.txt");
    let run = ground.run(&["."]);
    run.read("a.txt");
    let call = json!({"path": "a.txt", "content": "1\ntwo\n3\n"});
    let shown = run.preview("write_file", &call).unwrap();
    assert_eq!(shown.summary, "write a.txt (+1 -1)");
    assert_eq!(shown.prefix.as_deref(), Some("a.txt"));
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n";
    assert_eq!(shown.body, PreviewBody::Diff(diff.to_owned()));
    assert_eq!(ground.read("a.txt"), b"1\n2\n3\n", "looking changes nothing");
    // Somebody writes between the question and the answer, and the model reads it meanwhile.
    ground.file("a.txt", "1\nII\n3\n");
    run.read("a.txt");
    let output = run.call_approved("write_file", call.clone(), shown);
    let right =
        "`a.txt` was not changed: the file changed while it was being looked at; read it again";
    assert_eq!((output.ok, output.text.as_str()), (false, right));
    assert_eq!(ground.read("a.txt"), b"1\nII\n3\n");
    let shown = run.preview("write_file", &call).unwrap();
    assert!(run.call_approved("write_file", call, shown).ok);
    let through = run.preview("write_file", &json!({"path": "link.txt", "content": "x"})).unwrap();
    assert_eq!(through.summary, "write link.txt -> a.txt (+1 -3)");
    assert_eq!(through.prefix.as_deref(), Some("a.txt"));
    let new = run.preview("write_file", &json!({"path": "n", "content": "x\ny\n"})).unwrap();
    assert_eq!(new.summary, "write n (new, 2 lines)");
    ground.file("crlf", "a\r\nb\r\n");
    let ends = json!({"path": "crlf", "content": "a\nb\n"});
    let shown = run.read("crlf").preview("write_file", &ends).unwrap();
    assert_eq!(shown.summary, "write crlf (+2 -2, line ends CRLF become LF)");
    assert!(run.call("write_file", ends).text.ends_with("\nline ends CRLF become LF"));
}

#[test]
fn a_file_that_appears_or_goes_between_the_question_and_the_answer_is_left_alone() {
    let ground = Ground::new();
    ground.file("going.txt", "1\n");
    let run = ground.run(&["."]);
    run.read("going.txt");
    for path in ["coming.txt", "going.txt"] {
        let call = json!({"path": path, "content": "mine"});
        let shown = run.preview("write_file", &call).unwrap();
        if path == "coming.txt" {
            ground.file(path, "theirs");
        } else {
            fs::remove_file(ground.root().join(path)).unwrap();
        }
        let output = run.call_approved("write_file", call, shown);
        assert!(!output.ok, "{}", output.text);
    }
    assert_eq!(ground.read("coming.txt"), b"theirs");
    assert!(!ground.root().join("going.txt").exists());
}

#[test]
fn a_workspace_that_was_renamed_or_deleted_is_an_error_and_nothing_is_made() {
    let ground = Ground::new();
    ground.file("a.txt", "old");
    let run = ground.run(&["."]);
    run.read("a.txt");
    let there = ground.outside().join("moved");
    fs::rename(ground.root(), &there).unwrap();
    let calls = [
        ("write_file", json!({"path": "a.txt", "content": "new"})),
        ("write_file", json!({"path": "b.txt", "content": "new"})),
        ("edit_file", json!({"path": "a.txt", "old_text": "old", "new_text": "new"})),
        ("read_file", json!({"path": "a.txt"})),
        ("list_files", json!({})),
        ("search", json!({"pattern": "old"})),
    ];
    let before = inventory(&ground.outside());
    for (tool, arguments) in &calls {
        let output = run.call(tool, arguments.clone());
        assert!(!output.ok, "{tool}: {}", output.text);
        assert!(output.text.contains("it was deleted, renamed or replaced"), "{}", output.text);
    }
    assert_eq!(inventory(&ground.outside()), before);
    fs::remove_dir_all(&there).unwrap();
    for (tool, arguments) in &calls {
        assert!(!run.call(tool, arguments.clone()).ok);
    }
    assert!(!ground.root().exists());
}

#[test]
fn a_full_disk_is_said_in_words_and_leaves_the_old_file_and_nothing_else() {
    let ground = Ground::new();
    ground.folder("small");
    let small = ground.root().join("small");
    let mounted = rustix::mount::mount(
        "tmpfs",
        &small,
        "tmpfs",
        rustix::mount::MountFlags::empty(),
        c"size=256k",
    );
    if mounted.is_err() {
        crate::aloud::skipped("this user may not mount a small file system to fill");
        return;
    }
    ground.file("small/a.txt", "old");
    let run = ground.run(&["."]);
    run.read("small/a.txt");
    let big = "x".repeat(1_000_000);
    let table = [("small/a.txt", "old"), ("small/new/b.txt", "")];
    let outputs =
        table.map(|(path, _)| run.call("write_file", json!({"path": path, "content": big})));
    let (old, left) = (ground.read("small/a.txt"), inventory(&small));
    let read_only = rustix::mount::MountFlags::RDONLY;
    rustix::mount::mount_remount(&small, read_only, c"").unwrap();
    let frozen = run.call("write_file", json!({"path": "small/a.txt", "content": "x"}));
    rustix::mount::unmount(&small, rustix::mount::UnmountFlags::DETACH).unwrap();
    for ((path, _), output) in table.iter().zip(outputs) {
        let right = format!("`{path}` was not written: the disk is full");
        assert_eq!((output.ok, output.text), (false, right));
    }
    assert_eq!(frozen.text, "`small/a.txt` was not written: its file system is read-only");
    assert_eq!(old, b"old");
    assert_eq!(left.lines().count(), 1, "{left}");
}

#[test]
fn what_a_killed_process_left_is_removed_and_what_a_living_one_holds_is_not() {
    let ground = Ground::new();
    let name = |digit: &str| format!(".offshoot-{}.tmp", digit.repeat(32));
    ground
        .file(&format!("d/{}", name("a")), "half of somethi")
        .file(&format!("d/{}", name("b")), "still being written")
        .file("d/.offshoot-notes.tmp", "a person's")
        .file(&format!("elsewhere/{}", name("c")), "another folder");
    ground.link(&format!("d/{}", name("d")), ground.outside());
    let held = fs::File::open(ground.root().join("d").join(name("b"))).unwrap();
    held.lock().unwrap();
    assert!(ground.call("write_file", json!({"path": "d/x.txt", "content": "x"})).ok);
    let there = |path: String| ground.root().join(path).symlink_metadata().is_ok();
    assert!(!there(format!("d/{}", name("a"))));
    assert!(there(format!("d/{}", name("b"))) && there("d/.offshoot-notes.tmp".to_owned()));
    assert!(there(format!("elsewhere/{}", name("c"))) && there(format!("d/{}", name("d"))));
    drop(held);
    assert!(ground.call("write_file", json!({"path": "d/y.txt", "content": "x"})).ok);
    assert!(!there(format!("d/{}", name("b"))));
}

#[test]
fn what_is_too_large_or_has_the_wrong_shape_is_answered_in_words() {
    let ground = Ground::new();
    let table = [
        (json!({"path": "a"}), "`content` is missing: a string is required"),
        (json!({"content": "a"}), "`path` is missing: a string is required"),
        (json!({"path": "a", "content": 1}), "`content` must be a string"),
        (json!({"path": "a", "text": "x"}), "`text`"),
        (
            json!({"path": "a", "content": "x".repeat(11_000_000)}),
            "`content` has 11.0 MB; write_file takes at most 10.4 MB",
        ),
    ];
    for (arguments, right) in table {
        let output = ground.call("write_file", arguments);
        assert!(!output.ok && output.text.contains(right), "{}", output.text);
    }
    assert_eq!(inventory(&ground.root()), "");
}
