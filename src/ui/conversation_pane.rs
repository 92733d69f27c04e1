//! The reader's place in the conversation, and the rows of its entries. The conversation follows
//! its end until somebody scrolls up, and again after End.

use std::collections::{HashMap, VecDeque};

use ratatui::layout::Rect;

use crate::story::{Body, Entry, Story};

use super::lang::Lang;
use super::scroll::{self, Anchor, Items};
use super::view::remark;
use super::wrap::Layout;

/// The marker's column, the sign's two, and one free column at the right.
pub const MARGIN: u16 = 4;
/// Layouts that are kept: far more than a screen shows.
const KEPT_LAYOUTS: usize = 2_000;

/// What an item of the conversation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// The first words.
    Intro,
    /// An entry of the story.
    Entry(usize),
    /// Something the user sent that is not in the history yet.
    Pending(usize),
    /// What the parent is doing.
    Activity,
}

/// The reader's place.
#[derive(Debug, Default)]
pub struct ConversationPane {
    /// The row at the top; `None` follows the end.
    top: Option<Anchor<usize>>,
    /// The call that Enter opens, if one was chosen.
    picked: Option<usize>,
    /// The rows that are shown.
    page: Vec<Anchor<usize>>,
    entries: usize,
    pending: usize,
    layouts: HashMap<usize, Layout>,
    width: usize,
    height: usize,
    /// True if a text came in faster than it is laid out.
    behind: bool,
    lang: Lang,
}

impl ConversationPane {
    /// At the end of a conversation that is shown in this language.
    pub fn new(lang: Lang) -> Self {
        Self { lang, ..Self::default() }
    }

    /// Lays out what is visible.
    pub fn arrange(&mut self, story: &Story, pending: &VecDeque<String>, intro: &str, area: Rect) {
        self.height = area.height.into();
        self.behind = false;
        self.entries = story.entries().len();
        self.pending = pending.len();
        if area.is_empty() {
            self.page.clear();
            return;
        }
        self.resize(area.width.saturating_sub(MARGIN).max(1).into(), story, pending, intro);
        let height = self.height;
        let wanted = self.top;
        let mut items = Rows { pane: self, story, pending, intro };
        let end = scroll::last_page(&mut items, height);
        let top = match wanted {
            // Where the end has come into view there is nothing below to hide.
            Some(top) => Some(clamp(&mut items, top)),
            None => end,
        };
        let top = top.filter(|top| scroll::page(&mut items, *top, height).len() == height).or(end);
        self.page = match top {
            Some(top) => {
                let mut items = Rows { pane: self, story, pending, intro };
                scroll::page(&mut items, top, height)
            }
            None => Vec::new(),
        };
    }

    /// True if there is more text than is laid out so far.
    pub fn is_behind(&self) -> bool {
        self.behind
    }

    /// The rows that are shown, each an item and a row of it.
    pub fn page(&self) -> impl Iterator<Item = (Item, usize)> {
        self.page.iter().map(|anchor| (self.item(anchor.item), anchor.row))
    }

    /// True if something is hidden below.
    pub fn is_reading_back(&self) -> bool {
        self.top.is_some()
    }

    /// The row's text, without its sign.
    pub fn text(&self, item: Item, row: usize) -> &str {
        self.layouts.get(&self.key(item)).map_or("", |layout| layout.row(row))
    }

    /// The entry that Enter opens: the chosen one if it is in view, else the last call in view.
    pub fn picked(&self, story: &Story) -> Option<usize> {
        let in_view = |index: &usize| self.shows(*index);
        self.picked.filter(in_view).or_else(|| self.calls_in_view(story).next_back())
    }

    /// Chooses the call before or after.
    pub fn pick(&mut self, story: &Story, forward: bool) {
        let current = self.picked(story);
        let calls: Vec<usize> = self.calls_in_view(story).collect();
        let at = calls.iter().position(|call| Some(*call) == current);
        let next = match at {
            Some(at) if forward => calls.get(at + 1),
            Some(at) => at.checked_sub(1).and_then(|at| calls.get(at)),
            None => calls.last(),
        };
        self.picked = next.copied().or(current);
    }

    /// Scrolls by rows, up if negative. Needs [`Self::arrange`] before and after.
    pub fn scroll(&mut self, story: &Story, pending: &VecDeque<String>, intro: &str, rows: isize) {
        let Some(top) = self.page.first().copied() else { return };
        let height = self.height;
        let mut items = Rows { pane: self, story, pending, intro };
        let to = if rows < 0 {
            scroll::up(&mut items, top, rows.unsigned_abs())
        } else {
            scroll::down(&mut items, top, rows.unsigned_abs())
        };
        let follows = rows > 0 && scroll::page(&mut items, to, height + 1).len() <= height;
        if follows {
            self.top = None;
        } else if to != top {
            self.top = Some(to);
        }
    }

    /// To the first row.
    pub fn to_start(&mut self) {
        self.top = Some(Anchor { item: 0, row: 0 });
    }

    /// To the end, and follow it.
    pub fn follow(&mut self) {
        self.top = None;
    }

    /// How many rows a page has.
    pub fn height(&self) -> usize {
        self.height
    }

    /// How many texts are laid out: what a frame cost is bounded by.
    pub fn laid_out(&self) -> usize {
        self.layouts.len()
    }

