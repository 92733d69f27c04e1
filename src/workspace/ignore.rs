//! What git would not look at: the rules of `.gitignore`, `.ignore` and `.git/info/exclude`, read
//! through directory handles. Rules from outside of the workspace (a user's global ones, those of a
//! folder above) are not read: what a run sees depends on the workspace alone.
//!
//! The rule files of the folders above a scope are read by the host even if the run may not see
//! them; they only ever hide.

use std::io::Read as _;
use std::sync::Arc;

use ::ignore::Match;
use ::ignore::gitignore::{Gitignore, GitignoreBuilder};
use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;

use super::Workspace;
use super::jail::{Opened, open_for_reading};
use super::path::{components, join};

/// Bytes of one rule file that are read.
const MAX_RULE_BYTES: u64 = 64 * 1024;

/// The rules that hold in one folder; cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    innermost: Option<Arc<Level>>,
}

/// The rules of one folder and the ones above it.
#[derive(Debug)]
struct Level {
    above: Option<Arc<Level>>,
    /// The folder that the patterns are relative to.
    folder: String,
    patterns: Gitignore,
}

impl Rules {
    /// The rules that the folders above `folder` make. If they hide the folder itself, somebody
    /// asked for it by name: then none hold.
    pub fn above(workspace: &Workspace, folder: &str) -> Self {
        let Some(root) = workspace.root_of(folder) else { return Self::default() };
        let Ok(mut dir) = root.dir().try_clone() else { return Self::default() };
        let mut path = root.base();
        let mut rules = Self::default().with(&dir, &path, &[".git/info/exclude"]);
        for name in components(folder).skip(root.depth()) {
            rules = rules.enter(&dir, &path);
            path = join(&path, name);
            if rules.hide(&path, true) {
                return Self::default();
            }
            match dir.open_dir_nofollow(name) {
                Ok(next) => dir = next,
                Err(_) => break,
            }
        }
        rules
    }

    /// The rules inside of `folder`, which is open as `dir`.
    #[must_use]
    pub fn enter(&self, dir: &Dir, folder: &str) -> Self {
        self.with(dir, folder, &[".gitignore", ".ignore"])
    }

    /// The same, but only by what git reads: an `.ignore` file hides things from a search, not from
    /// whoever asks what changed.
    #[must_use]
    pub fn enter_as_git(&self, dir: &Dir, folder: &str) -> Self {
        self.with(dir, folder, &[".gitignore"])
    }

    /// True if an entry of the folder is to be left out.
    pub fn hide(&self, path: &str, is_folder: bool) -> bool {
        let mut level = self.innermost.as_ref();
        while let Some(rules) = level {
            let below = if rules.folder == "." {
                Some(path)
            } else {
                path.strip_prefix(rules.folder.as_str()).and_then(|rest| rest.strip_prefix('/'))
            };
            match below.map_or(Match::None, |below| rules.patterns.matched(below, is_folder)) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => level = rules.above.as_ref(),
            }
        }
        false
    }

    /// Later files win over earlier ones.
    fn with(&self, dir: &Dir, folder: &str, files: &[&str]) -> Self {
        let mut builder = GitignoreBuilder::new("");
        let mut any = false;
        for file in files {
            for line in rule_text(dir, file).lines() {
                // A line that is no pattern hides nothing, as in git.
                any |= builder.add_line(None, line).is_ok();
            }
        }
        match builder.build() {
            Ok(patterns) if any && !patterns.is_empty() => {
                let above = self.innermost.clone();
                let level = Level { above, folder: folder.to_owned(), patterns };
                Self { innermost: Some(Arc::new(level)) }
            }
            Ok(_) | Err(_) => self.clone(),
        }
    }
}

/// The text of a rule file; empty if there is none. Like git, it does not follow a link.
fn rule_text(dir: &Dir, file: &str) -> String {
    let is_file = dir.symlink_metadata(file).is_ok_and(|found| found.is_file());
    let mut bytes = Vec::new();
    if is_file && let Ok(Opened::File { file, .. }) = open_for_reading(dir, file, false) {
        // What could be read before an error still counts.
        let _ = file.take(MAX_RULE_BYTES).read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
