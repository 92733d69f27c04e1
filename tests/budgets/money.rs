//! The bound on a session's cost, and models whose price is not known.

use std::sync::Arc;

use offshoot::domain::budget::{Budget, Dimension, Limit, Preset};
use offshoot::domain::command::{BudgetChoice, Command};
use offshoot::domain::event::{Event, Fact};
use offshoot::domain::report::{Exhausted, Status};
use offshoot::domain::usage::MicroUsd;
use offshoot::provider::Provider;
use offshoot::provider::script::Script;
use serde_json::{Value, json};

use crate::common::{Played, Stage};

/// Answers whose prompts are said to have so many tokens.
fn answers(tokens: &[u64], prices: Option<Value>) -> Value {
    let turn = |tokens: &u64| json!({ "text": "A", "usage": { "input": tokens, "output": 1 } });
    let turns: Vec<Value> = tokens.iter().map(turn).collect();
    let mut script = json!({ "turns": turns, "repeat_last": true });
    if let Some(prices) = prices {
        script["prices"] = prices;
    }
    script
}

/// One dollar for a million tokens.
fn dollar() -> Value {
    json!({ "input": 1, "output": 1, "per": 1_000_000 })
}

fn script(script: &Value) -> Arc<dyn Provider> {
    Arc::new(Script::from_json(&script.to_string()).unwrap())
}

/// The session may cost `micro`; every model name but `priced` has no price.
fn bounded(tokens: &[u64], micro: u64, must_hold: bool) -> Stage {
    let mut stage = Stage::new(&answers(tokens, Some(dollar())));
    stage.limits.session_cost = Some(MicroUsd(micro));
    stage.limits.parent[Dimension::CostUsd] = Limit::Of(micro);
    stage.limits.cost_must_hold = must_hold;
    stage.switch =
        Some(Arc::new(|model| Ok(script(&answers(&[1_000], (model == "priced").then(dollar))))));
    stage
}

fn model(name: &str) -> Command {
    Command::SetModel { model: name.to_owned() }
}

fn budgets(events: &[Arc<Event>]) -> Vec<Budget> {
    let budget = |event: &Arc<Event>| match &event.fact {
        Fact::RunStarted { contract, .. } if event.origin.task.is_none() => Some(contract.budget),
        _ => None,
    };
    events.iter().filter_map(budget).collect()
}

fn costs(played: &Played) -> Vec<Limit> {
    budgets(&played.events).iter().map(|budget| budget[Dimension::CostUsd]).collect()
}

fn notices<'a>(played: &'a Played, wanted: &str) -> Vec<&'a str> {
    let text = |fact: &'a Fact| match fact {
        Fact::Notice { code, text, .. } if code == wanted => Some(text.as_str()),
        _ => None,
    };
    played.facts().filter_map(text).collect()
}

#[tokio::test(start_paused = true)]
async fn what_a_session_may_cost_shrinks_from_message_to_message() {
    let mut live = bounded(&[30_000, 20_000, 60_000], 100_000, true).start();
    for _ in 0..2 {
        assert_eq!(live.ask("go", &[]).await.status, Status::Completed);
    }
    let end = live.ask("go", &[]).await;
    assert_eq!((end.status, end.dimension), (Status::BudgetExhausted, Some(Exhausted::CostUsd)));
    // Nothing is left at all: no request is sent, and 0 is not read as no bound.
    let end = live.ask("go", &[]).await;
    assert_eq!((end.status, end.turns), (Status::BudgetExhausted, 0));
    let played = live.quit().await;
    assert_eq!(costs(&played), [100_000, 69_999, 49_998, 0].map(Limit::Of));
    assert_eq!(played.requests.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn no_model_without_a_price_answers_where_the_user_bounded_the_cost() {
    let mut live = bounded(&[30_000], 100_000, true).start();
    live.ask("go", &[]).await;
    live.send(model("mystery")).await;
    live.ask("go", &[]).await;
    live.send(model("priced")).await;
    live.ask("go", &[]).await;
    let played = live.quit().await;
    let said = notices(&played, "MODEL_SET");
    assert!(said[0].starts_with("INVALID_BUDGET: the price of mystery is not known"), "{said:?}");
    assert!(said[1].contains("priced answers"));
    assert_eq!(costs(&played), [100_000, 69_999, 39_998].map(Limit::Of));
    assert_eq!(played.requests.len(), 2, "the mystery model was not asked");
}

#[tokio::test(start_paused = true)]
async fn a_bound_of_the_project_is_off_without_a_price_and_holds_again_with_one() {
    let mut live = bounded(&[30_000], 100_000, false).start();
    live.ask("go", &[]).await;
    live.send(model("mystery")).await;
    live.send(Command::SetBudget { budget: BudgetChoice::Preset(Preset::Normal) }).await;
    let end = live.ask("go", &[]).await;
    assert_eq!((end.status, end.usage.cost_usd), (Status::Completed, None));
    live.send(model("priced")).await;
    live.ask("go", &[]).await;
    let played = live.quit().await;
    assert_eq!(costs(&played), [Limit::Of(100_000), Limit::Off, Limit::Of(69_999)]);
}

#[tokio::test(start_paused = true)]
async fn what_was_set_for_the_budget_holds_from_the_next_message_on() {
    let mut live = Stage::new(&answers(&[10], Some(dollar()))).start();
    live.ask("go", &[]).await;
    live.send(Command::SetBudget { budget: BudgetChoice::Preset(Preset::Tight) }).await;
    live.ask("go", &[]).await;
    live.send(Command::SetBudget { budget: BudgetChoice::Turns(3) }).await;
    let end = live.ask("go", &[]).await;
    assert_eq!(end.status, Status::Completed);
    let played = live.quit().await;
    let mut turns = Preset::Tight.parent();
    turns[Dimension::Turns] = Limit::Of(3);
    let expected = [Preset::Normal.parent(), Preset::Tight.parent(), turns];
    assert_eq!(budgets(&played.events), expected);
}
