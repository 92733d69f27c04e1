//! A session written down in short: each method is one event.

use std::collections::BTreeSet;
use std::sync::Arc;

use offshoot::domain::approval::{Decider, Decision};
use offshoot::domain::budget::{Preset, Remaining};
use offshoot::domain::context_store::{SnippetCard, SnippetKind};
use offshoot::domain::event::{
    Change, ChangedPath, ContractView, Event, Fact, Failure, Level, MessageFact, Origin, Receipt,
    RunFinished, Share, Timestamp,
};
use offshoot::domain::hash::Sha;
use offshoot::domain::ids::{CallId, RunId, SessionId, TaskId};
use offshoot::domain::ledger::Charge;
use offshoot::domain::message::{AssistantMessage, Block, StopReason, ToolCall};
use offshoot::domain::report::{By, Evidence, Report, Spent, Status};
use offshoot::domain::role::Permission;
use offshoot::domain::scope::PathScope;
use offshoot::domain::usage::{MicroUsd, Usage};
use offshoot::domain::violation::Code;
use offshoot::story::Story;
use serde_json::{Value, json};

/// The first event's time: any fixed moment does.
pub const START: u64 = 1_700_000_000_000;

/// What a call asks for, beside its arguments.
#[derive(Default)]
pub struct Asked<'a> {
    pub summary: &'a str,
    pub diff: Option<&'a str>,
    pub prefix: Option<&'a str>,
}

pub struct Feed {
    pub story: Story,
    pub log: Vec<Arc<Event>>,
    clock: u64,
}

pub fn parent(number: u32) -> Origin {
    Origin::parent(RunId::parent(number))
}

pub fn child(task: u32) -> Origin {
    Origin::child(RunId::child(TaskId(task), 1), RunId::parent(1), TaskId(task), 1)
}

pub fn grandchild(task: u32, of: u32) -> Origin {
    Origin::child(RunId::child(TaskId(task), 1), RunId::child(TaskId(of), 1), TaskId(task), 1)
}

pub fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall { call: CallId::from(id), name: name.to_owned(), arguments }
}

pub fn task_call(id: &str, role: &str, description: &str) -> ToolCall {
    call(id, "task", json!({"task": description, "role": role, "description": description}))
}

pub fn usage(input_tokens: u64, output_tokens: u64, cost: Option<u64>) -> Usage {
    Usage { input_tokens, output_tokens, cost_usd: cost.map(MicroUsd), ..Usage::none() }
}

pub fn report(task: u32, status: Status, summary: &str) -> Report {
    Report {
        task_id: Some(TaskId(task)),
        attempt: Some(1),
        status,
        code: None,
        dimension: None,
        by: (status == Status::Cancelled).then_some(By::User),
        summary: summary.to_owned(),
        evidence: vec![Evidence {
            path: "pyproject.toml".to_owned(),
            line: Some(12),
            reason: "the test section".to_owned(),
            verified: true,
            via_bash: false,
        }],
        fields: serde_json::Map::new(),
        warnings: Vec::new(),
        violations: Vec::new(),
        changed_paths: Vec::new(),
        needs_review: false,
        turns: 3,
        usage: Spent::new(&Usage::none(), 4, 8_123),
        next: "Done.".to_owned(),
        trace: Some(RunId::child(TaskId(task), 1)),
    }
}

pub fn contract(prompt: &str) -> ContractView {
    ContractView {
        prompt: prompt.to_owned(),
        expected_output: "the framework's name and where it is configured".to_owned(),
        done_when: None,
        must_not: None,
        rules: false,
        context: vec![SnippetCard {
            key: "request".to_owned(),
            kind: SnippetKind::Request,
            source: "the user's message".to_owned(),
            bytes: 44,
            sha256: Sha::of("request"),
        }],
        permissions: BTreeSet::from([Permission::Read]),
        paths: vec![PathScope::all()],
        tools: ["list_files", "read_file", "search"].map(str::to_owned).to_vec(),
        budget: Preset::Normal.child(),
        share: Some(Share { turns: Some(0.5), input_tokens: Some(0.125), ..Share::default() }),
        provider: "script".to_owned(),
        model: "demo-1".to_owned(),
        goes_to: None,
    }
}

impl Feed {
    /// A session that has started.
    pub fn new() -> Self {
        let mut feed = Self { story: Story::default(), log: Vec::new(), clock: START };
        feed.add(
            Origin::session(),
            Fact::SessionStarted {
                session: SessionId(uuid::Uuid::nil()),
                version: "0.1.0".to_owned(),
                workspace: "/home/me/code/demo".to_owned(),
                provider: "script".to_owned(),
                model: "demo-1".to_owned(),
                permission_mode: "read-only".to_owned(),
                fence: "fenced".to_owned(),
                budget: Preset::Normal.parent(),
            },
        );
        feed
    }

    pub fn now(&self) -> Timestamp {
        Timestamp(self.clock)
    }

    pub fn wait(&mut self, ms: u64) -> &mut Self {
        self.clock += ms;
        self
    }

