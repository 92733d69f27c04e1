//! Text into rows of cells. A row never splits a grapheme; a wide one that does not fit goes to the
//! next row. Widths are those that the buffer uses, so that what is measured is what is painted.
//!
//! A [`Layout`] is kept per text and width: what streams in re-wraps only the newest row.

use std::ops::Range;

use ratatui::buffer::CellWidth;
use unicode_segmentation::UnicodeSegmentation;

use crate::sanitize;

/// Cells that a grapheme or a clean text takes.
pub fn cells(clean: &str) -> usize {
    clean.graphemes(true).map(grapheme_cells).sum()
}

/// The longest prefix of a clean text that fits into this many cells.
pub fn fit(clean: &str, width: usize) -> &str {
    // ASCII is one cell a byte: the usual case costs nothing.
    if clean.len() <= width && clean.is_ascii() {
        return clean;
    }
    let mut used = 0;
    for (at, grapheme) in clean.grapheme_indices(true) {
        used += grapheme_cells(grapheme);
        if used > width {
            return &clean[..at];
        }
    }
    clean
}

/// A text cut to this many cells, the last of them `…` if anything was left out.
pub fn ellipsis(clean: &str, width: usize) -> String {
    let whole = fit(clean, width);
    if whole.len() == clean.len() {
        return clean.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    format!("{}…", fit(clean, width - 1).trim_end())
}

/// Bytes of new text that one update takes in: a flood of words must not hold up a frame.
const SLICE: usize = 128 * 1024;

/// Rows of one text at one width.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    width: usize,
    version: u32,
    clean: String,
    rows: Vec<Range<usize>>,
    /// Rows up to the last one that is not blank.
    shown: usize,
    source_len: usize,
    /// How much of the source can no longer change what it became, and how much clean text that is.
    settled: (usize, usize),
}

impl Layout {
    /// The rows of a text at a width of at least one cell.
    pub fn of(source: &str, width: usize) -> Self {
        let mut layout = Self::default();
        layout.update(source, 0, width);
        layout
    }

    /// Brings it up to date. Of a text that only grew (same `version`), only what is new is looked
    /// at, at most [`SLICE`] of it, and the newest row is wrapped again.
    pub fn update(&mut self, source: &str, version: u32, width: usize) {
        let width = width.max(1);
        let same = self.width == width && self.version == version && !self.rows.is_empty();
        if same && self.source_len == source.len() {
            return;
        }
        let grew = same && source.is_char_boundary(self.settled.0);
        if grew && self.source_len <= source.len() {
            let end = source.floor_char_boundary(self.source_len + SLICE);
            self.extend(&source[..end]);
        } else {
            *self = Self { width, version, ..Self::default() };
            self.extend(source);
        }
    }

    /// True if it has not taken in all of this text.
    pub fn is_behind(&self, source: &str) -> bool {
        self.source_len < source.len()
    }

    /// How many rows there are to show: blank ones at the end are not.
    pub fn height(&self) -> usize {
        self.shown
    }

    /// One row's text without the blanks at its end; empty beyond the last row.
    pub fn row(&self, index: usize) -> &str {
        self.rows.get(index).map_or("", |row| self.clean[row.clone()].trim_end_matches(' '))
    }

    /// Where a row begins, in bytes of the clean text: the same place at every width.
    pub fn offset_of(&self, row: usize) -> usize {
        self.rows.get(row).map_or(self.clean.len(), |row| row.start)
    }

    /// The row that holds this place.
    pub fn row_of(&self, offset: usize) -> usize {
        self.rows.partition_point(|row| row.start <= offset).saturating_sub(1)
    }

    fn extend(&mut self, source: &str) {
        let start = self.reopen();
        self.clean.truncate(self.settled.1);
        let settles = source.trim_end_matches(sanitize::is_provisional).len().max(self.settled.0);
        sanitize::append(&mut self.clean, &source[self.settled.0..settles]);
        self.settled = (settles, self.clean.len());
        sanitize::append(&mut self.clean, &source[settles..]);
        self.source_len = source.len();
        let kept = self.rows.len();
        self.wrap_from(start);
        self.count_shown(kept);
    }

    /// Blank rows at the end are counted once, however many there are.
    fn count_shown(&mut self, kept: usize) {
        let is_blank = |row: &Range<usize>| self.clean[row.clone()].trim().is_empty();
        let known = self.shown.min(kept);
        let last = self.rows[known..].iter().rposition(|row| !is_blank(row));
        self.shown = match last {
            Some(last) => known + last + 1,
            None if known == self.shown => known,
            None => {
                self.rows[..known].iter().rposition(|row| !is_blank(row)).map_or(0, |at| at + 1)
            }
        };
    }

