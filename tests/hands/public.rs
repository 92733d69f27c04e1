//! Public faults of other agents' file tools, played through the real ones: each script builds a
//! tree, each expectation holds the calls. Placeholder names are given the program's own.

use std::process::Command;
use std::time::{Duration, Instant};

use offshoot::tool::ToolOutput;
use serde_json::{Value, json};

use crate::ground::{Ground, Run, inventory, temporaries};

/// A case: the script and the expectation.
macro_rules! case {
    ($name:literal) => {
        (
            include_str!(concat!("../fixtures/", $name, ".tree.sh")),
            include_str!(concat!("../fixtures/", $name, ".expect.json")),
        )
    };
}

/// What a case came to.
struct Played {
    ground: Ground,
    outputs: Vec<(ToolOutput, Duration)>,
}

/// Builds the tree and makes the calls. A file that is to be written is read first, as a model would
/// have. `None` if this machine cannot build the tree.
fn play((script, expect): (&str, &str)) -> Option<Played> {
    let ground = Ground::new();
    let built =
        Command::new("sh").args(["-c", script]).current_dir(ground.base()).output().unwrap();
    if !built.status.success() {
        let why = String::from_utf8_lossy(&built.stderr).into_owned();
        crate::aloud::skipped(&format!("the tree of a public case could not be built: {why}"));
        return None;
    }
    let expect: Value = serde_json::from_str(expect).unwrap();
    let run = ground.run(&["."]);
    let calls = expect["tool_calls"].as_array().unwrap();
    let outputs = calls.iter().map(|call| make(&run, call)).collect();
    Some(Played { ground, outputs })
}

fn make(run: &Run<'_>, call: &Value) -> (ToolOutput, Duration) {
    let tool = match call["name"].as_str().unwrap() {
        "list_dir" => "list_files",
        other => other,
    };
    let mut arguments: Value = serde_json::from_str(call["arguments"].as_str().unwrap()).unwrap();
    rename(&mut arguments);
    for edit in arguments.get_mut("edits").and_then(Value::as_array_mut).into_iter().flatten() {
        rename(edit);
    }
    if tool == "write_file" {
        run.call("read_file", json!({"path": arguments["path"]}));
    }
    let began = Instant::now();
    let output = run.call(tool, arguments);
    (output, began.elapsed())
}

