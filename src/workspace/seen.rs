//! What a run's model knows of files: which state of a file it was shown last, or wrote itself. A
//! tool that replaces a file asks here first, so that nothing is overwritten unread.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap_std::fs::{Metadata, MetadataExt as _};

/// A file's state as far as the system tells it without reading: any write changes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    inode: u64,
    bytes: u64,
    modified_ns: i128,
    changed_ns: i128,
}

impl FileStamp {
    /// Of an open or examined file.
    pub fn of(metadata: &Metadata) -> Self {
        let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
        Self {
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// How a file stands to what the model knows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Knowledge {
    /// As it was shown or written last.
    Current,
    /// Shown once, and changed since then: by whom, if this program knows.
    Stale {
        /// `task #3`, `a command`.
        by: Option<String>,
    },
    /// Never shown.
    Unknown,
}

/// What one run's model has seen. The parent keeps it for the whole session, as it keeps its history.
#[derive(Debug, Default)]
pub struct Seen(Mutex<HashMap<String, Entry>>);

#[derive(Debug, Clone)]
enum Entry {
    At(FileStamp),
    ChangedBy(String),
}

impl Seen {
    /// The model was shown this state, or made it.
    pub fn note(&self, path: &str, stamp: FileStamp) {
        self.lock().insert(path.to_owned(), Entry::At(stamp));
    }

    /// Somebody else changed a file that the model may know.
    pub fn changed(&self, path: &str, by: &str) {
        if let Some(entry) = self.lock().get_mut(path) {
            *entry = Entry::ChangedBy(by.to_owned());
        }
    }

    /// What the model knows of a file that is in this state now.
    pub fn knows(&self, path: &str, now: FileStamp) -> Knowledge {
        match self.lock().get(path) {
            Some(Entry::At(stamp)) if *stamp == now => Knowledge::Current,
            Some(Entry::At(_)) => Knowledge::Stale { by: None },
            Some(Entry::ChangedBy(who)) => Knowledge::Stale { by: Some(who.clone()) },
            None => Knowledge::Unknown,
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
