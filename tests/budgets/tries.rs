//! Requests that fail are charged, and so is a summary: what is left then decides what comes next.

use offshoot::domain::budget::{Dimension, Limit};
use offshoot::domain::event::Fact;
use offshoot::domain::report::{Exhausted, Status};
use offshoot::domain::violation::Code;
use offshoot::provider::ToolChoice;
use serde_json::{Value, json};

use crate::common::{Played, Stage};

/// A server that says nothing for an hour, which is given up on and charged.
fn silence() -> Value {
    json!({ "text": "", "delay_ms": 3_600_000 })
}

fn prompt_of(played: &Played) -> u64 {
    let tokens = |fact: &Fact| match fact {
        Fact::TurnStarted { prompt_tokens_estimate, .. } => Some(*prompt_tokens_estimate),
        _ => None,
    };
    played.facts().find_map(tokens).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_try_that_leaves_only_a_wrap_up_is_followed_by_one() {
    let script = json!({ "turns": [silence(), { "text": "what I have" }] });
    let prompt = prompt_of(&Stage::new(&script).play("go").await);
    let mut stage = Stage::new(&script);
    stage.limits.parent[Dimension::InputTokens] = Limit::Of(prompt * 5 / 2);
    let played = stage.play("go").await;
    let end = played.parent_ends().remove(0);
    assert_eq!(
        (end.status, end.dimension),
        (Status::BudgetExhausted, Some(Exhausted::InputTokens))
    );
    assert_eq!(end.reply.as_deref(), Some("what I have"));
    assert_eq!(end.turns, 1, "a try is no turn");
    let [first, second] = &played.requests[..] else { panic!("two requests") };
    assert_eq!((&first.tool_choice, &second.tool_choice), (&ToolChoice::Auto, &ToolChoice::None));
    let words = format!("{:?}", second.messages.last().unwrap());
    assert!(words.contains("Answer now with what you have"), "{words}");
    let told = |fact: &&Fact| matches!(fact, Fact::Notice { code, .. } if code == "LAST_TURN");
    assert_eq!(played.facts().filter(told).count(), 1, "the turn began as another");
}

#[tokio::test(start_paused = true)]
async fn tries_that_leave_not_even_a_wrap_up_end_in_salvage() {
    let script = json!({ "turns": [silence(), silence(), { "text": "never" }] });
    let prompt = prompt_of(&Stage::new(&script).play("go").await);
    let mut stage = Stage::new(&script);
    stage.limits.parent[Dimension::InputTokens] = Limit::Of(prompt * 5 / 2);
    let end = stage.play("go").await.parent_ends().remove(0);
    assert_eq!(
        (end.status, end.dimension),
        (Status::BudgetExhausted, Some(Exhausted::InputTokens))
    );
    assert_eq!(end.reply, None);
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_uses_more_than_there_is_ends_the_run() {
    let lines: Vec<String> = (0..400).map(|n| format!("line {n} {}", "word ".repeat(20))).collect();
    let read = |n: usize| {
        let arguments = json!({ "path": "long.txt", "offset": n * 10 + 1, "limit": 10 });
        json!({ "tool_calls": [{ "name": "read_file", "arguments": arguments }] })
    };
    let mut turns: Vec<Value> = (0..7).map(read).collect();
    turns.push(json!({ "text": "SUMMARY", "usage": { "input": 10, "output": 300_000 } }));
    turns.push(json!({ "text": "never" }));
    let script = json!({ "turns": turns });
    let mut stage = Stage::new(&script).file("long.txt", &lines.join("\n"));
    stage.window = Some(4_800);
    let played = stage.play("go").await;
    let end = played.parent_ends().remove(0);
    assert_eq!((end.status, end.code), (Status::BudgetExhausted, Some(Code::UsageExceeded)));
    assert_eq!(end.dimension, Some(Exhausted::OutputTokens));
    assert_eq!(played.requests.len(), 8, "the summary was the last request");
}