fn rename(arguments: &mut Value) {
    let fields = arguments.as_object_mut().unwrap();
    for (from, to) in [("old", "old_text"), ("new", "new_text")] {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

impl Played {
    fn text(&self, call: usize) -> &str {
        &self.outputs[call - 1].0.text
    }

    fn ok(&self, call: usize) -> bool {
        self.outputs[call - 1].0.ok
    }
}

#[test]
fn a_folder_that_is_a_link_to_the_outside_gives_and_takes_nothing() {
    let (script, expect) = case!("B066-dir-symlink");
    let played = play((script, expect)).unwrap();
    for refused in [1, 2, 3, 5, 6, 8] {
        assert!(!played.ok(refused), "{}", played.text(refused));
    }
    assert!(played.text(4).starts_with("no match for `SECRET`"), "{}", played.text(4));
    assert!(played.text(7).ends_with("1\tinside"), "{}", played.text(7));
    for (output, _) in &played.outputs {
        assert!(!output.text.replace("`SECRET`", "").contains("SECRET"), "{}", output.text);
    }
    let outside = inventory(&played.ground.outside());
    assert_eq!(outside.lines().count(), 1, "{outside}");
    assert_eq!(std::fs::read(played.ground.outside().join("s.txt")).unwrap(), b"SECRET");
}

#[test]
fn what_is_no_file_never_makes_a_call_wait() {
    let Some(played) = play(case!("B069-special-files")) else { return };
    let kinds = [
        (1, "fifo"),
        (2, "fifo"),
        (3, "symbolic link"),
        (4, "socket"),
        (7, "fifo"),
        (8, "symbolic link"),
    ];
    for (call, kind) in kinds {
        assert!(!played.ok(call) && played.text(call).contains(kind), "{}", played.text(call));
    }
    assert!(played.text(5).starts_with("1 match in 1 file") && played.text(5).contains("z.txt:1:"));
    for marked in ["pipe  (fifo", "sock  (socket)", "zero  (link that leads out", "in  (link that"]
    {
        assert!(played.text(6).contains(marked), "{}", played.text(6));
    }
    let slowest = played.outputs.iter().map(|(_, took)| *took).max().unwrap();
    // The kind itself is tested by the tests above; this only tells a call that hung.
    assert!(slowest < Duration::from_secs(20), "{slowest:?}");
}

#[test]
fn huge_files_are_described_cut_and_paged() {
    let played = play(case!("B070-huge-files")).unwrap();
    assert!((1..=6).all(|call| played.ok(call)));
    assert!(played.text(1).contains("is binary") && played.text(4).contains("is binary"));
    assert!(played.text(2).contains("line cut, ") && played.text(2).len() < 3_000);
    assert!(played.text(3).contains("150000\t150000\n150001\t150001\n150002\t150002\n"));
    assert!(played.text(5).contains("is empty"));
    assert!(played.text(6).contains("2 binary files"), "{}", played.text(6));
}

#[test]
fn line_ends_marks_and_a_missing_last_line_end_are_kept() {
    let played = play(case!("B071-crlf-bom")).unwrap();
    assert!((1..=3).all(|call| played.ok(call)), "{}", played.text(1));
    assert_eq!(played.ground.read("crlf.txt"), b"a = 1\r\nb = 22\r\nc = 3\r\n");
    assert_eq!(played.ground.read("bom.txt"), b"\xEF\xBB\xBFx = 9\ny = 2\n");
    assert_eq!(played.ground.read("nonl.txt"), b"k = 1\nm = 3");
}

#[test]
fn bytes_that_are_no_utf_8_stay_as_they_are() {
    let played = play(case!("B073-non-utf8-edit")).unwrap();
    assert!((1..=3).all(|call| played.ok(call)), "{}", played.text(1));
    assert_eq!(played.ground.read("latin1.c"), b"x = 2\n// caf\xE9 note\n");
    assert_eq!(played.ground.read("gbk.c"), b"x = 2\n\xD6\xD0\xCE\xC4\n");
    assert_eq!(played.ground.read("has_fffd.txt"), "x = 2\n\u{fffd} real\n".as_bytes());
}

#[test]
fn a_text_that_is_there_twice_is_not_replaced_by_guess() {
    let played = play(case!("B074-not-unique")).unwrap();
    assert!(!played.ok(1));
    assert!(played.text(1).contains("2 times in `conf.py` (lines 2 and 5)"), "{}", played.text(1));
    let old = "def dev():\n    debug = True\n\ndef prod():\n    debug = True\n";
    assert_eq!(played.ground.read("conf.py"), old.as_bytes());
    assert_eq!(played.text(2), "edited conf2.py: 2 replacements (lines 2, 5)");
    assert_eq!(played.ground.read("conf2.py"), old.replace("True", "False").as_bytes());
}

#[test]
fn modes_links_and_read_only_files_are_respected() {
    use std::os::unix::fs::MetadataExt as _;
    let played = play(case!("B076-mode-and-links")).unwrap();
    let ground = &played.ground;
    let found = |path: &str| std::fs::symlink_metadata(ground.root().join(path)).unwrap();
    assert_eq!(found("run.sh").mode() & 0o7777, 0o755);
    let printed = Command::new(ground.root().join("run.sh")).output().unwrap();
    assert_eq!(printed.stdout, b"new\n");
    assert!(found("link.txt").is_symlink());
    assert_eq!(ground.read("target.txt"), b"new");
    assert_eq!((ground.read("h1"), ground.read("h2")), (b"new".to_vec(), b"old".to_vec()));
    assert!(played.text(3).contains("1 other name (hard links), where the old content stays"));
    assert!(!played.ok(4) && played.text(4).contains("read-only (mode 444)"), "{}", played.text(4));
    assert_eq!(ground.read("ro.txt"), b"old");
    assert!(played.ok(5), "{}", played.text(5));
    assert_eq!((found("s600").mode() & 0o7777, ground.read("s600")), (0o600, b"new".to_vec()));
    assert_eq!(temporaries(&ground.root()), Vec::<String>::new());
}

#[test]
fn of_several_edits_all_are_made_or_none() {
    let played = play(case!("B079-partial-multi-edit")).unwrap();
    assert!(!played.ok(1) && played.text(1).starts_with("edit 2 of 3: "), "{}", played.text(1));
    assert_eq!(played.ground.read("f.txt"), b"a\nb\nc\n");
}
