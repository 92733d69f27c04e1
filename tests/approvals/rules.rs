//! What the configuration says beside the mode.

use std::os::unix::fs::symlink;

use offshoot::domain::approval::{Answer, Mode};
use offshoot::domain::report::Status;
use offshoot::domain::rules::Rules;
use serde_json::json;

use crate::common::one_batch;
use crate::hands::{asked, bash, decide, notices, parent_run, stage, write};

#[tokio::test(start_paused = true)]
async fn the_strictest_rule_wins_in_every_mode() {
    let script = one_batch(
        &json!([
            bash("c1", "git status"),
            bash("c2", "git push"),
            bash("c3", "git status; git push"),
            write("c4", "src/a", "x"),
            write("c5", "src/.env", "x"),
        ]),
        "done",
        &json!([]),
    );
    let (mut stage, world) = stage(&script);
    stage.mode = Mode::FullAccess;
    stage.rules = Rules::parse(
        &["bash(git status)", "write_file(src)"],
        &["bash(git push)"],
        &["write_file(src/.env)"],
    )
    .unwrap();
    let actions = [
        (1_000, decide(parent_run(), "c2", Answer::Once)),
        (2_000, decide(parent_run(), "c3", Answer::Deny { reason: None })),
    ];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(
        asked(&played),
        [
            "asked r1 c2",
            "once by user r1 c2",
            "asked r1 c3",
            "deny by user r1 c3",
            "deny by rule r1 c5",
        ]
    );
    assert_eq!(world.ran(), ["git status", "git push"]);
    assert!(played.result("c5").contains("the rule `write_file(src/.env)` denies it"));
    let told = notices(&played.events, "CALL_DENIED");
    assert_eq!(told, ["write_file src/.env was denied: the rule `write_file(src/.env)` denies it"]);
    // A person was there to see it.
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_link_does_not_lead_around_a_rule() {
    let read = json!({ "id": "c1", "name": "read_file", "arguments": { "path": "innocent" } });
    let script = one_batch(
        &json!([
            read,
            write("c2", "innocent", "x"),
            write("c3", "new", "x"),
            write("c4", "d/k", "x")
        ]),
        "done",
        &json!([]),
    );
    let (mut stage, world) = stage(&script);
    stage = stage.file("secret/key", "hidden\n");
    symlink("secret/key", stage.folder.path().join("innocent")).unwrap();
    symlink("secret/not-yet", stage.folder.path().join("new")).unwrap();
    symlink("secret", stage.folder.path().join("d")).unwrap();
    stage.mode = Mode::FullAccess;
    stage.rules =
        Rules::parse::<&str>(&[], &[], &["read_file(secret)", "write_file(secret)"]).unwrap();
    let played = stage.play("go").await;
    assert_eq!(
        asked(&played),
        ["c1", "c2", "c3", "c4"].map(|call| format!("deny by rule r1 {call}"))
    );
    assert!(world.files.lock().unwrap().is_empty());
    assert!(!played.result("c1").contains("hidden"));
}

#[tokio::test(start_paused = true)]
async fn what_may_not_be_read_is_not_found_by_a_search_either() {
    let search = |id: &str, path: &str| json!({ "id": id, "name": "search", "arguments": { "pattern": ".", "path": path } });
    let script = one_batch(&json!([search("c1", "."), search("c2", ".env")]), "done", &json!([]));
    let (mut stage, _) = stage(&script);
    stage = stage.file(".env", "hidden\n").file("open", "plain\n");
    stage.rules = Rules::parse::<&str>(&[], &[], &["read_file(.env)"]).unwrap();
    let played = stage.play("go").await;
    assert_eq!(asked(&played), ["deny by rule r1 c2"]);
    assert!(played.result("c1").contains("open:1:plain"), "{}", played.result("c1"));
    assert!(played.result("c1").contains("1 file left out by a rule"));
    for call in ["c1", "c2"] {
        assert!(!played.result(call).contains("hidden"), "{}", played.result(call));
    }
}
