//! What a parent keeps for itself while its children work: enough to read their reports and answer.

use offshoot::domain::budget::{Budget, Dimension, Limit, Preset};
use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::event::Fact;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::Status;
use offshoot::domain::role::RoleTable;
use serde_json::{Value, json};

use crate::common::{Played, Stage, task_call};

/// A child that looks as long as it can and then reports at length.
fn greedy() -> Value {
    let look = json!({ "name": "read_file", "arguments": { "path": "long.txt", "offset": "{n}" } });
    json!({ "text": "looking at it", "tool_calls": [look], "delay_ms": 100 })
}

fn script(tasks: &[&str]) -> Value {
    let calls: Vec<Value> = tasks.iter().map(|task| task_call(task, task)).collect();
    let child = |task: &&str| json!({ "match": task, "turns": [greedy()], "repeat_last": true });
    json!({
        "turns": [{ "tool_calls": calls }, { "text": "parent answers" }],
        "children": tasks.iter().map(child).collect::<Vec<_>>(),
    })
}

fn stage(tasks: &[&str], limits: &[(Dimension, u64)]) -> Stage {
    let mut script = script(tasks);
    script["prices"] = json!({ "input": 1, "output": 1 });
    let line = "a line of a long file that a child wants to read again and again\n";
    let mut stage = Stage::new(&script).file("long.txt", &line.repeat(400));
    for (dimension, amount) in limits {
        stage.limits.parent[*dimension] = Limit::Of(*amount);
    }
    stage
}

fn answered(played: &Played, what: &str) {
    let end = played.parent_ends().remove(0);
    assert_eq!(end.reply.as_deref(), Some("parent answers"), "{what}: {end:?}");
    let last = played.parent_requests().len();
    assert_eq!(last, 2, "{what}");
    for report in played.reports() {
        assert_eq!(report.status, Status::BudgetExhausted, "{what}: {report:?}");
        let whole = Played::results_in(played.parent_requests()[1]);
        let found = whole.iter().any(|result| result.output.contains(&report.to_json()));
        assert!(found, "{what}: the report came whole: {whole:?}");
    }
}

fn child_budgets(played: &Played) -> Vec<Budget> {
    let budget = |fact: &Fact| match fact {
        Fact::RunStarted { contract, call: Some(_), .. } => Some(contract.budget),
        _ => None,
    };
    played.facts().filter_map(budget).collect()
}

#[tokio::test(start_paused = true)]
async fn a_parent_answers_after_a_child_that_used_all_it_could_get() {
    for limit in [
        (Dimension::InputTokens, 20_000),
        (Dimension::OutputTokens, 4_000),
        (Dimension::CostUsd, 20_000),
    ] {
        let played = stage(&["alpha"], &[limit]).play("go").await;
        let budget = child_budgets(&played)[0];
        assert!(budget[limit.0].finite().unwrap() < limit.1, "{budget:?}");
        answered(&played, &format!("{limit:?}"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_parent_answers_after_several_such_children_at_once() {
    let mut stage = stage(&["alpha", "beta", "gamma"], &[(Dimension::InputTokens, 31_500)]);
    for role in RoleTable::built_in(Preset::Normal).iter().filter(|role| role.name == "researcher")
    {
        let mut role = role.clone();
        role.budget[Dimension::InputTokens] = Limit::Of(6_000);
        stage.roles.push(role);
    }
    let played = stage.play("go").await;
    assert_eq!(child_budgets(&played).len(), 3);
    answered(&played, "three children");
}

#[tokio::test(start_paused = true)]
async fn a_child_is_not_extended_into_what_its_parent_keeps() {
    let steer = Command::Steer { target: Target::Task(TaskId(1)), steer: Steer::Extend };
    let limits = [(Dimension::InputTokens, 20_000)];
    let played = stage(&["alpha"], &limits).play_with("go", &[(50, steer)]).await;
    answered(&played, "extended");
    let first = child_budgets(&played)[0][Dimension::InputTokens];
    let now = played.facts().find_map(|fact| match fact {
        Fact::BudgetExtended { limits, .. } => Some(limits[Dimension::InputTokens]),
        _ => None,
    });
    assert_eq!(now, Some(first), "the turns grew, the tokens could not");
}
