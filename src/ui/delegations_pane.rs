//! The reader's place among the children: what is selected, folded and filtered. Until somebody
//! scrolls, the newest live child is in view with all it does right now.

mod rows;

use std::collections::{HashMap, HashSet};

use ratatui::layout::Rect;

use crate::domain::report::Status;
use crate::story::{Delegations, Node, NodeId, NodeState, Story};

use super::child_lines::{self, Line, Shown};
use super::scroll::{self, Anchor, Items};
use super::wrap::Layout;
use rows::Rows;

/// Cells that a level of the tree is indented by, and that text is indented below its child.
pub const INDENT: usize = 2;
/// Deeper levels are indented no further.
const DEEPEST: usize = 4;

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
            (
                Self::Failed,
                NodeState::Queued { .. } | NodeState::AskedAbout | NodeState::Running,
            ) => false,
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

/// What of the list is in view.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// The newest child that runs or waits, or the newest of all.
    #[default]
    Live,
    /// The end, wherever that is by now.
    End,
    /// What somebody scrolled to.
    At(Anchor<NodeId>),
}

/// The reader's place.
#[derive(Debug, Default)]
pub struct DelegationsPane {
    place: Place,
    /// What is selected, once something is.
    selected: Option<Selected>,
    /// True if the user selected it, false if it is only where the pane starts.
    chosen: bool,
    /// Which children are shown.
    pub filter: Filter,
    folds: HashMap<NodeId, bool>,
    /// The first call that is shown of each child.
    from: HashMap<NodeId, usize>,
    /// Those of which all calls are shown.
    whole: HashSet<NodeId>,
    words: HashMap<NodeId, Layout>,
    reports: HashMap<NodeId, Layout>,
    page: Vec<Anchor<NodeId>>,
    /// True if there is something below the page.
    more: bool,
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
            self.more = false;
            return;
        }
        if self.width != usize::from(area.width) {
            self.width = area.width.into();
            self.words.clear();
            self.reports.clear();
        }
        self.words.retain(|id, _| story.delegations().get(*id).is_some_and(Node::is_live));
        if self.place == Place::End {
            self.select_end(story);
        }
        let height = self.height;
        let mut rows = Rows { pane: self, tree: story.delegations() };
        let mut page = rows.top().map_or(Vec::new(), |top| scroll::page(&mut rows, top, height));
        if page.len() < height
            && let Some(top) = scroll::last_page(&mut rows, height)
        {
            page = scroll::page(&mut rows, top, height);
        }
        let more = page.last().is_some_and(|last| {
            last.row + 1 < rows.height(last.item) || rows.after(last.item).is_some()
        });
        (self.page, self.more) = (page, more);
    }

    /// True if there is more text than is laid out so far.
    pub fn is_behind(&self) -> bool {
        self.behind
    }

    /// True if something is hidden below.
    pub fn has_more_below(&self) -> bool {
        self.more
    }

    /// The lines that are shown.
    pub fn page<'a>(&'a self, story: &'a Story) -> impl Iterator<Item = (&'a Node, Line)> {
        self.page.iter().filter_map(|anchor| {
            let node = story.delegations().get(anchor.item)?;
            Some((node, self.line(story.delegations(), node, anchor.row)?))
        })
    }

    /// How many calls of a child come before those that are shown.
    pub fn earlier_calls(&self, node: NodeId) -> usize {
        self.from.get(&node).copied().unwrap_or(0)
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
            | Line::State
            | Line::Runaway
            | Line::Gauge
            | Line::Gets
            | Line::Earlier
            | Line::Call(_)
            | Line::Tail(_)
            | Line::Changed
            | Line::Notice(_)
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

    /// Forgets a selection that nobody made.
    pub fn leave(&mut self) {
        if !self.chosen {
            self.selected = None;
        }
    }

    /// Moves the selection by this many lines that can be selected, up if negative. Past the end
    /// the end is followed again, past the start what is live.
    pub fn step(&mut self, story: &Story, steps: isize) {
        self.select_something(story);
        if self.place == Place::End {
            self.hold();
        }
        let down = steps > 0;
        for _ in 0..steps.unsigned_abs() {
            let Some(next) = self.neighbour(story, down) else {
                if down {
                    return self.to_end(story);
                }
                self.place = Place::Live;
                return;
            };
            self.selected = Some(next);
            self.chosen = true;
        }
        // Where a child's lines are looked at, they stay where they are.
        if self.selected.is_some_and(|selected| selected.line != Line::Header) {
            self.hold();
        }
        self.reveal(story, down);
    }

    /// Selects the first child and shows what is live from now on.
    pub fn to_start(&mut self, story: &Story) {
        self.selected = None;
        self.place = Place::Live;
        self.select_something(story);
    }

    /// Selects the last line, and stays at the end from now on.
    pub fn to_end(&mut self, story: &Story) {
        self.place = Place::End;
        self.chosen = true;
        self.select_end(story);
    }

    /// Shows all calls of the selected child.
    pub fn show_all_calls(&mut self, story: &Story) {
        let Some(Selected { node, .. }) = self.selected else { return };
        self.whole.insert(node);
        self.selected = Some(Selected { node, line: Line::Call(0) });
        self.chosen = true;
        self.hold();
        self.reveal(story, false);
    }

    /// Folds or unfolds the selected child; toggles if `open` is `None`.
    pub fn fold(&mut self, story: &Story, open: Option<bool>) {
        self.select_something(story);
        let Some(selected) = self.selected else { return };
        let Some(node) = story.delegations().get(selected.node) else { return };
        let open = open.unwrap_or(!self.is_open(story.delegations(), node));
        self.folds.insert(node.id, open);
        if !open {
            self.whole.remove(&node.id);
            self.selected = Some(Selected { node: node.id, line: Line::Header });
        }
    }

    /// Shows the next kind of children.
    pub fn next_filter(&mut self, story: &Story) -> Filter {
        self.filter = self.filter.next();
        self.place = Place::Live;
        self.select_something(story);
        self.filter
    }

    /// Cells that a row has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many rows a page has.
    pub fn height(&self) -> usize {
        self.height
    }

    /// What is in view stays, whatever is added.
    fn hold(&mut self) {
        match (self.place, self.page.first()) {
            (Place::Live | Place::End, Some(top)) => self.place = Place::At(*top),
            (Place::Live | Place::End, None) | (Place::At(_), _) => {}
        }
    }

    fn select_end(&mut self, story: &Story) {
        let tree = story.delegations();
        let mut rows = Rows { pane: self, tree };
        let Some(node) = rows.last().and_then(|last| tree.get(last)) else { return };
        let height = rows.height(node.id);
        let lines = (0..height).rev().filter_map(|row| rows.pane.line(tree, node, row));
        let last = lines.into_iter().find(|line| line.is_selectable());
        self.selected = last.map(|line| Selected { node: node.id, line });
    }

    fn neighbour(&mut self, story: &Story, down: bool) -> Option<Selected> {
        let selected = self.selected?;
        let tree = story.delegations();
        let mut rows = Rows { pane: self, tree };
        let mut node = tree.get(selected.node)?;
        rows.height(node.id);
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
                    if line.is_selectable() {
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
        self.place = if is_first { Place::Live } else { Place::At(top) };
    }

    fn line(&self, tree: &Delegations, node: &Node, row: usize) -> Option<Line> {
        let mut left = row;
        for (first, count) in child_lines::sections(node, self.shown(tree, node)) {
            if left < count {
                return Some(first.plus(left));
            }
            left -= count;
        }
        None
    }

    /// How a child is shown, as of its newest layout.
    fn shown(&self, tree: &Delegations, node: &Node) -> Shown {
        let height =
            |layouts: &HashMap<NodeId, Layout>| layouts.get(&node.id).map_or(0, Layout::height);
        Shown {
            open: self.is_open(tree, node),
            room: self.room(tree, node),
            from: self.from.get(&node.id).copied().unwrap_or(0),
            words: height(&self.words),
            report: height(&self.reports),
        }
    }

    /// Rows that a child should fit into.
    fn room(&self, tree: &Delegations, node: &Node) -> usize {
        if !node.is_live() {
            return self.height;
        }
        let running = tree.counts().running;
        child_lines::room(self.height, running, tree.nodes().len() - running)
    }

    /// The first call to show: the newest ones stay in view while the pane follows them, and what
    /// is looked at stays in view too.
    fn first_call(&self, tree: &Delegations, node: &Node) -> usize {
        if self.whole.contains(&node.id) {
            return 0;
        }
        let report = self.reports.get(&node.id).map_or(0, Layout::height);
        let newest = child_lines::newest_calls(node, self.room(tree, node), report);
        match (self.place, self.selected) {
            (Place::Live | Place::End, _) => newest,
            (Place::At(_), Some(Selected { node: id, line: Line::Call(call) }))
                if id == node.id =>
            {
                newest.min(call).min(self.from.get(&id).copied().unwrap_or(newest))
            }
            (Place::At(_), _) => self.from.get(&node.id).map_or(newest, |from| newest.min(*from)),
        }
    }

    /// Cells for a child's text.
    fn text_width(&self, depth: usize) -> usize {
        let indent = (depth.min(DEEPEST) + 2) * INDENT;
        self.width.saturating_sub(indent + 2).max(1)
    }
}

/// Cells that a child's header is indented by.
pub fn indent(depth: usize) -> usize {
    depth.min(DEEPEST) * INDENT
}
