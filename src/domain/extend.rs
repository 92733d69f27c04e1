//! A live run gets more than its contract gave it, because its user says so: every finite dimension
//! grows by half of its original limit, as far as what is above the run allows. Pure arithmetic over
//! the ledger, which it changes either as a whole or not at all.

use std::fmt;

use super::budget::{Budget, Dimension, PerDimension};
use super::ledger::{AccountId, Ledger};
use super::usage::MicroUsd;

/// What came of an extension: at least one dimension grew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extension {
    /// What the run may use now.
    pub limits: Budget,
    /// By how much each dimension grew, in its unit.
    pub grown: PerDimension<u64>,
    /// The finite dimensions that did not grow by the whole half, or not at all.
    pub short: Vec<Short>,
}

/// A dimension that did not grow by the whole half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Short {
    /// Which.
    pub dimension: Dimension,
    /// What it was to grow by, in the dimension's unit.
    pub wanted: u64,
    /// What it grew by.
    pub grown: u64,
    /// What there was to grow into.
    pub room: i64,
}

/// Why nothing was extended; the ledger is untouched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotExtended {
    /// The run has ended.
    Ended,
    /// No dimension could grow.
    NoRoom(Vec<Short>),
}

/// Extends a run's limits by half of `original`, its contract's budget.
///
/// A shared dimension grows if its half fits into what the parent has left, and is reserved there.
/// An own one grows so far that what the run has left stays below what its parent has left, and by
/// nothing if it is not below already; turns also stay within what all descendants may still make.
/// `money` bounds how much the money of a run without a parent may grow. The running times of the run
/// and its parent must have been told to the ledger just now.
pub fn extend(
    ledger: &mut Ledger,
    account: AccountId,
    original: &Budget,
    money: Option<MicroUsd>,
) -> Result<Extension, NotExtended> {
    if ledger.is_settled(account) {
        return Err(NotExtended::Ended);
    }
    let mut short = Vec::new();
    let grown = PerDimension::from_fn(|dimension| {
        let bounds = (original[dimension].finite(), ledger.limits(account)[dimension].finite());
        let (Some(original), Some(_)) = bounds else { return 0 };
        let wanted = original / 2;
        let room = room(ledger, account, dimension, money);
        let grown = grow(dimension, wanted, room);
        if grown < wanted || wanted == 0 {
            short.push(Short { dimension, wanted, grown, room: room.unwrap_or(0) });
        }
        grown
    });
    if grown.iter().all(|(_, amount)| *amount == 0) {
        return Err(NotExtended::NoRoom(short));
    }
    ledger.raise(account, &grown);
    Ok(Extension { limits: *ledger.limits(account), grown, short })
}

/// What a shared dimension takes it takes whole; an own one takes what there is.
fn grow(dimension: Dimension, wanted: u64, room: Option<i64>) -> u64 {
    let Some(room) = room else { return wanted };
    let room = u64::try_from(room).unwrap_or(0);
    if dimension.is_shared() && room < wanted { 0 } else { wanted.min(room) }
}

/// By how much a dimension may grow at most; `None` where nothing bounds it.
fn room(
    ledger: &Ledger,
    account: AccountId,
    dimension: Dimension,
    money: Option<MicroUsd>,
) -> Option<i64> {
    let Some(parent) = ledger.parent_of(account) else {
        let money = money.filter(|_| dimension == Dimension::CostUsd);
        return money.map(|money| i64::try_from(money.0).unwrap_or(i64::MAX));
    };
    let above = ledger.left(parent, dimension).finite();
    if dimension.is_shared() {
        return above;
    }
    let own = ledger.left(account, dimension).finite().unwrap_or(0);
    let below = above.map(|above| above.saturating_sub(1).saturating_sub(own));
    match dimension {
        Dimension::Turns => {
            let total = i64::try_from(ledger.descendant_turns_left()).unwrap_or(i64::MAX);
            let within = total.saturating_sub(own);
            Some(below.map_or(within, |below| below.min(within)))
        }
        Dimension::InputTokens
        | Dimension::OutputTokens
        | Dimension::ToolCalls
        | Dimension::CostUsd
        | Dimension::Duration => below,
    }
}

impl Extension {
    /// The dimensions that grew, with what they may use now.
    pub fn now(&self) -> impl Iterator<Item = (Dimension, u64)> + '_ {
        let grown = self.grown.iter().filter(|(_, amount)| **amount > 0);
        grown.filter_map(|(dimension, _)| Some((dimension, self.limits[dimension].finite()?)))
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (dimension, now)) in self.now().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            let before = now.saturating_sub(self.grown[dimension]);
            let (before, now) = (amount(dimension, before), amount(dimension, now));
            write!(f, "{comma}{dimension} {before} to {now}")?;
        }
        if !self.short.is_empty() {
            write!(f, "; {}", words(&self.short))?;
        }
        Ok(())
    }
}

impl fmt::Display for NotExtended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ended => f.write_str("it has ended"),
            Self::NoRoom(short) if short.is_empty() => f.write_str("nothing bounds it"),
            Self::NoRoom(short) => f.write_str(&words(short)),
        }
    }
}

fn words(short: &[Short]) -> String {
    let each = short.iter().map(|short| {
        let Short { dimension, wanted, grown, room } = *short;
        let room = u64::try_from(room).unwrap_or(0);
        match (wanted, grown) {
            (0, _) => format!("{dimension} is too small to grow by half"),
            (_, 0) => format!(
                "{dimension} could not grow by {}, there is room for {}",
                amount(dimension, wanted),
                amount(dimension, room)
            ),
            (..) => format!(
                "{dimension} grew by {} instead of {}",
                amount(dimension, grown),
                amount(dimension, wanted)
            ),
        }
    });
    each.collect::<Vec<_>>().join("; ")
}

fn amount(dimension: Dimension, amount: u64) -> String {
    match dimension {
        Dimension::CostUsd => format!("${}.{:04}", amount / 1_000_000, amount % 1_000_000 / 100),
        Dimension::Duration if amount.is_multiple_of(1_000) => format!("{} s", amount / 1_000),
        Dimension::Duration => format!("{amount} ms"),
        Dimension::Turns
        | Dimension::InputTokens
        | Dimension::OutputTokens
        | Dimension::ToolCalls => amount.to_string(),
    }
}
