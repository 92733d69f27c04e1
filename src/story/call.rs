//! One tool call of anybody, from the moment a model asked for it.

use serde_json::Value;

use crate::domain::event::{Fact, Failure, Timestamp};
use crate::domain::ids::CallId;

use super::approval::Verdict;
use super::command_end::CommandEnd;
use super::delegation::NodeId;
use super::fold_own::OWN_COMMAND;

/// How much of a running command's output is kept, in bytes.
const TAIL_BYTES: usize = 32 * 1_024;

/// Rows of a running command's output that stand under its call.
const LIVE_ROWS: usize = 3;
/// The same for a command of the user's own, which is looked at for its output.
const OWN_ROWS: usize = 8;

/// The tool that shows the parent's list of what is to be done.
const TODO: &str = "todo";
/// Rows of that list that stand under its call.
const TODO_ROWS: usize = 10;

/// How a call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    /// Asked for; the guard has not let it start.
    Requested,
    /// Waits for a person's word.
    Asking,
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
    /// How much a running command has written so far, in bytes.
    pub written: u64,
    /// How the question about it ended, if there was one.
    pub verdict: Option<Verdict>,
    /// For a `task` call: the child that it became.
    pub child: Option<NodeId>,
    /// True for a list of what is to be done once there is a newer one.
    pub superseded: bool,
}

impl Call {
    pub(super) fn new(id: CallId, name: String, arguments: Value, since: Timestamp) -> Self {
        Self {
            id,
            name,
            arguments,
            state: CallState::Requested,
            since,
            output: String::new(),
            written: 0,
            verdict: None,
            child: None,
            superseded: false,
        }
    }

    /// True until the result is there.
    pub fn is_open(&self) -> bool {
        match self.state {
            CallState::Requested | CallState::Asking | CallState::Running => true,
            CallState::Finished { .. } => false,
        }
    }

    /// True for a command that the user typed.
    pub fn is_own(&self) -> bool {
        self.name == OWN_COMMAND
    }

    /// True for the parent's list of what is to be done, once it is taken.
    pub fn is_list(&self) -> bool {
        self.name == TODO && matches!(self.state, CallState::Finished { ok: true, .. })
    }

    /// The items of a list, each with its mark before it: `[x]` done, `[>]` in progress, `[ ]` open.
    pub fn items(&self) -> impl Iterator<Item = &str> {
        self.output.lines().filter(|line| self.is_list() && line.starts_with('['))
    }

    /// The items that stand under the newest list: of a long one those from the last that is done
    /// before the first that is not.
    fn listed(&self) -> Vec<&str> {
        let items: Vec<&str> = self.items().collect();
        let open = items.iter().position(|item| !item.starts_with("[x]")).unwrap_or(items.len());
        let from = open.saturating_sub(1).min(items.len().saturating_sub(TODO_ROWS));
        items.into_iter().skip(from).take(TODO_ROWS).collect()
    }

    /// The last lines of what it wrote that stand under it: of a running call, and of the user's
    /// own command for good; and the items of the newest list of what is to be done.
    pub fn tail(&self) -> Vec<&str> {
        if self.is_list() {
            return if self.superseded { Vec::new() } else { self.listed() };
        }
        let most = match self.state {
            CallState::Running | CallState::Finished { .. } if self.is_own() => OWN_ROWS,
            CallState::Running if self.child.is_none() => LIVE_ROWS,
            CallState::Requested
            | CallState::Asking
            | CallState::Running
            | CallState::Finished { .. } => return Vec::new(),
        };
        self.last_lines(most)
    }

    /// The last lines that have something in them. Of a line that was written over, the newest
    /// words count.
    pub fn last_lines(&self, most: usize) -> Vec<&str> {
        let words = self.output.trim_end().rsplit('\n').map(|line| {
            let line = line.trim_end_matches('\r');
            line.rsplit('\r').next().unwrap_or(line)
        });
        let mut lines: Vec<&str> =
            words.filter(|line| !line.trim().is_empty()).take(most).collect();
        lines.reverse();
        lines
    }

    /// True if it ended otherwise than well.
    pub fn failed(&self) -> bool {
        match self.state {
            CallState::Requested | CallState::Asking | CallState::Running => false,
            CallState::Finished { ok, .. } => !ok,
        }
    }

    /// How the command that it ran ended, once that is known.
    pub fn command_end(&self) -> Option<CommandEnd<'_>> {
        if self.is_open() { None } else { CommandEnd::of(&self.name, &self.output) }
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

    pub(super) fn finish(&mut self, fact: &Fact, at: Timestamp) {
        if let Fact::ToolFinished { ok, failure, bytes, truncated, duration_ms, .. } = *fact {
            self.state = CallState::Finished { ok, failure, bytes, truncated, duration_ms };
            self.since = at;
        }
    }

    pub(super) fn append_progress(&mut self, text: &str) {
        self.written += text.len() as u64;
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
