//! Borders, joined where they meet, and the titles in them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::story::Story;

use super::super::delegations_pane::Filter;
use super::super::lang::Lang;
use super::super::layout::{Areas, Focus, Shape};
use super::super::paint::{self, Tone};
use super::super::screen::Screen;
use super::super::wrap;

/// Draws the frame around and between the panes.
pub fn draw(story: &Story, screen: &Screen, areas: Areas, buffer: &mut Buffer) {
    match areas.shape {
        Shape::TooSmall | Shape::Bare => return,
        Shape::Single | Shape::Stacked | Shape::Side => {}
    }
    let style = screen.palette.style(Tone::Quiet);
    let mut line = |x: u16, y: u16, sign: &str| {
        paint::put(buffer, x, y, 1, sign, style);
    };
    let frame = areas.frame;
    let (left, right) = (frame.left(), frame.right() - 1);
    let (top, bottom) = (frame.top(), frame.bottom() - 1);
    let separator = areas.composer.top() - 1;
    for x in left..=right {
        line(x, top, "─");
        line(x, separator, "─");
        line(x, bottom, "─");
    }
    for y in top..=bottom {
        line(left, y, "│");
        line(right, y, "│");
    }
    let corners = [(left, top, "┌"), (right, top, "┐"), (left, bottom, "└"), (right, bottom, "┘")];
    let joints = [(left, separator, "├"), (right, separator, "┤")];
    for (x, y, sign) in corners.into_iter().chain(joints) {
        line(x, y, sign);
    }
    match areas.shape {
        Shape::Side => {
            let x = areas.conversation.right();
            for y in top..=separator {
                line(x, y, "│");
            }
            line(x, top, "┬");
            line(x, separator, "┴");
        }
        Shape::Stacked => {
            let y = areas.conversation.bottom();
            for x in left..=right {
                line(x, y, "─");
            }
            line(left, y, "├");
            line(right, y, "┤");
        }
        Shape::TooSmall | Shape::Bare | Shape::Single => {}
    }
    titles(story, screen, areas, buffer);
}

fn titles(story: &Story, screen: &Screen, areas: Areas, buffer: &mut Buffer) {
    let conversation = screen.lang.pick("Conversation", "对话");
    if !areas.conversation.is_empty() {
        let focused = screen.focus == Focus::Conversation;
        let below = screen.conversation.is_reading_back();
        let more =
            if below { screen.lang.pick("↓ more · End", "↓ 还有 · End") } else { "" };
        title(buffer, screen, areas.conversation, conversation, more, focused);
    }
    if !areas.delegations.is_empty() {
        let focused = screen.focus == Focus::Delegations;
        let name = format!("{}{}", screen.lang.pick("Delegations", "委派"), filter(screen));
        title(buffer, screen, areas.delegations, &name, &counts(story, screen), focused);
    }
    // Where only one pane is shown, its border tells of the other.
    if areas.shape == Shape::Single && areas.delegations.is_empty() {
        let counts = counts(story, screen);
        if !counts.is_empty() && !screen.conversation.is_reading_back() {
            title(buffer, screen, areas.conversation, conversation, &counts, false);
        }
    }
}

fn filter(screen: &Screen) -> &'static str {
    match screen.delegations.filter {
        Filter::All => "",
        Filter::Live => screen.lang.pick(" (live)", "（运行中）"),
        Filter::Failed => screen.lang.pick(" (failed)", "（失败）"),
    }
}

/// How many children run and are done.
pub fn counts(story: &Story, screen: &Screen) -> String {
    let (live, done) = (story.delegations().live_count(), story.delegations().done_count());
    match (live, done, screen.lang) {
        (0, 0, _) => String::new(),
        (0, done, Lang::En) => format!("{done} done"),
        (live, 0, Lang::En) => format!("{live} running"),
        (live, done, Lang::En) => format!("{live} running · {done} done"),
        (live, done, Lang::Zh) => format!("{live} 运行 · {done} 完成"),
    }
}

/// A title in the border above an area, with a word at its right end.
fn title(buffer: &mut Buffer, screen: &Screen, area: Rect, name: &str, right: &str, focused: bool) {
    let y = area.y.saturating_sub(1);
    let room = usize::from(area.width.saturating_sub(1));
    let mark = if focused { "▸ " } else { "" };
    let left = wrap::ellipsis(&format!(" {mark}{name} "), room);
    let tone = if focused { Tone::Strong } else { Tone::Plain };
    let limit = area.width;
    let took = paint::put(buffer, area.x, y, limit, &left, screen.palette.style(tone));
    let right = format!(" {right} ");
    let cells = wrap::cells(&right);
    if cells > 2 && usize::from(took) + cells < room {
        let x = area.right().saturating_sub(u16::try_from(cells).unwrap_or(0) + 1);
        paint::put(buffer, x, y, limit, &right, screen.palette.style(Tone::Plain));
    }
}
