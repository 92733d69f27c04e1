//! One tool call of anybody, from the moment a model asked for it.

use serde_json::Value;

use crate::domain::event::{Failure, Timestamp};
use crate::domain::ids::CallId;

use super::delegation::NodeId;

/// How much of a running command's output is kept, in bytes.
const TAIL_BYTES: usize = 4_096;

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// Asked for; the guard has not let it start.
    Requested,
    /// Running.
    Running,
    /// Came to its result.
    Finished {
        /// False for every failure.
        ok: bool,
        /// What went wrong.
        failure: Option<Failure>,
        /// The result's size before cutting, in bytes.
        bytes: u64,
        /// True if it was cut.
        truncated: bool,
        /// How long it took.
        duration_ms: u64,
    },
}

/// A tool call and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Ties it to its result.
    pub id: CallId,
    /// The tool, as the model wrote it.
    pub name: String,
    /// The arguments.
    pub arguments: Value,
    /// How it stands.
    pub state: CallState,
    /// Since when.
    pub since: Timestamp,
    /// The result as it entered the history, or the tail of what a running command wrote.
    pub output: String,
    /// For a `task` call: the child that it became.
    pub child: Option<NodeId>,
}

impl Call {
    pub(super) fn new(id: CallId, name: String, arguments: Value, since: Timestamp) -> Self {
        let output = String::new();
        Self { id, name, arguments, state: CallState::Requested, since, output, child: None }
    }

    /// True until the result is there.
    pub fn is_open(&self) -> bool {
        match self.state {
            CallState::Requested | CallState::Running => true,
            CallState::Finished { .. } => false,
        }
    }

    /// True if it ended otherwise than well.
    pub fn failed(&self) -> bool {
        match self.state {
            CallState::Requested | CallState::Running => false,
            CallState::Finished { ok, .. } => !ok,
        }
    }

    /// The arguments in one line: the values alone, the telling one first; text unquoted where it
    /// stands for a path, quoted where it is a pattern or a command.
    pub fn summary(&self) -> String {
        match &self.arguments {
            Value::Object(fields) => {
                let ordered = leading(fields).into_iter().chain(rest(fields));
                ordered.map(|(name, value)| brief(name, value)).collect::<Vec<_>>().join(" ")
            }
            Value::Null => String::new(),
            Value::String(text) => cut(text),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_)) => {
                cut(&other.to_string())
            }
        }
    }

    pub(super) fn same_as(&self, other: &Self) -> bool {
        self.name == other.name && self.arguments == other.arguments
    }

    pub(super) fn append_progress(&mut self, text: &str) {
        self.output.push_str(text);
        let mut excess = self.output.len().saturating_sub(TAIL_BYTES);
        while !self.output.is_char_boundary(excess) {
            excess += 1;
        }
        self.output.drain(..excess);
    }
}

type Fields = serde_json::Map<String, Value>;

const LEADING: [&str; 4] = ["pattern", "command", "path", "description"];

fn leading(fields: &Fields) -> Vec<(&String, &Value)> {
    LEADING.iter().filter_map(|name| fields.get_key_value(*name)).collect()
}

fn rest(fields: &Fields) -> impl Iterator<Item = (&String, &Value)> {
    fields.iter().filter(|(name, _)| !LEADING.contains(&name.as_str()))
}

fn brief(name: &str, value: &Value) -> String {
    match (name, value) {
        ("path" | "description", Value::String(text)) => cut(text),
        ("pattern" | "command", Value::String(text)) => format!("\"{}\"", cut(text)),
        (_, Value::String(text)) => format!("{name}=\"{}\"", cut(text)),
        (_, Value::Null | Value::Bool(_) | Value::Number(_)) => format!("{name}={value}"),
        (_, Value::Array(items)) => format!("{name}=[{}]", items.len()),
        (_, Value::Object(items)) => format!("{name}={{{}}}", items.len()),
    }
}

/// A line is at most as long as a wide screen, so that a megabyte of arguments costs nothing.
fn cut(text: &str) -> String {
    const CHARS: usize = 200;
    let mut shown: String = text.chars().take(CHARS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
