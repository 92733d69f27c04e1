//! Copies of what files held before and after they were changed, by the hash of their content. It
//! knows bytes and limits; it refuses to know what a secret looks like, and asks before it copies.
//!
//! A copy that cannot be kept is counted and never an error: work goes on, and whoever wants to see
//! or bring back what was there is told that it is not known.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::domain::hash::Sha;

/// Bytes that one copy may have.
pub const MAX_COPY_BYTES: u64 = 1024 * 1024;
/// Bytes that all copies of a session may have that are made because any file might change.
pub const MAX_BULK_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes that all copies of a session may have, those of files that a tool names included.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// The same where copies are held in memory; those because any file might change have half of it.
const MAX_MEMORY_BYTES: u64 = 64 * 1024 * 1024;
/// Bytes of a file that a tool is about to change, or has changed, up to which it is copied.
pub const MAX_NAMED_BYTES: u64 = 16 * 1024 * 1024;

/// Why a copy is made, which decides how much of it there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Any file might change next.
    Bulk,
    /// This one does.
    Named,
}

/// Says of a file, by its path and its content, that no copy of it may be made.
type Unkept = Box<dyn Fn(&OsStr, &[u8]) -> bool + Send + Sync>;

/// Where copies are.
#[derive(Debug)]
enum Place {
    Memory(HashMap<Sha, Vec<u8>>),
    Folder(PathBuf),
}

/// The copies of one session. All its work blocks.
pub struct Shadow {
    place: Place,
    held: HashSet<Sha>,
    bytes: u64,
    bulk_bytes: u64,
    max_bytes: u64,
    max_bulk_bytes: u64,
    unkept: Unkept,
    left_out: u64,
    broken: Option<String>,
}

impl Shadow {
    /// Copies that live as long as this program.
    pub fn in_memory() -> Self {
        let place = Place::Memory(HashMap::new());
        let (max_bytes, max_bulk_bytes) = (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES / 2);
        Self { max_bytes, max_bulk_bytes, ..Self::at(place) }
    }

