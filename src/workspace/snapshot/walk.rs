//! One look at all files of a workspace, by directory handles, bounded and cancellable.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};

use cap_fs_ext::DirExt as _;
use cap_std::fs::Dir;
use rustix::fs::{AtFlags, statat};
use tokio_util::sync::CancellationToken;

use super::content::{self, Found, Wanted};
use super::stamp::Stamp;
use super::{Refresh, State, now_ns};
use crate::domain::changes::Difference;
use crate::workspace::Workspace;
use crate::workspace::entry::Kind;
use crate::workspace::folder::{self, Contents, Filter};
use crate::workspace::ignore::Rules;
use crate::workspace::shadow::{MAX_BULK_BYTES, MAX_COPY_BYTES, MAX_NAMED_BYTES, Reason};

/// Files that are looked at.
pub(super) const MAX_FILES: usize = 200_000;
/// Folders inside of each other that are entered; each one is an open handle.
const MAX_DEPTH: usize = 128;
/// Bytes that one look reads, but for the first, which reads what it may copy.
const MAX_READ_BYTES: u64 = 512 * 1024 * 1024;

/// A look that is going on.
pub(super) struct Walk<'a> {
    state: &'a mut State,
    workspace: &'a Workspace,
    cancel: &'a CancellationToken,
    /// What may still be read.
    bytes_left: u64,
    most_bytes: u64,
    files: usize,
    unread_folders: usize,
    hidden: HashSet<OsString>,
    differences: Vec<Difference>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        state: &'a mut State,
        workspace: &'a Workspace,
        cancel: &'a CancellationToken,
    ) -> Self {
        let first = state.look == 0;
        let (bytes_left, most_bytes) = if first {
            (MAX_BULK_BYTES, MAX_COPY_BYTES)
        } else {
            (MAX_READ_BYTES, MAX_NAMED_BYTES)
        };
        Self {
            state,
            workspace,
            cancel,
            bytes_left,
            most_bytes,
            files: 0,
            unread_folders: 0,
            hidden: HashSet::new(),
            differences: Vec::new(),
        }
    }

    /// Goes over everything.
    pub(super) fn run(mut self) -> Refresh {
        let began = now_ns();
        self.state.look += 1;
        for (base, root) in self.workspace.roots() {
            let rules = Rules::above(self.workspace, &base);
            self.enter(root, OsStr::new(&base), &rules, 0);
        }
        self.look_for_the_rest();
        let complete = !self.cancel.is_cancelled();
        self.state.partial = !complete || self.is_full() || self.unread_folders > 0;
        if complete || self.state.look_began == 0 {
            self.state.look_began = began;
        }
        if complete {
            self.state.hidden = std::mem::take(&mut self.hidden);
        }
        Refresh { complete, unseen: self.unseen(), differences: self.differences }
    }

    fn is_full(&self) -> bool {
        self.files >= MAX_FILES
    }

    fn is_over(&self) -> bool {
        self.is_full() || self.cancel.is_cancelled()
    }

    fn enter(&mut self, dir: &Dir, path: &OsStr, above: &Rules, depth: usize) {
        let text = path.to_string_lossy();
        let rules = above.enter_as_git(dir, &text);
        let filter = Filter { rules: &rules, dotted: true };
        let Ok(contents) = folder::read(dir, &text, filter, self.cancel) else {
            self.unread_folders += 1;
            return;
        };
        self.unread_folders += usize::from(contents.more);
        self.note_hidden(&contents, path);
        for entry in contents.entries {
            if self.is_over() {
                return;
            }
            let inner = join(path, &entry.name);
            match entry.kind {
                Kind::Folder => self.enter_inner(dir, &entry.name, &inner, &rules, depth + 1),
                Kind::File
                | Kind::Link
                | Kind::Fifo
                | Kind::Socket
                | Kind::Device
                | Kind::Unknown => self.meet(dir, &entry.name, &inner),
            }
        }
    }

    fn enter_inner(&mut self, dir: &Dir, name: &OsStr, path: &OsStr, rules: &Rules, depth: usize) {
        match dir.open_dir_nofollow(name) {
            Ok(inner) if depth < MAX_DEPTH => self.enter(&inner, path, rules, depth),
            Ok(_) | Err(_) => self.unread_folders += 1,
        }
    }

    fn note_hidden(&mut self, contents: &Contents, folder: &OsStr) {
        for entry in &contents.ignored {
            if self.hidden.len() < MAX_FILES {
                self.hidden.insert(join(folder, &entry.name));
            }
        }
    }

    fn meet(&mut self, dir: &Dir, name: &OsStr, path: &OsStr) {
        self.files += 1;
        let found = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW);
        // What vanished meanwhile is missed below.
        if let Some(stamp) = found.ok().as_ref().and_then(Stamp::of) {
            self.compare(dir, name, path, stamp);
        }
    }

    fn compare(&mut self, dir: &Dir, name: &OsStr, path: &OsStr, stamp: Stamp) {
        let most_bytes = self.most_bytes.min(self.bytes_left);
        let wanted = Wanted { reason: Reason::Bulk, most_bytes };
        let left = &mut self.bytes_left;
        let difference = self.state.compare(path, stamp, wanted, |most| {
            let content = content::read(dir, name, stamp, most);
            *left = left.saturating_sub(content.as_ref().map_or(0, |content| content.len() as u64));
            content
        });
        self.differences.extend(difference);
    }

    /// What was known and was not met: gone, or out of sight.
    fn look_for_the_rest(&mut self) {
        let look = self.state.look;
        let missed = self.state.known.iter().filter(|(_, known)| known.look != look);
        let missed: Vec<OsString> = missed.map(|(path, _)| path.clone()).collect();
        for path in missed {
            if self.cancel.is_cancelled() {
                return;
            }
            match content::find(self.workspace, &path) {
                Found::There { dir, name, stamp } => self.compare(&dir, &name, &path, stamp),
                Found::Gone => {
                    let gone = self.state.forget(&path);
                    self.differences.extend(gone);
                }
                Found::Unknown => {}
            }
        }
    }

    fn unseen(&self) -> Option<String> {
        if self.is_full() {
            return Some(format!(
                "the workspace has more than {MAX_FILES} files; changes in the rest are not seen \
                 (a line in .gitignore takes a folder out)"
            ));
        }
        match self.unread_folders {
            0 => None,
            1 => Some("changes in a folder that could not be read are not seen".to_owned()),
            many => Some(format!("changes in {many} folders that could not be read are not seen")),
        }
    }
}

fn join(folder: &OsStr, name: &OsStr) -> OsString {
    if folder == "." {
        return name.to_owned();
    }
    let mut path = OsString::with_capacity(folder.len() + 1 + name.len());
    path.push(folder);
    path.push("/");
    path.push(name);
    path
}
