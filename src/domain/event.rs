//! One vocabulary for log, stream, screen, replay and resume: what happened, in the past tense.
//!
//! The JSON line *is* the event. Fields and types may be added, never renamed; readers ignore what
//! they do not know. Names mirror the OpenTelemetry terms for generative AI where one exists:
//!
//! | here | OpenTelemetry |
//! |---|---|
//! | `session` | `gen_ai.conversation.id` |
//! | `provider` | `gen_ai.provider.name` |
//! | `model` | `gen_ai.request.model` |
//! | `usage.input_tokens` | `gen_ai.usage.input_tokens` |
//! | `usage.output_tokens` | `gen_ai.usage.output_tokens` |
//! | `usage.cache_read_tokens` | `gen_ai.usage.cache_read.input_tokens` |
//! | `usage.cache_write_tokens` | `gen_ai.usage.cache_creation.input_tokens` |
//! | `message.stop_reason` | `gen_ai.response.finish_reasons` |
//! | `tool_started.call` | `gen_ai.tool.call.id` |
//! | `tool_started.name` | `gen_ai.tool.name` |
//! | `run_started.role` | `gen_ai.agent.name` |

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::budget::{Budget, Remaining};
use super::context_store::{Sensitivity, SnippetCard};
use super::hash::Sha;
use super::ids::{CallId, SessionId};
use super::message::{AssistantMessage, Block, StopReason, ToolCall};
use super::report::{By, Exhausted, Report, Status};
use super::role::Permission;
use super::scope::PathScope;
use super::usage::Usage;
use super::violation::{Code, Violation};

pub use super::stamp::{Origin, Timestamp};

/// The version of the vocabulary.
pub const VERSION: u32 = 1;

/// Something that happened, stamped by the hub. Each sink adds its own `seq` when it writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// One counter per session, the same in every sink.
    pub id: u64,
    /// When.
    pub ts: Timestamp,
    /// Where it comes from.
    #[serde(flatten)]
    pub origin: Origin,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
}

/// One line of a file or stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The version of the vocabulary.
    pub v: u32,
    /// The sink's own counter, from 1 without gaps.
    pub seq: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

/// Which side of a conversation spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// A person, or the task of a child.
    User,
    /// A model.
    Assistant,
}

/// Why a tool call did not succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The tool ran and failed.
    Error,
    /// The guard or the contract did not let it run.
    Refused,
    /// A person or a policy said no.
    Denied,
    /// Cancelled while it ran.
    Cancelled,
    /// Never started.
    NotRun,
}

/// How serious a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Do not overlook.
    Warning,
    /// Something failed.
    Error,
}

/// What a run was given, without a byte of any snippet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContractView {
    /// The task, or for a parent the user's message.
    pub prompt: String,
    /// What is to come back.
    pub expected_output: String,
    /// The snippets' cards.
    pub context: Vec<SnippetCard>,
    /// What it may do.
    pub permissions: BTreeSet<Permission>,
    /// Where.
    pub paths: Vec<PathScope>,
    /// With which tools.
    pub tools: Vec<String>,
    /// Its limits.
    pub budget: Budget,
    /// Its part of the parent's remaining in each dimension, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Who answers it.
    pub provider: String,
    /// With which model.
    pub model: String,
}

/// Parts of a parent's remaining, from 0 to 1; `None` where nothing bounds the parent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// Turns.
    pub turns: Option<f64>,
    /// Prompt tokens.
    pub input_tokens: Option<f64>,
    /// Generated tokens.
    pub output_tokens: Option<f64>,
    /// Tool calls.
    pub tool_calls: Option<f64>,
    /// Money.
    pub cost_usd: Option<f64>,
    /// Running time.
    pub duration_ms: Option<f64>,
}

/// What was left behind and what was not, after a cancel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// Processes that were ended.
    pub processes_ended: u32,
    /// Open model requests that were closed.
    pub connections_closed: u32,
    /// Files that the run had changed.
    pub files_touched: Vec<String>,
    /// Tokens that came in after the cancel.
    pub tokens_after_cancel: u64,
    /// What could not be ended in time.
    pub not_ended: Vec<String>,
}

/// How a run ended and what it came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFinished {
    /// The outcome in one word.
    pub status: Status,
    /// The reason code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// What ran out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dimension: Option<Exhausted>,
    /// Who cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<By>,
    /// Model requests made.
    pub turns: u32,
    /// Its own requests.
    pub usage: Usage,
    /// With all descendants.
    pub usage_total: Usage,
    /// A parent's answer, or what there is of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// A child's report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
    /// What changed in the workspace.
    pub changed: Vec<ChangedPath>,
    /// The hash of the serialised contract.
    pub contract_sha256: Sha,
    /// The hash of the report's JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report_sha256: Option<Sha>,
    /// What a cancel ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Receipt>,
}

/// A file that a run changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedPath {
    /// From the workspace's root.
    pub path: String,
    /// `added`, `modified` or `deleted`.
    pub change: String,
    /// The hash of the new content.
    pub sha256: Option<Sha>,
}

