//! Children that lie about what their commands did, with the real shell, real tests and the real look
//! at the files. Beside each lie stands the honest child that says the same and is not marked.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

mod common;

use std::sync::Arc;

use common::{Stage, one_batch};
use offshoot::domain::report::{Report, Status, Warning, WarningCode};
use offshoot::domain::role::Permission;
use offshoot::tool::run_tests::RunTests;
use serde_json::{Value, json};

const HANDS: [Permission; 5] = [
    Permission::Read,
    Permission::Write,
    Permission::Test,
    Permission::Execute,
    Permission::Delegate,
];

/// The tests of the project: they pass while `a.txt` says so, and leave a file behind.
const CHECK: &str = "echo ran >> ran.log; grep -q good a.txt";

fn call(name: &str, arguments: Value) -> Value {
    json!({ "name": name, "arguments": arguments })
}

fn bash(command: &str) -> Value {
    call("bash", json!({ "command": command }))
}

fn write(path: &str, content: &str) -> Value {
    call("write_file", json!({ "path": path, "content": content }))
}

fn tests() -> Value {
    call("run_tests", json!({}))
}

/// The report of a worker that makes these calls, a turn each, and answers so.
async fn report(calls: &[Value], answer: Value) -> Report {
    let mut turns: Vec<Value> = Vec::new();
    for (number, call) in calls.iter().enumerate() {
        let mut call = call.clone();
        call["id"] = json!(format!("k{number}"));
        turns.push(json!({ "text": "", "tool_calls": [call] }));
    }
    turns.push(json!({ "text": answer.to_string() }));
    let task = json!({ "id": "t", "name": "task", "arguments": {
        "task": "alpha", "expected_output": "answer", "role": "worker",
    } });
    let children = json!([{ "match": "alpha", "turns": turns }]);
    let mut stage = Stage::new(&one_batch(&json!([task]), "parent done", &children))
        .permissions(&HANDS)
        .file("a.txt", "good\n")
        .file("src/b.txt", "three\nfour\n")
        .file("check.sh", CHECK);
    stage.tools = stage.tools.with(Arc::new(RunTests::new(Some("sh check.sh".to_owned()))));
    let played = stage.play("go").await;
    let report = played.task_result("t");
    assert_eq!(report.status, Status::Completed, "{report:#?}");
    report
}

fn marks(report: &Report) -> Vec<WarningCode> {
    report.warnings.iter().map(|warning| warning.code).collect()
}

fn of(report: &Report, code: WarningCode) -> Option<&Warning> {
    report.warnings.iter().find(|warning| warning.code == code)
}

#[tokio::test]
async fn a_file_that_a_command_changed_is_measured_and_marked_where_it_was_not_claimed() {
    let command = [bash("echo more >> src/b.txt; rm a.txt; echo new > c.txt")];
    let says = |paths: Value| json!({ "summary": "looked around", "changed_paths": paths });
    let lie = report(&command, says(json!(["c.txt"]))).await;
    assert_eq!(lie.changed_paths, ["a.txt", "c.txt", "src/b.txt"], "measured");
    let text = &of(&lie, WarningCode::ChangedUnclaimed).unwrap().text;
    assert!(text.contains("a.txt") && text.contains("src/b.txt") && !text.contains("c.txt"));
    let honest = report(&command, says(json!(["a.txt", "c.txt", "src/b.txt"]))).await;
    assert_eq!(marks(&honest), []);
    // What was changed and changed back is no change.
    let undone = [bash("cp a.txt k; echo x > a.txt; mv k a.txt")];
    let lie = report(&undone, says(json!(["a.txt"]))).await;
    assert_eq!(marks(&lie), [WarningCode::ClaimedUnchanged]);
    assert_eq!(lie.changed_paths, [] as [String; 0]);
}

#[tokio::test]
async fn what_was_seen_through_a_command_only_is_never_verified() {
    let cites = json!({ "summary": "s", "evidence": [
        { "path": "src/b.txt", "line": 1, "reason": "it says three" },
    ]});
    let read = call("read_file", json!({ "path": "src/b.txt" }));
    for command in ["cat src/b.txt", "cd src && head -1 b.txt", "grep -rn three ."] {
        let seen = report(&[bash(command)], cites.clone()).await;
        assert_eq!(marks(&seen), [WarningCode::EvidenceViaBash], "{command}");
        assert!(!seen.evidence[0].verified && seen.evidence[0].via_bash, "{command}");
    }
    let lie = report(&[bash("cat a.txt")], cites.clone()).await;
    assert_eq!(marks(&lie), [WarningCode::EvidenceNotRead]);
    assert!(!lie.evidence[0].verified && !lie.evidence[0].via_bash);
    let honest = report(&[bash("cat src/b.txt"), read], cites).await;
    assert_eq!(marks(&honest), []);
    assert!(honest.evidence[0].verified && !honest.evidence[0].via_bash);
}

/// Tests that really ran: what they came to when they ran last counts, and only as long as nothing
/// changed after it.
#[tokio::test]
async fn tests_pass_only_if_they_ran_last_and_passed() {
    let bad = || bash("echo bad > a.txt");
    let good = || write("new.txt", "five\n");
    let (before, failed, never) = ("files changed after", "did not", "never ran");
    let table = [
        ("passed", vec![good(), tests()], None),
        ("passed, then only looked at", vec![tests(), bash("cat a.txt")], None),
        ("failed", vec![bad(), tests()], Some(failed)),
        ("passed, then failed", vec![tests(), bad(), tests()], Some(failed)),
        ("failed, then passed", vec![bad(), tests(), bash("echo good > a.txt"), tests()], None),
        ("passed, then a file was written", vec![tests(), good()], Some(before)),
        ("passed, then a command changed one", vec![tests(), bash("echo > c")], Some(before)),
        ("passed, changed, passed", vec![tests(), good(), tests()], None),
        ("failed, then changed", vec![bad(), tests(), good()], Some(failed)),
        ("ran in a shell only", vec![bash("sh check.sh")], Some(never)),
    ];
    for (name, calls, mark) in table {
        let all = json!(["a.txt", "new.txt", "c", "ran.log"]);
        for answer in [
            json!({ "summary": "Fixed, all tests pass.", "changed_paths": all }),
            json!({ "summary": "改好了，测试全部通过。", "changed_paths": all }),
        ] {
            let report = report(&calls, answer).await;
            let found = of(&report, WarningCode::TestsNotRun).map(|warning| warning.text.as_str());
            match (found, mark) {
                (None, None) => {}
                (Some(text), Some(mark)) => assert!(text.contains(mark), "{name}: {text}"),
                (found, mark) => panic!("{name}: {found:?} is not {mark:?}"),
            }
        }
    }
}
