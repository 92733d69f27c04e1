//! Asking before a child starts: what is shown, what a person makes less of it, what waits meanwhile,
//! and what becomes of it where nobody can be asked. Scripted models on the paused clock.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Live, Played, Stage, one_batch, task_call};
use offshoot::domain::approval::{Answer, ApprovePolicy, Asker, Decider, Decision};
use offshoot::domain::books::Books;
use offshoot::domain::budget::{Dimension, Limit, PerDimension};
use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::context_store::Sensitivity;
use offshoot::domain::event::{ContractView, Fact, Failure, Preflight};
use offshoot::domain::exit::Exit;
use offshoot::domain::ids::{CallId, RunId, TaskId};
use offshoot::domain::message::Message;
use offshoot::domain::preflight::{Amendment, PreflightPolicy};
use offshoot::domain::report::{By, Status};
use offshoot::domain::violation::Code;
use offshoot::headless::{self, Format, Headless};
use offshoot::session::Pin;
use offshoot::story::{NodeState, Story};
use serde_json::{Value, json};

const MARK: &str = "the-crane-is-blue-7391";

fn child(words: &str) -> Value {
    let found = "{\"summary\": \"found\", \"evidence\": [], \"warnings\": []}";
    json!({ "match": words, "turns": [{ "text": found }] })
}

fn stage(calls: &Value, children: &Value) -> Stage {
    let mut stage = Stage::new(&one_batch(calls, "done", children));
    stage.preflight = PreflightPolicy::Always;
    stage.pins = [("plan", MARK), ("other", "nothing special")]
        .map(|(name, text)| Pin {
            name: name.to_owned(),
            source: "pinned".to_owned(),
            text: text.to_owned(),
            sensitivity: Sensitivity::Normal,
        })
        .into();
    stage
}

/// One child that is given both pinned texts.
fn one() -> Stage {
    let mut call = task_call("t", "alpha");
    call["arguments"]["context_keys"] = json!(["plan", "other"]);
    call["arguments"]["done_when"] = json!("it is found");
    stage(&json!([call]), &json!([child("alpha")]))
}

fn decide(call: &str, answer: Answer) -> Command {
    Command::Decide { run: RunId::parent(1), call: CallId::from(call), answer }
}

fn deny(reason: &str) -> Answer {
    Answer::Deny { reason: Some(reason.to_owned()) }
}

fn questions(played: &Played) -> Vec<Preflight> {
    let asked = |fact: &Fact| match fact {
        Fact::ApprovalRequested { name, preflight: Some(preflight), .. } => {
            assert_eq!(name, "task");
            Some((**preflight).clone())
        }
        _ => None,
    };
    played.facts().filter_map(asked).collect()
}

fn decisions(played: &Played) -> Vec<(String, Decision, Decider, Option<Amendment>)> {
    let decided = |fact: &Fact| match fact {
        Fact::ApprovalDecided { call, decision, by, amended, .. } => {
            Some((call.to_string(), *decision, *by, amended.clone()))
        }
        _ => None,
    };
    played.facts().filter_map(decided).collect()
}

fn started(played: &Played) -> Vec<(ContractView, u64)> {
    let began = played.events[0].ts.0;
    let child = |event: &Arc<offshoot::domain::event::Event>| match &event.fact {
        Fact::RunStarted { depth: 1, contract, .. } => Some((contract.clone(), event.ts.0 - began)),
        _ => None,
    };
    played.events.iter().filter_map(child).collect()
}

/// All that was sent for children.
fn sent(played: &Played) -> String {
    let texts = played.child_requests().into_iter().map(|request| {
        let messages: Vec<&Message> = request.messages.iter().map(|message| &**message).collect();
        format!("{}{}", request.system, serde_json::to_string(&messages).unwrap())
    });
    texts.collect()
}

fn less(view: &ContractView, turns: u64, dropped: &[&str]) -> Answer {
    let mut lowered = PerDimension::default();
    lowered[Dimension::Turns] = Some(turns);
    let dropped = dropped.iter().map(|key| (*key).to_owned());
    Answer::Amended(Amendment::of(view, &lowered, dropped).unwrap())
}