    pub fn add(&mut self, origin: Origin, fact: Fact) -> &mut Self {
        let id = self.log.len() as u64 + 1;
        let event = Event { id, ts: Timestamp(self.clock), origin, fact };
        self.story.apply(&event);
        self.log.push(Arc::new(event));
        self
    }

    pub fn user(&mut self, run: u32, text: &str) -> &mut Self {
        self.add(parent(run), Fact::Message(MessageFact::user(text)))
    }

    pub fn run(&mut self, run: u32) -> &mut Self {
        let mut contract = contract("");
        contract.budget = Preset::Normal.parent();
        contract.share = None;
        let role = "parent".to_owned();
        self.add(
            parent(run),
            Fact::RunStarted {
                call: None,
                role,
                description: None,
                depth: 0,
                contract,
                totals: None,
            },
        )
    }

    pub fn queued(&mut self, task: u32, call: &str, position: u32) -> &mut Self {
        let fact = Fact::TaskQueued {
            call: CallId::from(call),
            description: format!("task {task}"),
            role: "researcher".to_owned(),
            position,
        };
        self.add(Origin { task: Some(TaskId(task)), ..parent(1) }, fact)
    }

    pub fn child(&mut self, task: u32, call: &str, description: &str) -> &mut Self {
        self.child_of(child(task), 1, call, "researcher", description)
    }

    pub fn child_of(
        &mut self,
        origin: Origin,
        depth: u32,
        call: &str,
        role: &str,
        description: &str,
    ) -> &mut Self {
        let fact = Fact::RunStarted {
            call: Some(CallId::from(call)),
            role: role.to_owned(),
            description: Some(description.to_owned()),
            depth,
            contract: contract(description),
            totals: None,
        };
        self.add(origin, fact)
    }

    pub fn turn(&mut self, origin: Origin, turn: u32) -> &mut Self {
        let fact = Fact::TurnStarted {
            turn,
            of: Some(20),
            wrap_up: false,
            prompt_tokens_estimate: 900,
            reserved: Charge::default(),
            held_back: Charge::default(),
        };
        self.add(origin, fact)
    }

    pub fn words(&mut self, origin: Origin, text: &str) -> &mut Self {
        self.add(origin, Fact::TextDelta { text: text.to_owned() })
    }

    pub fn says(&mut self, origin: Origin, text: &str, calls: Vec<ToolCall>) -> &mut Self {
        let text = Block::Text { text: text.to_owned() };
        let calls = calls.into_iter().map(Block::ToolCall);
        let message = AssistantMessage {
            blocks: std::iter::once(text).chain(calls).collect(),
            provider: "script".to_owned(),
            model: "demo-1".to_owned(),
            stop_reason: Some(StopReason::EndTurn),
            interrupted: false,
        };
        self.add(origin, Fact::Message(MessageFact::from(&message)))
    }

    pub fn starts(&mut self, origin: Origin, call: &ToolCall) -> &mut Self {
        let ToolCall { call, name, arguments } = call.clone();
        self.add(origin, Fact::ToolStarted { call, name, arguments })
    }

    pub fn ends(&mut self, origin: Origin, call: &ToolCall, output: &str, ms: u64) -> &mut Self {
        self.ends_with(origin, call, output, ms, None)
    }

    pub fn ends_with(
        &mut self,
        origin: Origin,
        call: &ToolCall,
        output: &str,
        ms: u64,
        failure: Option<Failure>,
    ) -> &mut Self {
        let fact = Fact::ToolFinished {
            call: call.call.clone(),
            name: call.name.clone(),
            ok: failure.is_none(),
            raw: None,
            output: output.to_owned(),
            bytes: output.len() as u64,
            truncated: false,
            duration_ms: ms,
            failure,
        };
        self.add(origin, fact)
    }

    /// A whole call that goes well.
    pub fn does(&mut self, origin: Origin, call: &ToolCall, output: &str, ms: u64) -> &mut Self {
        self.starts(origin.clone(), call).wait(ms);
        self.ends(origin, call, output, ms)
    }

    /// A call asks to run a command, or to make a change.
    pub fn asks(&mut self, origin: Origin, call: &ToolCall, what: &Asked<'_>) -> &mut Self {
        let owned = |text: &str| text.to_owned();
        let (diff, command) = match what.diff {
            Some(diff) => (Some(owned(diff)), None),
            None => (None, call.arguments["command"].as_str().map(owned)),
        };
        let fact = Fact::ApprovalRequested {
            call: call.call.clone(),
            name: call.name.clone(),
            summary: owned(what.summary),
            folder: command.is_some().then(|| owned("crates/core")),
            fence: command.is_some().then(|| owned("fenced")),
            diff,
            command,
            prefix: what.prefix.map(owned),
            preflight: None,
        };
        self.add(origin, fact)
    }

    pub fn decides(&mut self, origin: Origin, call: &ToolCall, decision: Decision) -> &mut Self {
        let by = match decision {
            Decision::Withdrawn => Decider::Runtime,
            Decision::Once
            | Decision::Child
            | Decision::Session
            | Decision::Deny
            | Decision::Expired => Decider::User,
        };
        let call = call.call.clone();
        self.add(origin, Fact::ApprovalDecided { call, decision, by, reason: None, amended: None })
    }

