//! Keeping a long conversation inside the model's context window: a summary in good time, and as
//! the last resort shorter results. What is replaced stays in the record.

use std::sync::Arc;

use super::run::Run;
use super::turn;
use crate::domain::compaction::{self, Split};
use crate::domain::event::Fact;
use crate::domain::message::Message;
use crate::domain::report::{By, Ending};
use crate::domain::violation::Code;

const INSTRUCTION: &str = include_str!("../../assets/prompts/compact.md");

/// Makes room before a turn if the prompt has come close to the model's window.
pub async fn if_due(run: &mut Run) -> Result<(), Ending> {
    let identity = run.shared.provider.identity();
    let Some(window) = identity.context_window else { return Ok(()) };
    let limit = run.shared.host.compact_at.of(window);
    if run.prompt_tokens() <= limit {
        return Ok(());
    }
    match compaction::split(&run.history) {
        Some(split) => summarise(run, split, By::Budget).await.map(drop),
        None => Ok(()),
    }
}

/// Summarises the older part of the conversation. False if there is too little to gain, or too
/// little budget left for a request beside the conversation.
pub async fn now(run: &mut Run, by: By) -> Result<bool, Ending> {
    match compaction::split(&run.history) {
        Some(split) => summarise(run, split, by).await,
        None => Ok(false),
    }
}

/// After the model said that the prompt is too long: cuts older results, once. False if that was
/// done before, or would not help.
pub async fn after_refusal(run: &mut Run) -> bool {
    if run.shortened {
        return false;
    }
    run.shortened = true;
    let Some(shorter) = compaction::with_short_results(&run.history) else { return false };
    let (before, after) = (run.history.estimated_tokens(), shorter.estimated_tokens());
    run.history = shorter;
    run.forget_cache();
    run.record.failure = None;
    let text = format!("older results were cut: about {before} tokens became {after}");
    tell(run, By::Budget, text).await;
    true
}

async fn summarise(run: &mut Run, split: Split, by: By) -> Result<bool, Ending> {
    let mut plan = run.plan()?;
    if plan.wrap_up.is_some() {
        return Ok(false);
    }
    let mut messages = split.older.clone();
    messages.push(Arc::new(Message::User { text: INSTRUCTION.trim().to_owned() }));
    plan.aside = Some(messages);
    run.begin_turn(&plan);
    let summary = match turn::take(run, &mut plan).await {
        Ok(answer) => answer.text(),
        // Tries that failed left too little for it; a wrap-up may still fit.
        Err(Ending::Exhausted(_)) => return Ok(false),
        Err(Ending::Failed(Code::ContextExceeded)) => return Ok(after_refusal(run).await),
        Err(ending) => return Err(ending),
    };
    if let Some(dimension) = run.shared.tree.ledger().overrun(run.shared.account) {
        return Err(Ending::Overrun(dimension));
    }
    if summary.trim().is_empty() {
        return Ok(after_refusal(run).await);
    }
    // A child's task is its first message, and stays word for word.
    let keep_first = run.shared.contract.depth() > 0;
    let shorter = compaction::with_summary(&split, summary.trim(), keep_first);
    let (before, after) = (run.history.estimated_tokens(), shorter.estimated_tokens());
    run.history = shorter;
    run.forget_cache();
    if !keep_first {
        run.shared.host.forget_listing();
    }
    let text =
        format!("older messages were summarised: about {before} tokens became {after}\n{summary}");
    tell(run, by, text).await;
    Ok(true)
}

async fn tell(run: &Run, by: By, text: String) {
    let target = run.shared.contract.run().to_string();
    run.shared.emit(Fact::Compacted { target, by, text }).await;
}
