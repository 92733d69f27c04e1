//! A file's state as far as the system tells it without reading.

use rustix::fs::{FileType, Mode, Stat};

use crate::domain::changes::{FileKind, FileState};
use crate::domain::hash::Sha;

/// A file whose times are no older than this when it is looked at may change again without showing
/// it: the system's clock for files ticks in steps.
const TICK_NS: i128 = 100_000_000;
/// The same where the file system keeps whole seconds only, some of them every second one.
const COARSE_TICK_NS: i128 = 2_000_000_000;
const SECOND_NS: i128 = 1_000_000_000;

/// Two files of equal stamps hold the same, unless one was changed within a tick of the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) kind: FileKind,
    pub(super) bytes: u64,
    kind_bits: FileType,
    mode: Mode,
    inode: u64,
    modified_ns: i128,
    changed_ns: i128,
}

impl Stamp {
    /// Of anything but a folder.
    pub(super) fn of(stat: &Stat) -> Option<Self> {
        let kind_bits = FileType::from_raw_mode(stat.st_mode);
        let kind = match kind_bits {
            FileType::Directory => return None,
            FileType::RegularFile => FileKind::File,
            FileType::Symlink => FileKind::Link,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => FileKind::Special,
        };
        let ns = |seconds: i64, ns: i128| i128::from(seconds) * SECOND_NS + ns;
        Some(Self {
            kind,
            bytes: u64::try_from(stat.st_size).unwrap_or(0),
            kind_bits,
            mode: Mode::from_raw_mode(stat.st_mode),
            inode: stat.st_ino,
            modified_ns: ns(stat.st_mtime, stat.st_mtime_nsec.into()),
            changed_ns: ns(stat.st_ctime, stat.st_ctime_nsec.into()),
        })
    }

    /// When anything about it changed last, in ns since 1970; nobody but the clock can set it.
    pub(super) fn changed_ns(&self) -> i128 {
        self.changed_ns
    }

    /// True if any later change shows in the stamp.
    pub(super) fn is_settled(&self, now_ns: i128) -> bool {
        let is_coarse = self.changed_ns % SECOND_NS == 0;
        let tick = if is_coarse { COARSE_TICK_NS } else { TICK_NS };
        self.changed_ns + tick < now_ns
    }

    /// True if there is something to read.
    pub(super) fn has_content(&self) -> bool {
        self.kind != FileKind::Special
    }

    /// As a value, with the hash of its content.
    pub(super) fn state(&self, sha256: Option<Sha>) -> FileState {
        let mode = u16::try_from(self.mode.bits() & 0o7777).unwrap_or(0);
        FileState { kind: self.kind, mode, bytes: self.bytes, sha256 }
    }
}
