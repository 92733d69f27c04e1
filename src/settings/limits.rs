//! What a question may use, from the preset and the numbers that were set.

use std::time::Duration;

use super::SettingsError;
use super::layers::{Layers, Origin};
use super::table::Key;
use crate::domain::budget::{Budget, Dimension, Limit, Preset, Totals};
use crate::domain::usage::MicroUsd;
use crate::domain::violation::Code;

/// A `--timeout` beyond this many seconds, a year, is a typing error.
const LONGEST_TIMEOUT_S: f64 = 366.0 * 86_400.0;

/// The settings that bound a dimension of a parent run.
const DIMENSIONS: [(Key, Dimension); 5] = [
    (Key::BudgetTurns, Dimension::Turns),
    (Key::BudgetDuration, Dimension::Duration),
    (Key::BudgetToolCalls, Dimension::ToolCalls),
    (Key::BudgetInputTokens, Dimension::InputTokens),
    (Key::BudgetOutputTokens, Dimension::OutputTokens),
];

/// What each question may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The preset that everything else comes from, the children's limits included.
    pub preset: Preset,
    /// The parent run's budget; its cost is bounded even where a price is not known, so ask
    /// [`Limits::parent_for`].
    pub parent: Budget,
    /// What all descendants may use together.
    pub totals: Totals,
    /// Levels of children.
    pub depth: u32,
    /// What the session may cost, where the user set it.
    pub max_cost: Option<Limit>,
    /// True if a project asked for that, and not the user.
    pub max_cost_of_project: bool,
}

impl Limits {
    pub(super) fn new(layers: &Layers) -> Self {
        let preset = named(layers.text(Key::BudgetPreset));
        let mut parent = preset.parent();
        for (key, dimension) in DIMENSIONS {
            if let Some(limit) = layers.limit(key) {
                parent[dimension] = in_unit(dimension, limit);
            }
        }
        let max_cost = layers.limit(Key::BudgetMaxCost);
        if let Some(limit) = max_cost {
            parent[Dimension::CostUsd] = limit;
        }
        let mut totals = preset.totals();
        let small = |key| layers.whole(key).and_then(|number| u32::try_from(number).ok());
        totals.delegations = small(Key::BudgetDelegations).unwrap_or(totals.delegations);
        totals.active = small(Key::BudgetActive).unwrap_or(totals.active);
        let depth = small(Key::BudgetDepth).unwrap_or(1);
        let max_cost_of_project =
            matches!(layers.origin(Key::BudgetMaxCost), Origin::ProjectFile(_));
        Self { preset, parent, totals, depth, max_cost, max_cost_of_project }
    }

    /// What the whole session may cost, where the user bounded it.
    pub fn session_cost(&self) -> Option<MicroUsd> {
        self.max_cost.and_then(Limit::finite).map(MicroUsd)
    }

    /// True if the user bounded the cost, so that a price must be known.
    pub fn cost_must_hold(&self) -> bool {
        self.session_cost().is_some() && !self.max_cost_of_project
    }

    /// The parent's budget with a model whose price is known or not. A limit on the cost that the
    /// user asked for cannot be held without a price, and is then an error.
    pub fn parent_for(&self, model: &str, priced: bool) -> Result<Budget, SettingsError> {
        match self.max_cost {
            _ if priced => Ok(self.parent),
            None | Some(Limit::Unlimited | Limit::Off) => Ok(self.parent.without_cost()),
            Some(Limit::Of(_)) if self.max_cost_of_project => Ok(self.parent.without_cost()),
            Some(Limit::Of(_)) => Err(SettingsError::Usage(format!(
                "{}: --max-cost cannot be held because the price of {model} is not known; leave it \
                 out, state the price under [prices] in config.toml, or bound the run with \
                 --max-turns or --budget",
                Code::InvalidBudget
            ))),
        }
    }
}

fn named(preset: Option<&str>) -> Preset {
    Preset::ALL.into_iter().find(|other| Some(other.name()) == preset).unwrap_or_default()
}

/// The ledger counts running time in ms, people write seconds.
fn in_unit(dimension: Dimension, limit: Limit) -> Limit {
    match (dimension, limit) {
        (Dimension::Duration, Limit::Of(seconds)) => Limit::Of(seconds.saturating_mul(1_000)),
        (_, limit) => limit,
    }
}

/// What a preset gives where a setting of the budget is not set, in the setting's own unit.
#[expect(clippy::cast_precision_loss, reason = "only compared")]
pub(super) fn of_preset(preset: Option<&str>, key: Key) -> Option<f64> {
    let preset = named(preset);
    if let Some((_, dimension)) = DIMENSIONS.iter().find(|(other, _)| *other == key) {
        let amount = preset.parent()[*dimension].finite()?;
        return Some(if *dimension == Dimension::Duration { amount / 1_000 } else { amount } as f64);
    }
    let dollars = preset.parent()[Dimension::CostUsd].finite().map(|cost| MicroUsd(cost).dollars());
    let others = [
        (Key::BudgetMaxCost, dollars?),
        (Key::BudgetDelegations, f64::from(preset.totals().delegations)),
        (Key::BudgetActive, f64::from(preset.totals().active)),
    ];
    others.into_iter().find(|(other, _)| *other == key).map(|(_, amount)| amount)
}

/// Reads `--timeout`, in seconds with or without a fraction.
pub(super) fn timeout(text: &str) -> Result<Duration, SettingsError> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds <= LONGEST_TIMEOUT_S);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.filter(|duration| duration.as_millis() > 0).ok_or_else(|| {
        SettingsError::Usage(format!("--timeout is `{text}`; it takes a number of seconds above 0"))
    })
}
