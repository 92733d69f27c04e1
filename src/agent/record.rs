//! What was recorded of one run while it went on. Reports are made from this and from nothing the
//! child says about itself, so something always comes back, whatever way the run ended.

use super::below;
use crate::domain::report::Report;
use crate::domain::usage::Usage;
use crate::tool::Shown;

/// Bytes of commands and their output that are kept.
const MAX_HEARD_BYTES: usize = 1024 * 1024;

/// The facts of one run.
#[derive(Debug, Clone)]
pub struct Record {
    /// Model requests made.
    pub turns: u32,
    /// Its own requests.
    pub usage: Usage,
    /// With all descendants.
    pub usage_total: Usage,
    /// Calls the model asked for and that were not left unrun, with those of all descendants.
    pub tool_calls: u64,
    /// Its newest text.
    pub last_text: String,
    /// The places that its tools showed it.
    pub shown: Vec<Shown>,
    /// Calls that came to a result, as `name: outcome`, for a salvaged report.
    pub done: Vec<String>,
    /// Names of the calls that the guard refused.
    pub refused: Vec<String>,
    /// Calls that a person, a rule, the mode or a policy denied, each with its first argument.
    pub denied: Vec<String>,
    /// Reports of its own children.
    pub children: Vec<Report>,
    /// Reports of tasks deeper down that did not complete or say what was not seen.
    pub below: Vec<Report>,
    /// Commands it ran and what they showed, as far as it is kept for checking what it cites.
    pub heard: Vec<String>,
    /// Processes of its calls, and of those below it, that had to be ended.
    pub processes_ended: u32,
    /// Requests, its own and of those below it, that were open when they were cancelled.
    pub connections_closed: u32,
    /// Tokens, by estimate, that came in after a cancel, for it and those below it.
    pub tokens_after_cancel: u64,
    /// Calls that did not end in time after a cancel, and processes that could not be ended, with
    /// those of its descendants.
    pub not_ended: Vec<String>,
    /// Why a provider or this program failed, in words.
    pub failure: Option<String>,
    /// How long it ran, in ms.
    pub duration_ms: u64,
}

/// How a child ended, with all that was below it, for its parent's record.
#[derive(Debug, Clone)]
pub struct ChildEnd {
    /// What its parent reads.
    pub report: Report,
    /// Reports of tasks below it that did not complete or say what was not seen.
    pub below: Vec<Report>,
    /// Its requests and those of its descendants.
    pub usage_total: Usage,
    /// Processes that had to be ended.
    pub processes_ended: u32,
    /// Requests that were open.
    pub connections_closed: u32,
    /// Tokens that came in after a cancel.
    pub tokens_after_cancel: u64,
    /// What could not be ended.
    pub not_ended: Vec<String>,
}

impl ChildEnd {
    /// A task that never ran.
    pub fn never_ran(report: Report) -> Self {
        Self {
            report,
            below: Vec::new(),
            usage_total: Usage::none(),
            processes_ended: 0,
            connections_closed: 0,
            tokens_after_cancel: 0,
            not_ended: Vec::new(),
        }
    }

    /// A child that was recorded.
    pub fn of(record: &Record, report: Report) -> Self {
        let below = record.children.iter().filter(|report| below::is_doubtful(report));
        Self {
            report,
            below: below.chain(&record.below).cloned().collect(),
            usage_total: record.usage_total,
            processes_ended: record.processes_ended,
            connections_closed: record.connections_closed,
            tokens_after_cancel: record.tokens_after_cancel,
            not_ended: record.not_ended.clone(),
        }
    }
}

impl Default for Record {
    fn default() -> Self {
        Self {
            turns: 0,
            usage: Usage::none(),
            usage_total: Usage::none(),
            tool_calls: 0,
            last_text: String::new(),
            shown: Vec::new(),
            done: Vec::new(),
            refused: Vec::new(),
            denied: Vec::new(),
            children: Vec::new(),
            below: Vec::new(),
            heard: Vec::new(),
            processes_ended: 0,
            connections_closed: 0,
            tokens_after_cancel: 0,
            not_ended: Vec::new(),
            failure: None,
            duration_ms: 0,
        }
    }
}

impl Record {
    /// Adds a request of its own.
    pub fn add_request(&mut self, usage: Usage) {
        self.usage += usage;
        self.usage_total += usage;
    }

    /// Keeps what a command said, up to a mebibyte in all.
    pub fn hear(&mut self, text: String) {
        let kept: usize = self.heard.iter().map(String::len).sum();
        if kept + text.len() <= MAX_HEARD_BYTES {
            self.heard.push(text);
        }
    }

    /// Adds a child that ended, with all that is below it.
    pub fn add_child(&mut self, child: ChildEnd) {
        self.usage_total += child.usage_total;
        self.tool_calls += child.report.usage.tool_calls;
        self.processes_ended += child.processes_ended;
        self.connections_closed += child.connections_closed;
        self.tokens_after_cancel += child.tokens_after_cancel;
        self.not_ended.extend(child.not_ended);
        self.below.extend(child.below);
        self.children.push(child.report);
    }
}
