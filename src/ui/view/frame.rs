//! Borders, joined where they meet, and the titles in them.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::story::{Counts, Story};

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
    let lang = screen.lang;
    let more = |is_more: bool| {
        if is_more { lang.pick("↓ more · End", "↓ 还有 · End") } else { "" }
    };
    if !areas.conversation.is_empty() {
        let focused = screen.focus == Focus::Conversation;
        let more = more(screen.conversation.is_reading_back());
        // Where only one pane is shown, its border tells of the other.
        let alone = areas.shape == Shape::Single;
        let counts = if alone { counts(story, lang) } else { Vec::new() };
        let name = lang.pick("Conversation", "对话");
        title(buffer, screen, areas.conversation, name, &endings(&counts, more), focused);
    }
    if !areas.delegations.is_empty() {
        let focused = screen.focus == Focus::Delegations;
        let name = format!("{}{}", lang.pick("Delegations", "委派"), filter(screen));
        let more = more(screen.delegations.has_more_below());
        let endings = endings(&counts(story, lang), more);
        title(buffer, screen, areas.delegations, &name, &endings, focused);
    }
}

/// What a title may end with, the fullest first.
fn endings(counts: &[String], more: &str) -> Vec<String> {
    let short = more.split(" · ").next().unwrap_or_default();
    let mut endings = Vec::new();
    for counts in counts {
        for more in [more, short] {
            let parts: Vec<&str> =
                [counts.as_str(), more].into_iter().filter(|part| !part.is_empty()).collect();
            endings.push(parts.join(" · "));
        }
    }
    endings.push(more.to_owned());
    endings.push(short.to_owned());
    endings
}

fn filter(screen: &Screen) -> &'static str {
    match screen.delegations.filter {
        Filter::All => "",
        Filter::Live => screen.lang.pick(" (live)", "（运行中）"),
        Filter::Failed => screen.lang.pick(" (failed)", "（失败）"),
    }
}

/// How many children there are of each kind, from all that is known to the shortest.
pub fn counts(story: &Story, lang: Lang) -> Vec<String> {
    let Counts { running, queued, asked_about, done, failed, exhausted, cancelled, refused } =
        story.delegations().counts();
    let all = [
        (running, lang.pick("running", "运行")),
        (asked_about, lang.pick("asking", "待批准")),
        (queued, lang.pick("queued", "排队")),
        (done, lang.pick("done", "完成")),
        (failed, lang.pick("failed", "失败")),
        (exhausted, lang.pick("exhausted", "预算用尽")),
        (cancelled, lang.pick("cancelled", "取消")),
        (refused, lang.pick("refused", "拒绝")),
    ];
    let words = |kinds: &[(usize, &str)]| {
        let kinds = kinds.iter().filter(|(count, _)| *count > 0);
        kinds.map(|(count, word)| format!("{count} {word}")).collect::<Vec<_>>().join(" · ")
    };
    let others = failed + exhausted + cancelled + refused;
    let in_short = [all[0], all[1], all[2], all[3], (others, lang.pick("not", "未成"))];
    let mut shown = vec![words(&all), words(&in_short), words(&all[..3]), words(&all[..1])];
    shown.dedup();
    shown.retain(|words| !words.is_empty());
    shown
}

/// A title in the border above an area, with the longest of these endings that there is room for.
fn title(
    buffer: &mut Buffer,
    screen: &Screen,
    area: Rect,
    name: &str,
    endings: &[String],
    focused: bool,
) {
    let y = area.y.saturating_sub(1);
    let room = usize::from(area.width.saturating_sub(1));
    let mark = if focused { "▸ " } else { "" };
    let left = wrap::ellipsis(&format!(" {mark}{name} "), room);
    let tone = if focused { Tone::Strong } else { Tone::Plain };
    let limit = area.width;
    let took = paint::put(buffer, area.x, y, limit, &left, screen.palette.style(tone));
    let fits =
        |ending: &&String| !ending.is_empty() && usize::from(took) + wrap::cells(ending) + 2 < room;
    if let Some(ending) = endings.iter().find(fits) {
        let right = format!(" {ending} ");
        let cells = u16::try_from(wrap::cells(&right)).unwrap_or(0);
        let x = area.right().saturating_sub(cells + 1);
        paint::put(buffer, x, y, limit, &right, screen.palette.style(Tone::Plain));
    }
}
