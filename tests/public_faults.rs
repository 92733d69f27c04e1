//! Public faults of other agents, replayed through the real loop. Each test is named after the right
//! behaviour and says what went wrong elsewhere.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::public_case::{for_role, load};
use common::{Played, Stage, one_batch, stand_in, task_call};
use offshoot::domain::budget::Preset;
use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::ids::TaskId;
use offshoot::domain::message::Message;
use offshoot::domain::report::{Exhausted, Status, WarningCode};
use offshoot::domain::role::{Permission, Role, RoleTable};
use offshoot::domain::scope::PathScope;
use offshoot::domain::violation::Code;
use offshoot::story::Story;
use serde_json::json;

const HANDS: [Permission; 3] = [Permission::Read, Permission::Delegate, Permission::Execute];

/// A role that may run the stand-in shell.
fn worker() -> Role {
    let mut role = RoleTable::built_in(Preset::Normal).get("researcher").unwrap().clone();
    "worker".clone_into(&mut role.name);
    role.permissions.insert(Permission::Execute);
    role.tools.push("bash".to_owned());
    role
}

fn with_worker(file: &str) -> Stage {
    let mut stage =
        Stage::new(&for_role(load(file), "worker")).tool(stand_in::Bash::new()).permissions(&HANDS);
    stage.roles.push(worker());
    stage
}

/// B001: after an interrupt a call had no result, and every later request was refused.
#[tokio::test(start_paused = true)]
async fn an_interrupted_batch_has_a_result_for_every_call_before_the_next_request() {
    let slow = |id: &str| json!({ "id": id, "name": "bash", "arguments": { "command": "sleep 60; echo x" } });
    let script = json!({ "turns": [
        { "text": "", "tool_calls": [slow("c1"), slow("c2")] },
        { "text": "went on" },
    ]});
    let stage = Stage::new(&script).tool(stand_in::Bash::new()).permissions(&HANDS);
    let mut live = stage.start();
    live.ask("go", &[(300, Command::Stop)]).await;
    let end = live.ask("go on", &[]).await;
    assert_eq!(end.reply.as_deref(), Some("went on"));
    let played = live.quit().await;
    let results = Played::results_in(&played.requests[1]);
    let told: Vec<_> = results.iter().map(|r| (r.call.as_str(), r.ok, r.output.as_str())).collect();
    assert_eq!(told[0], ("c1", false, "cancelled by the user while it ran"));
    assert_eq!((told[1].0, told[1].1), ("c2", false));
    assert!(told[1].2.starts_with("not run: cancelled"), "{}", told[1].2);
}

/// B003: a failing call of a batch wrote no result, and the session was rejected from then on.
#[tokio::test(start_paused = true)]
async fn a_failing_call_keeps_its_place_among_the_results() {
    let stage = Stage::new(&load("B003-batch-one-fails.model.json")).file("a.txt", "AAA");
    let played = stage.play("go").await;
    let results = Played::results_in(&played.requests[1]);
    let ids: Vec<&str> = results.iter().map(|result| result.call.as_str()).collect();
    assert_eq!(ids, ["c1", "c2", "c3"]);
    assert_eq!(results.iter().map(|result| result.ok).collect::<Vec<_>>(), [true, false, true]);
    assert!(results[0].output.contains("AAA"));
    assert!(results[1].output.contains("missing.txt"));
    assert_eq!(played.reply(), "done");
}

/// B004: results were keyed by tool name, so the second call's overwrote the first's.
#[tokio::test(start_paused = true)]
async fn results_of_one_tool_stay_apart() {
    let played = Stage::new(&load("B004-results-by-name.model.json"))
        .tool(stand_in::Bash::new())
        .permissions(&HANDS)
        .file("a.txt", "AAA")
        .file("b.txt", "BBB")
        .play("go")
        .await;
    let results = Played::results_in(&played.requests[1]);
    assert_eq!(results[0].call.as_str(), "c1");
    assert!(results[0].output.contains("AAA") && !results[0].output.contains("BBB"));
    assert!(results[1].output.contains("BBB") && !results[1].output.contains("AAA"));
}

