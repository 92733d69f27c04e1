//! The run that answers the user is steered like any other.

use offshoot::domain::budget::{Dimension, Limit};
use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::event::Fact;
use offshoot::domain::report::{By, Status};
use offshoot::domain::usage::MicroUsd;
use serde_json::{Value, json};

use crate::common::{Live, Played};
use crate::ground::{child, nap, script, stage, task, tell};

fn parent(steer: Steer) -> Command {
    Command::Steer { target: Target::Parent, steer }
}

/// Delegates, which takes 8.5 s, naps for 2 s, and answers.
fn long_answer() -> Value {
    let mut script =
        script(&[task("c1", "alpha")], &json!([{ "match": "alpha", "turns": child() }]));
    script["turns"] = json!([
        { "text": "I look", "tool_calls": [task("c1", "alpha")] },
        { "text": "and rest", "tool_calls": [nap("p1")], "delay_ms": 1_000 },
        { "text": "answer", "delay_ms": 1_000 },
        { "text": "second", "delay_ms": 1_000 },
    ]);
    script
}

fn words(played: &Played) -> Vec<&str> {
    let word = |fact: &'_ Fact| match fact {
        Fact::Paused { .. } => Some("paused"),
        Fact::Resumed { .. } => Some("resumed"),
        Fact::WrapUpRequested { .. } => Some("wrap-up"),
        Fact::BudgetExtended { .. } => Some("extended"),
        Fact::Notice { code, .. } if code == "NOT_STEERED" => Some("no"),
        _ => None,
    };
    played.facts().filter_map(word).collect()
}

async fn quit(live: Live) -> Played {
    live.quit().await
}

#[tokio::test(start_paused = true)]
async fn a_paused_answer_lets_its_children_end_and_waits_then() {
    let mut live = stage(&long_answer()).start();
    let actions = [(500, parent(Steer::Pause)), (100_000, parent(Steer::Pause))];
    let end = live.ask("go", &actions).await;
    assert_eq!((end.status, end.reply.as_deref()), (Status::Completed, Some("answer")));
    let played = quit(live).await;
    assert_eq!(words(&played), ["paused", "resumed"]);
    assert_eq!(played.task_result("c1").status, Status::Completed);
    let began = played.events[0].ts;
    let turns: Vec<u64> = played
        .events
        .iter()
        .filter(|event| matches!(event.fact, Fact::TurnStarted { .. }))
        .filter(|event| event.origin.task.is_none())
        .map(|event| event.ts.millis_since(began))
        .collect();
    assert_eq!(turns, [0, 100_000, 103_000]);
}

#[tokio::test(start_paused = true)]
async fn a_paused_answer_does_not_use_its_duration() {
    let mut stage = stage(&long_answer());
    stage.limits.parent[Dimension::Duration] = Limit::Of(400_000);
    let actions = [(500, parent(Steer::Pause)), (2_000_000, parent(Steer::Pause))];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_wraps_up_is_cancelled_by_the_user_and_printed() {
    let mut live = stage(&long_answer()).start();
    let end = live.ask("go", &[(500, parent(Steer::WrapUp))]).await;
    assert_eq!((end.status, end.by), (Status::Cancelled, Some(By::User)));
    assert_eq!(end.reply.as_deref(), Some("and rest"));
    let end = live.ask("and now?", &[]).await;
    assert_eq!(end.status, Status::Completed);
    let played = quit(live).await;
    assert_eq!(words(&played), ["wrap-up"]);
    assert_eq!(played.task_result("c1").status, Status::Completed, "its child ends first");
}

#[tokio::test(start_paused = true)]
async fn words_for_the_answer_are_a_message_like_any_other() {
    let mut live = stage(&long_answer()).start();
    live.ask("go", &[(500, parent(tell("also this")))]).await;
    let played = quit(live).await;
    let texts = format!("{:?}", played.parent_requests()[1].messages);
    assert!(texts.contains("also this"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_grows_by_half_but_never_beyond_what_the_session_may_cost() {
    let mut script = long_answer();
    script["prices"] = json!({ "input": 0.01, "output": 0.01 });
    for (bound, grown) in
        [(None, 7_500_000), (Some(6_000_000), 5_000_000), (Some(7_500_000), 7_500_000)]
    {
        let mut stage = stage(&script);
        stage.limits.session_cost = bound.map(MicroUsd);
        let played = stage.play_with("go", &[(500, parent(Steer::Extend))]).await;
        let limits = played.facts().find_map(|fact| match fact {
            Fact::BudgetExtended { limits, .. } => Some(*limits),
            _ => None,
        });
        let limits = limits.unwrap();
        assert_eq!(limits[Dimension::Turns], Limit::Of(60));
        assert_eq!(limits[Dimension::CostUsd], Limit::Of(grown), "{bound:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_no_answer_is_made_it_is_said_so() {
    let mut live = stage(&long_answer()).start();
    for steer in [Steer::Pause, Steer::WrapUp, Steer::Extend, tell("x")] {
        live.send(parent(steer)).await;
    }
    live.send(crate::ground::steer(7, Steer::Pause)).await;
    live.ask("go", &[]).await;
    assert_eq!(words(&quit(live).await), ["no"; 5]);
}
