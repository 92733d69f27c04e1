//! Before the spending: whether the next request may be a normal turn, must be the wrap-up, or
//! cannot be afforded at all. Pure arithmetic over what the ledger says is left.

use super::budget::{Dimension, Limit};
use super::ledger::{AccountId, Charge, Ledger, Left};
use super::report::Exhausted;
use super::usage::{MicroUsd, Prices};

/// Output tokens that a wrap-up is kept at most.
pub const WRAP_UP_TOKENS: u64 = 1_024;

/// Output tokens below which a request is not worth sending, unless the limit itself is small.
pub const LEAST_TOKENS: u64 = 256;

/// What is known about the next request before it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ask {
    /// The prompt's size by estimate, tool schemas included.
    pub prompt_tokens: u64,
    /// How much of its beginning the provider has in its cache: what the last request sent, where
    /// the provider caches. A wrap-up counts on nothing of it, since it forbids the tools, and some
    /// caches begin anew with that.
    pub cached_tokens: u64,
    /// Output tokens that the contract lets one request ask for.
    pub output_per_request: u64,
    /// Output tokens that the model gives at most.
    pub model_max_output: u64,
    /// What the model charges; `None` if unknown.
    pub prices: Option<Prices>,
}

impl Ask {
    /// The same request without any help of a cache.
    #[must_use]
    pub fn uncached(self) -> Self {
        Self { cached_tokens: 0, ..self }
    }

    fn cost(&self, output_tokens: u64) -> MicroUsd {
        let (cached, prompt) = (self.cached_tokens, self.prompt_tokens);
        self.prices.map_or(MicroUsd(0), |prices| prices.cost_after(cached, prompt, output_tokens))
    }

    /// Micro-dollars that the cache saves.
    fn saved(&self) -> u64 {
        self.uncached().cost(0).0.saturating_sub(self.cost(0).0)
    }
}

/// What the next request may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plan {
    /// A turn that may call tools.
    Turn {
        /// Output tokens to ask for.
        max_tokens: u64,
    },
    /// The last request: no tools, report what there is.
    WrapUp {
        /// Output tokens to ask for.
        max_tokens: u64,
        /// What made it the last.
        because: Exhausted,
    },
    /// No request at all: the report is built from what was recorded.
    Salvage {
        /// What is missing.
        because: Exhausted,
    },
}

/// What one wrap-up request takes: the prompt as it is now, and output tokens of a quarter of the
/// run's limit, at most [`WRAP_UP_TOKENS`].
pub fn hold_back(ask: &Ask, output_limit: Limit) -> Charge {
    worst_case(&ask.uncached(), quarter_or(WRAP_UP_TOKENS, output_limit))
}

/// What a request uses at most, if the prompt's estimate holds.
pub fn worst_case(ask: &Ask, max_tokens: u64) -> Charge {
    Charge {
        input_tokens: ask.prompt_tokens,
        output_tokens: max_tokens,
        tool_calls: 0,
        cost: ask.cost(max_tokens),
    }
}

/// What the next request of this run may be. The hold-back is measured here from `ask`, so a stale
/// one in the ledger does no harm.
pub fn plan(ledger: &Ledger, account: AccountId, ask: &Ask) -> Plan {
    if let Some(because) = spent(ledger, account) {
        return Plan::Salvage { because };
    }
    if let Some(because) = last_turn(ledger, account) {
        return wrap_up(ledger, account, ask, because);
    }
    let output_limit = ledger.limits(account)[Dimension::OutputTokens];
    match affordable(ledger, account, ask, &hold_back(ask, output_limit)) {
        Ok(max_tokens) => Plan::Turn { max_tokens },
        Err(because) => wrap_up(ledger, account, ask, because),
    }
}

/// What another try of a request may be whose turn is counted already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Again {
    /// Output tokens to ask for.
    pub max_tokens: u64,
    /// What makes it the wrap-up, if it was none before.
    pub last: Option<Exhausted>,
}

/// What another try of a request may be after the tries before it were charged, or what is missing
/// even for a wrap-up.
pub fn plan_again(
    ledger: &Ledger,
    account: AccountId,
    ask: &Ask,
    is_wrap_up: bool,
) -> Result<Again, Exhausted> {
    let in_full = |last| {
        let max_tokens = affordable(ledger, account, &ask.uncached(), &Charge::default())?;
        Ok(Again { max_tokens, last })
    };
    if is_wrap_up {
        return in_full(None);
    }
    let output_limit = ledger.limits(account)[Dimension::OutputTokens];
    match affordable(ledger, account, ask, &hold_back(ask, output_limit)) {
        Ok(max_tokens) => Ok(Again { max_tokens, last: None }),
        Err(because) => in_full(Some(because)),
    }
}

