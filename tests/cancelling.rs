//! Cancelling at any moment: nothing is left open, nothing starts again, the next question works.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::Arc;

use common::{Live, Stage, rounds, task_call};
use offshoot::domain::command::Command;
use offshoot::domain::event::{Fact, RunFinished};
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::Status;
use serde_json::{Value, json};

/// A parent that thinks, delegates two tasks, reads a file and answers; about 900 ms in all.
fn script() -> Value {
    let read = json!({ "id": "k{n}", "name": "list_files", "arguments": { "path": "d{n}" } });
    let step = json!({ "text": "step {n}", "delay_ms": 60, "tool_calls": [read] });
    let child = |name: &str| json!({ "match": name, "turns": [step, step, { "text": "ok", "delay_ms": 90 }] });
    json!({
        "turns": [
            { "text": "I look.", "delay_ms": 100,
              "tool_calls": [task_call("c1", "alpha"), task_call("c2", "beta")] },
            { "delay_ms": 80, "tool_calls": [
                { "id": "c3", "name": "list_files", "arguments": {} }, task_call("c4", "gamma")] },
            { "text": "answer", "delay_ms": 70 },
            { "text": "second answer" },
        ],
        "children": [child("alpha"), child("beta"), child("gamma")],
        "cycle": true,
    })
}

/// A small generator of moments: the same on every run.
struct Moments(u64);

