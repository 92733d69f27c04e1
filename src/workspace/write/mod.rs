//! Writing: one whole file at a time, through the jail. It knows how a file is replaced so that
//! nobody ever finds half of it; what is written and whether it may be is its caller's matter.
//!
//! The new content goes to a temporary file beside the old one, which then takes the old one's name:
//! whenever this program or the machine stops, there is the old content or the new. A symbolic link
//! is followed as far as the scope reaches and stays a link. Of a file with several names only the
//! one that was asked for gets the new content.

mod error;
mod spot;
mod temporary;

use std::fs::File;
use std::io::Read as _;

use cap_fs_ext::DirExt as _;
use cap_std::fs::{Dir, Metadata, MetadataExt as _};
use rustix::fs::{OFlags, RenameFlags};
use rustix::io::Errno;

use crate::domain::scope::PathScope;

use super::Workspace;
use super::path::{join, printable};
use super::seen::FileStamp;

pub use error::WriteError;
pub use temporary::is_temporary;

use error::{explain, refuse};
use spot::Found;
use temporary::Temporary;

/// A place that a file can be written to, looked at and not yet changed.
#[derive(Debug)]
pub struct Spot {
    /// The nearest folder above that exists.
    folder: Dir,
    /// Its path.
    folder_path: String,
    /// Folders below it that are still to be made.
    missing: Vec<String>,
    /// The file's own name.
    name: String,
    /// The path that was asked for.
    asked: String,
    current: Option<Current>,
}

/// The file that is there now.
#[derive(Debug)]
struct Current {
    file: File,
    metadata: Metadata,
    stamp: FileStamp,
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The file's state after it; `None` if somebody else wrote at the same moment.
    pub stamp: Option<FileStamp>,
    /// Folders that were made, the outermost first.
    pub folders_made: Vec<String>,
    /// How many other names still have the old content.
    pub other_names: u64,
    /// False if the file belonged to somebody else and now belongs to this program's user.
    pub owner_kept: bool,
}

impl Workspace {
    /// Finds the place that a normalised path names, within `scopes`. What cannot be written there
    /// (a folder, a pipe, a read-only file) is an error. Changes nothing and never waits.
    pub fn spot(&self, scopes: &[PathScope], path: &str) -> Result<Spot, WriteError> {
        let cell = self.cell_to_be(scopes, path)?;
        let Found { folder, folder_path, missing, name, current } = spot::find(cell, path)?;
        let spot =
            Spot { folder, folder_path, missing, name, asked: path.to_owned(), current: None };
        let Some(file) = current else { return Ok(spot) };
        let metadata = Metadata::from_file(&file).map_err(|error| explain(&error, path))?;
        refuse::unwritable(&spot.folder, &spot.name, &metadata, path)?;
        let stamp = FileStamp::of(&metadata);
        Ok(Spot { current: Some(Current { file, metadata, stamp }), ..spot })
    }
}

impl Spot {
    /// The file's own path, links followed: what is really written.
    pub fn path(&self) -> String {
        let folder =
            self.missing.iter().fold(self.folder_path.clone(), |path, name| join(&path, name));
        join(&folder, &self.name)
    }

    /// The state of the file that is there; `None` if there is none.
    pub fn stamp(&self) -> Option<FileStamp> {
        self.current.as_ref().map(|current| current.stamp)
    }

    /// The size of the file that is there, in bytes.
    pub fn bytes(&self) -> Option<u64> {
        self.current.as_ref().map(|current| current.metadata.len())
    }

    /// What is in the file that is there, if it has at most `limit` bytes.
    pub fn read(&self, limit: u64) -> Result<Option<Vec<u8>>, WriteError> {
        let Some(current) = &self.current else { return Ok(None) };
        let mut content = Vec::new();
        let mut file = &current.file;
        std::io::Seek::rewind(&mut file)
            .and_then(|()| file.take(limit + 1).read_to_end(&mut content))
            .map_err(|error| explain(&error, &self.asked))?;
        let fits = content.len() as u64 <= limit;
        Ok(fits.then_some(content))
    }

    /// Puts `content` there, whole or not at all. Fails if the file is not any more what it was when
    /// the place was found.
    pub fn write(self, workspace: &Workspace, content: &[u8]) -> Result<Written, WriteError> {
        let mut made = Made::default();
        let written = self.write_into(workspace, content, &mut made);
        if written.is_err() {
            made.undo();
        }
        written
    }

