//! The one loop, for parent and child alike: plan a request, take the turn, run the batch, go on.
//!
//! A run ends in exactly one way, decided here and in [`super::turn`], never by the model's words.

use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;

use super::apart::apart;
use super::cancel::CancelScope;
use super::clock::RunClock;
use super::host::{Host, Inbox, RunTree};
use super::places::Seat;
use super::planning::Counting;
use super::record::Record;
use super::runaway::LoopGuard;
use super::steering::{self, LastTurn, Steering};
use super::turn::TurnPlan;
use super::{compact, conclude, dispatch, turn};
use crate::domain::approval::Asker;
use crate::domain::context_store::{ContextStore, Sensitivity};
use crate::domain::contract::Contract;
use crate::domain::event::{Fact, Failure, Level, MessageFact, Origin};
use crate::domain::hash::Sha;
use crate::domain::history::{History, HistoryError, RUNTIME};
use crate::domain::ledger::AccountId;
use crate::domain::message::ToolSchema;
use crate::domain::message::{AssistantMessage, Block, Message, StopReason, ToolCall, ToolResult};
use crate::domain::report::{By, Ending, Exhausted};
use crate::domain::usage::estimate_tokens;
use crate::domain::violation::Code;
use crate::provider::{Provider, ToolChoice};
use crate::tool::task;
use crate::workspace::seen::Seen;

/// What stays the same while a run goes on. Children of one batch read it side by side.
pub struct RunShared {
    /// What all runs of the session share.
    pub host: Arc<Host>,
    /// What the parent run and its descendants share.
    pub tree: Arc<RunTree>,
    /// Who answers it.
    pub provider: Arc<dyn Provider>,
    /// What the run may do.
    pub contract: Contract,
    /// Its account in the ledger.
    pub account: AccountId,
    /// Where its events come from.
    pub origin: Origin,
    /// Its place in the cancel tree.
    pub scope: CancelScope,
    /// Its system prompt.
    pub system: Arc<str>,
    /// The tools that its model is offered.
    pub schemas: Arc<[ToolSchema]>,
    /// Tokens of the system prompt and the tool schemas, by estimate.
    pub standing_tokens: u64,
    /// The run that delegated to it.
    pub above: Option<Arc<RunShared>>,
    /// The fingerprints of its children that are queued or running.
    pub children: Mutex<Vec<Sha>>,
    /// Its place among those that work, and its children's.
    pub seat: Seat,
    /// What a child of it can be given as context, unless it is the run that answers the user,
    /// for which the session's own store holds that.
    pub own_store: Mutex<ContextStore>,
    /// What its model knows of files.
    pub seen: Arc<Seen>,
    /// Its running time.
    pub clock: Arc<RunClock>,
    /// What a person asks of it.
    pub steering: Arc<Steering>,
}

