//! What a child is told, and when it reads it.

use offshoot::domain::command::Steer;
use offshoot::domain::event::Fact;
use offshoot::domain::message::Message;
use offshoot::domain::report::Status;
use serde_json::json;

use crate::common::Played;
use crate::ground::{child, nap, outcome, script, stage, steer, task, tell};

/// What the child's requests end with.
fn last_messages(played: &Played) -> Vec<String> {
    let last = |request: &&offshoot::provider::Request| match &**request.messages.last().unwrap() {
        Message::User { text } if text.contains("Expected output") => "task".to_owned(),
        Message::User { text } => text.clone(),
        Message::Results { .. } => "results".to_owned(),
        Message::Assistant(_) => "assistant".to_owned(),
    };
    played.child_requests().iter().map(last).collect()
}

fn alpha(turns: &[serde_json::Value]) -> serde_json::Value {
    script(&[task("c1", "alpha")], &json!([{ "match": "alpha", "turns": turns }]))
}

#[tokio::test(start_paused = true)]
async fn words_stand_after_the_batch_that_was_going_on() {
    let say = [(3_000, steer(1, tell("look in tests"))), (3_100, steer(1, tell("and docs")))];
    let played = stage(&alpha(&child())).play_with("go", &say).await;
    assert_eq!(last_messages(&played), ["task", "and docs", "results"]);
    let request = played.child_requests()[1].clone();
    let texts: Vec<_> = request.messages.iter().skip(2).collect();
    assert!(matches!(&**texts[0], Message::Results { .. }));
    assert!(matches!(&**texts[1], Message::User { text } if text == "look in tests"));
    let parents = played.parent_requests();
    assert!(parents.iter().all(|request| !format!("{:?}", request.messages).contains("in tests")));
}

#[tokio::test(start_paused = true)]
async fn a_child_that_would_end_hears_first_if_it_has_a_turn_left() {
    let played =
        stage(&alpha(&child())).play_with("go", &[(8_000, steer(1, tell("and docs")))]).await;
    assert_eq!(outcome(&played, 1), "completed: 4 turns, 2 calls, 9500 ms, told");
    assert_eq!(played.task_result("c1").summary, "found more");
    assert_eq!(last_messages(&played)[3], "and docs");
}

/// Its next turn would be its last, which would make a child that had finished one that was cut.
#[tokio::test(start_paused = true)]
async fn words_do_not_take_a_finished_child_into_its_last_turn() {
    let mut call = task("c1", "alpha");
    call["arguments"]["budget"] = json!({ "turns": 4 });
    let script = script(&[call], &json!([{ "match": "alpha", "turns": child() }]));
    let played = stage(&script).play_with("go", &[(8_000, steer(1, tell("and docs")))]).await;
    assert_eq!(outcome(&played, 1), "completed: 3 turns, 2 calls, 8500 ms, unheard");
    assert_eq!(played.task_result("c1").summary, "found");
}

#[tokio::test(start_paused = true)]
async fn words_that_come_too_late_to_be_heard_are_told_to_be_lost() {
    let mut call = task("c1", "alpha");
    call["arguments"]["budget"] = json!({ "turns": 2 });
    let turns = [
        json!({ "text": "", "tool_calls": [nap("a1")] }),
        json!({ "text": "last", "delay_ms": 1_000 }),
    ];
    let script = script(&[call], &json!([{ "match": "alpha", "turns": turns }]));
    let played = stage(&script).play_with("go", &[(2_500, steer(1, tell("hello")))]).await;
    assert_eq!(outcome(&played, 1), "budget_exhausted: 2 turns, 1 calls, 3000 ms, no");

    let cancel =
        offshoot::domain::command::Command::CancelTask { task: offshoot::domain::ids::TaskId(1) };
    let actions = [(3_000, steer(1, tell("hello"))), (3_500, cancel)];
    let played = stage(&alpha(&child())).play_with("go", &actions).await;
    assert_eq!(
        outcome(&played, 1),
        "cancelled by User: 1 turns, 1 calls, 3500 ms, cancel, unheard"
    );
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_would_have_been_the_last_is_not_after_an_extension() {
    let mut call = task("c1", "alpha");
    call["arguments"]["budget"] = json!({ "turns": 2, "duration_s": 6 });
    let script = script(&[call], &json!([{ "match": "alpha", "turns": child() }]));
    let cut = stage(&script).play("go").await;
    assert_eq!(outcome(&cut, 1), "budget_exhausted: 2 turns, 1 calls, 5500 ms");
    let extend = [(1_000, steer(1, Steer::Extend))];
    let played = stage(&script).play_with("go", &extend).await;
    // Three turns and nine seconds; the third one is the last, and may call nothing.
    assert_eq!(outcome(&played, 1), "budget_exhausted: 3 turns, 2 calls, 8500 ms, extended");
    let twice = [(1_000, steer(1, Steer::Extend)), (1_100, steer(1, Steer::Extend))];
    let played = stage(&script).play_with("go", &twice).await;
    assert_eq!(outcome(&played, 1), "completed: 3 turns, 2 calls, 8500 ms, extended, extended");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_follows_an_extension_and_stands_while_paused() {
    let mut call = task("c1", "alpha");
    call["arguments"]["budget"] = json!({ "duration_s": 6 });
    let script = script(&[call], &json!([{ "match": "alpha", "turns": child() }]));
    let cut = stage(&script).play("go").await;
    assert_eq!(outcome(&cut, 1), "budget_exhausted: 2 turns, 2 calls, 6000 ms");
    let played = stage(&script).play_with("go", &[(5_900, steer(1, Steer::Extend))]).await;
    assert_eq!(outcome(&played, 1), "completed: 3 turns, 2 calls, 8500 ms, extended");
    let pause = [(3_000, steer(1, Steer::Pause)), (90_000, steer(1, Steer::Pause))];
    let played = stage(&script).play_with("go", &pause).await;
    assert_eq!(outcome(&played, 1), "budget_exhausted: 2 turns, 2 calls, 6000 ms, paused, resumed");
}

#[tokio::test(start_paused = true)]
async fn what_is_paused_sends_no_request_and_starts_no_call() {
    for at in [500, 1_700, 3_000, 5_000, 6_000] {
        let actions = [(at, steer(1, Steer::Pause))];
        let mut stage = stage(&alpha(&child()));
        stage.timeout = Some(std::time::Duration::from_secs(100));
        let played = stage.play_with("go", &actions).await;
        let paused = played.events.iter().position(|e| matches!(e.fact, Fact::Paused { .. }));
        let after = &played.events[paused.unwrap()..];
        let starts =
            |fact: &Fact| matches!(fact, Fact::TurnStarted { .. } | Fact::ToolStarted { .. });
        assert!(!after.iter().any(|event| starts(&event.fact)), "paused at {at}");
        assert_eq!(played.task_result("c1").status, Status::Cancelled);
    }
}
