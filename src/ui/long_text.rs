//! Texts of any length, of which only what is visible is laid out: a diff, a command, what a project
//! brought along. Where lines begin is found once; everything else costs what a screen shows.

use std::collections::HashMap;

use super::paint::Tone;
use super::scroll::{self, Anchor, Items};
use super::wrap::Layout;
use crate::sanitize;

/// Bytes of one line that are laid out together; a longer line is laid out in pieces.
const PIECE: usize = 2_048;
/// Layouts that are kept: more than a screen shows.
const KEPT: usize = 1_000;
/// What stands before the further rows of a line of a diff, where its sign would be.
const GOES_ON: &str = "┆";

/// What a part of the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Running text.
    Plain,
    /// A title.
    Heading,
    /// A unified diff.
    Diff,
    /// A line of its own meaning.
    Toned(Tone),
}

/// One piece of a line.
#[derive(Debug)]
struct Piece {
    part: usize,
    start: usize,
    end: usize,
    tone: Tone,
    /// The sign of a line of a diff, or what stands for it; empty outside of a diff.
    mark: &'static str,
}

/// One row that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongRow<'a> {
    /// What stands before it: the sign of a line of a diff.
    pub mark: &'a str,
    /// The text.
    pub text: &'a str,
    /// How it looks.
    pub tone: Tone,
}

/// A text and the reader's place in it.
#[derive(Debug, Default)]
pub struct LongText {
    parts: Vec<String>,
    pieces: Vec<Piece>,
    layouts: HashMap<usize, Layout>,
    width: usize,
    height: usize,
    page: Vec<Anchor<usize>>,
}

impl LongText {
    /// A text of one kind.
    pub fn of(text: &str, kind: Kind) -> Self {
        let mut long = Self::default();
        long.add(text, kind);
        long
    }

