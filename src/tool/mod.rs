//! The hands: what a run can do in the workspace, one verb a file. A tool knows nothing of runs or
//! budgets; it gets arguments that its schema fits and a ground that it cannot leave.

pub mod arguments;
pub mod bash;
pub mod command;
pub mod edit_file;
pub mod excerpt;
pub mod git_diff;
pub mod guard;
pub mod list_files;
pub mod note;
pub mod read_file;
pub mod run_tests;
pub mod search;
pub mod target;
pub mod task;
pub mod todo;
pub mod toolbox;
pub mod unified;
pub mod write_file;

mod blocking;
mod change;
mod progress;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::domain::approval::Preview;
use crate::domain::event::RawOutput;
use crate::domain::hidden::Hidden;
use crate::domain::role::Permission;
use crate::domain::scope::PathScope;
use crate::sandbox::{Sandbox, SandboxSettings};
use crate::workspace::Workspace;
use crate::workspace::seen::Seen;

pub use progress::Progress;

/// Characters that one result may have at most.
pub const MAX_RESULT_CHARS: usize = 50_000;

/// What a tool is, for the model and for the guard.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// What it is for, from assets/tools.
    pub description: &'static str,
    /// Its parameters as a JSON schema with `additionalProperties: false`.
    pub parameters: Value,
    /// What a run needs to hold to call it.
    pub permission: Permission,
    /// True if calls of it may run beside each other.
    pub read_only: bool,
}

/// What a call may use.
#[derive(Clone)]
pub struct ToolContext {
    /// The ground.
    pub workspace: Arc<Workspace>,
    /// The part of it that the run may touch.
    pub scopes: Arc<[PathScope]>,
    /// What of it no tool shows the content of.
    pub hidden: Arc<Hidden>,
    /// Fires when the call is to end.
    pub cancel: CancellationToken,
    /// What the run's model knows of files, so that nothing is overwritten unread.
    pub seen: Arc<Seen>,
    /// Where commands run.
    pub sandbox: Arc<Sandbox>,
    /// True if the run may reach the network.
    pub network: bool,
    /// Where a running command's output is shown.
    pub progress: Progress,
    /// What a person was shown before the call was let through; the tool does exactly that or fails.
    pub approved: Option<Arc<Preview>>,
}

impl ToolContext {
    /// For a call that only looks and that nobody watches: nothing was read before it, and a command
    /// would get an empty environment.
    pub fn looking(
        workspace: Arc<Workspace>,
        scopes: Arc<[PathScope]>,
        cancel: CancellationToken,
    ) -> Self {
        Self {
            workspace,
            scopes,
            hidden: Arc::default(),
            cancel,
            seen: Arc::default(),
            sandbox: Arc::new(Sandbox::new(SandboxSettings::bare("/proc/self/exe"))),
            network: false,
            progress: Progress::default(),
            approved: None,
        }
    }
}

/// A place that a result showed to the model, for checking what it later cites.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// Lines of a file, both from 1 and inclusive.
    Lines {
        /// From the workspace's root.
        path: String,
        /// The first.
        from: u64,
        /// The last.
        to: u64,
    },
    /// The entries of a folder.
    Folder {
        /// From the workspace's root; `.` for the root.
        path: String,
    },
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// False for an error.
    pub ok: bool,
    /// The text for the model, within [`MAX_RESULT_CHARS`].
    pub text: String,
    /// The size before cutting, in bytes.
    pub bytes: u64,
    /// True if something was left out.
    pub truncated: bool,
    /// The places it showed.
    pub shown: Vec<Shown>,
    /// What it did beside answering.
    pub effects: Effects,
    /// What was cut away, with what was not.
    pub raw: Option<RawOutput>,
}

/// What a call did, as its tool knows it; reports and receipts are made from it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Effects {
    /// Files it wrote, from the workspace's root.
    pub wrote: Vec<String>,
    /// Processes that had to be ended.
    pub processes_ended: u32,
    /// Processes that could not be ended, in words.
    pub not_ended: Vec<String>,
    /// The command that it ran, if it really ran one.
    pub ran: Option<Ran>,
    /// For a run of the tests: whether they passed.
    pub tests_passed: Option<bool>,
    /// A text that its host is to keep for later tasks.
    pub noted: Option<Noted>,
}

/// A command that ran to an end of some kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// As it is shown.
    pub command: String,
    /// True for an exit code of 0 in time.
    pub ok: bool,
}

/// A text with the key that tasks choose it by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// The key.
    pub key: String,
    /// The text.
    pub text: String,
}

impl ToolOutput {
    /// A whole answer.
    pub fn whole(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { ok: true, ..Self::error(text) }
    }

    /// A failure in words.
    pub fn error(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            ok: false,
            bytes: text.len() as u64,
            text,
            truncated: false,
            shown: Vec::new(),
            effects: Effects::default(),
            raw: None,
        }
    }
}

/// The result of a call, once it is there.
pub type ToolFuture = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

/// What a person is to see before a call runs; `None` if there is nothing to show, an error in words
/// if the call would fail anyway.
pub type PreviewFuture = Pin<Box<dyn Future<Output = Result<Option<Preview>, String>> + Send>>;

/// One verb.
pub trait Tool: Send + Sync {
    /// What it is.
    fn spec(&self) -> &ToolSpec;

    /// What the call would do, without doing it. Tools that only look have nothing to show.
    fn preview(&self, _arguments: &Value, _context: &ToolContext) -> PreviewFuture {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Runs it. Arguments that do not fit the schema give an error output that names the field and
    /// the expected type. The future ends soon after `context.cancel` fires, and not before all that
    /// the call started: of one that does not end in time its caller tells.
    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture;
}

#[cfg(test)]
impl ToolContext {
    /// A context that may look at all of this package's folder.
    #[expect(clippy::unwrap_used, reason = "tests")]
    fn of_a_test() -> Self {
        let workspace = Workspace::open(std::path::Path::new(".")).unwrap();
        let scopes = Arc::from([PathScope::all()]);
        Self::looking(Arc::new(workspace), scopes, CancellationToken::new())
    }
}