impl Moments {
    fn next(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Asks, and does something as soon as the `k`th event is seen: moments that no timer hits.
async fn ask_and_act_at(live: &mut Live, k: usize, command: Command) -> Option<RunFinished> {
    live.send(Command::Submit { text: "go".to_owned() }).await;
    for seen in 0.. {
        let event = live.session.events.recv().await.unwrap();
        live.events.push(Arc::clone(&event));
        if seen == k {
            live.send(command.clone()).await;
        }
        if let (Fact::RunFinished(end), None) = (&event.fact, &event.origin.task) {
            return (seen >= k).then(|| (**end).clone());
        }
    }
    None
}

#[tokio::test(start_paused = true)]
async fn cancelling_at_every_event_leaves_everything_well_formed() {
    for task in [TaskId(1), TaskId(3)] {
        for k in (0..).step_by(rounds(3, 1) as usize) {
            let mut live = Stage::new(&script()).start();
            let cancel = Command::CancelTask { task };
            let Some(end) = ask_and_act_at(&mut live, k, cancel).await else { break };
            assert_eq!(end.status, Status::Completed, "the parent goes on, cancelled at event {k}");
            ask_again(live).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn stopping_at_every_event_leaves_everything_well_formed() {
    for k in (0..).step_by(rounds(3, 1) as usize) {
        let mut live = Stage::new(&script()).start();
        let Some(end) = ask_and_act_at(&mut live, k, Command::Stop).await else { break };
        assert!(matches!(end.status, Status::Cancelled | Status::Completed), "at event {k}");
        let asked = live.spy.requests().len();
        tokio::time::sleep(std::time::Duration::from_mins(1)).await;
        assert_eq!(live.spy.requests().len(), asked, "nothing is asked afterwards");
        ask_again(live).await;
    }
}

#[tokio::test(start_paused = true)]
async fn words_typed_after_a_stop_start_the_next_run() {
    let mut live = Stage::new(&script()).start();
    let later = Command::Submit { text: "something else".to_owned() };
    live.ask("go", &[(130, Command::Stop), (130, later)]).await;
    let end = live.follow(&[]).await;
    assert_eq!(end.status, Status::Completed);
    let played = live.quit().await;
    assert_eq!(played.parent_ends().len(), 2);
}

async fn ask_again(mut live: Live) {
    let end = live.ask("and now?", &[]).await;
    assert_eq!(end.status, Status::Completed, "the next question works");
    live.quit().await;
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_child_at_any_moment_leaves_no_call_without_result() {
    let mut moments = Moments(1);
    for _ in 0..rounds(200, 2_000) {
        let (at, task) = (moments.next(1_000), TaskId(1 + u32::try_from(moments.next(3)).unwrap()));
        let mut live = Stage::new(&script()).start();
        let end = live.ask("go", &[(at, Command::CancelTask { task })]).await;
        assert_eq!(end.status, Status::Completed, "the parent goes on, cancelled at {at} ms");
        ask_again(live).await;
    }
}

#[tokio::test(start_paused = true)]
async fn stopping_at_any_moment_stops_everything_and_nothing_starts_again() {
    let mut moments = Moments(2);
    for _ in 0..rounds(200, 2_000) {
        let at = moments.next(900);
        let mut live = Stage::new(&script()).start();
        let end = live.ask("go", &[(at, Command::Stop)]).await;
        assert!(matches!(end.status, Status::Cancelled | Status::Completed), "at {at} ms");
        let asked = live.spy.requests().len();
        tokio::time::sleep(std::time::Duration::from_mins(1)).await;
        assert_eq!(live.spy.requests().len(), asked, "nothing is asked afterwards");
        ask_again(live).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_child_comes_back_as_a_result_and_the_parent_answers() {
    let mut live = Stage::new(&script()).start();
    let cancel = Command::CancelTask { task: TaskId(1) };
    live.ask("go", &[(130, cancel)]).await;
    let played = live.quit().await;
    let report = played.task_result("c1");
    assert_eq!(report.status, Status::Cancelled);
    assert!(report.next.contains("do not retry"), "{}", report.next);
    assert_eq!(played.task_result("c2").status, Status::Completed);
    let asked = played.facts().position(|fact| matches!(fact, Fact::CancelRequested { .. }));
    let ended = played
        .facts()
        .position(|fact| matches!(fact, Fact::RunFinished(end) if end.status == Status::Cancelled));
    assert!(asked.unwrap() < ended.unwrap());
    let receipt = played.facts().find_map(|fact| match fact {
        Fact::RunFinished(end) => end.receipt.clone(),
        _ => None,
    });
    assert_eq!(receipt.unwrap().connections_closed, 1);
    assert!(
        played
            .facts()
            .any(|fact| matches!(fact, Fact::Notice { code, .. } if code == "UNFINISHED_CHILD"))
    );
}

#[tokio::test(start_paused = true)]
async fn words_that_waited_are_not_sent_after_a_stop() {
    let mut live = Stage::new(&script()).start();
    let typed = Command::Submit { text: "later".to_owned() };
    live.ask("go", &[(20, typed), (50, Command::Stop)]).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    let played = live.quit().await;
    assert_eq!(played.parent_ends().len(), 1);
    assert!(played.facts().any(|f| matches!(f, Fact::Notice { code, .. } if code == "UNSENT")));
}

#[tokio::test(start_paused = true)]
async fn words_typed_during_the_last_turn_start_the_next_run() {
    let script = json!({ "turns": [{ "text": "one", "delay_ms": 100 }, { "text": "two" }] });
    let mut live = Stage::new(&script).start();
    live.ask("first", &[(50, Command::Submit { text: "second".to_owned() })]).await;
    let end = live.follow(&[]).await;
    assert_eq!(end.reply.as_deref(), Some("two"));
    live.quit().await;
}

#[tokio::test(start_paused = true)]
async fn the_sessions_time_limit_ends_everything_by_shutdown() {
    let mut stage = Stage::new(&script());
    stage.timeout = Some(std::time::Duration::from_millis(150));
    let played = stage.play("go").await;
    let end = &played.parent_ends()[0];
    assert_eq!(end.status, Status::Cancelled);
    assert_eq!(serde_json::to_value(end.code).unwrap(), "TIMEOUT");
    assert_eq!(serde_json::to_value(end.by).unwrap(), "shutdown");
    assert_eq!(played.task_result("c1").status, Status::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn quitting_after_the_end_cancels_nothing() {
    for _ in 0..rounds(20, 200) {
        let mut live = Stage::new(&json!({ "turns": [{ "text": "hi" }] })).start();
        live.ask("go", &[]).await;
        let played = live.quit().await;
        assert!(!played.facts().any(|fact| matches!(fact, Fact::CancelRequested { .. })));
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_what_is_not_there_is_answered_in_words() {
    let mut live = Stage::new(&json!({ "turns": [{ "text": "hi" }] })).start();
    live.send(Command::Stop).await;
    live.send(Command::CancelTask { task: TaskId(9) }).await;
    live.ask("go", &[]).await;
    let played = live.quit().await;
    let told = played
        .facts()
        .filter(|fact| matches!(fact, Fact::Notice { code, .. } if code == "NOTHING_TO_CANCEL"));
    assert_eq!(told.count(), 2);
}
