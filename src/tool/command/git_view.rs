//! A repository as `git` may see it from here: the same objects, references and index, under a
//! configuration of our own. What a repository's own configuration would run (external diffs, text
//! conversions, filters, hooks, a file-system monitor, fetching) is not switched off by name: it is
//! not there. It reads a repository's small files and runs nothing.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{OpenOptionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use tempfile::TempDir;

use super::git_config;

/// Bytes of a pointer or HEAD file that are read.
const MAX_POINTER: u64 = 4_096;
/// Bytes of a configuration that are read.
const MAX_CONFIG: u64 = 1_000_000;
/// What a worktree has of its own.
const OWN: [&str; 1] = ["index"];
/// What all worktrees of a repository share.
const SHARED: [&str; 5] = ["objects", "refs", "reftable", "packed-refs", "shallow"];

/// Variables that say the same of every repository.
const FIXED: [(&str, &str); 16] = [
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_COUNT", "0"),
    ("GIT_CONFIG_PARAMETERS", ""),
    ("GIT_ALTERNATE_OBJECT_DIRECTORIES", ""),
    ("GIT_EXTERNAL_DIFF", ""),
    ("GIT_LITERAL_PATHSPECS", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_TRACE", "0"),
    ("GIT_TRACE2", "0"),
    ("LC_ALL", "C.UTF-8"),
];

/// Why there is no view.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// No repository.
    #[error(
        "the workspace is not in a git repository, so there is no diff; read_file and search show its files"
    )]
    NoRepository,
    /// A `.git` that leads somewhere else.
    #[error("not run: `{}` leads to a repository outside of the workspace", .0.display())]
    Elsewhere(PathBuf),
    /// Something that git would not take either.
    #[error("not run: `{}` is not a git repository that can be read: {detail}", path.display())]
    Broken {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// No room for the view.
    #[error("not run: cannot make a folder for git in {}: {cause}", folder.display())]
    NoRoom {
        /// Where.
        folder: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

/// The view. Its folder is removed when it is dropped.
#[derive(Debug)]
pub struct GitView {
    folder: TempDir,
    top: PathBuf,
    /// The repository's own folder, and the one it shares with its other worktrees.
    places: Vec<PathBuf>,
}

impl GitView {
    /// A view of the repository that `root` lies in. Blocks.
    pub fn of(root: &Path) -> Result<Self, ViewError> {
        let found = Found::above(root)?;
        let temporary = std::env::temp_dir();
        let no_room = |cause| ViewError::NoRoom { folder: temporary.clone(), cause };
        let folder = TempDir::with_prefix("offshoot-git-").map_err(no_room)?;
        let view = Self { folder, top: found.top.clone(), places: found.places() };
        let head = found.head()?;
        view.fill(&found, &head).map_err(no_room)?;
        Ok(view)
    }

    /// What git is told by its environment; it looks for nothing itself.
    pub fn environment(&self) -> Vec<(String, String)> {
        let folder = self.folder.path();
        let below = |name: &str| folder.join(name).to_string_lossy().into_owned();
        let mut all = vec![
            ("GIT_DIR", folder.to_string_lossy().into_owned()),
            ("GIT_WORK_TREE", self.top.to_string_lossy().into_owned()),
            ("GIT_INDEX_FILE", below("index")),
            ("GIT_OBJECT_DIRECTORY", below("objects")),
        ];
        all.extend(FIXED.map(|(name, value)| (name, value.to_owned())));
        all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// What git has to read beside the files that are compared.
    pub fn readable(&self) -> Vec<PathBuf> {
        let attributes = [".gitattributes", ".gitignore"].map(|name| self.top.join(name));
        let own = std::iter::once(self.folder.path().to_owned());
        own.chain(self.places.clone()).chain(attributes).collect()
    }

    /// The file that git's complaints go to: they are no part of a diff.
    pub fn complaints(&self) -> PathBuf {
        self.folder.path().join("complaints")
    }

    fn fill(&self, found: &Found, head: &str) -> io::Result<()> {
        let folder = self.folder.path();
        fs::create_dir(folder.join("info"))?;
        fs::write(folder.join("HEAD"), head)?;
        fs::write(folder.join("config"), git_config::for_view(&found.config()))?;
        fs::write(self.complaints(), "")?;
        for (from, names) in [(&found.own, OWN.as_slice()), (&found.shared, SHARED.as_slice())] {
            for name in names {
                found.link(from, name, &folder.join(name))?;
            }
        }
        // An index that was split has its larger part beside it.
        for entry in fs::read_dir(&found.own)?.flatten() {
            if let Some(name) =
                entry.file_name().to_str().filter(|name| name.starts_with("sharedindex."))
            {
                found.link(&found.own, name, &folder.join(name))?;
            }
        }
        found.link(&found.shared, "info/exclude", &folder.join("info/exclude"))?;
        // Without these two git sees no repository at all.
        for name in ["objects", "refs"] {
            match fs::create_dir(folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

/// A repository that was found.
struct Found {
    /// The top of its files.
    top: PathBuf,
    /// What belongs to this worktree.
    own: PathBuf,
    /// What belongs to all of its worktrees.
    shared: PathBuf,
}

impl Found {
    /// The nearest repository at or above a folder, as git itself looks for it.
    fn above(root: &Path) -> Result<Self, ViewError> {
        let at = root.ancestors().map(|folder| folder.join(".git"));
        let git = at.into_iter().find(|git| git.symlink_metadata().is_ok());
        let git = git.ok_or(ViewError::NoRepository)?;
        let top = git.parent().unwrap_or(root).to_owned();
        let real = git.canonicalize().map_err(|error| broken(&git, &error))?;
        if real.is_dir() {
            // A link could make another repository's content this one's.
            if !real.starts_with(&top) {
                return Err(ViewError::Elsewhere(git));
            }
            return Ok(Self { top, own: real.clone(), shared: real });
        }
        Self::linked(top, &git)
    }

    /// A `.git` file names the folder. It is believed if that folder lies below, or names this file
    /// in turn, as the folder of a linked worktree does.
    fn linked(top: PathBuf, git: &Path) -> Result<Self, ViewError> {
        let text = read_small(git, MAX_POINTER).map_err(|error| broken(git, &error))?;
        let target = text.trim().strip_prefix("gitdir:").map(str::trim);
        let target = target.ok_or_else(|| broken(git, &"it names no folder"))?;
        let own = top.join(target).canonicalize().map_err(|error| broken(git, &error))?;
        let back = read_small(&own.join("gitdir"), MAX_POINTER).unwrap_or_default();
        let names_us = own.join(back.trim()).canonicalize().ok() == git.canonicalize().ok();
        if !(own.starts_with(&top) || !back.trim().is_empty() && names_us) {
            return Err(ViewError::Elsewhere(git.to_owned()));
        }
        let common = read_small(&own.join("commondir"), MAX_POINTER).unwrap_or_default();
        let shared = own.join(common.trim());
        let shared = shared.canonicalize().map_err(|error| broken(git, &error))?;
        if own.starts_with(&top) && !shared.starts_with(&top) {
            return Err(ViewError::Elsewhere(git.to_owned()));
        }
        Ok(Self { top, own, shared })
    }

    fn places(&self) -> Vec<PathBuf> {
        let mut places = vec![self.own.clone(), self.shared.clone()];
        places.dedup();
        places
    }

    /// Its HEAD, if it is one.
    fn head(&self) -> Result<String, ViewError> {
        let path = self.own.join("HEAD");
        let head = read_small(&path, MAX_POINTER).map_err(|error| broken(&path, &error))?;
        let head = head.trim();
        let is_commit = head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_commit || head.starts_with("ref: refs/") {
            return Ok(format!("{head}\n"));
        }
        Err(broken(&path, &"it names no branch and no commit"))
    }

    /// Its configuration's text; empty where it cannot be read.
    fn config(&self) -> String {
        read_small(&self.shared.join("config"), MAX_CONFIG).unwrap_or_default()
    }

    /// Links to a part of it, if that part is there and lies in it.
    fn link(&self, from: &Path, name: &str, to: &Path) -> io::Result<()> {
        match from.join(name).canonicalize() {
            Ok(real) if real.starts_with(&self.own) || real.starts_with(&self.shared) => {
                symlink(real, to)
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn broken(path: &Path, detail: &dyn std::fmt::Display) -> ViewError {
    ViewError::Broken { path: path.to_owned(), detail: detail.to_string() }
}

/// A small regular file's text; no link is followed at its end and no pipe waited for.
fn read_small(path: &Path, most: u64) -> io::Result<String> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut text = String::new();
    file.take(most).read_to_string(&mut text)?;
    Ok(text)
}
