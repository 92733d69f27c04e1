//! Cancelling while something is asked: the question is withdrawn, and nothing is done.

use offshoot::domain::approval::Answer;
use offshoot::domain::command::Command;
use offshoot::domain::event::{Fact, Failure};
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{By, Status};
use serde_json::json;

use crate::common::one_batch;
use crate::hands::{asked, bash, child, child_run, decide, parent_run, stage, task, write};

#[tokio::test(start_paused = true)]
async fn a_child_cancelled_while_it_asks_does_nothing_and_its_parent_goes_on() {
    let script = one_batch(
        &json!([task("t", "hand", "alpha")]),
        "without it",
        &json!([child("alpha", &[write("a1", "a", "x")])]),
    );
    let (stage, world) = stage(&script);
    let actions = [
        (1_000, Command::CancelTask { task: TaskId(1) }),
        (2_000, decide(child_run(1), "a1", Answer::Once)),
    ];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(asked(&played), ["asked t1.1 a1", "withdrawn by runtime t1.1 a1"]);
    assert!(world.files.lock().unwrap().is_empty());
    let report = &played.reports()[0];
    assert_eq!((report.status, report.by), (Status::Cancelled, Some(By::User)));
    // What never ran was no call.
    assert_eq!(report.usage.tool_calls, 0);
    assert_eq!(played.result("a1"), "not run: cancelled by the user before it was allowed");
    assert_eq!(played.reply(), "without it");
    let end = played.facts().find_map(|fact| match fact {
        Fact::RunFinished(end) if end.report.is_some() => Some(end.clone()),
        _ => None,
    });
    let receipt = end.unwrap().receipt.unwrap();
    assert!(receipt.not_ended.is_empty() && receipt.files_touched.is_empty());
}

#[tokio::test(start_paused = true)]
async fn stopping_withdraws_what_is_asked_and_the_next_question_works() {
    let script = json!({ "turns": [
        { "text": "", "tool_calls": [write("c1", "a", "x"), bash("c2", "make")] },
        { "text": "second answer" },
    ] });
    let (stage, world) = stage(&script);
    let mut live = stage.start();
    let end = live.ask("go", &[(1_000, Command::Stop)]).await;
    assert_eq!((end.status, end.by), (Status::Cancelled, Some(By::User)));
    let end = live.ask("again", &[]).await;
    assert_eq!(end.reply.as_deref(), Some("second answer"));
    let played = live.quit().await;
    assert_eq!(asked(&played), ["asked r1 c1", "withdrawn by runtime r1 c1"]);
    assert!(world.files.lock().unwrap().is_empty() && world.ran().is_empty());
    let failures: Vec<Option<Failure>> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::ToolFinished { failure, .. } => Some(*failure),
            _ => None,
        })
        .collect();
    assert_eq!(failures, [Some(Failure::NotRun); 2]);
}

#[tokio::test(start_paused = true)]
async fn quitting_withdraws_what_is_asked() {
    let script = one_batch(&json!([bash("c1", "make")]), "done", &json!([]));
    let (stage, world) = stage(&script);
    let played = stage.play_with("go", &[(1_000, Command::Quit)]).await;
    assert_eq!(asked(&played), ["asked r1 c1", "withdrawn by runtime r1 c1"]);
    assert_eq!(played.parent_ends()[0].by, Some(By::Shutdown));
    assert!(world.ran().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_answer_and_a_stop_at_the_same_moment_leave_one_decision() {
    for stop_first in [true, false] {
        let script = one_batch(&json!([bash("c1", "make")]), "done", &json!([]));
        let (stage, _) = stage(&script);
        let answer = decide(parent_run(), "c1", Answer::Once);
        let actions = if stop_first {
            [(1_000, Command::Stop), (1_000, answer)]
        } else {
            [(1_000, answer), (1_000, Command::Stop)]
        };
        // The harness checks that it was decided exactly once.
        let played = stage.play_with("go", &actions).await;
        assert_eq!(asked(&played).len(), 2);
    }
}
