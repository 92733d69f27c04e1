//! The jail: the only way from a path to an open file or folder.
//!
//! A scope's own directory is opened name by name without following links and is the jail of
//! everything in that scope; the rest of the path is resolved beneath it. So a link is followed as
//! far as the scope reaches and no further, and one that leads out of the scope is refused even if
//! it stays in the workspace. A link with an absolute target always leads out. What is found is
//! examined before it is opened and again on the open handle, and opening never waits: a pipe, a
//! socket or a device is named, never read.

use std::io;
use std::path::{Path, PathBuf};

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::domain::scope::PathScope;

use super::Workspace;
use super::entry::Kind;
use super::path::{PathError, components, join, printable};
use super::root::Root;
use super::scope::{self, Reach};

/// Links to what does not exist that are followed from one path; the kernel's own limit.
const MAX_LINKS: u32 = 40;

/// Why a path was not opened. No text of it depends on anything outside of the run's scopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JailError {
    /// The text is no path of the workspace.
    #[error(transparent)]
    Path(#[from] PathError),
    /// In the workspace, perhaps, but not for this run.
    #[error("`{path}` is outside of what this run may see, which is: {scopes}")]
    OutOfScope {
        /// What was asked for.
        path: String,
        /// What may be.
        scopes: String,
    },
    /// Nothing of that name.
    #[error("there is no `{0}`; list_files shows what there is")]
    Missing(String),
    /// A link that leads out.
    #[error(
        "`{0}` leads through a symbolic link out of what this run may see; name the real path if \
         it lies inside"
    )]
    Escapes(String),
    /// Links that lead to each other.
    #[error("`{0}` leads through symbolic links that go round in circles")]
    Loop(String),
    /// A file where a folder was needed.
    #[error("`{0}` goes through something that is not a folder")]
    NotAFolder(String),
    /// The user who runs this program may not read it.
    #[error("permission to read `{0}` is denied by the system")]
    Denied(String),
    /// Too long a name for the file system.
    #[error("`{0}` has a name that is too long for the file system")]
    NameTooLong(String),
    /// The folder that was opened is not where it was.
    #[error(
        "the folder {0} is not there any more: it was deleted, renamed or replaced after it was \
         opened; nothing in it is read or written until it is back"
    )]
    Gone(String),
    /// Anything else.
    #[error("cannot open `{path}`: {detail}")]
    Io {
        /// What was asked for.
        path: String,
        /// What the system said.
        detail: String,
    },
}

/// What a path led to.
#[derive(Debug)]
pub enum Opened {
    /// A regular file, open for reading.
    File {
        /// The handle.
        file: std::fs::File,
        /// Its size when it was opened.
        bytes: u64,
    },
    /// A folder.
    Folder(Dir),
    /// Something that is not read.
    Special(Kind),
}

impl Workspace {
    /// Opens a normalised path for reading, within `scopes`.
    pub fn open_within(&self, scopes: &[PathScope], path: &str) -> Result<Opened, JailError> {
        let cell = self.cell(scopes, path)?;
        cell.open().map_err(|error| explain(&error, path))
    }

    /// What a normalised path leads to, links followed, and its size in bytes; opens nothing.
    pub fn examine(&self, scopes: &[PathScope], path: &str) -> Result<(Kind, u64), JailError> {
        let cell = self.cell(scopes, path)?;
        cell.examine().map_err(|error| explain(&error, path))
    }

    /// The path of a file or folder that a normalised path leads to, links followed: the same file
    /// has one such path. The path itself if it leads nowhere.
    pub fn real_path(&self, scopes: &[PathScope], path: &str) -> String {
        let real = self.cell(scopes, path).ok().and_then(|cell| cell.real());
        real.unwrap_or_else(|| path.to_owned())
    }

    /// The path of the file that a normalised path leads to, links followed, also where there is
    /// nothing yet: what is written there is made there. The path itself if it leads out or round in
    /// circles; nothing is read or written there then.
    pub fn leads_to(&self, scopes: &[PathScope], path: &str) -> String {
        let real = self.cell(scopes, path).ok().and_then(|cell| cell.leads_to());
        real.unwrap_or_else(|| path.to_owned())
    }

