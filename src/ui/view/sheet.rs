//! A sheet that lies over the panes: its border, its title, the room inside. Where the terminal is
//! too small for a border it has none.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use super::super::layout::Shape;
use super::super::paint::{self, Tone};
use super::super::screen::Screen;
use super::super::wrap;
use super::detail;
use crate::sanitize;

/// Rows and columns that the border takes on each side.
pub fn border(shape: Shape) -> u16 {
    match shape {
        Shape::TooSmall | Shape::Bare => 0,
        Shape::Single | Shape::Stacked | Shape::Side => 1,
    }
}

/// The room inside of a sheet of this area.
pub fn inner(area: Rect, shape: Shape) -> Rect {
    let border = border(shape);
    Rect {
        x: area.x + border * 2,
        y: area.y + border,
        width: area.width.saturating_sub(border * 4),
        height: area.height.saturating_sub(border * 2),
    }
}

/// Draws an empty sheet with its title, and a note at the title's end; gives back the room inside.
pub fn draw(
    buffer: &mut Buffer,
    area: Rect,
    shape: Shape,
    title: &str,
    note: &str,
    screen: &Screen,
) -> Rect {
    let area = area.intersection(buffer.area);
    let inside = inner(area, shape).intersection(buffer.area);
    paint::clear(buffer, area);
    if border(shape) == 0 || area.width < 4 || area.height < 2 {
        return inside;
    }
    detail::border(buffer, area, screen);
    let note = format!(" {note} ");
    let room = usize::from(area.width).saturating_sub(wrap::cells(&note) + 5);
    let title = format!(" {} ", wrap::ellipsis(&sanitize::line(title), room));
    let strong = screen.palette.style(Tone::Strong);
    paint::put(buffer, area.x + 1, area.y, area.width - 2, &title, strong);
    let x = area.right().saturating_sub(u16::try_from(wrap::cells(&note)).unwrap_or(0) + 2);
    if x > area.x {
        paint::put(buffer, x, area.y, area.width - 2, &note, screen.palette.style(Tone::Quiet));
    }
    inside
}
