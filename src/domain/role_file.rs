//! A role as a person wrote it into a Markdown file: a head with its name, description, tools and
//! model, and a body that is its prompt. Names of tools that people know from elsewhere are mapped
//! to those there are. Pure: whoever calls has read the file.

use std::collections::BTreeSet;

use super::front_matter::{Parted, Value};
use super::role::{LOOKING, Permission};

/// Characters of a role's name.
const NAME_CHARS: usize = 40;
/// Characters of a description, which stands in the prompt of every parent.
const DESCRIPTION_CHARS: usize = 300;
/// Bytes of a prompt, which each child of the role pays for in each of its turns.
const PROMPT_BYTES: usize = 32 * 1024;

/// The tools that a role can be given, with what each needs.
pub const TOOLS: [(&str, Permission); 8] = [
    ("list_files", Permission::Read),
    ("read_file", Permission::Read),
    ("search", Permission::Read),
    ("git_diff", Permission::Read),
    ("write_file", Permission::Write),
    ("edit_file", Permission::Write),
    ("bash", Permission::Execute),
    ("run_tests", Permission::Test),
];

/// What the tools are called elsewhere.
const ELSEWHERE: [(&str, &str); 8] = [
    ("Read", "read_file"),
    ("Write", "write_file"),
    ("Edit", "edit_file"),
    ("MultiEdit", "edit_file"),
    ("Bash", "bash"),
    ("Grep", "search"),
    ("Glob", "list_files"),
    ("LS", "list_files"),
];

/// Names in a head that mean something here.
const KNOWN: [&str; 5] = ["name", "description", "tools", "disallowedTools", "model"];
/// Names in a head that only say how a role looks elsewhere.
const LOOKS: [&str; 1] = ["color"];

/// Where a role comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum RoleSource {
    /// It is a part of the program.
    #[default]
    BuiltIn,
    /// A file of the user's own.
    User(String),
    /// A file of the project, which the user trusts.
    Project(String),
}

impl RoleSource {
    /// The file, as people find it.
    pub fn file(&self) -> Option<&str> {
        match self {
            Self::BuiltIn => None,
            Self::User(file) | Self::Project(file) => Some(file),
        }
    }

    fn is_of_project(&self) -> bool {
        match self {
            Self::Project(_) => true,
            Self::BuiltIn | Self::User(_) => false,
        }
    }
}

/// A role that a file describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleFile {
    /// In lower case, without spaces.
    pub name: String,
    /// One line; empty where the file has none.
    pub description: String,
    /// The body; empty where the file has none.
    pub prompt: String,
    /// The tools it asks for, without repetition.
    pub tools: Vec<String>,
    /// The model it is to run on; none for its parent's.
    pub model: Option<String>,
    /// The file.
    pub source: RoleSource,
}

impl RoleFile {
    /// Reads a file's text. What it asks for that does not exist goes into `doubts`, in words; an
    /// error says in words why the file as a whole is of no use.
    pub fn parse(text: &str, source: RoleSource, doubts: &mut Vec<String>) -> Result<Self, String> {
        refuse_control(text)?;
        let parted = Parted::of(text)?;
        let name = name(&parted)?;
        if parted.body.len() > PROMPT_BYTES {
            return Err("its prompt is longer than 32 KiB".to_owned());
        }
        let ignored: Vec<&str> = parted
            .head
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| !KNOWN.contains(name) && !LOOKS.contains(name))
            .collect();
        if !ignored.is_empty() {
            doubts.push(format!("means nothing here and is ignored: {}", ignored.join(", ")));
        }
        let tools = tools(&parted, doubts)?;
        let model = model(&parted, &source, doubts)?;
        let description = one_line(&single(&parted, "description")?.unwrap_or_default());
        Ok(Self { name, description, prompt: parted.body, tools, model, source })
    }

    /// What its tools need.
    pub fn permissions(&self) -> BTreeSet<Permission> {
        needed_by(&self.tools)
    }
}

/// What these tools need together.
pub fn needed_by(tools: &[String]) -> BTreeSet<Permission> {
    TOOLS
        .iter()
        .filter(|(name, _)| tools.iter().any(|tool| tool == name))
        .map(|(_, p)| *p)
        .collect()
}

