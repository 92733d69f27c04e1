//! `done_when` and `must_not`, held against what happened.

use offshoot::domain::report::{Status, WarningCode};
use serde_json::json;

use crate::stand::{call, play, report, script, stage, warnings, write};

#[tokio::test(start_paused = true)]
async fn a_change_of_what_must_not_be_touched_is_told_to_the_parent_and_to_people() {
    let answer = |paths: &[&str]| json!({ "summary": "did it", "changed_paths": paths });
    let more = json!({ "must_not": "change `src/b.txt` or anything in docs/" });
    let calls = json!([write("k1", "docs/new.txt")]);
    let played = play("worker", more.clone(), calls, answer(&["docs/new.txt"])).await;
    let report = played.task_result("t");
    assert_eq!(report.status, Status::Completed);
    let told = warnings(&report, WarningCode::MustNot);
    assert_eq!(told, ["changed what must_not names: docs"], "{report:#?}");
    let notices = crate::below::notices(&played, "UNCONFIRMED_CHILD");
    assert!(notices.len() == 1 && notices[0].contains("docs"), "{notices:?}");
    let calls = json!([write("k1", "new.txt")]);
    let honest = play("worker", more, calls, answer(&["new.txt"])).await;
    assert!(honest.task_result("t").warnings.is_empty(), "{:#?}", honest.task_result("t"));
    assert!(crate::below::notices(&honest, "UNCONFIRMED_CHILD").is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_done_when_names_and_what_is_not_there_is_told() {
    let more = json!({ "done_when": "docs/plan.md and a.txt exist and all tests pass" });
    let answer = json!({ "summary": "wrote it", "changed_paths": ["docs/other.md"] });
    let calls = json!([write("k1", "docs/other.md")]);
    let found = report("worker", more, calls, answer).await;
    let told = warnings(&found, WarningCode::DoneWhen);
    assert_eq!(told, ["done_when names what does not exist: docs/plan.md"], "{found:#?}");
    assert_eq!(warnings(&found, WarningCode::TestsNotRun).len(), 1, "{found:#?}");
    let more = json!({ "done_when": "docs/plan.md exists; tests pass; old.txt is gone" });
    let answer = json!({ "summary": "wrote it", "changed_paths": ["docs/plan.md"] });
    let tests = call("k2", "bash", json!({ "command": "test -f docs/plan.md" }));
    let calls = json!([write("k1", "docs/plan.md"), tests]);
    let mut stage = stage(&script("worker", more, calls, &[answer]));
    stage.test_command = Some("test -f docs/plan.md".to_owned());
    let found = stage.play("go").await.task_result("t");
    assert!(found.warnings.is_empty(), "{found:#?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_finished_is_not_held_to_its_end() {
    let more = json!({ "done_when": "docs/plan.md exists", "budget": { "turns": 2 } });
    let calls = json!([write("k1", "docs/other.md")]);
    let answer = json!({ "summary": "half", "changed_paths": ["docs/other.md"] });
    let found = report("worker", more, calls, answer).await;
    assert_eq!(found.status, Status::BudgetExhausted);
    assert!(warnings(&found, WarningCode::DoneWhen).is_empty(), "{found:#?}");
}
