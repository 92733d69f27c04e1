//! Temporary files: where new content waits until it is whole. Each is locked by the process that
//! writes it; one that nobody holds was left by a process that was killed, and is removed by the
//! next write in its folder.

use std::fs::{File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::fs::{Dir, Metadata, MetadataExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::fs::{Gid, Mode, Uid, XattrFlags};
use rustix::io::Errno;

use crate::workspace::jail::{Opened, open_for_reading};

const PREFIX: &str = ".offshoot-";
const SUFFIX: &str = ".tmp";
/// Digits between them.
const DIGITS: usize = 32;
/// Entries of a folder that are looked at for what was left behind.
const MAX_ENTRIES: usize = 100_000;
/// Bytes of one extended attribute that are kept.
const MAX_ATTRIBUTE_BYTES: usize = 64 * 1024;

/// True for the name of a temporary file of this program.
pub fn is_temporary(name: &[u8]) -> bool {
    let digits =
        name.strip_prefix(PREFIX.as_bytes()).and_then(|rest| rest.strip_suffix(SUFFIX.as_bytes()));
    digits.is_some_and(|digits| digits.len() == DIGITS && digits.iter().all(u8::is_ascii_hexdigit))
}

/// A file that is removed again unless it was renamed.
pub(super) struct Temporary {
    folder: Dir,
    name: String,
    file: File,
    renamed: bool,
}

impl Temporary {
    /// An empty one, locked. One for a new file has the mode that new files get; any other is for
    /// its owner alone until it looks like the file it is for.
    pub(super) fn create(folder: &Dir, for_new: bool) -> io::Result<Self> {
        const TRIES: usize = 16;
        for _ in 0..TRIES {
            let name = format!("{PREFIX}{}{SUFFIX}", uuid::Uuid::now_v7().simple());
            let mut options = OpenOptions::new();
            options.read(true).write(true).create_new(true).follow(FollowSymlinks::No);
            options.mode(if for_new { 0o666 } else { 0o600 });
            let file = folder.open_with(&name, &options)?.into_std();
            let temporary = Self { folder: folder.try_clone()?, name, file, renamed: false };
            if temporary.is_ours()? {
                return Ok(temporary);
            }
        }
        Err(io::Error::other("every temporary file was taken away"))
    }

    /// Locks it. False if somebody who cleans up was faster.
    fn is_ours(&self) -> io::Result<bool> {
        match self.file.try_lock() {
            // A file system without locks has none to be cleaned up by.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(self.state()?.nlink() > 0),
            Err(TryLockError::WouldBlock) => Ok(false),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn fill(&mut self, content: &[u8]) -> io::Result<()> {
        self.file.write_all(content)
    }

    /// Gives it the owner, the mode and the attributes of the file it is for. False if the owner
    /// could not be kept.
    pub(super) fn become_like(&self, old: &File, metadata: &Metadata) -> io::Result<bool> {
        let own = self.state()?;
        let (uid, gid) = (metadata.uid(), metadata.gid());
        let mut kept = true;
        if (own.uid(), own.gid()) != (uid, gid) {
            let group = Some(Gid::from_raw(gid));
            let both = rustix::fs::fchown(&self.file, Some(Uid::from_raw(uid)), group);
            if both.is_err() {
                // Not ours to give away; the group may still be.
                kept = rustix::fs::fchown(&self.file, None, group).is_ok() && own.uid() == uid;
            }
        }
        // A program that runs as its owner is not to run as another one.
        let bits = if kept { 0o7777 } else { 0o1777 };
        rustix::fs::fchmod(&self.file, Mode::from_raw_mode(metadata.mode() & bits))?;
        copy_attributes(old, &self.file);
        Ok(kept)
    }

    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    pub(super) fn state(&self) -> io::Result<Metadata> {
        Metadata::from_file(&self.file)
    }

    /// It is no temporary file any more.
    pub(super) fn was_renamed(&mut self) {
        self.renamed = true;
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

/// Removes what killed processes left in a folder. What cannot be removed stays.
pub(super) fn sweep(folder: &Dir) {
    let Ok(entries) = folder.entries() else { return };
    for entry in entries.take(MAX_ENTRIES).flatten() {
        let name = entry.file_name();
        if is_temporary(name.as_bytes())
            && let Ok(Opened::File { file, .. }) = open_for_reading(folder, &name, false)
            && file.try_lock().is_ok()
        {
            let _ = folder.remove_file(&name);
        }
    }
}

/// What a file carries beside its bytes: who else may use it, and what a user noted on it. As far as
/// the system lets it.
fn copy_attributes(from: &File, to: &File) {
    let mut names = vec![0_u8; MAX_ATTRIBUTE_BYTES];
    let Ok(length) = rustix::fs::flistxattr(from, names.as_mut_slice()) else { return };
    let mut value = vec![0_u8; MAX_ATTRIBUTE_BYTES];
    for name in names.get(..length).unwrap_or_default().split(|byte| *byte == 0) {
        if name != b"system.posix_acl_access" && !name.starts_with(b"user.") {
            continue;
        }
        let copied: Result<(), Errno> = rustix::fs::fgetxattr(from, name, value.as_mut_slice())
            .and_then(|length| {
                let value = value.get(..length).unwrap_or_default();
                rustix::fs::fsetxattr(to, name, value, XattrFlags::empty())
            });
        // A file without them is still the file that was asked for.
        let _ = copied;
    }
}
