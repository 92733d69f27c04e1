//! The ninth check: what a child may spend out of what its parent has left.

use super::*;
use crate::domain::budget::{Dimension, Limit};
use crate::domain::request::BudgetRequest;

#[test]
fn an_asked_limit_that_is_zero_equal_larger_or_absurd_is_refused() {
    let host = Host::new();
    for dimension in Dimension::ALL {
        let left = host.remaining[dimension].finite().unwrap();
        let unit = match dimension {
            Dimension::CostUsd => 1e6,
            Dimension::Duration => 1e3,
            Dimension::Turns
            | Dimension::InputTokens
            | Dimension::OutputTokens
            | Dimension::ToolCalls => 1.0,
        };
        #[expect(clippy::cast_precision_loss, reason = "small numbers")]
        let equal = left as f64 / unit;
        for number in [0.0, -0.0, -1.0, equal, equal + 1.0, 1e300, -1e300, f64::MAX, 5e18] {
            let refusal = host.narrow(&with_limit(dimension, number)).unwrap_err();
            let field = format!("budget.{}", dimension.field());
            assert_eq!(broken(&refusal), [(Code::InvalidBudget, field.as_str())], "{number}");
            assert!(refusal.to_string().len() < 300, "{refusal}");
        }
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refusal = host.narrow(&with_limit(dimension, number)).unwrap_err();
            assert_eq!(refusal.first().code, Code::InvalidBudget, "{number}");
        }
        // The largest step below the parent is fine.
        let below = host.narrow(&with_limit(dimension, equal - 1.0 / unit)).unwrap();
        assert_eq!(below.budget()[dimension].finite(), Some(u64::try_from(left - 1).unwrap()));
    }
}

#[test]
fn half_a_turn_is_no_turn_and_half_a_second_is() {
    let host = Host::new();
    for dimension in
        [Dimension::Turns, Dimension::InputTokens, Dimension::OutputTokens, Dimension::ToolCalls]
    {
        let refusal = host.narrow(&with_limit(dimension, 2.5)).unwrap_err();
        assert_eq!(refusal.first().code, Code::InvalidBudget, "{dimension}");
    }
    let seconds = host.narrow(&with_limit(Dimension::Duration, 0.5)).unwrap();
    assert_eq!(seconds.budget()[Dimension::Duration].finite(), Some(500));
    let cents = host.narrow(&with_limit(Dimension::CostUsd, 1.1)).unwrap();
    assert_eq!(cents.budget()[Dimension::CostUsd].finite(), Some(1_100_000));
}

#[test]
fn under_an_unlimited_parent_a_limit_only_has_to_be_countable() {
    let mut host = Host::new();
    host.remaining = PerDimension::from_fn(|_| Left::Unlimited);
    for dimension in Dimension::ALL {
        let refusal = host.narrow(&with_limit(dimension, 1e300)).unwrap_err();
        assert_eq!(refusal.first().code, Code::InvalidBudget, "{dimension}");
    }
    let contract = host.narrow(&request()).unwrap();
    assert_eq!(*contract.budget(), Preset::Normal.child());
    assert_eq!(contract.share().unwrap().turns, None);
}

#[test]
fn a_cost_limit_with_an_unknown_price_is_refused_and_without_one_cost_is_off() {
    let mut host = Host::new();
    host.endpoint.priced = false;
    let refusal = host.narrow(&with_limit(Dimension::CostUsd, 0.1)).unwrap_err();
    assert_eq!(broken(&refusal), [(Code::InvalidBudget, "budget.cost_usd")]);
    let contract = host.narrow(&request()).unwrap();
    assert_eq!(contract.budget()[Dimension::CostUsd], Limit::Off);
    assert_eq!(contract.share().unwrap().cost_usd, None);
}

#[test]
fn what_is_left_out_comes_from_the_role_and_is_cut_below_the_parent() {
    let mut host = Host::new();
    let contract = host.narrow(&request()).unwrap();
    assert_eq!(*contract.budget(), Preset::Normal.child());
    assert_eq!(contract.role(), "researcher");
    assert_eq!(contract.tools(), ["list_files", "read_file", "search"]);
    assert_eq!(contract.permissions(), &BTreeSet::from([Permission::Read]));
    assert_eq!(contract.paths(), [PathScope::all()]);
    assert!(contract.context().is_empty());

    host.remaining[Dimension::Turns] = Left::Of(5);
    host.remaining[Dimension::Duration] = Left::Of(90_000);
    let contract = host.narrow(&request()).unwrap();
    assert_eq!(contract.budget()[Dimension::Turns].finite(), Some(4));
    assert_eq!(contract.budget()[Dimension::Duration].finite(), Some(81_000));
    assert_eq!(contract.share().unwrap().turns, Some(0.8));
}

