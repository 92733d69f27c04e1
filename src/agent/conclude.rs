//! The report of a child, made from what was recorded. The child's words are claims: its evidence
//! is checked against what its tools showed it, its status is the runtime's.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use super::claims::{Cited, Claims, MAX_RAW_BYTES};
use super::record::Record;
use super::run::Run;
use crate::domain::budget::Dimension;
use crate::domain::event::{Receipt, RunFinished};
use crate::domain::history::NO_TEXT;
use crate::domain::ledger::Left;
use crate::domain::message::{Block, Message};
use crate::domain::report::{Ending, Evidence, Report, Spent, Status, Warning, WarningCode};
use crate::domain::role::ReportField;
use crate::domain::scope::PathScope;
use crate::tool::Shown;
use crate::workspace::Workspace;
use crate::workspace::existence::Existence;

/// Cited places that are checked and kept.
const MOST_EVIDENCE: usize = 100;
/// How long checking them may take.
const CHECK_TIME: Duration = Duration::from_secs(1);
/// Calls that a salvaged report lists.
const LISTED_CALLS: usize = 20;

/// Makes the report of a child that ended. The ending may become `invalid_result` here.
pub async fn report(run: &Run, ending: Ending) -> (Ending, Report) {
    let shared = &run.shared;
    let fields = report_fields(run);
    let said = final_text(run, ending);
    let too_large = said.len() > MAX_RAW_BYTES;
    let claims = if too_large { Claims::default() } else { Claims::parse(said, fields) };
    let (ending, mut warnings) = judge(run, ending, said, &claims);
    let (evidence, doubts) = check_evidence(run, &claims.evidence).await;
    warnings.extend(claims.warnings.iter().cloned());
    warnings.extend(claims.doubts.iter().map(|text| Warning::new(WarningCode::Claimed, text)));
    warnings.extend(doubts);
    warnings.extend(claimed_changes(&claims));
    warnings.extend(recorded_doubts(&run.record, ending));
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
        changed_paths: Vec::new(),
        turns: run.record.turns,
        usage: Spent::new(&run.record.usage_total, run.record.tool_calls, run.record.duration_ms),
        next: ending.next().to_owned(),
        trace: Some(shared.contract.run().clone()),
    };
    (ending, report)
}

/// The event of a run's end, but for what only a parent has (its reply) or only a child has (its
/// report).
pub fn finished(run: &Run, ending: Ending) -> RunFinished {
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
        changed: Vec::new(),
        contract_sha256: run.shared.contract.sha256(),
        report_sha256: None,
        receipt: (ending.status() == Status::Cancelled).then(|| Receipt {
            connections_closed: run.record.connections_closed,
            not_ended: run.record.not_ended.clone(),
            ..Receipt::default()
        }),
    }
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
    let claims = Claims::parse(&run.record.last_text, fields);
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
    match ending {
        Ending::Completed if last_message_is_silent(run) => "",
        _ => &run.record.last_text,
    }
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
        return (invalid(ending), vec![Warning::new(WarningCode::Cut, text)]);
    }
    let own = run.shared.contract.task_id().map(|task| task.to_string());
    if let (Some(claimed), Some(own)) = (&claims.task_id, own)
        && claimed.trim_start_matches('#') != own
        && claimed.trim_start_matches('#') != own.trim_start_matches('t')
    {
        let text = "the answer names another task as its own";
        return (invalid(ending), vec![Warning::new(WarningCode::FieldDropped, text)]);
    }
    let missing = claims.missing(report_fields(run));
    if ending == Ending::Completed && !missing.is_empty() {
        let text = format!("the answer lacks what its role must report: {}", missing.join(", "));
        return (Ending::Invalid, vec![Warning::new(WarningCode::FieldDropped, text)]);
    }
    (ending, Vec::new())
}

/// A broken answer of a run that ended by itself is invalid; other endings say more.
fn invalid(ending: Ending) -> Ending {
    match ending {
        Ending::Completed => Ending::Invalid,
        Ending::Exhausted(_)
        | Ending::Overrun(_)
        | Ending::Cancelled(_)
        | Ending::TimedOut
        | Ending::Blocked(_)
        | Ending::Failed(_)
        | Ending::Invalid => ending,
    }
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

fn recorded_doubts(record: &Record, ending: Ending) -> Vec<Warning> {
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
        let text = format!("calls that were denied: {}", record.denied.join("; "));
        warnings.push(Warning::new(WarningCode::CallRefused, text));
    }
    if ending.status() != Status::Completed {
        let text = "the task is not finished; what is here is a lead, not a result";
        warnings.push(Warning::new(WarningCode::Unfinished, text));
    }
    warnings
}

