//! What a refusal costs, what a child's model may cost, and what its siblings and its parent's end
//! come to where something runs out.

use std::sync::Arc;

use offshoot::domain::budget::{Dimension, Limit, Preset};
use offshoot::domain::event::{ContractView, Fact};
use offshoot::domain::report::{By, Exhausted, Status};
use offshoot::domain::role::RoleTable;
use offshoot::domain::usage::MicroUsd;
use offshoot::domain::violation::Code;
use offshoot::provider::script::Script;
use offshoot::provider::{ChunkStream, Identity, Provider, Request};
use serde_json::{Value, json};

use crate::common::{Played, Stage, one_batch, task_call};

fn call(id: &str, task: &str, more: Value) -> Value {
    let mut call = task_call(id, task);
    call["arguments"].as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

fn says(task: &str, turn: Value) -> Value {
    json!({ "match": task, "turns": [turn] })
}

fn contracts(played: &Played) -> Vec<ContractView> {
    let contract = |fact: &Fact| match fact {
        Fact::RunStarted { contract, call: Some(_), .. } => Some(contract.clone()),
        _ => None,
    };
    played.facts().filter_map(contract).collect()
}

/// A scripted model of another name.
struct Named(Script, Identity);

impl Provider for Named {
    fn identity(&self) -> &Identity {
        &self.1
    }

    fn stream(&self, request: Request) -> ChunkStream {
        self.0.stream(request)
    }
}

/// A priced parent, and a role whose model has no price.
async fn on_mystery(mut more: Value, bound: Option<u64>) -> Played {
    more["model"] = json!("mystery");
    let script = |prices: Option<Value>| {
        let children = json!([says("alpha", json!({ "text": "A" }))]);
        let mut script = one_batch(&json!([call("c1", "alpha", more.clone())]), "done", &children);
        script["prices"] = prices.unwrap_or_default();
        script
    };
    let mut stage = Stage::new(&script(Some(json!({ "input": 1, "output": 1 }))));
    let table = RoleTable::built_in(Preset::Normal);
    let mut role = table.get("researcher").unwrap().clone();
    role.models = vec!["mystery".to_owned()];
    stage.roles.push(role);
    stage.limits.session_cost = bound.map(MicroUsd);
    stage.limits.cost_must_hold = bound.is_some();
    let unpriced = script(None).to_string();
    stage.switch = Some(Arc::new(move |model| {
        let script = Script::from_json(&unpriced).unwrap();
        let identity = Identity { model: model.to_owned(), ..script.identity().clone() };
        Ok(Arc::new(Named(script, identity)))
    }));
    stage.play("go").await
}

#[tokio::test(start_paused = true)]
async fn a_model_without_a_price_runs_with_its_cost_off_where_nobody_bounded_it() {
    let played = on_mystery(json!({}), None).await;
    let report = played.task_result("c1");
    assert_eq!((report.status, report.usage.cost_usd), (Status::Completed, None));
    let contract = contracts(&played).remove(0);
    assert_eq!(
        (contract.model.as_str(), contract.budget[Dimension::CostUsd]),
        ("mystery", Limit::Off)
    );
    assert_eq!(played.parent_ends()[0].usage_total.cost_usd, None, "unknown, and not less");
}

#[tokio::test(start_paused = true)]
async fn a_model_without_a_price_is_refused_by_name_where_somebody_bounded_its_cost() {
    let asked = on_mystery(json!({ "budget": { "cost_usd": 0.1 } }), None).await;
    let bounded = on_mystery(json!({}), Some(1_000_000)).await;
    for played in [asked, bounded] {
        let report = played.task_result("c1");
        assert_eq!((report.status, report.code), (Status::Blocked, Some(Code::InvalidBudget)));
        assert!(report.summary.contains("the price of mystery is not known"), "{}", report.summary);
        assert_eq!(contracts(&played).len(), 0);
    }
}

fn of_turn(calls: Value) -> Value {
    json!({ "tool_calls": calls })
}

#[tokio::test(start_paused = true)]
async fn a_refusal_consumes_no_delegation_and_only_a_late_one_an_id() {
    let many = json!({ "budget": { "tool_calls": 10_000 } });
    let script = json!({
        "turns": [
            of_turn(json!([call("e1", "alpha", json!({ "role": "wizard" }))])),
            of_turn(json!([call("l1", "alpha", many.clone())])),
            of_turn(json!([call("l2", "alpha", many)])),
            of_turn(json!([task_call("c1", "alpha")])),
            of_turn(json!([task_call("c2", "alpha")])),
            { "text": "done" },
        ],
        "children": [{ "match": "alpha", "turns": [{ "text": "A" }] }],
    });
    let mut stage = Stage::new(&script);
    stage.limits.totals.delegations = 1;
    let played = stage.play("go").await;
    assert_eq!(played.task_result("e1").code, Some(Code::InvalidTask));
    for late in ["l1", "l2"] {
        assert_eq!(played.task_result(late).code, Some(Code::InvalidBudget));
    }
    let report = played.task_result("c1");
    assert_eq!((report.status, report.task_id.unwrap().0), (Status::Completed, 3));
    assert_eq!(played.task_result("c2").code, Some(Code::DelegationLimit));
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_in_a_batch_is_refused_before_anything_of_it_starts() {
    let calls = json!([task_call("c1", "alpha"), call("c2", "beta", json!({ "role": "wizard" }))]);
    let script = one_batch(&calls, "done", &json!([says("alpha", json!({ "text": "A" }))]));
    let played = Stage::new(&script).play("go").await;
    let order = played.facts().filter_map(|fact| match fact {
        Fact::ContractRefused { call, .. } => Some(format!("refused {call}")),
        Fact::RunStarted { call: Some(call), .. } => Some(format!("started {call}")),
        _ => None,
    });
    assert_eq!(order.collect::<Vec<_>>(), ["refused c2", "started c1"]);
}

#[tokio::test(start_paused = true)]
async fn a_child_by_default_leaves_its_parent_time_to_answer() {
    let children = json!([{ "match": "alpha",
        "turns": [{ "text": "late", "delay_ms": 3_600_000 }] }]);
    let script = one_batch(&json!([task_call("c1", "alpha")]), "parent answers", &children);
    let mut stage = Stage::new(&script);
    stage.limits.parent[Dimension::Duration] = Limit::Of(60_000);
    let played = stage.play("go").await;
    let report = played.task_result("c1");
    assert_eq!((report.status, report.code), (Status::BudgetExhausted, Some(Code::Timeout)));
    assert_eq!(contracts(&played)[0].budget[Dimension::Duration], Limit::Of(54_000));
    let end = played.parent_ends().remove(0);
    assert_eq!((end.status, end.reply.as_deref()), (Status::Completed, Some("parent answers")));
}

#[tokio::test(start_paused = true)]
async fn after_an_overrun_no_sibling_starts_and_the_words_do_not_ask_for_less() {
    let over = json!({ "text": "A", "usage": { "input": 10, "output": 60_000 } });
    let script = json!({
        "turns": [
            of_turn(json!([task_call("c1", "alpha")])),
            of_turn(json!([call("c2", "beta", json!({ "budget": { "output_tokens": 1 } }))])),
            { "text": "done" },
        ],
        "children": [says("alpha", over), says("beta", json!({ "text": "B" }))],
    });
    let played = Stage::new(&script).play("go").await;
    assert_eq!(played.task_result("c1").code, Some(Code::UsageExceeded));
    let refused = played.task_result("c2");
    assert_eq!((refused.status, refused.code), (Status::Blocked, Some(Code::DelegationLimit)));
    assert!(refused.summary.contains("used more output_tokens than it was given"));
    assert!(!format!("{} {}", refused.summary, refused.next).contains("ask for less"));
    assert_eq!(contracts(&played).len(), 1);
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_parent_below_zero_ends_its_other_children_by_budget() {
    let over = json!({ "text": "A", "usage": { "input": 10, "output": 300_000 }, "delay_ms": 500 });
    let slow = |task| says(task, json!({ "text": "late", "delay_ms": 60_000 }));
    let calls =
        json!([task_call("c1", "alpha"), task_call("c2", "beta"), task_call("c3", "gamma")]);
    let children = json!([says("alpha", over), slow("beta"), slow("gamma")]);
    let played = Stage::new(&one_batch(&calls, "never said", &children)).play("go").await;
    assert_eq!(played.task_result("c1").code, Some(Code::UsageExceeded));
    for sibling in ["c2", "c3"] {
        let report = played.task_result(sibling);
        assert_eq!((report.status, report.by), (Status::Cancelled, Some(By::Budget)));
    }
    let end = played.parent_ends().remove(0);
    assert_eq!((end.status, end.code), (Status::BudgetExhausted, Some(Code::UsageExceeded)));
    assert_eq!(played.parent_requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_turns_of_all_children_are_cut_end_in_a_wrap_up_and_then_refuse() {
    let look = |delay: u64| {
        let calls = json!([{ "name": "list_files", "arguments": { "path": "." } }]);
        json!({ "tool_calls": calls, "delay_ms": delay })
    };
    let both = json!([task_call("c1", "alpha"), task_call("c2", "beta")]);
    let script = json!({
        "turns": [of_turn(both), of_turn(json!([task_call("c3", "gamma")])), { "text": "done" }],
        "children": [
            { "match": "alpha", "turns": [look(10), look(10), { "text": "A" }] },
            { "match": "beta", "turns": [look(1_000), look(1_000), { "text": "what I have" }] },
        ],
    });
    let mut stage = Stage::new(&script);
    stage.limits.totals.turns = 5;
    let played = stage.play("go").await;
    for contract in contracts(&played) {
        let turns = contract.budget[Dimension::Turns].finite().unwrap();
        assert!(turns <= 5, "a child may make no more turns than all of them: {turns}");
    }
    assert_eq!(played.task_result("c1").status, Status::Completed);
    let report = played.task_result("c2");
    assert_eq!((report.status, report.turns), (Status::BudgetExhausted, 3));
    assert_eq!(report.dimension, Some(Exhausted::TotalTurns), "{report:?}");
    assert!(report.summary.starts_with("what I have"));
    assert_eq!(played.task_result("c3").code, Some(Code::DelegationLimit));
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_run_of_a_single_turn_may_simply_answer_in_it() {
    let one = json!({ "budget": { "turns": 1 } });
    let calls = json!([call("c1", "alpha", one.clone()), call("c2", "beta", one)]);
    let look = json!({ "tool_calls": [{ "name": "list_files", "arguments": { "path": "." } }] });
    let children = json!([says("alpha", json!({ "text": "A" })), says("beta", look)]);
    let played = Stage::new(&one_batch(&calls, "done", &children)).play("go").await;
    let report = played.task_result("c1");
    assert_eq!((report.status, report.turns), (Status::Completed, 1));
    let report = played.task_result("c2");
    assert_eq!(
        (report.status, report.dimension),
        (Status::BudgetExhausted, Some(Exhausted::Turns))
    );

    let mut stage = Stage::new(&json!({ "turns": [{ "text": "plain" }] }));
    stage.limits.parent[Dimension::Turns] = Limit::Of(1);
    let end = stage.play("go").await.parent_ends().remove(0);
    assert_eq!((end.status, end.reply.as_deref()), (Status::Completed, Some("plain")));
}
