//! Who may do what without being asked, and what a person can answer. Plain values: nobody is asked
//! here, and nothing is run.

use serde::{Deserialize, Serialize};

use super::preflight::Amendment;
use super::role::Permission;

/// What may be done without asking, from the strictest to the freest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Look only: what would change or run something is denied.
    ReadOnly,
    /// Ask before every change and every command.
    #[default]
    Ask,
    /// Change files without asking, ask before commands.
    AutoEdit,
    /// Ask nothing, as long as commands are fenced.
    FullAccess,
}

impl Mode {
    /// All of them, the strictest first.
    pub const ALL: [Self; 4] = [Self::ReadOnly, Self::Ask, Self::AutoEdit, Self::FullAccess];

    /// The word in settings and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Ask => "ask",
            Self::AutoEdit => "auto-edit",
            Self::FullAccess => "full-access",
        }
    }

    /// Reads that word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }

    /// The next one, round and round.
    #[must_use]
    pub fn next(self) -> Self {
        match self {
            Self::ReadOnly => Self::Ask,
            Self::Ask => Self::AutoEdit,
            Self::AutoEdit => Self::FullAccess,
            Self::FullAccess => Self::ReadOnly,
        }
    }
}

/// What a call would do to the world, as far as asking goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deed {
    /// Look only.
    Look,
    /// Change files by a tool that shows the change beforehand.
    Edit,
    /// Run the project's test command.
    Test,
    /// Run any command.
    Command,
    /// Reach the network.
    Network,
}

impl Deed {
    /// The deed of a tool that needs this permission.
    pub fn of(permission: Permission) -> Self {
        match permission {
            // A delegation is bounded by its contract, and its child asks for itself.
            Permission::Read | Permission::Delegate => Self::Look,
            Permission::Write => Self::Edit,
            Permission::Test => Self::Test,
            Permission::Execute => Self::Command,
            Permission::Network => Self::Network,
        }
    }
}

/// What `--approve` lets through where nobody can be asked.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum ApprovePolicy {
    /// Nothing that would have been asked about.
    #[default]
    Never,
    /// Changes of files, no commands.
    Edits,
    /// Everything, as long as commands are fenced; less than fenced, changes of files only.
    All,
}

impl ApprovePolicy {
    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Edits => "edits",
            Self::All => "all",
        }
    }
}

/// Who answers where something is to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// A person at the screen; asking waits for them as long as it takes.
    Person,
    /// Nobody: what would be asked is decided by this at once.
    Nobody(ApprovePolicy),
}

/// What a person answers to "may it?".
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This call, as it was shown.
    Once,
    /// This call, and others that the shown prefix covers, of this run.
    Child,
    /// The same for the whole session: of the parent, or of all children of this role.
    Session,
    /// This delegation, with less than was shown.
    Amended(Amendment),
    /// No.
    Deny {
        /// Why, for the model.
        reason: Option<String>,
    },
}

/// How the question ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Allowed as shown.
    Once,
    /// Allowed for this run.
    Child,
    /// Allowed for the session.
    Session,
    /// Not allowed.
    Deny,
    /// The call was cancelled before anybody answered.
    Withdrawn,
    /// Nobody could be asked.
    Expired,
}

/// Who decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// A person, now.
    User,
    /// A person, by an earlier answer in this session.
    Earlier,
    /// A rule of the configuration.
    Rule,
    /// The permission mode, or for a delegation the policy of asking before it.
    Mode,
    /// What `--approve` says, where nobody can be asked.
    Policy,
    /// The runtime, because the call was cancelled.
    Runtime,
}

/// What a person sees before a call runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    /// One line: `write src/a.rs (12 lines, new)`, or the command's first line.
    pub summary: String,
    /// The whole of it.
    pub body: PreviewBody,
    /// What an answer for more than this call covers: a path, or the first words of a command.
    /// `None` where only this call can be allowed.
    pub prefix: Option<String>,
}

/// The whole of what would happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreviewBody {
    /// A unified diff.
    Diff(String),
    /// A command, exactly.
    Command {
        /// Its text.
        command: String,
        /// The folder it starts in, from the workspace's root.
        folder: String,
    },
}