#[test]
fn a_default_that_is_cut_too_small_is_refused_and_the_same_number_asked_for_is_not() {
    let rows = [
        (Dimension::Turns, 2, 1.0),
        (Dimension::ToolCalls, 5, 4.0),
        (Dimension::OutputTokens, 2_000, 1_999.0),
        (Dimension::InputTokens, 1_830, 1_000.0),
        (Dimension::CostUsd, 1, 0.0),
        (Dimension::Duration, 1, 0.0),
    ];
    for (dimension, left, less) in rows {
        let mut host = Host::new();
        host.remaining[dimension] = Left::Of(left);
        let refusal = host.narrow(&request()).unwrap_err();
        let field = format!("budget.{}", dimension.field());
        assert_eq!(broken(&refusal), [(Code::InvalidBudget, field.as_str())], "{refusal}");
        assert!(refusal.to_string().contains("left to"), "{refusal}");
        if less > 0.0 {
            assert!(host.narrow(&with_limit(dimension, less)).is_ok(), "{dimension}");
        }
    }
}

#[test]
fn the_first_prompt_counts_the_overhead_the_texts_and_the_snippets() {
    let mut host = Host::new();
    host.overhead = 1_000;
    let big = "word ".repeat(4_000);
    host.store.put("big", SnippetKind::Note, "the model", big, Sensitivity::Normal);
    host.remaining[Dimension::InputTokens] = Left::Of(10_000);
    assert!(host.narrow(&request()).is_ok());
    let with_big = TaskRequest { context_keys: strings(&["big"]), ..request() };
    let refusal = host.narrow(&with_big).unwrap_err();
    assert_eq!(broken(&refusal), [(Code::InvalidBudget, "budget.input_tokens")]);
}

#[test]
fn turns_are_cut_to_what_all_descendants_have_left_asked_for_or_not() {
    let mut host = Host::new();
    host.descendant_turns = host.totals.turns - 3;
    assert_eq!(host.narrow(&request()).unwrap().budget()[Dimension::Turns].finite(), Some(3));
    let asked = with_limit(Dimension::Turns, 10.0);
    assert_eq!(host.narrow(&asked).unwrap().budget()[Dimension::Turns].finite(), Some(3));
}

#[test]
fn an_overdrawn_parent_gives_nothing() {
    let mut host = Host::new();
    for dimension in Dimension::ALL {
        for left in [0, -1, i64::MIN] {
            host.remaining[dimension] = Left::Of(left);
            assert_eq!(host.narrow(&request()).unwrap_err().first().code, Code::InvalidBudget);
            let asked = with_limit(dimension, 1.0);
            assert_eq!(host.narrow(&asked).unwrap_err().first().code, Code::InvalidBudget);
        }
        host.remaining[dimension] = Host::new().remaining[dimension];
    }
}

/// The limits of a request, with some of them set.
#[expect(clippy::unnecessary_wraps, reason = "the fields it fills are optional")]
pub(super) fn ask(set: impl FnOnce(&mut BudgetRequest)) -> Option<BudgetRequest> {
    let mut asked = BudgetRequest::default();
    set(&mut asked);
    Some(asked)
}

/// The plain request with one limit asked for, in the unit of the request.
pub(super) fn with_limit(dimension: Dimension, number: f64) -> TaskRequest {
    let budget = ask(|asked| match dimension {
        Dimension::Turns => asked.turns = Some(number),
        Dimension::InputTokens => asked.input_tokens = Some(number),
        Dimension::OutputTokens => asked.output_tokens = Some(number),
        Dimension::ToolCalls => asked.tool_calls = Some(number),
        Dimension::CostUsd => asked.cost_usd = Some(number),
        Dimension::Duration => asked.duration_s = Some(number),
    });
    TaskRequest { budget, ..request() }
}
