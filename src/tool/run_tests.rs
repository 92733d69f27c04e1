//! `run_tests`: the project's test command, configured or detected, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::approval::Preview;
use crate::domain::role::Permission;
use crate::domain::scope::PathScope;
use crate::workspace::Workspace;
use crate::workspace::jail::{JailError, Opened};

use super::bash::{as_approved, preview};
use super::command::execute::{self, Invocation, MAX_TIME, Place};
use super::command::line::Carriage;
use super::command::test_command::{Manifests, TestCommand};
use super::command::{deny, hint, prefix, test_results};
use super::{PreviewFuture, Ran, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments};

/// Bytes of a manifest that are read.
const MAX_MANIFEST: u64 = 1_000_000;
/// Entries of one folder that are looked at.
const MAX_ENTRIES: usize = 10_000;
/// How long the tests may run.
const TIME: Duration = MAX_TIME;

/// The tool.
pub struct RunTests {
    spec: ToolSpec,
    configured: Option<Arc<str>>,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    filter: Option<String>,
}

/// A test command as it is shown and as it runs.
struct Chosen {
    shown: String,
    invocation: Invocation,
    /// The same without a filter: what an answer for more than one call covers.
    plain: String,
}

impl RunTests {
    /// The tool. A configured command, a text for the shell in which `{filter}` stands for the
    /// filter, is used instead of what the project's files suggest.
    pub fn new(configured: Option<String>) -> Self {
        let spec = ToolSpec {
            name: "run_tests",
            description: include_str!("../../assets/tools/run_tests.md").trim_ascii(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "filter": {
                        "type": "string", "description": "Only tests whose name matches this",
                    },
                },
                "additionalProperties": false,
            }),
            permission: Permission::Test,
            read_only: false,
        };
        let configured = configured.filter(|command| !command.trim().is_empty());
        Self { spec, configured: configured.map(Arc::from) }
    }

    /// Which command a call comes to. The future blocks no thread of the runtime.
    fn choose(
        &self,
        arguments: &Value,
        workspace: &Arc<Workspace>,
    ) -> impl Future<Output = Result<Chosen, String>> + Send + 'static {
        let arguments = arguments::read::<Arguments>(&self.spec.parameters, arguments)
            .map_err(|error| error.text);
        let (configured, workspace) = (self.configured.clone(), Arc::clone(workspace));
        let choose = move || {
            let arguments = arguments?;
            let command = match configured {
                Some(command) => TestCommand::configured(&command),
                None => TestCommand::detect(&Top(&workspace)).ok_or_else(nothing_known)?,
            };
            let (shown, invocation) = command.with_filter(arguments.filter.as_deref())?;
            deny::check(&shown).map_err(|denied| denied.to_string())?;
            let plain = command.with_filter(None)?.0;
            Ok(Chosen { shown, invocation, plain })
        };
        async move {
            tokio::task::spawn_blocking(choose)
                .await
                .unwrap_or_else(|fault| Err(format!("the tool failed inside: {fault}")))
        }
    }
}

impl Tool for RunTests {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview(&self, arguments: &Value, context: &ToolContext) -> PreviewFuture {
        let chosen = self.choose(arguments, &context.workspace);
        Box::pin(async move {
            let Chosen { shown, plain, .. } = chosen.await?;
            // A filter changes which tests run, not what runs them.
            let covers = prefix::of(&plain).map(|_| plain);
            Ok(Some(Preview { prefix: covers, ..preview(&shown) }))
        })
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        let chosen = self.choose(&arguments, &context.workspace);
        Box::pin(async move {
            match chosen.await {
                Ok(chosen) => run(chosen, &context).await.unwrap_or_else(ToolOutput::error),
                Err(text) => ToolOutput::error(text),
            }
        })
    }
}