/// Nothing here can change a file yet, so a claimed change never happened.
fn claimed_changes(claims: &Claims) -> Option<Warning> {
    (!claims.changed_paths.is_empty()).then(|| {
        let text = format!("claimed but unchanged: {}", claims.changed_paths.join(", "));
        Warning::new(WarningCode::ClaimedUnchanged, text)
    })
}

/// Checks the first hundred cited places. A child's end does not wait for them: what is not looked
/// at within a second stays unverified.
async fn check_evidence(run: &Run, cited: &[Cited]) -> (Vec<Evidence>, Vec<Warning>) {
    let scopes = run.shared.contract.paths().to_vec();
    let workspace = Arc::clone(&run.shared.host.workspace);
    let shown = run.record.shown.clone();
    let kept: Vec<Cited> = cited.iter().take(MOST_EVIDENCE).cloned().collect();
    let unchecked = kept.clone();
    let until = std::time::Instant::now() + CHECK_TIME;
    let looking = tokio::task::spawn_blocking(move || {
        let look = |cited| {
            if std::time::Instant::now() < until {
                check(&workspace, &scopes, &shown, cited)
            } else {
                unverified(cited)
            }
        };
        kept.into_iter().map(look).collect::<Vec<_>>()
    });
    let checked = match looking.await {
        Ok(checked) => checked,
        Err(_) => unchecked.into_iter().map(unverified).collect(),
    };
    let (evidence, doubts): (Vec<Evidence>, Vec<Option<Warning>>) = checked.into_iter().unzip();
    let mut warnings: Vec<Warning> = doubts.into_iter().flatten().collect();
    if cited.len() > MOST_EVIDENCE {
        let text = format!("{} cited places were left out", cited.len() - MOST_EVIDENCE);
        warnings.push(Warning::new(WarningCode::Cut, text));
    }
    (evidence, warnings)
}

fn unverified(cited: Cited) -> (Evidence, Option<Warning>) {
    let words = format!("{} was not looked at in time", cited.path);
    let warning = Warning::new(WarningCode::EvidenceNotRead, words);
    let Cited { path, line, reason } = cited;
    (Evidence { path, line, reason, verified: false }, Some(warning))
}

fn check(
    workspace: &Workspace,
    scopes: &[PathScope],
    shown: &[Shown],
    cited: Cited,
) -> (Evidence, Option<Warning>) {
    let path = workspace.normalise(&cited.path).unwrap_or_else(|_| cited.path.clone());
    let place = match cited.line {
        Some(line) => format!("{path}:{line}"),
        None => path.clone(),
    };
    let was_shown = shown.iter().any(|shown| shows(shown, &path, cited.line));
    let doubt = match workspace.exists(scopes, &path) {
        Existence::OutOfScope => {
            Some((WarningCode::EvidenceScope, "is outside what the child may read"))
        }
        Existence::Missing => Some((WarningCode::EvidenceMissing, "does not exist")),
        Existence::File { lines: Some(lines) }
            if cited.line.is_some_and(|line| line == 0 || line > lines) =>
        {
            Some((WarningCode::EvidenceLine, "is not a line of that file"))
        }
        Existence::File { .. } | Existence::Folder if !was_shown => {
            Some((WarningCode::EvidenceNotRead, "was never shown to the child"))
        }
        Existence::File { .. } | Existence::Folder => None,
    };
    let verified = doubt.is_none();
    let warning = doubt.map(|(code, words)| Warning::new(code, format!("{place} {words}")));
    (Evidence { path, line: cited.line, reason: cited.reason, verified }, warning)
}

/// Evidence without a line holds if any part of the file was shown.
fn shows(shown: &Shown, path: &str, line: Option<u64>) -> bool {
    match shown {
        Shown::Lines { path: shown, from, to } => {
            shown == path && line.is_none_or(|line| (*from..=*to).contains(&line))
        }
        Shown::Folder { path: shown } => shown == path && line.is_none(),
    }
}
