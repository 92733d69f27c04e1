//! Whether the user trusts what a project says for itself: its settings, roles and commands. They
//! are asked once, with what changed since the last time; until then only what narrows holds. It
//! refuses to know what trusted files may do.

mod files;
mod store;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::Remark;
use crate::domain::event::Level;
use crate::domain::line_diff::{LineDiff, bounded};
use store::{Answered, Remembered, Store, StoreError};

pub(super) use files::{LEADS_OUT, OwnFile, find};

/// The store's name in the state folder.
const STORE: &str = "trust.json";
/// Bytes of a difference that are shown.
const MOST_DIFF: usize = 64 * 1024;

/// How the user stands to a folder's own files as they are now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There are none.
    Nothing,
    /// They said yes to exactly these, or to more.
    Trusted,
    /// They said no to exactly these.
    Refused,
    /// They were not asked about these yet.
    Asks,
}

/// What a file is, compared with the last answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// It was not there.
    New,
    /// It held something else.
    Changed,
    /// It is as it was.
    Same,
    /// It is not there any more.
    Gone,
}

/// One of a project's own files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// From the project's root.
    pub path: String,
    /// Compared with the last answer.
    pub state: FileState,
    /// A unified diff against what it held then; a new file is all additions. Text from outside.
    pub diff: String,
}

/// The trust in one folder's own files, and where answers are kept.
#[derive(Debug, Clone)]
pub struct Trust {
    /// How the user stands to them.
    pub standing: Standing,
    /// The files; what is the same comes last. Empty where there is nothing to ask.
    pub changes: Vec<FileChange>,
    /// The folder, absolute and without links.
    pub folder: PathBuf,
    store: Option<PathBuf>,
    current: Vec<Remembered>,
}

impl Trust {
    /// Compares the project's files with what the user said of them. What goes wrong with the store
    /// is told, and then nothing is trusted.
    pub(super) fn new(
        folder: &Path,
        files: &[OwnFile],
        state: Option<&Path>,
        remarks: &mut Vec<Remark>,
    ) -> Self {
        let store = state.map(|state| state.join(STORE));
        let current: Vec<Remembered> = files
            .iter()
            .map(|file| Remembered::new(&file.path, file.sha256(), file.shown()))
            .collect();
        let nothing = Self {
            standing: Standing::Nothing,
            changes: Vec::new(),
            folder: folder.to_owned(),
            store,
            current,
        };
        if files.is_empty() {
            return nothing;
        }
        let earlier = nothing.earlier().unwrap_or_else(|error| {
            remarks.push(remark(format!("{error}; it is as if nothing had been answered")));
            None
        });
        Self {
            standing: standing(&nothing.current, earlier.as_ref()),
            changes: changes(files, earlier.as_ref()),
            ..nothing
        }
    }

    /// True if what the files say holds in full.
    pub fn holds(&self) -> bool {
        match self.standing {
            Standing::Nothing | Standing::Trusted => true,
            Standing::Refused | Standing::Asks => false,
        }
    }

    /// Keeps an answer about the files as they were compared. An error says in words why it holds
    /// for this session only.
    pub fn answer(&self, trusted: bool) -> Result<(), String> {
        let only_now = |why: String| format!("{why}; the question comes again at the next start");
        let Some(store) = &self.store else {
            let why = "there is no place to keep the answer: neither HOME nor XDG_STATE_HOME names a \
                       folder";
            return Err(only_now(why.to_owned()));
        };
        let Some(folder) = self.folder.to_str() else {
            return Err(only_now("the folder's name is not UTF-8 text".to_owned()));
        };
        let answered = Answered { folder: folder.to_owned(), trusted, files: self.current.clone() };
        Store::remember(store, answered).map_err(|error| only_now(error.to_string()))
    }

    fn earlier(&self) -> Result<Option<Answered>, StoreError> {
        let (Some(store), Some(folder)) = (&self.store, self.folder.to_str()) else {
            return Ok(None);
        };
        Ok(Store::load(store)?.answer(folder).cloned())
    }

    /// What does not hold, in words; none where the screen is about to ask.
    pub(super) fn warning(&self, on_screen: bool) -> Option<Remark> {
        let names: Vec<&str> = self
            .changes
            .iter()
            .filter(|change| change.state != FileState::Gone)
            .map(|change| change.path.as_str())
            .collect();
        let names = names.join(", ");
        let text = match self.standing {
            Standing::Nothing | Standing::Trusted => return None,
            Standing::Refused => format!(
                "you do not trust this project's own files ({names}): of its settings only what \
                 narrows holds, and its roles and commands are not loaded. You are asked again when \
                 they change, or without {}",
                self.store.as_deref().unwrap_or(Path::new(STORE)).display()
            ),
            Standing::Asks if on_screen => return None,
            Standing::Asks => format!(
                "this project's own files ({names}) are not trusted yet: of its settings only what \
                 narrows holds, and its roles and commands are not loaded. The screen asks: open \
                 `offshoot` here"
            ),
        };
        Some(remark(text))
    }
}

fn remark(text: String) -> Remark {
    Remark { level: Level::Warning, code: "UNTRUSTED", text }
}

/// A file that went away is no reason to ask: nothing new is said by it.
fn standing(current: &[Remembered], earlier: Option<&Answered>) -> Standing {
    let Some(earlier) = earlier else { return Standing::Asks };
    let known = |file: &Remembered| {
        earlier.files.iter().any(|old| old.path == file.path && old.sha256 == file.sha256)
    };
    match (current.iter().all(known), earlier.trusted) {
        (true, true) => Standing::Trusted,
        (true, false) => Standing::Refused,
        (false, _) => Standing::Asks,
    }
}

/// What each file is now against what it was at the last answer; what is the same comes last.
fn changes(files: &[OwnFile], earlier: Option<&Answered>) -> Vec<FileChange> {
    let old = earlier.map_or(&[][..], |earlier| &earlier.files);
    let mut changes: Vec<FileChange> = files
        .iter()
        .map(|file| {
            let before = old.iter().find(|old| old.path == file.path);
            let state = match before {
                None => FileState::New,
                Some(before) if before.sha256 == file.sha256() => FileState::Same,
                Some(_) => FileState::Changed,
            };
            let text = before.map_or(Some(""), |before| before.text.as_deref());
            FileChange { path: file.path.clone(), state, diff: diff(text, &file.shown()) }
        })
        .collect();
    let is_gone = |old: &&Remembered| files.iter().all(|file| file.path != old.path);
    changes.extend(old.iter().filter(is_gone).map(|old| FileChange {
        path: old.path.clone(),
        state: FileState::Gone,
        diff: diff(old.text.as_deref(), ""),
    }));
    changes.sort_by_key(|change| change.state == FileState::Same);
    changes
}

fn diff(old: Option<&str>, new: &str) -> String {
    let Some(old) = old else {
        return format!("(what it held before was too long to keep)\n{new}");
    };
    let mut text = LineDiff::new(old.as_bytes(), new.as_bytes(), bounded).hunks();
    if text.len() > MOST_DIFF {
        let more = text.len() - MOST_DIFF;
        text.truncate(text.floor_char_boundary(MOST_DIFF));
        // Writing to a string cannot fail.
        let _ = write!(text, "\n(cut: about {more} bytes more)\n");
    }
    text
}
