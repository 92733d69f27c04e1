//! Stand-in tools that show what they would do: files in memory, commands that only take time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use offshoot::domain::approval::{Answer, Decider, Decision, Mode, Preview, PreviewBody};
use offshoot::domain::budget::Preset;
use offshoot::domain::command::Command;
use offshoot::domain::event::{Event, Fact};
use offshoot::domain::ids::{CallId, RunId, TaskId};
use offshoot::domain::role::{OUTPUT_PER_REQUEST, Permission, Role};
use offshoot::domain::role_file::RoleSource;
use offshoot::tool::{PreviewFuture, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::common::{Played, Stage};

/// Files that the stand-in writes, and the commands that ran.
#[derive(Clone, Default)]
pub struct World {
    pub files: Arc<Mutex<BTreeMap<String, String>>>,
    pub ran: Arc<Mutex<Vec<String>>>,
}

impl World {
    pub fn text(&self, path: &str) -> Option<String> {
        self.files.lock().unwrap().get(path).cloned()
    }

    pub fn ran(&self) -> Vec<String> {
        self.ran.lock().unwrap().clone()
    }
}

fn spec(name: &'static str, permission: Permission, fields: &[&str]) -> ToolSpec {
    let properties: serde_json::Map<String, Value> =
        fields.iter().map(|field| ((*field).to_owned(), json!({ "type": "string" }))).collect();
    ToolSpec {
        name,
        description: "a stand-in",
        parameters: json!({
            "type": "object", "properties": properties, "additionalProperties": false,
        }),
        permission,
        read_only: false,
    }
}

/// Writes into memory exactly what was shown, or fails.
pub struct Write(World, ToolSpec);

impl Tool for Write {
    fn spec(&self) -> &ToolSpec {
        &self.1
    }

    fn preview(&self, arguments: &Value, _: &ToolContext) -> PreviewFuture {
        let shown = self.show(arguments);
        Box::pin(std::future::ready(shown.map(Some)))
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        let output = match (self.show(&arguments), context.approved) {
            (Ok(now), Some(approved)) if now == *approved => {
                let [path, text] =
                    ["path", "content"].map(|field| arguments[field].as_str().unwrap().to_owned());
                self.0.files.lock().unwrap().insert(path, text);
                ToolOutput::whole("written")
            }
            (Ok(_), Some(_)) => ToolOutput::error("the file changed after it was shown"),
            (Ok(_), None) => ToolOutput::error("nothing was shown"),
            (Err(words), _) => ToolOutput::error(words),
        };
        Box::pin(std::future::ready(output))
    }
}

impl Write {
    fn show(&self, arguments: &Value) -> Result<Preview, String> {
        let path = arguments["path"].as_str().ok_or("no path")?;
        if path == "impossible" {
            return Err("nothing can be written there".to_owned());
        }
        let old = self.0.text(path).unwrap_or_default();
        let new = arguments["content"].as_str().unwrap_or_default();
        Ok(Preview {
            summary: format!("write {path}"),
            body: PreviewBody::Diff(format!("-{old}\n+{new}\n")),
            prefix: Some(path.to_owned()),
        })
    }
}

/// Notes the command; `sleep N` takes time.
pub struct Run(World, ToolSpec);

impl Tool for Run {
    fn spec(&self) -> &ToolSpec {
        &self.1
    }

    fn preview(&self, arguments: &Value, _: &ToolContext) -> PreviewFuture {
        let command = self.command(arguments);
        let words: Vec<&str> = command.split_whitespace().take(2).collect();
        let preview = Preview {
            summary: command.clone(),
            prefix: Some(words.join(" ")),
            body: PreviewBody::Command { command, folder: ".".to_owned() },
        };
        Box::pin(std::future::ready(Ok(Some(preview))))
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        let (ran, command) = (Arc::clone(&self.0.ran), self.command(&arguments));
        Box::pin(async move {
            if let Some(seconds) = command.strip_prefix("sleep ") {
                let wait = Duration::from_secs(seconds.parse().unwrap());
                tokio::select! {
                    () = context.cancel.cancelled() => return ToolOutput::error("cancelled"),
                    () = tokio::time::sleep(wait) => {}
                }
            }
            ran.lock().unwrap().push(command);
            ToolOutput::whole("done")
        })
    }
}

impl Run {
    fn command(&self, arguments: &Value) -> String {
        let given = arguments["command"].as_str().unwrap_or_default();
        match self.1.permission {
            Permission::Test => {
                format!("cargo test {}", arguments["filter"].as_str().unwrap_or_default())
                    .trim()
                    .to_owned()
            }
            _ => given.to_owned(),
        }
    }
}

const HELD: [Permission; 5] = [
    Permission::Read,
    Permission::Write,
    Permission::Test,
    Permission::Execute,
    Permission::Delegate,
];

/// A stage in the mode `ask`, with a world and roles whose children may change it.
pub fn stage(script: &Value) -> (Stage, World) {
    let world = World::default();
    let mut stage = Stage::new(script)
        .permissions(&HELD)
        .tool(Write(world.clone(), spec("write_file", Permission::Write, &["path", "content"])))
        .tool(Run(world.clone(), spec("bash", Permission::Execute, &["command"])))
        .tool(Run(world.clone(), spec("run_tests", Permission::Test, &["filter"])));
    stage.mode = Mode::Ask;
    // Commands as deeds that only look are not side by side; those of children are.
    stage.roles = vec![role("hand"), role("other")];
    (stage, world)
}

fn role(name: &str) -> Role {
    Role {
        name: name.to_owned(),
        description: "does things".to_owned(),
        prompt: "Do it.".to_owned(),
        permissions: HELD[..4].iter().copied().collect(),
        tools: ["write_file", "bash", "run_tests"].map(str::to_owned).to_vec(),
        budget: Preset::Normal.child(),
        output_per_request: OUTPUT_PER_REQUEST,
        models: Vec::new(),
        model: None,
        report_fields: Vec::new(),
        source: RoleSource::BuiltIn,
    }
}

pub fn write(id: &str, path: &str, content: &str) -> Value {
    json!({ "id": id, "name": "write_file", "arguments": { "path": path, "content": content } })
}

pub fn bash(id: &str, command: &str) -> Value {
    json!({ "id": id, "name": "bash", "arguments": { "command": command } })
}

/// A `task` call for a role.
pub fn task(id: &str, role: &str, words: &str) -> Value {
    json!({ "id": id, "name": "task", "arguments": {
        "task": words, "expected_output": "answer", "role": role,
    } })
}

/// A child that makes these calls one after another, and then says `done`.
pub fn child(words: &str, calls: &[Value]) -> Value {
    let mut turns: Vec<Value> =
        calls.iter().map(|call| json!({ "text": "", "tool_calls": [call] })).collect();
    turns.push(json!({ "text": "{\"summary\": \"done\", \"evidence\": [], \"warnings\": []}" }));
    json!({ "match": words, "turns": turns })
}

pub fn parent_run() -> RunId {
    RunId::parent(1)
}

pub fn child_run(task: u32) -> RunId {
    RunId::child(TaskId(task), 1)
}

pub fn decide(run: RunId, call: &str, answer: Answer) -> Command {
    Command::Decide { run, call: CallId::from(call), answer }
}

pub fn deny(reason: &str) -> Answer {
    Answer::Deny { reason: Some(reason.to_owned()) }
}

/// `asked RUN CALL` and `DECISION by DECIDER RUN CALL`, in the order they were told. Checks that
/// whatever was asked was decided exactly once, after it was asked.
pub fn asked(played: &Played) -> Vec<String> {
    let mut open = BTreeMap::new();
    let mut lines = Vec::new();
    for event in &played.events {
        let run = event.origin.run.as_ref().map(ToString::to_string).unwrap_or_default();
        match &event.fact {
            Fact::ApprovalRequested { call, .. } => {
                assert!(open.insert((run.clone(), call.clone()), 0).is_none(), "asked twice");
                lines.push(format!("asked {run} {call}"));
            }
            Fact::ApprovalDecided { call, decision, by, .. } => {
                if let Some(decided) = open.get_mut(&(run.clone(), call.clone())) {
                    *decided += 1;
                }
                lines.push(format!("{} by {} {run} {call}", word(*decision), whose(*by)));
            }
            _ => {}
        }
    }
    assert!(open.values().all(|decided| *decided == 1), "not decided once: {open:?}");
    lines
}

fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Once => "once",
        Decision::Child => "child",
        Decision::Session => "session",
        Decision::Deny => "deny",
        Decision::Withdrawn => "withdrawn",
        Decision::Expired => "expired",
    }
}

fn whose(by: Decider) -> &'static str {
    match by {
        Decider::User => "user",
        Decider::Earlier => "earlier",
        Decider::Rule => "rule",
        Decider::Mode => "mode",
        Decider::Policy => "policy",
        Decider::Runtime => "runtime",
    }
}

/// The notices of this code.
pub fn notices(events: &[Arc<Event>], wanted: &str) -> Vec<String> {
    events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Notice { code, text, .. } if code == wanted => Some(text.clone()),
            _ => None,
        })
        .collect()
}
