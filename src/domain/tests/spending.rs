//! The plan before each request.

use proptest::prelude::*;

use super::*;
use crate::domain::budget::{Budget, Dimension, Limit};
use crate::domain::ledger::{AccountId, Charge};
use crate::domain::report::Exhausted;
use crate::domain::spending::{Ask, Plan, hold_back, plan, room_for_results, worst_case};
use crate::domain::usage::{MicroUsd, Prices, Usage};

const ASK: Ask = Ask {
    prompt_tokens: 1_000,
    cached_tokens: 0,
    output_per_request: 8_192,
    model_max_output: 64_000,
    prices: Some(Prices::uncached(1_000_000, 4_000_000)),
};

/// A model whose cache is cheap to read and dear to write.
const CACHING: Prices =
    Prices { input: 1_000_000, output: 4_000_000, cache_read: 100_000, cache_write: 1_250_000 };

fn with(changes: &[(Dimension, u64)]) -> (Ledger, AccountId) {
    let mut limits = Preset::Normal.parent();
    for (dimension, amount) in changes {
        limits[*dimension] = Limit::Of(*amount);
    }
    Ledger::new(limits, Preset::Normal.totals())
}

#[test]
fn a_turn_asks_for_the_least_of_model_role_tokens_and_money() {
    type Row = (&'static [(Dimension, u64)], Ask, u64);
    let rows: &[Row] = &[
        (&[], ASK, 8_192),
        (&[], Ask { model_max_output: 4_096, ..ASK }, 4_096),
        (&[(Dimension::OutputTokens, 4_000)], ASK, 3_000),
        // 2 micro-dollars a token in and 4 out: the wrap-up keeps 1,000 + 4 x 1,024, the prompt
        // takes 1,000, the rest buys 2,000 tokens.
        (&[(Dimension::CostUsd, 14_096)], ASK, 2_000),
        (&[(Dimension::CostUsd, 1)], Ask { prices: Some(Prices::FREE), ..ASK }, 8_192),
        (&[(Dimension::CostUsd, 1)], Ask { prices: None, ..ASK }, 8_192),
    ];
    for (limits, ask, max_tokens) in rows {
        let (ledger, root) = with(limits);
        assert_eq!(plan(&ledger, root, ask), Plan::Turn { max_tokens: *max_tokens }, "{limits:?}");
    }
}

#[test]
fn what_is_short_makes_the_next_request_the_wrap_up_or_none_at_all() {
    let wrap_up = |max_tokens, because| Plan::WrapUp { max_tokens, because };
    let salvage = |because| Plan::Salvage { because };
    let rows = [
        (Dimension::InputTokens, 2_000, Plan::Turn { max_tokens: 8_192 }),
        (Dimension::InputTokens, 1_999, wrap_up(8_192, Exhausted::InputTokens)),
        (Dimension::InputTokens, 1_000, wrap_up(8_192, Exhausted::InputTokens)),
        (Dimension::InputTokens, 999, salvage(Exhausted::InputTokens)),
        (Dimension::OutputTokens, 1_024, Plan::Turn { max_tokens: 768 }),
        (Dimension::OutputTokens, 10, Plan::Turn { max_tokens: 8 }),
        (Dimension::OutputTokens, 1, wrap_up(1, Exhausted::OutputTokens)),
        (Dimension::CostUsd, 7_120, Plan::Turn { max_tokens: 256 }),
        (Dimension::CostUsd, 7_119, wrap_up(1_529, Exhausted::CostUsd)),
        (Dimension::CostUsd, 2_024, wrap_up(256, Exhausted::CostUsd)),
        (Dimension::CostUsd, 2_023, salvage(Exhausted::CostUsd)),
        (Dimension::Turns, 2, Plan::Turn { max_tokens: 8_192 }),
        (Dimension::Turns, 1, wrap_up(8_192, Exhausted::Turns)),
        (Dimension::Turns, 0, salvage(Exhausted::Turns)),
        (Dimension::ToolCalls, 0, wrap_up(8_192, Exhausted::ToolCalls)),
        (Dimension::Duration, 0, salvage(Exhausted::Duration)),
    ];
    for (dimension, amount, expected) in rows {
        let (ledger, root) = with(&[(dimension, amount)]);
        assert_eq!(plan(&ledger, root, &ASK), expected, "{dimension} {amount}");
    }
}

#[test]
fn turn_n_is_the_wrap_up_and_there_is_no_turn_after_it() {
    let (mut ledger, root) = with(&[(Dimension::Turns, 3)]);
    let mut plans = Vec::new();
    for _ in 0..4 {
        plans.push(plan(&ledger, root, &ASK));
        ledger.begin_turn(root);
    }
    assert!(matches!(plans[0], Plan::Turn { .. }) && matches!(plans[1], Plan::Turn { .. }));
    assert!(matches!(plans[2], Plan::WrapUp { because: Exhausted::Turns, .. }));
    assert_eq!(plans[3], Plan::Salvage { because: Exhausted::Turns });
}

#[test]
fn the_turns_of_all_descendants_bind_a_child_and_not_the_parent() {
    let totals = Totals { turns: 2, delegations: 4, active: 2 };
    let (mut ledger, root) = Ledger::new(Preset::Normal.parent(), totals);
    let child = ledger.open(root, Preset::Normal.child()).unwrap();
    let other = ledger.open(root, Preset::Normal.child()).unwrap();
    ledger.begin_turn(child);
    assert!(matches!(plan(&ledger, other, &ASK), Plan::Turn { .. }));
    ledger.begin_turn(child);
    let last = Plan::WrapUp { max_tokens: 8_192, because: Exhausted::TotalTurns };
    assert_eq!(plan(&ledger, other, &ASK), last);
    assert!(matches!(plan(&ledger, root, &ASK), Plan::Turn { .. }));
}

#[test]
fn the_hold_back_is_one_wrap_up_at_the_current_prompt() {
    let hold = hold_back(&ASK, Limit::Of(16_000));
    assert_eq!((hold.input_tokens, hold.output_tokens, hold.tool_calls), (1_000, 1_024, 0));
    assert_eq!(hold.cost, MicroUsd(1_000 + 4 * 1_024));
    assert_eq!(hold_back(&ASK, Limit::Of(400)).output_tokens, 100);
    assert_eq!(hold_back(&ASK, Limit::Unlimited).output_tokens, 1_024);
    assert_eq!(hold_back(&Ask { prices: None, ..ASK }, Limit::Of(400)).cost, MicroUsd(0));
}

#[test]
fn what_the_last_request_sent_is_priced_as_read_from_the_cache_but_for_a_wrap_up() {
    let ask = Ask { cached_tokens: 800, prices: Some(CACHING), ..ASK };
    assert_eq!(worst_case(&ask, 10).cost, MicroUsd(80 + 250 + 40));
    assert_eq!(worst_case(&Ask { cached_tokens: 2_000, ..ask }, 10).cost, MicroUsd(100 + 40));
    assert_eq!(hold_back(&ask, Limit::Of(400)).cost, MicroUsd(1_250 + 400));
    let plain = Ask { cached_tokens: 800, ..ASK };
    assert_eq!(worst_case(&plain, 10).cost, MicroUsd(1_000 + 40), "a provider without a cache");
    // The wrap-up keeps 1,250 + 4 x 1,024 and the prompt takes 330.
    let (ledger, root) = with(&[(Dimension::CostUsd, 1_250 + 4_096 + 330 + 4 * 300)]);
    assert_eq!(plan(&ledger, root, &ask), Plan::Turn { max_tokens: 300 });
    let uncached = Ask { cached_tokens: 0, ..ask };
    assert!(matches!(plan(&ledger, root, &uncached), Plan::WrapUp { .. }));
}

#[test]
fn results_are_given_the_room_that_the_next_request_is_planned_with() {
    // The dearest price of a prompt holds for both: 2 x 3,000 tokens in beside 1,024 + 256 out.
    let ask = Ask { prices: Some(CACHING), ..ASK };
    let (ledger, root) = with(&[(Dimension::CostUsd, 7_500 + 4 * 1_280)]);
    assert_eq!(room_for_results(&ledger, root, &ask, 0), Some(2_000));
    let grown = Ask { prompt_tokens: 3_000, ..ask };
    assert_eq!(plan(&ledger, root, &grown), Plan::Turn { max_tokens: 256 });
    let more = Ask { prompt_tokens: 3_001, ..ask };
    assert!(matches!(plan(&ledger, root, &more), Plan::WrapUp { .. }));
}

#[test]
fn reports_get_room_where_only_the_wrap_up_can_follow() {
    let (ledger, root) = with(&[(Dimension::InputTokens, 4_000)]);
    assert_eq!(room_for_results(&ledger, root, &ASK, 0), Some(1_000));
    assert_eq!(room_for_results(&ledger, root, &ASK, 2_700), Some(2_700));
    assert_eq!(room_for_results(&ledger, root, &ASK, 9_000), Some(3_000));
    let grown = Ask { prompt_tokens: 4_000, ..ASK };
    assert!(matches!(plan(&ledger, root, &grown), Plan::WrapUp { .. }));
}

#[test]
fn a_stale_hold_back_in_the_ledger_does_not_change_the_plan() {
    let (mut ledger, root) = with(&[]);
    let before = plan(&ledger, root, &ASK);
    let stale = Charge { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Charge::default() };
    ledger.set_hold_back(root, stale);
    assert_eq!(plan(&ledger, root, &ASK), before);
}

#[test]
fn results_get_the_room_that_the_next_request_and_its_wrap_up_leave() {
    let (ledger, root) = with(&[(Dimension::InputTokens, 10_000)]);
    assert_eq!(room_for_results(&ledger, root, &ASK, 0), Some(4_000));
    let (ledger, root) = with(&[(Dimension::InputTokens, 1_500)]);
    assert_eq!(room_for_results(&ledger, root, &ASK, 0), Some(0));
    // The next turn is the last: it needs no second wrap-up.
    let (ledger, root) = with(&[(Dimension::InputTokens, 10_000), (Dimension::Turns, 1)]);
    assert_eq!(room_for_results(&ledger, root, &ASK, 0), Some(9_000));
    let unlimited = PerDimension::from_fn(|_| Limit::Unlimited);
    let (ledger, root) = Ledger::new(unlimited, Preset::Normal.totals());
    assert_eq!(room_for_results(&ledger, root, &ASK, 0), None);
    // Money for 2 x 3,000 tokens in beside 1,024 + 256 out.
    let (ledger, root) = with(&[(Dimension::CostUsd, 6_000 + 4 * 1_280)]);
    assert_eq!(room_for_results(&ledger, root, &ASK, 0), Some(2_000));
}

/// One honest run: the provider stays within its worst case and results stay within their room.
fn run(limits: Budget, ask: Ask, growth: &[(u64, u64)]) -> Vec<Plan> {
    let (mut ledger, root) = Ledger::new(limits, Preset::Normal.totals());
    let mut ask = ask;
    let mut plans = Vec::new();
    for (written, result) in growth.iter().copied().cycle() {
        let next = plan(&ledger, root, &ask);
        plans.push(next);
        let (Plan::Turn { max_tokens } | Plan::WrapUp { max_tokens, .. }) = next else { break };
        assert!(max_tokens >= 1 && max_tokens <= ask.model_max_output.max(1));
        ledger.begin_turn(root);
        let worst = worst_case(&ask, max_tokens);
        ledger.reserve_request(root, worst);
        for dimension in Dimension::ALL {
            assert!(ledger.left_with_hold_back(root, dimension).covers(0), "{dimension}");
        }
        let usage = Usage {
            input_tokens: ask.prompt_tokens,
            output_tokens: written.min(max_tokens),
            cost_usd: Some(worst.cost),
            ..Usage::default()
        };
        ledger.charge_request(root, &usage);
        assert_eq!(ledger.overrun(root), None, "an honest request never overruns");
        if matches!(next, Plan::WrapUp { .. }) {
            break;
        }
        ledger.charge_calls(root, 1);
        ask.cached_tokens = ask.prompt_tokens;
        ask.prompt_tokens += usage.output_tokens;
        let most = room_for_results(&ledger, root, &ask, 0).unwrap_or(u64::MAX);
        ask.prompt_tokens += result.min(most);
    }
    plans
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn an_honest_run_ends_by_itself_within_its_budget(
        turns in 1..30_u64, calls in 1..40_u64, input in 1_000..200_000_u64,
        output in 4..40_000_u64, micro in 1_000..2_000_000_u64, prompt in 1..3_000_u64,
        prices in proptest::sample::select(vec![ASK.prices, Some(CACHING)]),
        growth in proptest::collection::vec((0..3_000_u64, 0..20_000_u64), 1..8),
    ) {
        let limits = PerDimension::from_fn(|dimension| Limit::Of(match dimension {
            Dimension::Turns => turns,
            Dimension::InputTokens => input,
            Dimension::OutputTokens => output,
            Dimension::ToolCalls => calls,
            Dimension::CostUsd => micro,
            Dimension::Duration => 1,
        }));
        let plans = run(limits, Ask { prompt_tokens: prompt, prices, ..ASK }, &growth);
        let requests = plans.iter().filter(|plan| !matches!(plan, Plan::Salvage { .. })).count();
        prop_assert!(u64::try_from(requests).unwrap() <= turns);
        let ended = !matches!(plans.last(), Some(Plan::Turn { .. }) | None);
        prop_assert!(ended);
    }

    #[test]
    fn a_child_that_writes_little_always_gets_to_report(
        input in 4_000..200_000_u64, prompt in 1..1_000_u64,
        results in proptest::collection::vec(0..50_000_u64, 1..6),
    ) {
        let mut limits = Preset::Normal.parent();
        limits[Dimension::InputTokens] = Limit::Of(input);
        let growth: Vec<(u64, u64)> = results.into_iter().map(|result| (0, result)).collect();
        let plans = run(limits, Ask { prompt_tokens: prompt, ..ASK }, &growth);
        let reported = matches!(plans.last(), Some(Plan::WrapUp { .. }));
        prop_assert!(reported, "{:?}", plans.last());
    }
}
