//! The reader's place among the children: what is selected, folded and filtered, and which lines a
//! child has.

use std::collections::HashMap;

use ratatui::layout::Rect;

use crate::domain::report::Status;
use crate::story::{Delegations, Node, NodeId, NodeState, Story};

use super::scroll::{self, Anchor, Items};
use super::wrap::Layout;

/// Rows of a live child's newest words.
const WORDS: usize = 3;
/// Rows of a report; Enter shows all of it.
const REPORT: usize = 6;
/// Cells that a level of the tree is indented by, and that text is indented below its child.
pub const INDENT: usize = 2;
/// Deeper levels are indented no further.
const DEEPEST: usize = 4;

/// One line of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Role, task, state, time.
    Header,
    /// Its budget.
    Gauge,
    /// What it was given.
    Gets,
    /// Why it looks as if it would come to nothing.
    Runaway,
    /// A call.
    Call(usize),
    /// Something the runtime said about it.
    Notice(usize),
    /// A row of its newest words.
    Words(usize),
    /// What it is doing.
    State,
    /// A row of its report.
    Report(usize),
    /// What its report comes to.
    Tally,
}

/// Which children are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Filter {
    /// All.
    #[default]
    All,
    /// Those that have not ended.
    Live,
    /// Those that ended otherwise than completed.
    Failed,
}

impl Filter {
    fn next(self) -> Self {
        match self {
            Self::All => Self::Live,
            Self::Live => Self::Failed,
            Self::Failed => Self::All,
        }
    }

    fn shows(self, node: &Node) -> bool {
        match (self, &node.state) {
            (Self::All, _) => true,
            (Self::Live, _) => node.is_live(),
            (Self::Failed, NodeState::Ended(end)) => end.status != Status::Completed,
            (Self::Failed, NodeState::Queued { .. } | NodeState::Running) => false,
        }
    }
}

/// What is selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selected {
    /// The child.
    pub node: NodeId,
    /// Its header, or one of its calls.
    pub line: Line,
}

/// The reader's place.
#[derive(Debug, Default)]
pub struct DelegationsPane {
    /// The row at the top; `None` shows the newest child.
    top: Option<Anchor<NodeId>>,
    /// What is selected, once something is.
    selected: Option<Selected>,
    /// True if the user selected it, false if it is only where the pane starts.
    chosen: bool,
    /// Which children are shown.
    pub filter: Filter,
    folds: HashMap<NodeId, bool>,
    words: HashMap<NodeId, Layout>,
    reports: HashMap<NodeId, Layout>,
    page: Vec<Anchor<NodeId>>,
    width: usize,
    height: usize,
    /// True if a text came in faster than it is laid out.
    behind: bool,
}

impl DelegationsPane {
    /// Lays out what is visible.
    pub fn arrange(&mut self, story: &Story, area: Rect) {
        self.height = area.height.into();
        self.behind = false;
        if area.is_empty() {
            self.page.clear();
            return;
        }
        if self.width != usize::from(area.width) {
            self.width = area.width.into();
            self.words.clear();
            self.reports.clear();
        }
        self.words.retain(|id, _| story.delegations().get(*id).is_some_and(Node::is_live));
        let (height, wanted) = (self.height, self.top);
        let mut rows = Rows { pane: self, tree: story.delegations() };
        let top = match wanted.filter(|top| rows.shows(top.item)) {
            Some(top) => {
                let last = rows.height(top.item).saturating_sub(1);
                Some(Anchor { item: top.item, row: top.row.min(last) })
            }
            None => rows.first().map(|item| Anchor { item, row: 0 }),
        };
        let mut page = top.map_or(Vec::new(), |top| scroll::page(&mut rows, top, height));
        if page.len() < height
            && let Some(top) = scroll::last_page(&mut rows, height)
        {
            page = scroll::page(&mut rows, top, height);
        }
        self.page = page;
    }

    /// True if there is more text than is laid out so far.
    pub fn is_behind(&self) -> bool {
        self.behind
    }