/// No text for people or models holds what moves a cursor or turns the direction of reading.
fn refuse_control(text: &str) -> Result<(), String> {
    let turns = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let is_foul = |c: char| (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || turns(c);
    match text.chars().find(|c| is_foul(*c)) {
        Some(c) => Err(format!("it holds the control character U+{:04X}", u32::from(c))),
        None => Ok(()),
    }
}

fn name(parted: &Parted) -> Result<String, String> {
    let name = single(parted, "name")?.unwrap_or_default();
    if name.is_empty() {
        return Err("its head has no `name`".to_owned());
    }
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    if name.chars().count() > NAME_CHARS || !name.chars().all(fits) {
        let shown: String = name.chars().take(NAME_CHARS).collect();
        return Err(format!(
            "`{shown}` is no name for a role: letters, digits, `-` and `_` without spaces, at \
             most {NAME_CHARS}"
        ));
    }
    Ok(name.to_lowercase())
}

/// A value that is to be one text.
fn single(parted: &Parted, name: &str) -> Result<Option<String>, String> {
    match parted.get(name) {
        Some(Value::Text(text)) => Ok(Some(text.trim().to_owned())),
        Some(Value::List(_)) => Err(format!("`{name}` in its head is a list")),
        None => Ok(None),
    }
}

/// The tools it asks for, less those that it says it does not want; those for looking where it asks
/// for none.
fn tools(parted: &Parted, doubts: &mut Vec<String>) -> Result<Vec<String>, String> {
    let mut unknown = Vec::new();
    let (asked, unwanted) = (words(parted, "tools"), words(parted, "disallowedTools"));
    let mut tools = match asked {
        Some(asked) => mapped(&asked, &mut unknown),
        None => LOOKING.map(str::to_owned).to_vec(),
    };
    // A tool that is not wanted in a certain form only is not wanted at all.
    let unwanted: Vec<String> = unwanted.into_iter().flatten().map(|tool| bare(&tool)).collect();
    let mut unknown_unwanted = Vec::new();
    let unwanted = mapped(&unwanted, &mut unknown_unwanted);
    tools.retain(|tool| !unwanted.contains(tool));
    if !unknown_unwanted.is_empty() {
        let names = unknown_unwanted.join(", ");
        doubts.push(format!("does not want tools that are not here either: {names}"));
    }
    if !unknown.is_empty() {
        doubts.push(format!("asks for tools that are not here: {}", unknown.join(", ")));
    }
    if tools.is_empty() {
        return Err(format!(
            "it asks for no tool that is here; there are: {}",
            TOOLS.map(|(name, _)| name).join(", ")
        ));
    }
    Ok(tools)
}

/// The name of a tool without what it is bound to: `Bash` of `Bash(git:*)`.
fn bare(tool: &str) -> String {
    tool.split('(').next().unwrap_or_default().trim().to_owned()
}

/// A list of names, or names with commas between them; commas in brackets belong to a name.
fn words(parted: &Parted, name: &str) -> Option<Vec<String>> {
    let text = match parted.get(name)? {
        Value::List(items) => return Some(items.clone()),
        Value::Text(text) => text,
    };
    if text.trim().is_empty() {
        return None;
    }
    let mut depth = 0_u32;
    let items = text.split(|c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    Some(items.map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect())
}

/// The tools of these names. Delegating is not a role's to ask for, so it is passed over.
fn mapped(names: &[String], unknown: &mut Vec<String>) -> Vec<String> {
    let mut tools: Vec<String> = Vec::new();
    for name in names.iter().filter(|name| !name.eq_ignore_ascii_case("task")) {
        let own = TOOLS.iter().map(|(tool, _)| (*tool, *tool));
        let found = own.chain(ELSEWHERE).find(|(other, _)| name.eq_ignore_ascii_case(other));
        match found {
            Some((_, tool)) if tools.iter().any(|other| other == tool) => {}
            Some((_, tool)) => tools.push(tool.to_owned()),
            None => unknown.push(name.chars().take(NAME_CHARS).collect()),
        }
    }
    tools
}

/// The model it is to run on. A project's file cannot choose one: the user pays for it.
fn model(
    parted: &Parted,
    source: &RoleSource,
    doubts: &mut Vec<String>,
) -> Result<Option<String>, String> {
    let model = single(parted, "model")?.filter(|model| !model.is_empty() && model != "inherit");
    if model.is_some() && source.is_of_project() {
        doubts.push("a project's file cannot choose a model; it runs on its parent's".to_owned());
        return Ok(None);
    }
    Ok(model)
}

/// A description on one line, at a length that a parent's prompt can bear.
fn one_line(text: &str) -> String {
    // Files that were made by a program have line breaks written out.
    let text = text.replace("\\n", " ");
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= DESCRIPTION_CHARS {
        return line;
    }
    line.chars().take(DESCRIPTION_CHARS - 1).chain(['…']).collect()
}
