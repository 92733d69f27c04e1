//! The one way for text to get into a frame: cleaned, measured, cut to its area. Nothing here can
//! write outside of the buffer, whatever rectangle it is given.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::wrap;
use crate::sanitize;

/// What a piece of text means; how that looks is decided in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Running text.
    Plain,
    /// Titles, what the user said.
    Strong,
    /// Frames, hints, what is over.
    Quiet,
    /// Children and their calls.
    Child,
    /// It went well.
    Good,
    /// Look here.
    Warning,
    /// It failed.
    Bad,
}

/// The colours, or none of them (`NO_COLOR`): then weight and brightness alone are used. What a
/// tone says is always said by a word or a sign too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Palette {
    /// False for a terminal, or a person, without colours.
    pub colour: bool,
}

impl Palette {
    /// How a tone looks.
    pub fn style(self, tone: Tone) -> Style {
        let plain = Style::new();
        let (colour, modifier) = match tone {
            Tone::Plain => return plain,
            Tone::Strong => return plain.add_modifier(Modifier::BOLD),
            Tone::Quiet => (Color::DarkGray, Modifier::DIM),
            Tone::Child => (Color::Cyan, Modifier::empty()),
            Tone::Good => (Color::Green, Modifier::empty()),
            Tone::Warning => (Color::Yellow, Modifier::BOLD),
            Tone::Bad => (Color::Red, Modifier::BOLD),
        };
        if self.colour { plain.fg(colour) } else { plain.add_modifier(modifier) }
    }
}

/// A piece of a line with its meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    text: String,
    tone: Tone,
}

/// A piece of a line; the text may come from anywhere.
pub fn piece(text: impl AsRef<str>, tone: Tone) -> Piece {
    Piece { text: sanitize::line(text.as_ref()).into_owned(), tone }
}

/// One row of a frame: pieces from the left, and pieces that are kept at the right edge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// From the left; cut with `…` where they reach the right part.
    pub left: Vec<Piece>,
    /// At the right edge; dropped if they would take more than half of the row.
    pub right: Vec<Piece>,
    /// True for the row that the next key means.
    pub selected: bool,
}

impl Row {
    /// A row of one piece.
    pub fn of(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { left: vec![piece(text, tone)], ..Self::default() }
    }

    /// The same row with one more piece at the left part's end.
    #[must_use]
    pub fn and(mut self, text: impl AsRef<str>, tone: Tone) -> Self {
        self.left.push(piece(text, tone));
        self
    }

    /// The same row with this at the right edge.
    #[must_use]
    pub fn right(mut self, text: impl AsRef<str>, tone: Tone) -> Self {
        self.right.push(piece(text, tone));
        self
    }
}

/// Writes a text at a place, at most `width` cells; gives back the cells it took.
pub fn put(buffer: &mut Buffer, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
    let area = buffer.area;
    if y < area.top() || y >= area.bottom() || x < area.left() || x >= area.right() {
        return 0;
    }
    let width = width.min(area.right() - x);
    let (end, _) = buffer.set_stringn(x, y, sanitize::line(text), width.into(), style);
    end - x
}

/// Writes a row into the first line of an area and fills what is left of it with blanks.
pub fn row(buffer: &mut Buffer, area: Rect, row: &Row, palette: Palette) {
    let area = area.intersection(buffer.area);
    if area.is_empty() {
        return;
    }
    let line = Rect { height: 1, ..area };
    clear(buffer, line);
    let total = usize::from(line.width);
    let wanted: usize = width_of(&row.right);
    let right = if wanted * 2 <= total + 8 && wanted < total { wanted } else { 0 };
    let left = total - right - usize::from(right > 0);
    pieces(buffer, line.x, line.y, left, &row.left, palette);
    if right > 0 {
        let x = line.right() - u16::try_from(right).unwrap_or(0);
        pieces(buffer, x, line.y, right, &row.right, palette);
    }
    if row.selected {
        buffer.set_style(line, Style::new().add_modifier(Modifier::REVERSED));
    }
}

/// Writes pieces one after the other, cut with `…` where they do not fit.
pub fn pieces(
    buffer: &mut Buffer,
    mut x: u16,
    y: u16,
    width: usize,
    pieces: &[Piece],
    palette: Palette,
) {
    let mut room = width;
    let mut wanted = width_of(pieces);
    for Piece { text, tone } in pieces {
        let cells = wrap::cells(text);
        let shown = if wanted > room && cells >= room {
            wrap::ellipsis(&format!("{text} "), room)
        } else {
            text.clone()
        };
        let limit = u16::try_from(room).unwrap_or(u16::MAX);
        let took = put(buffer, x, y, limit, &shown, palette.style(*tone));
        x += took;
        room = room.saturating_sub(took.into());
        wanted = wanted.saturating_sub(cells);
        if room == 0 {
            return;
        }
    }
}

/// Cells of all pieces together.
pub fn width_of(pieces: &[Piece]) -> usize {
    pieces.iter().map(|piece| wrap::cells(&piece.text)).sum()
}

/// Blanks an area.
pub fn clear(buffer: &mut Buffer, area: Rect) {
    let area = area.intersection(buffer.area);
    for y in area.top()..area.bottom() {
        for x in area.left()..area.right() {
            buffer[(x, y)].reset();
        }
    }
}
