//! `/diff`: what a run changed, as text, from the copies that were kept. It reads no file of the
//! workspace: what was changed since then is not this run's doing.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use similar::Algorithm;

use super::{Config, Conversation};
use crate::agent::changes::MOST_LISTS;
use crate::agent::host::Host;
use crate::domain::changes::{ChangeList, Difference, FileKind, FileState};
use crate::domain::event::{Fact, Level};
use crate::domain::ids::{RunId, TaskId};
use crate::domain::line_diff::LineDiff;
use crate::domain::secret_file::looks_secret;
use crate::journal::redact::Redactor;
use crate::workspace::lines::{SNIFF_BYTES, is_binary};
use crate::workspace::path::on_one_line;
use crate::workspace::shadow::Shadow;
use crate::workspace::snapshot::Tracker;

/// Bytes that the text may have.
const MAX_BYTES: usize = 200 * 1_000;
/// Room for the last sentence of a text that was cut.
const SAID_BYTES: usize = 400;
/// How long the comparison of one file may take before it gets coarse.
const FILE_TIME: Duration = Duration::from_millis(500);
/// Attempts at a task that are looked for.
const ATTEMPTS: u32 = 9;

/// Whose changes.
enum Subject {
    /// Those of the newest answer with all it delegated; none if nothing was asked yet.
    Answer(Option<RunId>),
    /// Those of a task.
    Task(TaskId),
}

impl Conversation {
    /// Tells what changed.
    pub(super) async fn show_diff(&self, task: Option<TaskId>) {
        let subject = match task {
            Some(task) => Subject::Task(task),
            None => Subject::Answer(self.newest.clone()),
        };
        let text = show(&self.host, subject).await;
        self.tell(Fact::notice(Level::Info, "DIFF", text)).await;
    }
}

/// Where copies of changed files go: with the session's other files, or nowhere but here. What looks
/// like a secret, by its name or by its content, goes nowhere.
pub(super) fn shadow(config: &Config) -> Shadow {
    let shadow = match &config.journal {
        Some(journal) => Shadow::in_folder(journal.folder().join("shadow")),
        None => Shadow::in_memory(),
    };
    let redactor = Redactor::new(config.secrets.clone());
    shadow.without(move |path, content| {
        looks_secret(&path.to_string_lossy()) || redactor.finds(content)
    })
}

/// The changes as a unified diff, or in words that there are none.
async fn show(host: &Arc<Host>, subject: Subject) -> String {
    // The newest answer is always among those that are kept.
    let is_old = matches!(subject, Subject::Task(_)) && host.changes.forgot();
    let (list, whose) = match subject {
        Subject::Answer(None) => return "nothing was asked yet, so nothing changed".to_owned(),
        Subject::Answer(Some(run)) => (host.changes.of(&run), "the newest answer".to_owned()),
        Subject::Task(task) => match of_task(host, task) {
            Some(list) => (list, format!("task #{}", task.0)),
            None => return format!("there was no task #{} in this session", task.0),
        },
    };
    if list.is_empty() {
        return unchanged(&whose, is_old);
    }
    let tracker = Arc::clone(host.changes.tracker());
    let writing = tokio::task::spawn_blocking(move || write_all(&list, &tracker));
    writing.await.unwrap_or_else(|fault| format!("the diff could not be made: {fault}"))
}

/// Said where no change is known; `is_old` if it may have been known once.
fn unchanged(whose: &str, is_old: bool) -> String {
    if !is_old {
        return format!("{whose} changed no file");
    }
    format!(
        "{whose} changed no file, or ended so long ago that its changes are not known any more: those \
         of the newest {MOST_LISTS} runs are kept"
    )
}

/// The sum of all attempts; `None` if there is no such task.
fn of_task(host: &Host, task: TaskId) -> Option<ChangeList> {
    if !host.has_task(task) {
        return None;
    }
    let mut sum = ChangeList::default();
    for attempt in 1..=ATTEMPTS {
        let list = host.changes.of(&RunId::child(task, attempt));
        for difference in list.differences() {
            sum.fold(&difference);
        }
    }
    Some(sum)
}

fn write_all(list: &ChangeList, tracker: &Tracker) -> String {
    let mut text = String::new();
    for (index, difference) in list.differences().enumerate() {
        let part = write_one(&difference, tracker);
        if text.len() + part.len() + SAID_BYTES > MAX_BYTES {
            let left = list.len() - index;
            cut(&mut text, &part, &difference.path, left);
            break;
        }
        text.push_str(&part);
    }
    text
}