impl RunShared {
    /// The fingerprints of its live children, for a short look.
    pub fn children(&self) -> MutexGuard<'_, Vec<Sha>> {
        self.children.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What its children can be given as context, for a short look.
    pub fn store(&self) -> MutexGuard<'_, ContextStore> {
        if self.contract.depth() == 0 {
            self.host.store()
        } else {
            self.own_store.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    /// Cancels the run and everything under it, and tells so first.
    pub async fn cancel(&self, reason: Ending, by: By) {
        let target = self.contract.run().to_string();
        self.emit(Fact::CancelRequested { target, by }).await;
        self.scope.fire(reason);
    }

    /// Tells what happened in this run.
    pub async fn emit(&self, fact: Fact) {
        self.host.emit(&self.origin, fact).await;
    }

    /// Running time so far, in ms.
    pub fn elapsed_ms(&self) -> u64 {
        self.clock.elapsed_ms()
    }
}

/// Tokens of a system prompt and the tool schemas beside it, by estimate.
pub fn standing_tokens(system: &str, schemas: &[ToolSchema]) -> u64 {
    estimate_tokens(system) + schemas.iter().map(ToolSchema::estimated_tokens).sum::<u64>()
}

/// One execution of the loop.
pub struct Run {
    /// What stays the same.
    pub shared: Arc<RunShared>,
    /// The conversation.
    pub history: History,
    /// What was recorded.
    pub record: Record,
    /// Watches for repetition.
    pub loop_guard: LoopGuard,
    /// What a person types meanwhile; none for a child.
    pub inbox: Option<Arc<Inbox>>,
    /// Why the next turn must be the wrap-up, whatever the ledger says.
    pub forced: Option<Exhausted>,
    /// The tool choice of the next turn.
    pub next_choice: ToolChoice,
    /// Results of the batch that is going on.
    pub settled: Vec<ToolResult>,
    /// True once the model was asked to complete its report.
    pub asked_again: bool,
    /// True once older results were cut because the model refused the prompt as too long.
    pub shortened: bool,
    /// What was learned of the provider's counting.
    pub(super) counting: Counting,
}

impl Run {
    /// A run that has not begun.
    pub fn new(shared: Arc<RunShared>, history: History, inbox: Option<Arc<Inbox>>) -> Self {
        Self {
            shared,
            history,
            record: Record::default(),
            loop_guard: LoopGuard::default(),
            inbox,
            forced: None,
            next_choice: ToolChoice::Auto,
            settled: Vec::new(),
            asked_again: false,
            shortened: false,
            counting: Counting::default(),
        }
    }

    /// A person's words enter the history, with what came in beside them and the context keys that
    /// can be chosen now.
    pub async fn hear(&mut self, words: &str) -> Result<(), HistoryError> {
        let card = self.shared.host.store().put_request(words);
        let mut beside = self.take_beside();
        // A key that came up within a run was told by the result that it came with.
        beside.extend(self.shared.host.new_listing());
        let pieces: Vec<&str> =
            std::iter::once(words).chain(beside.iter().map(String::as_str)).collect();
        self.history.ask(pieces.join("\n\n"))?;
        let fact = Fact::ContextAdded {
            card,
            sensitivity: Sensitivity::Normal,
            text: Some(words.to_owned()),
        };
        self.shared.host.emit(&Origin::session(), fact).await;
        let mut message = MessageFact::user(words);
        let more = beside.into_iter().map(|text| Block::Text { text });
        message.blocks.extend(more);
        self.shared.emit(Fact::Message(message)).await;
        Ok(())
    }

    /// What came in without words enters the history. People have seen it where it came from.
    async fn overhear(&mut self) -> Result<(), HistoryError> {
        let beside = self.take_beside();
        if beside.is_empty() {
            return Ok(());
        }
        let text = beside.join("\n\n");
        self.history.ask(text.clone())?;
        let provider = Some(RUNTIME.to_owned());
        let message = MessageFact { provider, ..MessageFact::user(text) };
        self.shared.emit(Fact::Message(message)).await;
        Ok(())
    }

    /// What came in beside words.
    fn take_beside(&self) -> Vec<String> {
        self.inbox.as_ref().map(|inbox| inbox.take_beside()).unwrap_or_default()
    }

    /// A model's answer enters the history. Returns its calls with the ids they have there.
    pub async fn enter(&mut self, answer: AssistantMessage) -> Result<Vec<ToolCall>, Ending> {
        let text = answer.text();
        if !text.trim().is_empty() {
            self.record.last_text = text;
        }
        let calls = self.history.answer(answer).map_err(|error| self.internal(&error))?;
        if let Some(Message::Assistant(kept)) = self.history.messages().last().map(AsRef::as_ref) {
            let fact = Fact::Message(MessageFact::from(kept));
            self.shared.emit(fact).await;
        }
        Ok(calls)
    }

