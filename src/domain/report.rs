//! How a run ended, and what a parent gets to know about it. The runtime writes reports; a child
//! only supplies claims.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::budget::Dimension;
use super::ids::{RunId, TaskId};
use super::usage::{MicroUsd, Usage};
use super::violation::{Code, Violation};

/// The outcome in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The run ended its loop by itself, before its wrap-up turn.
    Completed,
    /// A dimension of its budget ran out.
    BudgetExhausted,
    /// Somebody or something cancelled it.
    Cancelled,
    /// Its contract was refused, or a policy denied a call of a headless parent.
    Blocked,
    /// The provider or this program failed.
    Failed,
    /// Its answer breaks its contract.
    InvalidResult,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Completed,
        Self::BudgetExhausted,
        Self::Cancelled,
        Self::Blocked,
        Self::Failed,
        Self::InvalidResult,
    ];

    /// The word as written in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::BudgetExhausted => "budget_exhausted",
            Self::Cancelled => "cancelled",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::InvalidResult => "invalid_result",
        }
    }
}

/// What ran out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exhausted {
    /// Turns of the run.
    Turns,
    /// Prompt tokens.
    InputTokens,
    /// Generated tokens.
    OutputTokens,
    /// Tool calls.
    ToolCalls,
    /// Money.
    CostUsd,
    /// Running time.
    Duration,
    /// The turns of all descendants of the parent run.
    TotalTurns,
    /// Patience with a run that repeats itself.
    Repeats,
}

impl From<Dimension> for Exhausted {
    fn from(dimension: Dimension) -> Self {
        match dimension {
            Dimension::Turns => Self::Turns,
            Dimension::InputTokens => Self::InputTokens,
            Dimension::OutputTokens => Self::OutputTokens,
            Dimension::ToolCalls => Self::ToolCalls,
            Dimension::CostUsd => Self::CostUsd,
            Dimension::Duration => Self::Duration,
        }
    }
}

/// Who cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The person at the keyboard.
    User,
    /// The parent run, by ending.
    Parent,
    /// An ancestor's budget.
    Budget,
    /// The program's own end, or `--timeout`.
    Shutdown,
}

/// How a run ended, with exactly the details that its status has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself.
    Completed,
    /// A dimension ran out.
    Exhausted(Exhausted),
    /// One request used more than was left, which took the run below zero.
    Overrun(Dimension),
    /// Cancelled.
    Cancelled(By),
    /// The session's `--timeout` passed.
    TimedOut,
    /// Refused before it started, or a call of a headless parent was denied.
    Blocked(Code),
    /// Failed.
    Failed(Code),
    /// The answer breaks the contract.
    Invalid,
}

impl Ending {
    /// The outcome in one word.
    pub fn status(self) -> Status {
        match self {
            Self::Completed => Status::Completed,
            Self::Exhausted(_) | Self::Overrun(_) => Status::BudgetExhausted,
            Self::Cancelled(_) | Self::TimedOut | Self::Blocked(Code::Cancelled) => {
                Status::Cancelled
            }
            Self::Blocked(_) => Status::Blocked,
            Self::Failed(_) => Status::Failed,
            Self::Invalid => Status::InvalidResult,
        }
    }

    /// The reason code; none for a completed run.
    pub fn code(self) -> Option<Code> {
        match self {
            Self::Completed => None,
            Self::Exhausted(Exhausted::Duration) | Self::TimedOut => Some(Code::Timeout),
            Self::Exhausted(Exhausted::Repeats) => Some(Code::LoopDetected),
            Self::Exhausted(_) => Some(Code::BudgetExhausted),
            Self::Overrun(_) => Some(Code::UsageExceeded),
            Self::Cancelled(_) => Some(Code::Cancelled),
            Self::Blocked(code) | Self::Failed(code) => Some(code),
            Self::Invalid => Some(Code::InvalidResult),
        }
    }

    /// What ran out, for an exhausted run.
    pub fn dimension(self) -> Option<Exhausted> {
        match self {
            Self::Exhausted(dimension) => Some(dimension),
            Self::Overrun(dimension) => Some(dimension.into()),
            Self::Completed
            | Self::Cancelled(_)
            | Self::TimedOut
            | Self::Blocked(_)
            | Self::Failed(_)
            | Self::Invalid => None,
        }
    }

    /// Who cancelled, for a cancelled run.
    pub fn by(self) -> Option<By> {
        match self {
            Self::Cancelled(by) => Some(by),
            Self::TimedOut => Some(By::Shutdown),
            Self::Completed
            | Self::Exhausted(_)
            | Self::Overrun(_)
            | Self::Blocked(_)
            | Self::Failed(_)
            | Self::Invalid => None,
        }
    }

    /// One sentence on how a parent should take this outcome.
    pub fn next(self) -> &'static str {
        if self == Self::Blocked(Code::Denied) {
            return "A call that it wanted to make was denied: take its answer as unfinished.";
        }
        if self == Self::Blocked(Code::DelegationLimit) {
            return "No other child starts in this answer: go on without one, or ask the user.";
        }
        match self.status() {
            Status::Completed => {
                "Done; its evidence marked verified was really shown to the child."
            }
            Status::BudgetExhausted => {
                "Unfinished: take this as a lead, and narrow or split the task before asking again."
            }
            Status::Cancelled => {
                "Cancelled: do not retry it by yourself; go on without it or ask the user."
            }
            Status::Blocked => "Refused before it started: ask for less, or ask the user.",
            Status::Failed => "Failed for outside reasons: it may be tried again once.",
            Status::InvalidResult => "Its answer broke its contract: do not rely on it.",
        }
    }
}