/// Adds as much of a file's diff as there is room for, and says what is missing.
fn cut(text: &mut String, part: &str, path: &str, left: usize) {
    for line in part.split_inclusive('\n') {
        if text.len() + line.len() + SAID_BYTES > MAX_BYTES {
            break;
        }
        text.push_str(line);
    }
    let path: String = on_one_line(path).chars().take(100).collect();
    let _ = write!(text, "… (cut at 200 KB: the diff of {path} is not whole");
    match left.saturating_sub(1) {
        0 => {}
        1 => text.push_str(", and 1 more changed file is not shown"),
        more => {
            let _ = write!(text, ", and {more} more changed files are not shown");
        }
    }
    text.push_str(")\n");
}

fn write_one(difference: &Difference, tracker: &Tracker) -> String {
    let path = on_one_line(&difference.path);
    let mut text = format!("diff a/{path} b/{path}\n");
    match (&difference.before, &difference.after) {
        (None, None) => {}
        (None, Some(after)) => {
            let _ = writeln!(text, "new {} mode {}", kind(after), mode(after));
        }
        (Some(before), None) => {
            let _ = writeln!(text, "deleted {} mode {}", kind(before), mode(before));
        }
        (Some(before), Some(after)) => write_modes(&mut text, before, after),
    }
    write_content(&mut text, &path, difference, tracker);
    text
}

fn write_modes(text: &mut String, before: &FileState, after: &FileState) {
    if before.kind != after.kind || before.mode != after.mode {
        let _ = writeln!(text, "old {} mode {}", kind(before), mode(before));
        let _ = writeln!(text, "new {} mode {}", kind(after), mode(after));
    }
}

/// What one side of a file held.
enum Side {
    Text(String),
    Binary,
    /// Not copied.
    Unknown,
}

impl Side {
    fn of(state: Option<&FileState>, tracker: &Tracker) -> Self {
        let Some(state) = state else { return Self::Text(String::new()) };
        if state.kind == FileKind::Special {
            return Self::Text(String::new());
        }
        let content = state.sha256.as_ref().and_then(|sha| tracker.content(sha));
        match content {
            None => Self::Unknown,
            Some(content) if is_binary(start(&content)) => Self::Binary,
            Some(content) => Self::Text(String::from_utf8_lossy(&content).into_owned()),
        }
    }
}

fn write_content(text: &mut String, path: &str, difference: &Difference, tracker: &Tracker) {
    let (before, after) = (difference.before.as_ref(), difference.after.as_ref());
    let hash = |state: Option<&FileState>| state.and_then(|state| state.sha256.clone());
    if before.is_some() && after.is_some() && hash(before).is_some() && hash(before) == hash(after)
    {
        return;
    }
    let sizes = format!("{} → {}", size(before), size(after));
    match (Side::of(before, tracker), Side::of(after, tracker)) {
        (Side::Text(old), Side::Text(new)) => write_lines(text, path, difference, &old, &new),
        (Side::Unknown, _) | (_, Side::Unknown) => {
            let _ = writeln!(text, "(content not copied: {sizes})");
        }
        (Side::Binary, _) | (_, Side::Binary) => {
            let _ = writeln!(text, "(binary content: {sizes})");
        }
    }
}

fn write_lines(text: &mut String, path: &str, difference: &Difference, old: &str, new: &str) {
    let side = |state: &Option<FileState>, letter: &str| match state {
        Some(_) => format!("{letter}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let diff = LineDiff::new(old.as_bytes(), new.as_bytes(), |old, new| {
        let deadline = Instant::now().checked_add(FILE_TIME);
        similar::capture_diff_slices_deadline(Algorithm::Myers, old, new, deadline)
    });
    let (old, new) = (side(&difference.before, "a"), side(&difference.after, "b"));
    let hunks = diff.hunks();
    if !hunks.is_empty() {
        let _ = write!(text, "--- {old}\n+++ {new}\n{hunks}");
    }
}

/// The bytes that decide whether it is text.
fn start(content: &[u8]) -> &[u8] {
    content.get(..SNIFF_BYTES).unwrap_or(content)
}

fn size(state: Option<&FileState>) -> String {
    match state {
        Some(state) => format!("{} bytes", state.bytes),
        None => "nothing".to_owned(),
    }
}

fn kind(state: &FileState) -> &'static str {
    match state.kind {
        FileKind::File => "file",
        FileKind::Link => "symbolic link",
        FileKind::Special => "special file",
    }
}

/// As git writes it for files.
fn mode(state: &FileState) -> String {
    match state.kind {
        FileKind::File => format!("100{:03o}", state.mode),
        FileKind::Link => "120000".to_owned(),
        FileKind::Special => format!("{:04o}", state.mode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_been_let_go_is_not_called_unchanged() {
        assert_eq!(unchanged("task #1", false), "task #1 changed no file");
        let old = unchanged("task #1", true);
        assert!(old.contains("not known any more") && old.contains("newest 256 runs"), "{old}");
    }
}
