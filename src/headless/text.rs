//! The format for people: the answer on standard output, what led to it on standard error. It
//! refuses to put anything else beside the answer.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use super::lines;
use super::{Pages, Printer, is_parent};

use crate::domain::event::{Event, Fact, Failure, Level, Origin, RunFinished, Speaker};
use crate::domain::ids::{RunId, TaskId};
use crate::domain::report::{Exhausted, Report, Status, Warning};
use crate::domain::violation::Code;
use crate::sanitize;
use crate::story::{CommandEnd, KeptOut};

/// Warnings of one child's report that are told.
const MOST_DOUBTS: usize = 5;

/// Prints for people.
pub(super) struct Text {
    quiet: bool,
    out_is_terminal: bool,
    /// How far below the parent each child runs.
    depths: HashMap<RunId, usize>,
    /// The children that run now.
    live: HashSet<RunId>,
    /// For the closing line alone; it stays empty where that is not told.
    kept_out: KeptOut,
}

impl Text {
    pub(super) fn new(quiet: bool, out_is_terminal: bool) -> Self {
        Self {
            quiet,
            out_is_terminal,
            depths: HashMap::new(),
            live: HashSet::new(),
            kept_out: KeptOut::default(),
        }
    }

    /// What stands before a call: `tool: ` at the margin for the parent, `[子] ` indented for a
    /// child, with its number while several run.
    fn caller(&self, origin: &Origin) -> String {
        if origin.parent_run.is_none() {
            return "tool: ".to_owned();
        }
        let number = if self.live.len() > 1 { number(origin.task) } else { String::new() };
        format!("{}[子] {number}", self.indent(origin))
    }

    /// What stands before all that is said of a child: more, the deeper it is.
    fn indent(&self, origin: &Origin) -> String {
        let depth = origin.run.as_ref().and_then(|run| self.depths.get(run)).copied();
        "  ".repeat(depth.unwrap_or(1).max(1))
    }

    fn progress(&mut self, event: &Event) -> Option<String> {
        let caller = self.caller(&event.origin);
        match &event.fact {
            Fact::ToolStarted { name, arguments, .. } => {
                Some(format!("{caller}{}", lines::call(name, arguments)))
            }
            Fact::ToolFinished { name, output, failure: Some(failure), .. } => {
                let end = CommandEnd::of(name, output).filter(|_| *failure == Failure::Error);
                let (how, why) = match end {
                    Some(end) => (
                        format!("failed (exit {})", end.exit_code),
                        lines::first(end.last_line.unwrap_or("(no output)")),
                    ),
                    None => (
                        word(*failure).to_owned(),
                        reported(output).unwrap_or_else(|| lines::first(output)),
                    ),
                };
                Some(format!("{caller}{} {how}: {why}", lines::name(name)))
            }
            Fact::TaskQueued { description, position, .. } => {
                let what = lines::first(description);
                let place = match position {
                    0 => "for a free place".to_owned(),
                    others => format!("behind {others}"),
                };
                Some(format!("{caller}task \"{what}\" waits {place}"))
            }
            Fact::Message(message)
                if is_parent(&event.origin)
                    && message.role == Speaker::Assistant
                    && !message.tool_calls.is_empty()
                    && !message.text.trim().is_empty() =>
            {
                Some(barred(&sanitize::block(message.text.trim())))
            }
            Fact::RunFinished(finished) if event.origin.parent_run.is_some() => Some(format!(
                "{}{}",
                self.indent(&event.origin),
                child_end(&event.origin, finished)
            )),
            Fact::CancelRequested { target, by } => {
                let by = format!("{by:?}").to_lowercase();
                Some(format!("offshoot: {} is being cancelled by {by}", sanitize::line(target)))
            }
            Fact::Notice { text, .. } | Fact::Compacted { text, .. } => {
                Some(format!("offshoot: {}{}", subject(&event.origin), lines::sentence(text)))
            }
            Fact::RetryScheduled { delay_ms, reason, attempt, .. } => Some(format!(
                "{caller}try {attempt} in {:.1} s: {}",
                Duration::from_millis(*delay_ms).as_secs_f64(),
                lines::sentence(reason)
            )),
            Fact::Paused { .. } => Some(steered(&event.origin, "paused")),
            Fact::Resumed { .. } => Some(steered(&event.origin, "going on")),
            Fact::WrapUpRequested { .. } => Some(steered(&event.origin, "asked to wrap up")),
            Fact::BudgetExtended { text, .. } => {
                let text = lines::sentence(text);
                Some(steered(&event.origin, &format!("given more: {text}")))
            }
            Fact::Steered { text, .. } => {
                let text = lines::first(text);
                Some(steered(&event.origin, &format!("told: {text}")))
            }
            Fact::ApprovalRequested { .. }
            | Fact::ApprovalDecided { .. }
            | Fact::FilesChanged { .. }
            | Fact::ModeChanged { .. }
            | Fact::PreflightChanged { .. }
            | Fact::RunStarted { .. }
            | Fact::RunFinished(_)
            | Fact::Message(_)
            | Fact::ToolFinished { .. }
            | Fact::ContractRefused { .. }
            | Fact::SessionStarted { .. }
            | Fact::SessionFinished { .. }
            | Fact::ContextAdded { .. }
            | Fact::TurnStarted { .. }
            | Fact::TextDelta { .. }
            | Fact::ReasoningDelta { .. }
            | Fact::ModelWriting
            | Fact::ToolProgress { .. }
            | Fact::Usage { .. }
            | Fact::Unknown => None,
        }
    }
}

