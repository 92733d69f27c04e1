//! What stands behind a place that somebody cites.

use tokio_util::sync::CancellationToken;

use crate::domain::scope::PathScope;

use super::Workspace;
use super::jail::{JailError, Opened};
use super::lines::Lines;

/// Bytes up to which the lines of a file are counted.
const MAX_COUNTED_BYTES: u64 = 16 * 1024 * 1024;

/// What a cited path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existence {
    /// There is nothing of that name.
    Missing,
    /// The system does not let it be looked at; nothing is said about whether it exists.
    Unreadable,
    /// The run may not see it; nothing is said about whether it exists.
    OutOfScope,
    /// A file.
    File {
        /// Its lines, as `read_file` counts them; `None` if it is larger than 16 MiB or is no
        /// regular file.
        lines: Option<u64>,
    },
    /// A folder.
    Folder,
}

impl Workspace {
    /// Looks a path up as it was cited, absolute or relative, within `scopes`. Blocks; reads at
    /// most 16 MiB.
    pub fn exists(&self, scopes: &[PathScope], path: &str) -> Existence {
        let opened = self
            .normalise(path)
            .map_err(JailError::from)
            .and_then(|path| self.open_within(scopes, &path));
        match opened {
            Ok(Opened::File { file, bytes }) => Existence::File { lines: count(file, bytes) },
            Ok(Opened::Folder(_)) => Existence::Folder,
            Ok(Opened::Special(_)) => Existence::File { lines: None },
            Err(JailError::Path(_) | JailError::OutOfScope { .. } | JailError::Escapes(_)) => {
                Existence::OutOfScope
            }
            Err(
                JailError::Denied(_)
                | JailError::Io { .. }
                | JailError::Loop(_)
                | JailError::NameTooLong(_),
            ) => Existence::Unreadable,
            Err(JailError::Missing(_) | JailError::NotAFolder(_) | JailError::Gone(_)) => {
                Existence::Missing
            }
        }
    }
}

fn count(file: std::fs::File, bytes: u64) -> Option<u64> {
    if bytes > MAX_COUNTED_BYTES {
        return None;
    }
    let mut lines = Lines::new(file, MAX_COUNTED_BYTES, CancellationToken::new());
    let count = lines.count().ok()?;
    (!lines.stopped()).then_some(count)
}