    /// Copies in a private folder, which is made with the first one; the folder above it has to be
    /// there by then.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self::at(Place::Folder(folder))
    }

    /// A file of which this is true, told by its path and its content, is not copied. It counts as
    /// left out.
    #[must_use]
    pub fn without(
        mut self,
        unkept: impl Fn(&OsStr, &[u8]) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.unkept = Box::new(unkept);
        self
    }

    fn at(place: Place) -> Self {
        Self {
            place,
            held: HashSet::new(),
            bytes: 0,
            bulk_bytes: 0,
            max_bytes: MAX_BYTES,
            max_bulk_bytes: MAX_BULK_BYTES,
            unkept: Box::new(|_, _| false),
            left_out: 0,
            broken: None,
        }
    }

    /// Copies the content of the file at this path, as far as the limits go.
    pub fn keep(&mut self, path: &OsStr, sha: &Sha, content: &[u8], reason: Reason) {
        if self.held.contains(sha) {
            return;
        }
        if !self.has_room(content.len() as u64, reason) || (self.unkept)(path, content) {
            return self.leave_out();
        }
        match self.write(sha, content) {
            Ok(()) => self.count(sha, content.len() as u64, reason),
            Err(error) => {
                self.broken = Some(self.why_broken(&error));
                self.leave_out();
            }
        }
    }

    /// Counts a file that is not even read for a copy.
    pub fn leave_out(&mut self) {
        self.left_out += 1;
    }

    /// How many files were not copied since this was asked last.
    pub fn take_left_out(&mut self) -> u64 {
        std::mem::take(&mut self.left_out)
    }

    /// Why no copies are made any more, in words; told once.
    pub fn take_failure(&mut self) -> Option<String> {
        // The empty text stays, so that nothing is tried again.
        self.broken.as_mut().map(std::mem::take).filter(|words| !words.is_empty())
    }

    /// The content of this hash, if it was copied and is still whole.
    pub fn read(&self, sha: &Sha) -> Option<Vec<u8>> {
        match &self.place {
            Place::Memory(copies) => copies.get(sha).cloned(),
            Place::Folder(folder) => {
                let file = File::open(folder.join(sha.as_str())).ok()?;
                let mut content = Vec::new();
                file.take(MAX_NAMED_BYTES + 1).read_to_end(&mut content).ok()?;
                (Sha::of(&content) == *sha).then_some(content)
            }
        }
    }

    fn has_room(&self, bytes: u64, reason: Reason) -> bool {
        let fits = match reason {
            Reason::Bulk => {
                bytes <= MAX_COPY_BYTES && self.bulk_bytes + bytes <= self.max_bulk_bytes
            }
            Reason::Named => bytes <= MAX_NAMED_BYTES,
        };
        fits && self.bytes + bytes <= self.max_bytes && self.broken.is_none()
    }

    fn count(&mut self, sha: &Sha, bytes: u64, reason: Reason) {
        self.held.insert(sha.clone());
        self.bytes += bytes;
        if reason == Reason::Bulk {
            self.bulk_bytes += bytes;
        }
    }

    fn write(&mut self, sha: &Sha, content: &[u8]) -> io::Result<()> {
        match &mut self.place {
            Place::Memory(copies) => {
                copies.insert(sha.clone(), content.to_vec());
                Ok(())
            }
            Place::Folder(folder) => {
                if self.held.is_empty() {
                    make_folder(folder)?;
                }
                write_whole(folder, sha, content)
            }
        }
    }

    fn why_broken(&self, error: &io::Error) -> String {
        let place = match &self.place {
            Place::Memory(_) => "memory".to_owned(),
            Place::Folder(folder) => folder.display().to_string(),
        };
        format!(
            "copies of changed files cannot be kept in {place}: {error}; work goes on, but /diff \
             will lack what changes from here on"
        )
    }
}

impl fmt::Debug for Shadow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Shadow({} copies, {} bytes)", self.held.len(), self.bytes)
    }
}

/// With the folders above it: the first copy may be made before the session's folder is there.
fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).recursive(true).create(folder).or_else(|error| {
        match error.kind() {
            io::ErrorKind::AlreadyExists => Ok(()),
            _ => Err(error),
        }
    })
}

