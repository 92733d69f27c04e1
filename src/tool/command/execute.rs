//! One command in the sandbox on behalf of a call: started in the workspace's root, its output
//! shown while it comes and collected, its end put into words. It knows no tool by name.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use super::line::Carriage;
use super::live::{Live, PACE};
use super::output::{Collected, Collector};
use super::signals;
use crate::domain::scope::PathScope;
use crate::sandbox::{Ended, Ground, Job, Outcome, SandboxError};
use crate::tool::excerpt::{count, whole_or_cut};
use crate::tool::{Effects, ToolContext, ToolOutput};
use crate::workspace::jail::JailError;

/// Longest that a command may run.
pub const MAX_TIME: Duration = Duration::from_mins(10);

/// A program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    /// The program, looked up in PATH where it has no slash.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Invocation {
    /// A text for the shell, which reads no start-up files.
    pub fn shell(command: &str) -> Self {
        let (program, options) = match *SHELL {
            Some(bash) => (bash, ["--noprofile", "--norc", "-c"].as_slice()),
            None => ("/bin/sh", ["-c"].as_slice()),
        };
        let options = options.iter().copied().chain([command]);
        Self { program: program.to_owned(), arguments: options.map(str::to_owned).collect() }
    }
}

/// Where bash usually is.
const BASH: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];
/// Where it is; looked for once.
static SHELL: LazyLock<Option<&str>> =
    LazyLock::new(|| BASH.into_iter().find(|path| Path::new(path).exists()));

/// Where a command starts and what of the workspace it may touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The workspace's root.
    pub root: PathBuf,
    /// What lies behind the run's scopes.
    pub ground: Vec<PathBuf>,
}

impl Place {
    /// The place of a call, after a look whether the workspace is still there.
    pub async fn of(context: &ToolContext) -> Result<Self, String> {
        let (workspace, scopes) = (Arc::clone(&context.workspace), Arc::clone(&context.scopes));
        let look = move || -> Result<Self, JailError> {
            workspace.examine(&[PathScope::all()], ".")?;
            Ok(Self { root: workspace.path().to_owned(), ground: workspace.ground(&scopes) })
        };
        match tokio::task::spawn_blocking(look).await {
            Ok(found) => found.map_err(|error| format!("not run: {error}")),
            Err(fault) => Err(format!("not run: looking at the workspace failed inside: {fault}")),
        }
    }

    /// The run's part of the workspace, to be read and changed.
    pub fn writable(&self) -> Ground {
        Ground { writable: self.ground.clone(), readable: Vec::new() }
    }

    /// The run's part of the workspace, to be read only, with these places beside it.
    pub fn readable(&self, beside: impl IntoIterator<Item = PathBuf>) -> Ground {
        let readable = self.ground.iter().cloned().chain(beside).collect();
        Ground { writable: Vec::new(), readable }
    }
}

/// A command that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Execution {
    /// What it wrote.
    pub output: Collected,
    /// How it ended.
    pub ended: Ended,
    /// How long it could run.
    pub time_limit: Duration,
}

/// A job at a place.
pub fn job(invocation: Invocation, place: &Place, ground: Ground, time_limit: Duration) -> Job {
    Job {
        program: OsString::from(invocation.program),
        arguments: invocation.arguments.into_iter().map(OsString::from).collect(),
        folder: place.root.clone(),
        ground,
        environment: Vec::new(),
        network: false,
        time_limit: time_limit.min(MAX_TIME),
    }
}

/// Runs it to its end. What it writes goes to the call's progress meanwhile.
pub async fn execute(
    context: &ToolContext,
    job: Job,
    carriage: Carriage,
) -> Result<Execution, SandboxError> {
    let time_limit = job.time_limit;
    let taken = Mutex::new((Collector::default(), Live::new(context.progress.clone())));
    let lock = || taken.lock().unwrap_or_else(PoisonError::into_inner);
    let running = context.sandbox.run(
        job,
        |bytes| {
            let (collector, live) = &mut *lock();
            collector.push(bytes);
            live.push(bytes);
        },
        &context.cancel,
    );
    tokio::pin!(running);
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut running => break ended?,
            () = tokio::time::sleep(PACE) => lock().1.show(),
        }
    };
    let collector = std::mem::take(&mut lock().0);
    Ok(Execution { output: collector.finish(carriage), ended, time_limit })
}

impl Execution {
    /// True if the command ended by itself and said that all went well.
    pub fn succeeded(&self) -> bool {
        self.ended.outcome == Outcome::Exited(0)
    }

    /// The result for the model: the output, then what there is to say, each in parentheses.
    pub fn result(self, more: &[String]) -> ToolOutput {
        let ok = self.succeeded();
        let body = if self.output.text.is_empty() { "(no output)" } else { &self.output.text };
        let mut text = body.to_owned();
        let ended = [outcome_in_words(self.ended.outcome, self.time_limit)];
        for sentence in ended.iter().chain(&self.leftovers()).chain(&self.output.notes).chain(more)
        {
            let _ = write!(text, "\n({sentence})");
        }
        ToolOutput {
            ok,
            bytes: self.output.bytes,
            truncated: self.output.truncated,
            raw: self.output.raw,
            effects: Effects {
                processes_ended: self.ended.processes_ended,
                not_ended: self.ended.not_ended,
                ..Effects::default()
            },
            ..ToolOutput::whole(whole_or_cut(text))
        }
    }

    fn leftovers(&self) -> Vec<String> {
        let mut said = Vec::new();
        let by_itself = match self.ended.outcome {
            Outcome::Exited(_) | Outcome::Signalled(_) => true,
            Outcome::TimedOut | Outcome::Cancelled => false,
        };
        if by_itself && self.ended.processes_ended > 0 {
            let many = u64::from(self.ended.processes_ended);
            let were = if many == 1 { "was" } else { "were" };
            said.push(format!(
                "{} that it left running in the background {were} ended; nothing outlives its \
                 command",
                count(many, "process", "processes"),
            ));
        }
        if !self.ended.not_ended.is_empty() {
            said.push(format!("could not be ended: {}", self.ended.not_ended.join(", ")));
        }
        said
    }
}

/// How a command ended, without a full stop.
fn outcome_in_words(outcome: Outcome, time_limit: Duration) -> String {
    match outcome {
        Outcome::Exited(code) => match signals::of_shell_code(code) {
            Some(name) => format!("exit code {code}: ended by {name}"),
            None => format!("exit code {code}"),
        },
        Outcome::Signalled(number) => format!("ended by {}", signals::in_words(number)),
        Outcome::TimedOut => format!(
            "timed out after {} s and was ended with all it had started; this is its output so far",
            time_limit.as_secs()
        ),
        Outcome::Cancelled => "cancelled; this is its output so far".to_owned(),
    }
}
