//! The input: its rows, and where the terminal's own cursor belongs.

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::super::layout::{Areas, Focus};
use super::super::paint::{self, Row, Tone, piece};
use super::super::screen::{Screen, composer_width};

/// Draws it; gives back the caret's place while the input has the focus.
pub fn draw(screen: &Screen, areas: Areas, buffer: &mut Buffer) -> Option<Position> {
    let area = areas.composer;
    if area.is_empty() {
        return None;
    }
    let width = composer_width(areas.screen.width);
    let visible = screen.composer.visible(width, area.height.into());
    for (offset, y) in (area.top()..area.bottom()).enumerate() {
        let line = Rect { y, height: 1, ..area };
        let text = visible.rows.get(offset).map_or("", String::as_str);
        let row = if screen.composer.is_empty() && offset == 0 {
            let hint = screen.lang.pick("type a message…", "输入消息…");
            Row::of(" ", Tone::Plain).and(hint, Tone::Quiet)
        } else {
            Row { left: vec![piece(" ", Tone::Plain), piece(text, Tone::Plain)], ..Row::default() }
        };
        paint::row(buffer, line, &row, screen.palette);
    }
    let column = u16::try_from(visible.caret_cells + 1).unwrap_or(u16::MAX);
    let x = area.x.saturating_add(column).min(area.right().saturating_sub(1));
    let y = area.y.saturating_add(u16::try_from(visible.caret_row).unwrap_or(0));
    let has_focus = screen.focus == Focus::Composer && y < area.bottom();
    has_focus.then_some(Position { x, y })
}