/// The name appears only once the content is whole.
fn write_whole(folder: &Path, sha: &Sha, content: &[u8]) -> io::Result<()> {
    let part = folder.join("part");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    let written =
        file.write_all(content).and_then(|()| std::fs::rename(&part, folder.join(sha.as_str())));
    if written.is_err() {
        // What stays behind is small, private and overwritten by the next one.
        drop(std::fs::remove_file(&part));
    }
    written
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn keep(shadow: &mut Shadow, content: &[u8], reason: Reason) -> Sha {
        let sha = Sha::of(content);
        shadow.keep(OsStr::new("file"), &sha, content, reason);
        sha
    }

    #[test]
    fn what_is_kept_is_read_back_from_both_places() {
        let outer = tempfile::TempDir::new().unwrap();
        let folder = outer.path().join("shadow");
        for mut shadow in [Shadow::in_memory(), Shadow::in_folder(folder.clone())] {
            let sha = keep(&mut shadow, b"\xff\0one", Reason::Bulk);
            assert_eq!(shadow.read(&sha).unwrap(), b"\xff\0one");
            assert_eq!(shadow.read(&Sha::of("other")), None);
            assert_eq!(shadow.take_left_out(), 0);
        }
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&folder), 0o700);
        let names: Vec<_> = folder.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(names.len(), 1, "nothing half-written is left: {names:?}");
        assert_eq!(mode(&names[0]), 0o600);
    }

    #[test]
    fn limits_leave_out_and_count() {
        let mut shadow = Shadow::in_memory();
        let big = vec![b'x'; usize::try_from(MAX_COPY_BYTES).unwrap() + 1];
        let sha = keep(&mut shadow, &big, Reason::Bulk);
        assert_eq!((shadow.read(&sha), shadow.take_left_out()), (None, 1));
        let sha = keep(&mut shadow, &big, Reason::Named);
        assert!(shadow.read(&sha).is_some(), "a file that a tool names may be larger");
        shadow.bulk_bytes = shadow.max_bulk_bytes - 1;
        keep(&mut shadow, b"ab", Reason::Bulk);
        assert_eq!(shadow.take_left_out(), 1);
        keep(&mut shadow, b"c", Reason::Bulk);
        assert_eq!(shadow.take_left_out(), 0);
        shadow.bytes = shadow.max_bytes;
        keep(&mut shadow, b"d", Reason::Named);
        assert_eq!(shadow.take_left_out(), 1);
    }

    #[test]
    fn memory_holds_less_than_a_folder() {
        let outer = tempfile::TempDir::new().unwrap();
        let mut memory = Shadow::in_memory();
        let mut folder = Shadow::in_folder(outer.path().join("shadow"));
        for shadow in [&mut memory, &mut folder] {
            shadow.bytes = 64 * 1024 * 1024 - 1;
            keep(shadow, b"ab", Reason::Named);
        }
        assert_eq!((memory.take_left_out(), folder.take_left_out()), (1, 0));
    }

    #[test]
    fn what_must_not_be_copied_is_counted() {
        let mut shadow = Shadow::in_memory()
            .without(|path, content| path == ".env" || content.starts_with(b"KEY"));
        let sha = keep(&mut shadow, b"KEY=sk-123\n", Reason::Named);
        assert_eq!((shadow.read(&sha), shadow.take_left_out()), (None, 1));
        let sha = Sha::of("A=1");
        shadow.keep(OsStr::new(".env"), &sha, b"A=1", Reason::Bulk);
        assert_eq!((shadow.read(&sha), shadow.take_left_out()), (None, 1));
        let sha = keep(&mut shadow, b"A=1", Reason::Bulk);
        assert!(shadow.read(&sha).is_some(), "the same in a file of another name");
    }

    #[test]
    fn a_copy_that_was_tampered_with_is_not_handed_out() {
        let outer = tempfile::TempDir::new().unwrap();
        let mut shadow = Shadow::in_folder(outer.path().join("shadow"));
        let sha = keep(&mut shadow, b"one", Reason::Bulk);
        std::fs::write(outer.path().join("shadow").join(sha.as_str()), "two").unwrap();
        assert_eq!(shadow.read(&sha), None);
    }

    /// A change may be seen before the record has made the session's folder.
    #[test]
    fn the_first_copy_needs_no_folder_to_be_there() {
        let outer = tempfile::TempDir::new().unwrap();
        let mut shadow = Shadow::in_folder(outer.path().join("session").join("shadow"));
        let sha = keep(&mut shadow, b"one", Reason::Bulk);
        assert_eq!(
            (shadow.take_failure(), shadow.read(&sha).as_deref()),
            (None, Some(&b"one"[..]))
        );
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told_once_and_not_tried_again() {
        let outer = tempfile::TempDir::new().unwrap();
        let taken = outer.path().join("gone");
        std::fs::write(&taken, "no folder").unwrap();
        let mut shadow = Shadow::in_folder(taken.join("shadow"));
        keep(&mut shadow, b"one", Reason::Bulk);
        assert!(shadow.take_failure().unwrap().contains("gone"));
        std::fs::remove_file(&taken).unwrap();
        std::fs::create_dir(&taken).unwrap();
        keep(&mut shadow, b"two", Reason::Bulk);
        assert_eq!((shadow.take_failure(), shadow.take_left_out()), (None, 2));
        assert!(!outer.path().join("gone").join("shadow").exists());
    }
}
