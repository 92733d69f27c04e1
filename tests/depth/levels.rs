//! What each level may do and gets back.

use std::collections::BTreeSet;

use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::ids::{RunId, TaskId};
use offshoot::domain::report::Status;
use offshoot::domain::violation::Code;
use serde_json::{Value, json};

use crate::chain::{NAMES, chain, task};
use crate::common::call;
use crate::common::public_case::load;
use crate::common::{Played, Stage, one_batch};

fn deep(script: &Value, depth: u32) -> Stage {
    let mut stage = Stage::new(script);
    stage.max_depth = depth;
    stage
}

/// The names of the runs that were started, in order.
fn runs(played: &Played) -> Vec<String> {
    let started = played.events.iter().filter(|e| matches!(e.fact, Fact::RunStarted { .. }));
    started.map(|event| event.origin.run.as_ref().unwrap().to_string()).collect()
}

#[tokio::test(start_paused = true)]
async fn every_level_above_the_floor_delegates_and_the_floor_has_both_locks() {
    for depth in 1..=4_u32 {
        let hallucinated = json!([
            { "tool_calls": [task("deep", "one more", &json!({}))] },
            { "text": "{\"summary\":\"did it myself\"}" },
        ]);
        let script = chain(depth as usize, &json!({}), hallucinated);
        let played = deep(&script, depth).play("go").await;
        assert_eq!(played.reply(), "parent done");
        assert_eq!(runs(&played).len(), depth as usize + 1);
        for request in &played.requests {
            let offered = request.tools.iter().any(|tool| tool.name == "task");
            assert_eq!(offered, request.depth < depth, "at depth {} of {depth}", request.depth);
            let told = request.system.contains("You cannot delegate.");
            assert_eq!(told, request.depth == depth);
            assert!(!request.system.contains('{') || !request.system.contains("{roles}"));
        }
        let report: Value = serde_json::from_str(&played.result("deep")).unwrap();
        assert_eq!(
            (&report["status"], &report["code"]),
            (&json!("blocked"), &json!("DEPTH_EXCEEDED"))
        );
        let path: String = (1..=depth).map(|task| format!(" > t{task}.1")).collect();
        let summary = report["summary"].as_str().unwrap();
        assert!(summary.contains(&format!("(r1{path} > task)")), "{summary}");
        assert!(summary.contains("list_files, read_file, search"), "{summary}");
        for level in 0..depth {
            let report = played.task_result(&format!("k{level}"));
            assert_eq!(report.status, Status::Completed, "{}", report.summary);
            assert_eq!(report.task_id, Some(TaskId(level + 1)));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_that_was_given_no_task_tool_is_refused_though_the_floor_is_below_it() {
    let turns = json!([
        { "tool_calls": [task("deep", "one more", &json!({}))] }, { "text": "alone" },
    ]);
    for less in [json!({ "allowed_tools": ["search"] }), json!({ "permissions": ["read"] })] {
        let played = deep(&chain(1, &less, turns.clone()), 3).play("go").await;
        let report = played.task_result("deep");
        assert_eq!((report.status, report.code), (Status::Blocked, Some(Code::ToolEscalation)));
        assert_eq!(runs(&played), ["r1", "t1.1"]);
        assert!(played.child_requests().iter().all(|r| r.tools.iter().all(|t| t.name != "task")));
    }
}

#[tokio::test(start_paused = true)]
async fn one_place_is_enough_for_any_depth() {
    let mut stage = deep(&chain(4, &json!({}), json!([{ "text": "deep" }])), 4);
    stage.limits.totals.active = 1;
    let played = stage.play("go").await;
    assert_eq!(played.reply(), "parent done");
    assert!(!played.facts().any(|fact| matches!(fact, Fact::TaskQueued { .. })));
}

/// With one place: what a child delegates runs before the child's later sibling, and the child
/// itself goes on before it.
#[tokio::test(start_paused = true)]
async fn tasks_start_by_call_path_and_the_queued_ones_are_told_by_who_delegates() {
    let calls = json!([task("c1", "alpha", &json!({})), task("c2", "beta", &json!({}))]);
    let below = json!([task("g1", "gamma", &json!({})), task("g2", "delta", &json!({}))]);
    let slow = |text: &str| json!([{ "text": text, "delay_ms": 100 }]);
    let children = json!([
        { "match": "Task: alpha", "turns": [
            { "tool_calls": below, "delay_ms": 50 }, { "text": "A" },
        ]},
        { "match": "Task: beta", "turns": slow("B") },
        { "match": "Task: gamma", "turns": slow("G") },
        { "match": "Task: delta", "turns": slow("D") },
    ]);
    let mut stage = deep(&one_batch(&calls, "done", &children), 2);
    stage.limits.totals.active = 1;
    let played = stage.play("go").await;
    assert_eq!(runs(&played), ["r1", "t1.1", "t3.1", "t4.1", "t2.1"]);
    let asked: Vec<String> = played.requests.iter().map(|r| r.run.to_string()).collect();
    assert_eq!(asked, ["r1", "t1.1", "t3.1", "t4.1", "t1.1", "t2.1", "r1"]);
    let queued: Vec<_> = played
        .events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::TaskQueued { position, .. } => Some((
                event.origin.run.clone().unwrap().to_string(),
                event.origin.parent_run.clone().map(|run| run.to_string()),
                event.origin.task.unwrap().0,
                *position,
            )),
            _ => None,
        })
        .collect();
    let right = [("r1".to_owned(), None, 2, 0), ("t1.1".to_owned(), Some("r1".to_owned()), 4, 0)];
    assert_eq!(queued, right);
    let file = |name: &str| played.files().into_iter().find(|(path, _)| path.ends_with(name));
    assert!(file("t1.1.jsonl").unwrap().1.contains("task_queued"));
    assert!(!file("t4.1.jsonl").unwrap().1.contains("task_queued"));
    let session = file("session.jsonl").unwrap().1;
    assert_eq!(session.matches("task_queued").count(), 1, "a child's queue is in its own trace");
    assert_eq!(session.matches("run_started").count(), 5);
    for event in &played.events {
        if let (Fact::RunStarted { depth: 2, .. }, Some(parent)) =
            (&event.fact, &event.origin.parent_run)
        {
            assert_eq!(*parent, RunId::child(TaskId(1), 1));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_grandchild_cancelled_in_the_queue_never_runs_and_leaves_no_trace() {
    let below = json!([task("g1", "gamma", &json!({})), task("g2", "delta", &json!({}))]);
    let script = json!({
        "turns": [{ "tool_calls": [task("c1", "alpha", &json!({}))] }, { "text": "done" }],
        "children": [
            { "match": "Task: alpha", "turns": [{ "tool_calls": below }, { "text": "A" }] },
            { "match": "Task: gamma", "turns": [{ "text": "G", "delay_ms": 1_000 }] },
            { "match": "Task: delta", "turns": [{ "text": "never" }] },
        ],
    });
    let mut stage = deep(&script, 2);
    stage.limits.totals.active = 1;
    let played = stage.play_with("go", &[(500, Command::CancelTask { task: TaskId(3) })]).await;
    let report = played.task_result("g2");
    assert_eq!((report.status, report.turns, report.usage.input_tokens), (Status::Cancelled, 0, 0));
    assert_eq!(played.task_result("g1").status, Status::Completed);
    assert_eq!(played.task_result("c1").status, Status::Completed);
    assert!(!played.files().iter().any(|(path, _)| path.contains("t3.")));
}

#[tokio::test(start_paused = true)]
async fn cancelling_a_grandchild_stops_it_alone_and_a_child_takes_its_own_along() {
    // A default would take all that the child has left, and leave nothing for the second one.
    let half = json!({ "budget": { "output_tokens": 4_000, "tool_calls": 5, "input_tokens": 90_000,
        "duration_s": 60, "turns": 3 } });
    let below = json!([task("g1", "gamma", &half), task("g2", "delta", &half)]);
    let slow = json!([{ "text": "slow", "delay_ms": 1_000 }]);
    let script = json!({
        "turns": [
            { "tool_calls": [task("c1", "alpha", &json!({})), task("c2", "beta", &json!({}))] },
            { "text": "done" },
        ],
        "children": [
            { "match": "Task: alpha", "turns": [{ "tool_calls": below }, { "text": "A" }] },
            { "match": "Task: beta", "turns": slow },
            { "match": "Task: gamma", "turns": slow },
            { "match": "Task: delta", "turns": slow },
        ],
    });
    let table = [(3, ["g1"].as_slice()), (1, ["g1", "g2", "c1"].as_slice())];
    for (number, cancelled) in table {
        let cancel = Command::CancelTask { task: TaskId(number) };
        let played = deep(&script, 2).play_with("go", &[(500, cancel)]).await;
        for call in ["g1", "g2", "c1", "c2"] {
            let right =
                if cancelled.contains(&call) { Status::Cancelled } else { Status::Completed };
            let found: Value = serde_json::from_str(&played.result(call)).unwrap();
            assert_eq!(found["status"], right.as_str(), "{call} after a cancel of #{number}");
        }
        assert_eq!(played.parent_ends()[0].status, Status::Completed);
        let receipts: Vec<_> = played
            .events
            .iter()
            .filter_map(|event| match &event.fact {
                Fact::RunFinished(end) => Some((event.origin.task?.0, end.receipt.clone()?)),
                _ => None,
            })
            .collect();
        let closed =
            |task| receipts.iter().find(|(of, _)| *of == task).unwrap().1.connections_closed;
        assert_eq!(closed(3), 1);
        if number == 1 {
            assert_eq!(closed(1), 2, "the receipt of a child counts what was below it");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_is_context_for_who_got_it_and_for_nobody_else() {
    let again = |key: &str| task("g2", "delta", &json!({ "context_keys": [key] }));
    let script = json!({
        "turns": [
            { "tool_calls": [task("c1", "alpha", &json!({ "context_keys": ["request"] }))] },
            { "tool_calls": [task("c2", "epsilon", &json!({ "context_keys": ["report:2"] }))] },
            { "tool_calls": [task("c3", "zeta", &json!({ "context_keys": ["report:1"] }))] },
            { "text": "done" },
        ],
        "children": [
            { "match": "Task: alpha", "turns": [
                { "tool_calls": [task("g1", "gamma", &json!({ "context_keys": ["request"] }))] },
                { "tool_calls": [again("report:2")] },
                { "tool_calls": [task("g3", "omega", &json!({ "context_keys": ["pinned"] }))] },
                { "text": "A" },
            ]},
            { "match": "Task: gamma", "turns": [{ "text": "{\"summary\":\"the walrus\"}" }] },
            { "match": "Task: delta", "turns": [{ "text": "D" }] },
            { "match": "Task: zeta", "turns": [{ "text": "Z" }] },
        ],
    });
    let mut stage = deep(&script, 2);
    let pin = ("pinned".to_owned(), "not handed on".to_owned());
    stage.pins.push(offshoot::session::Pin::normal(pin.0, pin.1));
    let played = stage.play("find it").await;
    assert!(played.task_result("g1").next.contains("`report:2`"));
    assert_eq!(played.task_result("g2").status, Status::Completed);
    assert_eq!(played.task_result("g3").code, Some(Code::ContextNotFound));
    assert_eq!(played.task_result("c2").code, Some(Code::ContextNotFound));
    assert_eq!(played.task_result("c3").status, Status::Completed);
    let with_walrus: BTreeSet<String> = played
        .requests
        .iter()
        .filter(|request| format!("{:?}", request.messages[0]).contains("the walrus"))
        .map(|request| request.run.to_string())
        .collect();
    assert_eq!(with_walrus, BTreeSet::from(["t3.1".to_owned()]));
    for (path, text) in played.files() {
        let is_added = |line: &&str| line.contains("context_added") && line.contains("the walrus");
        assert_eq!(text.lines().filter(is_added).count(), 0, "{path}");
    }
}

/// B049: every agent delegates the same prompt again, and copies multiplied without limit.
#[tokio::test(start_paused = true)]
async fn the_same_task_again_is_refused_at_every_depth() {
    for depth in 1..=4 {
        let mut stage = deep(&load("B049-nested-explosion.model.json"), depth);
        stage.limits.totals.delegations = 1_000;
        let played = stage.play("go").await;
        assert_eq!(played.reply(), "done");
        assert_eq!(runs(&played), ["r1", "t1.1"], "the copy is the task of an ancestor");
        let report = played.task_result("c1");
        assert_eq!(report.status, Status::BudgetExhausted);
    }
}

/// B049, where every level words it differently, so that only the floor and the totals end it. All
/// levels stand on the stack of one thread, which has half of what such threads usually have.
#[test]
fn a_task_in_ever_new_words_ends_at_the_floor_and_the_totals() {
    let levels = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().start_paused(true).build().unwrap();
        runtime.block_on(ever_new_words());
    };
    let thread = std::thread::Builder::new().stack_size(1024 * 1024);
    thread.spawn(levels).unwrap().join().unwrap();
}

async fn ever_new_words() {
    for (depth, delegations, most) in [(1, 100, 20), (3, 8, 8), (4, 8, 8)] {
        let again =
            call("k{n}", "task", json!({ "task": "self {n} again", "expected_output": "x" }));
        let turn = json!({ "tool_calls": [again] });
        let script = json!({
            "turns": [{ "tool_calls": [task("c1", "self", &json!({}))] }, { "text": "done" }],
            "children": [{ "match": "self", "turns": [turn], "repeat_last": true }],
        });
        let mut stage = deep(&script, depth);
        stage.limits.totals.delegations = delegations;
        let played = stage.play("go").await;
        assert_eq!(played.reply(), "done");
        let runs = runs(&played);
        assert!(runs.len() <= most as usize + 1, "{runs:?}");
        let deepest = played.requests.iter().map(|request| request.depth).max().unwrap();
        assert!(deepest <= depth, "{deepest} of {depth}");
    }
}

/// B051: a shown cost left out children, or counted them twice.
#[tokio::test(start_paused = true)]
async fn own_and_total_usage_are_kept_apart_at_every_level() {
    let used = |input: u64, output: u64| json!({ "input": input, "output": output });
    let mut script = chain(3, &json!({}), json!([{ "text": "deep", "usage": used(1_000, 7) }]));
    script["prices"] = json!({ "input": 1.0, "output": 2.0 });
    for (level, child) in script["children"].as_array_mut().unwrap().iter_mut().enumerate().take(2)
    {
        child["turns"][0]["usage"] = used(10 * (level as u64 + 1), 3);
        child["turns"][1]["usage"] = used(100 * (level as u64 + 1), 5);
    }
    script["turns"][0]["usage"] = used(1, 1);
    script["turns"][1]["usage"] = used(2, 1);
    let played = deep(&script, 3).play("go").await;
    let total = |run: &str| {
        let end = played.events.iter().find_map(|event| match &event.fact {
            Fact::RunFinished(end) if event.origin.run.as_ref().unwrap().as_str() == run => {
                Some(end)
            }
            _ => None,
        });
        let end = end.unwrap();
        (end.usage.input_tokens, end.usage_total.input_tokens, end.usage_total.output_tokens)
    };
    assert_eq!(total("t3.1"), (1_000, 1_000, 7));
    assert_eq!(total("t2.1"), (220, 1_220, 15));
    assert_eq!(total("t1.1"), (110, 1_330, 23));
    assert_eq!(total("r1"), (3, 1_333, 25));
    let end = &played.parent_ends()[0];
    assert_eq!(end.usage_total.cost_usd.unwrap().0, 1_333 + 2 * 25);
    let report = played.task_result("k0");
    assert_eq!(
        (report.usage.input_tokens, report.usage.tool_calls),
        (1_330, 2),
        "calls are shared"
    );
    assert_eq!(NAMES.len(), 4);
}
