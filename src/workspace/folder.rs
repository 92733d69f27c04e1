//! The entries of one open folder: sorted, with their kinds, and without what is hidden, ignored or
//! git's own.
//!
//! The walking crates take paths; this one takes handles, so that nothing between two looks can be
//! swapped for a link. Only the pattern matcher is theirs.

use std::ffi::OsString;
use std::io;

use cap_std::fs::{Dir, DirEntry};
use tokio_util::sync::CancellationToken;

use super::entry::Kind;
use super::ignore::Rules;
use super::path::join;
use super::write::is_temporary;

/// Entries of one folder that are looked at.
pub const MAX_ENTRIES: usize = 100_000;

/// One thing in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name as the system has it.
    pub name: OsString,
    /// What it is; a link is not followed.
    pub kind: Kind,
}

impl Entry {
    /// Its path as text; undecodable bytes become U+FFFD.
    pub fn path(&self, folder: &str) -> String {
        join(folder, &self.name.to_string_lossy())
    }
}

/// What is in a folder.
#[derive(Debug, Default)]
pub struct Contents {
    /// What is shown, sorted by name.
    pub entries: Vec<Entry>,
    /// What is left out because its name starts with a dot.
    pub hidden: Vec<Entry>,
    /// What is left out because git ignores it.
    pub ignored: Vec<Entry>,
    /// True if the folder has more than [`MAX_ENTRIES`]; the rest was not looked at.
    pub more: bool,
}

/// Which entries to leave out.
#[derive(Debug, Clone, Copy)]
pub struct Filter<'a> {
    /// Those that these rules hide.
    pub rules: &'a Rules,
    /// Unless true, those whose name starts with a dot.
    pub dotted: bool,
}

/// Reads the folder that is open as `dir` and lies at `path`. `.git` is always left out, and so is what
/// is half-way written by this program.
pub fn read(
    dir: &Dir,
    path: &str,
    filter: Filter<'_>,
    cancel: &CancellationToken,
) -> io::Result<Contents> {
    let mut contents = Contents::default();
    for (index, entry) in dir.entries()?.enumerate() {
        if index == MAX_ENTRIES {
            contents.more = true;
            break;
        }
        if cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        // An entry that vanished meanwhile is no entry.
        if let Ok(entry) = entry.and_then(|entry| describe(&entry)) {
            contents.place(entry, path, filter);
        }
    }
    for list in [&mut contents.entries, &mut contents.hidden, &mut contents.ignored] {
        list.sort_by(|a, b| a.name.cmp(&b.name));
    }
    Ok(contents)
}

impl Contents {
    fn place(&mut self, entry: Entry, folder: &str, filter: Filter<'_>) {
        if entry.name == ".git" || is_temporary(entry.name.as_encoded_bytes()) {
            return;
        }
        let is_folder = entry.kind == Kind::Folder;
        if filter.rules.hide(&entry.path(folder), is_folder) {
            self.ignored.push(entry);
        } else if !filter.dotted && entry.name.as_encoded_bytes().starts_with(b".") {
            self.hidden.push(entry);
        } else {
            self.entries.push(entry);
        }
    }
}

fn describe(entry: &DirEntry) -> io::Result<Entry> {
    let mut kind = Kind::from_type(entry.file_type()?);
    if kind == Kind::Unknown {
        // Some file systems do not say it in the listing.
        kind = Kind::of(&entry.metadata()?);
    }
    Ok(Entry { name: entry.file_name(), kind })
}
