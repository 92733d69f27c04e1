//! The files that a run changed, folded: a file that was made and then edited was made, and one that
//! was made and then deleted did not change at all.

use std::collections::BTreeMap;

use crate::domain::event::{Change, ChangedPath};

/// Files by their path from the workspace's root, and how each differs from before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changed(BTreeMap<String, Change>);

impl Changed {
    /// The files in the order of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Change)> {
        self.0.iter().map(|(path, change)| (path.as_str(), *change))
    }

    /// How many files.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if every file is what it was.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn fold(&mut self, paths: &[ChangedPath]) {
        for ChangedPath { path, change, .. } in paths {
            match together(self.0.get(path).copied(), *change) {
                Some(change) => self.0.insert(path.clone(), change),
                None => self.0.remove(path),
            };
        }
    }
}

/// What an earlier change and a later one come to.
fn together(before: Option<Change>, now: Change) -> Option<Change> {
    match (before, now) {
        (None, now) => Some(now),
        (Some(Change::Added), Change::Deleted) => None,
        (Some(Change::Added), Change::Added | Change::Modified) => Some(Change::Added),
        (Some(Change::Modified | Change::Deleted), Change::Added | Change::Modified) => {
            Some(Change::Modified)
        }
        (Some(Change::Modified | Change::Deleted), Change::Deleted) => Some(Change::Deleted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Change::{Added, Deleted, Modified};

    fn folded(steps: &[Change]) -> Vec<Change> {
        let mut files = Changed::default();
        for change in steps {
            let path = "a".to_owned();
            files.fold(&[ChangedPath { path, change: *change, sha256: None }]);
        }
        files.iter().map(|(_, change)| change).collect()
    }

    #[test]
    fn what_came_and_went_did_not_change() {
        assert_eq!(folded(&[Added, Modified]), [Added]);
        assert_eq!(folded(&[Added, Modified, Deleted]), []);
        assert_eq!(folded(&[Deleted, Added]), [Modified]);
        assert_eq!(folded(&[Modified, Deleted]), [Deleted]);
    }
}
