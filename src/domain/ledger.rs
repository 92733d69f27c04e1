//! Who owes what: one tree of accounts for a parent run and all its descendants.
//!
//! Shared dimensions are reserved out of the parent's remaining when a child starts, charged to the
//! child and every ancestor as they are used, and settled back when it ends. Turns and duration are
//! a run's own. The ledger has no clock: time is told to it.

use super::budget::{Budget, Dimension, PerDimension, Remaining, Totals};
use super::usage::MicroUsd;

/// What is left in one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// This much; negative after an overrun.
    Of(i64),
    /// No bound.
    Unlimited,
    /// Not measured.
    Off,
}

/// One run's account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccountId(usize);

/// Tokens, calls and money of one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Charge {
    /// Prompt tokens.
    pub input_tokens: u64,
    /// Generated tokens.
    pub output_tokens: u64,
    /// Calls.
    pub tool_calls: u64,
    /// Money.
    pub cost: MicroUsd,
}