    /// A fault of this program, noted for the report.
    pub fn internal(&mut self, error: &dyn std::fmt::Display) -> Ending {
        self.record.failure = Some(format!("internal error: {error}"));
        Ending::Failed(Code::Internal)
    }
}

/// Runs until the end. The run's history is well formed afterwards, every call of it has a result,
/// and all that the run started is gone.
pub async fn run_agent(run: &mut Run) -> Ending {
    let shared = Arc::clone(&run.shared);
    let ending = {
        let looped = AssertUnwindSafe(apart(|| turn_after_turn(run))).catch_unwind();
        tokio::pin!(looped);
        let in_time = tokio::select! {
            biased;
            ending = &mut looped => Some(ending),
            () = steering::time_is_up(&shared) => None,
        };
        if let Some(ending) = in_time {
            ending
        } else {
            shared.cancel(Ending::Cancelled(By::Budget), By::Budget).await;
            looped.await.map(|ending| match ending {
                Ending::Cancelled(By::Budget) => Ending::Exhausted(Exhausted::Duration),
                other => other,
            })
        }
    };
    let ending = ending.unwrap_or_else(|_| run.internal(&"a part of the run panicked"));
    close_open_calls(run, ending).await;
    steering::close(&shared).await;
    run.record.duration_ms = shared.elapsed_ms();
    shared.tree.ledger().set_elapsed_ms(shared.account, run.record.duration_ms);
    match (ending, shared.tree.ledger().overrun(shared.account)) {
        // An ancestor's scope is fired with this reason when a descendant overran its budget.
        (Ending::Cancelled(By::Budget), Some(dimension)) => Ending::Overrun(dimension),
        (Ending::Completed, _) if was_blocked(run) => Ending::Blocked(Code::Denied),
        (ending, _) => ending,
    }
}

/// True if something was denied to the run that answers the user, and nobody was there to see it: it
/// may have done what it could, but not what it wanted to.
fn was_blocked(run: &Run) -> bool {
    let unseen = matches!(run.shared.host.asker, Asker::Nobody(_));
    unseen && run.shared.contract.depth() == 0 && !run.record.denied.is_empty()
}

async fn turn_after_turn(run: &mut Run) -> Ending {
    loop {
        match apart(|| step(run)).await {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(ending)) | Err(ending) => return ending,
        }
    }
}

/// One request and the batch it asks for.
async fn step(run: &mut Run) -> Result<ControlFlow<Ending>, Ending> {
    if let Some(ending) = run.shared.scope.ending() {
        return Err(ending);
    }
    steering::boundary(run).await?;
    apart(|| compact::if_due(run)).await?;
    // A summary takes as long as a turn does; the run may have been paused meanwhile.
    steering::boundary(run).await?;
    let mut plan = run.plan()?;
    run.begin_turn(&plan);
    let answer = match apart(|| turn::take(run, &mut plan)).await {
        Err(Ending::Failed(Code::ContextExceeded)) if compact::after_refusal(run).await => {
            return Ok(ControlFlow::Continue(()));
        }
        taken => taken?,
    };
    let stop = answer.stop_reason.clone();
    let calls = apart(|| run.enter(answer)).await?;
    if let Some(dimension) = run.shared.tree.ledger().overrun(run.shared.account) {
        return Err(Ending::Overrun(dimension));
    }
    if let Some(last) = plan.wrap_up {
        return Ok(ControlFlow::Break(wrapped_up(&plan, last, calls.is_empty(), stop.as_ref())));
    }
    if calls.is_empty() {
        return apart(|| final_text(run, stop)).await;
    }
    if stop == Some(StopReason::MaxTokens) {
        let reason = "the output limit cut this message; ask again in smaller pieces";
        apart(|| refuse_all(run, reason, Failure::NotRun)).await;
    } else {
        apart(|| dispatch::dispatch(run, calls)).await?;
        let results = std::mem::take(&mut run.settled);
        run.history.settle(results).map_err(|error| run.internal(&error))?;
    }
    apart(|| hear_inbox(run)).await?;
    Ok(ControlFlow::Continue(()))
}

