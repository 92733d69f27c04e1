//! What changed in the workspace, by whom, and what is made of it: events, reports, warnings, /diff.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

mod common;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use common::{Live, Played, Stage, one_batch};
use offshoot::domain::command::Command;
use offshoot::domain::event::{Change, ChangedPath, Fact, RunFinished};
use offshoot::domain::hash::Sha;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{Report, Status, WarningCode};
use offshoot::domain::role::Permission;
use offshoot::tool::{Ran, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use Change::{Added, Deleted, Modified};

/// A stand-in that does to files what its `command` says, one step a line.
struct Hands {
    spec: ToolSpec,
}

impl Hands {
    /// One that runs commands.
    fn bash() -> Self {
        Self::named("bash", Permission::Execute)
    }

    /// One that changes files it does not name.
    fn named(name: &'static str, permission: Permission) -> Self {
        let text = json!({ "type": "string" });
        Self {
            spec: ToolSpec {
                name,
                description: "a stand-in",
                parameters: json!({
                    "type": "object",
                    "properties": { "command": text, "path": text, "content": text, "filter": text },
                }),
                permission,
                read_only: false,
            },
        }
    }
}

impl Tool for Hands {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        Box::pin(async move {
            let root = context.workspace.path().to_owned();
            let mut output = ToolOutput::whole("done");
            let command = arguments["command"].as_str().unwrap_or_default().to_owned();
            output.effects.ran = Some(Ran { command, ok: true });
            if let Some(path) = arguments["path"].as_str() {
                put(&root.join(path), arguments["content"].as_str().unwrap());
                output.effects.wrote.push(path.to_owned());
            }
            for line in arguments["command"].as_str().unwrap_or_default().lines() {
                let words: Vec<&str> = line.split(' ').collect();
                match words.as_slice() {
                    ["put", path, text] => put(&root.join(path), text),
                    ["rm", path] => fs::remove_file(root.join(path)).unwrap(),
                    ["mv", from, to] => fs::rename(root.join(from), root.join(to)).unwrap(),
                    ["executable", path] => {
                        use std::os::unix::fs::PermissionsExt as _;
                        let mode = fs::Permissions::from_mode(0o755);
                        fs::set_permissions(root.join(path), mode).unwrap();
                    }
                    ["link", path, target] => {
                        std::os::unix::fs::symlink(target, root.join(path)).unwrap();
                    }
                    ["touch", path] => put(&root.join(path), &read(&root.join(path))),
                    ["wrote", path] => output.effects.wrote.push((*path).to_owned()),
                    ["tests", word] => output.effects.tests_passed = Some(*word == "pass"),
                    ["ended", count] => {
                        output.effects.processes_ended = count.parse().unwrap();
                        output.effects.not_ended.push("pid 7".to_owned());
                    }
                    ["say", rest @ ..] => output.text.push_str(&rest.join(" ")),
                    ["fail"] => output.ok = false,
                    ["panic"] => panic!("on purpose"),
                    ["wait"] => {
                        context.cancel.cancelled().await;
                        return ToolOutput { ok: false, ..output };
                    }
                    other => panic!("cannot {other:?}"),
                }
            }
            output
        })
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "id": id, "name": name, "arguments": arguments })
}

fn bash(id: &str, command: &str) -> Value {
    call(id, "bash", json!({ "command": command }))
}

fn write(id: &str, path: &str, content: &str) -> Value {
    call(id, "write_file", json!({ "path": path, "content": content }))
}

/// A stage with tools for everything, and three files.
fn stage(script: &Value) -> Stage {
    Stage::new(script)
        .tool(Hands::bash())
        .tool(Hands::named("write_file", Permission::Write))
        .tool(Hands::named("run_tests", Permission::Test))
        .permissions(&[
            Permission::Read,
            Permission::Write,
            Permission::Test,
            Permission::Execute,
            Permission::Delegate,
        ])
        .file("a.txt", "one\n")
        .file("b.txt", "two\n")
        .file("src/c.txt", "three\n")
}

