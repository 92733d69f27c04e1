//! The hands: what a run can do in the workspace, one verb a file. A tool knows nothing of runs or
//! budgets; it gets arguments that its schema fits and a ground that it cannot leave.

pub mod arguments;
pub mod excerpt;
pub mod guard;
pub mod list_files;
pub mod read_file;
pub mod search;
pub mod target;
pub mod task;
pub mod toolbox;

mod blocking;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::domain::role::Permission;
use crate::domain::scope::PathScope;
use crate::workspace::Workspace;

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
    /// Fires when the call is to end.
    pub cancel: CancellationToken,
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
}

impl ToolOutput {
    /// A failure in words.
    pub fn error(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { ok: false, bytes: text.len() as u64, text, truncated: false, shown: Vec::new() }
    }
}

/// The result of a call, once it is there.
pub type ToolFuture = Pin<Box<dyn Future<Output = ToolOutput> + Send>>;

/// One verb.
pub trait Tool: Send + Sync {
    /// What it is.
    fn spec(&self) -> &ToolSpec;

    /// Runs it. Arguments that do not fit the schema give an error output that names the field and
    /// the expected type. The future ends soon after `context.cancel` fires.
    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture;
}
