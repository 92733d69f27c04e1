//! The children as one list of rows: what scrolling walks through, and where it starts.

use crate::story::{Delegations, Node, NodeId};

use super::super::child_lines::{self, Line};
use super::super::scroll::{self, Anchor, Items};
use super::{DelegationsPane, Place};

/// All rows, of which a layout is made where one is looked at.
pub(super) struct Rows<'a> {
    pub(super) pane: &'a mut DelegationsPane,
    pub(super) tree: &'a Delegations,
}

impl Rows<'_> {
    /// True if the filter lets a child through.
    pub(super) fn shows(&self, id: NodeId) -> bool {
        self.tree.get(id).is_some_and(|node| self.pane.filter.shows(node))
    }

    /// The row at the top of the page.
    pub(super) fn top(&mut self) -> Option<Anchor<NodeId>> {
        let height = self.pane.height;
        match self.pane.place {
            Place::At(top) if self.shows(top.item) => {
                let last = self.height(top.item).saturating_sub(1);
                Some(Anchor { item: top.item, row: top.row.min(last) })
            }
            Place::End => scroll::last_page(self, height),
            Place::At(_) | Place::Live => self.live_top(height),
        }
    }

    /// From the newest child on, as long as the newest one that runs is in view to its last row.
    fn live_top(&mut self, height: usize) -> Option<Anchor<NodeId>> {
        let first = Anchor { item: self.first()?, row: 0 };
        let shown = |node: &&Node| self.shows(node.id);
        let running = self.tree.live().filter(shown).rfind(|node| !node.is_queued());
        let live = running.or_else(|| self.tree.live().rfind(shown)).map(|node| node.id);
        let Some(live) = live else { return Some(first) };
        let end = Anchor { item: live, row: self.height(live).saturating_sub(1) };
        if scroll::page(self, first, height).contains(&end) {
            return Some(first);
        }
        Some(scroll::up(self, end, height.saturating_sub(1)))
    }

    /// The row of a line, if it is shown.
    pub(super) fn row_of(&self, node: &Node, line: Line) -> Option<usize> {
        let mut before = 0;
        for (first, count) in child_lines::sections(node, self.pane.shown(self.tree, node)) {
            if let Some(row) = (0..count).find(|row| first.plus(*row) == line) {
                return Some(before + row);
            }
            before += count;
        }
        None
    }
}

impl Items for Rows<'_> {
    type Key = NodeId;

    fn first(&self) -> Option<NodeId> {
        let first = self.tree.first()?;
        if self.shows(first) { Some(first) } else { self.after(first) }
    }

    fn last(&self) -> Option<NodeId> {
        let last = self.tree.last()?;
        if self.shows(last) { Some(last) } else { self.before(last) }
    }

    fn after(&self, key: NodeId) -> Option<NodeId> {
        let mut next = self.tree.after(key)?;
        while !self.shows(next) {
            next = self.tree.after(next)?;
        }
        Some(next)
    }

    fn before(&self, key: NodeId) -> Option<NodeId> {
        let mut next = self.tree.before(key)?;
        while !self.shows(next) {
            next = self.tree.before(next)?;
        }
        Some(next)
    }

    fn height(&mut self, key: NodeId) -> usize {
        let Some(node) = self.tree.get(key) else { return 0 };
        if self.pane.is_open(self.tree, node) {
            let width = self.pane.text_width(self.tree.depth(key));
            if node.is_live() {
                let words = self.pane.words.entry(key).or_default();
                words.update(&node.text, node.text_version, width);
                self.pane.behind |= words.is_behind(&node.text);
            } else if let Some(report) = &node.report {
                let layout = self.pane.reports.entry(key).or_default();
                layout.update(&report.summary, 0, width);
            }
            let from = self.pane.first_call(self.tree, node);
            self.pane.from.insert(key, from);
        }
        let shown = self.pane.shown(self.tree, node);
        child_lines::sections(node, shown).iter().map(|(_, count)| count).sum()
    }
}
