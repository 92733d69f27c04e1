//! From a path to the folder and the name that a file there has: links are followed here, one by
//! one, each look-up beneath the jail's handle.

use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::Dir;

use crate::workspace::entry::Kind;
use crate::workspace::jail::{self, Cell, JailError, Opened};
use crate::workspace::path::{join, printable};

use super::error::{WriteError, explain};

/// Links that are followed from one path; the kernel's own limit.
const MAX_LINKS: usize = 40;

/// Where a path leads.
pub(super) struct Found {
    /// The nearest folder above that exists.
    pub(super) folder: Dir,
    /// Its path.
    pub(super) folder_path: String,
    /// Folders below it that do not exist.
    pub(super) missing: Vec<String>,
    /// The file's own name.
    pub(super) name: String,
    /// The file, if there is one, open for reading.
    pub(super) current: Option<File>,
}

/// Follows a path to the file it means.
pub(super) fn find(cell: Cell, path: &str) -> Result<Found, WriteError> {
    if !cell.missing.is_empty() {
        return beneath_nothing(cell, path);
    }
    let mut way = PathBuf::from(&cell.rest);
    for _ in 0..=MAX_LINKS {
        let (above, name) = split(&way, path)?;
        let place = Place::open(&cell, above, path)?;
        if !place.missing.is_empty() {
            return Ok(place.found(name, None));
        }
        let kind = match place.folder.symlink_metadata(&name) {
            Ok(metadata) => Kind::of(&metadata),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(place.found(name, None));
            }
            Err(error) => return Err(explain(&error, path)),
        };
        if kind != Kind::Link {
            let file = open(&place.folder, &name, kind, path)?;
            return Ok(place.found(name, Some(file)));
        }
        way = above.join(target(&cell, &place, &name, path)?);
    }
    Err(JailError::Loop(printable(path)).into())
}

/// What a link says, if it may be followed.
fn target(cell: &Cell, place: &Place, name: &str, path: &str) -> Result<PathBuf, WriteError> {
    let leads_out = || WriteError::Jail(JailError::Escapes(printable(path)));
    if !cell.follow {
        return Err(leads_out());
    }
    let target = place.folder.read_link_contents(name).map_err(|error| explain(&error, path))?;
    if target.is_absolute() { Err(leads_out()) } else { Ok(target) }
}

/// The folders on the way to the scope itself are missing, so everything below them is.
fn beneath_nothing(cell: Cell, path: &str) -> Result<Found, WriteError> {
    let way = PathBuf::from(&cell.rest);
    let (above, name) = split(&way, path)?;
    let below = above.iter().map(|name| name.to_string_lossy().into_owned());
    let missing = cell.missing.into_iter().chain(below).collect();
    Ok(Found { folder: cell.jail, folder_path: cell.base, missing, name, current: None })
}

/// The folder's path and the last name. A path without a last name means a folder.
fn split<'a>(way: &'a Path, path: &str) -> Result<(&'a Path, String), WriteError> {
    let folder = || WriteError::Folder(printable(path));
    let name = way.file_name().and_then(|name| name.to_str()).filter(|name| *name != ".");
    let name = name.ok_or_else(folder)?.to_owned();
    Ok((way.parent().unwrap_or(Path::new("")), name))
}

fn open(folder: &Dir, name: &str, kind: Kind, path: &str) -> Result<File, WriteError> {
    match kind {
        Kind::File | Kind::Folder => {}
        kind @ (Kind::Link | Kind::Fifo | Kind::Socket | Kind::Device | Kind::Unknown) => {
            return Err(WriteError::Special { path: printable(path), kind });
        }
    }
    // Looked at again once it is open: the name may mean another thing by now.
    match jail::open_for_reading(folder, name, false) {
        Ok(Opened::File { file, .. }) => Ok(file),
        Ok(Opened::Folder(_)) => Err(WriteError::Folder(printable(path))),
        Ok(Opened::Special(kind)) => Err(WriteError::Special { path: printable(path), kind }),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(JailError::Denied(printable(path)).into())
        }
        Err(error) => Err(explain(&error, path)),
    }
}

/// The nearest existing folder of a path.
struct Place {
    folder: Dir,
    path: String,
    missing: Vec<String>,
}

impl Place {
    fn open(cell: &Cell, above: &Path, path: &str) -> Result<Self, WriteError> {
        let names: Vec<Component<'_>> = above.components().collect();
        for there in (0..=names.len()).rev() {
            let known: PathBuf = names.iter().take(there).collect();
            let opened =
                if there == 0 { cell.jail.try_clone() } else { cell.jail.open_dir(&known) };
            match opened {
                Ok(folder) => {
                    let missing = plain(names.get(there..).unwrap_or_default(), path)?;
                    if let Some(first) = missing.first() {
                        not_a_dead_link(&folder, first, path)?;
                    }
                    return Ok(Self { folder, path: real(cell, &known), missing });
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(explain(&error, path)),
            }
        }
        Err(JailError::Missing(printable(path)).into())
    }

    fn found(self, name: String, current: Option<File>) -> Found {
        let Self { folder, path, missing } = self;
        Found { folder, folder_path: path, missing, name, current }
    }
}

/// The path of an existing folder beneath the jail, links followed.
fn real(cell: &Cell, known: &Path) -> String {
    let canonical = (known != Path::new("")).then(|| cell.jail.canonicalize(known).ok()).flatten();
    let below = canonical.unwrap_or_else(|| known.to_owned());
    match below.to_str() {
        Some("") | None => cell.base.clone(),
        Some(below) => join(&cell.base, below),
    }
}

/// Folders that can be made: what does not exist has no folder above it to go back to.
fn plain(names: &[Component<'_>], path: &str) -> Result<Vec<String>, WriteError> {
    let each = |name: &Component<'_>| match name {
        Component::Normal(name) => name.to_str().map(str::to_owned),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    };
    let names: Option<Vec<String>> = names.iter().map(each).collect();
    names.ok_or_else(|| JailError::Missing(printable(path)).into())
}

fn not_a_dead_link(folder: &Dir, name: &str, path: &str) -> Result<(), WriteError> {
    match folder.symlink_metadata(name) {
        Ok(metadata) if Kind::of(&metadata) == Kind::Link => {
            Err(WriteError::DeadLink(printable(path)))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}
