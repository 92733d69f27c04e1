//! Delegation through the real loop: what a child may do, what comes back, and what stays away.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

mod common;

use common::{Played, Stage, call, one_batch, stand_in, task_call};
use offshoot::domain::budget::{Dimension, Limit};
use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{Status, WarningCode};
use offshoot::domain::violation::Code;
use offshoot::session::Pin;
use serde_json::{Value, json};

/// One task that a child answers at once.
fn one_child(task: Value, child_turns: Value) -> Value {
    one_batch(
        &json!([call("c1", "task", task)]),
        "parent done",
        &json!([{ "match": "alpha", "turns": child_turns, "repeat_last": true }]),
    )
}

fn alpha(more: Value) -> Value {
    let mut task = json!({ "task": "alpha", "expected_output": "answer" });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    task
}

#[tokio::test(start_paused = true)]
async fn a_child_that_asks_for_more_than_it_has_touches_nothing() {
    let write = stand_in::WriteFile::new();
    let written = std::sync::Arc::clone(&write.written);
    let turns = json!([
        { "tool_calls": [call("k1", "write_file", json!({ "path": "x", "content": "pwn" }))] },
        { "tool_calls": [call("k2", "task", json!({ "task": "beta", "expected_output": "x" }))] },
        { "text": "{\"summary\":\"tried\"}" },
    ]);
    let played = Stage::new(&one_child(alpha(json!({})), turns)).tool(write).play("go").await;
    assert!(written.lock().unwrap().is_empty());
    assert!(!played.folder.path().join("x").exists());
    let refused = played.result("k1");
    for name in ["list_files", "read_file", "search"] {
        assert!(refused.contains(name), "{refused}");
    }
    assert!(!refused.contains("task,") && !refused.contains("bash"), "{refused}");
    assert!(played.result("k2").contains("DEPTH_EXCEEDED"));
    let report = played.task_result("c1");
    assert_eq!(report.status, Status::Completed);
    let warning = report.warnings.iter().find(|w| w.code == WarningCode::CallRefused).unwrap();
    assert!(warning.text.contains("write_file") && warning.text.contains("task"));
    assert_eq!(report.usage.tool_calls, 2, "refused calls are paid for");
    let starts = played.facts().filter(|fact| matches!(fact, Fact::ToolStarted { .. })).count();
    assert_eq!(starts, 1, "only the parent's task call was let start");
}

