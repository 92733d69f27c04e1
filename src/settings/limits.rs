//! What a question may use, from the preset and the numbers that were typed.

use std::time::Duration;

use super::SettingsError;
use crate::cli::{BudgetName, Options};
use crate::domain::budget::{Budget, Dimension, Limit, Preset, Totals};
use crate::domain::usage::MicroUsd;
use crate::domain::violation::Code;

/// A `--timeout` beyond this many seconds, a year, is a typing error.
const LONGEST_TIMEOUT_S: f64 = 366.0 * 86_400.0;

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
    /// What the session may cost, where the user set it.
    pub max_cost: Option<Limit>,
}

impl Limits {
    pub(super) fn new(options: &Options) -> Result<Self, SettingsError> {
        let preset = preset(options.budget);
        let mut parent = preset.parent();
        if let Some(text) = &options.max_turns {
            parent[Dimension::Turns] = amount("--max-turns", text, whole)?;
        }
        let max_cost = options
            .max_cost
            .as_deref()
            .map(|text| amount("--max-cost", text, dollars))
            .transpose()?;
        if let Some(limit) = max_cost {
            parent[Dimension::CostUsd] = limit;
        }
        let mut totals = preset.totals();
        totals.delegations = options.max_delegations.unwrap_or(totals.delegations);
        totals.active = options.max_active.unwrap_or(totals.active);
        if totals.active == 0 {
            return Err(SettingsError::Usage(
                "--max-active is 0, so no child could ever run; to forbid delegation give \
                 --max-delegations 0"
                    .to_owned(),
            ));
        }
        Ok(Self { preset, parent, totals, max_cost })
    }

    /// What the whole session may cost, where the user bounded it.
    pub fn session_cost(&self) -> Option<MicroUsd> {
        self.max_cost.and_then(Limit::finite).map(MicroUsd)
    }

    /// The parent's budget with a model whose price is known or not. A limit on the cost that the
    /// user asked for cannot be held without a price, and is then an error.
    pub fn parent_for(&self, model: &str, priced: bool) -> Result<Budget, SettingsError> {
        match self.max_cost {
            _ if priced => Ok(self.parent),
            None | Some(Limit::Unlimited | Limit::Off) => Ok(self.parent.without_cost()),
            Some(Limit::Of(_)) => Err(SettingsError::Usage(format!(
                "{}: --max-cost cannot be held because the price of {model} is not known; leave it \
                 out, or bound the run with --max-turns or --budget",
                Code::InvalidBudget
            ))),
        }
    }
}

fn preset(name: Option<BudgetName>) -> Preset {
    match name {
        None | Some(BudgetName::Normal) => Preset::Normal,
        Some(BudgetName::Tight) => Preset::Tight,
        Some(BudgetName::Generous) => Preset::Generous,
    }
}

fn amount(
    flag: &str,
    text: &str,
    number: impl Fn(&str) -> Option<u64>,
) -> Result<Limit, SettingsError> {
    match number(text).filter(|amount| *amount > 0) {
        Some(amount) => Ok(Limit::Of(amount)),
        None if text == "unlimited" => Ok(Limit::Unlimited),
        None => Err(SettingsError::Usage(format!(
            "{}: {flag} is `{text}`; it takes a number above 0, or the word `unlimited`",
            Code::InvalidBudget
        ))),
    }
}

fn whole(text: &str) -> Option<u64> {
    text.parse().ok()
}

fn dollars(text: &str) -> Option<u64> {
    let number = text.strip_prefix('$').unwrap_or(text);
    MicroUsd::from_dollars(number.parse().ok()?).map(|amount| amount.0)
}

/// Reads `--timeout`, in seconds with or without a fraction.
pub(super) fn timeout(text: &str) -> Result<Duration, SettingsError> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds <= LONGEST_TIMEOUT_S);
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    duration.filter(|duration| duration.as_millis() > 0).ok_or_else(|| {
        SettingsError::Usage(format!("--timeout is `{text}`; it takes a number of seconds above 0"))
    })
}
