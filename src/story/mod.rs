//! What happened, as a reader of the events knows it: a pure fold of [`Event`]s.
//!
//! The screen, the headless printer, replay and resume all read a [`Story`]. It never awaits, never
//! looks at a clock and knows no terminal: times are those of the events, and an age is computed by
//! whoever shows it. Applying an event costs the same however long the story already is.

mod approval;
mod call;
mod changed;
mod command_end;
mod context;
mod conversation;
mod delegation;
mod fold;
mod fold_approvals;
mod fold_calls;
mod fold_own;
mod fold_steering;
mod fold_words;
mod gauge;
mod index;
mod kept_out;
mod run;

use std::collections::HashMap;

use crate::domain::books::Books;
use crate::domain::budget::Budget;
use crate::domain::event::{Event, Fact, Level};
use crate::domain::ids::{CallId, SessionId};
use crate::domain::preflight::PreflightPolicy;
use crate::domain::report::Report;
use crate::domain::usage::{MicroUsd, Usage};

pub use approval::{Approval, Approvals, Asker, Grant, Verdict};
pub use call::{Call, CallState};
pub use changed::Changed;
pub use command_end::CommandEnd;
pub use context::{Context, Known};
pub use conversation::{Body, Entry, Notice, Speech};
pub use delegation::{Counts, Delegations, Node, NodeId, NodeState, Runaway};
pub use fold::DIFF;
pub use fold_own::OWN_COMMAND;
pub use fold_steering::{EXTENDED, STEERED, WRAP_UP};
pub use gauge::{Gauge, Used};
pub use kept_out::{KeptOut, Worth};
pub use run::{Doing, End, Phase, Run, STREAMING_MS};

/// The session's own facts.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The program's version.
    pub version: String,
    /// The folder it works in.
    pub workspace: String,
    /// Who answers.
    pub provider: String,
    /// With which model.
    pub model: String,
    /// What is allowed without asking.
    pub permission_mode: String,
    /// How commands are fenced.
    pub fence: String,
    /// What each parent run gets.
    pub budget: Budget,
}

/// Sums over the whole session.
#[derive(Debug, Clone, PartialEq)]
pub struct Totals {
    /// All model requests of the parent and every child.
    pub usage: Usage,
    /// The prompt of the parent's newest request, in tokens; 0 before the first.
    pub context_tokens: u64,
}

impl Default for Totals {
    fn default() -> Self {
        Self { usage: Usage::none(), context_tokens: 0 }
    }
}

impl Totals {
    /// What the session cost; `None` while a price is unknown.
    pub fn cost(&self) -> Option<MicroUsd> {
        self.usage.cost_usd
    }
}

/// What a reader of the events knows.
#[derive(Debug, Default)]
pub struct Story {
    session: Option<Session>,
    finished: Option<String>,
    entries: Vec<Entry>,
    /// The entry that the parent's words are streaming into.
    open_speech: Option<usize>,
    parent: Option<Run>,
    /// The parent's calls that have started and not finished, as entries.
    parent_running: Vec<usize>,
    /// The parent's calls that wait for a person's word, as entries.
    parent_asking: Vec<usize>,
    approvals: Approvals,
    grants: Vec<Grant>,
    preflight: PreflightPolicy,
    /// The user's own commands, as entries, and those of them that run.
    own: HashMap<CallId, usize>,
    own_running: Vec<CallId>,
    reply: Option<String>,
    delegations: Delegations,
    context: Context,
    /// The parent's newest list of what is to be done, as an entry.
    todo: Option<usize>,
    totals: Totals,
    kept_out: KeptOut,
    books: Books,
    runs: index::RunIndex,
}

