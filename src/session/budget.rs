//! What the next run may spend: the limits as they were set, held to what the session has left, and no
//! bound on the cost where no price is known.

use super::Conversation;
use crate::domain::budget::{Budget, Dimension, Limit};
use crate::domain::command::BudgetChoice;
use crate::domain::event::{Fact, Level};
use crate::domain::violation::Code;
use crate::provider::Provider;

impl Conversation {
    pub(super) async fn set_budget(&mut self, choice: BudgetChoice) {
        match choice {
            BudgetChoice::Preset(preset) => {
                self.limits = self.limits.with_preset(preset);
            }
            BudgetChoice::Turns(turns) => {
                self.limits.parent[Dimension::Turns] = Limit::Of(turns.max(1));
            }
        }
        let turns = match self.limits.parent[Dimension::Turns] {
            Limit::Of(turns) => turns.to_string(),
            Limit::Unlimited | Limit::Off => "unlimited".to_owned(),
        };
        let text = format!(
            "the next run gets the budget {} with {turns} turns",
            self.limits.preset.name()
        );
        self.tell(Fact::notice(Level::Info, "BUDGET_SET", text)).await;
    }

    /// What the next run may use: what was set, without a bound on the cost where no price is known,
    /// and else with no more money than the session has left.
    pub(super) fn budget(&self) -> Budget {
        if self.provider.identity().prices.is_none() {
            return self.limits.parent.without_cost();
        }
        let mut budget = self.limits.parent;
        if let Some(bound) = self.limits.session_cost {
            let left = bound.0.saturating_sub(self.spent.0);
            budget[Dimension::CostUsd] = match budget[Dimension::CostUsd] {
                Limit::Of(cost) => Limit::Of(cost.min(left)),
                Limit::Unlimited | Limit::Off => Limit::Of(left),
            };
        }
        budget
    }

    /// Whether a bound on the cost that the user asked for could be held with this provider.
    pub(super) fn can_hold_cost(&self, provider: &dyn Provider) -> bool {
        !self.limits.cost_must_hold || provider.identity().prices.is_some()
    }

    pub(super) fn cost_not_held(&self, model: &str) -> Fact {
        let text = format!("{}; {} goes on", not_held(model), self.provider.identity().model);
        Fact::notice(Level::Warning, "MODEL_SET", text)
    }
}

/// Why a model does not answer in a session whose cost is bounded.
pub(super) fn not_held(model: &str) -> String {
    format!(
        "{}: the price of {model} is not known, so --max-cost cannot be held; state its price under \
         [prices] in config.toml, or begin a session without --max-cost",
        Code::InvalidBudget
    )
}
