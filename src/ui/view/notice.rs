//! The one line for a terminal in which nothing fits.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::paint::{self, Row, Tone};
use super::super::screen::Screen;

/// Says that there is too little room; as much of it as there is room for.
pub fn too_small(screen: &Screen, buffer: &mut Buffer) {
    let words = screen.lang.pick("offshoot: needs 20x5", "offshoot：需要 20x5");
    let area = buffer.area;
    paint::clear(buffer, area);
    let line = Rect { height: area.height.min(1), ..area };
    paint::row(buffer, line, &Row::of(words, Tone::Warning), screen.palette);
}