/// B012: an invented tool ended the program, or the bare error made the model repeat it.
#[tokio::test(start_paused = true)]
async fn an_unknown_tool_is_answered_with_the_names_there_are() {
    let played = Stage::new(&load("B012-unknown-tool.model.json")).play("go").await;
    for call in ["c1", "c2", "c3"] {
        let result = played.result(call);
        for name in ["list_files", "read_file", "search", "task"] {
            assert!(result.contains(name), "{result}");
        }
        assert!(!result.contains("write_file") && !result.contains("bash"), "{result}");
    }
    assert!(played.result("c3").contains("[runtime]"), "the third identical error is warned about");
    let end = &played.parent_ends()[0];
    assert_eq!((end.status, played.reply().as_str()), (Status::Completed, "gave up"));
}

/// B014: words typed while tools ran entered before or between their results.
#[tokio::test(start_paused = true)]
async fn words_typed_meanwhile_enter_after_the_whole_batch() {
    let typed = Command::Submit { text: "also check X".to_owned() };
    let played = Stage::new(&load("B014-result-before-text.model.json"))
        .tool(stand_in::Bash::new())
        .permissions(&HANDS)
        .play_with("go", &[(300, typed)])
        .await;
    let second = &played.requests[1];
    let tail = &second.messages[second.messages.len() - 2..];
    assert!(matches!(&*tail[0], Message::Results { results } if results.len() == 2));
    assert!(matches!(&*tail[1], Message::User { text } if text.starts_with("also check X")));
    assert_eq!(played.parent_ends().len(), 1, "the words belong to the run that was going on");
}

/// B035: a child repeated one search hundreds of times under fresh ids.
#[tokio::test(start_paused = true)]
async fn a_child_that_repeats_itself_is_stopped() {
    let played = Stage::new(&load("B035-same-call-loop.model.json")).play("go").await;
    let report = played.task_result("c1");
    assert_eq!((report.status, report.code), (Status::BudgetExhausted, Some(Code::LoopDetected)));
    assert_eq!(report.dimension, Some(Exhausted::Repeats));
    // The fourth equal call is warned about, the fifth one makes the next turn the last.
    assert_eq!((played.child_requests().len(), report.turns), (6, 6));
    assert_eq!(report.usage.tool_calls, 5, "each of them is counted");
    let warned: Vec<usize> =
        (1..=5).filter(|n| played.result(&format!("k{n}")).contains("[runtime]")).collect();
    assert_eq!(warned.first(), Some(&4), "{warned:?}");
    assert_eq!(played.reply(), "parent done");
    let used: u64 = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::Usage { usage, .. } => Some(usage.input_tokens),
            _ => None,
        })
        .sum();
    assert_eq!(played.parent_ends()[0].usage_total.input_tokens, used);
}