    /// A layout depends on the width; the place of the reader does not.
    fn resize(&mut self, width: usize, story: &Story, pending: &VecDeque<String>, intro: &str) {
        if self.width == width && self.layouts.len() <= KEPT_LAYOUTS {
            return;
        }
        let place = self.top.and_then(|top| {
            let gap = gap(story, self.item(top.item));
            let layout = self.layouts.get(&top.item)?;
            Some((top.item, gap, layout.offset_of(top.row.saturating_sub(gap))))
        });
        self.layouts.clear();
        self.width = width;
        if let Some((item, gap, offset)) = place {
            let mut items = Rows { pane: self, story, pending, intro };
            items.height(item);
            let row = self.layouts.get(&item).map_or(0, |layout| layout.row_of(offset));
            self.top = Some(Anchor { item, row: row + gap });
        }
    }

    fn item(&self, key: usize) -> Item {
        match key {
            0 => Item::Intro,
            key if key <= self.entries => Item::Entry(key - 1),
            key if key <= self.entries + self.pending => Item::Pending(key - 1 - self.entries),
            _ => Item::Activity,
        }
    }

    fn key(&self, item: Item) -> usize {
        match item {
            Item::Intro => 0,
            Item::Entry(index) => index + 1,
            Item::Pending(index) => index + 1 + self.entries,
            Item::Activity => 1 + self.entries + self.pending,
        }
    }

    fn shows(&self, entry: usize) -> bool {
        self.page.iter().any(|anchor| anchor.item == entry + 1)
    }

    fn calls_in_view(&self, story: &Story) -> impl DoubleEndedIterator<Item = usize> {
        let mut shown: Vec<usize> = self
            .page()
            .filter_map(|(item, _)| match item {
                Item::Entry(index) => Some(index),
                Item::Intro | Item::Pending(_) | Item::Activity => None,
            })
            .filter(|index| {
                matches!(story.entries().get(*index), Some(Entry { body: Body::Call(_), .. }))
            })
            .collect();
        shown.dedup();
        shown.into_iter()
    }
}

fn clamp(items: &mut Rows<'_>, at: Anchor<usize>) -> Anchor<usize> {
    let last = items.last().unwrap_or(0);
    let item = at.item.min(last);
    let height = items.height(item);
    Anchor { item, row: at.row.min(height.saturating_sub(1)) }
}

/// Blank rows above an item, so that what belongs together stands together.
pub fn gap(story: &Story, item: Item) -> usize {
    let index = match item {
        Item::Intro => return 0,
        Item::Pending(_) | Item::Activity => return 1,
        Item::Entry(index) => index,
    };
    let body = |index: usize| story.entries().get(index).map(|entry| &entry.body);
    let before = index.checked_sub(1).and_then(body);
    let stands_alone = matches!(before, Some(Body::User { .. }) | None);
    match body(index) {
        Some(Body::Call(call)) if call.is_own() => 1,
        Some(Body::Call(_) | Body::Notice(_) | Body::Changed(_) | Body::Ended(_)) => {
            usize::from(stands_alone)
        }
        Some(Body::User { .. } | Body::Assistant(_)) => 1,
        None => 0,
    }
}

struct Rows<'a> {
    pane: &'a mut ConversationPane,
    story: &'a Story,
    pending: &'a VecDeque<String>,
    intro: &'a str,
}

impl Rows<'_> {
    fn wrapped(&mut self, key: usize, text: &str, version: u32) -> usize {
        let layout = self.pane.layouts.entry(key).or_default();
        layout.update(text, version, self.pane.width);
        self.pane.behind |= layout.is_behind(text);
        layout.height()
    }
}

impl Items for Rows<'_> {
    type Key = usize;

    fn first(&self) -> Option<usize> {
        Some(0)
    }

    fn last(&self) -> Option<usize> {
        let activity = usize::from(self.story.is_running());
        Some(self.pane.entries + self.pane.pending + activity)
    }

    fn after(&self, key: usize) -> Option<usize> {
        (Some(key) < self.last()).then_some(key + 1)
    }

    fn before(&self, key: usize) -> Option<usize> {
        key.checked_sub(1)
    }

    fn height(&mut self, key: usize) -> usize {
        let item = self.pane.item(key);
        let rows = match item {
            Item::Intro => self.wrapped(key, self.intro, 0),
            Item::Entry(index) => match self.story.entries().get(index) {
                Some(Entry { body: Body::Notice(notice), version, .. }) => {
                    self.wrapped(key, &remark::notice(notice, self.pane.lang), *version)
                }
                Some(entry) => match entry.text() {
                    Some(text) => self.wrapped(key, text, entry.version),
                    // What a running command writes stands under its call.
                    None => 1 + entry.call().map_or(0, |call| call.tail().len()),
                },
                None => 0,
            },
            Item::Pending(index) => {
                // A pending text takes the key that an entry will have: it is never kept.
                self.pane.layouts.remove(&key);
                let text = self.pending.get(index).map_or("", String::as_str);
                self.wrapped(key, text, u32::MAX)
            }
            Item::Activity => 1,
        };
        if rows == 0 { 0 } else { rows + gap(self.story, item) }
    }
}
