//! Budgets as a line: the tightest dimension first, with a bar; then the others.

use crate::domain::budget::{Dimension, Limit};
use crate::story::{Gauge, Used};

use super::super::lang::Lang;
use super::super::paint::{Row, Tone, piece};
use super::super::wrap;
use super::words;

const BAR: usize = 9;

/// As many dimensions as fit into this many cells, none of them cut: the tightest with its bar, the
/// cost, the time, then the others from tight to loose.
pub fn row(gauge: &Gauge, before: &str, width: usize, lang: Lang) -> Row {
    let tightest = gauge.tightest();
    let words = words::used(tightest, lang);
    let mut left = vec![piece(before, Tone::Plain), piece(&words, tone(tightest))];
    let mut taken = wrap::cells(before) + wrap::cells(&words);
    let bar = format!(" {}", bar(tightest.ratio()));
    if taken + wrap::cells(&bar) <= width {
        taken += wrap::cells(&bar);
        left.push(piece(bar, tone(tightest)));
    }
    for used in by_importance(gauge) {
        let text = format!("  {}", short(used, lang));
        if taken + wrap::cells(&text) <= width {
            taken += wrap::cells(&text);
            left.push(piece(text, tone_of_rest(used)));
        }
    }
    Row { left, ..Row::default() }
}

/// All but the tightest; what nothing bounds says nothing here.
fn by_importance(gauge: &Gauge) -> impl Iterator<Item = &Used> {
    let mut others: Vec<&Used> =
        gauge.0[1..].iter().filter(|used| used.limit != Limit::Off).collect();
    others.sort_by_key(|used| match (tone(used), used.dimension) {
        // What is near its end comes before what is only good to know.
        (Tone::Bad | Tone::Warning, _) => 0,
        (_, Dimension::CostUsd) => 1,
        (_, Dimension::Duration) => 2,
        (
            _,
            Dimension::Turns
            | Dimension::InputTokens
            | Dimension::OutputTokens
            | Dimension::ToolCalls,
        ) => 3,
    });
    others.into_iter()
}

/// Money needs no name, and its limit only when it is near.
fn short(used: &Used, lang: Lang) -> String {
    match (used.dimension, used.used) {
        (Dimension::CostUsd, Some(cost)) if tone(used) == Tone::Good => {
            words::amount(Dimension::CostUsd, cost)
        }
        (
            Dimension::Turns
            | Dimension::InputTokens
            | Dimension::OutputTokens
            | Dimension::ToolCalls
            | Dimension::CostUsd
            | Dimension::Duration,
            _,
        ) => words::used(used, lang),
    }
}

/// How near the end is: green, amber from 75 %, red from 90 %.
pub fn tone(used: &Used) -> Tone {
    match used.ratio() {
        ratio if ratio >= 0.9 => Tone::Bad,
        ratio if ratio >= 0.75 => Tone::Warning,
        _ => Tone::Good,
    }
}

fn tone_of_rest(used: &Used) -> Tone {
    match tone(used) {
        Tone::Good => Tone::Quiet,
        near => near,
    }
}

/// A bar that is full when nothing is left, and empty only when nothing was used.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a ratio clamped to 0..=1 times nine"
)]
pub fn bar(ratio: f64) -> String {
    let full = (ratio.clamp(0.0, 1.0) * BAR as f64).floor() as usize;
    let full = if ratio > 0.0 { full.max(1) } else { 0 };
    format!("{}{}", "▰".repeat(full), "▱".repeat(BAR - full))
}
