//! The ground: one folder that no path leads out of. It knows folders, files and the part of them
//! that a run may touch; it knows nothing of tools, models or screens.
//!
//! Everything is reached through directory handles (cap-std): the folder is opened once, and each
//! look-up is resolved beneath a handle by the kernel, so that no link, race or spelling of a path
//! leads outside. A hard link is the file itself under another name: it is readable, because no
//! program can tell the two names apart.

pub mod entry;
pub mod existence;
pub mod folder;
pub mod ignore;
pub mod jail;
pub mod lines;
pub mod path;
pub mod scope;
pub mod seen;
pub mod shadow;
pub mod snapshot;

mod branch;

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use self::path::PathError;

/// Why a folder cannot be opened for work.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// There is nothing of that name.
    #[error("there is no folder {}; name one that exists with -C", .0.display())]
    Missing(PathBuf),
    /// It is a file or something else.
    #[error("{} is not a folder; name one with -C", .0.display())]
    NotAFolder(PathBuf),
    /// Its entries cannot be read.
    #[error("cannot read the folder {}: {cause}; check its permissions or name another with -C", path.display())]
    Unreadable {
        /// Which.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

/// A folder that is open for work. All its methods block on the file system: call them where
/// blocking is allowed.
#[derive(Debug)]
pub struct Workspace {
    root: Dir,
    path: PathBuf,
    /// The folder as it was named, made absolute without following links.
    named: PathBuf,
    home: Option<PathBuf>,
}

impl Workspace {
    /// Opens a folder, once and for all: later renames of it or of a folder above do not matter.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let real = path.canonicalize().map_err(|cause| refuse(path, cause))?;
        if !real.is_dir() {
            return Err(WorkspaceError::NotAFolder(path.to_owned()));
        }
        let root = Dir::open_ambient_dir(&real, ambient_authority())
            .and_then(|root| root.entries().map(|_| root))
            .map_err(|cause| refuse(path, cause))?;
        let named = std::path::absolute(path).unwrap_or_else(|_| real.clone());
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        Ok(Self { root, path: real, named, home })
    }

    /// Its absolute path without links, for display and for processes that start in it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its path for a person, with `~` for the home folder.
    pub fn display_name(&self) -> String {
        let below_home = self.home.as_ref().and_then(|home| self.path.strip_prefix(home).ok());
        match below_home {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => self.path.display().to_string(),
        }
    }

    /// The git branch that is checked out, or the first digits of a detached commit; `None` where
    /// there is no repository. Reads at most a few hundred bytes and runs nothing.
    pub fn branch(&self) -> Option<String> {
        branch::of(&self.path)
    }

    /// A path as a tool argument names it, as a path from the root: components joined by `/`, `.`
    /// for the root itself. Looks at the text only, never at the disk.
    pub fn normalise(&self, path: &str) -> Result<String, PathError> {
        path::normalise(path, &[&self.path, &self.named])
    }
}

fn refuse(path: &Path, cause: io::Error) -> WorkspaceError {
    match cause.kind() {
        io::ErrorKind::NotFound => WorkspaceError::Missing(path.to_owned()),
        io::ErrorKind::NotADirectory => WorkspaceError::NotAFolder(path.to_owned()),
        _ => WorkspaceError::Unreadable { path: path.to_owned(), cause },
    }
}

#[cfg(test)]
mod tests;
