//! A stage whose tools do to files what they are told, and what is read from a run afterwards.

use std::fs;
use std::path::Path;

use offshoot::domain::event::{Change, ChangedPath, Fact, RunFinished};
use offshoot::domain::report::{Report, WarningCode};
use offshoot::domain::role::Permission;
use offshoot::tool::{Ran, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};
use serde_json::{Value, json};

use crate::common::{Played, Stage, call, one_batch};

/// A stand-in that does to files what its `command` says, one step a line.
pub struct Hands {
    spec: ToolSpec,
}

impl Hands {
    /// One that runs commands.
    fn bash() -> Self {
        Self::named("bash", Permission::Execute)
    }

    /// One that changes files it does not name.
    pub fn named(name: &'static str, permission: Permission) -> Self {
        let text = json!({ "type": "string" });
        Self {
            spec: ToolSpec {
                name,
                description: "a stand-in",
                parameters: json!({
                    "type": "object",
                    "properties": { "command": text, "path": text, "content": text, "filter": text },
                }),
                permission,
                read_only: false,
            },
        }
    }
}

impl Tool for Hands {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        Box::pin(async move {
            let root = context.workspace.path().to_owned();
            let mut output = ToolOutput::whole("done");
            let command = arguments["command"].as_str().unwrap_or_default().to_owned();
            output.effects.ran = Some(Ran { command, ok: true });
            if let Some(path) = arguments["path"].as_str() {
                put(&root.join(path), arguments["content"].as_str().unwrap());
                output.effects.wrote.push(path.to_owned());
            }
            for line in arguments["command"].as_str().unwrap_or_default().lines() {
                let words: Vec<&str> = line.split(' ').collect();
                match words.as_slice() {
                    ["put", path, text] => put(&root.join(path), text),
                    ["rm", path] => fs::remove_file(root.join(path)).unwrap(),
                    ["mv", from, to] => fs::rename(root.join(from), root.join(to)).unwrap(),
                    ["executable", path] => {
                        use std::os::unix::fs::PermissionsExt as _;
                        let mode = fs::Permissions::from_mode(0o755);
                        fs::set_permissions(root.join(path), mode).unwrap();
                    }
                    ["link", path, target] => {
                        std::os::unix::fs::symlink(target, root.join(path)).unwrap();
                    }
                    ["touch", path] => put(&root.join(path), &read(&root.join(path))),
                    ["wrote", path] => output.effects.wrote.push((*path).to_owned()),
                    ["tests", word] => output.effects.tests_passed = Some(*word == "pass"),
                    ["ended", count] => {
                        output.effects.processes_ended = count.parse().unwrap();
                        output.effects.not_ended.push("pid 7".to_owned());
                    }
                    ["say", rest @ ..] => output.text.push_str(&rest.join(" ")),
                    ["fail"] => output.ok = false,
                    ["panic"] => panic!("on purpose"),
                    ["wait"] => {
                        context.cancel.cancelled().await;
                        return ToolOutput { ok: false, ..output };
                    }
                    other => panic!("cannot {other:?}"),
                }
            }
            output
        })
    }
}

pub fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

pub fn bash(id: &str, command: &str) -> Value {
    call(id, "bash", json!({ "command": command }))
}

pub fn write(id: &str, path: &str, content: &str) -> Value {
    call(id, "write_file", json!({ "path": path, "content": content }))
}

/// A stage with tools for everything, and three files.
pub fn stage(script: &Value) -> Stage {
    Stage::new(script)
        .tool(Hands::bash())
        .tool(Hands::named("write_file", Permission::Write))
        .tool(Hands::named("run_tests", Permission::Test))
        .permissions(&[
            Permission::Read,
            Permission::Write,
            Permission::Test,
            Permission::Execute,
            Permission::Delegate,
        ])
        .file("a.txt", "one\n")
        .file("b.txt", "two\n")
        .file("src/c.txt", "three\n")
}

/// The parent makes these calls, one batch each, and answers.
pub fn parent(batches: &[Value]) -> Value {
    let mut turns: Vec<Value> =
        batches.iter().map(|calls| json!({ "text": "", "tool_calls": calls })).collect();
    turns.push(json!({ "text": "parent done" }));
    json!({ "turns": turns })
}

/// A child of this role makes these calls and answers so.
pub fn child(role: &str, more: Value, calls: Value, answer: &str) -> Value {
    let mut task = json!({ "task": "alpha", "expected_output": "answer", "role": role });
    task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    one_batch(
        &json!([call("t", "task", task)]),
        "parent done",
        &json!([{ "match": "alpha", "turns": [
            { "text": "", "tool_calls": calls }, { "text": answer },
        ]}]),
    )
}

pub fn worker(calls: Value, answer: &str) -> Value {
    child("worker", json!({}), calls, answer)
}

pub fn brief(changed: &[ChangedPath]) -> Vec<(&str, Change)> {
    changed.iter().map(|one| (one.path.as_str(), one.change)).collect()
}

/// The paths that the events of files name, in order.
pub fn told(played: &Played) -> Vec<ChangedPath> {
    let lists = played.facts().filter_map(|fact| match fact {
        Fact::FilesChanged { paths } => Some(paths.clone()),
        _ => None,
    });
    lists.flatten().collect()
}

pub fn warnings(report: &Report, code: WarningCode) -> Vec<&str> {
    let those = report.warnings.iter().filter(|warning| warning.code == code);
    those.map(|warning| warning.text.as_str()).collect()
}

pub fn child_end(played: &Played) -> RunFinished {
    let ends = played.facts().filter_map(|fact| match fact {
        Fact::RunFinished(end) if end.report.is_some() => Some((**end).clone()),
        _ => None,
    });
    ends.last().unwrap()
}

pub fn notices(played: &Played, code: &str) -> Vec<String> {
    let those = played.facts().filter_map(|fact| match fact {
        Fact::Notice { code: found, text, .. } if found == code => Some(text.clone()),
        _ => None,
    });
    those.collect()
}