#[tokio::test(start_paused = true)]
async fn a_child_that_never_stops_makes_exactly_its_number_of_requests() {
    for turns in [1_u32, 2, 5] {
        let endless = json!([{
            "text": "step {n}",
            "tool_calls": [call("k{n}", "list_files", json!({ "path": "d{n}" }))],
        }]);
        let script = one_child(alpha(json!({ "budget": { "turns": turns } })), endless);
        let played = Stage::new(&script).play("go").await;
        assert_eq!(played.child_requests().len(), turns as usize);
        let report = played.task_result("c1");
        assert_eq!(report.status, Status::BudgetExhausted);
        assert_eq!(report.turns, turns);
        assert!(report.summary.contains("step"), "{}", report.summary);
        let last = format!("k{turns}");
        assert_eq!(played.result(&last), "not run: budget");
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_in_the_parents_history_reaches_no_child() {
    const SEED: &str = "seed-9f3a-purple-walrus";
    let script = json!({
        "turns": [
            { "text": "noted" },
            { "text": SEED, "tool_calls": [
                call("c1", "read_file", json!({ "path": "secret.txt" })),
                task_call("c2", "alpha"),
            ]},
            { "text": "done" },
        ],
        "children": [{ "match": "alpha", "turns": [
            { "tool_calls": [call("k1", "read_file", json!({ "path": "nowhere" }))] },
            { "text": "found nothing" },
        ]}],
    });
    let mut live = Stage::new(&script).file("secret.txt", SEED).start();
    live.ask(&format!("remember {SEED}"), &[]).await;
    live.ask("go", &[]).await;
    let played = live.quit().await;
    assert!(!played.child_requests().is_empty());
    for request in played.child_requests() {
        assert!(!format!("{request:?}").contains(SEED), "a child's request holds the seed");
    }
    let traces: Vec<_> =
        played.files().into_iter().filter(|(path, _)| path.contains("traces")).collect();
    assert_eq!(traces.len(), 1);
    assert!(!traces[0].1.contains(SEED), "the trace holds the seed");
    assert!(!played.result("c2").contains(SEED), "the report holds the seed");
    let session = played.files().into_iter().find(|(path, _)| path.ends_with("session.jsonl"));
    assert!(session.unwrap().1.contains(SEED), "the seed was really there");
}

#[tokio::test(start_paused = true)]
async fn only_the_chosen_snippets_reach_a_child() {
    let chosen = alpha(json!({ "context_keys": ["spec", "spec"] }));
    let mut stage = Stage::new(&one_child(chosen, json!([{ "text": "ok" }])));
    for (name, text) in [("spec", "the public part"), ("other", "the hidden part")] {
        stage.pins.push(Pin::normal(name, text));
    }
    let played = stage.play("go").await;
    let request = format!("{:?}", played.child_requests()[0].messages);
    assert_eq!(request.matches("the public part").count(), 1);
    assert!(!request.contains("the hidden part"));
    let started = played
        .events
        .iter()
        .find_map(|event| match (&event.fact, &event.origin.task) {
            (Fact::RunStarted { contract, .. }, Some(_)) => Some(contract.clone()),
            _ => None,
        })
        .unwrap();
    let keys: Vec<&str> = started.context.iter().map(|card| card.key.as_str()).collect();
    assert_eq!(keys, ["spec"]);
    assert!(!serde_json::to_string(&started).unwrap().contains("the public part"));
}

/// The four refusals of the contract, each with a spy that counts no request and no run.
#[tokio::test(start_paused = true)]
async fn what_is_refused_never_starts() {
    let cases = [
        (json!({ "permissions": ["network"] }), Code::PermissionEscalation, "permissions"),
        (json!({ "budget": { "turns": 0 } }), Code::InvalidBudget, "budget.turns"),
        (json!({ "budget": { "turns": 39 } }), Code::InvalidBudget, "budget.turns"),
        (json!({ "budget": { "turns": 4000 } }), Code::InvalidBudget, "budget.turns"),
        (json!({ "context_keys": ["missing"] }), Code::ContextNotFound, "context_keys"),
        (json!({ "allowed_tools": ["write_file"] }), Code::ToolEscalation, "allowed_tools"),
        (json!({ "allowed_paths": ["../up"] }), Code::PathEscalation, "allowed_paths"),
        (json!({ "role": "wizard" }), Code::InvalidTask, "role"),
        (json!({ "task": "  " }), Code::InvalidTask, "task"),
        (json!({ "task": "\u{200b}\u{3164}\u{2800}" }), Code::InvalidTask, "task"),
    ];
    for (more, code, field) in cases {
        let played =
            Stage::new(&one_child(alpha(more), json!([{ "text": "never" }]))).play("go").await;
        assert!(played.child_requests().is_empty(), "{code}");
        let report = played.task_result("c1");
        assert_eq!((report.status, report.code), (Status::Blocked, Some(code)), "{field}");
        let (at, runs) = played.facts().fold((String::new(), 0), |(at, runs), fact| match fact {
            Fact::ContractRefused { field, .. } => (field.clone(), runs),
            Fact::RunStarted { .. } => (at, runs + 1),
            _ => (at, runs),
        });
        assert!(at.starts_with(field), "{code}: {at}");
        assert_eq!(runs, 1, "only the parent ran");
        assert!(!played.files().iter().any(|(path, _)| path.contains("traces")), "no trace");
        assert_eq!(played.reply(), "parent done");
    }
}

#[tokio::test(start_paused = true)]
async fn an_unknown_role_is_refused_with_the_roles_there_are() {
    let script = one_child(alpha(json!({ "role": "wizard" })), json!([]));
    let text = Stage::new(&script).play("go").await.result("c1");
    assert!(text.contains("researcher") && text.contains("planner"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn four_children_queue_for_two_places_and_come_back_in_call_order() {
    let names = ["alpha", "beta", "gamma", "delta"];
    let calls: Vec<Value> =
        names.iter().enumerate().map(|(n, name)| task_call(&format!("c{n}"), name)).collect();
    let children: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(n, name)| {
            let turn = json!({ "text": name, "delay_ms": 1_000 - 200 * n });
            json!({ "match": name, "turns": [turn] })
        })
        .collect();
    let mut stage = Stage::new(&one_batch(&json!(calls), "done", &json!(children)));
    stage.limits.totals.active = 2;
    let played = stage.play("go").await;
    let queued: Vec<u32> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::TaskQueued { position, .. } => Some(*position),
            _ => None,
        })
        .collect();
    assert_eq!(queued, [0, 1]);
    let mut live = 0_i32;
    for event in played.events.iter().filter(|event| event.origin.task.is_some()) {
        match &event.fact {
            Fact::RunStarted { .. } => live += 1,
            Fact::RunFinished(_) => live -= 1,
            _ => {}
        }
        assert!(live <= 2, "never more than two at once");
    }
    let results = Played::results_in(played.parent_requests()[1]);
    for (result, name) in results.iter().zip(names) {
        assert!(result.output.contains(name), "{}", result.output);
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_cancelled_in_the_queue_never_runs() {
    let calls = json!([task_call("c1", "alpha"), task_call("c2", "beta")]);
    let children = json!([
        { "match": "alpha", "turns": [{ "text": "A", "delay_ms": 1_000 }] },
        { "match": "beta", "turns": [{ "text": "B" }] },
    ]);
    let mut stage = Stage::new(&one_batch(&calls, "done", &children));
    stage.limits.totals.active = 1;
    let cancel = Command::CancelTask { task: TaskId(2) };
    let played = stage.play_with("go", &[(500, cancel)]).await;
    let report = played.task_result("c2");
    assert_eq!((report.status, report.turns), (Status::Cancelled, 0));
    assert_eq!(report.usage.input_tokens, 0);
    assert_eq!(played.child_requests().len(), 1);
    assert_eq!(played.task_result("c1").status, Status::Completed);
}

#[tokio::test(start_paused = true)]
async fn delegations_beyond_the_limit_are_refused_and_the_rest_run() {
    let calls: Vec<Value> =
        (0..4).map(|n| task_call(&format!("c{n}"), &format!("alpha {n}"))).collect();
    let children = json!([{ "match": "alpha", "turns": [{ "text": "A" }], "cycle": true }]);
    let mut stage = Stage::new(&one_batch(&json!(calls), "done", &children));
    stage.limits.totals.delegations = 3;
    let played = stage.play("go").await;
    assert_eq!(played.child_requests().len(), 3, "{}", played.result("c0"));
    assert_eq!(played.task_result("c3").code, Some(Code::DelegationLimit));
}

#[tokio::test(start_paused = true)]
async fn the_same_task_twice_in_a_batch_is_a_duplicate() {
    let calls = json!([task_call("c1", "alpha"), task_call("c2", "alpha")]);
    let children = json!([{ "match": "alpha", "turns": [{ "text": "A" }] }]);
    let played = Stage::new(&one_batch(&calls, "done", &children)).play("go").await;
    assert_eq!(played.task_result("c1").status, Status::Completed);
    assert_eq!(played.task_result("c2").code, Some(Code::DuplicateTask));
    assert_eq!(played.child_requests().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn evidence_counts_only_where_a_tool_showed_it() {
    let answer = json!({
        "summary": "s",
        "evidence": [
            { "path": "a.txt", "line": 1, "reason": "read" },
            { "path": "./b.txt", "reason": "never read" },
            { "path": "none.txt", "line": 1, "reason": "not there" },
            { "path": "a.txt", "line": 99, "reason": "no such line" },
            { "path": "../up", "reason": "outside" },
            { "path": ".", "reason": "listed" },
        ],
    });
    let turns = json!([
        { "tool_calls": [
            call("k1", "read_file", json!({ "path": "a.txt" })),
            call("k2", "list_files", json!({})),
        ]},
        { "text": answer.to_string() },
    ]);
    let stage = Stage::new(&one_child(alpha(json!({})), turns)).file("a.txt", "one\ntwo\n");
    let report = stage.file("b.txt", "b").play("go").await.task_result("c1");
    let verified: Vec<bool> = report.evidence.iter().map(|e| e.verified).collect();
    assert_eq!(verified, [true, false, false, false, false, true]);
    let codes: Vec<WarningCode> = report.warnings.iter().map(|w| w.code).collect();
    for code in [
        WarningCode::EvidenceNotRead,
        WarningCode::EvidenceMissing,
        WarningCode::EvidenceLine,
        WarningCode::EvidenceScope,
    ] {
        assert!(codes.contains(&code), "{code:?} in {codes:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_planner_without_steps_is_asked_once_and_then_invalid() {
    let plan = alpha(json!({ "role": "planner" }));
    let stubborn = json!([{ "text": "{\"summary\":\"no steps\"}" }]);
    let played = Stage::new(&one_child(plan.clone(), stubborn)).play("go").await;
    assert_eq!(played.child_requests().len(), 2);
    assert_eq!(played.task_result("c1").status, Status::InvalidResult);
    let willing = json!([
        { "text": "{\"summary\":\"no steps\"}" },
        { "text": "{\"summary\":\"plan\",\"steps\":[\"one\"]}" },
    ]);
    let played = Stage::new(&one_child(plan, willing)).play("go").await;
    let report = played.task_result("c1");
    assert_eq!(report.status, Status::Completed);
    assert_eq!(report.fields["steps"], json!(["one"]));
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_another_task_is_invalid() {
    let turns = json!([{ "text": "{\"summary\":\"s\",\"task_id\":\"t9\"}" }]);
    let report = Stage::new(&one_child(alpha(json!({})), turns)).play("go").await.task_result("c1");
    assert_eq!((report.status, report.code), (Status::InvalidResult, Some(Code::InvalidResult)));
}

#[tokio::test(start_paused = true)]
async fn a_child_out_of_time_is_stopped_and_reported() {
    let slow = json!([{ "text": "never", "delay_ms": 60_000 }]);
    let script = one_child(alpha(json!({ "budget": { "duration_s": 2 } })), slow);
    let report = Stage::new(&script).play("go").await.task_result("c1");
    assert_eq!((report.status, report.code), (Status::BudgetExhausted, Some(Code::Timeout)));
    assert_eq!(report.usage.duration_ms, 2_000);
}

#[tokio::test(start_paused = true)]
async fn a_request_above_its_share_ends_the_child_as_overrun() {
    let turns = json!([
        { "tool_calls": [call("k1", "list_files", json!({}))],
          "usage": { "input": 100, "output": 50_000 } },
    ]);
    let report = Stage::new(&one_child(alpha(json!({})), turns)).play("go").await.task_result("c1");
    assert_eq!(report.status, Status::BudgetExhausted);
    assert_eq!(report.code, Some(Code::UsageExceeded));
}

#[tokio::test(start_paused = true)]
async fn a_child_that_takes_its_parent_below_zero_ends_everything() {
    let turns = json!([{ "text": "big", "usage": { "input": 100, "output": 500_000 } }]);
    let played = Stage::new(&one_child(alpha(json!({})), turns)).play("go").await;
    let end = &played.parent_ends()[0];
    assert_eq!(end.status, Status::BudgetExhausted);
    assert_eq!(end.code, Some(Code::UsageExceeded));
    assert_eq!(played.parent_requests().len(), 1, "nothing is asked after that");
}

#[tokio::test(start_paused = true)]
async fn a_parent_out_of_turns_answers_in_its_wrap_up_turn() {
    let script = json!({ "turns": [
        { "tool_calls": [call("c{n}", "list_files", json!({ "path": "d{n}" }))] },
        { "tool_calls": [call("c{n}", "list_files", json!({ "path": "d{n}" }))] },
        { "text": "what I have" },
    ]});
    let mut stage = Stage::new(&script);
    stage.limits.parent[Dimension::Turns] = Limit::Of(3);
    let played = stage.play("go").await;
    let end = &played.parent_ends()[0];
    assert_eq!((end.status, played.reply().as_str()), (Status::BudgetExhausted, "what I have"));
    let last = played.requests.last().unwrap();
    assert_eq!(last.tool_choice, offshoot::provider::ToolChoice::None);
    assert!(!last.tools.is_empty(), "tools stay defined");
}

#[tokio::test(start_paused = true)]
async fn calls_beyond_the_limit_are_not_run_and_the_next_turn_wraps_up() {
    let calls: Vec<Value> = (0..9)
        .map(|n| call(&format!("c{n}"), "list_files", json!({ "path": format!("d{n}") })))
        .collect();
    let mut stage = Stage::new(&one_batch(&json!(calls), "wrapped", &json!([])));
    stage.limits.parent[Dimension::ToolCalls] = Limit::Of(3);
    let played = stage.play("go").await;
    assert_eq!(played.result("c3"), "not run: budget");
    assert_eq!(played.result("c8"), "not run: budget");
    assert_ne!(played.result("c2"), "not run: budget");
    let end = &played.parent_ends()[0];
    assert_eq!(serde_json::to_value(end.dimension).unwrap(), "tool_calls");
}

#[tokio::test(start_paused = true)]
async fn many_refusals_in_one_batch_are_read_before_they_count() {
    let calls: Vec<Value> =
        (0..8).map(|n| task_call(&format!("c{n}"), &format!("alpha {n}"))).collect();
    let children = json!([{ "match": "alpha", "turns": [{ "text": "A" }] }]);
    let mut stage = Stage::new(&one_batch(&json!(calls), "done", &children));
    stage.limits.totals.delegations = 1;
    let played = stage.play("go").await;
    assert_eq!(
        (played.parent_ends()[0].status, played.reply().as_str()),
        (Status::Completed, "done")
    );
}

#[tokio::test(start_paused = true)]
async fn a_task_without_its_required_text_is_refused_as_a_contract() {
    let calls = json!([call("c1", "task", json!({ "task": "alpha", "bugdet": {} }))]);
    let played = Stage::new(&one_batch(&calls, "done", &json!([]))).play("go").await;
    let report = played.task_result("c1");
    assert_eq!((report.status, report.code), (Status::Blocked, Some(Code::InvalidTask)));
    assert!(played.facts().any(|fact| matches!(fact, Fact::ContractRefused { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_a_child_read_does_not_reach_its_parent() {
    const KEY: &str = "correct-horse-battery";
    let turns = json!([
        { "tool_calls": [call("k1", "read_file", json!({ "path": "key.txt" }))] },
        { "text": format!("{{\"summary\":\"the key is {KEY}\",\"warnings\":[\"{KEY}\"]}}") },
    ]);
    let mut stage = Stage::new(&one_child(alpha(json!({})), turns)).file("key.txt", KEY);
    stage.secrets = vec![KEY.to_owned()];
    let played = stage.play("go").await;
    assert!(played.result("c1").contains("the key is "));
    for request in played.parent_requests() {
        assert!(!format!("{:?}", request.messages).contains(KEY), "the parent sees the key");
    }
    assert!(played.files().iter().all(|(_, text)| !text.contains(KEY)), "a file holds the key");
}

#[tokio::test(start_paused = true)]
async fn lines_that_were_cut_away_do_not_count_as_shown() {
    let answer = json!({ "summary": "s", "evidence": [{ "path": "long.txt", "line": 300 }] });
    let turns = json!([
        { "tool_calls": [call("k1", "read_file", json!({ "path": "long.txt" }))] },
        { "text": answer.to_string() },
    ]);
    let long: Vec<String> = (1..=400).map(|n| format!("line {n} {}", "x".repeat(40))).collect();
    let task = alpha(json!({ "budget": { "input_tokens": 6_000 } }));
    let stage = Stage::new(&one_child(task, turns)).file("long.txt", &long.join("\n"));
    let played = stage.play("go").await;
    assert!(played.result("k1").contains("cut to fit the budget"));
    assert!(!played.task_result("c1").evidence[0].verified);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_final_word_has_no_reply() {
    let script = json!({ "turns": [
        { "text": "I'll look.", "tool_calls": [call("c1", "list_files", json!({}))] },
        { "text": "" },
    ]});
    let end = &Stage::new(&script).play("go").await.parent_ends()[0];
    assert_eq!((end.status, end.reply.clone()), (Status::Completed, None));
}

#[tokio::test(start_paused = true)]
async fn an_answer_without_end_is_cut() {
    let endless = json!({ "turns": [{ "text_repeat": { "s": "word ", "n": 2_000_000 } }] });
    let end = &Stage::new(&endless).play("go").await.parent_ends()[0];
    assert_eq!(end.status, Status::BudgetExhausted);
    assert!(end.reply.as_ref().unwrap().len() < 5 * 1024 * 1024);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_panics_is_an_error_and_the_run_goes_on() {
    let script = one_batch(&json!([call("c1", "panics", json!({}))]), "went on", &json!([]));
    let played = Stage::new(&script).tool(stand_in::Panics::new()).play("go").await;
    assert!(played.result("c1").contains("panicked"));
    assert_eq!(played.reply(), "went on");
}

#[tokio::test(start_paused = true)]
async fn a_delegation_adds_its_report_and_little_more_to_the_parents_context() {
    let script = one_child(alpha(json!({})), json!([{ "text": "{\"summary\":\"short\"}" }]));
    let played = Stage::new(&script).play("go").await;
    let requests = played.parent_requests();
    let size = |index: usize| -> usize {
        requests[index].messages.iter().map(|m| serde_json::to_string(&**m).unwrap().len()).sum()
    };
    let call = task_call("c1", "alpha").to_string().len();
    let report = serde_json::to_string(&played.result("c1")).unwrap().len();
    let beside = size(1) - size(0) - call - report;
    assert!(beside / 4 <= 150, "{} tokens beside the call and the report", beside / 4);
}

#[tokio::test(start_paused = true)]
async fn the_history_grows_by_one_call_and_one_result_for_a_child() {
    let turns = json!([
        { "tool_calls": [call("k1", "list_files", json!({}))] },
        { "tool_calls": [call("k2", "list_files", json!({ "depth": 2 }))] },
        { "text": "{\"summary\":\"s\"}" },
    ]);
    let played = Stage::new(&one_child(alpha(json!({})), turns)).play("go").await;
    let requests = played.parent_requests();
    assert_eq!(requests[1].messages.len(), requests[0].messages.len() + 2);
    assert_eq!(Played::results_in(requests[1]).len(), 1);
}