/// The kinds of doubt that the runtime attaches to a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum WarningCode {
    /// The answer was no JSON of the asked-for form.
    Unstructured,
    /// There was no text at all.
    NoText,
    /// The child used no tool.
    NoToolsUsed,
    /// A cited file or folder does not exist.
    EvidenceMissing,
    /// A cited place was never shown to the child.
    EvidenceNotRead,
    /// A cited line is outside the file.
    EvidenceLine,
    /// A cited path is outside the child's scope.
    EvidenceScope,
    /// A cited place was seen only through a shell command.
    EvidenceViaBash,
    /// A change was claimed that did not happen.
    ClaimedUnchanged,
    /// A change happened that was not claimed.
    ChangedUnclaimed,
    /// A change happened where the child may change nothing.
    ChangedOutside,
    /// Passing tests were claimed without a run.
    TestsNotRun,
    /// A call was refused.
    CallRefused,
    /// A field of the answer was unknown or ill-typed and was dropped.
    FieldDropped,
    /// Something was cut to fit.
    Cut,
    /// The child did not complete.
    Unfinished,
    /// The child itself said so.
    Claimed,
}

impl WarningCode {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::Unstructured,
        Self::NoText,
        Self::NoToolsUsed,
        Self::EvidenceMissing,
        Self::EvidenceNotRead,
        Self::EvidenceLine,
        Self::EvidenceScope,
        Self::EvidenceViaBash,
        Self::ClaimedUnchanged,
        Self::ChangedUnclaimed,
        Self::ChangedOutside,
        Self::TestsNotRun,
        Self::CallRefused,
        Self::FieldDropped,
        Self::Cut,
        Self::Unfinished,
        Self::Claimed,
    ];

    /// True if the report says what the runtime did not see, or leaves out what it did see: such a
    /// doubt is told to people even of a child that completed.
    pub fn is_serious(self) -> bool {
        match self {
            Self::EvidenceMissing
            | Self::EvidenceNotRead
            | Self::EvidenceLine
            | Self::EvidenceScope
            | Self::EvidenceViaBash
            | Self::ClaimedUnchanged
            | Self::ChangedUnclaimed
            | Self::ChangedOutside
            | Self::TestsNotRun
            | Self::CallRefused => true,
            Self::Unstructured
            | Self::NoText
            | Self::NoToolsUsed
            | Self::FieldDropped
            | Self::Cut
            | Self::Unfinished
            | Self::Claimed => false,
        }
    }
}

/// A doubt, in a word and in words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// The kind.
    pub code: WarningCode,
    /// The words.
    pub text: String,
}

impl Warning {
    /// A doubt.
    pub fn new(code: WarningCode, text: impl Into<String>) -> Self {
        Self { code, text: text.into() }
    }
}

/// A place that the child bases its answer on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// From the workspace's root.
    pub path: String,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Why it matters, in the child's words.
    pub reason: String,
    /// True if the runtime showed this place to the child.
    pub verified: bool,
    /// True if the child can have seen it through a command only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub via_bash: bool,
}

/// What one attempt used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// All prompt tokens.
    pub input_tokens: u64,
    /// All generated tokens.
    pub output_tokens: u64,
    /// Calls asked for.
    pub tool_calls: u64,
    /// Running time.
    pub duration_ms: u64,
    /// Money; `None` while the price is unknown.
    pub cost_usd: Option<MicroUsd>,
}

impl Spent {
    /// The tokens and money of `usage` beside counted calls and time.
    pub fn new(usage: &Usage, tool_calls: u64, duration_ms: u64) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            tool_calls,
            duration_ms,
            cost_usd: usage.cost_usd,
        }
    }
}

/// All that a parent gets of a child. Its fields are in the order of the file format.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The task; none for a refusal.
    pub task_id: Option<TaskId>,
    /// The attempt, from 1; none for a refusal.
    pub attempt: Option<u32>,
    /// The outcome in one word.
    pub status: Status,
    /// The reason code; none for a completed task.
    pub code: Option<Code>,
    /// What ran out.
    pub dimension: Option<Exhausted>,
    /// Who cancelled.
    pub by: Option<By>,
    /// The child's claim, or the runtime's words where there is none.
    pub summary: String,
    /// Cited places, each checked.
    pub evidence: Vec<Evidence>,
    /// The role's own fields.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
    /// Doubts.
    pub warnings: Vec<Warning>,
    /// The broken rules of a refusal.
    pub violations: Vec<Violation>,
    /// What changed in the workspace, by the runtime's own measure.
    pub changed_paths: Vec<String>,
    /// True if it did not complete and changed something: nobody has looked at that yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_review: bool,
    /// Model requests made.
    pub turns: u32,
    /// What it used.
    pub usage: Spent,
    /// How to take this outcome.
    pub next: String,
    /// The name of its trace; none for a refusal.
    pub trace: Option<RunId>,
}

impl Report {
    /// The size that a report may have as JSON, in bytes.
    pub const MAX_BYTES: usize = 8 * 1024;

    /// The keys that every report has: no field of a role may bear one of these names.
    pub const COMMON_FIELDS: [&str; 16] = [
        "task_id",
        "attempt",
        "status",
        "code",
        "dimension",
        "by",
        "summary",
        "evidence",
        "warnings",
        "violations",
        "changed_paths",
        "needs_review",
        "turns",
        "usage",
        "next",
        "trace",
    ];

    /// The same report cut to [`Self::MAX_BYTES`]: the summary first, then the longest lists; a cut
    /// is made on a character boundary and said. Own fields of a role that bear the name of a
    /// common one are dropped, so that a child cannot write the runtime's part.
    #[must_use]
    pub fn capped(mut self) -> Self {
        self.fields.retain(|name, _| !Self::COMMON_FIELDS.contains(&name.as_str()));
        super::cap::cap(self)
    }

    /// The report as the parent reads it.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|error| format!("(no report: {error})"))
    }
}
