//! `git_diff`: what changed since the index or the last commit, for the part of the workspace that
//! the run may see. Git runs inside the fence, reads only, and under a configuration that is not the
//! repository's.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::hidden::Hidden;
use crate::domain::role::Permission;
use crate::sandbox::{Job, Outcome};

use super::command::execute::{self, Execution, Invocation, Place};
use super::command::git_view::GitView;
use super::command::line::Carriage;
use super::excerpt::{by_a_rule, count, one_line, whole_or_cut};
use super::target::Target;
use super::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments};

/// How long git may take.
const TIME: Duration = Duration::from_mins(1);
/// Files without a history that are named at most.
const MAX_NAMED: usize = 200;
/// Characters of git's complaint in an error.
const COMPLAINT_CHARS: usize = 500;
/// Sends git's complaints to the file that is named first.
const WITHOUT_COMPLAINTS: &str = "complaints=$1; shift; exec git \"$@\" 2>\"$complaints\"";

/// The tool.
pub struct GitDiff {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: Option<String>,
    #[serde(default)]
    staged: bool,
}

impl GitDiff {
    /// The tool.
    #[expect(clippy::new_without_default, reason = "a tool has no default state")]
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: "git_diff",
            description: include_str!("../../assets/tools/git_diff.md").trim_ascii(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "File or folder; default all"},
                    "staged": {
                        "type": "boolean",
                        "description": "The index against the last commit",
                    },
                },
                "additionalProperties": false,
            }),
            permission: Permission::Read,
            read_only: true,
        };
        Self { spec }
    }
}

impl Tool for GitDiff {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        let arguments = arguments::read::<Arguments>(&self.spec.parameters, &arguments);
        Box::pin(async move {
            match arguments {
                Ok(arguments) => diff(&arguments, &context).await.unwrap_or_else(ToolOutput::error),
                Err(error) => ToolOutput::error(error.text),
            }
        })
    }
}

async fn diff(arguments: &Arguments, context: &ToolContext) -> Result<ToolOutput, String> {
    let target = Target::of(&context.workspace, &context.scopes, arguments.path.as_deref())
        .map_err(|error| error.to_string())?;
    let git = Git::open(context, &target).await?;
    let mut options = vec![
        "diff",
        "--no-ext-diff",
        "--no-textconv",
        "--no-color",
        "--ignore-submodules=all",
        "--relative",
    ];
    if arguments.staged {
        options.push("--cached");
    }
    let hidden = git.count_hidden(context, &options).await?;
    let done = git.run(context, &options, git.shown()).await?;
    let untracked = match (arguments.staged, done.ended.outcome) {
        (false, Outcome::Exited(0)) => Some(git.untracked(context).await?),
        (_, _) => None,
    };
    git.result(done, untracked, hidden, &target, arguments.staged).await
}

/// Git in a view of the workspace's repository.
struct Git {
    view: Arc<GitView>,
    place: Place,
    paths: Vec<String>,
    /// What lies below those paths and is not shown.
    hidden: Vec<String>,
}

impl Git {
    async fn open(context: &ToolContext, target: &Target) -> Result<Self, String> {
        let place = Place::of(context).await?;
        let root = place.root.clone();
        let view = tokio::task::spawn_blocking(move || GitView::of(&root))
            .await
            .map_err(|fault| format!("the tool failed inside: {fault}"))?
            .map_err(|error| error.to_string())?;
        let inside = target.paths().iter().filter(|path| !path.starts_with('/'));
        let paths: Vec<String> = inside.cloned().collect();
        if paths.is_empty() {
            let what = target.in_words();
            return Err(format!("git_diff shows the workspace's own repository, not {what}"));
        }
        let hidden = paths.iter().flat_map(|path| hidden_below(path, &context.hidden)).collect();
        Ok(Self { view: Arc::new(view), place, paths, hidden })
    }

    /// What is shown, as git takes paths that are to be taken literally.
    fn shown(&self) -> impl Iterator<Item = String> {
        let wanted = self.paths.iter().map(|path| format!(":(literal){path}"));
        wanted.chain(self.hidden.iter().map(|path| format!(":(exclude,literal){path}")))
    }

    fn job(&self, options: &[&str], paths: impl Iterator<Item = String>) -> Job {
        let complaints = self.view.complaints();
        let fixed = ["-c", WITHOUT_COMPLAINTS, "sh"].map(str::to_owned);
        let arguments = fixed
            .into_iter()
            .chain([complaints.to_string_lossy().into_owned(), "--no-pager".to_owned()])
            .chain(options.iter().map(|&option| option.to_owned()))
            .chain(["--".to_owned()])
            .chain(paths)
            .collect();
        let invocation = Invocation { program: "/bin/sh".to_owned(), arguments };
        let mut ground = self.place.readable(self.view.readable());
        ground.writable.push(complaints);
        let mut job = execute::job(invocation, &self.place, ground, TIME);
        job.environment = self.view.environment();
        job
    }

