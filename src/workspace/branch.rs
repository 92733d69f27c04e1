//! The name of the branch that is checked out, read from the repository's files. Only the screen
//! sees it; nothing of it reaches a model.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Bytes of a pointer or HEAD file that are looked at.
const MAX_BYTES: u64 = 4_096;

/// The branch of the repository that `folder` lies in.
pub(super) fn of(folder: &Path) -> Option<String> {
    let git = folder.ancestors().map(|above| above.join(".git")).find(|git| git.exists())?;
    let head = read_small(&git_dir(git)?.join("HEAD"))?;
    let head = head.trim();
    if let Some(branch) = head.strip_prefix("ref: refs/heads/") {
        // Repositories with another kind of reference store write this name as a placeholder.
        let known = !branch.is_empty() && branch != ".invalid";
        return known.then(|| branch.chars().filter(|c| !c.is_control()).take(100).collect());
    }
    let is_commit = head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| head.chars().take(8).collect())
}

/// The repository's folder: `.git` itself, or where a worktree's or submodule's `.git` file points.
fn git_dir(git: PathBuf) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git);
    }
    let pointer = read_small(&git)?;
    let target = pointer.trim().strip_prefix("gitdir:")?.trim();
    Some(git.parent()?.join(target))
}

fn read_small(path: &Path) -> Option<String> {
    // Opening a pipe or a device would wait or do something.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}
