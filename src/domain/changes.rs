//! What became of files, as values: how one file was before and after, and the sum of many such
//! steps. Nothing is read here, and nobody is blamed; who changed what is the agent's matter.

use std::collections::BTreeMap;

use super::event::{Change, ChangedPath};
use super::hash::Sha;

/// What kind of thing a path was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A symbolic link; its content is its target.
    Link,
    /// A pipe, a socket, a device; it has no content.
    Special,
}

/// A file at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// What it was.
    pub kind: FileKind,
    /// Its permission bits, the lower twelve.
    pub mode: u16,
    /// Its size in bytes.
    pub bytes: u64,
    /// The hash of its content; `None` if it was not read.
    pub sha256: Option<Sha>,
}

impl FileState {
    /// True if it is certain that nothing differs.
    pub fn is_surely(&self, other: &Self) -> bool {
        let alike = self.kind == other.kind && self.mode == other.mode;
        let content = match (&self.sha256, &other.sha256) {
            (Some(mine), Some(theirs)) => mine == theirs,
            (None, None) => self.kind == FileKind::Special,
            (Some(_), None) | (None, Some(_)) => false,
        };
        alike && content
    }
}

/// A file that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// From the workspace's root.
    pub path: String,
    /// How it was; `None` if it was not there.
    pub before: Option<FileState>,
    /// How it is; `None` if it is not there any more.
    pub after: Option<FileState>,
}

impl Difference {
    /// In one word; `None` if nothing differs.
    pub fn change(&self) -> Option<Change> {
        change(self.before.as_ref(), self.after.as_ref())
    }

    /// For an event or a report; `None` if nothing differs.
    pub fn told(&self) -> Option<ChangedPath> {
        told(&self.path, self.before.as_ref(), self.after.as_ref())
    }
}

/// The sum of many steps: each path once, how it was before the first and after the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeList {
    paths: BTreeMap<String, Ends>,
}

/// How a file was before the first step and after the last.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ends {
    before: Option<FileState>,
    after: Option<FileState>,
}

impl ChangeList {
    /// Adds one step. What is added and then deleted, or changed and changed back, is no change.
    pub fn fold(&mut self, step: &Difference) {
        let before = match self.paths.get(&step.path) {
            Some(ends) => ends.before.clone(),
            None => step.before.clone(),
        };
        let ends = Ends { before, after: step.after.clone() };
        if change(ends.before.as_ref(), ends.after.as_ref()).is_some() {
            self.paths.insert(step.path.clone(), ends);
        } else {
            self.paths.remove(&step.path);
        }
    }

    /// True if nothing differs.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// How many paths differ.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// True if this path differs.
    pub fn contains(&self, path: &str) -> bool {
        self.paths.contains_key(path)
    }

    /// The paths in order.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.paths.keys().map(String::as_str)
    }

    /// The steps that lead from before to after, in the order of their paths.
    pub fn differences(&self) -> impl Iterator<Item = Difference> {
        self.paths.iter().map(|(path, ends)| Difference {
            path: path.clone(),
            before: ends.before.clone(),
            after: ends.after.clone(),
        })
    }

    /// The first `most` of them, for an event.
    pub fn told(&self, most: usize) -> Vec<ChangedPath> {
        let told =
            |(path, ends): (&String, &Ends)| told(path, ends.before.as_ref(), ends.after.as_ref());
        self.paths.iter().filter_map(told).take(most).collect()
    }
}

fn told(path: &str, before: Option<&FileState>, after: Option<&FileState>) -> Option<ChangedPath> {
    let sha256 = after.and_then(|state| state.sha256.clone());
    change(before, after).map(|change| ChangedPath { path: path.to_owned(), change, sha256 })
}

fn change(before: Option<&FileState>, after: Option<&FileState>) -> Option<Change> {
    match (before, after) {
        (None, None) => None,
        (None, Some(_)) => Some(Change::Added),
        (Some(_), None) => Some(Change::Deleted),
        (Some(before), Some(after)) => (!before.is_surely(after)).then_some(Change::Modified),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    fn file(text: &str) -> FileState {
        FileState {
            kind: FileKind::File,
            mode: 0o644,
            bytes: text.len() as u64,
            sha256: Some(Sha::of(text)),
        }
    }

    fn step(before: Option<&str>, after: Option<&str>) -> Difference {
        Difference { path: "a".to_owned(), before: before.map(file), after: after.map(file) }
    }

    #[test]
    fn steps_add_up() {
        use Change::{Added, Deleted, Modified};
        let table: [(&[Option<&str>], Option<Change>); 8] = [
            (&[None, Some("1")], Some(Added)),
            (&[None, Some("1"), None], None),
            (&[None, Some("1"), Some("2")], Some(Added)),
            (&[Some("1"), Some("2")], Some(Modified)),
            (&[Some("1"), Some("2"), Some("1")], None),
            (&[Some("1"), Some("2"), None], Some(Deleted)),
            (&[Some("1"), None, Some("1")], None),
            (&[Some("1"), None, Some("2")], Some(Modified)),
        ];
        for (states, right) in table {
            let mut list = ChangeList::default();
            for pair in states.windows(2) {
                list.fold(&step(pair[0], pair[1]));
            }
            let told: Vec<Change> = list.told(9).into_iter().map(|told| told.change).collect();
            assert_eq!(told.first().copied(), right, "{states:?}");
        }
    }

    #[test]
    fn another_mode_or_kind_is_a_change_and_unread_content_is_not_taken_for_equal() {
        let plain = file("1");
        let executable = FileState { mode: 0o755, ..plain.clone() };
        let link = FileState { kind: FileKind::Link, ..plain.clone() };
        let unread = FileState { sha256: None, ..plain.clone() };
        for other in [executable, link, unread.clone()] {
            assert!(!plain.is_surely(&other));
        }
        assert!(!unread.is_surely(&unread.clone()));
        let pipe = FileState { kind: FileKind::Special, ..unread };
        assert!(pipe.is_surely(&pipe.clone()));
    }

    proptest! {
        #[test]
        fn only_the_ends_count(texts in proptest::collection::vec(0_u8..4, 2..12)) {
            let name = |text: u8| (text > 0).then(|| text.to_string());
            let mut list = ChangeList::default();
            for pair in texts.windows(2) {
                list.fold(&step(name(pair[0]).as_deref(), name(pair[1]).as_deref()));
            }
            let (first, last) = (name(texts[0]), name(*texts.last().unwrap()));
            let direct = step(first.as_deref(), last.as_deref());
            prop_assert_eq!(list.told(9).pop(), direct.told());
        }
    }
}