impl Story {
    /// Takes in the next event. Unknown and ill-fitting events change nothing.
    pub fn apply(&mut self, event: &Event) {
        let origin = &event.origin;
        self.books.apply(event);
        self.kept_out.apply(event);
        match &event.fact {
            Fact::SessionStarted { .. } => self.session_started(&event.fact),
            Fact::SessionFinished { reason } => self.finished = Some(reason.clone()),
            // Where it stands in the queue is counted here: it changes without an event.
            Fact::TaskQueued { call, description, role, position: _ } => {
                self.task_queued(event, call, description, role);
            }
            Fact::RunStarted { call, role, description, depth, contract, totals: _ } => {
                let description = description.as_deref();
                self.run_started(event, call.as_ref(), role, description, *depth, contract);
            }
            Fact::ContractRefused { call, code, message, violations, .. } => {
                self.contract_refused(event, call, *code, message, violations);
            }
            Fact::TurnStarted { turn, of, wrap_up, .. } => {
                self.turn_started(event, *turn, *of, *wrap_up);
            }
            Fact::TextDelta { text } => self.text_delta(event, text),
            Fact::ReasoningDelta { .. } | Fact::ModelWriting => self.words_came(origin, event.ts),
            Fact::Message(message) => self.message(event, message),
            Fact::ToolStarted { call, name, arguments } if origin.run.is_none() => {
                self.own_started(event, call, name, arguments);
            }
            Fact::ToolStarted { call, name, arguments } => {
                self.tool_started(event, call, name, arguments);
            }
            Fact::ToolProgress { call, text } if origin.run.is_none() => {
                self.own_progress(call, text);
            }
            Fact::ToolProgress { call, text } => self.tool_progress(origin, call, text),
            Fact::ToolFinished { .. } if origin.run.is_none() => self.own_finished(event),
            Fact::ToolFinished { .. } => self.tool_finished(event),
            Fact::Usage { usage, remaining } => self.usage(origin, *usage, *remaining),
            Fact::Notice { level, code, text } => {
                self.notice(
                    event,
                    Notice { level: *level, code: code.clone(), text: text.clone() },
                );
            }
            Fact::CancelRequested { target, by } => self.cancel_requested(event, target, *by),
            Fact::Paused { .. } => self.paused(event, true),
            Fact::Resumed { .. } => self.paused(event, false),
            Fact::WrapUpRequested { .. } => self.remark(event, WRAP_UP, ""),
            Fact::BudgetExtended { text, limits, .. } => self.extended(event, limits, text),
            Fact::Steered { text, .. } => self.remark(event, STEERED, text),
            Fact::RunFinished(end) => self.run_finished(event, end),
            Fact::RetryScheduled { delay_ms, http_status, .. } => {
                self.retry_scheduled(event, *delay_ms, *http_status);
            }
            Fact::Compacted { text, .. } => {
                let (level, code) = (Level::Info, "COMPACTED".to_owned());
                self.notice(event, Notice { level, code, text: text.clone() });
            }
            Fact::ModeChanged { mode } => {
                if let Some(session) = &mut self.session {
                    mode.name().clone_into(&mut session.permission_mode);
                }
            }
            Fact::ApprovalRequested { .. } => self.approval_requested(event),
            Fact::PreflightChanged { policy } => self.preflight = *policy,
            Fact::ApprovalDecided { call, decision, by, reason, amended } => {
                let (reason, amended) = (reason.clone(), amended.clone().map(Box::new));
                let verdict = Verdict { decision: *decision, by: *by, reason, amended };
                self.approval_decided(event, call, verdict);
            }
            Fact::FilesChanged { paths } => self.files_changed(origin, paths),
            Fact::ContextAdded { card, sensitivity, .. } if origin.run.is_none() => {
                self.context.add(card, *sensitivity);
            }
            // What a child may hand on is its own.
            Fact::ContextAdded { .. } | Fact::Unknown => {}
        }
        if moves_clocks(&event.fact) {
            self.keep_clocks(event);
        }
    }

    /// The calls that wait for a person's word, the oldest first.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// Whether delegations are asked about.
    pub fn preflight(&self) -> PreflightPolicy {
        self.preflight
    }

