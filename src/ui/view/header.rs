//! The top line: where, who answers, what is allowed, what it has cost, what was kept out.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

use crate::domain::approval::Mode;
use crate::sanitize;
use crate::story::Story;

use super::super::layout::{Areas, Shape};
use super::super::paint::{self, Row, Tone, piece};
use super::super::screen::{Answers, Screen};
use super::super::wrap;
use super::{frame, permissions, words};

const NAME: &str = " offshoot";
/// Blanks before and after the place.
const AROUND_PLACE: usize = 4;

/// Draws it: what does not fit is left out from the least important on.
pub fn draw(story: &Story, screen: &Screen, areas: Areas, buffer: &mut Buffer) {
    let width = usize::from(areas.header.width);
    let mut facts = match areas.shape {
        Shape::Bare => bare_facts(story, screen, width),
        Shape::TooSmall | Shape::Single | Shape::Stacked | Shape::Side => facts(story, screen),
    };
    let mut places = places(screen);
    // In this order: what was saved, the context, the path from its left, who answers, the folder.
    // What is allowed and what it costs come last.
    let room = |facts: &[(&str, String)]| width.saturating_sub(wrap::cells(NAME) + total(facts));
    let fits =
        |facts: &[(&str, String)], place: &str| wrap::cells(place) + AROUND_PLACE <= room(facts);
    for least in ["kept", "context"] {
        if !fits(&facts, &places[0]) {
            facts.retain(|(key, _)| *key != least);
        }
    }
    while places.len() > 1 && !fits(&facts, &places[0]) {
        places.remove(0);
    }
    for least in ["model", "mode", "cost", "fence"] {
        if !fits(&facts, &places[0]) && total(&facts) + wrap::cells(NAME) + 1 > width {
            facts.retain(|(key, _)| *key != least);
        }
    }
    // A name that the facts would paint over is better left out.
    let name = if wrap::cells(NAME) + 1 + total(&facts) <= width { NAME } else { "" };
    let mut row = Row::of(name, Tone::Strong);
    let free = room(&facts).saturating_sub(AROUND_PLACE);
    if free >= 8 || fits(&facts, &places[0]) {
        row = row.and(format!("  {}", wrap::ellipsis(&places[0], free)), Tone::Plain);
    }
    paint::row(buffer, areas.header, &row, screen.palette);
    draw_facts(screen, areas.header, &facts, buffer);
}

fn draw_facts(screen: &Screen, area: Rect, facts: &[(&str, String)], buffer: &mut Buffer) {
    let mut cells = Vec::new();
    for (index, (key, words)) in facts.iter().enumerate() {
        if index > 0 {
            cells.push(piece(" · ", Tone::Plain));
        }
        cells.push(piece(words, tone(screen, key, words)));
    }
    cells.push(piece(" ", Tone::Plain));
    let taken = paint::width_of(&cells);
    let start = area.right().saturating_sub(u16::try_from(taken).unwrap_or(u16::MAX));
    if facts.is_empty() || start <= area.x {
        return;
    }
    paint::pieces(buffer, start, area.y, taken, &cells, screen.palette);
}

/// What a person should know before anything runs stands out.
fn tone(screen: &Screen, key: &str, words: &str) -> Tone {
    let warns = match key {
        "model" => screen.answers == Answers::Search,
        "fence" => words != "fenced",
        "mode" => words == Mode::FullAccess.name(),
        _ => false,
    };
    if warns { Tone::Warning } else { Tone::Plain }
}

/// Cells of the facts with what stands between and behind them.
fn total(facts: &[(&str, String)]) -> usize {
    facts.iter().map(|(_, words)| wrap::cells(words) + 3).sum::<usize>().saturating_sub(2)
}

/// Where no border can tell of the children, the header does.
fn bare_facts(story: &Story, screen: &Screen, width: usize) -> Vec<(&'static str, String)> {
    let counts = frame::counts(story, screen.lang);
    let longest = counts.into_iter().find(|words| wrap::cells(words) + 2 <= width);
    longest.map_or_else(|| facts(story, screen), |words| vec![("counts", words)])
}

/// The folder and its branch, from the whole path to the folder's own name.
fn places(screen: &Screen) -> Vec<String> {
    let path = sanitize::line(&screen.header.workspace).into_owned();
    let branch = screen.header.branch.as_ref();
    let branch = branch.map_or_else(String::new, |name| format!(" ({})", sanitize::line(name)));
    let mut places = vec![format!("{path}{branch}")];
    let starts = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
    let ends: Vec<&str> = starts.map(|at| &path[at..]).filter(|end| end.len() > 1).collect();
    places.extend(ends.iter().map(|end| format!("…{end}{branch}")));
    let name = ends.last().map_or(path.as_str(), |end| &end[1..]);
    places.push(format!("{name}{branch}"));
    places.push(name.to_owned());
    places
}

fn facts(story: &Story, screen: &Screen) -> Vec<(&'static str, String)> {
    let lang = screen.lang;
    let clean = |text: &str| sanitize::line(text).into_owned();
    let model = match screen.answers {
        Answers::Model => clean(&screen.header.model),
        Answers::Script => {
            format!("{} · {}", lang.pick("script", "脚本"), clean(&screen.header.model))
        }
        Answers::Search => {
            lang.pick("offline · no language model", "离线 · 没有语言模型").to_owned()
        }
    };
    // What is missing stands on the page of permissions.
    let fence = screen.fence(story).map(permissions::in_short);
    let totals = story.totals();
    let cost = totals
        .cost()
        .map_or_else(|| lang.pick("cost unknown", "费用未知").to_owned(), |cost| cost.to_string());
    let kept = story.worth().map_or(0, |worth| worth.kept_out);
    let sign = if kept < 0 { "-" } else { "" };
    let kept = words::tokens(kept.unsigned_abs());
    let kept_out = match lang {
        super::super::lang::Lang::En => format!("kept out {sign}{kept} tok"),
        super::super::lang::Lang::Zh => format!("省下 {sign}{kept} 词元"),
    };
    let mut facts = vec![
        ("model", model),
        ("mode", clean(screen.mode(story))),
        ("fence", fence.map(|fence| clean(&fence)).unwrap_or_default()),
        ("context", context(totals.context_tokens, screen)),
        ("cost", cost),
        ("kept", kept_out),
    ];
    facts.retain(|(_, words)| !words.is_empty());
    facts
}

fn context(tokens: u64, screen: &Screen) -> String {
    let name = screen.lang.pick("ctx", "上下文");
    match screen.header.context_window.filter(|window| *window > 0) {
        Some(window) => {
            let percent = u128::from(tokens) * 100 / u128::from(window);
            format!("{name} {percent}%")
        }
        None => format!("{name} {}", words::tokens(tokens)),
    }
}