    /// The lines that are shown.
    pub fn page<'a>(&'a self, story: &'a Story) -> impl Iterator<Item = (&'a Node, Line)> {
        self.page.iter().filter_map(|anchor| {
            let node = story.delegations().get(anchor.item)?;
            Some((node, self.line(story.delegations(), node, anchor.row)?))
        })
    }

    /// What is selected.
    pub fn selected(&self) -> Option<Selected> {
        self.selected
    }

    /// True if this child's lines are shown.
    pub fn is_open(&self, tree: &Delegations, node: &Node) -> bool {
        let by_itself = node.is_live() || tree.first() == Some(node.id);
        self.folds.get(&node.id).copied().unwrap_or(by_itself)
    }

    /// A row of a child's newest words or of its report.
    pub fn text(&self, node: NodeId, line: Line) -> &str {
        let (layouts, row) = match line {
            Line::Words(row) => (&self.words, row),
            Line::Report(row) => (&self.reports, row),
            Line::Header
            | Line::Gauge
            | Line::Gets
            | Line::Runaway
            | Line::Call(_)
            | Line::Notice(_)
            | Line::State
            | Line::Tally => return "",
        };
        layouts.get(&node).map_or("", |layout| layout.row(row))
    }

    /// Selects the newest child if nothing is selected, or what was selected is not shown.
    pub fn select_something(&mut self, story: &Story) {
        let rows = Rows { pane: self, tree: story.delegations() };
        let is_shown = rows.pane.selected.is_some_and(|selected| rows.shows(selected.node));
        if !is_shown {
            let first = rows.first();
            self.selected = first.map(|node| Selected { node, line: Line::Header });
            self.chosen = false;
        }
    }

    /// Selects this child.
    pub fn select(&mut self, story: &Story, node: NodeId) {
        self.selected = Some(Selected { node, line: Line::Header });
        self.chosen = true;
        self.reveal(story, false);
    }

    /// Forgets a selection that nobody made.
    pub fn leave(&mut self) {
        if !self.chosen {
            self.selected = None;
        }
    }

    /// Moves the selection by this many calls or children, up if negative.
    pub fn step(&mut self, story: &Story, steps: isize) {
        self.select_something(story);
        let down = steps > 0;
        for _ in 0..steps.unsigned_abs() {
            let Some(next) = self.neighbour(story, down) else { break };
            self.selected = Some(next);
            self.chosen = true;
        }
        self.reveal(story, down);
    }

    /// Selects the first child and shows the newest from now on.
    pub fn to_start(&mut self, story: &Story) {
        self.selected = None;
        self.top = None;
        self.select_something(story);
    }

    /// Selects the last line.
    pub fn to_end(&mut self, story: &Story) {
        let mut rows = Rows { pane: self, tree: story.delegations() };
        let Some(node) = rows.last() else { return };
        rows.height(node);
        self.chosen = true;
        self.selected = Some(Selected { node, line: Line::Header });
        while let Some(next) = self.neighbour(story, true) {
            self.selected = Some(next);
        }
        self.reveal(story, true);
    }

    /// Folds or unfolds the selected child; toggles if `open` is `None`.
    pub fn fold(&mut self, story: &Story, open: Option<bool>) {
        self.select_something(story);
        let Some(selected) = self.selected else { return };
        let Some(node) = story.delegations().get(selected.node) else { return };
        let open = open.unwrap_or(!self.is_open(story.delegations(), node));
        self.folds.insert(node.id, open);
        if !open {
            self.selected = Some(Selected { node: node.id, line: Line::Header });
        }
    }

    /// Shows the next kind of children.
    pub fn next_filter(&mut self, story: &Story) -> Filter {
        self.filter = self.filter.next();
        self.top = None;
        self.select_something(story);
        self.filter
    }

    /// How many rows a page has.
    pub fn height(&self) -> usize {
        self.height
    }

    fn neighbour(&mut self, story: &Story, down: bool) -> Option<Selected> {
        let selected = self.selected?;
        let tree = story.delegations();
        let mut rows = Rows { pane: self, tree };
        let mut node = tree.get(selected.node)?;
        let mut row = rows.row_of(node, selected.line);
        loop {
            row = if down {
                Some(row.map_or(0, |row| row + 1))
            } else {
                row.and_then(|row| row.checked_sub(1))
            };
            let height = rows.height(node.id);
            match row {
                Some(row) if row < height => {
                    let line = rows.pane.line(tree, node, row)?;
                    if is_selectable(line) {
                        return Some(Selected { node: node.id, line });
                    }
                }
                Some(_) => {
                    let next = rows.after(node.id)?;
                    return Some(Selected { node: next, line: Line::Header });
                }
                None => {
                    node = tree.get(rows.before(node.id)?)?;
                    row = Some(rows.height(node.id));
                }
            }
        }
    }

    /// Scrolls until the selection is in view: just in view, at the bottom if it moved down.
    fn reveal(&mut self, story: &Story, at_bottom: bool) {
        let Some(selected) = self.selected else { return };
        let height = self.height.max(1);
        let mut rows = Rows { pane: self, tree: story.delegations() };
        let Some(node) = rows.tree.get(selected.node) else { return };
        rows.height(node.id);
        let row = rows.row_of(node, selected.line).unwrap_or(0);
        let at = Anchor { item: node.id, row };
        let top = match (rows.pane.page.contains(&at), at_bottom) {
            (true, _) => return,
            (false, true) => scroll::up(&mut rows, at, height - 1),
            (false, false) => at,
        };
        let is_first = rows.first() == Some(top.item) && top.row == 0;
        self.top = (!is_first).then_some(top);
    }

    fn line(&self, tree: &Delegations, node: &Node, row: usize) -> Option<Line> {
        let mut left = row;
        for (line, count) in self.sections(tree, node) {
            if left < count {
                return Some(match line {
                    Line::Call(_) => Line::Call(left),
                    Line::Notice(_) => Line::Notice(left),
                    Line::Words(first) => Line::Words(first + left),
                    Line::Report(_) => Line::Report(left),
                    Line::Header
                    | Line::Gauge
                    | Line::Gets
                    | Line::Runaway
                    | Line::State
                    | Line::Tally => line,
                });
            }
            left -= count;
        }
        None
    }

    /// A child's kinds of lines in order, and how many there are of each.
    fn sections(&self, tree: &Delegations, node: &Node) -> [(Line, usize); 10] {
        let open = usize::from(self.is_open(tree, node));
        let live = usize::from(node.is_live());
        let has_run = usize::from(node.run.is_some());
        let words = self.words.get(&node.id).map_or(0, Layout::height);
        let report = self.reports.get(&node.id).map_or(0, Layout::height);
        [
            (Line::Header, 1),
            (Line::Gauge, open * has_run),
            (Line::Gets, open * has_run),
            (Line::Runaway, open * usize::from(node.runaway().is_some())),
            (Line::Call(0), open * node.calls.len()),
            (Line::Notice(0), open * node.notices.len()),
            (Line::Words(words.saturating_sub(WORDS)), open * live * words.min(WORDS)),
            (Line::State, open * live),
            (Line::Report(0), open * (1 - live) * report.min(REPORT)),
            (Line::Tally, open * (1 - live) * usize::from(node.report.is_some())),
        ]
    }

    /// Cells for a child's text.
    fn text_width(&self, depth: usize) -> usize {
        let indent = (depth.min(DEEPEST) + 2) * INDENT;
        self.width.saturating_sub(indent + 2).max(1)
    }
}

fn is_selectable(line: Line) -> bool {
    match line {
        Line::Header | Line::Call(_) => true,
        Line::Gauge
        | Line::Gets
        | Line::Runaway
        | Line::Notice(_)
        | Line::Words(_)
        | Line::State
        | Line::Report(_)
        | Line::Tally => false,
    }
}

/// Cells that a child's header is indented by.
pub fn indent(depth: usize) -> usize {
    depth.min(DEEPEST) * INDENT
}

struct Rows<'a> {
    pane: &'a mut DelegationsPane,
    tree: &'a Delegations,
}

impl Rows<'_> {
    fn shows(&self, id: NodeId) -> bool {
        self.tree.get(id).is_some_and(|node| self.pane.filter.shows(node))
    }

    fn row_of(&self, node: &Node, line: Line) -> Option<usize> {
        let mut before = 0;
        for (section, count) in self.pane.sections(self.tree, node) {
            match (section, line) {
                (Line::Header, Line::Header) => return Some(0),
                (Line::Call(_), Line::Call(index)) => {
                    return (index < count).then_some(before + index);
                }
                _ => before += count,
            }
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
        }
        self.pane.sections(self.tree, node).iter().map(|(_, count)| count).sum()
    }
}