    /// Adds a part at the end.
    pub fn add(&mut self, text: &str, kind: Kind) {
        let part = self.parts.len();
        let mut hunk = Hunk::default();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let bare = line.strip_suffix('\n').unwrap_or(line);
            let bare = bare.strip_suffix('\r').filter(|_| kind != Kind::Diff).unwrap_or(bare);
            let (tone, mark) = match kind {
                Kind::Plain => (Tone::Plain, ""),
                Kind::Heading => (Tone::Strong, ""),
                Kind::Toned(tone) => (tone, ""),
                Kind::Diff => hunk.line(bare),
            };
            let sign = if matches!(mark, "+" | "-" | " ") { bare.len().min(1) } else { 0 };
            self.add_line(text, part, (start + sign, start + bare.len()), (tone, mark));
            start += line.len();
        }
        self.parts.push(text.to_owned());
    }

    fn add_line(
        &mut self,
        text: &str,
        part: usize,
        (mut start, end): (usize, usize),
        (tone, mark): (Tone, &'static str),
    ) {
        let mut mark = mark;
        loop {
            let cut =
                if end - start > PIECE { text.floor_char_boundary(start + PIECE) } else { end };
            self.pieces.push(Piece { part, start, end: cut, tone, mark });
            if cut == end {
                return;
            }
            start = cut;
            mark = if mark.is_empty() { "" } else { GOES_ON };
        }
    }

    /// Takes another text in the place of this one, as nearly as it goes from the same line on.
    pub fn rewrite(&mut self, text: Self) {
        let Self { width, height, page, .. } = std::mem::take(self);
        *self = Self { width, height, page, ..text };
        if width > 0 {
            self.arrange(width, height);
        }
    }

    /// Scrolls no further than needed to show this line.
    pub fn reveal(&mut self, line: usize) {
        let Some(top) = self.page.first().map(|top| top.item) else { return };
        if line < top {
            self.show(Anchor { item: line, row: 0 });
        }
        for _ in 0..self.pieces.len() {
            let (_, ended) = self.shown_lines();
            if line < ended || self.lines_below() == 0 {
                return;
            }
            self.scroll(1);
        }
    }

    /// Brings what is visible up to date.
    pub fn arrange(&mut self, width: usize, height: usize) {
        let width = width.max(1);
        if self.width != width || self.layouts.len() > KEPT {
            self.layouts.clear();
            self.width = width;
        }
        self.height = height.max(1);
        let top = self.page.first().copied().unwrap_or(Anchor { item: 0, row: 0 });
        self.show(top);
    }

    /// Rows that it takes, counted up to this many.
    pub fn rows_up_to(&mut self, width: usize, most: usize) -> usize {
        self.arrange(width, self.height);
        if self.pieces.is_empty() {
            return 0;
        }
        scroll::page(self, Anchor { item: 0, row: 0 }, most).len()
    }

    /// Scrolls by rows, up if negative. Needs [`Self::arrange`] before.
    pub fn scroll(&mut self, rows: isize) {
        let Some(top) = self.page.first().copied() else { return };
        let far = rows.unsigned_abs() >= self.pieces.len().saturating_mul(2).max(1_000_000);
        let to = match rows {
            0.. if far => self.last_top(),
            _ if far => Anchor { item: 0, row: 0 },
            0.. => scroll::down(self, top, rows.unsigned_abs()),
            _ => scroll::up(self, top, rows.unsigned_abs()),
        };
        self.show(to);
    }

    /// How many rows a page has.
    pub fn page_height(&self) -> usize {
        self.height
    }

    /// The rows that are shown.
    pub fn rows(&self) -> impl Iterator<Item = LongRow<'_>> {
        self.page.iter().filter_map(|at| {
            let piece = self.pieces.get(at.item)?;
            let mark = match (piece.mark, at.row) {
                ("", _) => "",
                (mark, 0) => mark,
                _ => GOES_ON,
            };
            let text = self.layouts.get(&at.item).map_or("", |layout| layout.row(at.row));
            Some(LongRow { mark, text, tone: piece.tone })
        })
    }

    /// Lines that begin below what is shown.
    pub fn lines_below(&self) -> usize {
        let Some(last) = self.page.last() else { return 0 };
        let hidden =
            self.layouts.get(&last.item).map_or(0, |layout| rows_of(layout) - 1 - last.row);
        self.pieces.len() - 1 - last.item + usize::from(hidden > 0)
    }

    /// The line that the shown rows begin in, and how many lines end within or above them.
    pub fn shown_lines(&self) -> (usize, usize) {
        let first = self.page.first().map_or(0, |top| top.item);
        (first, self.pieces.len() - self.lines_below().min(self.pieces.len()))
    }

    /// How many lines there are.
    pub fn line_count(&self) -> usize {
        self.pieces.len()
    }

    /// The number of the last line that is shown, and of all lines.
    pub fn progress(&self) -> (usize, usize) {
        (self.page.last().map_or(0, |last| last.item + 1), self.pieces.len())
    }

    /// How many pieces are laid out: what a frame cost is bounded by.
    pub fn laid_out(&self) -> usize {
        self.layouts.len()
    }

    /// Shows the page from here on, or the last page that is full.
    fn show(&mut self, top: Anchor<usize>) {
        if self.pieces.is_empty() {
            self.page.clear();
            return;
        }
        let item = top.item.min(self.pieces.len() - 1);
        let row = top.row.min(self.height_of(item).saturating_sub(1));
        let height = self.height;
        let mut page = scroll::page(self, Anchor { item, row }, height);
        if page.len() < height {
            let top = self.last_top();
            page = scroll::page(self, top, height);
        }
        self.page = page;
    }

    fn last_top(&mut self) -> Anchor<usize> {
        let height = self.height;
        scroll::last_page(self, height).unwrap_or(Anchor { item: 0, row: 0 })
    }

    fn height_of(&mut self, item: usize) -> usize {
        let Some(piece) = self.pieces.get(item) else { return 0 };
        let room = self.width.saturating_sub(usize::from(!piece.mark.is_empty())).max(1);
        let text = &self.parts[piece.part][piece.start..piece.end];
        let layout =
            self.layouts.entry(item).or_insert_with(|| Layout::of(&sanitize::reveal(text), room));
        rows_of(layout)
    }
}

impl Items for LongText {
    type Key = usize;

