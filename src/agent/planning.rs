//! What the next request of a run may be: its size by estimate, what it may use, and what has to stay.
//! The arithmetic is the domain's; here it meets the run's history, its provider and its ledger.

use super::run::Run;
use super::turn::TurnPlan;
use crate::domain::budget::Dimension;
use crate::domain::report::Ending;
use crate::domain::spending::{self, Ask, Plan};
use crate::domain::usage::Usage;
use crate::provider::ToolChoice;

/// Tokens of the sentence that announces a wrap-up, which any turn may turn out to need.
const WRAP_UP_WORDS: u64 = 64;
/// One, in thousandths.
const ONE: u64 = 1_000;

/// What a run learned of how its provider counts.
#[derive(Debug)]
pub(super) struct Counting {
    /// What the provider counts for a thousand tokens of our estimate.
    scale: u64,
    /// Tokens of the last prompt, where the provider showed with it that it caches.
    cached_tokens: u64,
}

impl Default for Counting {
    fn default() -> Self {
        Self { scale: ONE, cached_tokens: 0 }
    }
}

impl Run {
    /// The size of the next prompt: our estimate, corrected by what the provider counted before.
    pub fn prompt_tokens(&self) -> u64 {
        self.prompt_tokens_with(0)
    }

    /// The same with so many tokens more, by our estimate.
    fn prompt_tokens_with(&self, more: u64) -> u64 {
        let estimate = self.shared.standing_tokens + self.history.estimated_tokens() + more;
        estimate.saturating_mul(self.counting.scale) / ONE + WRAP_UP_WORDS
    }

    /// The beginning of the next prompt is what the last one was, if that was answered.
    pub fn learn_cache(&mut self, last: &Usage) {
        let caches = last.cache_read_tokens > 0 || last.cache_write_tokens > 0;
        self.counting.cached_tokens = if caches { last.input_tokens } else { 0 };
    }

    /// The next prompt has another beginning.
    pub fn forget_cache(&mut self) {
        self.counting.cached_tokens = 0;
    }

    /// Learns from what the provider counted for a prompt of `estimated` tokens.
    pub fn learn_scale(&mut self, estimated: u64, counted: u64) {
        if estimated > 0 && counted > 0 {
            let scale = self.counting.scale.saturating_mul(counted) / estimated;
            self.counting.scale = scale.clamp(ONE / 2, ONE * 4);
        }
    }

    fn ask(&self) -> Ask {
        let identity = self.shared.provider.identity();
        Ask {
            prompt_tokens: self.prompt_tokens(),
            cached_tokens: self.counting.cached_tokens,
            output_per_request: self.shared.contract.output_per_request(),
            model_max_output: identity.max_output_tokens,
            prices: identity.prices,
        }
    }

    /// Tokens that the results of a batch may add, by our estimate; `None` without a bound. They may
    /// add `at_least` tokens if that leaves the wrap-up.
    pub fn room_for_results(&self, at_least: u64) -> Option<u64> {
        let ledger = self.shared.tree.ledger();
        let at_least = at_least.saturating_mul(self.counting.scale) / ONE;
        let counted =
            spending::room_for_results(&ledger, self.shared.account, &self.ask(), at_least)?;
        Some(counted.saturating_mul(ONE) / self.counting.scale)
    }

    /// Keeps a wrap-up after results of so many tokens, by our estimate, out of what children can be
    /// given.
    pub fn keep_wrap_up_after(&self, results: u64) {
        let ask = Ask { prompt_tokens: self.prompt_tokens_with(results), ..self.ask() };
        let mut ledger = self.shared.tree.ledger();
        let output_limit = ledger.limits(self.shared.account)[Dimension::OutputTokens];
        ledger.set_hold_back(self.shared.account, spending::hold_back(&ask, output_limit));
    }

    /// Whether the next request may be a normal turn.
    pub fn plan(&self) -> Result<TurnPlan, Ending> {
        let (account, ask) = (self.shared.account, self.ask());
        let mut ledger = self.shared.tree.ledger();
        ledger.set_elapsed_ms(account, self.shared.elapsed_ms());
        let output_limit = ledger.limits(account)[Dimension::OutputTokens];
        let held_back = spending::hold_back(&ask, output_limit);
        ledger.set_hold_back(account, held_back);
        let (max_tokens, because) = match spending::plan(&ledger, account, &ask) {
            Plan::Turn { max_tokens } => (max_tokens, self.forced),
            Plan::WrapUp { max_tokens, because } => {
                (max_tokens, Some(self.forced.unwrap_or(because)))
            }
            Plan::Salvage { because } => return Err(Ending::Exhausted(because)),
        };
        let of = ledger.limits(account)[Dimension::Turns].finite();
        let last = self.shared.steering.last_turn(because);
        drop(ledger);
        let (tool_choice, worst_case) = match last {
            Some(_) => (ToolChoice::None, spending::worst_case(&ask.uncached(), max_tokens)),
            None => (self.next_choice.clone(), spending::worst_case(&ask, max_tokens)),
        };
        Ok(TurnPlan {
            max_tokens,
            wrap_up: last,
            of,
            tool_choice,
            prompt_tokens: ask.prompt_tokens,
            worst_case,
            held_back,
            aside: None,
        })
    }

    /// Reserves another try of a request. Where what the tries before it used leaves too little for
    /// that, it asks for less, or becomes the wrap-up.
    pub(super) fn plan_again(&self, plan: &mut TurnPlan) -> Result<(), Ending> {
        let account = self.shared.account;
        let ask = Ask { prompt_tokens: plan.prompt_tokens, ..self.ask() };
        let mut ledger = self.shared.tree.ledger();
        if let Some(dimension) = ledger.overrun(account) {
            return Err(Ending::Overrun(dimension));
        }
        let again = spending::plan_again(&ledger, account, &ask, plan.wrap_up.is_some());
        let again = again.map_err(Ending::Exhausted)?;
        if let Some(because) = again.last {
            if plan.aside.is_some() {
                return Err(Ending::Exhausted(because));
            }
            plan.wrap_up = self.shared.steering.last_turn(Some(because));
            plan.tool_choice = ToolChoice::None;
        }
        plan.max_tokens = plan.max_tokens.min(again.max_tokens);
        let ask = if plan.wrap_up.is_some() { ask.uncached() } else { ask };
        plan.worst_case = spending::worst_case(&ask, plan.max_tokens);
        ledger.reserve_request(account, plan.worst_case);
        Ok(())
    }

    /// Reserves the request's worst case and counts its turn.
    pub fn begin_turn(&mut self, plan: &TurnPlan) {
        let mut ledger = self.shared.tree.ledger();
        ledger.reserve_request(self.shared.account, plan.worst_case);
        ledger.begin_turn(self.shared.account);
        drop(ledger);
        self.record.turns += 1;
        if plan.aside.is_none() {
            self.next_choice = ToolChoice::Auto;
        }
    }
}