/// Tokens that the results of a batch may add to the prompt so that the next request and its
/// wrap-up still fit. They may add `at_least` tokens where only the wrap-up fits then: the next
/// request is that. `ask` describes the prompt without those results. `None` if nothing bounds it.
pub fn room_for_results(
    ledger: &Ledger,
    account: AccountId,
    ask: &Ask,
    at_least: u64,
) -> Option<u64> {
    let output_limit = ledger.limits(account)[Dimension::OutputTokens];
    let wrap_up = quarter_or(WRAP_UP_TOKENS, output_limit);
    let for_wrap_up = room(ledger, account, &ask.uncached(), 1, wrap_up)?;
    if last_turn(ledger, account).is_some() {
        return Some(for_wrap_up);
    }
    let output = wrap_up + quarter_or(LEAST_TOKENS, output_limit);
    let for_both = room(ledger, account, ask, 2, output)?;
    Some(for_both.max(for_wrap_up.min(at_least)))
}

/// Tokens that can be added to each of so many requests, which have so much output together. The
/// first of them has the help of the cache.
fn room(ledger: &Ledger, account: AccountId, ask: &Ask, requests: u64, output: u64) -> Option<u64> {
    let by_tokens = positive(ledger.left_with_hold_back(account, Dimension::InputTokens));
    let by_money = ask.prices.filter(|prices| prices.prompt() > 0).and_then(|prices| {
        let left = positive(ledger.left_with_hold_back(account, Dimension::CostUsd))?;
        let for_input = left.saturating_sub(prices.cost(0, output).0).saturating_add(ask.saved());
        Some(buys(for_input, prices.prompt()))
    });
    let input = [by_tokens, by_money].into_iter().flatten().min()?;
    Some((input / requests).saturating_sub(ask.prompt_tokens))
}

/// What leaves no request at all.
fn spent(ledger: &Ledger, account: AccountId) -> Option<Exhausted> {
    let out = |dimension| !ledger.left(account, dimension).covers(1);
    [Dimension::Duration, Dimension::Turns].into_iter().find(|d| out(*d)).map(Exhausted::from)
}

/// What makes the next turn the last, whatever it costs.
fn last_turn(ledger: &Ledger, account: AccountId) -> Option<Exhausted> {
    if !ledger.left(account, Dimension::Turns).covers(2) {
        return Some(Exhausted::Turns);
    }
    if !ledger.left(account, Dimension::ToolCalls).covers(1) {
        return Some(Exhausted::ToolCalls);
    }
    let total = ledger.is_descendant(account) && ledger.descendant_turns_left() == 0;
    total.then_some(Exhausted::TotalTurns)
}

fn wrap_up(ledger: &Ledger, account: AccountId, ask: &Ask, because: Exhausted) -> Plan {
    match affordable(ledger, account, &ask.uncached(), &Charge::default()) {
        Ok(max_tokens) => Plan::WrapUp { max_tokens, because },
        Err(because) => Plan::Salvage { because },
    }
}

/// Output tokens that a request may ask for when `kept` has to stay, or what is missing.
fn affordable(
    ledger: &Ledger,
    account: AccountId,
    ask: &Ask,
    kept: &Charge,
) -> Result<u64, Exhausted> {
    let left = |dimension| {
        positive(ledger.left_with_hold_back(account, dimension))
            .map(|amount| amount.saturating_sub(kept.amount(dimension)))
    };
    if left(Dimension::InputTokens).is_some_and(|input| input < ask.prompt_tokens) {
        return Err(Exhausted::InputTokens);
    }
    let least = quarter_or(LEAST_TOKENS, ledger.limits(account)[Dimension::OutputTokens]);
    let wanted = ask.output_per_request.min(ask.model_max_output).max(1);
    let by_limit = left(Dimension::OutputTokens).unwrap_or(u64::MAX);
    if by_limit < least {
        return Err(Exhausted::OutputTokens);
    }
    let by_money = match (left(Dimension::CostUsd), ask.prices) {
        (Some(money), Some(prices)) => {
            money.checked_sub(ask.cost(0).0).map(|rest| buys(rest, prices.output))
        }
        (None, _) | (_, None) => Some(u64::MAX),
    };
    match by_money {
        Some(tokens) if tokens >= least.min(wanted) => Ok(wanted.min(by_limit).min(tokens)),
        Some(_) | None => Err(Exhausted::CostUsd),
    }
}

/// Tokens that so many micro-dollars buy at a price per million.
fn buys(micro_usd: u64, per_million: u64) -> u64 {
    let tokens = (u128::from(micro_usd) * 1_000_000).checked_div(u128::from(per_million));
    tokens.and_then(|tokens| u64::try_from(tokens).ok()).unwrap_or(u64::MAX)
}

/// A quarter of a run's output limit, at most `most` and at least one token.
fn quarter_or(most: u64, output_limit: Limit) -> u64 {
    output_limit.finite().map_or(most, |limit| (limit / 4).clamp(1, most))
}

/// What is left, nothing after an overrun; `None` without a bound.
fn positive(left: Left) -> Option<u64> {
    left.finite().map(|amount| u64::try_from(amount).unwrap_or(0))
}
