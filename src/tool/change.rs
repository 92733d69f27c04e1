//! A change to one file between the moment it is worked out and the moment it is made: what a person
//! is shown of it, that it is still the same when it is made, and what is told about it. What the
//! new content is, the tools know.

use std::fmt::Write as _;

use crate::domain::approval::{Preview, PreviewBody};
use crate::workspace::path::{on_one_line, printable};
use crate::workspace::seen::Knowledge;
use crate::workspace::write::{Spot, Written};

use super::excerpt::{count, size};
use super::unified::{Old, unified};
use super::{ToolContext, ToolOutput};

/// Bytes that a file may have before and after an edit, and what is written at most: 10 MiB.
pub(super) const MAX_BYTES: u64 = 10 * 1024 * 1024;

/// A file's new content and what it would replace.
pub(super) struct Change {
    /// Where.
    pub(super) spot: Spot,
    /// The path that was asked for, normalised.
    pub(super) asked: String,
    /// What is there now: `None` if nothing is, or if it is larger than [`MAX_BYTES`].
    pub(super) old: Option<Vec<u8>>,
    /// What is to be there.
    pub(super) new: Vec<u8>,
}

/// Finds the place that a path argument names.
pub(super) fn find(context: &ToolContext, path: &str) -> Result<(String, Spot), String> {
    if path.ends_with('/') || path.ends_with("/.") {
        return Err(format!("`{}` names a folder; name a file", printable(path)));
    }
    let asked = context.workspace.normalise(path).map_err(|error| error.to_string())?;
    let spot =
        context.workspace.spot(&context.scopes, &asked).map_err(|error| error.to_string())?;
    Ok((asked, spot))
}

impl Change {
    /// True if the file has this content already.
    pub(super) fn is_none(&self) -> bool {
        self.old.as_ref() == Some(&self.new)
    }

    /// What the run's model knows of the file that is there; `None` if there is none.
    pub(super) fn knowledge(&self, context: &ToolContext) -> Option<Knowledge> {
        self.spot.stamp().map(|stamp| context.seen.knows(&self.spot.path(), stamp))
    }

    /// What a person is to see of it. `verb` begins the line.
    pub(super) fn preview(&self, verb: &str) -> Preview {
        let path = self.spot.path();
        let old = match (&self.old, self.spot.bytes()) {
            (Some(old), _) => Old::Content(old),
            (None, Some(bytes)) => Old::TooLarge(bytes),
            (None, None) => Old::None,
        };
        let diff = unified(&path, old, &self.new);
        let mut facts = match old {
            _ if self.is_none() => "unchanged".to_owned(),
            Old::None => format!("new, {}", count(lines(&self.new), "line", "lines")),
            Old::Content(_) | Old::TooLarge(_) => format!("+{} -{}", diff.added, diff.removed),
        };
        if let Some(ends) = self.line_ends_changed() {
            let _ = write!(facts, ", {ends}");
        }
        let named = if path == self.asked {
            printable(&path)
        } else {
            format!("{} -> {}", printable(&self.asked), printable(&path))
        };
        Preview {
            summary: format!("{verb} {named} ({facts})"),
            body: PreviewBody::Diff(diff.text),
            prefix: Some(path),
        }
    }

    /// Makes the change, if it is still what a person was shown, and notes what the model knows of
    /// the file now. Gives what was done and what is worth saying about it.
    pub(super) fn make(self, verb: &str, context: &ToolContext) -> Result<Done, String> {
        if context.cancel.is_cancelled() {
            return Err("cancelled".to_owned());
        }
        let shown = context.approved.as_deref();
        if shown.is_some_and(|shown| *shown != self.preview(verb)) {
            return Err(format!(
                "`{}` was not changed: the file changed while it was being looked at; read it again",
                printable(&self.asked)
            ));
        }
        let knew = self.knowledge(context);
        let (path, asked, ends) = (self.spot.path(), self.asked.clone(), self.line_ends_changed());
        let before = self.spot.bytes();
        let written =
            self.spot.write(&context.workspace, &self.new).map_err(|error| error.to_string())?;
        let notes = notes(&path, &asked, &written, ends);
        Ok(Done { path, asked, before, new: self.new, written, knew, notes })
    }

    /// A file whose line ends all change looks the same line by line.
    fn line_ends_changed(&self) -> Option<String> {
        let old = self.old.as_ref()?;
        let (before, after) = (line_ends(old), line_ends(&self.new));
        (before != after && !before.is_empty() && !after.is_empty())
            .then(|| format!("line ends {before} become {after}"))
    }
}

/// A change that was made.
pub(super) struct Done {
    /// The file's own path.
    pub(super) path: String,
    /// The path that was asked for.
    pub(super) asked: String,
    /// The size before, in bytes; `None` for a new file.
    pub(super) before: Option<u64>,
    /// The content now.
    pub(super) new: Vec<u8>,
    /// What the model knew of the file before.
    pub(super) knew: Option<Knowledge>,
    written: Written,
    notes: Vec<String>,
}

impl Done {
    /// The model knows the content now: it wrote all of it, or knew it and changed a part.
    pub(super) fn note(&self, context: &ToolContext) {
        match self.written.stamp {
            Some(stamp) => context.seen.note(&self.path, stamp),
            None => context.seen.changed(&self.path, "somebody else at the same moment"),
        }
    }

    /// The answer: a line of facts and the notes.
    pub(super) fn output(self, facts: &str) -> ToolOutput {
        let mut text = facts.to_owned();
        for note in &self.notes {
            text.push('\n');
            text.push_str(note);
        }
        let mut output = ToolOutput::whole(text);
        output.effects.wrote.push(self.path);
        output
    }

    /// Adds something worth saying.
    pub(super) fn say(&mut self, note: String) {
        self.notes.push(note);
    }

    /// `312 B, 12 lines`.
    pub(super) fn measure(&self) -> String {
        measure(&self.new)
    }
}

/// `312 B, 12 lines`.
pub(super) fn measure(content: &[u8]) -> String {
    format!("{}, {}", size(content.len() as u64), count(lines(content), "line", "lines"))
}

fn lines(content: &[u8]) -> u64 {
    content.split_inclusive(|byte| *byte == b'\n').count() as u64
}

/// `CRLF`, `LF` or `mixed`; blank if there is no line end.
fn line_ends(content: &[u8]) -> &'static str {
    let all = memchr::memchr_iter(b'\n', content).count();
    let crlf = memchr::memmem::find_iter(content, b"\r\n").count();
    match (all, crlf) {
        (0, _) => "",
        (_, 0) => "LF",
        (all, crlf) if all == crlf => "CRLF",
        _ => "mixed",
    }
}

fn notes(path: &str, asked: &str, written: &Written, ends: Option<String>) -> Vec<String> {
    let mut notes = Vec::new();
    if path != asked {
        let (link, file) = (printable(asked), printable(path));
        notes.push(format!("`{link}` leads through a symbolic link; the file changed is `{file}`"));
    }
    if !written.folders_made.is_empty() {
        let made: Vec<_> = written.folders_made.iter().map(|made| on_one_line(made)).collect();
        notes.push(format!("folders made: {}", made.join(", ")));
    }
    if written.other_names > 0 {
        let names = count(written.other_names, "other name", "other names");
        notes.push(format!("it had {names} (hard links), where the old content stays"));
    }
    if !written.owner_kept {
        notes.push(
            "it belonged to another user and is now yours: the owner could not be kept".to_owned(),
        );
    }
    if let Some(ends) = ends {
        notes.push(ends);
    }
    notes
}
