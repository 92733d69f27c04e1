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
                researcher(preset),
                planner(preset),
                tester(preset),
                reviewer(preset),
                worker(preset),
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

/// The tools of every role that is here for looking.
const LOOKING: [&str; 3] = ["list_files", "read_file", "search"];

fn researcher(preset: Preset) -> Role {
    Role {
        name: RoleTable::DEFAULT.to_owned(),
        description: "finds things out by listing, searching and reading files".to_owned(),
        ..reader(preset, include_str!("../../assets/roles/researcher.md"))
    }
}

fn planner(preset: Preset) -> Role {
    Role {
        name: "planner".to_owned(),
        description: "reads, then writes an ordered plan with its risks".to_owned(),
        report_fields: vec![
            field("steps", "the ordered steps, each a sentence", true),
            field("risks", "what could go wrong, each a sentence", false),
        ],
        ..reader(preset, include_str!("../../assets/roles/planner.md"))
    }
}

fn tester(preset: Preset) -> Role {
    let base = reader(preset, include_str!("../../assets/roles/tester.md"));
    Role {
        name: "tester".to_owned(),
        description: "runs the project's tests and says what fails and why; changes nothing"
            .to_owned(),
        permissions: BTreeSet::from([Permission::Read, Permission::Test]),
        tools: with(&base.tools, &["run_tests"]),
        budget: preset.tester(),
        report_fields: vec![
            field("commands", "each command that ran, with its exit code", true),
            field("failures", "each failing test, with its reason", false),
        ],
        ..base
    }
}

fn reviewer(preset: Preset) -> Role {
    let base = reader(preset, include_str!("../../assets/roles/reviewer.md"));
    Role {
        name: "reviewer".to_owned(),
        description: "judges code or a change by reading it and its diff".to_owned(),
        tools: with(&base.tools, &["git_diff"]),
        report_fields: vec![field(
            "findings",
            "path:line, severity (high, medium, low) and what is wrong; an empty list if nothing",
            true,
        )],
        ..base
    }
}

fn worker(preset: Preset) -> Role {
    let base = reader(preset, include_str!("../../assets/roles/worker.md"));
    Role {
        name: "worker".to_owned(),
        description: "changes files, runs commands and tests to get one piece of work done"
            .to_owned(),
        permissions: BTreeSet::from([
            Permission::Read,
            Permission::Write,
            Permission::Test,
            Permission::Execute,
        ]),
        tools: with(&base.tools, &["git_diff", "write_file", "edit_file", "bash", "run_tests"]),
        budget: preset.worker(),
        report_fields: vec![field("tests", "each test run, with how it ended", false)],
        ..base
    }
}

/// A role that looks and does nothing else; its name and description are the caller's.
fn reader(preset: Preset, prompt: &str) -> Role {
    Role {
        name: String::new(),
        description: String::new(),
        prompt: prompt.trim().to_owned(),
        permissions: BTreeSet::from([Permission::Read]),
        tools: LOOKING.map(str::to_owned).to_vec(),
        budget: preset.child(),
        output_per_request: OUTPUT_PER_REQUEST,
        models: Vec::new(),
        report_fields: Vec::new(),
    }
}

fn with(tools: &[String], more: &[&str]) -> Vec<String> {
    tools.iter().cloned().chain(more.iter().map(|&tool| tool.to_owned())).collect()
}

fn field(name: &str, holds: &str, required: bool) -> ReportField {
    ReportField { name: name.to_owned(), holds: holds.to_owned(), required }
}
