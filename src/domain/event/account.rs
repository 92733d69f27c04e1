//! A run's side of the ledger as its last event tells it, so that a reader can hold its own sums
//! against it.

use serde::{Deserialize, Serialize};

use crate::domain::budget::{Budget, Dimension, Limit};
use crate::domain::ledger::{AccountId, Ledger};
use crate::domain::usage::MicroUsd;

/// What a run used and might have used.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// What it used; in the shared dimensions with all descendants.
    pub used: Amounts,
    /// What it could use at its end.
    pub limits: Budget,
}

/// One amount for each dimension, in its unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amounts {
    /// Turns.
    pub turns: u64,
    /// Prompt tokens.
    pub input_tokens: u64,
    /// Generated tokens.
    pub output_tokens: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Money; `None` while it is not measured.
    pub cost_usd: Option<MicroUsd>,
    /// Running time in ms.
    pub duration_ms: u64,
}

impl Account {
    /// An account as it stands.
    pub fn of(ledger: &Ledger, account: AccountId) -> Self {
        let (used, limits) = (ledger.used(account), *ledger.limits(account));
        let measured = limits[Dimension::CostUsd] != Limit::Off;
        let used = Amounts {
            turns: used[Dimension::Turns],
            input_tokens: used[Dimension::InputTokens],
            output_tokens: used[Dimension::OutputTokens],
            tool_calls: used[Dimension::ToolCalls],
            cost_usd: measured.then_some(MicroUsd(used[Dimension::CostUsd])),
            duration_ms: used[Dimension::Duration],
        };
        Self { used, limits }
    }
}

impl Amounts {
    /// The amount in one dimension; `None` where it is not measured.
    pub fn get(&self, dimension: Dimension) -> Option<u64> {
        match dimension {
            Dimension::Turns => Some(self.turns),
            Dimension::InputTokens => Some(self.input_tokens),
            Dimension::OutputTokens => Some(self.output_tokens),
            Dimension::ToolCalls => Some(self.tool_calls),
            Dimension::CostUsd => self.cost_usd.map(|cost| cost.0),
            Dimension::Duration => Some(self.duration_ms),
        }
    }
}