/// The parent makes these calls, one batch each, and answers.
fn parent(batches: &[Value]) -> Value {
    let mut turns: Vec<Value> =
        batches.iter().map(|calls| json!({ "text": "", "tool_calls": calls })).collect();
    turns.push(json!({ "text": "parent done" }));
    json!({ "turns": turns })
}

/// A child of this role makes these calls and answers so.
fn child(role: &str, more: Value, calls: Value, answer: &str) -> Value {
    let mut task = json!({ "task": "alpha", "expected_output": "answer", "role": role });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    one_batch(
        &json!([call("t", "task", task)]),
        "parent done",
        &json!([{ "match": "alpha", "turns": [
            { "text": "", "tool_calls": calls }, { "text": answer },
        ]}]),
    )
}

fn worker(calls: Value, answer: &str) -> Value {
    child("worker", json!({}), calls, answer)
}

fn brief(changed: &[ChangedPath]) -> Vec<(&str, Change)> {
    changed.iter().map(|one| (one.path.as_str(), one.change)).collect()
}

/// The paths that the events of files name, in order.
fn told(played: &Played) -> Vec<ChangedPath> {
    let lists = played.facts().filter_map(|fact| match fact {
        Fact::FilesChanged { paths } => Some(paths.clone()),
        _ => None,
    });
    lists.flatten().collect()
}

fn warnings(report: &Report, code: WarningCode) -> Vec<&str> {
    let those = report.warnings.iter().filter(|warning| warning.code == code);
    those.map(|warning| warning.text.as_str()).collect()
}

fn child_end(played: &Played) -> RunFinished {
    let ends = played.facts().filter_map(|fact| match fact {
        Fact::RunFinished(end) if end.report.is_some() => Some((**end).clone()),
        _ => None,
    });
    ends.last().unwrap()
}

