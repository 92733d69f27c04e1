//! `edit_file`: parts of a file, found by their text. Here are the parameters and the words of the
//! result; `splice` makes the edits, `view` is what they are matched against, `nearest` helps where
//! nothing matches.

mod nearest;
mod splice;
mod view;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::approval::Preview;
use crate::domain::role::Permission;
use crate::workspace::lines::is_binary;
use crate::workspace::path::printable;
use crate::workspace::seen::Knowledge;

use super::arguments::{self, ArgumentError};
use super::blocking::{self, Outcome};
use super::change::{self, Change, MAX_BYTES};
use super::excerpt::{count, size};
use super::{PreviewFuture, Tool, ToolContext, ToolFuture, ToolSpec};

const VERB: &str = "edit";
/// Edits of one call.
const MAX_EDITS: usize = 100;
/// Lines that the result names.
const MAX_NAMED: usize = 20;

/// The tool.
pub struct EditFile {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    old_text: Option<String>,
    new_text: Option<String>,
    #[serde(default)]
    replace_all: bool,
    edits: Option<Vec<Edit>>,
}

/// One text for another.
#[derive(Debug, Clone, Deserialize)]
struct Edit {
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

impl EditFile {
    /// The tool.
    #[expect(clippy::new_without_default, reason = "a tool has no default state")]
    pub fn new() -> Self {
        let edit = json!({
            "old_text": {"type": "string"},
            "new_text": {"type": "string"},
            "replace_all": {"type": "boolean"},
        });
        let spec = ToolSpec {
            name: "edit_file",
            description: include_str!("../../assets/tools/edit_file.md").trim_ascii(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "From the workspace's root"},
                    "old_text": {"type": "string"},
                    "new_text": {"type": "string"},
                    "replace_all": {"type": "boolean"},
                    "edits": {
                        "type": "array",
                        "description": "In place of old_text and new_text",
                        "items": {
                            "type": "object",
                            "properties": edit,
                            "required": ["old_text", "new_text"],
                            "additionalProperties": false,
                        },
                    },
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
            permission: Permission::Write,
            read_only: false,
        };
        Self { spec }
    }
}

impl Tool for EditFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview(&self, arguments: &Value, context: &ToolContext) -> PreviewFuture {
        let arguments = arguments::read(&self.spec.parameters, arguments);
        blocking::preview(context.clone(), move |context| look(context, arguments))
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        let arguments = arguments::read(&self.spec.parameters, &arguments);
        blocking::run(context, move |context| edit(context, arguments))
    }
}

fn look(
    context: &ToolContext,
    arguments: Result<Arguments, ArgumentError>,
) -> Result<Preview, String> {
    Ok(plan(context, arguments)?.change.preview(VERB))
}

fn edit(context: &ToolContext, arguments: Result<Arguments, ArgumentError>) -> Outcome {
    let Plan { change, replacements, lines } = plan(context, arguments)?;
    if change.is_none() {
        return Err(format!(
            "the edits undo each other: `{}` would stay as it is",
            printable(&change.asked)
        ));
    }
    let mut done = change.make(VERB, context)?;
    match done.knew.clone() {
        Some(Knowledge::Current) => done.note(context),
        Some(Knowledge::Stale { by }) => done.say(format!(
            "it had been changed by {} since you read it; read it again for the rest of it",
            by.as_deref().unwrap_or("somebody else")
        )),
        // The model knows the part that it replaced, not the file.
        Some(Knowledge::Unknown) | None => {}
    }
    let facts = format!(
        "edited {}: {} ({})",
        printable(&done.asked),
        count(replacements as u64, "replacement", "replacements"),
        in_words(&lines)
    );
    Ok(done.output(&facts))
}

/// A change, and where its replacements are.
struct Plan {
    change: Change,
    replacements: usize,
    lines: Vec<u64>,
}

fn plan(
    context: &ToolContext,
    arguments: Result<Arguments, ArgumentError>,
) -> Result<Plan, String> {
    let (path, edits) = read(arguments.map_err(|error| error.text)?)?;
    let (asked, spot) = change::find(context, &path)?;
    let name = printable(&asked);
    let Some(bytes) = spot.bytes() else {
        return Err(format!("there is no `{name}`; write_file makes new files"));
    };
    let Some(old) = spot.read(MAX_BYTES).map_err(|error| error.to_string())? else {
        let (has, most) = (size(bytes), size(MAX_BYTES));
        return Err(format!("`{name}` has {has}; edit_file takes files of at most {most}"));
    };
    if is_binary(old.get(..crate::workspace::lines::SNIFF_BYTES).unwrap_or(&old)) {
        return Err(format!("`{name}` is binary or UTF-16; edit_file changes text only"));
    }
    let hidden = [&asked, &spot.path()].into_iter().any(|path| context.hidden.hides(path));
    let edited = splice::apply(old.clone(), &edits, &name, hidden)?;
    let change = Change { spot, asked, old: Some(old), new: edited.content };
    Ok(Plan { change, replacements: edited.replacements, lines: edited.lines })
}

/// The path and the edits, in whichever form they were given.
fn read(arguments: Arguments) -> Result<(String, Vec<Edit>), String> {
    let Arguments { path, old_text, new_text, replace_all, edits } = arguments;
    let edits = edits.unwrap_or_default();
    if edits.len() > MAX_EDITS {
        return Err(format!("`edits` has {} edits; at most {MAX_EDITS} go together", edits.len()));
    }
    let blank = |text: &Option<String>| text.as_ref().is_none_or(String::is_empty);
    if !edits.is_empty() {
        if !blank(&old_text) || !blank(&new_text) || replace_all {
            return Err("give either old_text and new_text or edits, not both; replace_all goes \
                        into each edit"
                .to_owned());
        }
        return Ok((path, edits));
    }
    match (old_text, new_text) {
        (Some(old_text), Some(new_text)) => {
            Ok((path, vec![Edit { old_text, new_text, replace_all }]))
        }
        (None, _) => Err("`old_text` is missing: a string is required, or `edits`".to_owned()),
        (_, None) => Err("`new_text` is missing: a string is required, or `edits`".to_owned()),
    }
}

/// `line 3`, `lines 3, 17`.
fn in_words(lines: &[u64]) -> String {
    let named: Vec<String> = lines.iter().take(MAX_NAMED).map(u64::to_string).collect();
    let more = if lines.len() > MAX_NAMED { ", ..." } else { "" };
    format!("{} {}{more}", if lines.len() == 1 { "line" } else { "lines" }, named.join(", "))
}