    /// What a person allowed beyond single calls, the oldest first.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// True while a command of the user's own runs.
    pub fn runs_own_command(&self) -> bool {
        !self.own_running.is_empty()
    }

    /// True while there is something that could be stopped: an answer, or a command of the user's
    /// own.
    pub fn is_stoppable(&self) -> bool {
        self.is_running() || self.runs_own_command()
    }

    /// The session's own facts, once it has started.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Why the session was closed, once it is.
    pub fn finished(&self) -> Option<&str> {
        self.finished.as_deref()
    }

    /// The conversation, oldest first. Entries are only ever added at the end; one that changes
    /// otherwise than by growing says so by its [`Entry::version`].
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The children, their children, and how they stand.
    pub fn delegations(&self) -> &Delegations {
        &self.delegations
    }

    /// The newest parent run, running or ended.
    pub fn parent(&self) -> Option<&Run> {
        self.parent.as_ref()
    }

    /// The parent's call that has been waiting longest for a person's word, or else the one that has
    /// been running longest.
    pub fn parent_call(&self) -> Option<&Call> {
        let index = self.parent_asking.first().or(self.parent_running.first())?;
        self.entries.get(*index)?.call()
    }

    /// True from a parent run's start to its end.
    pub fn is_running(&self) -> bool {
        self.parent.as_ref().is_some_and(|run| run.end.is_none())
    }

    /// The answer of the newest ended parent run, or what there is of it.
    pub fn reply(&self) -> Option<&str> {
        self.reply.as_deref()
    }

    /// The reports of all children, refused ones included, in the order of their delegation.
    pub fn reports(&self) -> impl Iterator<Item = &Report> {
        self.delegations.nodes().iter().filter_map(|node| node.report.as_ref())
    }

    /// What the runtime warned of, in the conversation.
    pub fn notices(&self) -> impl Iterator<Item = &Notice> {
        self.entries.iter().filter_map(|entry| match &entry.body {
            Body::Notice(notice) => Some(notice),
            Body::User { .. }
            | Body::Assistant(_)
            | Body::Call(_)
            | Body::Changed(_)
            | Body::Ended(_) => None,
        })
    }

    /// What tasks can be given by key.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Sums over the session.
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// What delegation kept out of the parent's context, in tokens; 0 if nothing.
    pub fn kept_out_tokens(&self) -> u64 {
        let kept = self.worth().map_or(0, |worth| worth.kept_out);
        u64::try_from(kept).unwrap_or(0)
    }

    /// What all ended children of the user's conversation kept out of it; `None` if there is none.
    pub fn worth(&self) -> Option<Worth> {
        self.kept_out.worth()
    }

    /// What one ended child kept out of the context of the run that delegated to it; `None` for one
    /// that still runs or never did.
    pub fn worth_of(&self, id: NodeId) -> Option<Worth> {
        self.kept_out.worth_of(&self.delegations.get(id)?.run.as_ref()?.id)
    }

    /// The ledger as the events add up to it.
    pub fn books(&self) -> &Books {
        &self.books
    }

    /// The child that a parent's `task` call became, if it became one.
    pub fn child_of_entry(&self, entry: &Entry) -> Option<&Node> {
        entry.call()?.child.and_then(|id| self.delegations.get(id))
    }
}

/// True for what may make somebody wait for a person, or end that.
fn moves_clocks(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::ApprovalRequested { .. }
            | Fact::ApprovalDecided { .. }
            | Fact::RunStarted { .. }
            | Fact::RunFinished(_)
            | Fact::ToolStarted { .. }
            | Fact::ToolFinished { .. }
            | Fact::Paused { .. }
            | Fact::Resumed { .. }
            | Fact::Message(_)
            | Fact::TurnStarted { .. }
            | Fact::RetryScheduled { .. }
    )
}