/// B035, the whole kind: the same guard for a parent, for arguments in another order, for calls that
/// fail, and for a cycle; what makes progress is let go on.
#[tokio::test(start_paused = true)]
async fn whoever_repeats_itself_in_whatever_form_is_stopped() {
    let search = |more: &str| format!(r#"{{"pattern":"walrus"{more}}}"#);
    let forms = [
        ("as it is", vec![search(""), search("")], 5),
        (
            "in another order",
            vec![
                search(r#", "path": ".""#),
                r#"{ "path" : "." , "pattern" : "walrus" }"#.to_owned(),
            ],
            5,
        ),
        ("failing", vec![search(r#","path":"nowhere""#)], 4),
        ("in a cycle", vec![search(""), search(r#","path":"src""#)], 9),
    ];
    for (name, forms, most) in forms {
        let turns: Vec<serde_json::Value> = (0..20)
            .map(|turn| {
                let arguments: serde_json::Value =
                    serde_json::from_str(&forms[turn % forms.len()]).unwrap();
                let id = format!("k{turn}");
                json!({ "tool_calls": [{ "id": id, "name": "search", "arguments": arguments }] })
            })
            .collect();
        let parent = Stage::new(&json!({ "turns": turns })).file("src/a.txt", "a");
        let played = parent.play("go").await;
        let end = &played.parent_ends()[0];
        assert_eq!(end.code, Some(Code::LoopDetected), "{name}");
        let calls = parent_calls(&played);
        assert_eq!(calls, most, "{name}, the parent");
        let child = json!([{ "match": "alpha", "turns": turns }]);
        let child = Stage::new(&one_batch(&json!([task_call("c1", "alpha")]), "done", &child));
        let played = child.file("src/a.txt", "a").play("go").await;
        let report = played.task_result("c1");
        assert_eq!(report.code, Some(Code::LoopDetected), "{name}");
        assert_eq!(report.usage.tool_calls, most, "{name}, the child");
    }
}

/// The calls that the parent made and that ran.
fn parent_calls(played: &Played) -> u64 {
    let ran = played.events.iter().filter(|event| {
        event.origin.task.is_none() && matches!(event.fact, Fact::ToolStarted { .. })
    });
    ran.count() as u64
}

/// B037: a child that ran out of turns was reported as a success.
#[tokio::test(start_paused = true)]
async fn a_child_out_of_turns_is_not_a_success() {
    let played = Stage::new(&load("B037-out-of-turns-as-success.model.json")).play("go").await;
    assert_eq!(played.child_requests().len(), 3);
    let report = played.task_result("c1");
    assert_eq!(report.status, Status::BudgetExhausted);
    assert_eq!(report.code, Some(Code::BudgetExhausted));
    assert_eq!(serde_json::to_value(report.dimension).unwrap(), "turns");
    assert_eq!(report.turns, 3);
    assert!(report.warnings.iter().any(|w| w.code == WarningCode::Unfinished));
    assert!(report.next.contains("Unfinished"));
    let notices = played
        .facts()
        .filter(|fact| matches!(fact, Fact::Notice { code, .. } if code == "UNFINISHED_CHILD"));
    assert_eq!(notices.count(), 1);
}

/// B039: a child that did nothing claimed files and tests, and was believed.
#[tokio::test(start_paused = true)]
async fn a_claim_without_any_call_is_marked() {
    let played = Stage::new(&load("B039-self-report-trusted.model.json")).play("go").await;
    let report = played.task_result("c1");
    assert_eq!(report.usage.tool_calls, 0);
    assert!(report.changed_paths.is_empty() && report.evidence.is_empty());
    let codes: Vec<WarningCode> = report.warnings.iter().map(|w| w.code).collect();
    assert!(codes.contains(&WarningCode::NoToolsUsed), "{codes:?}");
    assert!(codes.contains(&WarningCode::Unstructured), "{codes:?}");
    assert!(codes.contains(&WarningCode::TestsNotRun), "{codes:?}");
    assert!(!played.folder.path().join("proof.txt").exists());
    // The same in the form that is asked for, as evidence, as a change and as a test.
    let claims = json!({
        "summary": "Created proof.txt. All 14 tests pass.",
        "evidence": [{ "path": "proof.txt", "line": 1, "reason": "made it", "verified": true }],
        "changed_paths": ["proof.txt"],
        "tests": [{ "command": "cargo test", "exit_code": 0 }],
    });
    let script = json!([{ "match": "alpha", "turns": [{ "text": claims.to_string() }] }]);
    let call = json!({ "id": "c1", "name": "task", "arguments": {
        "task": "alpha", "expected_output": "x", "role": "worker",
    } });
    let hands = [
        Permission::Read,
        Permission::Write,
        Permission::Test,
        Permission::Execute,
        Permission::Delegate,
    ];
    let stage = Stage::new(&one_batch(&json!([call]), "done", &script)).permissions(&hands);
    let report = stage.play("go").await.task_result("c1");
    let codes: Vec<WarningCode> = report.warnings.iter().map(|w| w.code).collect();
    for code in [
        WarningCode::NoToolsUsed,
        WarningCode::EvidenceMissing,
        WarningCode::ClaimedUnchanged,
        WarningCode::TestsNotRun,
    ] {
        assert!(codes.contains(&code), "{code:?} in {codes:?}");
    }
    assert!(report.changed_paths.is_empty() && !report.evidence[0].verified);
}

/// B041: a reading parent started a child that could write.
#[tokio::test(start_paused = true)]
async fn a_child_wider_than_its_parent_never_starts() {
    let mut stage = Stage::new(&for_role(load("B041-escalation.model.json"), "worker"))
        .tool(stand_in::Bash::new())
        .tool(stand_in::WriteFile::new());
    stage.roles.push(worker());
    stage.paths = vec![PathScope::parse("src").unwrap()];
    std::fs::create_dir(stage.folder.path().join("src")).unwrap();
    let played = stage.play("go").await;
    assert!(played.child_requests().is_empty());
    let report = played.task_result("c1");
    assert_eq!(report.status, Status::Blocked);
    assert_eq!((report.task_id, report.attempt, report.trace), (None, None, None));
    let text = played.result("c1");
    for refused in ["write_file", "bash", "`/`", "budget.turns", "budget.cost_usd"] {
        assert!(text.contains(refused), "{refused} in {text}");
    }
    assert!(!played.folder.path().join("src/x").exists());
    assert!(!played.files().iter().any(|(path, _)| path.contains("traces")));
}

/// B045: cancelling one child ended the parent, or hit another child.
#[tokio::test(start_paused = true)]
async fn cancelling_one_child_leaves_parent_and_sibling_alone() {
    let cancel = Command::CancelTask { task: TaskId(1) };
    let mut stage = Stage::new(&load("B045-child-cancel-kills-parent.model.json"));
    stage = stage.tool(stand_in::Bash::new()).permissions(&HANDS);
    // The case gives no role; here the default one may run the stand-in shell.
    let mut role = worker();
    "researcher".clone_into(&mut role.name);
    stage.roles.push(role);
    let played = stage.play_with("go", &[(1_000, cancel)]).await;
    let (first, second) = (played.task_result("c1"), played.task_result("c2"));
    assert_eq!(first.status, Status::Cancelled);
    assert_eq!(serde_json::to_value(first.by).unwrap(), "user");
    assert_eq!(second.status, Status::Completed);
    assert!(second.summary.contains("BETA"));
    assert_eq!(played.reply(), "parent went on");
}

/// B047: results were collected as they finished and filed under the wrong child.
#[tokio::test(start_paused = true)]
async fn children_that_end_in_reverse_come_back_in_call_order() {
    let played = Stage::new(&load("B047-completion-order.model.json")).play("go").await;
    let results = Played::results_in(played.parent_requests()[1]);
    let ids: Vec<&str> = results.iter().map(|result| result.call.as_str()).collect();
    assert_eq!(ids, ["c1", "c2", "c3"]);
    for (result, word) in results.iter().zip(["ONE", "TWO", "THREE"]) {
        assert!(result.output.contains(word), "{}", result.output);
    }
    let ended: Vec<String> = played.reports().into_iter().map(|report| report.summary).collect();
    assert_eq!(ended, ["THREE", "TWO", "ONE"], "they really ended in reverse");
}

/// B048: one stuck child made the runtime abort all of them.
#[tokio::test(start_paused = true)]
async fn each_child_ends_alone() {
    let played = Stage::new(&load("B048-sibling-abort.model.json")).play("go").await;
    assert_eq!(played.task_result("c1").status, Status::Completed);
    assert!(played.task_result("c1").summary.contains("ALPHA OK"));
    let failed = played.task_result("c2");
    assert_eq!((failed.status, failed.code), (Status::Failed, Some(Code::ProviderError)));
    assert!(failed.summary.contains("boom"), "{}", failed.summary);
    assert_eq!(played.task_result("c3").code, Some(Code::LoopDetected));
    assert_eq!(played.reply(), "done");
}

/// B049: a child with the task tool started copies of itself without end.
#[tokio::test(start_paused = true)]
async fn a_child_at_the_floor_cannot_delegate() {
    let played = Stage::new(&load("B049-nested-explosion.model.json")).play("go").await;
    let runs = played.facts().filter(|fact| matches!(fact, Fact::RunStarted { .. })).count();
    assert_eq!(runs, 2);
    for request in played.child_requests() {
        assert!(request.tools.iter().all(|tool| tool.name != "task"));
    }
    let refused = played.facts().find_map(|fact| match fact {
        Fact::ContractRefused { code, message, .. } => Some((*code, message.clone())),
        _ => None,
    });
    let (code, message) = refused.unwrap();
    assert_eq!(code, Code::DepthExceeded);
    assert!(message.contains("r1 > t1.1") && message.contains("list_files"), "{message}");
    assert_eq!(played.reply(), "done");
}

/// B050: a child's whole output landed in its parent's context.
#[tokio::test(start_paused = true)]
async fn a_flood_from_a_child_is_capped_and_its_transcript_stays_away() {
    let played = with_worker("B050-child-floods-parent.model.json").play("go").await;
    let result = played.result("c1");
    assert!(result.len() <= 8 * 1024, "{} bytes", result.len());
    assert!(!result.contains('\u{fffd}'));
    assert_eq!(played.task_result("c1").trace.unwrap().as_str(), "t1.1");
    for request in played.parent_requests() {
        let text = format!("{:?}", request.messages);
        for line in ["19999", "\\n7001\\n", "\\n12\\n"] {
            assert!(!text.contains(line), "a line of the child's output");
        }
    }
}

/// B051: the shown cost left children out, or counted them twice.
#[tokio::test(start_paused = true)]
async fn a_childs_usage_is_in_the_total_exactly_once() {
    let stage = Stage::new(&load("B051-child-cost.model.json")).file("src/a.txt", "a");
    let played = stage.play("go").await;
    let end = &played.parent_ends()[0];
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (3_000, 150));
    assert_eq!((end.usage_total.input_tokens, end.usage_total.output_tokens), (4_200, 270));
    assert_eq!(end.usage_total.cost_usd.unwrap().0, 6_900);
    let report = played.task_result("c1");
    assert_eq!((report.usage.input_tokens, report.usage.output_tokens), (1_200, 120));
    // What the screen shows is the same sum, made of the events alone.
    let mut story = Story::default();
    played.events.iter().for_each(|event| story.apply(event));
    let totals = story.totals();
    assert_eq!(totals.cost().unwrap().0, 6_900);
    let node = story.delegations().of_task(TaskId(1)).unwrap();
    let used = node.run.as_ref().unwrap().usage;
    assert_eq!((used.input_tokens, used.output_tokens), (1_200, 120));
}

/// B053: a child answered another child's topic.
#[tokio::test(start_paused = true)]
async fn a_child_knows_its_own_task_and_nothing_else() {
    let mut case = load("B053-context-bleed.model.json");
    // The two earlier messages of the conversation get answers of their own.
    let mut turns =
        vec![serde_json::json!({ "text": "one" }), serde_json::json!({ "text": "two" })];
    turns.extend(case["turns"].as_array().unwrap().iter().cloned());
    case["turns"] = turns.into();
    let mut live = Stage::new(&case).start();
    for words in ["CANARY-PARENT-1", "CANARY-PARENT-2", "go"] {
        live.ask(words, &[]).await;
    }
    let played = live.quit().await;
    for (own, other) in [("CANARY-A", "CANARY-B"), ("CANARY-B", "CANARY-A")] {
        let request = played
            .child_requests()
            .into_iter()
            .find(|request| format!("{:?}", request.messages).contains(own))
            .unwrap();
        assert_eq!(request.messages.len(), 1);
        let run = request.run.clone();
        for request in played.child_requests().into_iter().filter(|request| request.run == run) {
            let whole = format!("{request:?}");
            assert!(!whole.contains(other) && !whole.contains("CANARY-PARENT"));
        }
    }
}
