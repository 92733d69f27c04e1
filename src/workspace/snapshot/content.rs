//! From a path to what is there: found name by name without following links, read without waiting.

use std::ffi::{OsStr, OsString};
use std::io::Read as _;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, readlinkat, statat};
use rustix::io::Errno;

use super::stamp::Stamp;
use crate::domain::changes::FileKind;
use crate::workspace::Workspace;
use crate::workspace::jail::{Opened, open_for_reading};
use crate::workspace::shadow::{MAX_NAMED_BYTES, Reason};

/// How much of a file is read, and what for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) reason: Reason,
    /// A larger file is not read.
    pub(super) most_bytes: u64,
}

impl Wanted {
    /// A file that a tool names.
    pub(super) fn named() -> Self {
        Self { reason: Reason::Named, most_bytes: MAX_NAMED_BYTES }
    }
}

/// What a path led to.
pub(super) enum Found {
    There {
        dir: Dir,
        name: OsString,
        stamp: Stamp,
    },
    /// Nothing, or a folder.
    Gone,
    /// It could not be looked at.
    Unknown,
}

/// The path of the file that a tool means when it names `path`: links are followed as far as the
/// workspace reaches. What does not exist keeps its name below the folder that does.
pub(super) fn resolve(workspace: &Workspace, path: &str) -> OsString {
    let Some((base, root, inner)) = root_of(workspace, Path::new(path)) else {
        return OsString::from(path);
    };
    let real = resolve_in(root, inner);
    // An absolute base stays in front; the workspace's own has no name.
    if base == "." { real.into_os_string() } else { Path::new(&base).join(real).into_os_string() }
}

fn resolve_in(root: &Dir, path: &Path) -> PathBuf {
    let mut rest = PathBuf::new();
    let mut above = path;
    loop {
        let folder = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        if let Ok(real) = root.canonicalize(folder) {
            return real
                .strip_prefix(".")
                .unwrap_or(&real)
                .components()
                .chain(rest.components())
                .collect();
        }
        let (Some(folder), Some(name)) = (above.parent(), above.file_name()) else {
            return path.to_owned();
        };
        rest = Path::new(name).components().chain(rest.components()).collect();
        above = folder;
    }
}

/// The open folder that a path lies in: what paths in it begin with, its handle, and the rest.
fn root_of<'a, 'p>(
    workspace: &'a Workspace,
    path: &'p Path,
) -> Option<(String, &'a Dir, &'p Path)> {
    let find = |(base, root): (String, &'a Dir)| {
        let inner = if base == "." {
            path.is_relative().then_some(path)
        } else {
            path.strip_prefix(&base).ok()
        };
        inner.map(|inner| (base, root, inner))
    };
    workspace.roots().into_iter().find_map(find)
}

/// Looks for a path from the root.
pub(super) fn find(workspace: &Workspace, path: &OsStr) -> Found {
    let Some((_, root, path)) = root_of(workspace, Path::new(path)) else { return Found::Gone };
    let Some(name) = path.file_name() else { return Found::Gone };
    let Ok(mut dir) = root.try_clone() else { return Found::Unknown };
    for part in path.parent().into_iter().flat_map(Path::components) {
        dir = match dir.open_dir_nofollow(part.as_os_str()) {
            Ok(dir) => dir,
            Err(error) => return missing(Errno::from_io_error(&error)),
        };
    }
    match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => match Stamp::of(&stat) {
            Some(stamp) => Found::There { dir, name: name.to_owned(), stamp },
            None => Found::Gone,
        },
        Err(errno) => missing(Some(errno)),
    }
}

fn missing(errno: Option<Errno>) -> Found {
    match errno {
        // A file or a link in the place of a folder: what was below is not there any more.
        Some(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Found::Gone,
        _ => Found::Unknown,
    }
}

/// The content of what lies at `name` in `dir`: `None` if it has more than `most` bytes or cannot be
/// read.
pub(super) fn read(dir: &Dir, name: &OsStr, stamp: Stamp, most: u64) -> Option<Vec<u8>> {
    match stamp.kind {
        FileKind::Special => None,
        FileKind::Link => {
            let target = readlinkat(dir, name, Vec::new()).ok()?;
            Some(OsStr::from_bytes(target.as_bytes()).to_owned().into_vec())
        }
        FileKind::File => {
            let Ok(Opened::File { file, .. }) = open_for_reading(dir, name, false) else {
                return None;
            };
            let mut content = Vec::with_capacity(usize::try_from(stamp.bytes).unwrap_or(0));
            file.take(most + 1).read_to_end(&mut content).ok()?;
            (content.len() as u64 <= most).then_some(content)
        }
    }
}
