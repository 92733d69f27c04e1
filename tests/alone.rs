//! What changes or runs something has the run for itself, in call order; and a panic in the middle of
//! a batch leaves nothing of it behind.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{Played, Stage, one_batch, task_call};
use offshoot::domain::event::Fact;
use offshoot::domain::report::Status;
use offshoot::domain::role::Permission;
use offshoot::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};
use serde_json::{Value, json};

const HANDS: [Permission; 5] = [
    Permission::Read,
    Permission::Write,
    Permission::Test,
    Permission::Execute,
    Permission::Delegate,
];

/// Who began and who ended, in that order.
type Log = Arc<Mutex<Vec<String>>>;

/// A stand-in that takes a second and writes down when it began and ended.
struct Slow {
    spec: ToolSpec,
    log: Log,
}

impl Slow {
    fn new(name: &'static str, permission: Permission, log: &Log) -> Self {
        let parameters = json!({
            "type": "object", "additionalProperties": false,
            "properties": { "as": { "type": "string" } },
        });
        let read_only = permission == Permission::Read;
        let spec = ToolSpec { name, description: "a stand-in", parameters, permission, read_only };
        Self { spec, log: Arc::clone(log) }
    }
}

impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, _: ToolContext) -> ToolFuture {
        let name = arguments["as"].as_str().unwrap().to_owned();
        let log = Arc::clone(&self.log);
        Box::pin(async move {
            log.lock().unwrap().push(format!("+{name}"));
            tokio::time::sleep(Duration::from_secs(1)).await;
            log.lock().unwrap().push(format!("-{name}"));
            ToolOutput::whole(name)
        })
    }
}

fn call(name: &str, id: &str) -> Value {
    json!({ "id": id, "name": name, "arguments": { "as": id } })
}

fn worker(id: &str, words: &str) -> Value {
    let mut call = task_call(id, words);
    call["arguments"]["role"] = json!("worker");
    call
}

#[tokio::test(start_paused = true)]
async fn calls_that_only_read_run_side_by_side_and_any_other_runs_alone_in_call_order() {
    let log = Log::default();
    let calls = json!([
        call("search", "r1"),
        call("search", "r2"),
        call("bash", "b1"),
        call("bash", "b2"),
        call("search", "r3"),
        call("bash", "b3"),
        call("search", "r4"),
        call("search", "r5"),
    ]);
    let stage = Stage::new(&one_batch(&calls, "done", &json!([])))
        .tool(Slow::new("search", Permission::Read, &log))
        .tool(Slow::new("bash", Permission::Execute, &log))
        .permissions(&HANDS);
    let played = stage.play("go").await;
    assert_eq!(played.reply(), "done");
    let log = log.lock().unwrap().join(" ");
    let alone = "+b1 -b1 +b2 -b2 +r3 -r3 +b3 -b3";
    assert_eq!(log, format!("+r1 +r2 -r1 -r2 {alone} +r4 +r5 -r4 -r5"));
}

/// When children began and ended, in the order of the events.
fn lives(played: &Played) -> String {
    let life = |event: &Arc<offshoot::domain::event::Event>| {
        let task = event.origin.task.filter(|_| event.origin.parent_run.is_some())?;
        match &event.fact {
            Fact::RunStarted { .. } => Some(format!("+{}", task.0)),
            Fact::RunFinished(_) => Some(format!("-{}", task.0)),
            _ => None,
        }
    };
    played.events.iter().filter_map(life).collect::<Vec<_>>().join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_child_with_hands_shares_its_time_with_no_sibling() {
    let children = json!([{ "match": "", "turns": [{ "text": "done", "delay_ms": 1_000 }] }]);
    let calls = json!([
        task_call("c1", "look here"),
        task_call("c2", "look there"),
        worker("c3", "mend this"),
        worker("c4", "mend that"),
        task_call("c5", "look again"),
    ]);
    let stage = Stage::new(&one_batch(&calls, "done", &children)).permissions(&HANDS);
    let played = stage.play("go").await;
    let lives = lives(&played);
    let (readers, alone) = lives.split_at("+1 +2 -1 -2".len());
    // Of two that read neither waits for the other, so either may be told first.
    let mut readers: Vec<&str> = readers.split(' ').collect();
    readers[..2].sort_unstable();
    readers[2..].sort_unstable();
    assert_eq!(readers, ["+1", "+2", "-1", "-2"], "{lives}");
    assert_eq!(alone, " +3 -3 +4 -4 +5 -5", "{lives}");
}

/// A tool that nobody can ask for what it is once it has run.
struct Broken {
    spec: ToolSpec,
    has_run: Arc<AtomicBool>,
}

impl Tool for Broken {
    fn spec(&self) -> &ToolSpec {
        assert!(!self.has_run.load(Ordering::SeqCst), "on purpose");
        &self.spec
    }

    fn run(&self, _: Value, _: ToolContext) -> ToolFuture {
        let has_run = Arc::clone(&self.has_run);
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            has_run.store(true, Ordering::SeqCst);
            ToolOutput::whole("found")
        })
    }
}

/// Whatever of a tool panics, and when, it takes its own result with it: the child beside it comes to
/// its own end, and so does the parent.
#[tokio::test(start_paused = true)]
async fn a_tool_that_breaks_after_it_has_run_takes_nothing_else_with_it() {
    let children = json!([{ "match": "alpha", "turns": [{ "text": "slow", "delay_ms": 60_000 }] }]);
    let calls = json!([call("search", "k1"), task_call("c1", "alpha")]);
    let log = Log::default();
    let Slow { spec, .. } = Slow::new("search", Permission::Read, &log);
    let broken = Broken { spec, has_run: Arc::default() };
    let mut live = Stage::new(&one_batch(&calls, "done", &children)).tool(broken).start();
    let end = live.ask("go", &[]).await;
    assert_eq!((end.status, end.code), (Status::Completed, None));
    let played = live.quit().await;
    assert_eq!(played.task_result("c1").status, Status::Completed);
}
