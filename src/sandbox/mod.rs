//! The fence: how a command is run so that it can touch what it was allowed and nothing else, and so
//! that nothing of it is left when it is over. It knows commands, folders and processes; it knows
//! nothing of tools, models or people.
//!
//! The command runs below a helper, this same program started as `offshoot __fence`, which stands
//! outside of the fence: it restricts one short-lived thread of its own, lets that thread start the
//! command, and ends everything below it when it is told to or when this program goes away.

pub mod canary;
pub mod confine;
pub mod environment;
pub mod explain;
pub mod helper;
pub mod job;
pub mod judge;
pub mod places;
pub mod policy;

mod backstop;
mod git_identity;
mod harden;
mod keep;
mod kill;
mod launch;
mod private;
mod probe;
mod processes;
mod reap;
mod toolchains;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio::sync::OnceCell;

use crate::domain::fence::Fence;
use private::PrivatePlace;

pub use harden::harden;
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
    /// The user's own home. Commands never see it; who commits is read from its git configuration.
    pub home: Option<PathBuf>,
}

impl SandboxSettings {
    /// With this helper, an empty environment and nothing beside what every command may read.
    pub fn bare(helper: impl Into<PathBuf>) -> Self {
        Self {
            helper: helper.into(),
            environment: Vec::new(),
            readable: Vec::new(),
            writable: Vec::new(),
            home: None,
        }
    }

    /// With what commands get of these variables of the user's, of which `named` pass whatever they
    /// look like, and with the toolchains that they and the home in them lead to. Blocks, for some
    /// dozen questions to the file system.
    pub fn of_user(
        helper: impl Into<PathBuf>,
        variables: impl IntoIterator<Item = (String, String)>,
        named: &[String],
    ) -> Self {
        let variables: Vec<(String, String)> = variables.into_iter().collect();
        let home = variables.iter().find(|(name, _)| name == "HOME").map(|(_, value)| value);
        let home = home.map(PathBuf::from).filter(|home| home.is_absolute());
        let mut environment = environment::of(variables, named);
        let toolchains = toolchains::find(&environment, home.as_deref());
        environment.extend(toolchains.variables);
        Self {
            environment: environment.into_iter().collect(),
            readable: toolchains.readable,
            home,
            ..Self::bare(helper)
        }
    }
}

/// Runs commands. What is private to its commands is removed when it is dropped or closed.
#[derive(Debug)]
pub struct Sandbox {
    settings: Arc<SandboxSettings>,
    private: Arc<PrivatePlace>,
    /// What was found by trying.
    found: OnceCell<Fence>,
    /// Turned off for good when a helper got stuck half-way into namespaces.
    namespaces: AtomicBool,
}

impl Sandbox {
    /// A sandbox. Starts nothing.
    pub fn new(settings: SandboxSettings) -> Self {
        Self {
            settings: Arc::new(settings),
            private: Arc::default(),
            found: OnceCell::new(),
            namespaces: AtomicBool::new(true),
        }
    }

    /// What it was made with.
    pub fn settings(&self) -> &SandboxSettings {
        &self.settings
    }

    /// Removes what is private to its commands, off the runtime. Dropping it does the same in place.
    pub async fn close(&self) {
        let private = Arc::clone(&self.private);
        // A runtime that shuts down drops the sandbox as well.
        let _ = tokio::task::spawn_blocking(move || private.close()).await;
    }
}
