//! Why something was not written, in words that say what to do instead.

use std::io;

use rustix::io::Errno;

use crate::workspace::entry::Kind;
use crate::workspace::jail::{self, JailError};
use crate::workspace::path::printable;

/// Why a file was not written. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The path does not lead anywhere that the run may go.
    #[error(transparent)]
    Jail(#[from] JailError),
    /// A folder of that name.
    #[error("`{0}` is a folder; name a file in it")]
    Folder(String),
    /// Not a regular file.
    #[error("`{path}` is a {}; it is not written", kind.name())]
    Special {
        /// What was asked for.
        path: String,
        /// What it is.
        kind: Kind,
    },
    /// On the way lies a link to nothing.
    #[error("`{0}` goes through a symbolic link that leads to nothing")]
    DeadLink(String),
    /// No write bit at all.
    #[error(
        "`{path}` is read-only (mode {mode:o}) and was not changed; if it is meant to be changed, \
         it has to be made writable first"
    )]
    ReadOnly {
        /// What was asked for.
        path: String,
        /// Its permission bits.
        mode: u32,
    },
    /// The user who runs this program may not write there.
    #[error("permission to write `{0}` is denied by the system")]
    Denied(String),
    /// It is not what it was a moment ago.
    #[error("`{0}` was changed by somebody else at this moment and was left alone; read it again")]
    Changed(String),
    /// No room.
    #[error("`{0}` was not written: the disk is full")]
    DiskFull(String),
    /// No room for this user.
    #[error("`{0}` was not written: the disk quota is used up")]
    Quota(String),
    /// A file system that takes no changes.
    #[error("`{0}` was not written: its file system is read-only")]
    ReadOnlySystem(String),
    /// Larger than a file may be.
    #[error("`{0}` was not written: the content is larger than a file may be there")]
    TooLarge(String),
    /// Anything else.
    #[error("cannot write `{path}`: {detail}")]
    Io {
        /// What was asked for.
        path: String,
        /// What the system said.
        detail: String,
    },
}

/// The system's word for a failure, in ours.
pub(super) fn explain(error: &io::Error, path: &str) -> WriteError {
    let shown = printable(path);
    match Errno::from_io_error(error) {
        Some(Errno::ACCESS | Errno::PERM) => WriteError::Denied(shown),
        Some(Errno::NOSPC) => WriteError::DiskFull(shown),
        Some(Errno::DQUOT) => WriteError::Quota(shown),
        Some(Errno::ROFS) => WriteError::ReadOnlySystem(shown),
        Some(Errno::FBIG) => WriteError::TooLarge(shown),
        Some(Errno::ISDIR) => WriteError::Folder(shown),
        Some(Errno::EXIST) => WriteError::Changed(shown),
        _ => match jail::explain(error, path) {
            JailError::Io { path, detail } => WriteError::Io { path, detail },
            refused @ (JailError::Path(_)
            | JailError::OutOfScope { .. }
            | JailError::Missing(_)
            | JailError::Escapes(_)
            | JailError::Loop(_)
            | JailError::NotAFolder(_)
            | JailError::Denied(_)
            | JailError::NameTooLong(_)
            | JailError::Gone(_)) => WriteError::Jail(refused),
        },
    }
}

/// Files that are there and are not to be replaced.
pub(super) mod refuse {
    use cap_std::fs::{Dir, Metadata, MetadataExt as _};
    use rustix::fs::{Access, AtFlags};
    use rustix::io::Errno;

    use super::{WriteError, explain, printable};

    /// Taking a file's name needs no permission on the file; replacing what somebody protected does.
    pub(in super::super) fn unwritable(
        folder: &Dir,
        name: &str,
        metadata: &Metadata,
        path: &str,
    ) -> Result<(), WriteError> {
        let mode = metadata.mode() & 0o7777;
        if mode & 0o222 == 0 {
            return Err(WriteError::ReadOnly { path: printable(path), mode });
        }
        match rustix::fs::accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS) {
            // A system that cannot say it beforehand says it when the file is written; a file that
            // was swapped meanwhile is found out before anything is replaced.
            Ok(()) | Err(Errno::NOSYS | Errno::INVAL | Errno::NOENT | Errno::LOOP) => Ok(()),
            Err(error) => Err(explain(&error.into(), path)),
        }
    }
}
