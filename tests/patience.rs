//! Requests that fail: what is tried again, how long it waits, and what a person sees of it.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::time::Duration;

use common::{Played, Stage, one_batch, task_call};
use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::report::Status;
use offshoot::domain::violation::Code;
use offshoot::provider::retry::Patience;
use serde_json::{Value, json};

fn fails(status: u16) -> Value {
    json!({ "error": { "status": status, "message": "busy" } })
}

fn script(turns: &[Value]) -> Value {
    json!({ "turns": turns })
}

fn retries(played: &Played) -> Vec<(Option<u16>, u32)> {
    let scheduled = played.facts().filter_map(|fact| match fact {
        Fact::RetryScheduled { http_status, attempt, .. } => Some((*http_status, *attempt)),
        _ => None,
    });
    scheduled.collect()
}

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_again_and_the_wait_is_told() {
    let script = script(&[fails(429), fails(500), json!({ "text": "recovered" })]);
    let played = Stage::new(&script).play("go").await;
    assert_eq!(played.reply(), "recovered");
    assert_eq!(retries(&played), [(Some(429), 2), (Some(500), 3)]);
    let turns = played.facts().filter(|fact| matches!(fact, Fact::TurnStarted { .. })).count();
    assert_eq!(turns, 1, "a try is no turn");
    let end = &played.parent_ends()[0];
    let charged = played.facts().filter(|fact| matches!(fact, Fact::Usage { .. })).count();
    assert_eq!((end.turns, charged), (1, 1), "a refused try used nothing");
}

#[tokio::test(start_paused = true)]
async fn patience_ends_with_the_servers_own_words() {
    let played = Stage::new(&script(&vec![fails(503); 9])).play("go").await;
    assert_eq!(played.requests.len(), 5);
    let end = &played.parent_ends()[0];
    assert_eq!((end.status, end.code), (Status::Failed, Some(Code::ProviderError)));
    assert!(played.facts().any(|fact| matches!(
        fact, Fact::Notice { text, .. } if text.contains("503") && text.contains("busy")
    )));
}

#[tokio::test(start_paused = true)]
async fn a_wrong_request_is_not_repeated() {
    let played = Stage::new(&script(&[fails(400), json!({ "text": "never" })])).play("go").await;
    assert_eq!(played.requests.len(), 1);
    assert_eq!(played.parent_ends()[0].status, Status::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_up_and_asked_again() {
    let script = script(&[json!({ "text": "late", "delay_ms": 10_000 }), json!({ "text": "now" })]);
    let mut stage = Stage::new(&script);
    stage.patience = Patience { headers: Duration::from_millis(800), ..Patience::default() };
    let played = stage.play("go").await;
    assert_eq!(played.reply(), "now");
    let reason = played.facts().find_map(|fact| match fact {
        Fact::RetryScheduled { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert!(reason.unwrap().contains("said nothing"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stalls_after_words_keeps_them_and_is_not_replayed() {
    let broken = json!({ "text": "The three causes are", "error": { "status": 529 } });
    let played = Stage::new(&script(&[broken, json!({ "text": "never" })])).play("go").await;
    assert_eq!(played.requests.len(), 1);
    let end = &played.parent_ends()[0];
    assert_eq!(end.status, Status::Failed);
    assert_eq!(played.reply(), "The three causes are");
    assert!(played.facts().any(|fact| matches!(fact, Fact::Message(m) if m.interrupted)));
    assert!(end.usage.input_tokens > 0, "what was begun is charged");
}

#[tokio::test(start_paused = true)]
async fn a_wait_can_be_cancelled() {
    let mut live = Stage::new(&script(&[fails(500), json!({ "text": "later" })])).start();
    let end = live.ask("go", &[(100, Command::Stop)]).await;
    assert_eq!(end.status, Status::Cancelled);
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(live.spy.requests().len(), 1);
    let end = live.ask("again", &[]).await;
    assert_eq!(end.reply.as_deref(), Some("later"));
    live.quit().await;
}

#[tokio::test(start_paused = true)]
async fn a_child_waits_and_recovers_like_its_parent() {
    let children = json!([{ "match": "alpha", "turns": [fails(502), { "text": "fine" }] }]);
    let script = one_batch(&json!([task_call("c1", "alpha")]), "done", &children);
    let played = Stage::new(&script).play("go").await;
    let report = played.task_result("c1");
    assert_eq!((report.status, report.turns), (Status::Completed, 1));
    assert!(report.usage.duration_ms >= 500, "waiting is running time");
}
