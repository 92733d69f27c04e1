//! The folder that a session is kept in: private files, one writer. It refuses to know what is
//! written into them.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::trace::{FileName, session_dir};
use crate::domain::ids::SessionId;

/// A place for the files of one session.
pub trait Store: Send {
    /// Where a file is, for messages.
    fn path(&self, file: &FileName) -> PathBuf;

    /// Makes a new file, with the folders that it needs.
    fn create(&mut self, file: &FileName) -> io::Result<Box<dyn RecordFile>>;

    /// Opens a file that [`Store::create`] made, to add to its end.
    fn reopen(&mut self, file: &FileName) -> io::Result<Box<dyn RecordFile>>;
}

/// A file that only grows.
pub trait RecordFile: Write + Send {
    /// Makes sure that what was written outlives a power cut; fails if the file was deleted.
    fn sync(&mut self) -> io::Result<()>;

    /// Takes a half-written end away, so that the file has `length` bytes.
    fn cut(&mut self, length: u64) -> io::Result<()>;
}

/// A folder on disk: files of mode 0600 in folders of mode 0700, made when first needed.
#[derive(Debug)]
pub struct Folder {
    session: PathBuf,
}

impl Folder {
    /// The folder of this session in `dir`. Nothing is made yet.
    pub fn new(dir: &Path, session: SessionId) -> Self {
        Self { session: session_dir(dir, session) }
    }
}

impl Store for Folder {
    fn path(&self, file: &FileName) -> PathBuf {
        self.session.join(file.path())
    }

    fn create(&mut self, file: &FileName) -> io::Result<Box<dyn RecordFile>> {
        let path = self.path(file);
        let mut folders = DirBuilder::new();
        folders.mode(0o700);
        match file {
            FileName::Session => {
                folders.recursive(true).create(&self.session)?;
                Ok(Box::new(locked(open(&path, false)?)?))
            }
            FileName::Trace(_) | FileName::Output(_) => {
                let folder = path.parent().unwrap_or(&self.session);
                // Not recursive: a session's folder that somebody took away stays away.
                folders.create(folder).or_else(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => Ok(()),
                    _ => Err(error),
                })?;
                Ok(Box::new(open(&path, true)?))
            }
        }
    }

    fn reopen(&mut self, file: &FileName) -> io::Result<Box<dyn RecordFile>> {
        let file = OpenOptions::new().append(true).open(self.path(file))?;
        Ok(Box::new(file))
    }
}

impl RecordFile for File {
    fn sync(&mut self) -> io::Result<()> {
        if self.metadata()?.nlink() == 0 {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the file was deleted"));
        }
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }
}

fn open(path: &Path, new: bool) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).create_new(new).mode(0o600).open(path)
}

/// The session file, with its lock held for as long as it is open. The lock comes before the look
/// at what is in it, so that two processes cannot both find it empty.
fn locked(file: File) -> io::Result<File> {
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(io::Error::new(
                io::ErrorKind::ResourceBusy,
                "another offshoot is writing this session",
            ));
        }
        Err(TryLockError::Error(error)) => return Err(error),
    }
    if file.metadata()?.len() > 0 {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "there is an earlier session of this name",
        ));
    }
    Ok(file)
}
