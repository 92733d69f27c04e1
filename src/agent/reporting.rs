//! How a child's end comes back: its report is made, redacted, kept for later tasks and told, and its
//! parent reads it. It refuses to know how the child was started.

use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;

use super::changes::MOST_PATHS;
use super::delegate::{Ticket, empty_report, task_end};
use super::dispatch::CallEnd;
use super::record::ChildEnd;
use super::run::{Run, RunShared};
use super::{conclude, keeping, steering};
use crate::domain::context_store::{Sensitivity, SnippetKind};
use crate::domain::event::{Fact, Origin, RunFinished};
use crate::domain::hash::Sha;
use crate::domain::ids::TaskId;
use crate::domain::report::{Ending, Report, Spent, Status};
use crate::domain::violation::Code;

/// Something always comes back, whatever goes wrong on the way: a report as it should be; one
/// without the child's words; or one that is in no store and of which only the end is known.
pub(super) async fn finish(
    parent: &RunShared,
    ticket: &Ticket,
    run: Run,
    ending: Ending,
) -> CallEnd {
    let told = AssertUnwindSafe(tell_report(parent, ticket, &run, ending)).catch_unwind().await;
    let (ending, report, json) = match told {
        Ok(told) => told,
        Err(_) => tell_bare_report(ticket, &run).await,
    };
    let child = &run.shared;
    child.host.run_ended(child.contract.run());
    let end = task_end(ChildEnd::of(&run.record, report), ending, json);
    CallEnd { duration_ms: child.clock.elapsed_ms(), ..end }
}

async fn tell_report(
    parent: &RunShared,
    ticket: &Ticket,
    run: &Run,
    ending: Ending,
) -> (Ending, Report, String) {
    let made = AssertUnwindSafe(conclude::report(run, ending)).catch_unwind().await;
    let (ending, report) = made.unwrap_or_else(|_| bare_report(run, ticket.task));
    let mut report = parent.host.redactor.report(report);
    let circle = keeping::circle_of(&run.shared.contract);
    let json = keep_report(parent, ticket.task, &mut report, circle).await;
    let finished = RunFinished {
        report: Some(report.clone()),
        report_sha256: Some(Sha::of(&json)),
        ..conclude::finished(run, ending)
    };
    steering::tell_end(&run.shared, finished).await;
    (ending, report, json)
}

async fn tell_bare_report(ticket: &Ticket, run: &Run) -> (Ending, Report, String) {
    let (ending, report) = bare_report(run, ticket.task);
    let json = report.to_json();
    let finished = RunFinished {
        report: Some(report.clone()),
        report_sha256: Some(Sha::of(&json)),
        ..conclude::finished(run, ending)
    };
    steering::tell_end(&run.shared, finished).await;
    (ending, report, json)
}

/// What is left to say of a child whose report could not be made.
fn bare_report(run: &Run, task: TaskId) -> (Ending, Report) {
    let ending = Ending::Failed(Code::Internal);
    let words = "internal error: the report could not be made; the trace has what happened";
    let mut report = empty_report(ending, words);
    report.task_id = Some(task);
    report.attempt = Some(1);
    report.turns = run.record.turns;
    let changed = run.shared.host.changes.of(run.shared.contract.run());
    report.needs_review = !changed.is_empty();
    report.changed_paths = changed.paths().take(MOST_PATHS).map(str::to_owned).collect();
    report.trace = Some(run.shared.contract.run().clone());
    report.usage =
        Spent::new(&run.record.usage_total, run.record.tool_calls, run.record.duration_ms);
    (ending, report)
}

/// The report becomes a snippet that a later task can be given, which the report says. Returns it
/// as its parent reads it.
pub(super) async fn keep_report(
    parent: &RunShared,
    task: TaskId,
    report: &mut Report,
    sensitivity: Sensitivity,
) -> String {
    let key = format!("report:{}", task.0);
    report.next = format!("{} It can be given to another task as `{key}`.", report.next);
    *report = report.clone().capped();
    let json = report.to_json();
    let text = if report.status == Status::Completed {
        json.clone()
    } else {
        format!("(unconfirmed, {})\n{json}", report.status.as_str())
    };
    let source = format!("the report of task {task}");
    let card = parent.store().put(key, SnippetKind::Report, source, text.clone(), sensitivity);
    let fact = Fact::ContextAdded { card, sensitivity, text: Some(text) };
    // What a child may hand on is its own; what the user's run may, is the session's.
    let deeper = parent.contract.depth() > 0;
    let origin = if deeper { parent.origin.clone() } else { Origin::session() };
    parent.host.emit(&origin, fact).await;
    json
}
