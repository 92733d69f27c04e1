//! A home and a folder for temporary files that belong to one session's commands alone, so that what
//! they leave there is found by their next one and by nobody else, and what people keep in their own
//! home is not there at all.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use tempfile::TempDir;

use super::git_identity;

/// Where the two folders will be. They are made when the first command needs them.
#[derive(Debug, Default)]
pub(super) struct PrivatePlace(Mutex<Option<Arc<Private>>>);

impl PrivatePlace {
    /// The folders; made if there are none, for this user with this home. Blocks.
    pub(super) fn get(&self, user: Option<&Path>) -> io::Result<Arc<Private>> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // A command may have removed them: its successors get new ones.
        if let Some(private) = place.as_ref().filter(|private| private.is_whole()) {
            return Ok(Arc::clone(private));
        }
        let private = Arc::new(Private::make(user)?);
        *place = Some(Arc::clone(&private));
        Ok(private)
    }

    /// Removes them, once no command uses them any more. Blocks.
    pub(super) fn close(&self) {
        let private = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(private);
    }
}

/// The two folders. They are removed, with all that is in them, when this is dropped.
#[derive(Debug)]
pub(super) struct Private {
    root: TempDir,
    /// Locked as long as they are used, so that a later program knows what a killed one left.
    _in_use: File,
}

/// How the folders' common folder begins.
const PREFIX: &str = "offshoot-";
/// The file in it that is locked while they are used.
const IN_USE: &str = "in-use";

impl Private {
    /// Makes the folders, for this user alone, in the system's folder for temporary files. The home
    /// gets what is kept of the git configuration in the user's own one. Blocks.
    fn make(user: Option<&Path>) -> io::Result<Self> {
        // Links on the way there are resolved once: the fence follows none.
        let place = std::env::temp_dir().canonicalize()?;
        let own = fs::Permissions::from_mode(0o700);
        let root = tempfile::Builder::new().prefix(PREFIX).permissions(own).tempdir_in(&place)?;
        let private = Self { _in_use: occupy(root.path())?, root };
        fs::create_dir(private.home())?;
        fs::create_dir(private.temporary())?;
        if let Some(user) = user {
            fs::write(private.home().join(".gitconfig"), git_identity::of(user))?;
        }
        // It may be much, and no command has to wait for it; what is not done by the time this
        // program ends is left to the next one.
        let _ = thread::Builder::new().name("tidy".to_owned()).spawn(move || tidy(&place));
        Ok(private)
    }

    fn is_whole(&self) -> bool {
        self.home().is_dir() && self.temporary().is_dir()
    }

    /// The home.
    pub(super) fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The folder for temporary files.
    pub(super) fn temporary(&self) -> PathBuf {
        self.root.path().join("tmp")
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // Some tools keep what they fetched in folders that cannot be written, which keeps their
        // own user from removing them.
        if fs::remove_dir_all(self.root.path()).is_err() {
            open_up(self.root.path());
        }
    }
}

/// Marks a folder as used for as long as the file is open.
fn occupy(root: &Path) -> io::Result<File> {
    // Locked before it has its name: nobody may find it unlocked.
    let unnamed = root.join("new");
    let file = File::create_new(&unnamed)?;
    file.lock()?;
    fs::rename(unnamed, root.join(IN_USE))?;
    Ok(file)
}

/// Removes what programs that were killed have left in this place.
fn tidy(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let root = entry.path();
        if entry.file_name().to_string_lossy().starts_with(PREFIX) && is_left(&root) {
            // The mark goes last, so that what is not removed this time is found again.
            for folder in [root.join("home"), root.join("tmp"), root] {
                if fs::remove_dir_all(&folder).is_err() {
                    open_up(&folder);
                    let _ = fs::remove_dir_all(&folder);
                }
            }
        }
    }
}

/// True if this is a folder of this user's that no program uses any more.
fn is_left(root: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let is_own = |root: &Path| {
        fs::symlink_metadata(root).is_ok_and(|data| data.is_dir() && data.uid() == own)
    };
    is_own(root) && File::open(root.join(IN_USE)).is_ok_and(|file| file.try_lock().is_ok())
}

/// Makes every folder below this one writable to its owner. Follows no link.
fn open_up(root: &Path) {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        // What cannot be changed stays, and is told by nobody: the session is over.
        let _ = fs::set_permissions(&folder, fs::Permissions::from_mode(0o700));
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn the_folders_are_for_this_user_alone_and_go_with_their_owner() {
        let private = Private::make(None).unwrap();
        let root = private.root.path().to_owned();
        assert_eq!(fs::metadata(&root).unwrap().permissions().mode() & 0o777, 0o700);
        let deep = private.home().join("go/pkg/mod/x");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("y"), "z").unwrap();
        fs::set_permissions(&deep, fs::Permissions::from_mode(0o500)).unwrap();
        drop(private);
        assert!(!root.exists());
    }

    #[test]
    fn what_a_killed_program_left_is_removed_and_what_is_used_is_not() {
        let place = TempDir::new().unwrap();
        let make = |name: &str| {
            let root = place.path().join(name);
            fs::create_dir_all(root.join("home/a/b")).unwrap();
            (occupy(&root).unwrap(), root)
        };
        let (used, of_another) = (make("offshoot-used"), make("another"));
        let (left, unmarked) = (make("offshoot-left").1, place.path().join("offshoot-unmarked"));
        fs::create_dir(&unmarked).unwrap();
        drop(of_another.0);
        tidy(place.path());
        assert!(!left.exists());
        assert!(used.1.join("home/a/b").exists());
        assert!(of_another.1.exists());
        assert!(unmarked.exists());
    }

    #[test]
    fn opening_up_follows_no_link() {
        let outside = TempDir::new().unwrap();
        fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o500)).unwrap();
        let private = Private::make(None).unwrap();
        std::os::unix::fs::symlink(outside.path(), private.home().join("link")).unwrap();
        open_up(private.root.path());
        drop(private);
        let mode = fs::metadata(outside.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o500);
    }
}
