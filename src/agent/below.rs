//! What the children of a run, and those below them, left unfinished or unconfirmed: told to whoever
//! reads that run's report, and to people under the answer. The words of a model in between cannot
//! hide it.

use super::record::Record;
use crate::domain::event::{Fact, Level};
use crate::domain::report::{By, Report, Status, Warning, WarningCode};

/// Tasks that one sentence names.
const NAMED: usize = 10;

/// What the report of a run that delegated says of its own tasks and of those below.
pub(super) fn doubts(record: &Record) -> Vec<Warning> {
    let unfinished: Vec<String> =
        unfinished(record).map(|report| format!("{} ({})", number(report), end(report))).collect();
    let unconfirmed: Vec<String> = all(record)
        .filter_map(|report| Some(format!("{} {}", number(report), unconfirmed(report)?)))
        .collect();
    let mut warnings = Vec::new();
    if !unfinished.is_empty() {
        let text = format!("tasks below it did not finish: {}", some(&unfinished, ", "));
        warnings.push(Warning::new(WarningCode::Unfinished, text));
    }
    if !unconfirmed.is_empty() {
        let text = format!("tasks below it are unconfirmed: {}", some(&unconfirmed, "; "));
        warnings.push(Warning::new(WarningCode::Unconfirmed, text));
    }
    warnings
}

/// What people are told under the answer of the run that answers them, of tasks at any depth.
pub fn notices(record: &Record) -> Vec<Fact> {
    let unconfirmed = all(record).filter_map(|report| {
        let text = format!("task {} {}", number(report), unconfirmed(report)?);
        Some(Fact::notice(Level::Warning, "UNCONFIRMED_CHILD", text))
    });
    unfinished(record).map(unfinished_notice).chain(unconfirmed).collect()
}

/// True if somebody above has to be told of it.
pub(super) fn is_doubtful(report: &Report) -> bool {
    report.status != Status::Completed || unconfirmed(report).is_some()
}

fn all(record: &Record) -> impl Iterator<Item = &Report> {
    record.children.iter().chain(&record.below)
}

fn unfinished(record: &Record) -> impl Iterator<Item = &Report> {
    all(record).filter(|report| report.status != Status::Completed)
}

fn number(report: &Report) -> String {
    report.task_id.map_or_else(|| "?".to_owned(), |task| format!("#{}", task.0))
}

fn some(items: &[String], between: &str) -> String {
    let named = items.get(..NAMED.min(items.len())).unwrap_or_default().join(between);
    match items.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// How it ended, in the words of a report.
fn end(report: &Report) -> String {
    let by = report.by.map_or("", |by| match by {
        By::User => " by the user",
        By::Parent => " by its parent",
        By::Budget => " by a budget",
        By::Shutdown => " by shutdown",
    });
    format!("{}{by}", report.status.as_str().replace('_', " "))
}

/// What the model cannot leave out of its answer.
fn unfinished_notice(child: &Report) -> Fact {
    let end = end(child).replace(" by the user", " by you");
    let review = if child.needs_review { ", and what it changed needs review" } else { "" };
    let number = number(child);
    let text = format!("task {number} did not finish ({end}): its result is unconfirmed{review}");
    Fact::notice(Level::Warning, "UNFINISHED_CHILD", text)
}

/// What a task that completed says and the runtime did not see; an answer may repeat it.
fn unconfirmed(report: &Report) -> Option<String> {
    let said: Vec<String> = report.warnings.iter().filter_map(unshown).collect();
    let is_told = report.status == Status::Completed && !said.is_empty();
    is_told.then(|| said.join("; it "))
}

fn unshown(warning: &Warning) -> Option<String> {
    match warning.code {
        WarningCode::ClaimedUnchanged => {
            let text = &warning.text;
            let what = text.split_once(": ").map_or(text.as_str(), |(_, paths)| paths);
            Some(format!("says that it changed {what}; the workspace does not show it"))
        }
        WarningCode::TestsNotRun | WarningCode::MustNot | WarningCode::DoneWhen => {
            Some(warning.text.clone())
        }
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
        | WarningCode::Unconfirmed
        | WarningCode::Claimed => None,
    }
}