    /// Takes back the newest row, and rows of text that may become another; gives back where to
    /// wrap on.
    fn reopen(&mut self) -> usize {
        // What was not settled may have pushed the word before it into a row of its own.
        let mut more = usize::from(self.clean.len() > self.settled.1);
        let mut start = 0;
        while let Some(row) = self.rows.pop() {
            start = row.start;
            // An empty row says that the text ended at a boundary, which a mark could move.
            let is_settled = row.start < self.settled.1 || row.start == 0;
            if is_settled && more == 0 {
                break;
            }
            more -= usize::from(is_settled);
        }
        start.min(self.settled.1)
    }

    fn wrap_from(&mut self, mut start: usize) {
        while let Some(end) = self.clean[start..].find('\n') {
            wrap_line(&self.clean, start..start + end, self.width, &mut self.rows);
            start += end + 1;
        }
        wrap_line(&self.clean, start..self.clean.len(), self.width, &mut self.rows);
    }
}

fn wrap_line(clean: &str, line: Range<usize>, width: usize, rows: &mut Vec<Range<usize>>) {
    let bytes = &clean.as_bytes()[line.clone()];
    if bytes.iter().all(|byte| matches!(byte, b' '..=b'~')) {
        wrap_ascii(clean.as_bytes(), line, width, rows);
    } else {
        wrap_graphemes(clean, line, width, rows);
    }
}

/// The same for a line in which every byte is one cell: the usual case, many times faster.
fn wrap_ascii(clean: &[u8], line: Range<usize>, width: usize, rows: &mut Vec<Range<usize>>) {
    let mut start = line.start;
    while line.end - start > width {
        let at = start + width;
        let space = clean[start..at].iter().rposition(|byte| *byte == b' ');
        let (end, next) = match space {
            _ if clean[at] == b' ' => (at, at + 1),
            Some(space) => (start + space + 1, start + space + 1),
            None => (at, at),
        };
        rows.push(start..end);
        start = next;
    }
    rows.push(start..line.end);
}

fn wrap_graphemes(clean: &str, line: Range<usize>, width: usize, rows: &mut Vec<Range<usize>>) {
    let mut start = line.start;
    let mut used = 0;
    // Where the next row would begin if the row had to end now.
    let mut break_at = start;
    for (offset, grapheme) in clean[line.clone()].grapheme_indices(true) {
        let at = line.start + offset;
        let wide = grapheme_cells(grapheme);
        if wide > 1 {
            break_at = at;
        }
        if used + wide > width && at > start {
            if grapheme == " " {
                // The space that does not fit ends the row and is not shown.
                rows.push(start..at);
                (start, used, break_at) = (at + 1, 0, at + 1);
                continue;
            }
            let cut = if break_at > start { break_at } else { at };
            rows.push(start..cut);
            (start, used, break_at) = (cut, cells(&clean[cut..at]), cut);
            if used + wide > width && at > start {
                rows.push(start..at);
                (start, used, break_at) = (at, 0, at);
            }
        }
        used += wide;
        if wide > 1 || grapheme == " " {
            break_at = at + grapheme.len();
        }
    }
    rows.push(start..line.end);
}

/// The rows of one line of an input that is not cleaned yet: offsets stay those of the input.
pub fn input_rows(line: &str, width: usize) -> Vec<Range<usize>> {
    let mut rows = Vec::new();
    wrap_line(line, 0..line.len(), width.max(1), &mut rows);
    rows
}

