//! What the next run may spend: the limits as they were set, held to the price and to what the
//! session has left.

use super::Conversation;
use crate::domain::budget::{Budget, Dimension, Limit};
use crate::domain::command::BudgetChoice;
use crate::domain::event::{Fact, Level};

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
        self.fit_limits_to_price();
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

    /// Without a price there is nothing to bound; with one again, the preset's bound holds.
    pub(super) fn fit_limits_to_price(&mut self) {
        let cost = Dimension::CostUsd;
        if self.provider.identity().prices.is_none() {
            self.limits.parent = self.limits.parent.without_cost();
        } else if self.limits.parent[cost] == Limit::Off {
            self.limits.parent[cost] = self.limits.preset.parent()[cost];
        }
    }

    /// The next run's limits: what was set, and no more money than the session has left.
    pub(super) fn budget(&self) -> Budget {
        let mut budget = self.limits.parent;
        if let (Some(limit), Some(spent)) = (self.limits.session_cost, self.spent.cost_usd) {
            let left = limit.0.saturating_sub(spent.0);
            budget[Dimension::CostUsd] = match budget[Dimension::CostUsd] {
                Limit::Of(cost) => Limit::Of(cost.min(left)),
                Limit::Unlimited | Limit::Off => Limit::Of(left),
            };
        }
        budget
    }
}
