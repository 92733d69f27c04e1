//! The ninth check: which budget a child gets out of what its parent has left.
//!
//! What is asked for is judged and never changed, but for the turns that all descendants share;
//! what is left out comes from the role and is cut to stay below the parent.

use super::budget::{Budget, Dimension, Limit, PerDimension, Preset};
use super::event::Share;
use super::grant::Grant;
use super::ledger::Left;
use super::preflight::lower_of;
use super::request::BudgetRequest;
use super::role::Role;
use super::usage::MicroUsd;
use super::violation::{Code, Violation};

/// The largest number that a limit may be: every integer up to it survives JSON everywhere, and
/// as micro-dollars also when it is written in dollars.
pub const MAX_LIMIT: u64 = 1 << 50;

/// Turns, calls and output tokens below which a cut default is not worth a child.
const LEAST_TURNS: u64 = 2;
const LEAST_CALLS: u64 = 5;
const LEAST_OUTPUT: u64 = 2_000;

/// The time that a default leaves a parent to read the report and answer: a tenth of what it has
/// left, at most 30 s.
const MOST_TIME_TO_ANSWER_MS: u64 = 30_000;

/// What a child gets, and which part of the parent's remaining that is.
#[derive(Debug)]
pub(super) struct Allotment {
    pub(super) budget: Budget,
    pub(super) share: Share,
}

/// Judges what was asked for and fills the rest, and cuts all of it to the ceiling, if there is one.
/// Violations come in the order of [`Dimension::ALL`].
pub(super) fn allot(
    grant: &Grant<'_>,
    asked: BudgetRequest,
    role: Option<&Role>,
    first_prompt: u64,
    ceiling: Option<&Budget>,
) -> Result<Allotment, Vec<Violation>> {
    let mut violations = Vec::new();
    let budget = PerDimension::from_fn(|dimension| {
        let limit = match amount_asked(&asked, dimension) {
            Some(number) => judge(grant, dimension, number),
            None => fill(grant, dimension, role, first_prompt),
        };
        let limit = limit.unwrap_or_else(|message| {
            let field = format!("budget.{}", dimension.field());
            violations.push(Violation::new(Code::InvalidBudget, field, message));
            Limit::Of(0)
        });
        ceiling.map_or(limit, |ceiling| lower_of(limit, ceiling[dimension]))
    });
    if violations.is_empty() {
        Ok(Allotment { budget, share: share(&budget, &grant.remaining) })
    } else {
        Err(violations)
    }
}

fn amount_asked(asked: &BudgetRequest, dimension: Dimension) -> Option<f64> {
    match dimension {
        Dimension::Turns => asked.turns,
        Dimension::InputTokens => asked.input_tokens,
        Dimension::OutputTokens => asked.output_tokens,
        Dimension::ToolCalls => asked.tool_calls,
        Dimension::CostUsd => asked.cost_usd,
        Dimension::Duration => asked.duration_s,
    }
}

/// What the parent has left of a dimension for this child: money is off where either of them has
/// no known price.
fn left_for_child(grant: &Grant<'_>, dimension: Dimension) -> Left {
    match dimension {
        Dimension::CostUsd if !grant.endpoint.priced => Left::Off,
        Dimension::Turns
        | Dimension::InputTokens
        | Dimension::OutputTokens
        | Dimension::ToolCalls
        | Dimension::CostUsd
        | Dimension::Duration => grant.remaining[dimension],
    }
}

/// A limit that was asked for: finite, above zero, whole where it counts something, and strictly
/// below what the parent has left.
fn judge(grant: &Grant<'_>, dimension: Dimension, number: f64) -> Result<Limit, String> {
    let field = dimension.field();
    let left = left_for_child(grant, dimension);
    if left == Left::Off {
        return Err(format!("{field} cannot be bounded: the price of the model is not known"));
    }
    let shown = shown_number(number);
    let refuse = |why: &str| Err(format!("{field} {shown} {why}; {}", may_ask(dimension, left)));
    let amount = match to_amount(dimension, number) {
        Ok(amount) => amount,
        Err(why) => return refuse(why),
    };
    match left {
        Left::Of(left) if u64::try_from(left).map_or(true, |left| amount >= left) => {
            refuse("is not below what the parent has left")
        }
        Left::Of(_) | Left::Unlimited | Left::Off => cut_turns(grant, dimension, amount),
    }
}

/// A number of a request in the dimension's unit, a part of a unit rounded up.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the range is checked first, and the largest limit is exact"
)]
fn to_amount(dimension: Dimension, number: f64) -> Result<u64, &'static str> {
    if !number.is_finite() || number <= 0.0 {
        return Err("is not a finite number above 0");
    }
    let amount = match dimension {
        Dimension::CostUsd => {
            MicroUsd::from_dollars(number).map_or(f64::INFINITY, |money| money.0 as f64)
        }
        Dimension::Duration => (number * 1e3).ceil(),
        Dimension::Turns
        | Dimension::InputTokens
        | Dimension::OutputTokens
        | Dimension::ToolCalls => number,
    };
    if amount > MAX_LIMIT as f64 {
        return Err("is too large");
    }
    if amount.fract() > 0.0 {
        return Err("is not a whole number");
    }
    Ok(amount as u64)
}