    fn first(&self) -> Option<usize> {
        (!self.pieces.is_empty()).then_some(0)
    }

    fn last(&self) -> Option<usize> {
        self.pieces.len().checked_sub(1)
    }

    fn after(&self, key: usize) -> Option<usize> {
        (key + 1 < self.pieces.len()).then_some(key + 1)
    }

    fn before(&self, key: usize) -> Option<usize> {
        key.checked_sub(1)
    }

    fn height(&mut self, key: usize) -> usize {
        self.height_of(key)
    }
}

/// An empty line is one blank row.
fn rows_of(layout: &Layout) -> usize {
    layout.height().max(1)
}

/// How many lines of the old and the new file are still to come in a diff's hunk: a line that was
/// added may look like a header, and only counting tells.
#[derive(Debug, Default)]
struct Hunk {
    old: u64,
    new: u64,
}

impl Hunk {
    fn line(&mut self, line: &str) -> (Tone, &'static str) {
        match line.as_bytes().first() {
            Some(b'+') if self.new > 0 => {
                self.new -= 1;
                (Tone::Good, "+")
            }
            Some(b'-') if self.old > 0 => {
                self.old -= 1;
                (Tone::Bad, "-")
            }
            Some(b' ') | None if self.old > 0 || self.new > 0 => {
                self.old = self.old.saturating_sub(1);
                self.new = self.new.saturating_sub(1);
                (Tone::Plain, " ")
            }
            Some(b'@') => {
                *self = Self::of(line).unwrap_or_default();
                (Tone::Child, "·")
            }
            Some(b'\\') => (Tone::Quiet, "·"),
            Some(_) | None => (Tone::Strong, "·"),
        }
    }

    /// Reads `@@ -1,4 +1,6 @@`.
    fn of(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("@@ ")?.split(' ');
        let count = |word: &str| match word.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => Some(1),
        };
        let old = count(words.next()?.strip_prefix('-')?)?;
        let new = count(words.next()?.strip_prefix('+')?)?;
        Some(Self { old, new })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Tone::{Bad, Child, Good, Plain, Strong};

    fn shown(long: &LongText) -> Vec<String> {
        long.rows().map(|row| format!("{}{}", row.mark, row.text)).collect()
    }

    #[test]
    fn an_added_line_that_looks_like_a_header_is_an_added_line() {
        let diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n same\n--- old\n+++ new\n";
        let mut long = LongText::of(diff, Kind::Diff);
        long.arrange(40, 9);
        let tones: Vec<Tone> = long.rows().map(|row| row.tone).collect();
        assert_eq!(tones, [Strong, Strong, Child, Plain, Bad, Good]);
        assert_eq!(shown(&long)[4..], ["--- old", "+++ new"]);
    }

    #[test]
    fn a_long_line_of_a_diff_is_marked_on_every_row() {
        let mut long = LongText::of("@@ -0,0 +1 @@\n+abcdefgh", Kind::Diff);
        long.arrange(5, 9);
        assert_eq!(shown(&long)[4..], ["+abcd", "┆efgh"]);
    }

    #[test]
    fn only_what_is_visible_is_laid_out_wherever_it_is() {
        let line = format!("{}\n", "x".repeat(100));
        for text in [line.repeat(50_000), "y".repeat(5_000_000)] {
            let mut long = LongText::of(&text, Kind::Plain);
            long.arrange(80, 20);
            assert!(long.laid_out() <= 22, "{}", long.laid_out());
            long.scroll(isize::MAX);
            assert_eq!((long.rows().count(), long.lines_below()), (20, 0));
            long.scroll(-isize::MAX);
            assert_eq!(long.page.first().map(|top| (top.item, top.row)), Some((0, 0)));
            assert!(long.laid_out() <= 60, "{}", long.laid_out());
        }
    }

    #[test]
    fn an_empty_text_has_no_rows() {
        let mut long = LongText::of("", Kind::Diff);
        long.arrange(10, 3);
        long.scroll(5);
        assert_eq!((long.rows().count(), long.lines_below(), long.progress()), (0, 0, (0, 0)));
    }
}