fn grapheme_cells(grapheme: &str) -> usize {
    match grapheme {
        "\t" => sanitize::TAB.len(),
        one if one.len() == 1 => 1,
        other => usize::from(other.cell_width()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rows(source: &str, width: usize) -> Vec<String> {
        let layout = Layout::of(source, width);
        (0..layout.height()).map(|row| layout.row(row).to_owned()).collect()
    }

    #[test]
    fn words_stay_whole_and_wide_graphemes_go_to_the_next_row() {
        let table: [(&str, usize, &[&str]); 9] = [
            ("one two three", 7, &["one two", "three"]),
            ("one  two", 4, &["one", "two"]),
            ("abcdefgh", 3, &["abc", "def", "gh"]),
            ("子子子", 5, &["子子", "子"]),
            ("ab子", 3, &["ab", "子"]),
            ("a\n\nb\n\n", 9, &["a", "", "b"]),
            ("👨‍👩‍👧‍👦👨‍👩‍👧‍👦", 3, &["👨‍👩‍👧‍👦", "👨‍👩‍👧‍👦"]),
            ("子", 1, &["子"]),
            ("x 子代理y", 5, &["x 子", "代理y"]),
        ];
        for (source, width, expected) in table {
            assert_eq!(rows(source, width), expected, "{source:?} at {width}");
        }
    }

    #[test]
    fn a_cut_text_says_so_and_fits() {
        assert_eq!(ellipsis("abcdef", 4), "abc…");
        assert_eq!(ellipsis("子代理", 4), "子…");
        assert_eq!(ellipsis("abc", 3), "abc");
        assert_eq!(ellipsis("abc", 0), "");
    }

    #[test]
    fn a_place_keeps_its_text_at_another_width() {
        let text = "alpha beta gamma delta epsilon";
        let (wide, narrow) = (Layout::of(text, 12), Layout::of(text, 6));
        let row = narrow.row_of(wide.offset_of(1));
        assert_eq!((wide.row(1), narrow.row(row)), ("gamma delta", "gamma"));
    }

    /// Rows of a text that came in these pieces.
    fn streamed(pieces: &[&str], width: usize) -> Vec<String> {
        let mut layout = Layout::default();
        let mut source = String::new();
        for piece in pieces {
            source.push_str(piece);
            layout.update(&source, 0, width);
        }
        (0..layout.height()).map(|row| layout.row(row).to_owned()).collect()
    }

    #[test]
    fn what_a_piece_ends_in_may_still_change_the_row_before() {
        // A CR was shown as a mark and pushed a letter into the next row; then its LF came.
        assert_eq!(streamed(&["子a\r", "\n"], 3), ["子a"]);
        // Two of them, of which the second became a line end.
        assert_eq!(streamed(&["\r\r", "\nx"], 1), ["␍", "x"]);
    }

    #[test]
    fn a_flood_is_taken_in_by_slices_and_comes_to_the_same() {
        let flood = "some words and then 子 more\n\n".repeat(20_000);
        let mut layout = Layout::of("some", 20);
        let mut updates = 0;
        while updates == 0 || layout.is_behind(&flood) {
            layout.update(&flood, 0, 20);
            updates += 1;
            assert!(updates * SLICE < flood.len() + 2 * SLICE, "it comes to an end");
        }
        assert!(updates > 2);
        assert_eq!(layout, Layout::of(&flood, 20));
    }

    #[test]
    fn blank_rows_at_the_end_are_not_shown_however_they_came() {
        for (pieces, height) in [
            (&["a\n", "\n", "\n\n"][..], 1),
            (&["\n", " \n"], 0),
            (&["a", "\n\n", "b", "\n"], 3),
            (&["\u{301}", "\n"], 1),
        ] {
            assert_eq!(streamed(pieces, 5).len(), height, "{pieces:?}");
        }
    }

    fn cases() -> u32 {
        if std::env::var_os("OFFSHOOT_SOAK").is_some_and(|value| value == "1") {
            20_000
        } else {
            200
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn every_row_fits_and_no_text_is_lost(source in "[a-z 子👩\u{200d}\u{301}\n❤\u{fe0f}]{0,80}", width in 1usize..12) {
            let layout = Layout::of(&source, width);
            for row in 0..layout.height() {
                let text = layout.row(row);
                let one_that_cannot_fit = text.graphemes(true).count() <= 1;
                prop_assert!(cells(text) <= width || one_that_cannot_fit, "{:?} at {}", text, width);
            }
            let shown: String = layout.rows.iter().map(|row| &layout.clean[row.clone()]).collect();
            let squeeze = |text: &str| text.replace([' ', '\n'], "");
            prop_assert_eq!(squeeze(&shown), squeeze(&layout.clean));
        }

        #[test]
        fn plain_letters_wrap_as_any_graphemes_do(line in "[a-c ]{0,60}", width in 1usize..9) {
            let (mut fast, mut slow) = (Vec::new(), Vec::new());
            wrap_ascii(line.as_bytes(), 0..line.len(), width, &mut fast);
            wrap_graphemes(&line, 0..line.len(), width, &mut slow);
            prop_assert_eq!(fast, slow);
        }

        #[test]
        fn streaming_in_pieces_wraps_as_the_whole(pieces in proptest::collection::vec("[a-c 子👩\u{200d}\u{301}\n\r\u{1b}]{0,9}", 0..8), width in 1usize..12) {
            let mut grown = Layout::default();
            let mut source = String::new();
            for piece in &pieces {
                source.push_str(piece);
                grown.update(&source, 0, width);
            }
            grown.update(&source, 0, width);
            let whole = Layout::of(&source, width);
            let all = |layout: &Layout| (0..layout.height()).map(|row| layout.row(row).to_owned()).collect::<Vec<_>>();
            prop_assert_eq!(all(&grown), all(&whole));
        }
    }
}
