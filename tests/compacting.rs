//! Long conversations: a summary in good time, shorter results after a refusal, and never a loop.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Played, Stage, one_batch, task_call};
use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::event::Fact;
use offshoot::domain::message::Message;
use offshoot::domain::report::Status;
use offshoot::domain::violation::Code;
use serde_json::{Value, json};

/// Seven results of about 320 tokens bring a prompt of about 1,500 above four fifths of it.
const WINDOW: u64 = 4_800;

fn read(n: usize) -> Value {
    let arguments = json!({ "path": "long.txt", "offset": n * 10 + 1, "limit": 10 });
    json!({ "tool_calls": [{ "id": format!("c{n}"), "name": "read_file", "arguments": arguments }] })
}

fn long_file() -> String {
    let lines: Vec<String> = (0..400).map(|n| format!("line {n} {}", "word ".repeat(20))).collect();
    lines.join("\n")
}

fn compacted(played: &Played) -> Vec<String> {
    let told = played.facts().filter_map(|fact| match fact {
        Fact::Compacted { text, .. } => Some(text.clone()),
        _ => None,
    });
    told.collect()
}

#[tokio::test(start_paused = true)]
async fn a_conversation_near_the_window_is_summarised_and_goes_on() {
    let mut turns: Vec<Value> = (0..7).map(read).collect();
    turns.push(json!({ "text": "SUMMARY-OF-IT" }));
    turns.push(json!({ "text": "done" }));
    let mut stage = Stage::new(&json!({ "turns": turns })).file("long.txt", &long_file());
    stage.window = Some(WINDOW);
    let played = stage.play("go").await;
    assert_eq!(played.reply(), "done");
    assert_eq!(compacted(&played).len(), 1);
    let summed = played
        .requests
        .iter()
        .find(|request| matches!(&*request.messages[0], Message::User { text } if text.contains("SUMMARY-OF-IT")))
        .unwrap();
    assert!(summed.messages.len() <= 9);
    assert!(
        !played
            .facts()
            .any(|fact| matches!(fact, Fact::TextDelta { text } if text.contains("SUMMARY"))),
        "the summary is not shown as an answer"
    );
    assert!(
        played.requests.iter().all(|request| !request.tools.is_empty()),
        "the tools stay defined"
    );
    let session = played.files().into_iter().find(|(path, _)| path.ends_with("session.jsonl"));
    assert!(session.unwrap().1.contains("line 5 word"), "the record keeps what was replaced");
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_is_refused_as_too_long_is_cut_once() {
    let too_long = json!({ "error": { "status": 400, "message": "context_length_exceeded" } });
    let script = json!({ "turns": [read(0), read(1), read(2), too_long, { "text": "fits" }] });
    let played = Stage::new(&script).file("long.txt", &long_file()).play("go").await;
    assert_eq!(played.reply(), "fits");
    let tokens = |index: usize| -> u64 {
        played.requests[index].messages.iter().map(|m| m.estimated_tokens()).sum()
    };
    assert!(tokens(4) < tokens(3), "the second try is smaller");
    assert_eq!(compacted(&played).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_never_fits_ends_in_words_after_one_cut() {
    let too_long = json!({ "error": { "status": 400, "message": "context_length_exceeded" } });
    let script = json!({ "turns": [too_long], "repeat_last": true });
    let mut live = Stage::new(&script).start();
    let end = live.ask("go", &[]).await;
    assert_eq!((end.status, end.code), (Status::Failed, Some(Code::ContextExceeded)));
    assert!(live.spy.requests().len() <= 2);
    let played = live.quit().await;
    assert!(played.facts().any(|fact| matches!(
        fact, Fact::Notice { text, .. } if text.contains("larger context window")
    )));
}

#[tokio::test(start_paused = true)]
async fn a_child_that_does_not_fit_says_so() {
    let too_long = json!({ "error": { "status": 400, "message": "context_length_exceeded" } });
    let children = json!([{ "match": "alpha", "turns": [too_long], "repeat_last": true }]);
    let script = one_batch(&json!([task_call("c1", "alpha")]), "done", &children);
    let report = Stage::new(&script).play("go").await.task_result("c1");
    assert_eq!((report.status, report.code), (Status::Failed, Some(Code::ContextExceeded)));
}

#[tokio::test(start_paused = true)]
async fn compacting_on_request_works_between_answers_only() {
    let mut turns: Vec<Value> = (0..5).map(read).collect();
    turns.push(json!({ "text": "first", "delay_ms": 500 }));
    turns.push(json!({ "text": "SUMMARY" }));
    turns.push(json!({ "text": "second" }));
    let mut live = Stage::new(&json!({ "turns": turns })).file("long.txt", &long_file()).start();
    live.ask("go", &[(300, Command::Compact)]).await;
    assert_eq!(live.spy.requests().len(), 6, "not while an answer is made");
    live.send(Command::Compact).await;
    live.follow(&[]).await;
    let end = live.ask("and?", &[]).await;
    assert_eq!(end.reply.as_deref(), Some("second"));
    let played = live.quit().await;
    assert_eq!(compacted(&played).len(), 1);
    assert!(played.requests[7].messages.len() < played.requests[5].messages.len());
}

/// A summary is a request like any other: a pause in it holds up the turn that comes after it.
#[tokio::test(start_paused = true)]
async fn what_is_paused_while_it_is_summarised_sends_no_request_before_it_goes_on() {
    let mut turns: Vec<Value> = (0..7).map(read).collect();
    turns.push(json!({ "text": "SUMMARY-OF-IT", "delay_ms": 1_000 }));
    turns.push(json!({ "text": "done" }));
    let mut stage = Stage::new(&json!({ "turns": turns })).file("long.txt", &long_file());
    stage.window = Some(WINDOW);
    let pause = || Command::Steer { target: Target::Parent, steer: Steer::Pause };
    let played = stage.play_with("go", &[(500, pause()), (50_000, pause())]).await;
    assert_eq!(played.reply(), "done");
    let place = |wanted: fn(&Fact) -> bool| played.facts().position(wanted).unwrap();
    let compacted = place(|fact| matches!(fact, Fact::Compacted { .. }));
    let paused = place(|fact| matches!(fact, Fact::Paused { .. }));
    let resumed = place(|fact| matches!(fact, Fact::Resumed { .. }));
    assert!(paused < compacted && compacted < resumed, "{paused} {compacted} {resumed}");
    let between = &played.events[paused..resumed];
    assert!(!between.iter().any(|event| matches!(event.fact, Fact::TurnStarted { .. })));
}

#[tokio::test(start_paused = true)]
async fn there_may_be_nothing_to_compact() {
    let mut live = Stage::new(&json!({ "turns": [{ "text": "hi" }] })).start();
    live.send(Command::Compact).await;
    let end = live.follow(&[]).await;
    assert_eq!(end.status, Status::Completed);
    let played = live.quit().await;
    assert!(played.requests.is_empty());
}