    fn write_into(
        &self,
        workspace: &Workspace,
        content: &[u8],
        made: &mut Made,
    ) -> Result<Written, WriteError> {
        let failed = |error: &std::io::Error| explain(error, &self.asked);
        let folder = made.folders(self)?;
        temporary::sweep(&folder);
        let mut temporary =
            Temporary::create(&folder, self.current.is_none()).map_err(|error| failed(&error))?;
        temporary.fill(content).map_err(|error| failed(&error))?;
        let old = self.current.as_ref().map(|current| (&current.file, &current.metadata));
        let owner_kept = match old {
            Some((file, metadata)) => {
                temporary.become_like(file, metadata).map_err(|error| failed(&error))?
            }
            None => true,
        };
        temporary.sync().map_err(|error| failed(&error))?;
        self.still_there(workspace)?;
        self.still_as_it_was(&folder)?;
        let before = temporary.state().map_err(|error| failed(&error))?;
        self.take_the_name(&folder, temporary.name()).map_err(|error| failed(&error))?;
        temporary.was_renamed();
        // From here on the new content is what everybody finds; a failure would be no failure.
        let _ = sync_folder(&folder);
        made.sync();
        let after = temporary.state().ok();
        let untouched = |after: &Metadata| {
            after.len() == before.len() && after.modified().ok() == before.modified().ok()
        };
        Ok(Written {
            stamp: after.filter(untouched).map(|after| FileStamp::of(&after)),
            folders_made: made.paths.clone(),
            other_names: old.map_or(0, |(_, metadata)| metadata.nlink().saturating_sub(1)),
            owner_kept,
        })
    }

    /// The folder of the workspace may have been moved away while the content was written.
    fn still_there(&self, workspace: &Workspace) -> Result<(), WriteError> {
        match workspace.root_of(&self.folder_path) {
            Some(root) if !root.is_in_place() => {
                let path = printable(&root.path().to_string_lossy());
                Err(super::jail::JailError::Gone(path).into())
            }
            Some(_) | None => Ok(()),
        }
    }

    fn still_as_it_was(&self, folder: &Dir) -> Result<(), WriteError> {
        let now = match folder.symlink_metadata(&self.name) {
            Ok(metadata) => Some(FileStamp::of(&metadata)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(explain(&error, &self.asked)),
        };
        if now == self.stamp() {
            return Ok(());
        }
        Err(WriteError::Changed(printable(&self.asked)))
    }

    /// One step of the kernel: before it the old file has the name, after it the new one. Where
    /// there was none, a file that appeared meanwhile keeps its name.
    fn take_the_name(&self, folder: &Dir, from: &str) -> std::io::Result<()> {
        let to = self.name.as_str();
        if self.current.is_none() {
            let keep = RenameFlags::NOREPLACE;
            match rustix::fs::renameat_with(folder, from, folder, to, keep) {
                // This file system has no such rename; whether the name is free was just looked up.
                Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {}
                other => return Ok(other?),
            }
        }
        Ok(rustix::fs::renameat(folder, from, folder, to)?)
    }
}

/// Folders that were made for a file, so that a failure leaves none of them behind.
#[derive(Default)]
struct Made {
    paths: Vec<String>,
    /// In which folder, under which name.
    places: Vec<(Dir, String)>,
}

impl Made {
    /// The folder of the file, made if it is missing.
    fn folders(&mut self, spot: &Spot) -> Result<Dir, WriteError> {
        let failed = |error: std::io::Error| explain(&error, &spot.asked);
        let mut folder = spot.folder.try_clone().map_err(failed)?;
        let mut path = spot.folder_path.clone();
        for name in &spot.missing {
            path = join(&path, name);
            match folder.create_dir(name) {
                Ok(()) => {
                    self.paths.push(path.clone());
                    self.places.push((folder.try_clone().map_err(failed)?, name.clone()));
                }
                // Somebody else made it meanwhile; if it is a link, opening it fails.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
            }
            folder = folder.open_dir_nofollow(name).map_err(failed)?;
        }
        Ok(folder)
    }

    fn undo(&self) {
        for (folder, name) in self.places.iter().rev() {
            // One that is not empty any more is used by somebody else.
            let _ = folder.remove_dir(name);
        }
    }

    fn sync(&self) {
        for (folder, _) in &self.places {
            let _ = sync_folder(folder);
        }
    }
}

/// Makes the names in a folder survive a power cut. The handle itself may be a mere path.
fn sync_folder(folder: &Dir) -> rustix::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let open = rustix::fs::openat(folder, ".", flags, rustix::fs::Mode::empty())?;
    rustix::fs::fsync(open)
}
