//! `todo`: the parent's own list of what is to be done. The whole list is given each time; the result
//! is the list as people and the model read it.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments};
use crate::domain::choose::PARENT_TOOLS;
use crate::domain::role::Permission;
use crate::workspace::path::on_one_line;

/// Items that a list may have.
const MAX_ITEMS: usize = 50;
/// Characters of an item.
const MAX_CHARS: usize = 300;

#[derive(Deserialize)]
struct Arguments {
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    text: String,
    state: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Pending,
    InProgress,
    Done,
}

impl State {
    /// By the names of the schema, and by others that models use for the same.
    fn from_name(name: &str) -> Option<Self> {
        match name.trim().to_ascii_lowercase().replace([' ', '-'], "_").as_str() {
            "pending" | "open" | "todo" | "not_started" => Some(Self::Pending),
            "in_progress" | "doing" | "active" | "running" => Some(Self::InProgress),
            "done" | "completed" | "complete" | "finished" => Some(Self::Done),
            _ => None,
        }
    }

    fn mark(self) -> &'static str {
        match self {
            Self::Pending => "[ ]",
            Self::InProgress => "[>]",
            Self::Done => "[x]",
        }
    }
}

/// The tool.
pub struct Todo {
    spec: ToolSpec,
}

impl Todo {
    /// The tool with its schema.
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: PARENT_TOOLS[1],
            description: include_str!("../../assets/tools/todo.md").trim(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "items": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "text": { "type": "string" },
                                "state": {
                                    "type": "string",
                                    "description": "pending, in_progress or done",
                                },
                            },
                            "required": ["text", "state"],
                            "additionalProperties": false,
                        },
                    },
                },
                "required": ["items"],
                "additionalProperties": false,
            }),
            permission: Permission::Read,
            // Of two lists in one batch the later one stands.
            read_only: false,
        };
        Self { spec }
    }
}

impl Default for Todo {
    fn default() -> Self {
        Self::new()
    }
}

impl Tool for Todo {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, _context: ToolContext) -> ToolFuture {
        let read = arguments::read(&self.spec.parameters, &arguments);
        let output = match read.map_err(|error| error.text).and_then(listed) {
            Ok(text) => ToolOutput::whole(text),
            Err(why) => ToolOutput::error(why),
        };
        Box::pin(std::future::ready(output))
    }
}

/// The list as text: how far it is, then one line an item.
fn listed(arguments: Arguments) -> Result<String, String> {
    let items = arguments.items;
    if items.is_empty() {
        return Ok("the list is empty".to_owned());
    }
    if items.len() > MAX_ITEMS {
        let words = format!("items has {} entries, at most {MAX_ITEMS} are taken", items.len());
        return Err(format!("the list is as it was: {words}"));
    }
    let mut lines = Vec::with_capacity(items.len());
    let mut done = 0;
    for (index, Item { text, state }) in items.iter().enumerate() {
        let at = format!("the list is as it was: items[{index}]");
        let Some(state) = State::from_name(state) else {
            return Err(format!("{at}.state is to be pending, in_progress or done"));
        };
        if text.trim().is_empty() {
            return Err(format!("{at}.text is blank"));
        }
        done += usize::from(state == State::Done);
        let short: String = text.trim().chars().take(MAX_CHARS).collect();
        lines.push(format!("{} {}", state.mark(), on_one_line(&short)));
    }
    Ok(format!("{done} of {} done\n{}", items.len(), lines.join("\n")))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn list(items: &[(&str, &str)]) -> Result<String, String> {
        let item = |(text, state): &(&str, &str)| Item {
            text: (*text).to_owned(),
            state: (*state).to_owned(),
        };
        listed(Arguments { items: items.iter().map(item).collect() })
    }

    #[test]
    fn a_list_says_how_far_it_is_and_what_stands_on_it() {
        let text = list(&[
            ("look at the tests", "done"),
            ("mend\nthe parser", "In Progress"),
            ("write it down", "pending"),
        ]);
        let lines: Vec<String> = text.unwrap().lines().map(str::to_owned).collect();
        assert_eq!(lines[0], "1 of 3 done");
        assert_eq!(lines[1], "[x] look at the tests");
        assert!(lines[2].starts_with("[>] mend") && lines[2].ends_with("the parser"));
        assert_eq!((lines[3].as_str(), lines.len()), ("[ ] write it down", 4));
        assert_eq!(list(&[]).unwrap(), "the list is empty");
    }

    #[test]
    fn an_item_that_does_not_fit_is_named() {
        assert!(list(&[("a", "done"), ("b", "later")]).unwrap_err().contains("items[1].state"));
        assert!(list(&[(" ", "done")]).unwrap_err().contains("items[0].text"));
        assert!(list(&[("a", "done"); MAX_ITEMS + 1]).unwrap_err().contains("at most 50"));
    }
}
