//! What `edit_file` changes, and what it says where it changes nothing.

use std::fs;

use offshoot::domain::approval::PreviewBody;
use serde_json::json;

use crate::ground::Ground;

#[test]
fn a_text_is_replaced_and_its_lines_are_told() {
    let ground = Ground::new();
    ground.file("src/a.rs", "one\ntwo\nthree\n").file("many", "x\n".repeat(30));
    let call = json!({"path": "src/a.rs", "old_text": "two", "new_text": "2"});
    let output = ground.call("edit_file", call);
    assert_eq!(output.text, "edited src/a.rs: 1 replacement (line 2)");
    assert_eq!((output.ok, output.effects.wrote), (true, vec!["src/a.rs".to_owned()]));
    assert_eq!(ground.read("src/a.rs"), b"one\n2\nthree\n");
    let edits = json!({"path": "src/a.rs", "edits": [
        {"old_text": "three", "new_text": "3"}, {"old_text": "one\n", "new_text": "0\n1\n"},
    ]});
    let output = ground.call("edit_file", edits);
    assert_eq!(output.text, "edited src/a.rs: 2 replacements (lines 1, 4)");
    assert_eq!(ground.read("src/a.rs"), b"0\n1\n2\n3\n");
    let all = json!({"path": "many", "old_text": "x", "new_text": "y", "replace_all": true});
    let output = ground.call("edit_file", all);
    assert!(output.text.starts_with("edited many: 30 replacements (lines 1, 2, 3,"));
    assert!(output.text.ends_with(", 20, ...)"), "{}", output.text);
}

#[test]
fn what_is_not_made_is_told_with_the_reason() {
    let ground = Ground::new();
    let large = ground.root().join("large.txt");
    fs::File::create(&large).unwrap().set_len(11_000_000).unwrap();
    ground
        .file("a.txt", "a\nb\nb\n")
        .file("image.bin", b"\x89PNG\0\0")
        .file("wide.txt", b"\xFF\xFEa\0");
    let edit =
        |path: &str, old: &str, new: &str| json!({"path": path, "old_text": old, "new_text": new});
    let table = [
        (edit("none.txt", "a", "b"), "there is no `none.txt`; write_file makes new files"),
        (edit("no/none.txt", "a", "b"), "there is no `no/none.txt`; write_file makes new files"),
        (
            edit("a.txt", "", "b"),
            "`old_text` is empty; write_file makes a file or replaces all of one",
        ),
        (edit("a.txt", "b", "c"), "`old_text` is there 2 times in `a.txt` (lines 2 and 3);"),
        (edit("a.txt", "z", "c"), "`old_text` is not in `a.txt`; nothing was changed"),
        (edit("a.txt", "a", "a"), "`old_text` and `new_text` are the same; nothing was changed"),
        (
            edit("large.txt", "a", "b"),
            "`large.txt` has 11.0 MB; edit_file takes files of at most 10.4 MB",
        ),
        (
            edit("image.bin", "PNG", "GIF"),
            "`image.bin` is binary or UTF-16; edit_file changes text only",
        ),
        (edit("wide.txt", "a", "b"), "`wide.txt` is binary or UTF-16; edit_file changes text only"),
        (json!({"path": "a.txt"}), "`old_text` is missing: a string is required, or `edits`"),
        (json!({"path": "a.txt", "old_text": "a"}), "`new_text` is missing: a string is required"),
        (json!({"path": "a.txt", "edits": []}), "`old_text` is missing"),
        (
            json!({"path": "a.txt", "old_text": "a", "new_text": "b",
                   "edits": [{"old_text": "a", "new_text": "b"}]}),
            "give either old_text and new_text or edits, not both",
        ),
        (json!({"path": "a.txt", "edits": [{"old_text": "a"}]}), "`edits[0].new_text` is missing"),
        (json!({"path": "a.txt", "edits": "x"}), "`edits` must be"),
        (
            json!({"path": "a.txt", "edits": [
                {"old_text": "a", "new_text": "x"}, {"old_text": "x", "new_text": "a"}]}),
            "the edits undo each other: `a.txt` would stay as it is",
        ),
        (
            json!({"path": "a.txt", "edits": vec![json!({"old_text": "a", "new_text": "b"}); 101]}),
            "`edits` has 101 edits; at most 100 go together",
        ),
    ];
    for (arguments, right) in table {
        let output = ground.call("edit_file", arguments);
        assert!(!output.ok && output.text.starts_with(right), "{}", output.text);
        assert!(output.effects.wrote.is_empty());
    }
    assert_eq!(ground.read("a.txt"), b"a\nb\nb\n");
}

#[test]
fn the_change_is_shown_as_it_will_be_made() {
    let ground = Ground::new();
    ground.file("a.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let run = ground.run(&["."]);
    let call = json!({"path": "a.txt", "edits": [
        {"old_text": "5\n", "new_text": "five\nand a half\n"}, {"old_text": "9\n", "new_text": ""},
    ]});
    let shown = run.preview("edit_file", &call).unwrap();
    assert_eq!(shown.summary, "edit a.txt (+2 -2)");
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -2,8 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+and a half\n 6\n 7\n 8\n-9\n";
    assert_eq!(shown.body, PreviewBody::Diff(diff.to_owned()));
    // A change elsewhere moves the lines: it is not what was shown.
    ground.file("a.txt", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n");
    let output = run.call_approved("edit_file", call.clone(), shown);
    assert!(
        output.text.contains("the file changed while it was being looked at"),
        "{}",
        output.text
    );
    let shown = run.preview("edit_file", &call).unwrap();
    assert!(run.call_approved("edit_file", call, shown).ok);
    assert_eq!(ground.read("a.txt"), b"0\n1\n2\n3\n4\nfive\nand a half\n6\n7\n8\n");
}

#[test]
fn an_edit_of_a_file_that_changed_is_made_and_says_so_and_does_not_make_it_known() {
    let ground = Ground::new();
    ground.file("a.txt", "one\ntwo\n");
    let run = ground.run(&["."]);
    run.read("a.txt");
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "old_text": old, "new_text": new});
    let whole = || run.call("write_file", json!({"path": "a.txt", "content": "all mine\n"}));
    assert_eq!(
        run.call("edit_file", edit("one", "1")).text,
        "edited a.txt: 1 replacement (line 1)"
    );
    ground.file("a.txt", "1\ntwo\nthree by another\n");
    let output = run.call("edit_file", edit("two", "2"));
    assert_eq!(
        output.text,
        "edited a.txt: 1 replacement (line 2)\nit had been changed by somebody else since you read \
         it; read it again for the rest of it"
    );
    // The line of the other would be lost without a word.
    assert!(!whole().ok);
    assert_eq!(ground.read("a.txt"), b"1\n2\nthree by another\n");
    run.read("a.txt");
    assert!(whole().ok);
    // Nor is a file known of which only a found text was replaced.
    ground.file("b.txt", "x = 1\nsecret of another\n");
    let edit = json!({"path": "b.txt", "old_text": "x = 1", "new_text": "x = 2"});
    assert!(run.call("edit_file", edit).ok);
    let output = run.call("write_file", json!({"path": "b.txt", "content": "x"}));
    assert!(!output.ok && output.text.contains("read it first"), "{}", output.text);
}