/// A limit that was left out: the role's, cut below what the parent has left.
fn fill(
    grant: &Grant<'_>,
    dimension: Dimension,
    role: Option<&Role>,
    first_prompt: u64,
) -> Result<Limit, String> {
    let left = left_for_child(grant, dimension);
    if left == Left::Off {
        return Ok(Limit::Off);
    }
    let usual = usual(role, dimension);
    let below_parent = match left {
        Left::Of(left) => {
            let left = u64::try_from(left).unwrap_or(0);
            left.saturating_sub(kept_by_parent(dimension, left))
        }
        Left::Unlimited | Left::Off => MAX_LIMIT,
    };
    let limit = cut_turns(grant, dimension, usual.min(below_parent))?;
    let amount = limit.finite().unwrap_or(0);
    let least = match dimension {
        Dimension::Turns => LEAST_TURNS,
        Dimension::ToolCalls => LEAST_CALLS,
        Dimension::OutputTokens => LEAST_OUTPUT,
        Dimension::InputTokens => first_prompt.saturating_mul(2),
        Dimension::CostUsd | Dimension::Duration => 1,
    };
    if amount < usual && amount < least {
        return Err(format!(
            "not enough {dimension} left to delegate: a child would get {}, the least that is \
             worth it is {}; do it yourself, or ask for less than that on purpose",
            shown_amount(dimension, amount),
            shown_amount(dimension, least),
        ));
    }
    Ok(limit)
}

/// What a default leaves of the parent's remaining. What a parent needs of tokens and money to answer
/// is held back in its account and is no part of `left`.
fn kept_by_parent(dimension: Dimension, left: u64) -> u64 {
    match dimension {
        Dimension::Duration => (left / 10).clamp(1, MOST_TIME_TO_ANSWER_MS),
        Dimension::Turns
        | Dimension::InputTokens
        | Dimension::OutputTokens
        | Dimension::ToolCalls
        | Dimension::CostUsd => 1,
    }
}

/// What a child gets where nobody says otherwise: always a number, whatever a host's role says.
fn usual(role: Option<&Role>, dimension: Dimension) -> u64 {
    let usual = role.and_then(|role| role.budget[dimension].finite());
    usual
        .or_else(|| Preset::default().child()[dimension].finite())
        .unwrap_or(MAX_LIMIT)
        .clamp(1, MAX_LIMIT)
}

/// Turns are cut to what is left of all descendants' turns, asked for or not. With none left the
/// request is refused by a check of its own; no limit of zero is made here.
fn cut_turns(grant: &Grant<'_>, dimension: Dimension, amount: u64) -> Result<Limit, String> {
    let most = match dimension {
        Dimension::Turns => grant.totals.turns.saturating_sub(grant.descendant_turns),
        Dimension::InputTokens
        | Dimension::OutputTokens
        | Dimension::ToolCalls
        | Dimension::CostUsd
        | Dimension::Duration => u64::MAX,
    };
    match (amount, most) {
        (0, _) => Err(format!("the parent has no {dimension} left to give to a child")),
        (amount, 0) => Ok(Limit::Of(amount)),
        (amount, most) => Ok(Limit::Of(amount.min(most))),
    }
}

fn may_ask(dimension: Dimension, left: Left) -> String {
    let field = dimension.field();
    match left {
        Left::Of(left) => match u64::try_from(left) {
            Ok(left) if left > 1 => {
                format!("ask for {field} below {}", shown_amount(dimension, left))
            }
            Ok(_) | Err(_) => format!("the parent has no {field} left to give"),
        },
        Left::Unlimited => format!("ask for {field} as a plain number"),
        Left::Off => format!("leave {field} out"),
    }
}

/// An amount in the unit that a request uses.
fn shown_amount(dimension: Dimension, amount: u64) -> String {
    match dimension {
        Dimension::CostUsd => format!("{}", MicroUsd(amount).dollars()),
        Dimension::Duration => format!("{}.{:03}", amount / 1_000, amount % 1_000),
        Dimension::Turns
        | Dimension::InputTokens
        | Dimension::OutputTokens
        | Dimension::ToolCalls => amount.to_string(),
    }
}

/// A number as the model wrote it, without the three hundred digits of an absurd one.
fn shown_number(number: f64) -> String {
    if number.abs() < 1e15 && (number == 0.0 || number.abs() > 1e-6) {
        format!("{number}")
    } else {
        format!("{number:e}")
    }
}

fn share(budget: &Budget, remaining: &PerDimension<Left>) -> Share {
    let part = |dimension: Dimension| part_of(budget[dimension], remaining[dimension]);
    Share {
        turns: part(Dimension::Turns),
        input_tokens: part(Dimension::InputTokens),
        output_tokens: part(Dimension::OutputTokens),
        tool_calls: part(Dimension::ToolCalls),
        cost_usd: part(Dimension::CostUsd),
        duration_ms: part(Dimension::Duration),
    }
}

/// To six digits: enough for a gauge, and exact when read back.
#[expect(clippy::cast_precision_loss, reason = "a share is for people")]
fn part_of(limit: Limit, left: Left) -> Option<f64> {
    let left = left.finite().filter(|left| *left > 0)?;
    let part = limit.finite()? as f64 / left as f64;
    Some((part * 1e6).round() / 1e6)
}