    /// The absolute paths of what lies behind these scopes, for whoever fences a command: each
    /// exists, and no link leads to it. A scope that is missing, is or goes through a link, or is
    /// neither a file nor a folder, gives nothing.
    pub fn ground(&self, scopes: &[PathScope]) -> Vec<PathBuf> {
        let mut ground: Vec<PathBuf> = Vec::new();
        let mut widest: Vec<&PathScope> = scopes.iter().collect();
        widest.sort_by_key(|scope| scope.components().len());
        for scope in widest {
            if let Some(place) = self.place_of(scope)
                && !ground.iter().any(|held| place.starts_with(held))
            {
                ground.push(place);
            }
        }
        ground
    }

    fn place_of(&self, scope: &PathScope) -> Option<PathBuf> {
        let path = scope.to_string();
        let root = self.root_of(&path)?;
        let cell = self.cell(std::slice::from_ref(scope), &path).ok()?;
        match cell.examine().ok()?.0 {
            Kind::File | Kind::Folder => {
                let names = components(&path).skip(root.depth());
                Some(names.fold(root.path().to_owned(), |place, name| place.join(name)))
            }
            Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown => None,
        }
    }

    /// The jail of a path that is there.
    fn cell(&self, scopes: &[PathScope], path: &str) -> Result<Cell, JailError> {
        let cell = self.cell_to_be(scopes, path)?;
        match cell.missing.first() {
            Some(first) => Err(JailError::Missing(printable(&join(&cell.base, first)))),
            None => Ok(cell),
        }
    }

    /// The jail of a path; folders on the way to its scope may be missing.
    pub(super) fn cell_to_be(&self, scopes: &[PathScope], path: &str) -> Result<Cell, JailError> {
        let out_of_scope =
            || JailError::OutOfScope { path: printable(path), scopes: scope::in_words(scopes) };
        let Reach::Inside(scope) = scope::reach(scopes, path) else { return Err(out_of_scope()) };
        let root = self.root_of(path).ok_or_else(out_of_scope)?;
        if !root.is_in_place() {
            return Err(JailError::Gone(printable(&root.path().to_string_lossy())));
        }
        Cell::at(root, scope, path)
    }

    /// The handles of the workspace and of each added folder, with what normalised paths in them
    /// begin with: `.` for the workspace.
    pub fn roots(&self) -> Vec<(String, &Dir)> {
        std::iter::once(&self.root)
            .chain(&self.added)
            .map(|root| (root.base(), root.dir()))
            .collect()
    }
}

/// A folder and a path that is resolved beneath it.
pub(super) struct Cell {
    /// The folder.
    pub(super) jail: Dir,
    /// Its path.
    pub(super) base: String,
    /// Folders between it and `rest` that do not exist; none for whatever can be read.
    pub(super) missing: Vec<String>,
    /// The path beneath it; `.` for the folder itself.
    pub(super) rest: String,
    /// False where the path is the scope itself: a scope that is a link would hand out what the
    /// link leads to.
    pub(super) follow: bool,
}

impl Cell {
    fn at(root: &Root, scope: &PathScope, path: &str) -> Result<Self, JailError> {
        let names: Vec<&str> = components(path).skip(root.depth()).collect();
        // A scope never is wider than its root; should one be, the root is its bound.
        let depth = scope.components().len().saturating_sub(root.depth());
        let at_scope_itself = names.len() == depth && depth > 0;
        let jail_depth = if at_scope_itself { depth - 1 } else { depth };
        let mut jail = root.dir().try_clone().map_err(|error| explain(&error, path))?;
        let mut base = root.base();
        let mut missing = Vec::new();
        for name in names.iter().take(jail_depth) {
            if !missing.is_empty() {
                missing.push((*name).to_owned());
                continue;
            }
            match descend(&jail, name) {
                Ok(below) => {
                    jail = below;
                    base = join(&base, name);
                }
                Err(error) => match explain(&error, &join(&base, name)) {
                    JailError::Missing(_) => missing.push((*name).to_owned()),
                    refused => return Err(refused),
                },
            }
        }
        let rest = names.get(jail_depth..).unwrap_or_default().join("/");
        let rest = if rest.is_empty() { ".".to_owned() } else { rest };
        Ok(Self { jail, base, missing, rest, follow: !at_scope_itself })
    }

