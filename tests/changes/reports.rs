//! What a report makes of what changed: claims against measurements, limits overstepped, and what
//! needs a review.

use std::path::Path;
use std::time::Duration;

use offshoot::domain::command::Command;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{Status, WarningCode};
use offshoot::domain::role::Permission;
use serde_json::json;

use crate::common::{call, one_batch};
use crate::ground::{Hands, bash, child, child_end, notices, parent, stage, warnings, worker};

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
