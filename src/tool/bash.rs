//! `bash`: one shell command in the workspace's root, inside the fence.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::approval::{Preview, PreviewBody};
use crate::domain::role::Permission;

use super::command::execute::{self, Execution, Invocation, MAX_TIME, Place};
use super::command::line::Carriage;
use super::command::{deny, hint, prefix};
use super::excerpt::one_line;
use super::{PreviewFuture, Ran, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments};

/// How long a command may run that asks for nothing else.
const USUAL_TIME: Duration = Duration::from_mins(2);
/// Characters of a command that fit on a line.
const SUMMARY_CHARS: usize = 120;

/// The tool.
pub struct Bash {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    command: String,
    timeout_s: Option<u64>,
}

impl Bash {
    /// The tool.
    #[expect(clippy::new_without_default, reason = "a tool has no default state")]
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: "bash",
            description: include_str!("../../assets/tools/bash.md").trim_ascii(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string"},
                    "timeout_s": {
                        "type": "integer", "minimum": 1,
                        "description": "Seconds, to 600; default 120",
                    },
                    "description": {
                        "type": "string", "description": "What it is for, in a few words",
                    },
                },
                "required": ["command"],
                "additionalProperties": false,
            }),
            permission: Permission::Execute,
            read_only: false,
        };
        Self { spec }
    }

    fn read(&self, arguments: &Value) -> Result<Arguments, String> {
        let arguments: Arguments =
            arguments::read(&self.spec.parameters, arguments).map_err(|error| error.text)?;
        if arguments.command.trim().is_empty() {
            return Err("`command` is blank: give the command to run".to_owned());
        }
        if arguments.command.contains('\0') {
            return Err("`command` holds a NUL character, which no command can".to_owned());
        }
        deny::check(&arguments.command).map_err(|denied| denied.to_string())?;
        Ok(arguments)
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview(&self, arguments: &Value, _context: &ToolContext) -> PreviewFuture {
        let preview = self.read(arguments).map(|arguments| Some(preview(&arguments.command)));
        Box::pin(std::future::ready(preview))
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        let arguments = self.read(&arguments);
        Box::pin(async move {
            match arguments {
                Ok(arguments) => run(&arguments, &context).await.unwrap_or_else(ToolOutput::error),
                Err(text) => ToolOutput::error(text),
            }
        })
    }
}

/// What a person sees of a command before it runs.
pub(super) fn preview(command: &str) -> Preview {
    Preview {
        summary: one_line(command, SUMMARY_CHARS),
        body: PreviewBody::Command { command: command.to_owned(), folder: ".".to_owned() },
        prefix: prefix::of(command),
    }
}

/// An error if a person was shown another command than this one.
pub(super) fn as_approved(context: &ToolContext, command: &str) -> Result<(), String> {
    let Some(approved) = &context.approved else { return Ok(()) };
    match &approved.body {
        PreviewBody::Command { command: shown, .. } if shown == command => Ok(()),
        PreviewBody::Command { command: shown, .. } => Err(format!(
            "not run: `{}` was allowed, and now it would be `{}`; call again to ask anew",
            one_line(shown, SUMMARY_CHARS),
            one_line(command, SUMMARY_CHARS)
        )),
        PreviewBody::Diff(_) => Err("not run: a change was allowed, not a command".to_owned()),
    }
}

async fn run(arguments: &Arguments, context: &ToolContext) -> Result<ToolOutput, String> {
    as_approved(context, &arguments.command)?;
    let asked = arguments.timeout_s.map_or(USUAL_TIME, Duration::from_secs);
    let place = Place::of(context).await?;
    let invocation = Invocation::shell(&arguments.command);
    let mut job = execute::job(invocation, &place, place.writable(), asked);
    job.network = context.network;
    let done = execute::execute(context, job, Carriage::Overwrites)
        .await
        .map_err(|error| error.to_string())?;
    let mut more = hint::of(context, &done).await;
    if asked > MAX_TIME {
        more.push(format!("no command may run longer than {} s", MAX_TIME.as_secs()));
    }
    let ran = Ran { command: arguments.command.clone(), ok: done.succeeded() };
    let mut output = Execution::result(done, &more);
    output.effects.ran = Some(ran);
    Ok(output)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_command_is_shown_exactly_with_what_a_wider_answer_covers() {
        let shown = Bash::new()
            .preview(&json!({"command": "cargo test\t--lib"}), &ToolContext::of_a_test())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(shown.summary, "cargo test --lib");
        assert_eq!(shown.prefix.as_deref(), Some("cargo test"));
        let command = "cargo test\t--lib".to_owned();
        assert_eq!(shown.body, PreviewBody::Command { command, folder: ".".to_owned() });
    }

    #[tokio::test]
    async fn what_cannot_run_is_said_before_anybody_is_asked() {
        for (arguments, right) in [
            (json!({"command": " \n"}), "blank"),
            (json!({"command": "a\0b"}), "NUL"),
            (json!({"command": "sudo ls"}), "rule privilege"),
            (json!({"command": "ls", "timeout_s": 0}), "timeout_s"),
            (json!({"cmd": "ls"}), "cmd"),
        ] {
            let said =
                Bash::new().preview(&arguments, &ToolContext::of_a_test()).await.unwrap_err();
            assert!(said.contains(right), "{said}");
            let output = Bash::new().run(arguments, ToolContext::of_a_test()).await;
            assert!(!output.ok && output.text == said, "{}", output.text);
        }
    }

    #[tokio::test]
    async fn another_command_than_the_one_that_was_shown_does_not_run() {
        let mut context = ToolContext::of_a_test();
        context.approved = Some(Arc::new(preview("ls")));
        let output = Bash::new().run(json!({"command": "ls -a"}), context).await;
        assert!(output.text.starts_with("not run: `ls` was allowed"), "{}", output.text);
    }
}
