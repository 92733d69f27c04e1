//! A page over the panes: the keys, the ledger, a call or a child in full. Which text it shows is
//! made by the views; here are its rows and the reader's place in it.

use ratatui::layout::Rect;

use crate::domain::event::Timestamp;
use crate::story::{Call, NodeId, Story};

use super::lang::Lang;
use super::layout::{Areas, Shape};
use super::long_text::{LongRow, LongText};
use super::paint::Tone;
use super::view::detail::PageFacts;
use super::view::{context, detail, help, permissions};
use super::wrap::{Layout, cells};

/// What a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// The keys and commands.
    Help,
    /// The budget of the session and of the running answer.
    Ledger,
    /// A call of the parent, by its entry.
    ParentCall(usize),
    /// A call of a child.
    ChildCall {
        /// Whose.
        node: NodeId,
        /// Which.
        index: usize,
    },
    /// A child.
    Child(NodeId),
    /// What may be done without asking, and how commands are fenced.
    Permissions,
    /// What tasks can be given by key.
    Context,
    /// What changed.
    Diff,
}

/// One paragraph of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paragraph {
    /// What stands before it; its lines hang behind.
    pub label: String,
    /// The text.
    pub text: String,
    /// How it looks.
    pub tone: Tone,
}

impl Paragraph {
    /// A heading.
    pub fn heading(text: impl Into<String>) -> Self {
        Self { label: String::new(), text: text.into(), tone: Tone::Strong }
    }

    /// A text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { label: String::new(), text: text.into(), tone: Tone::Plain }
    }

    /// A text behind its name.
    pub fn named(label: impl Into<String>, text: impl Into<String>) -> Self {
        Self { label: label.into(), text: text.into(), tone: Tone::Plain }
    }

    /// The same in another tone.
    #[must_use]
    pub fn toned(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    /// An empty line.
    pub fn gap() -> Self {
        Self::plain("")
    }
}

/// A page and the reader's place in it.
#[derive(Debug)]
pub struct Overlay {
    /// What it shows.
    pub page: Page,
    top: usize,
    area: Rect,
    paragraphs: Vec<(Paragraph, Layout)>,
    /// Cells before the text of named paragraphs.
    hang: usize,
    total: usize,
    /// What the rows were made of: they stay good for the same.
    made_of: Option<(u16, u64, bool)>,
    /// The text of a page that can be of any length.
    long: Option<LongText>,
}

/// One row of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageRow<'a> {
    /// The name, on a named paragraph's first row.
    pub label: &'a str,
    /// Cells before the text.
    pub indent: usize,
    /// The sign of a line of a diff.
    pub mark: &'a str,
    /// The text.
    pub text: &'a str,
    /// How it looks.
    pub tone: Tone,
}

impl<'a> From<LongRow<'a>> for PageRow<'a> {
    fn from(row: LongRow<'a>) -> Self {
        Self { label: "", indent: 0, mark: row.mark, text: row.text, tone: row.tone }
    }
}

impl Overlay {
    /// A page at its start.
    pub fn new(page: Page) -> Self {
        Self {
            page,
            top: 0,
            area: Rect::default(),
            paragraphs: Vec::new(),
            hang: 0,
            total: 0,
            made_of: None,
            long: None,
        }
    }

    /// A page of any length at its start.
    pub fn long(page: Page, text: LongText) -> Self {
        Self { long: Some(text), ..Self::new(page) }
    }

    /// The page's area, its border included.
    pub fn area(&self) -> Rect {
        self.area
    }

    /// Brings the text up to date.
    pub fn arrange(
        &mut self,
        story: &Story,
        facts: PageFacts<'_>,
        lang: Lang,
        areas: Areas,
        now: Timestamp,
    ) {
        self.area = page_area(areas);
        let width = self.area.width.saturating_sub(4);
        let height = self.height();
        if let Some(long) = &mut self.long {
            return long.arrange(width.into(), height);
        }
        let stamp = self.stamp(story, width);
        if stamp.is_none() || stamp != self.made_of {
            let paragraphs = match self.page {
                Page::Help => help::page(lang),
                Page::Ledger => detail::ledger(story, facts, lang, now),
                Page::Permissions => permissions::page(story, facts, lang),
                Page::Context => context::page(story.context(), lang),
                Page::Diff => Vec::new(),
                Page::ParentCall(_) | Page::ChildCall { .. } => {
                    self.call(story).map_or_else(Vec::new, |call| detail::call(call, lang))
                }
                Page::Child(id) => {
                    let node = story.delegations().get(id);
                    node.map_or_else(Vec::new, |node| detail::child(story, node, lang, now))
                }
            };
            self.lay_out(paragraphs, width.into());
            self.made_of = stamp;
        }
        self.top = self.top.min(self.total.saturating_sub(self.height()));
    }