/// True if a command is word for word the one that this tool would run: then its exit code says of
/// the tests what this tool's would. Nothing that only contains it counts.
pub async fn is_test_command(
    command: &str,
    configured: Option<&str>,
    workspace: &Arc<Workspace>,
) -> bool {
    let command = command.trim().to_owned();
    let configured = configured.map(str::to_owned).filter(|own| !own.trim().is_empty());
    let workspace = Arc::clone(workspace);
    let compare = move || {
        let tests = match configured {
            Some(own) => Some(TestCommand::configured(&own)),
            None => TestCommand::detect(&Top(&workspace)),
        };
        let shown = tests.and_then(|tests| tests.with_filter(None).ok());
        shown.is_some_and(|(shown, _)| shown == command)
    };
    tokio::task::spawn_blocking(compare).await.unwrap_or(false)
}

async fn run(chosen: Chosen, context: &ToolContext) -> Result<ToolOutput, String> {
    as_approved(context, &chosen.shown)?;
    let place = Place::of(context).await?;
    let mut job = execute::job(chosen.invocation, &place, place.writable(), TIME);
    job.network = context.network;
    let done = execute::execute(context, job, Carriage::Overwrites)
        .await
        .map_err(|error| error.to_string())?;
    let passed = done.succeeded();
    let mut more = vec![format!("command: {}", chosen.shown)];
    if let Some(results) = test_results::read(&done.output.text) {
        more.push(format!("tests: {}", results.in_words()));
    }
    more.extend(hint::of(context, &done).await);
    let mut output = done.result(&more);
    output.effects.tests_passed = Some(passed);
    output.effects.ran = Some(Ran { command: chosen.shown, ok: passed });
    Ok(output)
}

fn nothing_known() -> String {
    "not run: no test command is known here: there is no Cargo.toml, go.mod, pytest, unittest or \
     package.json with a test script, and no Makefile with a test target. The user can configure \
     one"
    .to_owned()
}

/// The files at the workspace's root.
struct Top<'a>(&'a Workspace);

impl Manifests for Top<'_> {
    fn text(&self, name: &str) -> Option<String> {
        match self.0.open_within(&[PathScope::all()], name).ok()? {
            Opened::File { file, bytes } if bytes <= MAX_MANIFEST => {
                let mut text = String::new();
                std::io::Read::read_to_string(
                    &mut std::io::Read::take(file, MAX_MANIFEST),
                    &mut text,
                )
                .ok()?;
                Some(text)
            }
            Opened::File { .. } | Opened::Folder(_) | Opened::Special(_) => None,
        }
    }

    fn exists(&self, name: &str) -> bool {
        // A virtual environment's python is a link that leads out; a link is there as well.
        let found = self.0.examine(&[PathScope::all()], name);
        matches!(found, Ok(_) | Err(JailError::Escapes(_)))
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let Ok(Opened::Folder(dir)) = self.0.open_within(&[PathScope::all()], folder) else {
            return Vec::new();
        };
        let entries = dir.entries().into_iter().flatten().take(MAX_ENTRIES).flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test]
    async fn only_the_very_command_is_the_test_command() {
        let folder = tempfile::TempDir::new().unwrap();
        std::fs::write(folder.path().join("Makefile"), "test:\n\ttrue\n").unwrap();
        let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
        for (command, configured, right) in [
            ("make test", None, true),
            (" make test\n", None, true),
            ("make test", Some("  "), true),
            ("make test || true", None, false),
            ("make tests", None, false),
            ("make test", Some("./check"), false),
            ("./check", Some("./check"), true),
            ("./check", Some(" ./check {filter}"), true),
            ("./check one", Some("./check {filter}"), false),
            ("", None, false),
        ] {
            let is = is_test_command(command, configured, &workspace).await;
            assert_eq!(is, right, "{command} {configured:?}");
        }
        std::fs::remove_file(folder.path().join("Makefile")).unwrap();
        assert!(!is_test_command("make test", None, &workspace).await);
    }
}
