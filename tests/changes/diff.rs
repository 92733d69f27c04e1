//! The page of `/diff`: what was added, changed and deleted, of whom, and what cannot be shown.

use offshoot::domain::command::Command;
use offshoot::domain::ids::TaskId;
use serde_json::json;

use crate::common::{Stage, call};
use crate::ground::{bash, notices, parent, stage, write};

/// Runs, asks for a diff, ends, and returns what was shown.
async fn diff(stage: Stage, task: Option<TaskId>) -> String {
    let mut live = stage.start();
    live.ask("go", &[]).await;
    live.send(Command::Diff { task }).await;
    notices(&live.quit().await, "DIFF").pop().unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_diff_shows_what_was_added_changed_and_deleted() {
    let command = "put d.txt four\nput a.txt other\nrm b.txt";
    let text = diff(stage(&parent(&[json!([bash("k1", command)])])), None).await;
    let right = "\
diff a/a.txt b/a.txt
--- a/a.txt
+++ b/a.txt
@@ -1 +1 @@
-one
+other
\\ No newline at end of file
diff a/b.txt b/b.txt
deleted file mode 100644
--- a/b.txt
+++ /dev/null
@@ -1 +0,0 @@
-two
diff a/d.txt b/d.txt
new file mode 100644
--- /dev/null
+++ b/d.txt
@@ -0,0 +1 @@
+four
\\ No newline at end of file
";
    assert_eq!(text, right);
}

#[tokio::test(start_paused = true)]
async fn a_diff_shows_modes_and_links() {
    let command = "executable a.txt\nlink way src\nrm b.txt\nlink b.txt a.txt";
    let text = diff(stage(&parent(&[json!([bash("k1", command)])])), None).await;
    let right = "\
diff a/a.txt b/a.txt
old file mode 100644
new file mode 100755
diff a/b.txt b/b.txt
old file mode 100644
new symbolic link mode 120000
--- a/b.txt
+++ b/b.txt
@@ -1 +1 @@
-two
+a.txt
\\ No newline at end of file
diff a/way b/way
new symbolic link mode 120000
--- /dev/null
+++ b/way
@@ -0,0 +1 @@
+src
\\ No newline at end of file
";
    assert_eq!(text, right);
}

#[tokio::test(start_paused = true)]
async fn a_diff_is_of_a_run_with_its_children_or_of_one_child() {
    let script = json!({
        "turns": [
            { "tool_calls": [write("k1", "parent.txt", "p"), call("t", "task", json!({
                "task": "alpha", "expected_output": "x", "role": "worker" }))] },
            { "text": "done" },
        ],
        "children": [{ "match": "alpha", "turns": [
            { "tool_calls": [write("k2", "child.txt", "c")] }, { "text": "{\"summary\":\"s\"}" },
        ]}],
    });
    let whole = diff(stage(&script), None).await;
    assert!(whole.contains("b/parent.txt") && whole.contains("b/child.txt"), "{whole}");
    let part = diff(stage(&script), Some(TaskId(1))).await;
    assert!(!part.contains("b/parent.txt") && part.contains("b/child.txt"), "{part}");
    let none = diff(stage(&script), Some(TaskId(9))).await;
    assert_eq!(none, "there was no task #9 in this session");
}

#[tokio::test(start_paused = true)]
async fn a_diff_says_where_there_is_nothing_to_show() {
    let look = call("k1", "list_files", json!({}));
    let text = diff(stage(&parent(&[json!([look])])), None).await;
    assert_eq!(text, "the newest answer changed no file");
    let live = stage(&parent(&[])).start();
    live.send(Command::Diff { task: None }).await;
    let played = live.quit().await;
    assert_eq!(notices(&played, "DIFF"), ["nothing was asked yet, so nothing changed"]);
}

#[tokio::test(start_paused = true)]
async fn a_diff_names_what_it_cannot_show() {
    let large = "x".repeat(1_100_000);
    let command = "put binary \0b\nput large small\nput long other";
    let stage = stage(&parent(&[json!([bash("k1", command)])]))
        .file("binary", "\0a")
        .file("large", &large)
        .file("long", &"a line of text\n".repeat(30_000));
    let text = diff(stage, None).await;
    assert!(text.contains("(binary content: 2 bytes → 2 bytes)"), "{}", &text[..500]);
    assert!(text.contains("(content not copied: 1100000 bytes → 5 bytes)"));
    assert!(
        text.len() <= 200_000 && text.contains("cut at 200 KB: the diff of long"),
        "{}",
        text.len()
    );
}