/// What an answer in the wrap-up turn comes to: never `completed`, so that a forced answer does
/// not pass as a finished one. A run of a single turn may simply answer in it.
fn wrapped_up(
    plan: &TurnPlan,
    last: LastTurn,
    no_calls: bool,
    stop: Option<&StopReason>,
) -> Ending {
    match (stop, last) {
        (Some(StopReason::Refusal), _) => Ending::Failed(Code::Refused),
        (_, LastTurn::Asked) => Ending::Cancelled(By::User),
        (Some(StopReason::MaxTokens), _) => Ending::Exhausted(Exhausted::OutputTokens),
        (_, LastTurn::Exhausted(Exhausted::Turns)) if plan.of == Some(1) && no_calls => {
            Ending::Completed
        }
        (_, LastTurn::Exhausted(because)) => Ending::Exhausted(because),
    }
}

async fn final_text(
    run: &mut Run,
    stop: Option<StopReason>,
) -> Result<ControlFlow<Ending>, Ending> {
    Ok(match stop {
        Some(StopReason::Refusal) => ControlFlow::Break(Ending::Failed(Code::Refused)),
        Some(StopReason::MaxTokens) => {
            ControlFlow::Break(Ending::Exhausted(Exhausted::OutputTokens))
        }
        Some(StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_)) | None => {
            match conclude::question_about_report(run) {
                Some(question) => ask_again(run, question).await,
                None if steering::hears_before_it_ends(run).await? => ControlFlow::Continue(()),
                None => ControlFlow::Break(Ending::Completed),
            }
        }
    })
}

async fn ask_again(run: &mut Run, question: String) -> ControlFlow<Ending> {
    run.asked_again = true;
    match run.history.ask(question.clone()) {
        Ok(()) => {
            run.shared.emit(Fact::Message(MessageFact::user(question))).await;
            ControlFlow::Continue(())
        }
        Err(error) => ControlFlow::Break(run.internal(&error)),
    }
}

/// What a person typed meanwhile enters the history.
pub(super) async fn hear_inbox(run: &mut Run) -> Result<(), Ending> {
    let typed = run.inbox.as_ref().map(|inbox| inbox.drain()).unwrap_or_default();
    for typed in typed {
        run.hear(&typed.words).await.map_err(|error| run.internal(&error))?;
        if typed.must_delegate {
            run.next_choice = ToolChoice::Named(task::NAME.to_owned());
        }
    }
    run.overhear().await.map_err(|error| run.internal(&error))
}

/// Gives every call that is still open a result that says why it did not run, so that the history
/// stays valid for any provider.
async fn close_open_calls(run: &mut Run, ending: Ending) {
    let wrapped_up = run.shared.scope.ending().is_none();
    let (reason, failure) = match ending {
        Ending::Cancelled(By::User) if wrapped_up => {
            ("the user asked it to wrap up", Failure::NotRun)
        }
        Ending::Cancelled(By::User) => ("cancelled by the user", Failure::Cancelled),
        Ending::Cancelled(By::Parent | By::Shutdown) | Ending::TimedOut => {
            ("cancelled", Failure::Cancelled)
        }
        Ending::Cancelled(By::Budget) | Ending::Exhausted(_) | Ending::Overrun(_) => {
            ("budget", Failure::NotRun)
        }
        Ending::Completed | Ending::Blocked(_) | Ending::Failed(_) | Ending::Invalid => {
            ("the run failed", Failure::NotRun)
        }
    };
    refuse_all(run, reason, failure).await;
    if run.shared.contract.depth() == 0 && ending != Ending::Completed {
        // The next question must not read as a part of this one.
        if let Some(closing) = run.history.close(reason) {
            run.shared.emit(Fact::Message(MessageFact::from(&closing))).await;
        }
    }
    if let Some(words) = run.record.failure.clone() {
        run.shared.emit(Fact::notice(Level::Error, "RUN_FAILED", words)).await;
    }
}

async fn refuse_all(run: &mut Run, reason: &str, failure: Failure) {
    let done = std::mem::take(&mut run.settled);
    for result in run.history.interrupt(done, reason) {
        run.shared.emit(dispatch::not_run_fact(&result, failure)).await;
    }
}
