//! What a session is made of, as plain parts.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::approval::{Asker, Mode};
use crate::domain::budget::{Budget, Preset, Totals};
use crate::domain::context_store::Sensitivity;
use crate::domain::event::Level;
use crate::domain::fence::Fence;
use crate::domain::ids::SessionId;
use crate::domain::preflight::PreflightPolicy;
use crate::domain::role::{Permission, Role};
use crate::domain::role_file::RoleFile;
use crate::domain::rules::Rules;
use crate::domain::scope::PathScope;
use crate::domain::usage::MicroUsd;
use crate::journal::jsonl::Journal;
use crate::provider::Provider;
use crate::provider::retry::Patience;
use crate::sandbox::SandboxSettings;
use crate::tool::toolbox::Toolbox;
use crate::workspace::Workspace;

/// Tells the time of day.
pub use crate::agent::host::Clock as ClockFn;
pub use crate::agent::host::{Share, Switch};

/// Keeps the answer to whether the project's own files are trusted, or says why it cannot. May block.
pub type KeepTrust = Arc<dyn Fn(bool) -> Result<(), String> + Send + Sync>;

/// Somebody who was found to answer.
pub struct Found {
    /// Who.
    pub provider: Arc<dyn Provider>,
    /// Makes the provider of another model there.
    pub switch: Option<Switch>,
}

/// Looks for somebody to answer; ends by itself within seconds, or within 200 ms where nobody asked.
pub type Detect = std::pin::Pin<Box<dyn Future<Output = Option<Found>> + Send>>;

/// A text that the user gave a name.
#[derive(Clone, PartialEq, Eq)]
pub struct Pin {
    /// The key that tasks choose it by.
    pub name: String,
    /// Where it came from, in words.
    pub source: String,
    /// The text.
    pub text: String,
    /// Who may see it.
    pub sensitivity: Sensitivity,
}

impl Pin {
    /// A text that any child may be given.
    pub fn normal(name: impl Into<String>, text: impl Into<String>) -> Self {
        let (name, text) = (name.into(), text.into());
        Self { name, source: "the user".to_owned(), text, sensitivity: Sensitivity::Normal }
    }
}

/// What each run of the session may spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    /// The set that children get their limits from.
    pub preset: Preset,
    /// What a parent run gets with a model whose price is known.
    pub parent: Budget,
    /// What its descendants get together.
    pub totals: Totals,
    /// What the whole session may cost.
    pub session_cost: Option<MicroUsd>,
    /// True if the user asked for that bound. Then nobody answers whose price is not known; a bound
    /// that only a project's file asks for is off with such a model.
    pub cost_must_hold: bool,
}

impl RunLimits {
    /// The limits of another preset; what was set apart from the old one stays set.
    #[must_use]
    pub fn with_preset(self, preset: Preset) -> Self {
        let (old, new) = (Self::of(self.preset), Self::of(preset));
        let keep = |mine: u32, old: u32, new: u32| if mine == old { new } else { mine };
        Self {
            totals: Totals {
                turns: new.totals.turns,
                delegations: keep(
                    self.totals.delegations,
                    old.totals.delegations,
                    new.totals.delegations,
                ),
                active: keep(self.totals.active, old.totals.active, new.totals.active),
            },
            session_cost: self.session_cost,
            cost_must_hold: self.cost_must_hold,
            ..new
        }
    }

    /// All of a preset.
    pub fn of(preset: Preset) -> Self {
        Self {
            preset,
            parent: preset.parent(),
            totals: preset.totals(),
            session_cost: None,
            cost_must_hold: false,
        }
    }
}

/// What a session is made of.
pub struct Config {
    /// Its id.
    pub id: SessionId,
    /// Who answers.
    pub provider: Arc<dyn Provider>,
    /// Makes the provider of another model; `None` where there is only one.
    pub switch: Option<Switch>,
    /// Looks for somebody else to answer once the session has started; `None` where that is settled.
    pub detect: Option<Detect>,
    /// All tools there are.
    pub toolbox: Toolbox,
    /// The ground.
    pub workspace: Arc<Workspace>,
    /// What runs may spend.
    pub limits: RunLimits,
    /// What a parent run may do.
    pub permissions: Vec<Permission>,
    /// Where.
    pub paths: Vec<PathScope>,
    /// What it may do without asking.
    pub mode: Mode,
    /// Whether delegations are asked about.
    pub preflight: PreflightPolicy,
    /// What is allowed, asked about and denied by name, in every mode.
    pub rules: Rules,
    /// Who is asked.
    pub asker: Asker,
    /// Where the answer goes; `None` where the project has no files of its own.
    pub keep_trust: Option<KeepTrust>,
    /// The user's own command for the tests; one that was only detected is asked about.
    pub test_command: Option<String>,
    /// How commands are fenced, where that is known already; else it is found out by trying.
    pub fence: Option<Fence>,
    /// How commands are run.
    pub sandbox: SandboxSettings,
    /// How deep runs may go.
    pub max_depth: u32,
    /// How long to wait for the model, and how often.
    pub patience: Patience,
    /// At which part of the model's window a conversation is summarised.
    pub compact_at: Share,
    /// Roles that files describe, the user's before the project's.
    pub role_files: Vec<RoleFile>,
    /// Roles of the host, beside all others.
    pub more_roles: Vec<Role>,
    /// Everything ends this long after the start.
    pub timeout: Option<Duration>,
    /// Named texts of the user.
    pub pins: Vec<Pin>,
    /// Texts that may never be shown, saved or given away.
    pub secrets: Vec<String>,
    /// The session's files.
    pub journal: Option<Journal>,
    /// What was found at the start and the user should know.
    pub notices: Vec<(Level, String, String)>,
    /// The time of day.
    pub clock: ClockFn,
}