/// A message as events show it: the blocks are the whole, `text` and `tool_calls` are projections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageFact {
    /// Who spoke.
    pub role: Speaker,
    /// The pieces in wire order.
    pub blocks: Vec<Block>,
    /// All text.
    pub text: String,
    /// All calls.
    pub tool_calls: Vec<ToolCall>,
    /// The provider, for a model's message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why the model stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
    /// True if it was cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

impl MessageFact {
    /// A person's words.
    pub fn user(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            role: Speaker::User,
            blocks: vec![Block::Text { text: text.clone() }],
            text,
            tool_calls: Vec::new(),
            provider: None,
            model: None,
            stop_reason: None,
            interrupted: false,
        }
    }
}

impl From<&AssistantMessage> for MessageFact {
    fn from(message: &AssistantMessage) -> Self {
        Self {
            role: Speaker::Assistant,
            blocks: message.blocks.clone(),
            text: message.text(),
            tool_calls: message.tool_calls().cloned().collect(),
            provider: Some(message.provider.clone()),
            model: Some(message.model.clone()),
            stop_reason: message.stop_reason.clone(),
            interrupted: message.interrupted,
        }
    }
}

/// What happened.
#[expect(
    clippy::large_enum_variant,
    reason = "the large ones happen once a run, and events are passed on behind a pointer"
)]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Fact {
    /// A conversation was opened.
    SessionStarted {
        /// Its id.
        session: SessionId,
        /// The program's version.
        version: String,
        /// The folder it works in.
        workspace: String,
        /// Who answers.
        provider: String,
        /// With which model.
        model: String,
        /// What is allowed without asking.
        permission_mode: String,
        /// How commands are fenced.
        fence: String,
        /// What each parent run gets.
        budget: Budget,
    },
    /// A conversation was closed.
    SessionFinished {
        /// Why, in a word or a sentence.
        reason: String,
    },
    /// A snippet came into the context store.
    ContextAdded {
        /// What may be told about it.
        #[serde(flatten)]
        card: SnippetCard,
        /// Who may see it.
        sensitivity: Sensitivity,
        /// The text; only in the session file, never of a secret.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// A task waits for a free place.
    TaskQueued {
        /// The `task` call.
        call: CallId,
        /// What the screen calls it, before its contract exists.
        description: String,
        /// The role it will have.
        role: String,
        /// How many are before it.
        position: u32,
    },
    /// A run began.
    RunStarted {
        /// The `task` call, for a child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        /// Its role; `parent` for the parent.
        role: String,
        /// A few words for the screen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        description: Option<String>,
        /// 0 for the parent.
        depth: u32,
        /// What it was given.
        contract: ContractView,
    },
    /// A delegation was refused; nothing else happened.
    ContractRefused {
        /// The `task` call.
        call: CallId,
        /// The first violation's code.
        code: Code,
        /// The first violation's field.
        field: String,
        /// The first violation's words.
        message: String,
        /// All of them.
        violations: Vec<Violation>,
    },
    /// A model request was sent.
    TurnStarted {
        /// From 1.
        turn: u32,
        /// How many there may be; `None` without a bound.
        of: Option<u64>,
        /// True if the model may not call tools and is asked to report.
        wrap_up: bool,
        /// The prompt's size by estimate, in tokens.
        prompt_tokens_estimate: u64,
    },
    /// Words of the model came in. Transient.
    TextDelta {
        /// The new words.
        text: String,
    },
    /// Reasoning of the model came in. Transient.
    ReasoningDelta {
        /// The new reasoning.
        text: String,
    },
    /// A message entered the history.
    Message(MessageFact),
    /// The guard let a call start.
    ToolStarted {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// The arguments.
        arguments: serde_json::Value,
    },
    /// A running command wrote something. Transient.
    ToolProgress {
        /// The call.
        call: CallId,
        /// The new tail of its output.
        text: String,
    },
    /// A call came to its result.
    ToolFinished {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// False for every failure.
        ok: bool,
        /// As it enters the history.
        output: String,
        /// The size before cutting.
        bytes: u64,
        /// True if it was cut.
        truncated: bool,
        /// How long it took.
        duration_ms: u64,
        /// What went wrong.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
    },
    /// A model request was charged.
    Usage {
        /// What it used.
        #[serde(flatten)]
        usage: Usage,
        /// What the run has left.
        remaining: Remaining,
    },
    /// The runtime has something to say.
    Notice {
        /// How serious.
        level: Level,
        /// A stable word.
        code: String,
        /// The words.
        text: String,
    },
    /// Somebody asked for a cancel. Nothing has ended yet.
    CancelRequested {
        /// A run or a task.
        target: String,
        /// Who.
        by: By,
    },
    /// A run ended.
    RunFinished(Box<RunFinished>),
    /// Something that this version does not know.
    #[serde(other)]
    Unknown,
}

impl Fact {
    /// True for events that only streams and screens get: a later event holds the whole.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::TextDelta { .. } | Self::ReasoningDelta { .. } | Self::ToolProgress { .. }
        )
    }

    /// A notice.
    pub fn notice(level: Level, code: &str, text: impl Into<String>) -> Self {
        Self::Notice { level, code: code.to_owned(), text: text.into() }
    }
}
