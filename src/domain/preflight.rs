//! What a person may change about a delegation before its child starts: lower its numbers, drop its
//! context. It knows how little a child may get and refuses everything that would give it more.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::budget::{Budget, Dimension, Limit, PerDimension};
use super::context_store::SnippetCard;
use super::contract::Contract;
use super::event::ContractView;
use super::request::{BudgetRequest, TaskRequest};
use super::scope::PathScope;
use super::usage::MicroUsd;
use super::violation::{Code, Violation};

/// Whether a person is asked before a child starts.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum PreflightPolicy {
    /// Before each one.
    Always,
    /// Not at all: a child is bounded by its contract, and asks for its own calls.
    #[default]
    Never,
}

impl PreflightPolicy {
    /// Both, the stricter one first.
    pub const ALL: [Self; 2] = [Self::Always, Self::Never];

    /// The word in settings and on the screen.
    pub fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Never => "never",
        }
    }

    /// Reads that word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

/// Percent of a shown number that a person is offered, from all of it down.
const STEPS: [u64; 5] = [100, 75, 50, 25, 10];

/// The next smaller number that a person is offered for a limit that was shown; the same where there
/// is none.
pub fn step_down(shown: u64, now: u64) -> u64 {
    offers(shown).find(|offer| *offer < now).unwrap_or(now)
}

/// The next larger one, never above what was shown.
pub fn step_up(shown: u64, now: u64) -> u64 {
    offers(shown).filter(|offer| *offer > now).last().unwrap_or(shown)
}

fn offers(shown: u64) -> impl Iterator<Item = u64> {
    let part = move |percent: u64| u128::from(shown) * u128::from(percent) / 100;
    STEPS.into_iter().map(move |percent| u64::try_from(part(percent)).unwrap_or(shown).max(1))
}

/// What a person makes less of, held against what was shown.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amendment {
    /// Limits in their dimensions' units, each below the one that was shown.
    #[serde(default, skip_serializing_if = "Lowered::is_none")]
    budget: Lowered,
    /// Keys of the context that the child is not given.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    dropped: BTreeSet<String>,
}

/// Lowered limits in files, in the units of a budget there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Lowered {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    input_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    output_tokens: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_calls: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost_usd: Option<MicroUsd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
}

impl Lowered {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    fn set(&mut self, dimension: Dimension, amount: u64) {
        match dimension {
            Dimension::Turns => self.turns = Some(amount),
            Dimension::InputTokens => self.input_tokens = Some(amount),
            Dimension::OutputTokens => self.output_tokens = Some(amount),
            Dimension::ToolCalls => self.tool_calls = Some(amount),
            Dimension::CostUsd => self.cost_usd = Some(MicroUsd(amount)),
            Dimension::Duration => self.duration_ms = Some(amount),
        }
    }
}

/// Why something is no amendment of what was shown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AmendmentError {
    /// It would be more.
    #[error("{dimension} {asked} is more than the {shown} that were shown; it can only be lowered")]
    Raised {
        /// Of what.
        dimension: Dimension,
        /// The limit that was shown.
        shown: u64,
        /// The limit that was wanted.
        asked: u64,
    },
    /// Nothing would be left.
    #[error("{0} cannot be lowered to 0; deny the delegation instead")]
    Zero(Dimension),
    /// No number was shown.
    #[error("{0} has no limit that could be lowered")]
    NoLimit(Dimension),
    /// No such context was shown.
    #[error("the child would not get `{0}`, so it cannot be dropped")]
    UnknownKey(String),
}

impl Amendment {
    /// Lowers limits, each in its dimension's unit, and drops keys. What is as it was shown is no
    /// change.
    pub fn of(
        shown: &ContractView,
        lowered: &PerDimension<Option<u64>>,
        dropped: impl IntoIterator<Item = String>,
    ) -> Result<Self, AmendmentError> {
        let mut amendment = Self::default();
        for (dimension, asked) in lowered.iter() {
            let Some(asked) = *asked else { continue };
            match shown.budget[dimension] {
                Limit::Unlimited | Limit::Off => return Err(AmendmentError::NoLimit(dimension)),
                Limit::Of(_) if asked == 0 => return Err(AmendmentError::Zero(dimension)),
                Limit::Of(shown) if asked > shown => {
                    return Err(AmendmentError::Raised { dimension, shown, asked });
                }
                Limit::Of(shown) if asked == shown => {}
                Limit::Of(_) => amendment.budget.set(dimension, asked),
            }
        }
        for key in dropped {
            if !shown.chosen().any(|card| card.key == key) {
                return Err(AmendmentError::UnknownKey(key));
            }
            amendment.dropped.insert(key);
        }
        Ok(amendment)
    }

    /// The same, held against what was shown once more: who sends an amendment is not who made the
    /// contract.
    pub fn held_against(&self, shown: &ContractView) -> Result<Self, AmendmentError> {
        let lowered = PerDimension::from_fn(|dimension| self.lowered(dimension));
        Self::of(shown, &lowered, self.dropped.iter().cloned())
    }

