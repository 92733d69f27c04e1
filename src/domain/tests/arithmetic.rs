//! Money, tokens, limits: their arithmetic and their written forms.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::budget::{Budget, Dimension, Limit, Remaining};
use crate::domain::usage::{MicroUsd, Prices, Usage, estimate_tokens};

#[test]
fn dollars_round_up_to_a_micro_dollar_without_float_noise() {
    let rows = [
        (0.0, Some(0)),
        (1.1, Some(1_100_000)),
        (0.29, Some(290_000)),
        (0.000_000_1, Some(1)),
        (1e-300, Some(1)),
        (0.123_456_7, Some(123_457)),
        (-0.01, None),
        (f64::NAN, None),
        (f64::INFINITY, None),
        (1e300, None),
    ];
    for (dollars, micro) in rows {
        assert_eq!(MicroUsd::from_dollars(dollars).map(|money| money.0), micro, "{dollars}");
    }
}

#[test]
fn money_is_shown_with_two_digits_and_small_sums_with_four() {
    let shown = |micro| MicroUsd(micro).to_string();
    assert_eq!([shown(0), shown(2_100), shown(40_000)], ["$0.00", "$0.0021", "$0.04"]);
}

#[test]
fn prices_round_up_and_do_not_overflow() {
    let prices = Prices::uncached(3_000_000, 15_000_000);
    assert_eq!(prices.cost(1_000, 100), MicroUsd(4_500));
    assert_eq!(Prices::uncached(1, 0).cost(1, 0), MicroUsd(1));
    let most = Prices::uncached(u64::MAX, u64::MAX);
    assert_eq!(most.cost(u64::MAX, u64::MAX), MicroUsd(u64::MAX));
}

#[test]
fn usage_adds_up_and_an_unknown_cost_stays_unknown() {
    let mut sum = Usage::none();
    let priced = Usage { input_tokens: 5, cost_usd: Some(MicroUsd(7)), ..Usage::default() };
    sum += priced;
    sum += priced;
    assert_eq!((sum.input_tokens, sum.cost_usd), (10, Some(MicroUsd(14))));
    sum += Usage { estimated: true, ..Usage::default() };
    sum += priced;
    assert_eq!((sum.cost_usd, sum.estimated), (None, true));
}

#[test]
fn half_told_usage_is_completed_by_the_estimate_and_stays_marked() {
    let estimate =
        Usage { input_tokens: 90, output_tokens: 9, estimated: true, ..Usage::default() };
    let told = |input_tokens, output_tokens, estimated| Usage {
        input_tokens,
        output_tokens,
        estimated,
        ..Usage::default()
    };
    for (half, whole) in [
        (told(70, 0, true), told(70, 9, true)),
        (told(0, 7, true), told(90, 7, true)),
        (told(70, 0, false), told(70, 0, false)),
    ] {
        assert_eq!(half.completed_by(&estimate), whole);
    }
}

/// One row of the table of presets: turns, seconds, calls, input, output, micro-dollars.
fn row(budget: &Budget) -> [u64; 6] {
    let amount = |dimension: Dimension| budget[dimension].finite().unwrap();
    [
        amount(Dimension::Turns),
        amount(Dimension::Duration) / 1_000,
        amount(Dimension::ToolCalls),
        amount(Dimension::InputTokens),
        amount(Dimension::OutputTokens),
        amount(Dimension::CostUsd),
    ]
}

#[test]
fn the_presets_have_the_numbers_that_are_promised() {
    let (k, m) = (1_000, 1_000_000);
    let parents = [
        [10, 600, 120, m, 64 * k, 500_000],
        [40, 1_800, 400, 8 * m, 200 * k, 5 * m],
        [100, 7_200, 2_000, 40 * m, m, 25 * m],
    ];
    let children = [
        [6, 120, 20, 200 * k, 8 * k, 100_000],
        [20, 300, 60, m, 16 * k, 500_000],
        [60, 1_800, 200, 4 * m, 64 * k, 2_500_000],
    ];
    let testers = [300, 900, 3_600];
    let workers = [
        [8, 300, 20, 200 * k, 16 * k, 100_000],
        [30, 900, 60, m, 64 * k, 500_000],
        [100, 3_600, 200, 4 * m, 200 * k, 2_500_000],
    ];
    let totals = [(40, 4, 2), (200, 8, 4), (800, 32, 8)];
    for (index, preset) in Preset::ALL.into_iter().enumerate() {
        assert_eq!(row(&preset.parent()), parents[index], "{preset:?}");
        assert_eq!(row(&preset.child()), children[index], "{preset:?}");
        assert_eq!(row(&preset.worker()), workers[index], "{preset:?}");
        let mut tester = children[index];
        tester[1] = testers[index];
        assert_eq!(row(&preset.tester()), tester, "{preset:?}");
        let all = preset.totals();
        assert_eq!((all.turns, all.delegations, all.active), totals[index], "{preset:?}");
    }
}

