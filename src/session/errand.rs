//! What one parent run is for, from its first event to its last.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::agent::host::Typed;
use crate::agent::run::{Run, run_agent};
use crate::agent::{changes, compact, conclude, steering};
use crate::domain::event::{Fact, Level, RunFinished};
use crate::domain::hash::Sha;
use crate::domain::history::History;
use crate::domain::report::{By, Ending, Report, Status, Warning, WarningCode};
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
            contract: shared.contract.view().going_to(shared.provider.identity().host.clone()),
            totals: Some(totals),
        })
        .await;
}

async fn finish(run: Run, ending: Ending) -> History {
    let shared = &run.shared;
    for child in run.record.unfinished_children() {
        shared.emit(unfinished_notice(child)).await;
    }
    for notice in run.record.children.iter().filter_map(unshown_notice) {
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

/// What the model cannot leave out of its answer.
fn unfinished_notice(child: &Report) -> Fact {
    let number = child.task_id.map_or_else(String::new, |task| format!("#{} ", task.0));
    let by = child.by.map_or_else(String::new, |by| match by {
        By::User => " by you".to_owned(),
        By::Parent => " by its parent".to_owned(),
        By::Budget => " by a budget".to_owned(),
        By::Shutdown => " by shutdown".to_owned(),
    });
    let what = child.status.as_str().replace('_', " ");
    let review = if child.needs_review { ", and what it changed needs review" } else { "" };
    let text =
        format!("task {number}did not finish ({what}{by}): its result is unconfirmed{review}");
    Fact::notice(Level::Warning, "UNFINISHED_CHILD", text)
}

/// What a child that completed says and the workspace does not show; the answer may repeat it.
fn unshown_notice(child: &Report) -> Option<Fact> {
    if child.status != Status::Completed {
        return None;
    }
    let said: Vec<String> = child.warnings.iter().filter_map(unshown).collect();
    if said.is_empty() {
        return None;
    }
    let number = child.task_id.map_or_else(String::new, |task| format!("#{} ", task.0));
    let text = format!("task {number}{}", said.join("; it "));
    Some(Fact::notice(Level::Warning, "UNCONFIRMED_CHILD", text))
}

fn unshown(warning: &Warning) -> Option<String> {
    match warning.code {
        WarningCode::ClaimedUnchanged => {
            let text = &warning.text;
            let what = text.split_once(": ").map_or(text.as_str(), |(_, paths)| paths);
            Some(format!("says that it changed {what}; the workspace does not show it"))
        }
        WarningCode::TestsNotRun => Some(warning.text.clone()),
        WarningCode::Unstructured
        | WarningCode::NoText
        | WarningCode::NoToolsUsed
        | WarningCode::EvidenceMissing
        | WarningCode::EvidenceNotRead
        | WarningCode::EvidenceLine
        | WarningCode::EvidenceScope
        | WarningCode::EvidenceViaBash
        | WarningCode::ChangedUnclaimed
        | WarningCode::ChangedOutside
        | WarningCode::CallRefused
        | WarningCode::FieldDropped
        | WarningCode::Cut
        | WarningCode::Unfinished
        | WarningCode::Claimed => None,
    }
}
