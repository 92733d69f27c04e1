//! What is told as changed while a run goes on, by whom, and what is no change at all.

use std::fs;
use std::sync::Arc;

use offshoot::domain::command::Command;
use offshoot::domain::event::Change::{Added, Deleted, Modified};
use offshoot::domain::event::Fact;
use offshoot::domain::hash::Sha;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{Status, WarningCode};
use offshoot::domain::role::Permission;
use offshoot::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::common::{Live, call};
use crate::ground::{
    bash, brief, child_end, notices, parent, put, stage, told, warnings, worker, write,
};

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
