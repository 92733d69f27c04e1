//! One command: what it is, where it may go, and what became of it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::domain::fence::FenceLevel;
use crate::sandbox::confine::ConfineError;

/// A command to run.
#[derive(Debug, Clone)]
pub struct Job {
    /// The program, looked up in the commands' PATH where it has no slash.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The folder it starts in, absolute.
    pub folder: PathBuf,
    /// What it may touch beside what every command may.
    pub ground: Ground,
    /// Variables beside the session's; they win.
    pub environment: Vec<(String, String)>,
    /// True if it may reach the network.
    pub network: bool,
    /// After this long it is ended.
    pub time_limit: Duration,
}

/// Places of a command, absolute. What does not exist is passed over.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ground {
    /// Files and folders that it may read and change.
    pub writable: Vec<PathBuf>,
    /// Files and folders that it may read.
    pub readable: Vec<PathBuf>,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which did not come from here.
    Signalled(i32),
    /// Its time was up.
    TimedOut,
    /// The call was cancelled.
    Cancelled,
}

/// What became of a command. Nothing of it is running any more, but for what `not_ended` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How it ended.
    pub outcome: Outcome,
    /// Processes that were still there when it ended, or when it had to end, and that were ended.
    pub processes_ended: u32,
    /// Processes that could not be ended in time, in words.
    pub not_ended: Vec<String>,
    /// How well it was fenced.
    pub fence: FenceLevel,
}

/// Why a command could not be run at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SandboxError {
    /// The helper could not be started, or went away without a word.
    #[error("the helper that runs commands failed: {0}")]
    Helper(String),
    /// The program could not be started.
    #[error("cannot start `{program}`: {detail}")]
    NotStarted {
        /// Which.
        program: String,
        /// What the system said.
        detail: String,
    },
    /// It could not be held to what it was allowed, so it was not started.
    #[error(transparent)]
    NotHeld(#[from] ConfineError),
    /// The folder to start in is not there any more.
    #[error("the folder {0} is not there any more")]
    FolderGone(String),
}
