//! The views: pure functions from story, screen and time to rows and cells. They own nothing and
//! change nothing but the buffer they are given.

pub mod approval;
pub mod approval_words;
pub mod changes;
pub mod code_words;
pub mod composer;
pub mod context;
pub mod conversation;
pub mod delegations;
pub mod detail;
pub mod footer;
pub mod frame;
pub mod gauge;
pub mod header;
pub mod help;
mod kept_out;
pub mod notice;
pub mod permissions;
pub mod preflight;
pub mod remark;
pub mod sheet;
pub mod trust;
pub mod words;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use crate::domain::event::Timestamp;
use crate::story::Story;

use super::layout::{Areas, Shape};
use super::paint::{self, Row};
use super::screen::Screen;

/// Draws everything into a buffer of the screen's size; gives back where the caret is.
pub fn draw(
    story: &Story,
    screen: &Screen,
    areas: Areas,
    now: Timestamp,
    buffer: &mut Buffer,
) -> Option<Position> {
    if areas.shape == Shape::TooSmall {
        if screen.is_asked() {
            approval::draw_line(story, screen, buffer);
        } else {
            notice::too_small(screen, buffer);
        }
        return None;
    }
    header::draw(story, screen, areas, buffer);
    frame::draw(story, screen, areas, buffer);
    let rows = conversation::rows(story, screen, now);
    column(buffer, areas.conversation, &rows, screen);
    let rows = delegations::rows(story, screen, areas.delegations, now);
    column(buffer, areas.delegations, &rows, screen);
    let caret = composer::draw(screen, areas, buffer);
    let page = screen.overlay.as_ref();
    if let Some(overlay) = page {
        detail::draw(story, screen, overlay, buffer);
    }
    let reason = approval::draw(story, screen, areas, now, buffer);
    footer::draw(story, screen, areas, buffer);
    reason.or_else(|| caret.filter(|_| page.is_none() && !screen.is_asked()))
}

/// Rows one below the other, blanks below them.
fn column(buffer: &mut Buffer, area: Rect, rows: &[Row], screen: &Screen) {
    for (offset, y) in (area.top()..area.bottom()).enumerate() {
        let line = Rect { y, height: 1, ..area };
        match rows.get(offset) {
            Some(row) => paint::row(buffer, line, row, screen.palette),
            None => paint::clear(buffer, line.intersection(buffer.area)),
        }
    }
}
