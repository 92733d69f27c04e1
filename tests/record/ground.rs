//! A hub on a clock that ticks once an event, facts to tell it, and what is read back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use offshoot::domain::budget::{Preset, Remaining};
use offshoot::domain::context_store::{Sensitivity, SnippetCard, SnippetKind};
use offshoot::domain::event::{
    ContractView, Event, Fact, Level, Line, MessageFact, Origin, RunFinished, Timestamp,
};
use offshoot::domain::hash::Sha;
use offshoot::domain::ids::{CallId, RunId, SessionId, TaskId};
use offshoot::domain::report::Status;
use offshoot::domain::usage::Usage;
use offshoot::journal::hub::{Hub, HubOptions, HubTask, subscription};
use offshoot::journal::jsonl::Journal;
use offshoot::journal::redact::Redactor;
use serde_json::json;
use tokio::sync::mpsc;
use uuid::Uuid;

pub const SESSION: SessionId =
    SessionId(Uuid::from_u128(0x0198_0000_0000_7000_8000_0000_0000_0001));

pub const SECRET: &str = "hush-9f8e7d6c5b4a";

/// A hub with one subscriber, on a clock that ticks once for each event.
pub struct Kit {
    pub hub: Hub,
    pub task: HubTask,
    pub events: mpsc::Receiver<Arc<Event>>,
}

impl Kit {
    pub fn new(journal: Option<Journal>, capacity: usize) -> Self {
        let ticks = AtomicU64::new(1_700_000_000_000);
        let (subscriber, events) = subscription(capacity);
        let (hub, task) = Hub::start(HubOptions {
            clock: Arc::new(move || Timestamp(ticks.fetch_add(1, Ordering::Relaxed))),
            journal,
            subscribers: vec![subscriber],
            redactor: Redactor::new(vec![SECRET.to_owned()]),
        });
        Self { hub, task, events }
    }

    pub async fn told(mut self) -> Vec<Arc<Event>> {
        let read = tokio::spawn(async move {
            let mut told = Vec::new();
            while let Some(event) = self.events.recv().await {
                told.push(event);
            }
            told
        });
        self.task.finish().await;
        read.await.unwrap()
    }
}

/// Tells these facts to a hub that saves in `dir`, and gives what the subscriber was told.
pub async fn save(dir: &Path, facts: Vec<(Origin, Fact)>) -> Vec<Arc<Event>> {
    let kit = Kit::new(Some(Journal::create(dir, SESSION)), 4096);
    for (origin, fact) in facts {
        kit.hub.emit(&origin, fact).await;
    }
    kit.told().await
}

pub fn parent() -> Origin {
    Origin::parent(RunId::parent(1))
}

pub fn child(number: u32) -> Origin {
    let task = TaskId(number);
    Origin::child(RunId::child(task, 1), RunId::parent(1), task, 1)
}

/// What the parent tells about a task that has no run yet.
fn about(number: u32) -> Origin {
    Origin { task: Some(TaskId(number)), ..parent() }
}

pub fn call(id: &str) -> CallId {
    CallId::from(id)
}

pub fn run_started(role: &str, depth: u32, prompt: &str) -> Fact {
    Fact::RunStarted {
        call: (depth > 0).then(|| call("c1")),
        role: role.to_owned(),
        description: None,
        depth,
        contract: ContractView {
            prompt: prompt.to_owned(),
            expected_output: "an answer".to_owned(),
            done_when: None,
            must_not: None,
            rules: false,
            context: Vec::new(),
            permissions: std::collections::BTreeSet::new(),
            paths: Vec::new(),
            tools: vec!["read_file".to_owned()],
            budget: Preset::Normal.parent(),
            share: None,
            provider: "script".to_owned(),
            model: "script".to_owned(),
            goes_to: None,
        },
        totals: None,
    }
}

pub fn run_finished(reply: Option<&str>) -> Fact {
    Fact::RunFinished(Box::new(RunFinished {
        status: Status::Completed,
        code: None,
        dimension: None,
        by: None,
        turns: 2,
        usage: Usage::none(),
        usage_total: Usage::none(),
        reply: reply.map(str::to_owned),
        report: None,
        changed: Vec::new(),
        contract_sha256: Sha::of("contract"),
        report_sha256: None,
        receipt: None,
        account: None,
    }))
}

fn started(path: &str) -> Fact {
    Fact::ToolStarted {
        call: call("c2"),
        name: "read_file".to_owned(),
        arguments: json!({ "path": path }),
    }
}

pub fn finished(output: &str) -> Fact {
    Fact::ToolFinished {
        call: call("c2"),
        name: "read_file".to_owned(),
        ok: true,
        output: output.to_owned(),
        bytes: output.len() as u64,
        truncated: false,
        duration_ms: 1,
        failure: None,
        raw: None,
    }
}

pub fn snippet(key: &str, sensitivity: Sensitivity, text: &str) -> Fact {
    let card = SnippetCard {
        key: key.to_owned(),
        kind: SnippetKind::Pin,
        source: "the user".to_owned(),
        bytes: text.len() as u64,
        sha256: Sha::of(text),
    };
    Fact::ContextAdded { card, sensitivity, text: Some(text.to_owned()) }
}

pub fn delta(text: &str) -> Fact {
    Fact::TextDelta { text: text.to_owned() }
}

fn session_over() -> Fact {
    Fact::SessionFinished { reason: "done".to_owned() }
}

/// A conversation with two children whose events interleave.
pub fn conversation() -> Vec<(Origin, Fact)> {
    vec![
        (Origin::session(), snippet("request", Sensitivity::Normal, "which tests?")),
        (parent(), Fact::Message(MessageFact::user("which tests?"))),
        (parent(), run_started("parent", 0, "which tests?")),
        (parent(), delta("I'll ask")),
        (
            about(2),
            Fact::TaskQueued {
                call: call("c9"),
                description: "second".to_owned(),
                role: "researcher".to_owned(),
                position: 0,
            },
        ),
        (child(1), run_started("researcher", 1, "find them")),
        (child(2), run_started("researcher", 1, "find more")),
        (child(1), delta("hm")),
        (child(1), started("a.rs")),
        (child(2), started("b.rs")),
        (child(2), finished("text of b")),
        (child(1), finished("text of a")),
        (child(1), Fact::Usage { usage: Usage::none(), remaining: Remaining::default() }),
        (child(2), run_finished(None)),
        (child(1), run_finished(None)),
        (parent(), run_finished(Some("these"))),
        (Origin::session(), session_over()),
    ]
}

pub fn lines(path: &Path) -> Vec<Line> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "{} ends inside a line", path.display());
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Every file under `dir` with its bytes.
pub fn everything(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(everything(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    files
}

pub fn not_saved(told: &[Arc<Event>]) -> Vec<String> {
    let notice = |event: &Arc<Event>| match &event.fact {
        Fact::Notice { level: Level::Error, code, text } if code == "NOT_SAVED" => {
            Some(text.clone())
        }
        _ => None,
    };
    told.iter().filter_map(notice).collect()
}