    /// The path of what is there, links followed.
    fn real(&self) -> Option<String> {
        let below = if self.rest == "." || !self.follow {
            self.rest.clone()
        } else {
            self.jail.canonicalize(&self.rest).ok()?.to_str()?.to_owned()
        };
        Some(join(&self.base, &below))
    }

    /// The same, also if there is nothing yet.
    fn leads_to(&self) -> Option<String> {
        self.real().or_else(|| {
            let below = follow_links(&self.jail, Path::new(&self.rest), MAX_LINKS)?;
            Some(join(&self.base, below.to_str()?))
        })
    }

    fn examine(&self) -> io::Result<(Kind, u64)> {
        let metadata = if self.follow {
            self.jail.metadata(&self.rest)?
        } else {
            self.jail.symlink_metadata(&self.rest)?
        };
        match Kind::of(&metadata) {
            Kind::Link => Err(escape()),
            kind => Ok((kind, metadata.len())),
        }
    }

    fn open(&self) -> io::Result<Opened> {
        match self.examine()?.0 {
            Kind::File | Kind::Folder => open_for_reading(&self.jail, &self.rest, self.follow),
            kind @ (Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown) => {
                Ok(Opened::Special(kind))
            }
        }
    }
}

/// Where a path leads beneath a folder; what does not exist keeps its name.
fn follow_links(dir: &Dir, path: &Path, links: u32) -> Option<PathBuf> {
    if let Ok(real) = dir.canonicalize(path) {
        return Some(real);
    }
    let (above, name) = (path.parent()?, path.file_name()?);
    let above = if above.as_os_str().is_empty() {
        PathBuf::new()
    } else {
        follow_links(dir, above, links)?
    };
    // What leads back to the folder itself begins with no name.
    let place = above.strip_prefix(".").unwrap_or(&above).join(name);
    match dir.read_link_contents(&place) {
        Ok(target) if links > 0 && target.is_relative() => {
            follow_links(dir, &above.join(target), links - 1)
        }
        Ok(_) => None,
        Err(_) => Some(place),
    }
}

/// Opens `path` beneath `dir` without ever waiting, and looks again at what was opened.
pub fn open_for_reading(dir: &Dir, path: impl AsRef<Path>, follow: bool) -> io::Result<Opened> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .nonblock(true)
        .follow(if follow { FollowSymlinks::Yes } else { FollowSymlinks::No })
        .custom_flags(OFlags::NOCTTY.bits().cast_signed());
    let file = dir.open_with(path, &options)?;
    let metadata = file.metadata()?;
    Ok(match Kind::of(&metadata) {
        Kind::File => Opened::File { bytes: metadata.len(), file: file.into_std() },
        Kind::Folder => Opened::Folder(Dir::from_std_file(file.into_std())),
        kind @ (Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown) => {
            Opened::Special(kind)
        }
    })
}

/// One name further down, not through a link.
fn descend(dir: &Dir, name: &str) -> io::Result<Dir> {
    dir.open_dir_nofollow(name).map_err(|error| {
        let is_link = dir.symlink_metadata(name).is_ok_and(|found| found.is_symlink());
        if is_link { escape() } else { error }
    })
}

fn escape() -> io::Error {
    Errno::XDEV.into()
}

/// The system's word for a failure, in ours.
pub(super) fn explain(error: &io::Error, path: &str) -> JailError {
    let path = printable(path);
    match Errno::from_io_error(error) {
        Some(Errno::NOENT) => JailError::Missing(path),
        Some(Errno::XDEV) => JailError::Escapes(path),
        Some(Errno::LOOP) => JailError::Loop(path),
        Some(Errno::NOTDIR) => JailError::NotAFolder(path),
        Some(Errno::ACCESS) => JailError::Denied(path),
        Some(Errno::NAMETOOLONG) => JailError::NameTooLong(path),
        // cap-std has no errno for a path that leads out of the handle.
        None if error.kind() == io::ErrorKind::PermissionDenied => JailError::Escapes(path),
        _ => JailError::Io { path, detail: error.to_string() },
    }
}
