//! The fence: how a command is run so that it can touch what it was allowed and nothing else, and so
//! that nothing of it is left when it is over. It knows commands, folders and processes; it knows
//! nothing of tools, models or people.
//!
//! The command runs below a helper, this same program started as `offshoot __fence`, which stands
//! outside of the fence: it restricts one short-lived thread of its own, lets that thread start the
//! command, and ends everything below it when it is told to or when this program goes away.

pub mod confine;
pub mod job;
pub mod places;
pub mod policy;

use std::path::PathBuf;

pub use job::{Ended, Ground, Job, Outcome, SandboxError};

/// What is the same for all commands of a session.
#[derive(Debug, Clone)]
pub struct SandboxSettings {
    /// The program that is started as the helper: this one.
    pub helper: PathBuf,
    /// What commands get as their environment, secrets already left out; HOME and TMPDIR are put in
    /// its place by the sandbox.
    pub environment: Vec<(String, String)>,
    /// Files and folders beside the usual ones that commands may read.
    pub readable: Vec<PathBuf>,
    /// Files and folders beside the workspace that commands may change.
    pub writable: Vec<PathBuf>,
}

impl SandboxSettings {
    /// With this helper, an empty environment and nothing beside what every command may read.
    pub fn bare(helper: impl Into<PathBuf>) -> Self {
        Self {
            helper: helper.into(),
            environment: Vec::new(),
            readable: Vec::new(),
            writable: Vec::new(),
        }
    }
}

/// Runs commands.
#[derive(Debug)]
pub struct Sandbox {
    settings: SandboxSettings,
}

impl Sandbox {
    /// A sandbox. Starts nothing.
    pub fn new(settings: SandboxSettings) -> Self {
        Self { settings }
    }

    /// What it was made with.
    pub fn settings(&self) -> &SandboxSettings {
        &self.settings
    }
}
