//! The end of a run that is broken off: what the receipt says, how long the end takes, what is told
//! and in which order.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{Live, Played, Stage, one_batch, task_call};
use futures_util::StreamExt;
use offshoot::domain::approval::{Answer, Mode};
use offshoot::domain::budget::{Dimension, Limit};
use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::event::{Fact, Failure, Receipt, RunFinished};
use offshoot::domain::ids::{CallId, RunId, TaskId};
use offshoot::domain::message::StopReason;
use offshoot::domain::report::{By, Exhausted, Status};
use offshoot::domain::role::Permission;
use offshoot::domain::rules::Rules;
use offshoot::domain::usage::estimate_tokens;
use offshoot::provider::script::Script;
use offshoot::provider::{Chunk, ChunkStream, Identity, Provider, Request};
use offshoot::tool::{PreviewFuture, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};
use serde_json::{Value, json};
use tokio::time::Instant;

/// Where a tool hangs, deaf to its token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hangs {
    InItsPreview,
    InItsRun,
}

/// A tool in the place of `search`.
struct Stuck(ToolSpec, Hangs);

impl Stuck {
    fn new(hangs: Hangs) -> Self {
        let spec = ToolSpec {
            name: "search",
            description: "a stand-in",
            parameters: json!({
                "type": "object", "additionalProperties": false,
                "properties": { "pattern": { "type": "string" } },
            }),
            permission: Permission::Read,
            read_only: true,
        };
        Self(spec, hangs)
    }
}

impl Tool for Stuck {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn preview(&self, _: &Value, _: &ToolContext) -> PreviewFuture {
        match self.1 {
            Hangs::InItsPreview => Box::pin(std::future::pending()),
            Hangs::InItsRun => Box::pin(std::future::ready(Ok(None))),
        }
    }

    fn run(&self, _: Value, _: ToolContext) -> ToolFuture {
        match self.1 {
            Hangs::InItsRun => Box::pin(std::future::pending()),
            Hangs::InItsPreview => Box::pin(std::future::ready(ToolOutput::whole("found"))),
        }
    }
}

fn search() -> Value {
    json!({ "id": "k1", "name": "search", "arguments": { "pattern": "x" } })
}

/// A parent whose child makes one call of `search`.
fn script() -> Value {
    let child = json!([{ "match": "alpha", "turns": [
        { "text": "I look", "tool_calls": [search()] }, { "text": "done" },
    ] }]);
    one_batch(&json!([task_call("c1", "alpha")]), "answer", &child)
}

/// Every call of `search` is one that a person could be asked about.
fn asks_about_search() -> Rules {
    Rules::parse::<&str>(&[], &["search"], &[]).unwrap()
}

fn receipt_of(played: &Played, run: &str) -> Option<Receipt> {
    end_of(played, run).receipt
}

