//! Roles: what kind of helper a child is, as the host defines it. A task can choose one; it
//! cannot write one.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::budget::{Budget, Preset};
use super::role_file::{RoleFile, RoleSource, needed_by};

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

/// What one item of a report field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// A text.
    Texts,
    /// A command that ran, with its exit code.
    Commands,
    /// A place, how grave it is, and what is wrong there.
    Findings,
    /// A text, or a command that ran with its exit code.
    Runs,
}

/// A field that a role's report has beside the common ones; always a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportField {
    /// Its key in the child's JSON.
    pub name: String,
    /// What it holds, for the prompt.
    pub holds: String,
    /// What each of its items is.
    pub form: Form,
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
    /// Which of them it runs on where a task names none; its parent's if there is none here.
    pub model: Option<String>,
    /// Its own report fields.
    pub report_fields: Vec<ReportField>,
    /// Where it comes from.
    pub source: RoleSource,
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

    /// The built-in roles and those of files, the user's before the project's. A file of the name of
    /// a role that is already there narrows it: it can take tools away and say more, never give any.
    /// What it could not do goes into `doubts`: the file and the words.
    pub fn with_files(
        preset: Preset,
        files: &[RoleFile],
        doubts: &mut Vec<(RoleSource, String)>,
    ) -> Self {
        let mut table = Self::built_in(preset);
        for file in files {
            let made = match table.roles.iter_mut().find(|role| role.name == file.name) {
                Some(role) => narrow(role, file, doubts),
                None => new_role(preset, file).map(|role| table.roles.push(role)),
            };
            if let Err(why) = made {
                doubts.push((file.source.clone(), why));
            }
        }
        table
    }

    /// Takes out the models that cannot be had.
    pub fn keep_models(&mut self, can_be_had: impl Fn(&str) -> bool) {
        for role in &mut self.roles {
            role.models.retain(|model| can_be_had(model));
            role.model = role.model.take().filter(|model| role.models.contains(model));
        }
    }

    /// Adds a role, for hosts that bring their own; a role of the same name is replaced.
    pub fn insert(&mut self, role: Role) {
        self.roles.retain(|other| other.name != role.name);
        self.roles.push(role);
    }
}

/// A role that only a file describes. What it may use follows from its tools.
fn new_role(preset: Preset, file: &RoleFile) -> Result<Role, String> {
    if file.description.is_empty() {
        return Err("its head has no `description`, so nobody would know when to choose it".into());
    }
    if file.prompt.is_empty() {
        return Err("it has no text below its head, which would be the role's prompt".to_owned());
    }
    let permissions = file.permissions();
    let changes = [Permission::Write, Permission::Execute].iter().any(|p| permissions.contains(p));
    let budget = match (changes, permissions.contains(&Permission::Test)) {
        (true, _) => preset.worker(),
        (false, true) => preset.tester(),
        (false, false) => preset.child(),
    };
    Ok(Role {
        name: file.name.clone(),
        description: file.description.clone(),
        permissions,
        tools: file.tools.clone(),
        budget,
        models: file.model.iter().cloned().collect(),
        model: file.model.clone(),
        source: file.source.clone(),
        ..reader(preset, &file.prompt)
    })
}

/// A role after what a file of its name says. Its budget and report stay.
fn narrow(
    role: &mut Role,
    file: &RoleFile,
    doubts: &mut Vec<(RoleSource, String)>,
) -> Result<(), String> {
    let (kept, beyond): (Vec<String>, Vec<String>) =
        file.tools.iter().cloned().partition(|tool| role.tools.contains(tool));
    let held = role.tools.join(", ");
    if kept.is_empty() {
        return Err(format!("it leaves the role {} none of its tools: {held}", role.name));
    }
    if !beyond.is_empty() {
        let beyond = beyond.join(", ");
        let words = format!(
            "the role {} is there already and a file can only narrow it: it does not get {beyond}, \
             only what it has ({held})",
            role.name
        );
        doubts.push((file.source.clone(), words));
    }
    role.tools.retain(|tool| kept.contains(tool));
    let needed = needed_by(&role.tools);
    role.permissions.retain(|permission| needed.contains(permission));
    if !file.description.is_empty() {
        role.description.clone_from(&file.description);
    }
    if !file.prompt.is_empty() {
        role.prompt.clone_from(&file.prompt);
    }
    if let Some(model) = &file.model {
        role.models = vec![model.clone()];
        role.model = Some(model.clone());
    }
    role.source = file.source.clone();
    Ok(())
}

/// The tools of every role that is here for looking.
pub const LOOKING: [&str; 3] = ["list_files", "read_file", "search"];

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
            required("steps", Form::Texts, "the ordered steps, each a sentence"),
            field("risks", Form::Texts, "what could go wrong, each a sentence"),
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
            required("commands", Form::Commands, "each command that ran, with its exit code"),
            field("failures", Form::Texts, "each failing test, with its reason"),
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
        report_fields: vec![required(
            "findings",
            Form::Findings,
            "each place, how grave it is, and what is wrong; an empty list if nothing",
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
        report_fields: vec![field("tests", Form::Runs, "each test run, with how it ended")],
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
        model: None,
        report_fields: Vec::new(),
        source: RoleSource::BuiltIn,
    }
}

fn with(tools: &[String], more: &[&str]) -> Vec<String> {
    tools.iter().cloned().chain(more.iter().map(|&tool| tool.to_owned())).collect()
}

fn field(name: &str, form: Form, holds: &str) -> ReportField {
    ReportField { name: name.to_owned(), holds: holds.to_owned(), form, required: false }
}

/// A field without which a report is invalid.
fn required(name: &str, form: Form, holds: &str) -> ReportField {
    ReportField { required: true, ..field(name, form, holds) }
}
