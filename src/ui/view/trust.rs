//! The question before the chat: whether a folder's own files are trusted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::event::Timestamp;
use crate::sanitize;

use super::super::lang::Lang;
use super::super::layout::{Areas, Shape};
use super::super::overlay::page_area;
use super::super::paint::{self, Row, Tone};
use super::super::screen::Screen;
use super::super::trust::Trust;
use super::{approval, sheet};

/// Brings what is visible of it up to date, and takes note that it is seen.
pub fn arrange(trust: &mut Trust, areas: Areas, now: Timestamp) {
    trust.guard.seen(now);
    let area = sheet::inner(self::area(areas), areas.shape);
    let title = u16::from(areas.shape == Shape::Bare);
    trust.text.arrange(area.width.into(), area.height.saturating_sub(title).into());
}

/// Draws it.
pub fn draw(screen: &Screen, trust: &Trust, areas: Areas, buffer: &mut Buffer) {
    let lang = screen.lang;
    let folder = sanitize::reveal(&trust.folder);
    let title = match lang {
        Lang::En => format!("Trust {folder} and its own files?  y / n"),
        Lang::Zh => format!("信任 {folder} 自带的文件吗？  y / n"),
    };
    let (shown, all) = trust.text.progress();
    let note = format!("{shown}/{all}");
    let inner = sheet::draw(buffer, area(areas), areas.shape, &title, &note, screen);
    let mut rows = approval::text_rows(&trust.text);
    if areas.shape == Shape::Bare {
        rows.insert(0, Row::of(title, Tone::Strong));
    }
    for (row, y) in rows.iter().zip(inner.top()..inner.bottom()) {
        paint::row(buffer, Rect { y, height: 1, ..inner }, row, screen.palette);
    }
}

/// The whole screen but for the keys, where it is small.
fn area(areas: Areas) -> Rect {
    if areas.shape == Shape::Bare { approval::room(areas) } else { page_area(areas) }
}
