//! Roles: what kind of helper a child is, as the host defines it. A task can choose one; it
//! cannot write one.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::budget::{Budget, Preset};

/// What a tool may do to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Permission {
    /// Look at files.
    Read,
    /// Change files.
    Write,
    /// Run the configured test command.
    Test,
    /// Run any command.
    Execute,
    /// Reach the network.
    Network,
    /// Start children.
    Delegate,
}

impl Permission {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Read, Self::Write, Self::Test, Self::Execute, Self::Network, Self::Delegate];

    /// The word in a `task` call.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Test => "test",
            Self::Execute => "execute",
            Self::Network => "network",
            Self::Delegate => "delegate",
        }
    }

    /// Reads the word of a `task` call.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|permission| permission.name() == name)
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A field that a role's report has beside the common ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportField {
    /// Its key in the child's JSON.
    pub name: String,
    /// What it holds, for the prompt.
    pub holds: String,
    /// True if a report without it is `invalid_result`.
    pub required: bool,
}

/// One kind of helper.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// The name a task chooses it by.
    pub name: String,
    /// One line for the parent model and the user.
    pub description: String,
    /// The system prompt's part that is the role's own.
    pub prompt: String,
    /// What it may be given at most.
    pub permissions: BTreeSet<Permission>,
    /// The tools it may be given at most, in the order they are offered.
    pub tools: Vec<String>,
    /// What it gets where the task asks for nothing else.
    pub budget: Budget,
    /// Output tokens that one request may ask for at most.
    pub output_per_request: u64,
    /// Models it may run on besides the parent's.
    pub models: Vec<String>,
    /// Its own report fields.
    pub report_fields: Vec<ReportField>,
}

/// The roles that a task can choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleTable {
    roles: Vec<Role>,
}

/// Output tokens that one request of a built-in role may ask for at most.
pub const OUTPUT_PER_REQUEST: u64 = 8_192;

impl RoleTable {
    /// The role that a task gets when it names none.
    pub const DEFAULT: &str = "researcher";

    /// The built-in roles, with limits from a preset.
    pub fn built_in(preset: Preset) -> Self {
        Self {
            roles: vec![
                reader(
                    "researcher",
                    "finds things out by listing, searching and reading files",
                    include_str!("../../assets/roles/researcher.md"),
                    preset,
                    Vec::new(),
                ),
                reader(
                    "planner",
                    "reads, then writes an ordered plan with its risks",
                    include_str!("../../assets/roles/planner.md"),
                    preset,
                    vec![
                        field("steps", "the ordered steps, each a sentence", true),
                        field("risks", "what could go wrong, each a sentence", false),
                    ],
                ),
            ],
        }
    }

    /// The role of this name.
    pub fn get(&self, name: &str) -> Option<&Role> {
        self.roles.iter().find(|role| role.name == name)
    }

    /// The roles in the order they are listed to the model.
    pub fn iter(&self) -> impl Iterator<Item = &Role> {
        self.roles.iter()
    }

    /// Adds a role, for hosts that bring their own; a role of the same name is replaced.
    pub fn insert(&mut self, role: Role) {
        self.roles.retain(|other| other.name != role.name);
        self.roles.push(role);
    }
}

fn reader(
    name: &str,
    description: &str,
    prompt: &str,
    preset: Preset,
    report_fields: Vec<ReportField>,
) -> Role {
    Role {
        name: name.to_owned(),
        description: description.to_owned(),
        prompt: prompt.trim().to_owned(),
        permissions: BTreeSet::from([Permission::Read]),
        tools: ["list_files", "read_file", "search"].map(str::to_owned).to_vec(),
        budget: preset.child(),
        output_per_request: OUTPUT_PER_REQUEST,
        models: Vec::new(),
        report_fields,
    }
}

fn field(name: &str, holds: &str, required: bool) -> ReportField {
    ReportField { name: name.to_owned(), holds: holds.to_owned(), required }
}
