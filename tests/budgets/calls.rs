//! Tool calls that run out inside a batch.

use offshoot::domain::budget::{Dimension, Limit, Remaining};
use offshoot::domain::event::Fact;
use offshoot::domain::report::{Exhausted, Status};
use offshoot::domain::role::Permission;
use offshoot::domain::violation::Code;
use serde_json::{Value, json};

use crate::common::{Played, Stage, task_call};

fn write(number: usize) -> Value {
    let path = format!("f{number}.txt");
    json!({ "id": format!("w{number}"), "name": "write_file",
        "arguments": { "path": path, "content": "x" } })
}

/// A `task` call of a child that would look ten times, and eleven files to write beside it.
fn script(task: Value) -> Value {
    let mut calls = vec![task];
    calls.extend((1..=11).map(write));
    let look = json!({ "name": "list_files", "arguments": { "path": "." } });
    let looks = vec![look; 10];
    json!({
        "turns": [{ "tool_calls": calls }, { "text": "done" }],
        "children": [{ "match": "alpha", "turns": [{ "tool_calls": looks }, { "text": "A" }] }],
    })
}

async fn play(task: Value, calls: u64) -> Played {
    let mut stage = Stage::new(&script(task)).permissions(&[
        Permission::Read,
        Permission::Write,
        Permission::Delegate,
    ]);
    stage.limits.parent[Dimension::ToolCalls] = Limit::Of(calls);
    stage.play("go").await
}

fn task_with(calls: u64) -> Value {
    json!({ "id": "c1", "name": "task", "arguments": {
        "task": "alpha", "expected_output": "answer", "budget": { "tool_calls": calls } } })
}

fn written(played: &Played) -> usize {
    let there = |number: &usize| played.folder.path().join(format!("f{number}.txt")).exists();
    (1..=11).filter(there).count()
}

fn never_below_zero(played: &Played) {
    for fact in played.facts() {
        if let Fact::Usage { remaining: Remaining { tool_calls, .. }, .. } = fact {
            assert!(tool_calls.unwrap() >= 0, "{tool_calls:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_fit_into_the_budget_run_whatever_a_child_beside_them_spends() {
    let played = play(task_with(3), 16).await;
    assert_eq!(written(&played), 11);
    let report = played.task_result("c1");
    assert_eq!((report.status, report.usage.tool_calls), (Status::BudgetExhausted, 3));
    let end = played.parent_ends().remove(0);
    assert_eq!((end.status, end.reply.as_deref()), (Status::Completed, Some("done")));
    never_below_zero(&played);
}

#[tokio::test(start_paused = true)]
async fn a_child_is_not_given_the_calls_that_its_own_batch_needs() {
    for asked in [task_call("c1", "alpha"), task_with(3)] {
        let played = play(asked, 12).await;
        assert_eq!(played.task_result("c1").code, Some(Code::InvalidBudget));
        assert_eq!(written(&played), 11);
        let end = played.parent_ends().remove(0);
        assert_eq!(
            (end.status, end.dimension),
            (Status::BudgetExhausted, Some(Exhausted::ToolCalls))
        );
        assert_eq!(end.reply.as_deref(), Some("done"), "the next turn is the wrap-up");
        never_below_zero(&played);
    }
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_budget_are_not_run_and_free() {
    let played = play(task_with(3), 9).await;
    assert_eq!(written(&played), 8);
    for call in ["w9", "w10", "w11"] {
        assert_eq!(played.result(call), "not run: budget");
    }
    never_below_zero(&played);
}
