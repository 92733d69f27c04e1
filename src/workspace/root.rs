//! One folder that was opened to be worked in: its handle, and the names it goes by.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, MetadataExt as _};

use crate::domain::scope::PathScope;

use super::WorkspaceError;
use super::path::components;

/// An open folder.
#[derive(Debug)]
pub(super) struct Root {
    dir: Dir,
    /// Absolute and without links.
    path: PathBuf,
    /// As it was named, made absolute without following links.
    named: PathBuf,
    /// True for a folder beside the workspace.
    added: bool,
}

impl Root {
    /// The workspace itself.
    pub(super) fn open(path: &Path) -> Result<Self, WorkspaceError> {
        let real = path.canonicalize().map_err(|cause| refuse(path, cause))?;
        if !real.is_dir() {
            return Err(WorkspaceError::NotAFolder(path.to_owned()));
        }
        let dir = Dir::open_ambient_dir(&real, ambient_authority())
            .and_then(|dir| dir.entries().map(|_| dir))
            .map_err(|cause| refuse(path, cause))?;
        let named = std::path::absolute(path).unwrap_or_else(|_| real.clone());
        Ok(Self { dir, path: real, named, added: false })
    }

    /// A folder beside it.
    pub(super) fn open_added(path: &Path) -> Result<Self, WorkspaceError> {
        let root = Self { added: true, ..Self::open(path)? };
        match root.scope() {
            Some(_) => Ok(root),
            None => Err(WorkspaceError::Unnameable(path.to_owned())),
        }
    }

    pub(super) fn dir(&self) -> &Dir {
        &self.dir
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The absolute paths that lead to it.
    pub(super) fn names(&self) -> [&Path; 2] {
        [&self.path, &self.named]
    }

    /// All of it as a scope; `None` where no scope can name it.
    pub(super) fn scope(&self) -> Option<PathScope> {
        if !self.added {
            return Some(PathScope::all());
        }
        PathScope::parse(self.path.to_str()?).ok().filter(|scope| scope.to_string() == self.base())
    }

    /// What normalised paths in it begin with; `.` for the workspace.
    pub(super) fn base(&self) -> String {
        if self.added { self.path.to_string_lossy().into_owned() } else { ".".to_owned() }
    }

    /// How many names of a normalised path lead to it.
    pub(super) fn depth(&self) -> usize {
        components(&self.base()).count()
    }

    /// True if a normalised absolute path is this folder or lies in it, by its text.
    pub(super) fn holds(&self, path: &str) -> bool {
        let base = self.base();
        let mut names = components(path);
        components(&base).all(|name| names.next() == Some(name))
    }

    /// False once the folder was deleted, renamed or replaced: commands would start in another place
    /// than the one that is read and written here.
    pub(super) fn is_in_place(&self) -> bool {
        let Ok(open) = self.dir.dir_metadata() else { return true };
        match std::fs::metadata(&self.path) {
            Ok(there) => {
                use std::os::unix::fs::MetadataExt as _;
                (there.dev(), there.ino()) == (open.dev(), open.ino())
            }
            // What cannot be looked at is not known to be gone.
            Err(error) => {
                !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
            }
        }
    }
}

fn refuse(path: &Path, cause: io::Error) -> WorkspaceError {
    match cause.kind() {
        io::ErrorKind::NotFound => WorkspaceError::Missing(path.to_owned()),
        io::ErrorKind::NotADirectory => WorkspaceError::NotAFolder(path.to_owned()),
        _ => WorkspaceError::Unreadable { path: path.to_owned(), cause },
    }
}
