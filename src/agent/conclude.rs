//! The report of a child, made from what was recorded. The child's words are claims: its evidence
//! is checked against what its tools showed it, its status is the runtime's.

use std::fmt::Write as _;

use super::changes::{MOST_PATHS, cut};
use super::claims::{Claims, MAX_RAW_BYTES};
use super::record::Record;
use super::run::Run;
use super::verdict::{self, Fault};
use super::{below, deeds, evidence};
use crate::domain::budget::Dimension;
use crate::domain::event::{Account, Receipt, RunFinished};
use crate::domain::history::NO_TEXT;
use crate::domain::ledger::Left;
use crate::domain::message::{Block, Message};
use crate::domain::report::{Ending, Report, Spent, Status, Warning, WarningCode};
use crate::domain::role::ReportField;

/// Calls that a salvaged report lists.
const LISTED_CALLS: usize = 20;

/// Makes the report of a child that ended. The ending may become `invalid_result` here.
pub async fn report(run: &Run, ending: Ending) -> (Ending, Report) {
    let shared = &run.shared;
    let fields = report_fields(run);
    let said = final_text(run, ending);
    let too_large = said.len() > MAX_RAW_BYTES;
    let mut claims = if too_large { Claims::default() } else { Claims::parse(said, fields) };
    let changed = shared.host.changes.of(shared.contract.run());
    let (ending, mut warnings) = judge(run, ending, said, &claims);
    let (ending, trespass) = deeds::judge(&shared.contract, ending, &changed);
    warnings.extend(trespass);
    let needs_review = deeds::need_review(ending, &changed);
    let (evidence, mut doubts) = evidence::check(run, &claims.evidence).await;
    doubts.extend(evidence::check_findings(run, &mut claims, fields).await);
    warnings.extend(claims.warnings.iter().cloned());
    warnings.extend(claims.doubts.iter().map(|text| Warning::new(WarningCode::Claimed, text)));
    warnings.extend(doubts);
    warnings.extend(deeds::doubts(run, &claims, &changed));
    warnings.extend(deeds::broken_terms(run, ending, &changed, &warnings).await);
    warnings.extend(recorded_doubts(&run.record, ending, needs_review));
    warnings.extend(below::doubts(&run.record));
    warnings.extend(cut(changed.len()).map(|text| Warning::new(WarningCode::Cut, text)));
    let report = Report {
        task_id: shared.contract.task_id(),
        attempt: Some(shared.contract.attempt()),
        status: ending.status(),
        code: ending.code(),
        dimension: ending.dimension(),
        by: ending.by(),
        summary: summary(run, ending, said, &claims),
        evidence,
        fields: claims.fields,
        warnings,
        violations: Vec::new(),
        changed_paths: changed.paths().take(MOST_PATHS).map(str::to_owned).collect(),
        needs_review,
        turns: run.record.turns,
        usage: Spent::new(&run.record.usage_total, run.record.tool_calls, run.record.duration_ms),
        next: deeds::next(ending, needs_review),
        trace: Some(shared.contract.run().clone()),
    };
    (ending, report)
}

/// The event of a run's end, but for what only a parent has (its reply) or only a child has (its
/// report).
pub fn finished(run: &Run, ending: Ending) -> RunFinished {
    let changed = run.shared.host.changes.of(run.shared.contract.run());
    RunFinished {
        status: ending.status(),
        code: ending.code(),
        dimension: ending.dimension(),
        by: ending.by(),
        turns: run.record.turns,
        usage: run.record.usage,
        usage_total: run.record.usage_total,
        reply: None,
        report: None,
        changed: changed.told(MOST_PATHS),
        contract_sha256: run.shared.contract.sha256(),
        report_sha256: None,
        receipt: was_broken_off(run, ending).then(|| Receipt {
            processes_ended: run.record.processes_ended,
            connections_closed: run.record.connections_closed,
            files_touched: changed.paths().take(MOST_PATHS).map(str::to_owned).collect(),
            tokens_after_cancel: run.record.tokens_after_cancel,
            not_ended: not_ended(run),
        }),
        account: Some(Account::of(&run.shared.tree.ledger(), run.shared.account)),
    }
}

/// True if a cancel broke the run off, whatever its end is called: by a person, or because its time
/// or what it shares with those below it was used up.
fn was_broken_off(run: &Run, ending: Ending) -> bool {
    let fired = run.shared.scope.ending().is_some() && ending.status() != Status::Completed;
    fired || ending.status() == Status::Cancelled
}

/// What of the run, and of those below it, is still there.
fn not_ended(run: &Run) -> Vec<String> {
    let calls = run.record.not_ended.iter().cloned();
    calls.chain(run.shared.scope.left_behind()).collect()
}