#[test]
fn a_budget_is_written_in_dollars_ms_and_words() {
    let mut budget = Preset::Tight.child();
    budget[Dimension::Turns] = Limit::Unlimited;
    let written = serde_json::to_string(&budget).unwrap();
    assert_eq!(
        written,
        r#"{"turns":"unlimited","input_tokens":200000,"output_tokens":8000,"tool_calls":20,"cost_usd":0.1,"duration_ms":120000}"#
    );
    assert_eq!(serde_json::from_str::<Budget>(&written).unwrap(), budget);
    let off = serde_json::to_value(budget.without_cost()).unwrap();
    assert_eq!(off["cost_usd"], json!(null));
    assert_eq!(serde_json::from_value::<Budget>(off).unwrap(), budget.without_cost());
}

#[test]
fn a_budget_is_not_read_from_words_and_signs_that_mean_nothing() {
    let good = serde_json::to_value(Preset::Tight.child()).unwrap();
    for (field, bad) in [
        ("turns", json!("lots")),
        ("turns", json!(-1)),
        ("turns", json!(null)),
        ("cost_usd", json!(-0.5)),
        ("cost_usd", json!("cheap")),
        ("duration_ms", json!(1.5)),
    ] {
        let mut written = good.clone();
        written[field] = bad.clone();
        assert!(serde_json::from_value::<Budget>(written).is_err(), "{field}: {bad}");
    }
    let mut whole = good;
    whole["cost_usd"] = json!(2);
    let read = serde_json::from_value::<Budget>(whole).unwrap();
    assert_eq!(read[Dimension::CostUsd], Limit::Of(2_000_000));
}

#[test]
fn what_remains_is_written_with_its_sign_and_null_where_nothing_is_measured() {
    let (mut ledger, root) = Ledger::new(Preset::Tight.parent(), Preset::Tight.totals());
    ledger.charge_request(
        root,
        &Usage { output_tokens: 64_005, cost_usd: Some(MicroUsd(1)), ..Usage::default() },
    );
    let remaining = ledger.remaining(root);
    let written = serde_json::to_string(&remaining).unwrap();
    assert_eq!(
        written,
        r#"{"turns":10,"input_tokens":1000000,"output_tokens":-5,"tool_calls":120,"cost_usd":0.499999,"duration_ms":600000}"#
    );
    assert_eq!(serde_json::from_str::<Remaining>(&written).unwrap(), remaining);
    let (ledger, root) = Ledger::new(Preset::Tight.parent().without_cost(), totals());
    assert_eq!(serde_json::to_value(ledger.remaining(root)).unwrap()["cost_usd"], json!(null));
}

#[test]
fn the_presets_grow_and_a_child_fits_under_its_parent() {
    for preset in Preset::ALL {
        for dimension in Dimension::ALL {
            let parent = preset.parent()[dimension].finite();
            let reader = preset.child()[dimension].finite();
            assert!(reader < parent, "{} {dimension}", preset.name());
            for child in [preset.tester(), preset.worker()] {
                let child = child[dimension].finite();
                // A default that reaches its parent's is cut when a contract is made.
                assert!(child <= parent, "{} {dimension}", preset.name());
                assert!(child >= reader, "{} {dimension}", preset.name());
            }
        }
    }
    for pair in Preset::ALL.windows(2) {
        for dimension in Dimension::ALL {
            assert!(pair[0].parent()[dimension].finite() < pair[1].parent()[dimension].finite());
        }
        assert!(pair[0].totals().turns < pair[1].totals().turns);
    }
}

#[test]
fn ids_are_read_in_both_spellings_and_nothing_else() {
    assert_eq!("t3".parse(), Ok(TaskId(3)));
    assert_eq!("3".parse(), Ok(TaskId(3)));
    assert!("".parse::<TaskId>().is_err() && "tt3".parse::<TaskId>().is_err());
    assert!("t-1".parse::<TaskId>().is_err());
    assert_eq!(serde_json::to_string(&TaskId(3)).unwrap(), r#""t3""#);
}

#[test]
fn a_hash_is_the_known_one() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(Sha::of("").as_str(), empty);
    assert_eq!(Sha::of("").short(), "e3b0c442");
}

fn totals() -> Totals {
    Preset::Tight.totals()
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_budget_survives_its_written_form(
        numbers in proptest::array::uniform6(0..=crate::domain::allot::MAX_LIMIT), words in any::<u8>()
    ) {
        let budget = PerDimension::from_fn(|dimension| {
            if words >> (dimension as u8) & 1 == 1 {
                Limit::Unlimited
            } else {
                Limit::Of(numbers[dimension as usize])
            }
        });
        let written = serde_json::to_string(&budget).unwrap();
        prop_assert_eq!(serde_json::from_str::<Budget>(&written).unwrap(), budget);
    }

    #[test]
    fn money_survives_its_written_form(micro in 0..=crate::domain::allot::MAX_LIMIT) {
        let written = serde_json::to_string(&MicroUsd(micro)).unwrap();
        prop_assert_eq!(serde_json::from_str::<MicroUsd>(&written).unwrap(), MicroUsd(micro));
    }

    #[test]
    fn an_estimate_is_a_quarter_of_the_ascii_and_all_of_the_rest(text in any::<String>()) {
        let ascii = text.chars().filter(char::is_ascii).count();
        let wide = text.chars().count() - ascii;
        prop_assert_eq!(estimate_tokens(&text), (ascii.div_ceil(4) + wide) as u64);
    }
}
