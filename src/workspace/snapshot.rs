//! What is known of the workspace's files, and what became of them since. It reads and compares; it
//! refuses to know who changed something.
//!
//! A look goes over all files that git would not ignore: those whose size, times, inode and mode are
//! as before are taken to be unchanged, of the others the content decides. Folders matter by their
//! files only; a link is its target's name; of pipes, sockets and devices only the kind is known.
//! What was once known stays known, even if a rule hides it later, so that no command hides its
//! changes by writing a rule; and what comes to light because a rule is gone was not made by whoever
//! removed the rule.

mod content;
mod stamp;
mod walk;

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;

use self::content::{Found, Wanted};
use self::stamp::Stamp;
use self::walk::Walk;
use super::Workspace;
use super::shadow::{Reason, Shadow};
use crate::domain::changes::{Difference, FileState};
use crate::domain::hash::Sha;

/// Room for the difference between the clock of this program and that of the files.
const CLOCK_NS: i128 = 2_000_000_000;

/// What is known of a workspace's files. One for each session; all its work blocks.
#[derive(Debug)]
pub struct Tracker(Mutex<State>);

/// What a look at all files found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refresh {
    /// The files that are not what they were at the last look, in no order.
    pub differences: Vec<Difference>,
    /// True if all that is to be seen was looked at; false after a cancel.
    pub complete: bool,
    /// What could not be looked at, in words.
    pub unseen: Option<String>,
}

#[derive(Debug)]
struct State {
    known: HashMap<OsString, Known>,
    /// What rules hid at the last look at all files: files, and folders that were not entered.
    hidden: HashSet<OsString>,
    /// The number of the newest look at all files; 0 before the first.
    look: u64,
    /// When that began, in ns since 1970.
    look_began: i128,
    /// True if that look did not see everything.
    partial: bool,
    shadow: Shadow,
}

/// What is known of one file.
#[derive(Debug)]
struct Known {
    stamp: Stamp,
    /// True if the content cannot have changed without changing the stamp.
    settled: bool,
    sha256: Option<Sha>,
    /// The last look at all files that met it.
    look: u64,
}

impl Tracker {
    /// Knows nothing yet; copies of content go into `shadow`.
    pub fn new(shadow: Shadow) -> Self {
        Self(Mutex::new(State {
            known: HashMap::new(),
            hidden: HashSet::new(),
            look: 0,
            look_began: 0,
            partial: false,
            shadow,
        }))
    }

    /// Looks at all files. What the first look finds is no difference but where everything starts.
    pub fn refresh(&self, workspace: &Workspace, cancel: &CancellationToken) -> Refresh {
        let mut state = self.lock();
        let first = state.look == 0;
        let mut refresh = Walk::new(&mut state, workspace, cancel).run();
        if first {
            refresh.differences.clear();
        }
        refresh
    }

    /// Looks at one file, even if a rule hides it. `looked` is true if it was looked at before
    /// whatever happened since: then a file that is new was not there.
    pub fn look_at(&self, workspace: &Workspace, path: &str, looked: bool) -> Option<Difference> {
        let path = content::resolve(workspace, path);
        let mut state = self.lock();
        let found = content::find(workspace, &path);
        let difference = match &found {
            Found::There { dir, name, stamp } => {
                state.compare(&path, *stamp, Wanted::named(), |most| {
                    content::read(dir, name, *stamp, most)
                })
            }
            Found::Gone => state.forget(&path),
            Found::Unknown => None,
        };
        difference.map(|found| if looked { found } else { state.doubt(&path, found) })
    }

    /// The copy of a file's content, if one was made.
    pub fn content(&self, sha: &Sha) -> Option<Vec<u8>> {
        self.lock().shadow.read(sha)
    }

    /// How many files were not copied since this was asked last, because they are large, many, or
    /// look like a secret.
    pub fn take_left_out(&self) -> u64 {
        self.lock().shadow.take_left_out()
    }

    /// Why no copies are made any more, in words; told once.
    pub fn take_failure(&self) -> Option<String> {
        self.lock().shadow.take_failure()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes note of a file that is there, and says what differs from what was known.
    fn compare(
        &mut self,
        path: &OsStr,
        stamp: Stamp,
        wanted: Wanted,
        read: impl FnOnce(u64) -> Option<Vec<u8>>,
    ) -> Option<Difference> {
        let look = self.look;
        if let Some(known) = self.known.get_mut(path)
            && known.settled
            && known.stamp == stamp
            && (known.sha256.is_some() || wanted.reason == Reason::Bulk)
        {
            known.look = look;
            return None;
        }
        let settled = stamp.is_settled(now_ns());
        let sha256 = self.copy(path, stamp, wanted, read);
        let known = Known { stamp, settled, sha256: sha256.clone(), look };
        let old = self.known.insert(path.to_owned(), known);
        let after = stamp.state(sha256);
        let Some(old) = old else {
            return self.appeared(path, stamp).then(|| difference(path, None, Some(after)));
        };
        // A copy that could not be made this time does not make one that is there worthless.
        let unread = after.sha256.is_none() || old.sha256.is_none();
        if old.stamp == stamp && unread {
            return None;
        }
        let before = old.stamp.state(old.sha256);
        (!before.is_surely(&after)).then(|| difference(path, Some(before), Some(after)))
    }

    /// The hash of a file's content, which is copied on the way.
    fn copy(
        &mut self,
        path: &OsStr,
        stamp: Stamp,
        wanted: Wanted,
        read: impl FnOnce(u64) -> Option<Vec<u8>>,
    ) -> Option<Sha> {
        if !stamp.has_content() {
            return None;
        }
        let content = (stamp.bytes <= wanted.most_bytes).then(|| read(wanted.most_bytes)).flatten();
        let Some(content) = content else {
            self.shadow.leave_out();
            return None;
        };
        let sha = Sha::of(&content);
        self.shadow.keep(path, &sha, &content, wanted.reason);
        Some(sha)
    }

    /// Takes note of a file that is not there.
    fn forget(&mut self, path: &OsStr) -> Option<Difference> {
        let old = self.known.remove(path)?;
        Some(difference(path, Some(old.stamp.state(old.sha256)), None))
    }

    /// True if a file that was not known is new; false if it was only out of sight.
    fn appeared(&self, path: &OsStr, stamp: Stamp) -> bool {
        let was_out_of_sight = self.partial || is_below(&self.hidden, path);
        !was_out_of_sight || stamp.changed_ns() >= self.look_began - CLOCK_NS
    }

    /// A file that was met for the first time and perhaps was there before all the same.
    fn doubt(&self, path: &OsStr, found: Difference) -> Difference {
        let would_be_known = self.look > 0 && !self.partial && !is_below(&self.hidden, path);
        let before = match (&found.before, &found.after) {
            (None, Some(after)) if !would_be_known => {
                Some(FileState { sha256: None, ..after.clone() })
            }
            (before, _) => before.clone(),
        };
        Difference { before, ..found }
    }
}

fn difference(path: &OsStr, before: Option<FileState>, after: Option<FileState>) -> Difference {
    Difference { path: path.to_string_lossy().into_owned(), before, after }
}

/// True if the set holds the path or a folder above it.
fn is_below(set: &HashSet<OsString>, path: &OsStr) -> bool {
    !set.is_empty()
        && std::path::Path::new(path).ancestors().any(|above| set.contains(above.as_os_str()))
}

fn now_ns() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i128::try_from(since.as_nanos()).unwrap_or(i128::MAX)
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