/// What to ask a child that wants to end without a field that its role requires: once, and only
/// while two turns are left.
pub fn question_about_report(run: &Run) -> Option<String> {
    let fields = report_fields(run);
    if run.asked_again || run.shared.contract.depth() == 0 {
        return None;
    }
    let left = run.shared.tree.ledger().left(run.shared.account, Dimension::Turns);
    let enough = match left {
        Left::Of(turns) => turns >= 2,
        Left::Unlimited | Left::Off => true,
    };
    // The same text that the report will be made of.
    let said = final_text(run, Ending::Completed);
    if said.len() > MAX_RAW_BYTES {
        return None;
    }
    let claims = Claims::parse(said, fields);
    let missing = claims.missing(fields);
    (enough && !missing.is_empty()).then(|| {
        format!(
            "[runtime] Your report lacks the required list(s): {}. Answer once more with the \
             whole JSON object and nothing else.",
            missing.join(", ")
        )
    })
}

fn report_fields(run: &Run) -> &[ReportField] {
    let role = run.shared.tree.roles.get(run.shared.contract.role());
    role.map_or(&[], |role| role.report_fields.as_slice())
}

/// The text that counts as the child's answer: its last one. A run that was cut keeps it as a lead.
fn final_text(run: &Run, ending: Ending) -> &str {
    let is_silent = ending == Ending::Completed && last_message_is_silent(run);
    if is_silent { "" } else { &run.record.last_text }
}

/// True if the run's newest message has no words of the model.
pub fn last_message_is_silent(run: &Run) -> bool {
    match run.history.messages().last().map(AsRef::as_ref) {
        Some(Message::Assistant(answer)) => answer.blocks.iter().all(|block| match block {
            Block::Text { text } => text == NO_TEXT,
            Block::Reasoning { .. }
            | Block::Redacted { .. }
            | Block::Opaque { .. }
            | Block::ToolCall(_) => true,
        }),
        Some(Message::User { .. } | Message::Results { .. }) | None => true,
    }
}

/// Whether the answer keeps its contract.
fn judge(run: &Run, ending: Ending, said: &str, claims: &Claims) -> (Ending, Vec<Warning>) {
    if said.len() > MAX_RAW_BYTES {
        let text = format!("the answer had {} bytes, more than 1 MiB", said.len());
        return (
            verdict::with(ending, Fault::TooLarge),
            vec![Warning::new(WarningCode::Cut, text)],
        );
    }
    let own = run.shared.contract.task_id().map(|task| task.to_string());
    if let (Some(claimed), Some(own)) = (&claims.task_id, own)
        && claimed.trim_start_matches('#') != own
        && claimed.trim_start_matches('#') != own.trim_start_matches('t')
    {
        let text = "the answer names another task as its own";
        let warnings = vec![Warning::new(WarningCode::FieldDropped, text)];
        return (verdict::with(ending, Fault::Foreign), warnings);
    }
    let missing = claims.missing(report_fields(run));
    if ending == Ending::Completed && !missing.is_empty() {
        let text = format!("the answer lacks what its role must report: {}", missing.join(", "));
        let warnings = vec![Warning::new(WarningCode::FieldDropped, text)];
        return (verdict::with(ending, Fault::Incomplete), warnings);
    }
    (ending, Vec::new())
}

fn summary(run: &Run, ending: Ending, said: &str, claims: &Claims) -> String {
    let record = &run.record;
    let mut summary = match &record.failure {
        Some(failure) => format!("(failed: {failure})"),
        None => String::new(),
    };
    if said.len() > MAX_RAW_BYTES {
        summary.push_str("(the answer was too large to be kept)");
    } else if ending.status() == Status::Completed || !said.trim().is_empty() {
        if !summary.is_empty() {
            summary.push('\n');
        }
        summary.push_str(&claims.summary);
    } else if summary.is_empty() {
        "(no summary: it ended before it said anything)".clone_into(&mut summary);
    }
    if ending.status() != Status::Completed && !record.done.is_empty() {
        summary.push_str(&salvage(record));
    }
    summary
}

/// What a run that was cut short did, from its record.
fn salvage(record: &Record) -> String {
    let skipped = record.done.len().saturating_sub(LISTED_CALLS);
    let mut text = String::from("\nCalls it made:");
    if skipped > 0 {
        let _ = write!(text, " ({skipped} earlier ones left out)");
    }
    for call in &record.done[skipped..] {
        text.push_str("\n- ");
        text.push_str(call);
    }
    text
}

fn recorded_doubts(record: &Record, ending: Ending, needs_review: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if record.done.is_empty() {
        let text = "the child used no tool: nothing it says was looked up";
        warnings.push(Warning::new(WarningCode::NoToolsUsed, text));
    }
    if !record.refused.is_empty() {
        let text = format!("calls that were refused: {}", record.refused.join(", "));
        warnings.push(Warning::new(WarningCode::CallRefused, text));
    }
    if !record.denied.is_empty() {
        let text = format!("calls that were not allowed: {}", record.denied.join("; "));
        warnings.push(Warning::new(WarningCode::CallRefused, text));
    }
    if ending.status() != Status::Completed {
        let text = if needs_review {
            "the task is not finished; what is here is a lead, and what it changed needs review"
        } else {
            "the task is not finished; what is here is a lead, not a result"
        };
        warnings.push(Warning::new(WarningCode::Unfinished, text));
    }
    warnings
}
