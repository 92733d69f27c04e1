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
    let mut rest = PathBuf::new();
    let mut above = Path::new(path);
    loop {
        if let Ok(real) = workspace.root().canonicalize(above) {
            let whole = if rest.as_os_str().is_empty() { real } else { real.join(&rest) };
            return whole.strip_prefix(".").unwrap_or(&whole).as_os_str().to_owned();
        }
        let (Some(folder), Some(name)) = (above.parent(), above.file_name()) else {
            return OsString::from(path);
        };
        rest = if rest.as_os_str().is_empty() { name.into() } else { Path::new(name).join(&rest) };
        above = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    }
}

/// Looks for a path from the root.
pub(super) fn find(workspace: &Workspace, path: &OsStr) -> Found {
    let path = Path::new(path);
    let Some(name) = path.file_name() else { return Found::Gone };
    let Ok(mut dir) = workspace.root().try_clone() else { return Found::Unknown };
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