    pub fn writes(&mut self, origin: Origin, call: &ToolCall, text: &str) -> &mut Self {
        let (call, text) = (call.call.clone(), text.to_owned());
        self.add(origin, Fact::ToolProgress { call, text })
    }

    pub fn changes(&mut self, origin: Origin, files: &[(&str, Change)]) -> &mut Self {
        let path = |(path, change): &(&str, Change)| ChangedPath {
            path: (*path).to_owned(),
            change: *change,
            sha256: None,
        };
        self.add(origin, Fact::FilesChanged { paths: files.iter().map(path).collect() })
    }

    pub fn charged(&mut self, origin: Origin, usage: Usage) -> &mut Self {
        self.add(origin, Fact::Usage { usage, remaining: Remaining::default() })
    }

    pub fn notice(&mut self, origin: Origin, level: Level, text: &str) -> &mut Self {
        self.add(origin, Fact::notice(level, "TEST", text))
    }

    pub fn finish(&mut self, origin: Origin, status: Status, reply: &str) -> &mut Self {
        let mut end = finished(status);
        end.reply = Some(reply.to_owned());
        self.add(origin, Fact::RunFinished(Box::new(end)))
    }

    pub fn finish_child(&mut self, task: u32, status: Status, summary: &str) -> &mut Self {
        self.finish_child_of(child(task), status, summary)
    }

    pub fn finish_child_of(&mut self, origin: Origin, status: Status, summary: &str) -> &mut Self {
        let mut end = finished(status);
        end.report = origin.task.map(|task| report(task.0, status, summary));
        self.add(origin, Fact::RunFinished(Box::new(end)))
    }
}

fn finished(status: Status) -> RunFinished {
    RunFinished {
        status,
        code: (status == Status::Cancelled).then_some(Code::Cancelled),
        dimension: None,
        by: (status == Status::Cancelled).then_some(By::User),
        turns: 3,
        usage: Usage::none(),
        usage_total: Usage::none(),
        reply: None,
        report: None,
        changed: Vec::new(),
        contract_sha256: Sha::of(""),
        report_sha256: None,
        receipt: (status == Status::Cancelled)
            .then(|| Receipt { connections_closed: 1, ..Receipt::default() }),
        account: None,
    }
}

/// The session of the drawing: two children are done, the third searches.
pub fn three_children() -> Feed {
    let mut feed = Feed::new();
    let (one, two, three) = (
        task_call("c1", "worker", "rewrite docs"),
        task_call("c2", "researcher", "map the CI config"),
        task_call("c3", "researcher", "find the test framework"),
    );
    feed.user(1, "Which test framework does this project use?").wait(20).run(1);
    feed.turn(parent(1), 1).wait(300).words(parent(1), "I'll delegate ");
    feed.words(parent(1), "the search.");
    let all = vec![one.clone(), two.clone(), three.clone()];
    feed.says(parent(1), "I'll delegate the search.", all);
    feed.charged(parent(1), usage(1_200, 80, Some(21_000)));
    feed.starts(parent(1), &one).child_of(child(1), 1, "c1", "worker", "rewrite docs");
    feed.turn(child(1), 1).wait(900).finish_child(1, Status::Cancelled, "(no summary)");
    feed.ends_with(parent(1), &one, "{}", 900, Some(Failure::Cancelled));
    feed.starts(parent(1), &two).child(2, "c2", "map the CI config");
    feed.turn(child(2), 4).charged(child(2), usage(800, 40, Some(900)));
    feed.charged(child(2), usage(62_000, 90, Some(9_000)));
    feed.wait(4_000).finish_child(2, Status::Completed, "Two workflows, both run on push.");
    feed.ends(parent(1), &two, "{}", 4_000);
    feed.starts(parent(1), &three).child(3, "c3", "find the test framework");
    searching(&mut feed);
    feed
}

fn searching(feed: &mut Feed) {
    let list = call("d1", "list_files", json!({"path": "."}));
    let read = call("d2", "read_file", json!({"path": "pyproject.toml"}));
    let search = call("d3", "search", json!({"pattern": "pytest"}));
    feed.turn(child(3), 1).wait(600).says(child(3), "", vec![list.clone()]);
    feed.charged(child(3), usage(1_100, 60, Some(2_000)));
    feed.does(child(3), &list, &"x".repeat(410), 2);
    feed.turn(child(3), 2).wait(1_400).says(child(3), "", vec![read.clone()]);
    feed.charged(child(3), usage(2_600, 110, Some(3_000)));
    feed.does(child(3), &read, &"x".repeat(2_200), 1);
    feed.turn(child(3), 3).wait(2_000).says(child(3), "", vec![search.clone()]);
    feed.charged(child(3), usage(4_400, 130, Some(5_000)));
    feed.starts(child(3), &search).wait(2_900);
}
