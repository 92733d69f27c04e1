//! `note`: a text that the parent's model gives a name, so that a task can be handed it by key. The
//! tool reads the call and says what is to be kept; keeping it is its host's matter.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Effects, Noted, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments};
use crate::domain::choose::PARENT_TOOLS;
use crate::domain::context_store::key_problem;
use crate::domain::role::Permission;
use crate::workspace::path::printable;

/// Bytes that a note may have: it has to fit into a child's prompt.
pub const MAX_BYTES: usize = 64 * 1_024;

#[derive(Deserialize)]
struct Arguments {
    key: String,
    text: String,
}

/// The tool.
pub struct Note {
    spec: ToolSpec,
}

impl Note {
    /// The tool with its schema.
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: PARENT_TOOLS[0],
            description: include_str!("../../assets/tools/note.md").trim(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "key": { "type": "string" },
                    "text": { "type": "string" },
                },
                "required": ["key", "text"],
                "additionalProperties": false,
            }),
            permission: Permission::Read,
            // Two notes of one batch are kept in the order of their calls.
            read_only: false,
        };
        Self { spec }
    }
}

impl Default for Note {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Note {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, _context: ToolContext) -> ToolFuture {
        let read = arguments::read(&self.spec.parameters, &arguments);
        let output = match read.map_err(|error| error.text).and_then(noted) {
            Ok(output) => output,
            Err(why) => ToolOutput::error(why),
        };
        Box::pin(std::future::ready(output))
    }
}

fn noted(arguments: Arguments) -> Result<ToolOutput, String> {
    let Arguments { key, text } = arguments;
    if let Some(problem) = key_problem(&key) {
        return Err(format!("nothing was noted: `{}` {problem}", printable(&key)));
    }
    if text.trim().is_empty() {
        return Err("nothing was noted: text is blank".to_owned());
    }
    if text.len() > MAX_BYTES {
        let words = format!("text has {} bytes, at most {MAX_BYTES} are kept", text.len());
        return Err(format!("nothing was noted: {words}"));
    }
    let said = format!("noted `{key}` ({} B); a task can be given it by this key", text.len());
    let effects = Effects { noted: Some(Noted { key, text }), ..Effects::default() };
    Ok(ToolOutput { effects, ..ToolOutput::whole(said) })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn call(key: &str, text: &str) -> Result<ToolOutput, String> {
        noted(Arguments { key: key.to_owned(), text: text.to_owned() })
    }

    #[test]
    fn a_note_is_handed_to_the_host() {
        let output = call("plan", "three steps").unwrap();
        assert!(output.ok && output.text.contains("`plan` (11 B)"), "{}", output.text);
        let noted = Noted { key: "plan".to_owned(), text: "three steps".to_owned() };
        assert_eq!(output.effects.noted, Some(noted));
    }

    #[test]
    fn what_is_no_name_or_no_text_is_refused() {
        let long = "x".repeat(MAX_BYTES + 1);
        for (key, text) in
            [("report:1", "x"), ("request", "x"), ("", "x"), ("a", " \n"), ("a", &long)]
        {
            assert!(call(key, text).unwrap_err().starts_with("nothing was noted"), "{key}");
        }
    }
}