/// Follows a session until something is asked.
async fn until_asked(live: &mut Live, already: usize) -> ContractView {
    let mut count = 0;
    loop {
        let event = live.session.events.recv().await.unwrap();
        live.events.push(Arc::clone(&event));
        if let Fact::ApprovalRequested { preflight: Some(preflight), .. } = &event.fact {
            count += 1;
            if count > already {
                return preflight.contract.clone();
            }
        }
    }
}

/// Nothing of a child may be seen: no run, no request, no trace.
fn assert_nothing_started(played: &Played) {
    assert!(started(played).is_empty() && played.child_requests().is_empty());
    let traces: Vec<String> = played
        .files()
        .into_iter()
        .map(|(path, _)| path)
        .filter(|path| path.contains("/traces/"))
        .collect();
    assert!(traces.is_empty(), "{traces:?}");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_where_the_policy_is_never() {
    let mut stage = one();
    stage.preflight = PreflightPolicy::default();
    let played = stage.play("go").await;
    assert!(questions(&played).is_empty() && decisions(&played).is_empty());
    assert!(!played.facts().any(|fact| matches!(fact, Fact::PreflightChanged { .. })));
    assert_eq!(played.task_result("t").status, Status::Completed);
    assert!(sent(&played).contains(MARK));
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_child_exists_before_a_person_allowed_it() {
    let played = one().play_with("go", &[(600_000, decide("t", Answer::Once))]).await;
    let asked = questions(&played);
    let (contract, at) = &started(&played)[0];
    assert!(*at >= 600_000, "{at}");
    assert_eq!((asked.len(), asked[0].role.as_str()), (1, "researcher"));
    assert_eq!(asked[0].contract.budget, contract.budget);
    assert_eq!(asked[0].contract.context, contract.context);
    assert_eq!(asked[0].contract.done_when.as_deref(), Some("it is found"));
    assert_eq!(decisions(&played), [("t".to_owned(), Decision::Once, Decider::User, None)]);
    let first = played.events.iter().find(|event| event.origin.task == Some(TaskId(1))).unwrap();
    assert!(matches!(first.fact, Fact::ApprovalRequested { .. }), "{:?}", first.fact);
    assert_eq!(played.task_result("t").status, Status::Completed);
    let duration = played.facts().find_map(|fact| match fact {
        Fact::ToolFinished { name, duration_ms, .. } if name == "task" => Some(*duration_ms),
        _ => None,
    });
    assert!(duration.unwrap() < 1_000, "the time that a person took is no time of the call");
}

#[tokio::test(start_paused = true)]
async fn a_child_has_the_lower_number_and_never_sees_the_dropped_text() {
    let mut live = one().start();
    live.send(Command::Submit { text: "go".to_owned() }).await;
    let shown = until_asked(&mut live, 0).await;
    assert_eq!(shown.budget[Dimension::Turns], Limit::Of(20));
    live.send(decide("t", less(&shown, 5, &["plan"]))).await;
    live.follow(&[]).await;
    let played = live.quit().await;
    let (contract, _) = &started(&played)[0];
    assert_eq!(contract.budget[Dimension::Turns], Limit::Of(5));
    assert_eq!(contract.budget[Dimension::InputTokens], shown.budget[Dimension::InputTokens]);
    let keys: Vec<&str> = contract.context.iter().map(|card| card.key.as_str()).collect();
    assert_eq!(keys, ["other"]);
    assert!(sent(&played).contains("nothing special") && !sent(&played).contains(MARK));
    let turns = played.facts().find_map(|fact| match fact {
        Fact::TurnStarted { of, turn: 1, .. } if *of == Some(5) => Some(()),
        _ => None,
    });
    assert!(turns.is_some(), "the loop counts to the lower number");
    let (_, _, _, amended) = &decisions(&played)[0];
    let amended = amended.as_ref().unwrap();
    assert_eq!(amended.lowered(Dimension::Turns), Some(5));
    assert!(amended.dropped().contains("plan"));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_would_be_more_than_was_shown_starts_nothing() {
    let wide = serde_json::from_value(json!({ "budget": { "turns": 21 } })).unwrap();
    let played = one().play_with("go", &[(1_000, decide("t", Answer::Amended(wide)))]).await;
    assert_nothing_started(&played);
    assert_eq!(decisions(&played), [("t".to_owned(), Decision::Deny, Decider::Runtime, None)]);
    assert!(played.result("t").contains("does not fit what was shown"));
    assert_eq!(end_by(&played), None, "no person refused it");
}

/// By whom the only child ended, as it is shown.
fn end_by(played: &Played) -> Option<By> {
    let mut story = Story::default();
    for event in &played.events {
        story.apply(event);
    }
    match &story.delegations().nodes()[0].state {
        NodeState::Ended(end) => {
            assert_eq!((end.status, end.code), (Status::Blocked, None));
            end.by
        }
        state => panic!("{state:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_no_with_its_reason_reaches_the_model_and_the_run_goes_on() {
    let played = one().play_with("go", &[(1_000, decide("t", deny("read it yourself")))]).await;
    assert_nothing_started(&played);
    let words = played.result("t");
    assert!(words.contains("the user did not allow this delegation, and says: read it yourself"));
    assert_eq!(end_by(&played), Some(By::User));
    let results = Played::results_in(played.parent_requests()[1]);
    assert_eq!((results[0].ok, results[0].output == words), (false, true));
    let failure = played.facts().find_map(|fact| match fact {
        Fact::ToolFinished { failure, .. } => Some(*failure),
        _ => None,
    });
    assert_eq!(failure, Some(Some(Failure::Denied)));
    assert_eq!(played.parent_ends()[0].status, Status::Completed, "it is no status of the parent");
}

#[tokio::test(start_paused = true)]
async fn the_number_of_a_denied_task_stays_used_and_its_delegation_is_given_back() {
    let script = json!({
        "turns": [
            { "text": "", "tool_calls": [task_call("t", "alpha")] },
            { "text": "", "tool_calls": [task_call("u", "alpha")] },
            { "text": "", "tool_calls": [task_call("v", "beta")] },
            { "text": "", "tool_calls": [task_call("w", "gamma")] },
            { "text": "done" },
        ],
        "children": [child("alpha"), child("beta"), child("gamma")],
    });
    let mut stage = Stage::new(&script);
    stage.preflight = PreflightPolicy::Always;
    stage.limits.totals.delegations = 2;
    let actions = [
        (1_000, decide("t", deny("no"))),
        (2_000, decide("u", Answer::Once)),
        (3_000, decide("v", Answer::Once)),
    ];
    let played = stage.play_with("go", &actions).await;
    // The same task may be asked for again: it is neither queued nor running.
    assert_eq!(played.task_result("u").task_id, Some(TaskId(2)));
    assert_eq!(played.task_result("v").status, Status::Completed);
    assert_eq!(played.task_result("w").code, Some(Code::DelegationLimit));
    assert_eq!(delegations(&played), 2, "the record counts what the ledger counted");
}

fn delegations(played: &Played) -> u32 {
    Books::read(played.events.iter().map(|event| &**event)).delegations(&RunId::parent(1))
}

/// It was counted when it was queued, and is not any more when it is denied after that.
#[tokio::test(start_paused = true)]
async fn a_queued_task_that_is_denied_gives_its_delegation_back_too() {
    let script = json!({
        "turns": [
            { "text": "", "tool_calls": [task_call("t", "alpha"), task_call("u", "beta")] },
            { "text": "", "tool_calls": [task_call("v", "beta")] },
            { "text": "", "tool_calls": [task_call("w", "alpha")] },
            { "text": "done" },
        ],
        "children": [child("alpha"), child("beta")],
    });
    let mut stage = Stage::new(&script);
    stage.preflight = PreflightPolicy::Always;
    stage.limits.totals.delegations = 2;
    stage.limits.totals.active = 1;
    let actions = [
        (1_000, decide("t", Answer::Once)),
        (2_000, decide("u", deny("no"))),
        (3_000, decide("v", Answer::Once)),
    ];
    let played = stage.play_with("go", &actions).await;
    assert!(played.facts().any(|fact| matches!(fact, Fact::TaskQueued { .. })));
    assert_eq!(played.task_result("v").status, Status::Completed);
    assert_eq!(played.task_result("w").code, Some(Code::DelegationLimit));
    assert_eq!(delegations(&played), 2);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_asked_about_can_be_cancelled() {
    let actions = [(1_000, Command::CancelTask { task: TaskId(1) })];
    let played = one().play_with("go", &actions).await;
    assert_nothing_started(&played);
    assert_eq!(decisions(&played), [("t".to_owned(), Decision::Withdrawn, Decider::Runtime, None)]);
    let report = played.task_result("t");
    assert_eq!((report.status, report.by), (Status::Cancelled, Some(By::User)));
    assert_eq!((report.turns, report.usage.input_tokens, report.usage.tool_calls), (0, 0, 0));
    assert!(report.summary.contains("it never ran"), "{}", report.summary);
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
}

#[tokio::test(start_paused = true)]
async fn stopping_the_parent_withdraws_the_question() {
    let played = one().play_with("go", &[(1_000, Command::Stop)]).await;
    assert_nothing_started(&played);
    assert_eq!(decisions(&played), [("t".to_owned(), Decision::Withdrawn, Decider::Runtime, None)]);
    assert_eq!(played.parent_ends()[0].status, Status::Cancelled);
    assert_eq!(played.parent_requests().len(), 1);
}

fn two() -> Stage {
    let calls = json!([task_call("t", "alpha"), task_call("u", "beta")]);
    stage(&calls, &json!([child("alpha"), child("beta")]))
}

#[tokio::test(start_paused = true)]
async fn two_children_ask_at_once_and_are_answered_one_by_one() {
    let actions = [(1_000, decide("u", Answer::Once)), (2_000, decide("t", deny("no")))];
    let played = two().play_with("go", &actions).await;
    assert_eq!(questions(&played).len(), 2);
    let decided: Vec<_> =
        decisions(&played).into_iter().map(|(call, how, ..)| (call, how)).collect();
    assert_eq!(decided, [("u".to_owned(), Decision::Once), ("t".to_owned(), Decision::Deny)]);
    assert_eq!(started(&played).len(), 1);
    assert_eq!(played.task_result("u").status, Status::Completed);
    // Results stand in call order, whoever was answered first.
    let results = Played::results_in(played.parent_requests()[1]);
    assert_eq!(results.iter().map(|result| result.call.as_str()).collect::<Vec<_>>(), ["t", "u"]);
}

#[tokio::test(start_paused = true)]
async fn with_one_place_the_second_is_asked_about_when_the_first_is_done() {
    let mut stage = two();
    stage.limits.totals.active = 1;
    let actions = [(1_000, decide("t", Answer::Once)), (2_000, decide("u", Answer::Once))];
    let played = stage.play_with("go", &actions).await;
    let order: Vec<&str> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::ApprovalRequested { .. } => Some("asked"),
            Fact::RunFinished(end) if end.report.is_some() => Some("ended"),
            _ => None,
        })
        .collect();
    assert_eq!(order, ["asked", "ended", "asked", "ended"]);
}

#[tokio::test(start_paused = true)]
async fn the_parents_clock_stands_while_all_that_is_alive_under_it_is_asked_about() {
    let mut stage = two();
    stage.limits.parent[Dimension::Duration] = Limit::Of(60_000);
    let actions = [(600_000, decide("t", Answer::Once)), (1_200_000, decide("u", Answer::Once))];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
    assert_eq!(started(&played).len(), 2);
}

#[tokio::test(start_paused = true)]
async fn it_runs_while_a_sibling_works() {
    let mut stage = stage(
        &json!([task_call("t", "alpha"), task_call("u", "beta")]),
        &json!([
            { "match": "alpha", "turns": [{ "text": "found", "delay_ms": 20_000 }] },
            child("beta"),
        ]),
    );
    stage.patience.headers = Duration::from_secs(1_000);
    stage.limits.parent[Dimension::Duration] = Limit::Of(25_000);
    let actions = [(1_000, decide("t", Answer::Once)), (600_000, decide("u", Answer::Once))];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
    // Twenty seconds of the first child's work, and none of the ten minutes after it.
    let left = started(&played)[1].0.budget[Dimension::Duration].finite().unwrap();
    assert!((4_000..=5_000).contains(&left), "{left}");
}

/// The sibling takes more than half of what the parent has before the second answer comes.
#[tokio::test(start_paused = true)]
async fn what_is_left_when_the_answer_comes_decides() {
    let spend: Vec<Value> = (0..6)
        .map(|n| json!({ "id": format!("r{n}"), "name": "read_file", "arguments": { "path": format!("f{n}") } }))
        .collect();
    let mut working = child("alpha");
    working["turns"].as_array_mut().unwrap().insert(0, json!({ "text": "", "tool_calls": spend }));
    let mut asked = task_call("u", "beta");
    asked["arguments"]["budget"] = json!({ "tool_calls": 10 });
    let calls = json!([task_call("t", "alpha"), asked]);
    let mut stage = stage(&calls, &json!([working, child("beta")]));
    // Two calls of the parent's own, and six of the first child.
    stage.limits.parent[Dimension::ToolCalls] = Limit::Of(17);
    let mut live = stage.start();
    live.send(Command::Submit { text: "go".to_owned() }).await;
    until_asked(&mut live, 1).await;
    live.send(decide("t", Answer::Once)).await;
    live.follow(&[(10_000, decide("u", Answer::Once))]).await;
    let played = live.quit().await;
    let report = played.task_result("u");
    assert_eq!((report.status, report.code), (Status::Blocked, Some(Code::InvalidBudget)));
    assert!(report.summary.contains("tool_calls 10"), "{}", report.summary);
    assert_eq!(played.task_result("t").status, Status::Completed);
}

#[tokio::test(start_paused = true)]
async fn what_a_sibling_gives_back_while_a_person_reads_is_not_added() {
    let mut first = task_call("t", "alpha");
    first["arguments"]["budget"] = json!({ "tool_calls": 30 });
    let script = json!([first, task_call("u", "beta")]);
    let mut stage = stage(&script, &json!([child("alpha"), child("beta")]));
    stage.limits.parent[Dimension::ToolCalls] = Limit::Of(52);
    let mut live = stage.start();
    live.send(Command::Submit { text: "go".to_owned() }).await;
    until_asked(&mut live, 1).await;
    live.send(decide("t", Answer::Once)).await;
    live.follow(&[(10_000, decide("u", Answer::Once))]).await;
    let played = live.quit().await;
    let calls = |contract: &ContractView| contract.budget[Dimension::ToolCalls];
    let shown = questions(&played).into_iter().map(|asked| asked.contract);
    let shown = shown.filter(|view| view.prompt == "beta").map(|view| calls(&view)).next();
    assert_eq!(shown, Some(calls(&started(&played)[1].0)));
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_out_of_a_task_does_not_make_it_its_siblings() {
    let mut first = task_call("t", "alpha");
    first["arguments"]["context_keys"] = json!(["plan", "other"]);
    let mut second = task_call("u", "alpha");
    second["arguments"]["context_keys"] = json!(["other"]);
    let mut live = stage(&json!([first, second]), &json!([child("alpha")])).start();
    live.send(Command::Submit { text: "go".to_owned() }).await;
    until_asked(&mut live, 1).await;
    let asked = live.events.iter().find_map(|event| match &event.fact {
        Fact::ApprovalRequested { call, preflight: Some(preflight), .. }
            if call.as_str() == "t" =>
        {
            Some(preflight.contract.clone())
        }
        _ => None,
    });
    live.send(decide("t", less(&asked.unwrap(), 20, &["plan"]))).await;
    live.follow(&[(1_000, decide("u", Answer::Once))]).await;
    let played = live.quit().await;
    for call in ["t", "u"] {
        assert_eq!(played.task_result(call).status, Status::Completed, "{call}");
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_under_a_paused_parent_even_if_it_was_allowed() {
    let pause = || Command::Steer { target: Target::Parent, steer: Steer::Pause };
    let actions = [(1_000, pause()), (2_000, decide("t", Answer::Once)), (90_000, pause())];
    let played = one().play_with("go", &actions).await;
    let (_, at) = &started(&played)[0];
    assert!(*at >= 90_000, "{at}");
    assert_eq!(played.task_result("t").status, Status::Completed);
}

#[tokio::test(start_paused = true)]
async fn the_policy_can_be_changed_while_a_session_runs() {
    let policy = |policy| Command::SetPreflight { policy };
    // What waits starts as it was shown.
    let played = one().play_with("go", &[(1_000, policy(PreflightPolicy::Never))]).await;
    assert_eq!(decisions(&played), [("t".to_owned(), Decision::Once, Decider::Mode, None)]);
    assert_eq!(played.task_result("t").status, Status::Completed);
    let told: Vec<PreflightPolicy> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::PreflightChanged { policy } => Some(*policy),
            _ => None,
        })
        .collect();
    assert_eq!(told, [PreflightPolicy::Always, PreflightPolicy::Never]);
    // And from then on it is asked.
    let mut stage = one();
    stage.preflight = PreflightPolicy::Never;
    let mut live = stage.start();
    live.send(policy(PreflightPolicy::Always)).await;
    live.ask("go", &[(1_000, decide("t", Answer::Session))]).await;
    let played = live.quit().await;
    assert_eq!(questions(&played).len(), 1);
    assert_eq!(started(&played).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delegation_of_the_users_own_is_asked_about_like_any_other() {
    let mut live = one().start();
    live.send(Command::Delegate { role: None, text: "alpha".to_owned() }).await;
    live.follow(&[(1_000, decide("t", Answer::Once))]).await;
    let played = live.quit().await;
    assert_eq!((questions(&played).len(), started(&played).len()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_child_that_delegates_asks_too_and_its_own_clock_stands() {
    let mut inner = task_call("i", "beta");
    inner["arguments"]["budget"] = json!({ "turns": 3 });
    let mut outer = child("alpha");
    outer["turns"].as_array_mut().unwrap().insert(0, json!({ "text": "", "tool_calls": [inner] }));
    let mut call = task_call("t", "alpha");
    call["arguments"]["budget"] = json!({ "duration_s": 30 });
    let mut stage = stage(&json!([call]), &json!([outer, child("beta")]));
    stage.max_depth = 2;
    let inner = Command::Decide {
        run: RunId::child(TaskId(1), 1),
        call: CallId::from("i"),
        answer: Answer::Once,
    };
    let actions = [(1_000, decide("t", Answer::Once)), (900_000, inner)];
    let played = stage.play_with("go", &actions).await;
    assert_eq!(questions(&played).len(), 2);
    assert_eq!(played.task_result("i").status, Status::Completed);
    assert_eq!(played.task_result("t").status, Status::Completed);
}

#[derive(Clone, Default)]
struct Sheet(Arc<Mutex<Vec<u8>>>);

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

async fn headless(policy: ApprovePolicy, format: Format) -> (Exit, String, String) {
    let mut stage = one();
    stage.asker = Asker::Nobody(policy);
    let (out, err) = (Sheet::default(), Sheet::default());
    let live = stage.start();
    let outcome = headless::run(Headless {
        events: live.session.events,
        commands: live.session.commands,
        format,
        quiet: false,
        no_children: false,
        prompt: "go".to_owned(),
        trace_dir: None,
        out_is_terminal: false,
        out: out.clone(),
        err: err.clone(),
    })
    .await;
    live.session.task.await.unwrap();
    let text = |sheet: &Sheet| String::from_utf8(sheet.0.lock().unwrap().clone()).unwrap();
    (outcome.exit, text(&out), text(&err))
}

#[tokio::test(start_paused = true)]
async fn where_nobody_can_be_asked_only_approve_all_lets_a_child_start() {
    for policy in [ApprovePolicy::Never, ApprovePolicy::Edits] {
        let (exit, out, err) = headless(policy, Format::Text).await;
        assert_eq!((exit, out.as_str()), (Exit::Blocked, "done\n"));
        let told = format!(
            "offshoot: task \"alpha\" was not allowed: nobody can be asked before a child starts \
             (--approve {}); --approve all would let it start",
            policy.name()
        );
        assert!(err.lines().any(|line| line == told), "{err}");
        assert!(!err.contains("[子]"), "{err}");
    }
    let (exit, _, err) = headless(ApprovePolicy::All, Format::Text).await;
    assert_eq!(exit, Exit::Completed, "{err}");
}

#[tokio::test(start_paused = true)]
async fn the_stream_says_who_decided_and_that_no_child_started() {
    let (_, out, _) = headless(ApprovePolicy::Never, Format::StreamJson).await;
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    let decided = of("approval_decided");
    assert_eq!(
        (decided[0]["decision"].as_str(), decided[0]["task"].as_str()),
        (Some("expired"), Some("t1"))
    );
    assert_eq!(of("preflight_changed")[0]["policy"], "always");
    assert!(of("run_started").iter().all(|line| line["depth"] == 0));
    assert_eq!(of("tool_finished")[0]["failure"], "denied");
}