fn notices(played: &Played, code: &str) -> Vec<String> {
    let those = played.facts().filter_map(|fact| match fact {
        Fact::Notice { code: found, text, .. } if found == code => Some(text.clone()),
        _ => None,
    });
    those.collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_command_changes_is_told_with_hashes() {
    let command = "put new/d.txt four\nput a.txt other\nrm b.txt\nmv src/c.txt src/e.txt";
    let played = stage(&parent(&[json!([bash("k1", command)])])).play("go").await;
    let right = [
        ("a.txt", Modified),
        ("b.txt", Deleted),
        ("new/d.txt", Added),
        ("src/c.txt", Deleted),
        ("src/e.txt", Added),
    ];
    let told = told(&played);
    assert_eq!(brief(&told), right);
    assert_eq!(told[0].sha256, Some(Sha::of("other")));
    assert_eq!(told[1].sha256, None);
    assert_eq!(played.parent_ends()[0].changed, told);
    let order: Vec<&str> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::ToolStarted { .. } => Some("started"),
            Fact::FilesChanged { .. } => Some("changed"),
            Fact::ToolFinished { .. } => Some("finished"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["started", "changed", "finished"]);
}

#[tokio::test(start_paused = true)]
async fn what_is_touched_ignored_or_undone_is_no_change() {
    let batches = [
        json!([bash("k1", "touch a.txt\nput out/x 1\nput .git/index 2")]),
        json!([bash("k2", "put d.txt 4\nput b.txt other")]),
        json!([bash("k3", "rm d.txt"), write("k4", "b.txt", "two\n")]),
    ];
    let played = stage(&parent(&batches)).file(".gitignore", "out\n").play("go").await;
    let right = [("b.txt", Modified), ("d.txt", Added), ("d.txt", Deleted), ("b.txt", Modified)];
    assert_eq!(brief(&told(&played)), right, "each step is told");
    assert_eq!(played.parent_ends()[0].changed, [], "and their sum is nothing");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_a_tool_names_is_told_even_if_it_is_ignored() {
    let batches = [json!([write("k1", "out/x", "1"), write("k2", "./a.txt", "other")])];
    let played = stage(&parent(&batches)).file(".gitignore", "out\n").play("go").await;
    let changed = &played.parent_ends()[0].changed;
    assert_eq!(brief(changed), [("a.txt", Modified), ("out/x", Added)]);
}

#[tokio::test(start_paused = true)]
async fn what_a_person_changes_meanwhile_is_told_of_nobody() {
    let script = json!({ "turns": [
        { "tool_calls": [bash("k1", "put d.txt 4")] },
        { "text": "", "delay_ms": 1_000, "tool_calls": [bash("k2", "put e.txt 5")] },
        { "text": "done" },
    ]});
    let mut live = stage(&script).start();
    let root = live.folder.path().to_owned();
    put(&root.join("before.txt"), "x");
    live.send(Command::Submit { text: "go".to_owned() }).await;
    wait_for_end_of(&mut live, "k1").await;
    put(&root.join("a.txt"), "mine");
    put(&root.join("mine.txt"), "mine");
    fs::remove_file(root.join("b.txt")).unwrap();
    let end = live.follow(&[]).await;
    assert_eq!(brief(&end.changed), [("d.txt", Added), ("e.txt", Added)]);
    live.quit().await;
}

async fn wait_for_end_of(live: &mut Live, id: &str) {
    loop {
        let event = live.session.events.recv().await.unwrap();
        live.events.push(Arc::clone(&event));
        if matches!(&event.fact, Fact::ToolFinished { call, .. } if call.as_str() == id) {
            return;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_or_panics_has_changed_what_it_changed() {
    let calls = json!([bash("k1", "put d.txt 4\nfail"), bash("k2", "put e.txt 5\npanic")]);
    let played = stage(&parent(&[calls])).play("go").await;
    assert!(played.result("k2").contains("panicked"));
    let changed = &played.parent_ends()[0].changed;
    assert_eq!(brief(changed), [("d.txt", Added), ("e.txt", Added)]);
}

#[tokio::test(start_paused = true)]
async fn looking_costs_no_look_at_the_workspace() {
    let calls = json!([call("k1", "read_file", json!({ "path": "a.txt" }))]);
    let played = stage(&parent(&[calls])).play("go").await;
    assert!(told(&played).is_empty());
    assert!(!played.files().iter().any(|(path, _)| path.contains("shadow")), "nothing is copied");
}

#[tokio::test(start_paused = true)]
async fn a_childs_changes_are_its_parents_too() {
    let calls = json!([write("k1", "d.txt", "4"), bash("k2", "put a.txt other")]);
    let answer = r#"{"summary":"did it","changed_paths":["d.txt","./a.txt"]}"#;
    let played = stage(&worker(calls, answer)).play("go").await;
    let end = child_end(&played);
    assert_eq!(brief(&end.changed), [("a.txt", Modified), ("d.txt", Added)]);
    assert_eq!(played.parent_ends()[0].changed, end.changed);
    let report = played.task_result("t");
    assert_eq!(report.status, Status::Completed);
    assert_eq!(report.changed_paths, ["a.txt", "d.txt"]);
    assert!(!report.needs_review);
    for code in [WarningCode::ClaimedUnchanged, WarningCode::ChangedUnclaimed] {
        assert!(warnings(&report, code).is_empty(), "{report:?}");
    }
    let origins: Vec<_> = played
        .events
        .iter()
        .filter(|event| matches!(event.fact, Fact::FilesChanged { .. }))
        .map(|event| event.origin.task)
        .collect();
    assert_eq!(origins, [Some(TaskId(1)); 2], "the child's doing is told as the child's");
}

#[tokio::test(start_paused = true)]
async fn more_changes_than_are_named_are_counted_in_the_report_and_by_the_parent() {
    let many: Vec<String> = (0..1_002).map(|number| format!("put d/{number} x")).collect();
    let calls = json!([bash("k1", &many.join("\n"))]);
    let played = stage(&worker(calls, r#"{"summary":"did it"}"#)).play("go").await;
    let words = "1002 files changed; the first 1000 are named, 2 more are not";
    let end = child_end(&played);
    let report = end.report.unwrap();
    assert_eq!((end.changed.len(), warnings(&report, WarningCode::Cut)[0]), (1_000, words));
    assert_eq!(notices(&played, "CUT"), [words]);
    let played = stage(&parent(&[json!([bash("k1", "put d x")])])).play("go").await;
    assert!(notices(&played, "CUT").is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_claimed_change_that_never_happened_and_a_hidden_one_are_named() {
    let calls = json!([bash("k1", "put src/c.txt other\nput d.txt 4")]);
    let answer = r#"{"summary":"done","changed_paths":["a.txt","d.txt","src/never.txt"]}"#;
    let played = stage(&worker(calls, answer)).play("go").await;
    let report = played.task_result("t");
    assert_eq!(report.changed_paths, ["d.txt", "src/c.txt"], "measured, not claimed");
    let said = "task #1 says that it changed a.txt, src/never.txt; the workspace does not show it";
    assert_eq!(notices(&played, "UNCONFIRMED_CHILD"), [said]);
    let unchanged = warnings(&report, WarningCode::ClaimedUnchanged);
    assert_eq!(unchanged, ["claimed but unchanged: a.txt, src/never.txt"]);
    let unclaimed = warnings(&report, WarningCode::ChangedUnclaimed);
    assert_eq!(unclaimed, ["changed but not claimed: src/c.txt"]);
}

#[tokio::test(start_paused = true)]
async fn a_claimed_folder_stands_for_what_is_in_it() {
    let calls = json!([bash("k1", "put src/c.txt other")]);
    let answer = r#"{"summary":"done","changed_paths":["src/"]}"#;
    let report = stage(&worker(calls, answer)).play("go").await.task_result("t");
    assert!(warnings(&report, WarningCode::ClaimedUnchanged).is_empty());
    assert!(warnings(&report, WarningCode::ChangedUnclaimed).is_empty());
}

#[tokio::test(start_paused = true)]
async fn passing_tests_are_believed_only_after_a_passing_run() {
    let run = |word: &str| call("k1", "run_tests", json!({ "command": format!("tests {word}") }));
    let look = call("k1", "list_files", json!({}));
    let says = r#"{"summary":"Fixed. All tests pass."}"#;
    let table = [
        (run("pass"), says, 0),
        (run("fail"), says, 1),
        (look.clone(), says, 1),
        (bash("k1", "say test result: ok"), says, 1),
        (look, r#"{"summary":"I could not run the tests."}"#, 0),
    ];
    for (calls, answer, right) in table {
        let played = stage(&worker(json!([calls]), answer)).play("go").await;
        let report = played.task_result("t");
        assert_eq!(warnings(&report, WarningCode::TestsNotRun).len(), right, "{report:?}");
        assert_eq!(notices(&played, "UNCONFIRMED_CHILD").len(), right, "told under the answer");
    }
}

#[tokio::test(start_paused = true)]
async fn a_testers_list_of_commands_is_a_claim_too() {
    let answer = r#"{"summary":"ran them","commands":[{"command":"cargo test","exit_code":0}]}"#;
    let look = json!([call("k1", "list_files", json!({}))]);
    let report = stage(&child("tester", json!({}), look, answer)).play("go").await.task_result("t");
    assert_eq!(warnings(&report, WarningCode::TestsNotRun).len(), 1, "{report:?}");
    let run = json!([call("k1", "run_tests", json!({ "command": "tests pass" }))]);
    let report = stage(&child("tester", json!({}), run, answer)).play("go").await.task_result("t");
    assert!(warnings(&report, WarningCode::TestsNotRun).is_empty(), "{report:?}");
}

#[tokio::test(start_paused = true)]
async fn a_reading_child_that_changes_something_has_no_valid_result() {
    let look = json!([call("k1", "list_files", json!({ "command": "put d.txt 4\nwrote d.txt" }))]);
    let script = child("researcher", json!({}), look, r#"{"summary":"only looked"}"#);
    let sneak = Hands::named("list_files", Permission::Read);
    let played = stage(&script).tool(sneak).play("go").await;
    let report = played.task_result("t");
    assert_eq!(report.status, Status::InvalidResult);
    assert_eq!(report.changed_paths, ["d.txt"]);
    assert!(report.needs_review && report.next.contains("reviewed"));
    let outside = warnings(&report, WarningCode::ChangedOutside);
    assert_eq!(outside, ["changed though it may only read: d.txt"]);
}

#[tokio::test(start_paused = true)]
async fn a_change_outside_of_the_childs_paths_makes_its_result_invalid() {
    let table = [("put src/c.txt x", Status::Completed), ("put srcs x", Status::InvalidResult)];
    for (command, right) in table {
        let more = json!({ "allowed_paths": ["src"] });
        let script = child("worker", more, json!([bash("k1", command)]), r#"{"summary":"done"}"#);
        let report = stage(&script).play("go").await.task_result("t");
        assert_eq!(report.status, right, "{command}");
        let outside = warnings(&report, WarningCode::ChangedOutside);
        assert_eq!(outside.is_empty(), right == Status::Completed, "{outside:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_child_leaves_its_changes_for_review() {
    let calls = json!([bash("k1", "put d.txt 4\nput a.txt other\nended 3\nwait")]);
    let cancel = Command::CancelTask { task: TaskId(1) };
    let mut live = stage(&worker(calls, "never")).start();
    live.send(Command::Submit { text: "go".to_owned() }).await;
    wait_for_file(&live.folder.path().join("d.txt")).await;
    live.send(cancel).await;
    live.follow(&[]).await;
    let played = live.quit().await;
    let report = played.task_result("t");
    assert_eq!(report.status, Status::Cancelled);
    assert_eq!(report.changed_paths, ["a.txt", "d.txt"]);
    assert!(report.needs_review);
    assert!(played.result("t").contains(r#""needs_review":true"#));
    let receipt = child_end(&played).receipt.unwrap();
    assert_eq!(receipt.files_touched, ["a.txt", "d.txt"]);
    assert_eq!((receipt.processes_ended, receipt.not_ended), (3, vec!["pid 7".to_owned()]));
    assert_eq!(played.parent_ends()[0].changed.len(), 2);
    assert!(notices(&played, "UNFINISHED_CHILD")[0].contains("needs review"));
}

/// The tool works on a thread of this runtime; its file is there as soon as it waits.
async fn wait_for_file(path: &Path) {
    for _ in 0..10_000 {
        if path.exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    panic!("{} never came", path.display());
}

#[tokio::test(start_paused = true)]
async fn a_child_that_ran_out_of_turns_leaves_its_changes_for_review() {
    let script = one_batch(
        &json!([call(
            "t",
            "task",
            json!({
                "task": "alpha", "expected_output": "answer", "role": "worker", "budget": { "turns": 2 },
            })
        )]),
        "parent done",
        &json!([{ "match": "alpha", "turns": [
            { "text": "", "tool_calls": [bash("k1", "put d.txt 4")] },
            { "text": "half done" },
        ]}]),
    );
    let report = stage(&script).play("go").await.task_result("t");
    assert_eq!(report.status, Status::BudgetExhausted);
    assert!(report.needs_review);
    let unfinished = warnings(&report, WarningCode::Unfinished);
    assert!(unfinished[0].contains("needs review"), "{unfinished:?}");
}

#[tokio::test(start_paused = true)]
async fn what_was_seen_through_a_command_only_is_no_verified_evidence() {
    let calls = json!([
        bash("k1", "say src/c.txt:1: three"),
        call("k2", "read_file", json!({ "path": "a.txt" })),
    ]);
    let answer = r#"{"summary":"found","evidence":["src/c.txt:1","a.txt:1","b.txt:1"]}"#;
    let report = stage(&worker(calls, answer)).play("go").await.task_result("t");
    let seen: Vec<_> =
        report.evidence.iter().map(|one| (one.path.as_str(), one.verified, one.via_bash)).collect();
    let right = [("src/c.txt", false, true), ("a.txt", true, false), ("b.txt", false, false)];
    assert_eq!(seen, right);
    assert_eq!(warnings(&report, WarningCode::EvidenceViaBash).len(), 1);
    assert_eq!(warnings(&report, WarningCode::EvidenceNotRead).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn copies_go_with_the_session_and_hold_no_secret() {
    let mut stage = stage(&parent(&[json!([bash("k1", "put a.txt other")])]));
    stage.secrets = vec!["hush-hush-42".to_owned()];
    let stage = stage
        .file("key", "hush-hush-42")
        .file(".env", "PASSWORD=plain")
        .file("deploy/id_rsa", "hush, in no known form")
        .file("notes", "hush: ghp_0123456789abcdefghijABCDEFGHIJ0123");
    let played = stage.play("go").await;
    let copies: Vec<String> = played
        .files()
        .into_iter()
        .filter(|(path, _)| path.contains("/shadow/"))
        .map(|(_, text)| text)
        .collect();
    for text in ["one\n", "other", "two\n", "three\n"] {
        assert!(copies.contains(&text.to_owned()), "{text:?} is not in {copies:?}");
    }
    assert!(!copies.iter().any(|text| text.contains("hush") || text.contains("PASSWORD")));
    let left_out = notices(&played, "COPIES_LEFT_OUT");
    assert_eq!(left_out.len(), 1);
    assert!(left_out[0].starts_with("4 files "), "{left_out:?}");
}

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

#[tokio::test(start_paused = true)]
async fn a_parent_knows_a_file_that_its_child_changed_to_be_stale() {
    let probe = Probe::new();
    let script = json!({
        "turns": [
            { "tool_calls": [call("k0", "probe", json!({ "path": "a.txt", "note": true }))] },
            { "tool_calls": [call("t", "task", json!({
                "task": "alpha", "expected_output": "x", "role": "worker" }))] },
            { "tool_calls": [call("k9", "probe", json!({ "path": "a.txt" }))] },
            { "text": "done" },
        ],
        "children": [{ "match": "alpha", "turns": [
            { "tool_calls": [bash("k1", "put a.txt other")] }, { "text": "{\"summary\":\"s\"}" },
        ]}],
    });
    let played = stage(&script).tool(probe).play("go").await;
    assert_eq!(played.result("k0"), "Current");
    assert_eq!(played.result("k9"), r#"Stale { by: Some("task #1") }"#);
}

/// A stand-in that says what its run knows of a file.
struct Probe {
    spec: ToolSpec,
}

impl Probe {
    fn new() -> Self {
        let parameters = json!({ "type": "object", "properties": {
            "path": { "type": "string" }, "note": { "type": "boolean" },
        }});
        let (name, description, permission) = ("probe", "a stand-in", Permission::Read);
        Self { spec: ToolSpec { name, description, parameters, permission, read_only: true } }
    }
}

impl Tool for Probe {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        use cap_std::fs::Dir;
        use offshoot::workspace::seen::FileStamp;
        Box::pin(async move {
            let path = arguments["path"].as_str().unwrap();
            let root =
                Dir::open_ambient_dir(context.workspace.path(), cap_std::ambient_authority());
            let stamp = FileStamp::of(&root.unwrap().metadata(path).unwrap());
            if arguments["note"] == true {
                context.seen.note(path, stamp);
            }
            ToolOutput::whole(format!("{:?}", context.seen.knows(path, stamp)))
        })
    }
}