    /// The rows that are shown.
    pub fn rows(&self) -> Vec<PageRow<'_>> {
        if let Some(long) = &self.long {
            return long.rows().map(PageRow::from).collect();
        }
        let mut skipped = self.top;
        let mut rows = Vec::new();
        for (paragraph, layout) in &self.paragraphs {
            let height = rows_of(layout);
            if skipped >= height {
                skipped -= height;
                continue;
            }
            let indent = self.indent(paragraph);
            for row in skipped..height {
                let label = if row == 0 { paragraph.label.as_str() } else { "" };
                rows.push(PageRow {
                    label,
                    indent,
                    mark: "",
                    text: layout.row(row),
                    tone: paragraph.tone,
                });
                if rows.len() == self.height() {
                    return rows;
                }
            }
            skipped = 0;
        }
        rows
    }

    /// Where the shown rows end, and how many there are.
    pub fn progress(&self) -> (usize, usize) {
        if let Some(long) = &self.long {
            return long.progress();
        }
        ((self.top + self.height()).min(self.total), self.total)
    }

    /// Scrolls by rows, up if negative.
    pub fn scroll(&mut self, rows: isize) {
        if let Some(long) = &mut self.long {
            return long.scroll(rows);
        }
        let last = self.total.saturating_sub(self.height());
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    /// Rows of a page.
    pub fn height(&self) -> usize {
        usize::from(self.area.height.saturating_sub(2)).max(1)
    }

    /// The call it shows.
    pub fn call<'a>(&self, story: &'a Story) -> Option<&'a Call> {
        match self.page {
            Page::ParentCall(entry) => story.entries().get(entry)?.call(),
            Page::ChildCall { node, index } => story.delegations().get(node)?.calls.get(index),
            Page::Help
            | Page::Ledger
            | Page::Child(_)
            | Page::Permissions
            | Page::Context
            | Page::Diff => None,
        }
    }

    /// The child it is about.
    pub fn node(&self) -> Option<NodeId> {
        match self.page {
            Page::Child(node) | Page::ChildCall { node, .. } => Some(node),
            Page::Help
            | Page::Ledger
            | Page::ParentCall(_)
            | Page::Permissions
            | Page::Context
            | Page::Diff => None,
        }
    }

    fn indent(&self, paragraph: &Paragraph) -> usize {
        if paragraph.label.is_empty() { 0 } else { self.hang }
    }

    /// A call's page can be long and changes only with its output; the others are short and age.
    fn stamp(&self, story: &Story, width: u16) -> Option<(u16, u64, bool)> {
        self.call(story).map(|call| (width, call.written, call.is_open()))
    }

    fn lay_out(&mut self, paragraphs: Vec<Paragraph>, width: usize) {
        let longest = paragraphs.iter().map(|paragraph| cells(&paragraph.label)).max().unwrap_or(0);
        self.hang = (longest + 2).min(width * 2 / 5);
        self.total = 0;
        self.paragraphs.clear();
        for paragraph in paragraphs {
            let room = width.saturating_sub(self.indent(&paragraph)).max(1);
            let layout = Layout::of(&paragraph.text, room);
            self.total += rows_of(&layout);
            self.paragraphs.push((paragraph, layout));
        }
    }
}

/// An empty paragraph is one blank row.
fn rows_of(layout: &Layout) -> usize {
    layout.height().max(1)
}

/// All but the top line: while a page is open, the keys are the page's, and no input is shown.
pub(super) fn page_area(areas: Areas) -> Rect {
    match areas.shape {
        Shape::TooSmall => Rect::default(),
        Shape::Bare => {
            let height = areas.footer.y.saturating_sub(areas.header.bottom());
            Rect { y: areas.header.bottom(), height, ..areas.screen }
        }
        Shape::Single | Shape::Stacked | Shape::Side => areas.frame,
    }
}
