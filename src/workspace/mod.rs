//! The ground: one folder that no path leads out of, and the folders that a person added to it. It
//! knows folders, files and the part of them that a run may touch; it knows nothing of tools, models
//! or screens.
//!
//! A path in the workspace is written from its root: `src/a.rs`. A path in an added folder is written
//! whole: `/srv/data/a.csv`. Everything is reached through directory handles (cap-std): the folder is opened once, and each
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
pub mod rules;
pub mod scope;
pub mod seen;
pub mod shadow;
pub mod snapshot;
pub mod write;

mod branch;
mod root;

use std::io;
use std::path::{Path, PathBuf};

use crate::domain::scope::PathScope;

use self::path::PathError;
use self::root::Root;

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
    /// An added folder whose path no scope can name.
    #[error(
        "the folder {} cannot be added: its path has characters that a path scope cannot hold \
         (*, ?, [, {{, control characters, or bytes that are no UTF-8)",
        .0.display()
    )]
    Unnameable(PathBuf),
}

/// A folder that is open for work, with those that were added to it. All its methods block on the
/// file system: call them where blocking is allowed.
#[derive(Debug)]
pub struct Workspace {
    root: Root,
    /// Beside it: none lies in the workspace or in another of them.
    added: Vec<Root>,
    home: Option<PathBuf>,
}

impl Workspace {
    /// Opens a folder, once and for all. If it is renamed or deleted later, every look-up is an
    /// error that says so.
    pub fn open(path: &Path) -> Result<Self, WorkspaceError> {
        Self::open_with(path, &[])
    }

    /// Opens a folder and others to go with it. One that lies in the workspace, or in another added
    /// folder, adds nothing.
    pub fn open_with(path: &Path, extra: &[PathBuf]) -> Result<Self, WorkspaceError> {
        let root = Root::open(path)?;
        let mut found: Vec<Root> =
            extra.iter().map(|path| Root::open_added(path)).collect::<Result<_, _>>()?;
        // The widest first, so that what lies in another comes after it.
        found.sort_by_key(|added| added.path().components().count());
        let mut added: Vec<Root> = Vec::new();
        for one in found {
            let held = |other: &Root| one.path().starts_with(other.path());
            if !held(&root) && !added.iter().any(held) {
                added.push(one);
            }
        }
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        Ok(Self { root, added, home })
    }

    /// Its absolute path without links, for display and for processes that start in it.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// The whole of it as scopes: the workspace, then each added folder.
    pub fn scopes(&self) -> Vec<PathScope> {
        let added = self.added.iter().filter_map(Root::scope);
        std::iter::once(PathScope::all()).chain(added).collect()
    }

    /// Its path for a person, with `~` for the home folder.
    pub fn display_name(&self) -> String {
        let below_home = self.home.as_ref().and_then(|home| self.path().strip_prefix(home).ok());
        match below_home {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => self.path().display().to_string(),
        }
    }

    /// The git branch that is checked out, or the first digits of a detached commit; `None` where
    /// there is no repository. Reads at most a few hundred bytes and runs nothing.
    pub fn branch(&self) -> Option<String> {
        branch::of(self.path())
    }

    /// A path as a tool argument names it, as a path from the root: components joined by `/`, `.`
    /// for the root itself; absolute for a path in an added folder. Looks at the text only, never at
    /// the disk.
    pub fn normalise(&self, path: &str) -> Result<String, PathError> {
        let outside = match path::normalise(path, &self.root.names()) {
            Err(outside @ PathError::Outside(_)) => outside,
            inside => return inside,
        };
        let below = |added: &Root| {
            let below = path::normalise(path, &added.names()).ok()?;
            Some(path::join(&added.base(), &below))
        };
        self.added.iter().find_map(below).ok_or(outside)
    }

    /// The open folder that a normalised path starts in.
    fn root_of(&self, path: &str) -> Option<&Root> {
        if path.starts_with('/') {
            return self.added.iter().find(|added| added.holds(path));
        }
        Some(&self.root)
    }
}

#[cfg(test)]
mod tests;
