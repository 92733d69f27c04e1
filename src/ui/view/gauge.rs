//! Budgets as a line: the tightest dimension first, with a bar; then the others.

use crate::domain::budget::{Dimension, Limit};
use crate::story::{Gauge, Used};

use super::super::lang::Lang;
use super::super::paint::{Row, Tone, piece};
use super::words;

const BAR: usize = 9;

/// All dimensions in one line.
pub fn row(gauge: &Gauge, before: &str, lang: Lang) -> Row {
    let tightest = gauge.tightest();
    let mut left = vec![
        piece(before, Tone::Plain),
        piece(format!("{} ", words::used(tightest, lang)), tone(tightest)),
        piece(bar(tightest.ratio()), tone(tightest)),
    ];
    for used in &gauge.0[1..] {
        // The clock already shows the time.
        let quiet = used.dimension == Dimension::Duration || used.limit == Limit::Off;
        if !quiet || tone(used) != Tone::Good {
            left.push(piece(format!("  {}", short(used, lang)), tone_of_rest(used)));
        }
    }
    Row { left, ..Row::default() }
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
