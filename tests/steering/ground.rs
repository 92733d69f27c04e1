//! A child whose phases have fixed times on the paused clock, and what its life came to in one line.

use std::time::Duration;

use offshoot::domain::approval::{Answer, Mode};
use offshoot::domain::budget::Preset;
use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::event::{Fact, Failure};
use offshoot::domain::ids::{CallId, RunId, TaskId};
use offshoot::domain::report::By;
use offshoot::domain::role::{OUTPUT_PER_REQUEST, Permission, Role};
use offshoot::domain::role_file::RoleSource;
use offshoot::domain::rules::Rules;
use offshoot::domain::usage::Usage;
use offshoot::provider::retry::Patience;
use offshoot::story::Story;
use offshoot::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::common::{Played, Stage};

/// A call that only takes two seconds, and can be cancelled.
pub struct Nap(ToolSpec);

impl Nap {
    pub fn new() -> Self {
        Self(ToolSpec {
            name: "search",
            description: "a stand-in",
            parameters: json!({ "type": "object", "properties": {}, "additionalProperties": false }),
            permission: Permission::Read,
            read_only: true,
        })
    }
}

impl Tool for Nap {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _: Value, context: ToolContext) -> ToolFuture {
        Box::pin(async move {
            tokio::select! {
                () = context.cancel.cancelled() => ToolOutput::error("cancelled"),
                () = tokio::time::sleep(Duration::from_secs(2)) => ToolOutput::whole("rested"),
            }
        })
    }
}

pub fn nap(id: &str) -> Value {
    json!({ "id": id, "name": "search", "arguments": {} })
}

/// What every request is said to have used.
fn used() -> Value {
    json!({ "input": 100, "output": 10 })
}

/// Silent to 1 s, streams to 2.5 s, naps to 4.5 s; silent to 5.5 s, naps to 7.5 s; answers at 8.5 s.
pub fn child() -> Vec<Value> {
    vec![
        json!({ "text": "x".repeat(600), "delay_ms": 1_000, "chunk_delay_ms": 500,
                "tool_calls": [nap("a1")], "usage": used() }),
        json!({ "text": "so far", "delay_ms": 1_000, "tool_calls": [nap("a2")], "usage": used() }),
        json!({ "text": "found", "delay_ms": 1_000, "usage": used() }),
        json!({ "text": "found more", "delay_ms": 1_000, "usage": used() }),
    ]
}

pub fn task(id: &str, words: &str) -> Value {
    json!({ "id": id, "name": "task", "arguments": {
        "task": words, "expected_output": "answer", "role": "hand",
    } })
}

/// A parent that delegates these tasks, thinks for long, and answers.
pub fn script(tasks: &[Value], children: &Value) -> Value {
    json!({
        "turns": [
            { "text": "", "tool_calls": tasks, "usage": used() },
            { "text": "answer", "delay_ms": 200_000, "usage": used() },
            { "text": "second answer", "usage": used() },
        ],
        "children": children,
    })
}

pub fn stage(script: &Value) -> Stage {
    let mut stage = Stage::new(script).tool(Nap::new());
    stage.patience = Patience { headers: Duration::from_secs(1_000), ..stage.patience };
    stage.roles = vec![Role {
        name: "hand".to_owned(),
        description: "does things".to_owned(),
        prompt: "Do it.".to_owned(),
        permissions: [Permission::Read].into_iter().collect(),
        tools: vec!["search".to_owned()],
        budget: Preset::Normal.child(),
        output_per_request: OUTPUT_PER_REQUEST,
        models: Vec::new(),
        model: None,
        report_fields: Vec::new(),
        source: RoleSource::BuiltIn,
    }];
    stage
}

/// The same, where every nap is asked about.
pub fn asking(mut stage: Stage) -> Stage {
    stage.rules = Rules::parse::<&str>(&[], &["search"], &[]).unwrap();
    stage.mode = Mode::FullAccess;
    stage
}

pub fn steer(task: u32, steer: Steer) -> Command {
    Command::Steer { target: Target::Task(TaskId(task)), steer }
}

pub fn tell(text: &str) -> Steer {
    Steer::Tell { text: text.to_owned() }
}

pub fn allow(task: u32, call: &str) -> Command {
    let run = RunId::child(TaskId(task), 1);
    Command::Decide { run, call: CallId::from(call), answer: Answer::Once }
}

/// What a task came to: status, whose, turns, calls, running time; then what steered it, and how
/// often somebody was told that it cannot be.
pub fn outcome(played: &Played, task: u32) -> String {
    let report = played.task_result(&format!("c{task}"));
    let by = report.by.map_or_else(String::new, |by| format!(" by {by:?}"));
    let usage = &report.usage;
    let mut line = format!(
        "{}{by}: {} turns, {} calls, {} ms",
        report.status.as_str(),
        report.turns,
        usage.tool_calls,
        usage.duration_ms.saturating_sub(longer_waits(played, report.turns)).next_multiple_of(10)
    );
    for fact in played.facts() {
        let word = match fact {
            Fact::Paused { .. } => "paused",
            Fact::Resumed { .. } => "resumed",
            Fact::WrapUpRequested { .. } => "wrap-up",
            Fact::BudgetExtended { .. } => "extended",
            Fact::Steered { .. } => "told",
            Fact::CancelRequested { by: By::User, .. } => "cancel",
            Fact::Notice { code, .. } if code == "UNHEARD" => "unheard",
            Fact::Notice { code, .. } if code == "NOT_STEERED" || code == "NOTHING_TO_CANCEL" => {
                "no"
            }
            _ => continue,
        };
        line.push_str(", ");
        line.push_str(word);
    }
    line
}

/// How much longer than half a second a try was waited for, which is left to chance.
fn longer_waits(played: &Played, turns: u32) -> u64 {
    let delays = played.facts().filter_map(|fact| match fact {
        Fact::RetryScheduled { delay_ms, .. } if turns > 1 => {
            Some(delay_ms.saturating_sub(500) + 2)
        }
        _ => None,
    });
    delays.sum()
}

/// The ledger, the report and the story agree with what the provider said and the runtime did.
pub fn check_books(played: &Played, task: u32) {
    let told = played.facts().filter_map(|fact| match fact {
        Fact::Usage { usage, .. } => Some(*usage),
        _ => None,
    });
    let all = told.fold(Usage::none(), plus);
    let ends = played.parent_ends();
    let total = ends.iter().map(|end| end.usage_total).fold(Usage::none(), plus);
    assert_eq!((all.input_tokens, all.output_tokens), (total.input_tokens, total.output_tokens));
    // The first run's last figures: what its children held and did not use came back.
    let (mut calls, mut left, mut finished) = (0, None, false);
    let mut story = Story::default();
    for event in &played.events {
        story.apply(event);
        match &event.fact {
            Fact::ToolFinished { failure, .. } if *failure != Some(Failure::NotRun) => calls += 1,
            Fact::Usage { remaining, .. } if event.origin.task.is_none() && !finished => {
                left = remaining.tool_calls;
            }
            Fact::RunFinished(_) if event.origin.task.is_none() => finished = true,
            _ => {}
        }
    }
    assert_eq!(left, Some(400 - calls), "calls left at the end of the run");
    let node = story.delegations().of_task(TaskId(task)).unwrap();
    let shown = node.elapsed_ms(played.events.last().unwrap().ts);
    let report = played.task_result(&format!("c{task}"));
    let apart = shown.abs_diff(report.usage.duration_ms);
    assert!(apart <= 2, "the screen's clock is the ledger's: {shown}");
}

fn plus(mut sum: Usage, usage: Usage) -> Usage {
    sum += usage;
    sum
}
