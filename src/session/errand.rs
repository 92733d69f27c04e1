//! What one parent run is for, from its first event to its last.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::agent::host::Typed;
use crate::agent::run::{Run, run_agent};
use crate::agent::{below, changes, compact, conclude, steering};
use crate::domain::event::{Fact, Level, RunFinished};
use crate::domain::hash::Sha;
use crate::domain::history::History;
use crate::domain::report::{By, Ending};
use crate::domain::usage::Usage;
use crate::domain::violation::Code;
use crate::provider::ToolChoice;
use crate::tool::task;

/// What a parent run is for.
pub(super) enum Errand {
    /// Answer the user.
    Answer(Typed),
    /// Summarise the conversation.
    Compact,
}

impl Errand {
    /// What the run is asked, for its contract.
    pub(super) fn words(&self) -> &str {
        match self {
            Self::Answer(typed) => &typed.words,
            Self::Compact => "/compact",
        }
    }

    /// Runs it to its end and tells how it ended. Returns the conversation.
    /// `over` is set when nothing is left of the run but to tell its end.
    pub(super) async fn carry_out(self, mut run: Run, over: Arc<AtomicBool>) -> History {
        let ending = self.run(&mut run).await;
        over.store(true, Ordering::Release);
        finish(run, ending).await
    }

    async fn run(self, run: &mut Run) -> Ending {
        announce(run).await;
        match self {
            Self::Answer(typed) => {
                if typed.must_delegate {
                    run.next_choice = ToolChoice::Named(task::NAME.to_owned());
                }
                match run.hear(&typed.words).await {
                    Ok(()) => run_agent(run).await,
                    Err(error) => run.internal(&error),
                }
            }
            Self::Compact => summarise(run).await,
        }
    }
}

async fn summarise(run: &mut Run) -> Ending {
    match compact::now(run, By::User).await {
        Ok(true) => Ending::Completed,
        Ok(false) => {
            let text = "there is too little to summarise yet";
            run.shared.emit(Fact::notice(Level::Info, "NOTHING_TO_COMPACT", text)).await;
            Ending::Completed
        }
        Err(ending) => ending,
    }
}

async fn announce(run: &Run) {
    let shared = Arc::clone(&run.shared);
    let totals = shared.tree.ledger().totals();
    shared
        .emit(Fact::RunStarted {
            call: None,
            role: shared.contract.role().to_owned(),
            description: None,
            depth: 0,
            contract: shared.contract.view().going_to(shared.provider.identity().destination()),
            totals: Some(totals),
        })
        .await;
}

async fn finish(run: Run, ending: Ending) -> History {
    let shared = &run.shared;
    for notice in below::notices(&run.record) {
        shared.emit(notice).await;
    }
    // Words of an earlier turn are no answer of a run that completed without any.
    let ended_by_itself = matches!(ending, Ending::Completed | Ending::Blocked(_));
    let silent = ended_by_itself && conclude::last_message_is_silent(&run);
    let reply = Some(run.record.last_text.clone()).filter(|text| !silent && !text.is_empty());
    let finished = RunFinished { reply, ..conclude::finished(&run, ending) };
    if let Some(text) = changes::cut(shared.host.changes.of(shared.contract.run()).len()) {
        shared.emit(Fact::notice(Level::Warning, "CUT", text)).await;
    }
    steering::tell_end(shared, finished).await;
    shared.host.run_ended(shared.contract.run());
    run.history
}

/// The end of a run of which nothing else is known.
pub(super) fn lost() -> RunFinished {
    let ending = Ending::Failed(Code::Internal);
    RunFinished {
        status: ending.status(),
        code: ending.code(),
        dimension: None,
        by: None,
        turns: 0,
        usage: Usage::none(),
        usage_total: Usage::none(),
        reply: None,
        report: None,
        changed: Vec::new(),
        contract_sha256: Sha::of(""),
        report_sha256: None,
        receipt: None,
        account: None,
    }
}