    /// True if nothing is changed.
    pub fn is_none(&self) -> bool {
        self.budget.is_none() && self.dropped.is_empty()
    }

    /// The lowered limit, in the dimension's unit.
    pub fn lowered(&self, dimension: Dimension) -> Option<u64> {
        match dimension {
            Dimension::Turns => self.budget.turns,
            Dimension::InputTokens => self.budget.input_tokens,
            Dimension::OutputTokens => self.budget.output_tokens,
            Dimension::ToolCalls => self.budget.tool_calls,
            Dimension::CostUsd => self.budget.cost_usd.map(|cost| cost.0),
            Dimension::Duration => self.budget.duration_ms,
        }
    }

    /// The keys that are dropped.
    pub fn dropped(&self) -> &BTreeSet<String> {
        &self.dropped
    }

    /// The request as the person lets it go: a lowered limit is asked for, on purpose.
    #[must_use]
    pub fn apply(&self, request: &TaskRequest) -> TaskRequest {
        let mut amended = request.clone();
        if let Some(keys) = &mut amended.context_keys {
            keys.retain(|key| !self.dropped.contains(key));
        }
        for dimension in Dimension::ALL {
            if let Some(amount) = self.lowered(dimension) {
                ask_for(amended.budget.get_or_insert_default(), dimension, amount);
            }
        }
        amended
    }

    /// What the child may get at most in each dimension.
    pub(super) fn ceiling(&self, shown: &Budget) -> Budget {
        PerDimension::from_fn(|dimension| {
            let lowered = self.lowered(dimension).map(Limit::Of);
            lowered.map_or(shown[dimension], |lowered| lower_of(shown[dimension], lowered))
        })
    }
}

/// Writes a limit the way a request does, never as more than it is.
#[expect(clippy::cast_precision_loss, reason = "limits are exact below 2^50")]
fn ask_for(budget: &mut BudgetRequest, dimension: Dimension, amount: u64) {
    let number = amount as f64;
    match dimension {
        Dimension::Turns => budget.turns = Some(number),
        Dimension::InputTokens => budget.input_tokens = Some(number),
        Dimension::OutputTokens => budget.output_tokens = Some(number),
        Dimension::ToolCalls => budget.tool_calls = Some(number),
        Dimension::CostUsd => budget.cost_usd = Some(MicroUsd(amount).dollars()),
        Dimension::Duration => budget.duration_s = Some(seconds(number)),
    }
}

/// Seconds that come to no more than these ms when they are read back and rounded up.
fn seconds(ms: f64) -> f64 {
    let mut seconds = ms / 1e3;
    while (seconds * 1e3).ceil() > ms {
        seconds = seconds.next_down();
    }
    seconds
}

/// The lower of two limits. What is not measured on one side holds the other one back in nothing.
pub(super) fn lower_of(one: Limit, other: Limit) -> Limit {
    match (one, other) {
        (Limit::Of(one), Limit::Of(other)) => Limit::Of(one.min(other)),
        (Limit::Unlimited, other) => other,
        (one, Limit::Unlimited | Limit::Off) | (one @ Limit::Off, Limit::Of(_)) => one,
    }
}

/// In what a contract is more than the one that was shown, if in anything: what changed while the
/// person read.
pub(super) fn beyond(shown: &Contract, now: &Contract) -> Option<Violation> {
    let changed = |field: &str, what: String| {
        let words = format!("{what} changed while the user was asked about it; ask again");
        Some(Violation::new(Code::InvalidTask, field, words))
    };
    let is_shown = |card: &SnippetCard| shown.cards().any(|other| other == card);
    if let Some(card) = now.cards().find(|card| !is_shown(card)) {
        return changed("context_keys", format!("the context `{}`", card.key));
    }
    if now.rules() != shown.rules() {
        return changed("allowed_paths", "the project's rules".to_owned());
    }
    if !now.permissions().is_subset(shown.permissions()) {
        return changed("permissions", "what the child may do".to_owned());
    }
    if !now.tools().iter().all(|tool| shown.tools().contains(tool)) {
        return changed("allowed_tools", "the child's tools".to_owned());
    }
    let inside = |path: &PathScope| shown.paths().iter().any(|held| held.contains(path));
    if !now.paths().iter().all(inside) {
        return changed("allowed_paths", "the child's paths".to_owned());
    }
    if (&now.provider, &now.model) != (&shown.provider, &shown.model) {
        return changed("model", "who answers the child".to_owned());
    }
    let wider = |dimension: &Dimension| {
        let (before, after) = (shown.budget()[*dimension], now.budget()[*dimension]);
        lower_of(before, after) != after
    };
    let dimension = Dimension::ALL.into_iter().find(wider)?;
    changed(&format!("budget.{}", dimension.field()), format!("the child's {dimension}"))
}
