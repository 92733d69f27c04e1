//! The larger parts of events: what a run was given, what it said, what it came to.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::account::Account;
use crate::domain::budget::{Budget, Dimension};
use crate::domain::context_store::SnippetCard;
use crate::domain::hash::Sha;
use crate::domain::message::{AssistantMessage, Block, StopReason, ToolCall};
use crate::domain::report::{By, Exhausted, Report, Status};
use crate::domain::role::Permission;
use crate::domain::scope::PathScope;
use crate::domain::usage::Usage;
use crate::domain::violation::Code;

/// Which side of a conversation spoke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Speaker {
    /// A person, or the task of a child.
    User,
    /// A model.
    Assistant,
}

/// What a run was given, without a byte of any snippet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContractView {
    /// The task, or for a parent the user's message.
    pub prompt: String,
    /// What is to come back.
    pub expected_output: String,
    /// When it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done_when: Option<String>,
    /// What must not be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub must_not: Option<String>,
    /// The snippets' cards.
    pub context: Vec<SnippetCard>,
    /// True if the last of those is the project's rules for its paths, which nobody chose.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rules: bool,
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
    /// Where its requests go; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub goes_to: Option<Destination>,
}

/// Where a run's requests go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// To this host; `None` if nothing leaves the program, because it answers itself.
    pub host: Option<String>,
}

impl ContractView {
    /// The cards that the task chose, without the rules that go with its paths.
    pub fn chosen(&self) -> impl Iterator<Item = &SnippetCard> {
        self.context.iter().take(self.context.len().saturating_sub(usize::from(self.rules)))
    }

    /// The same view with where its requests go.
    #[must_use]
    pub fn going_to(mut self, destination: Destination) -> Self {
        self.goes_to = Some(destination);
        self
    }
}

/// What a delegation would give its child, before anything of the child exists.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Preflight {
    /// The child's role.
    pub role: String,
    /// A few words on its task.
    pub description: String,
    /// Its contract.
    pub contract: ContractView,
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

impl Share {
    /// The part of a dimension.
    pub fn of(&self, dimension: Dimension) -> Option<f64> {
        match dimension {
            Dimension::Turns => self.turns,
            Dimension::InputTokens => self.input_tokens,
            Dimension::OutputTokens => self.output_tokens,
            Dimension::ToolCalls => self.tool_calls,
            Dimension::CostUsd => self.cost_usd,
            Dimension::Duration => self.duration_ms,
        }
    }
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
    /// The run's side of the ledger; none for a run of which nothing is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<Account>,
}

/// A tool's output before it was cut, or as much as is kept of it, for the session's files alone: no
/// event's JSON has it.
#[derive(Clone, PartialEq, Eq)]
pub struct RawOutput(pub Arc<str>);

impl RawOutput {
    /// Bytes that are kept.
    pub const MOST: usize = 10 * 1024 * 1024;
}

impl fmt::Debug for RawOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawOutput({} bytes)", self.0.len())
    }
}

/// What became of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// It was not there before.
    Added,
    /// It has other bytes, another mode, or is another kind of thing.
    Modified,
    /// It is not there any more.
    Deleted,
}

/// A file that a run changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedPath {
    /// From the workspace's root.
    pub path: String,
    /// How.
    pub change: Change,
    /// The hash of the new content; `None` where there is none or it was not read.
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