    async fn run(
        &self,
        context: &ToolContext,
        options: &[&str],
        paths: impl Iterator<Item = String>,
    ) -> Result<Execution, String> {
        execute::execute(context, self.job(options, paths), Carriage::Counts)
            .await
            .map_err(|error| error.to_string())
    }

    /// How many changed files are not shown.
    async fn count_hidden(&self, context: &ToolContext, options: &[&str]) -> Result<u64, String> {
        if self.hidden.is_empty() {
            return Ok(0);
        }
        let options: Vec<&str> = options.iter().copied().chain(["--name-only"]).collect();
        let paths = self.hidden.iter().map(|path| format!(":(literal){path}"));
        let done = self.run(context, &options, paths).await?;
        // If it failed, so will the diff, which says why.
        Ok(done.output.text.lines().filter(|_| done.succeeded()).count() as u64)
    }

    /// Files that git has never heard of, for the diff does not show them.
    async fn untracked(&self, context: &ToolContext) -> Result<String, String> {
        let options = ["ls-files", "--others", "--exclude-standard"];
        let done = self
            .run(context, &options, self.paths.iter().map(|path| format!(":(literal){path}")))
            .await?;
        let names: Vec<&str> = done.output.text.lines().filter(|name| !name.is_empty()).collect();
        if names.is_empty() || !done.succeeded() {
            return Ok(String::new());
        }
        let mut text = "untracked, and so not in the diff:".to_owned();
        for name in names.iter().take(MAX_NAMED) {
            let _ = write!(text, "\n  {name}");
        }
        if names.len() > MAX_NAMED || done.output.truncated {
            text.push_str("\n  ... (more)");
        }
        Ok(text)
    }

    async fn result(
        &self,
        done: Execution,
        untracked: Option<String>,
        hidden: u64,
        target: &Target,
        staged: bool,
    ) -> Result<ToolOutput, String> {
        if !done.succeeded() {
            return Err(self.failure(done).await);
        }
        let against =
            if staged { "the index against the last commit" } else { "against the index" };
        let mut text = done.output.text.clone();
        if text.is_empty() {
            text = format!("(no changes in {}, {against})", target.in_words());
        }
        for note in &done.output.notes {
            let _ = write!(text, "\n({note})");
        }
        if let Some(untracked) = untracked.filter(|text| !text.is_empty()) {
            let _ = write!(text, "\n\n{untracked}");
        }
        if hidden > 0 {
            let _ = write!(text, "\n\n{}", by_a_rule(hidden));
        }
        let (bytes, truncated) = (done.output.bytes, done.output.truncated);
        let whole = ToolOutput::whole(whole_or_cut(text));
        Ok(ToolOutput { bytes: bytes.max(whole.bytes), truncated, ..whole })
    }

    /// Why git failed, in its own words where it has any.
    async fn failure(&self, done: Execution) -> String {
        let view = Arc::clone(&self.view);
        let read = move || {
            let bytes = std::fs::read(view.complaints()).unwrap_or_default();
            String::from_utf8_lossy(bytes.get(..bytes.len().min(4_096)).unwrap_or_default())
                .into_owned()
        };
        let complaint = tokio::task::spawn_blocking(read).await.unwrap_or_default();
        let complaint = one_line(&complaint, COMPLAINT_CHARS);
        match done.ended.outcome {
            Outcome::Exited(127) => "git is not installed, so there is no diff".to_owned(),
            Outcome::Cancelled => "cancelled".to_owned(),
            Outcome::TimedOut => {
                let seconds = count(TIME.as_secs(), "second", "seconds");
                format!("git took longer than {seconds} and was ended; name a path")
            }
            Outcome::Exited(_) | Outcome::Signalled(_) => {
                let output = one_line(&done.output.text, COMPLAINT_CHARS);
                format!("git diff failed: {complaint} {output}").trim_end().to_owned()
            }
        }
    }
}

/// The hidden part of what lies at or below a path, both from the workspace's root down.
fn hidden_below(path: &str, hidden: &Hidden) -> Vec<String> {
    if hidden.hides(path) {
        return vec![path.to_owned()];
    }
    let below = |inner: &String| path == "." || Path::new(inner).starts_with(path);
    hidden.in_workspace().filter(below).collect()
}
