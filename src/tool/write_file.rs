//! `write_file`: a whole file. One that is there is replaced only if the model knows what it
//! replaces.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::approval::Preview;
use crate::domain::role::Permission;
use crate::workspace::path::printable;
use crate::workspace::seen::Knowledge;

use super::blocking::{self, Outcome};
use super::change::{self, Change, MAX_BYTES, measure};
use super::excerpt::size;
use super::{PreviewFuture, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments};

const VERB: &str = "write";

/// The tool.
pub struct WriteFile {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

impl WriteFile {
    /// The tool.
    #[expect(clippy::new_without_default, reason = "a tool has no default state")]
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: "write_file",
            description: include_str!("../../assets/tools/write_file.md").trim_ascii(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "From the workspace's root"},
                    "content": {"type": "string", "description": "All of the file"},
                },
                "required": ["path", "content"],
                "additionalProperties": false,
            }),
            permission: Permission::Write,
            read_only: false,
        };
        Self { spec }
    }
}

impl Tool for WriteFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn preview(&self, arguments: &Value, context: &ToolContext) -> PreviewFuture {
        let arguments = arguments::read(&self.spec.parameters, arguments);
        blocking::preview(context.clone(), move |context| look(context, read(arguments)?))
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        let arguments = arguments::read(&self.spec.parameters, &arguments);
        blocking::run(context, move |context| write(context, read(arguments)?))
    }
}

fn read(arguments: Result<Arguments, arguments::ArgumentError>) -> Result<Arguments, String> {
    arguments.map_err(|error| error.text)
}

fn look(context: &ToolContext, arguments: Arguments) -> Result<Preview, String> {
    Ok(plan(context, arguments)?.preview(VERB))
}

fn write(context: &ToolContext, arguments: Arguments) -> Outcome {
    let change = plan(context, arguments)?;
    if change.is_none() {
        let path = change.spot.path();
        if let Some(stamp) = change.spot.stamp() {
            context.seen.note(&path, stamp);
        }
        let (path, measure) = (printable(&path), measure(&change.new));
        let text = format!("`{path}` is unchanged: it has this content already ({measure})");
        return Ok(ToolOutput::whole(text));
    }
    let done = change.make(VERB, context)?;
    done.note(context);
    let was = match done.before {
        None => "new".to_owned(),
        Some(bytes) => format!("replaced {}", size(bytes)),
    };
    let facts = format!("wrote {} ({}, {was})", printable(&done.asked), done.measure());
    Ok(done.output(&facts))
}

/// What is to be done, if it may be.
fn plan(context: &ToolContext, arguments: Arguments) -> Result<Change, String> {
    let new = arguments.content.into_bytes();
    if new.len() as u64 > MAX_BYTES {
        let (has, most) = (size(new.len() as u64), size(MAX_BYTES));
        return Err(format!("`content` has {has}; write_file takes at most {most}"));
    }
    let (asked, spot) = change::find(context, &arguments.path)?;
    let old = spot.read(MAX_BYTES).map_err(|error| error.to_string())?;
    let change = Change { spot, asked, old, new };
    if change.is_none() {
        return Ok(change);
    }
    let name = printable(&change.asked);
    match change.knowledge(context) {
        None | Some(Knowledge::Current) => Ok(change),
        Some(Knowledge::Unknown) => Err(format!(
            "`{name}` exists and you have not read it; read it first, or change parts of it with \
             edit_file"
        )),
        Some(Knowledge::Stale { by }) => Err(format!(
            "`{name}` was changed by {} since you read it; read it again before you replace it",
            by.as_deref().unwrap_or("somebody else")
        )),
    }
}
