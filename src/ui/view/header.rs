//! The top line: where, who answers, what is allowed, what it has cost, what was kept out.

use ratatui::buffer::Buffer;

use crate::sanitize;
use crate::story::Story;

use super::super::layout::{Areas, Shape};
use super::super::paint::{self, Row, Tone, piece};
use super::super::screen::Screen;
use super::super::wrap;
use super::{frame, words};

/// Draws it: what does not fit is left out from the least important on.
pub fn draw(story: &Story, screen: &Screen, areas: Areas, buffer: &mut Buffer) {
    let width = usize::from(areas.header.width);
    let name = " offshoot";
    let mut facts = match areas.shape {
        Shape::Bare => bare_facts(story, screen),
        Shape::TooSmall | Shape::Single | Shape::Stacked | Shape::Side => facts(story, screen),
    };
    // The facts in the order in which they are given up.
    for least in ["kept", "mode", "cost", "context", "model"] {
        if total(&facts) + wrap::cells(name) + 2 <= width {
            break;
        }
        facts.retain(|(key, _)| *key != least);
    }
    let shown: Vec<&str> = facts.iter().map(|(_, words)| words.as_str()).collect();
    let right = format!("{} ", shown.join(" · "));
    let room = width.saturating_sub(wrap::cells(name) + wrap::cells(&right) + 3);
    let place = place(screen);
    let mut row = Row::of(name, Tone::Strong);
    if room >= 8 {
        row = row.and(format!("  {}", wrap::ellipsis(&place, room)), Tone::Plain);
    }
    paint::row(buffer, areas.header, &row, screen.palette);
    let start =
        areas.header.right().saturating_sub(u16::try_from(wrap::cells(&right)).unwrap_or(0));
    if shown.iter().any(|words| !words.is_empty()) && start > areas.header.x {
        let tone = if screen.header.language_model { Tone::Plain } else { Tone::Warning };
        let cells = usize::from(areas.header.right() - start);
        paint::pieces(buffer, start, areas.header.y, cells, &[piece(right, tone)], screen.palette);
    }
}

fn total(facts: &[(&str, String)]) -> usize {
    facts.iter().map(|(_, words)| wrap::cells(words) + 3).sum()
}

/// Where no border can tell of the children, the header does.
fn bare_facts(story: &Story, screen: &Screen) -> Vec<(&'static str, String)> {
    let counts = frame::counts(story, screen);
    if counts.is_empty() { facts(story, screen) } else { vec![("counts", counts)] }
}

fn place(screen: &Screen) -> String {
    let workspace = sanitize::line(&screen.header.workspace).into_owned();
    match &screen.header.branch {
        Some(branch) => format!("{workspace} ({})", sanitize::line(branch)),
        None => workspace,
    }
}

fn facts(story: &Story, screen: &Screen) -> Vec<(&'static str, String)> {
    let lang = screen.lang;
    let clean = |text: &str| sanitize::line(text).into_owned();
    let model = if screen.header.language_model {
        clean(&screen.header.model)
    } else {
        lang.pick("offline · no language model", "离线 · 没有语言模型").to_owned()
    };
    let mode = match &screen.header.fence {
        Some(fence) => format!("{} · {}", clean(&screen.header.mode), clean(fence)),
        None => clean(&screen.header.mode),
    };
    let totals = story.totals();
    let cost = totals
        .cost()
        .map_or_else(|| lang.pick("cost unknown", "费用未知").to_owned(), |cost| cost.to_string());
    let kept = totals.kept_out_tokens();
    let kept_out = match lang {
        super::super::lang::Lang::En => format!("kept out {} tok", words::tokens(kept)),
        super::super::lang::Lang::Zh => format!("省下 {} 词元", words::tokens(kept)),
    };
    vec![
        ("model", model),
        ("mode", mode),
        ("context", context(totals.context_tokens, screen)),
        ("cost", cost),
        ("kept", kept_out),
    ]
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
