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

use serde::{Deserialize, Serialize};

use crate::domain::approval::{Decider, Decision, Mode};
use crate::domain::budget::{Budget, Remaining, Totals};
use crate::domain::context_store::{Sensitivity, SnippetCard};
use crate::domain::ids::{CallId, SessionId, TaskId};
use crate::domain::ledger::Charge;
use crate::domain::preflight::{Amendment, PreflightPolicy};
use crate::domain::report::By;
use crate::domain::usage::Usage;
use crate::domain::violation::{Code, Violation};

mod account;
mod parts;

pub use account::{Account, Amounts};
pub use parts::{
    Change, ChangedPath, ContractView, Destination, MessageFact, Preflight, RawOutput, Receipt,
    RunFinished, Share, Speaker,
};

pub use crate::domain::stamp::{Origin, Timestamp};

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
        /// What all that it delegates may use together, for the parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        totals: Option<Totals>,
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
        /// The id of a task that was refused at its start: it stays used; its delegation is given back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        refused_task: Option<TaskId>,
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
        /// What the ledger keeps for it until it is charged: its worst case.
        #[serde(default)]
        reserved: Charge,
        /// What the ledger keeps beside that, for one more request as the last.
        #[serde(default)]
        held_back: Charge,
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
    /// The model is writing a call, which is shown once it is whole. Transient; at most one a second.
    ModelWriting,
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
        /// The output before it was cut; kept in a file of its own and told to nobody.
        #[serde(skip)]
        raw: Option<RawOutput>,
    },
    /// A model request was charged.
    Usage {
        /// What it used.
        #[serde(flatten)]
        usage: Usage,
        /// What the run has left.
        remaining: Remaining,
    },
    /// A failed model request will be sent again.
    RetryScheduled {
        /// After this long.
        delay_ms: u64,
        /// The status that the server answered with.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        http_status: Option<u16>,
        /// The number of the try to come, from 2.
        #[serde(rename = "try")]
        attempt: u32,
        /// What went wrong, in words.
        reason: String,
    },
    /// A call waits for a person's word. It has not started.
    ApprovalRequested {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// What it would do, on one line.
        summary: String,
        /// The change as a unified diff, for a call that changes files.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        /// The command, exactly, for a call that runs one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        command: Option<String>,
        /// Where the command starts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folder: Option<String>,
        /// How it would be fenced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fence: Option<String>,
        /// What a wider answer would cover.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
        /// What the child would get, for a call that delegates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preflight: Option<Box<Preflight>>,
    },
    /// It does not wait any more: told exactly once for every call that was asked about. Without a
    /// question before it, a call was denied by a rule, the mode or a policy; what those allow is
    /// silent.
    ApprovalDecided {
        /// The call.
        call: CallId,
        /// The outcome.
        decision: Decision,
        /// Whose.
        by: Decider,
        /// Why, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// What the child gets less than was shown, for a call that delegates.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        amended: Option<Amendment>,
    },
    /// Files of the workspace are not what they were before a call of this run.
    FilesChanged {
        /// Which, and how.
        paths: Vec<ChangedPath>,
    },
    /// What may be done without asking changed.
    ModeChanged {
        /// What holds now.
        mode: Mode,
    },
    /// Whether delegations are asked about changed.
    PreflightChanged {
        /// What holds now.
        policy: PreflightPolicy,
    },
    /// Older messages of a run's conversation were replaced by a summary. The record keeps them.
    Compacted {
        /// The run.
        target: String,
        /// Who asked for it.
        by: By,
        /// The summary, or what was cut.
        text: String,
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
        /// The run, whoever asked; the task (`t3`) as long as it waits for its start and has no run.
        target: String,
        /// Who.
        by: By,
    },
    /// A run starts nothing new from now on; what goes on in it comes to its end.
    Paused {
        /// The run.
        target: String,
        /// Who asked for it.
        by: By,
    },
    /// A run that was paused goes on.
    Resumed {
        /// The run.
        target: String,
        /// Who asked for it.
        by: By,
    },
    /// The next turn of a run is to be its last.
    WrapUpRequested {
        /// The run.
        target: String,
        /// Who asked for it.
        by: By,
    },
    /// A run may use more than before.
    BudgetExtended {
        /// The run.
        target: String,
        /// Who asked for it.
        by: By,
        /// What grew, and what did not.
        text: String,
        /// What it may use from now on.
        limits: Budget,
    },
    /// Somebody's words entered the conversation of a child, as the next message.
    Steered {
        /// The run.
        target: String,
        /// Whose.
        by: By,
        /// The words.
        text: String,
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
            Self::TextDelta { .. }
                | Self::ReasoningDelta { .. }
                | Self::ToolProgress { .. }
                | Self::ModelWriting
        )
    }

    /// A notice.
    pub fn notice(level: Level, code: &str, text: impl Into<String>) -> Self {
        Self::Notice { level, code: code.to_owned(), text: text.into() }
    }
}