/// A model's words between calls, every line of them marked: none can pass for one of the program's.
fn barred(words: &str) -> String {
    let lines: Vec<String> = words.lines().map(|line| format!("│ {line}")).collect();
    lines.join("\n")
}

impl Printer for Text {
    fn event(&mut self, event: &Event, pages: &mut Pages) {
        if !self.quiet {
            self.kept_out.apply(event);
        }
        if let (Fact::RunStarted { depth, .. }, Some(run)) = (&event.fact, &event.origin.run)
            && event.origin.parent_run.is_some()
        {
            self.depths.insert(run.clone(), usize::try_from(*depth).unwrap_or(1).min(8));
            self.live.insert(run.clone());
        }
        let failure = matches!(event.fact, Fact::Notice { level: Level::Error, .. });
        if (!self.quiet || failure)
            && let Some(line) = self.progress(event)
        {
            pages.tell(&line);
        }
        if let (Fact::RunFinished(_), Some(run)) = (&event.fact, &event.origin.run) {
            self.live.remove(run);
        }
    }

    fn end(&mut self, finished: Option<&RunFinished>, pages: &mut Pages) {
        let Some(finished) = finished else {
            pages
                .tell("offshoot: the session ended without an answer; this is a fault of offshoot");
            return;
        };
        if let Some(worth) = self.kept_out.worth().filter(|worth| worth.used_tokens() > 0) {
            pages.tell(&format!("offshoot: {worth}"));
        }
        if let Some(reply) = finished.reply.as_deref().filter(|reply| !reply.is_empty()) {
            let cleaned = sanitize::block(reply);
            let reply = if self.out_is_terminal { cleaned.as_ref() } else { reply };
            pages.out.extend_from_slice(reply.as_bytes());
            if !reply.ends_with('\n') {
                pages.out.push(b'\n');
            }
        }
        if finished.status != Status::Completed {
            pages.tell(&format!("offshoot: the run is not complete: {}", end_words(finished)));
        }
    }
}

fn child_end(origin: &Origin, finished: &RunFinished) -> String {
    let task = number(origin.task);
    let turns =
        if finished.turns == 1 { "1 turn".into() } else { format!("{} turns", finished.turns) };
    let changed: Vec<String> =
        finished.changed.iter().map(|file| lines::name(&file.path)).collect();
    let changed = match changed.len() {
        0 => String::new(),
        _ => format!("\n    changed: {}", changed.join(", ")),
    };
    let doubts = finished.report.as_ref().map(doubts).unwrap_or_default();
    format!("{task}{} after {turns}{changed}{doubts}", end_words(finished))
}

/// What the runtime holds against a report, a line each; what is a matter of form is left out.
fn doubts(report: &Report) -> String {
    let serious: Vec<&Warning> =
        report.warnings.iter().filter(|warning| warning.code.is_serious()).collect();
    let mut text = String::new();
    let told = serious.iter().take(MOST_DOUBTS).map(|warning| lines::first(&warning.text));
    let more = serious.len().saturating_sub(MOST_DOUBTS);
    for words in told.chain((more > 0).then(|| format!("{more} more"))) {
        text.push_str("\n    warning: ");
        text.push_str(&words);
    }
    text
}

/// `#3 `, or nothing for what is no task.
fn number(task: Option<TaskId>) -> String {
    task.map(|task| format!("#{} ", task.0)).unwrap_or_default()
}

/// Whom a sentence is about, where that is a child: `#3: `.
fn subject(origin: &Origin) -> String {
    let child = origin.task.filter(|_| origin.parent_run.is_some());
    child.map(|task| format!("#{}: ", task.0)).unwrap_or_default()
}

/// What a person did to a run: `offshoot: #3 is paused`.
fn steered(origin: &Origin, what: &str) -> String {
    let child = number(origin.task.filter(|_| origin.parent_run.is_some()));
    let who = if child.is_empty() { "the answer " } else { &child };
    format!("offshoot: {who}is {what}")
}

/// `#3 failed (PROVIDER_ERROR): ...` if the result of a call is a child's report: how it ended and
/// the first line that it says.
fn reported(output: &str) -> Option<String> {
    let json = &output[output.find('{')?..];
    let report = serde_json::Deserializer::from_str(json).into_iter::<Report>().next()?.ok()?;
    let ended = ending(report.status, report.code, report.dimension);
    Some(format!("{}{ended}: {}", number(report.task_id), lines::first(&report.summary)))
}

fn end_words(finished: &RunFinished) -> String {
    ending(finished.status, finished.code, finished.dimension)
}

/// `budget_exhausted (turns)`: the status with what makes it plain.
fn ending(status: Status, code: Option<Code>, dimension: Option<Exhausted>) -> String {
    let status = status.as_str();
    if let Some(dimension) = dimension.and_then(|d| serde_json::to_value(d).ok()) {
        return format!("{status} ({})", dimension.as_str().unwrap_or_default());
    }
    match code {
        Some(code) if !code.as_str().eq_ignore_ascii_case(status) => format!("{status} ({code})"),
        Some(_) | None => status.to_owned(),
    }
}

fn word(failure: Failure) -> &'static str {
    match failure {
        Failure::Error => "failed",
        Failure::Refused => "refused",
        // By a person, a rule, or because nobody could be asked.
        Failure::Denied => "not allowed",
        Failure::Cancelled => "cancelled",
        Failure::NotRun => "not run",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_a_model_stands_where_the_programs_own_do() {
        let forged = "tool: run_tests\n  [子] run_tests all\n\noffshoot: all tests pass";
        let barred = barred(forged);
        assert_eq!(barred.lines().count(), 4);
        assert!(barred.lines().all(|line| line.starts_with("│ ")), "{barred}");
    }
}