fn end_of(played: &Played, run: &str) -> RunFinished {
    let of_run = |event: &&Arc<offshoot::domain::event::Event>| {
        event.origin.run.as_ref().is_some_and(|own| own.to_string() == run)
    };
    played
        .events
        .iter()
        .filter(of_run)
        .find_map(|event| match &event.fact {
            Fact::RunFinished(end) => Some((**end).clone()),
            _ => None,
        })
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_call_or_a_look_that_hangs_is_named_in_both_receipts_and_the_end_has_a_bound() {
    for hangs in [Hangs::InItsPreview, Hangs::InItsRun] {
        let mut stage = Stage::new(&script()).tool(Stuck::new(hangs));
        stage.rules = asks_about_search();
        let mut live = stage.start();
        live.send(Command::Submit { text: "go".to_owned() }).await;
        if hangs == Hangs::InItsRun {
            answer_first_question(&mut live).await;
        }
        let began = Instant::now();
        live.follow(&[(1_000, Command::Stop)]).await;
        assert!(began.elapsed() <= Duration::from_secs(6), "{hangs:?}: {:?}", began.elapsed());
        let played = live.quit().await;
        for run in ["t1.1", "r1"] {
            let receipt = receipt_of(&played, run).unwrap();
            assert_eq!(receipt.not_ended, ["search x"], "{hangs:?} in {run}");
        }
    }
}

async fn answer_first_question(live: &mut Live) {
    loop {
        let event = live.session.events.recv().await.unwrap();
        live.events.push(Arc::clone(&event));
        if matches!(event.fact, Fact::ApprovalRequested { .. }) {
            let run = RunId::child(TaskId(1), 1);
            let call = CallId::from("k1");
            return live.send(Command::Decide { run, call, answer: Answer::Once }).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_its_time_or_its_parents_overrun_ended_has_a_receipt_too() {
    let mut call = task_call("c1", "alpha");
    call["arguments"]["budget"] = json!({ "duration_s": 3 });
    let children = json!([{ "match": "alpha", "turns": [{ "text": "slow", "delay_ms": 60_000 }] }]);
    let played = Stage::new(&one_batch(&json!([call]), "answer", &children)).play("go").await;
    let end = end_of(&played, "t1.1");
    assert_eq!((end.status, end.dimension), (Status::BudgetExhausted, Some(Exhausted::Duration)));
    assert_eq!(end.receipt.unwrap().connections_closed, 1);
    assert_eq!(end_of(&played, "r1").receipt, None, "nobody broke the parent off");

    let mut stage = Stage::new(&script()).tool(Stuck::new(Hangs::InItsRun));
    stage.limits.parent[Dimension::Duration] = Limit::Of(5_000);
    let played = stage.play("go").await;
    let end = end_of(&played, "r1");
    assert_eq!((end.status, end.dimension), (Status::BudgetExhausted, Some(Exhausted::Duration)));
    assert_eq!(end.receipt.unwrap().not_ended, ["search x"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_ended_by_itself_has_no_receipt() {
    let played = Stage::new(&json!({ "turns": [{ "text": "hi" }] })).play("go").await;
    assert_eq!(played.parent_ends()[0].receipt, None);
}

/// A model that says a word and then, from the moment that somebody is about to stop it, is full of
/// words that nobody asked for any more.
struct Late {
    identity: Identity,
    pouring: Arc<AtomicBool>,
}

const WORDS: &str = "words that came in after the cancel";
const PIECES: usize = 3;

impl Provider for Late {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn stream(&self, _: Request) -> ChunkStream {
        let pouring = Arc::clone(&self.pouring);
        let first = futures_util::stream::iter([Ok(Chunk::Text("so far".to_owned()))]);
        let mut left = PIECES;
        let rest = futures_util::stream::poll_fn(move |_| {
            use std::task::Poll;
            if !pouring.load(Ordering::SeqCst) || left == 0 {
                return Poll::Pending;
            }
            left -= 1;
            Poll::Ready(Some(Ok(Chunk::Text(WORDS.to_owned()))))
        });
        Box::pin(first.chain(rest))
    }
}

fn identity() -> Identity {
    Script::from_json(r#"{"turns":[]}"#).unwrap().identity().clone()
}

#[tokio::test(start_paused = true)]
async fn tokens_that_come_in_after_a_cancel_are_counted_and_go_nowhere() {
    let pouring = Arc::new(AtomicBool::new(false));
    let late = Late { identity: identity(), pouring: Arc::clone(&pouring) };
    let mut live = Stage::with_provider(Arc::new(late)).start();
    live.send(Command::Submit { text: "go".to_owned() }).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    // Nothing wakes the stream: these words are there when the cancel is.
    pouring.store(true, Ordering::SeqCst);
    live.send(Command::Stop).await;
    let end = live.follow(&[]).await;
    let receipt = end.receipt.unwrap();
    assert_eq!(receipt.tokens_after_cancel, PIECES as u64 * estimate_tokens(WORDS));
    assert_eq!(receipt.connections_closed, 1);
    assert_eq!(end.reply.as_deref(), Some("so far"));
    assert!(end.usage.output_tokens >= receipt.tokens_after_cancel, "and they are charged");
    let played = live.quit().await;
    assert!(!format!("{:?}", played.events).contains(WORDS));
}

/// A model that writes one call for ten seconds, forty parts a second.
struct Scribe(Identity);

impl Provider for Scribe {
    fn identity(&self) -> &Identity {
        &self.0
    }

    fn stream(&self, _: Request) -> ChunkStream {
        let parts = futures_util::stream::iter(0..400).then(|_| async {
            tokio::time::sleep(Duration::from_millis(25)).await;
            Ok(Chunk::CallPart)
        });
        let end = [Ok(Chunk::Text("hi".to_owned())), Ok(Chunk::Stop(StopReason::EndTurn))];
        Box::pin(parts.chain(futures_util::stream::iter(end)))
    }
}

#[tokio::test(start_paused = true)]
async fn a_model_that_writes_a_call_is_told_to_be_at_work_once_a_second_and_in_no_file() {
    let played = Stage::with_provider(Arc::new(Scribe(identity()))).play("go").await;
    let signs: Vec<u64> = played
        .events
        .iter()
        .filter(|event| matches!(event.fact, Fact::ModelWriting))
        .map(|event| event.ts.0)
        .collect();
    assert!((9..=11).contains(&signs.len()), "{signs:?}");
    assert!(signs.windows(2).all(|pair| pair[1] - pair[0] >= 1_000), "{signs:?}");
    assert!(played.files().iter().all(|(_, text)| !text.contains("model_writing")));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_right_behind_an_approval_starts_nothing_and_costs_nothing() {
    let mut stage = Stage::new(&script()).tool(Stuck::new(Hangs::InItsRun));
    stage.rules = asks_about_search();
    stage.mode = Mode::FullAccess;
    let mut live = stage.start();
    live.send(Command::Submit { text: "go".to_owned() }).await;
    answer_first_question(&mut live).await;
    live.send(Command::CancelTask { task: TaskId(1) }).await;
    live.follow(&[]).await;
    let played = live.quit().await;
    let report = played.task_result("c1");
    assert_eq!(report.status, Status::Cancelled);
    let of_child = |call: &CallId| call.as_str() == "k1";
    let started =
        played.facts().any(|fact| matches!(fact, Fact::ToolStarted { call, .. } if of_child(call)));
    let charged = report.usage.tool_calls;
    let failure = played.facts().find_map(|fact| match fact {
        Fact::ToolFinished { call, failure, .. } if of_child(call) => *failure,
        _ => None,
    });
    // Whichever came first, the one agrees with the other.
    match failure.unwrap() {
        Failure::NotRun => assert_eq!((started, charged), (false, 0)),
        Failure::Cancelled => assert_eq!((started, charged), (true, 1)),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancel_names_the_run_wherever_it_comes_from_and_is_in_its_trace() {
    let children = json!([{ "match": "alpha", "turns": [{ "text": "slow", "delay_ms": 60_000 }] }]);
    let script = one_batch(&json!([task_call("c1", "alpha")]), "answer", &children);
    let cancel = Command::CancelTask { task: TaskId(1) };
    let played = Stage::new(&script).play_with("go", &[(500, cancel)]).await;
    let targets: Vec<(String, By)> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::CancelRequested { target, by } => Some((target.clone(), *by)),
            _ => None,
        })
        .collect();
    assert_eq!(targets, [("t1.1".to_owned(), By::User)]);
    let files = played.files();
    let kinds = |name: &str| -> Vec<(u64, String)> {
        let (_, text) = files.iter().find(|(path, _)| path.ends_with(name)).unwrap();
        text.lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|line| (line["seq"].as_u64().unwrap(), line["type"].as_str().unwrap().to_owned()))
            .collect()
    };
    let trace = kinds("traces/t1.1.jsonl");
    let place = trace.iter().position(|(_, kind)| kind == "cancel_requested").unwrap();
    assert!(0 < place && place + 1 < trace.len(), "{trace:?}");
    assert_eq!(trace.last().unwrap().1, "run_finished");
    assert!(trace.iter().zip(1..).all(|((seq, _), number)| *seq == number), "{trace:?}");
    assert!(kinds("session.jsonl").iter().any(|(_, kind)| kind == "cancel_requested"));
}

#[tokio::test(start_paused = true)]
async fn a_task_that_waits_is_cancelled_by_its_number_and_leaves_no_trace() {
    let slow = json!([{ "match": "", "turns": [{ "text": "slow", "delay_ms": 60_000 }] }]);
    let calls = json!([task_call("c1", "alpha"), task_call("c2", "beta")]);
    let mut stage = Stage::new(&one_batch(&calls, "answer", &slow));
    stage.limits.totals.active = 1;
    let cancel = |task| Command::CancelTask { task: TaskId(task) };
    let played = stage.play_with("go", &[(500, cancel(2)), (900, cancel(1))]).await;
    let targets: Vec<&str> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::CancelRequested { target, .. } => Some(target.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(targets, ["t2", "t1.1"]);
    assert!(played.files().iter().all(|(path, _)| !path.contains("t2")));
}

/// After a run's end nothing is told that was done to it, at whatever event the person acts.
#[tokio::test(start_paused = true)]
async fn nothing_that_is_done_to_a_run_is_told_after_its_end() {
    let children = json!([{ "match": "alpha", "turns": [{ "text": "one" }] }]);
    let script = one_batch(&json!([task_call("c1", "alpha")]), "answer", &children);
    let steer = |target, steer| Command::Steer { target, steer };
    let child = Target::Task(TaskId(1));
    let commands = [
        Command::Stop,
        Command::CancelTask { task: TaskId(1) },
        steer(Target::Parent, Steer::Extend),
        steer(child, Steer::Extend),
        steer(child, Steer::WrapUp),
    ];
    for command in commands {
        for k in 0.. {
            let mut live = Stage::new(&script).start();
            live.send(Command::Submit { text: "go".to_owned() }).await;
            let mut reached = false;
            for seen in 0.. {
                let event = live.session.events.recv().await.unwrap();
                live.events.push(Arc::clone(&event));
                if seen == k {
                    reached = true;
                    live.send(command.clone()).await;
                }
                if event.origin.task.is_none() && matches!(event.fact, Fact::RunFinished(_)) {
                    break;
                }
            }
            let played = live.quit().await;
            nothing_follows_an_end(&played, &format!("{command:?} at event {k}"));
            if !reached {
                break;
            }
        }
    }
}

fn nothing_follows_an_end(played: &Played, when: &str) {
    let mut ended: Vec<String> = Vec::new();
    for event in &played.events {
        match &event.fact {
            Fact::RunFinished(_) => ended.push(event.origin.run.as_ref().unwrap().to_string()),
            Fact::CancelRequested { target, .. }
            | Fact::WrapUpRequested { target, .. }
            | Fact::BudgetExtended { target, .. }
            | Fact::Paused { target, .. }
            | Fact::Resumed { target, .. } => {
                assert!(!ended.contains(target), "{:?} after the end, {when}", event.fact);
            }
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_end_wins_a_final_message_that_was_told_before_the_cancel_is_completed() {
    let children = json!([{ "match": "alpha", "turns": [{ "text": "found it" }] }]);
    let script = one_batch(&json!([task_call("c1", "alpha")]), "answer", &children);
    let mut live = Stage::new(&script).start();
    live.send(Command::Submit { text: "go".to_owned() }).await;
    loop {
        let event = live.session.events.recv().await.unwrap();
        live.events.push(Arc::clone(&event));
        if event.origin.task.is_some()
            && matches!(&event.fact, Fact::Message(message) if message.text == "found it")
        {
            break;
        }
    }
    live.send(Command::CancelTask { task: TaskId(1) }).await;
    live.follow(&[]).await;
    let played = live.quit().await;
    let report = played.task_result("c1");
    assert_eq!((report.status, report.summary.as_str()), (Status::Completed, "found it"));
    assert_eq!(receipt_of(&played, "t1.1"), None);
}
