//! What a person may make of a delegation before it starts: less in every dimension, and more in none.

use proptest::prelude::*;

use super::never_wider::{assert_not_wider, wish};
use super::*;
use crate::domain::budget::{Dimension, Limit};
use crate::domain::guidance::GuidanceFile;
use crate::domain::preflight::{Amendment, AmendmentError, PreflightPolicy, step_down, step_up};

fn lowered(dimension: Dimension, amount: u64) -> PerDimension<Option<u64>> {
    let mut lowered = PerDimension::default();
    lowered[dimension] = Some(amount);
    lowered
}

fn keys(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn with_context() -> TaskRequest {
    TaskRequest { context_keys: strings(&["request", "rules"]), ..request() }
}

/// A remark of the project's on agents, so that the contract has rules that nobody chose.
fn ruled(host: &mut Host) {
    let file = GuidanceFile {
        path: "AGENTS.md".to_owned(),
        folder: PathScope::all(),
        text: Ok("Keep it small.".to_owned()),
        bytes: 14,
    };
    host.guidance = Guidance { files: vec![file] };
}

fn narrow_shown(
    host: &Host,
    request: &TaskRequest,
    shown: &Contract,
    less: &Amendment,
) -> Result<Contract, Refusal> {
    Contract::narrow_shown(&host.grant(), request, issue(), shown, less)
}

#[test]
fn what_would_be_more_is_no_amendment() {
    let mut host = Host::new();
    host.remaining[Dimension::OutputTokens] = Left::Of(9_000);
    let shown = host.narrow(&with_context()).unwrap().view();
    let budget = |dimension, amount| Amendment::of(&shown, &lowered(dimension, amount), []);
    for dimension in Dimension::ALL {
        let limit = shown.budget[dimension].finite().unwrap();
        assert_eq!(
            budget(dimension, limit + 1),
            Err(AmendmentError::Raised { dimension, shown: limit, asked: limit + 1 })
        );
        assert_eq!(budget(dimension, 0), Err(AmendmentError::Zero(dimension)));
        assert!(budget(dimension, limit).unwrap().is_none(), "as it was shown is no change");
        assert_eq!(budget(dimension, 1).unwrap().lowered(dimension), Some(1));
    }
    let drop = |words: &[&str]| Amendment::of(&shown, &PerDimension::default(), keys(words));
    assert_eq!(drop(&["secret"]), Err(AmendmentError::UnknownKey("secret".to_owned())));
    assert_eq!(drop(&["request"]).unwrap().dropped().len(), 1);
    host.endpoint.priced = false;
    let unpriced = host.narrow(&request()).unwrap().view();
    let cost = Amendment::of(&unpriced, &lowered(Dimension::CostUsd, 1), []);
    assert_eq!(cost, Err(AmendmentError::NoLimit(Dimension::CostUsd)));
}

#[test]
fn the_rules_of_its_paths_are_no_key_that_could_be_dropped() {
    let mut host = Host::new();
    ruled(&mut host);
    let shown = host.narrow(&request()).unwrap();
    assert!(shown.rules().is_some() && shown.view().rules);
    let drop = |view, key: &str| Amendment::of(&view, &PerDimension::default(), keys(&[key]));
    assert!(drop(shown.view(), "rules").is_err());
    // The same key, where the task chose its parent's rules, is one.
    let chosen = host.narrow(&with_context()).unwrap();
    let less = drop(chosen.view(), "rules").unwrap();
    let now = narrow_shown(&host, &with_context(), &chosen, &less).unwrap();
    assert_eq!(now.context().len(), 1);
    assert_eq!(now.rules(), chosen.rules());
}

#[test]
fn a_lowered_number_is_asked_for_on_purpose_and_may_be_less_than_a_default() {
    let mut host = Host::new();
    let request = with_context();
    let shown = host.narrow(&request).unwrap();
    let less = Amendment::of(&shown.view(), &lowered(Dimension::Turns, 1), keys(&["request"]));
    let less = less.unwrap();
    let now = narrow_shown(&host, &request, &shown, &less).unwrap();
    assert_eq!(now.budget()[Dimension::Turns], Limit::Of(1));
    assert_eq!(now.context().iter().map(|s| s.card.key.as_str()).collect::<Vec<_>>(), ["rules"]);
    assert_ne!(
        now.fingerprint(),
        shown.fingerprint(),
        "it is another task than what was asked for"
    );
    // Its share is of what the parent has left now.
    host.remaining[Dimension::Turns] = Left::Of(10);
    let now = narrow_shown(&host, &request, &shown, &less).unwrap();
    assert_eq!(now.share().unwrap().turns, Some(0.1));
}

#[test]
fn every_ms_that_a_person_can_choose_survives_the_way_through_a_request() {
    let host = Host::new();
    let shown = host.narrow(&request()).unwrap();
    for ms in (1..5_000).chain([67_001, 299_999]) {
        let less = Amendment::of(&shown.view(), &lowered(Dimension::Duration, ms), []).unwrap();
        let now = narrow_shown(&host, &request(), &shown, &less).unwrap();
        assert_eq!(now.budget()[Dimension::Duration], Limit::Of(ms));
        let asked = less.apply(&request()).budget.unwrap();
        let again = TaskRequest { budget: Some(asked), ..request() };
        let limit = host.narrow(&again).unwrap().budget()[Dimension::Duration].finite().unwrap();
        assert!(limit <= ms, "{ms}");
    }
}

#[test]
fn what_a_sibling_gave_back_meanwhile_is_not_added() {
    let mut host = Host::new();
    for dimension in Dimension::ALL {
        let left = host.remaining[dimension].finite().unwrap();
        host.remaining[dimension] = Left::Of(left / 10);
    }
    let shown = host.narrow(&request()).unwrap();
    let more = Host::new();
    assert_ne!(more.narrow(&request()).unwrap().budget(), shown.budget());
    let now = narrow_shown(&more, &request(), &shown, &Amendment::default()).unwrap();
    assert_eq!(now.budget(), shown.budget());
}

/// A role's own model whose price is not known, under a parent with one.
#[test]
fn what_was_shown_without_a_bound_on_its_cost_starts_without_one() {
    let host = Host::new();
    let shown = host.narrow(&request()).unwrap().without_cost();
    for less in [
        Amendment::default(),
        Amendment::of(&shown.view(), &lowered(Dimension::Turns, 2), []).unwrap(),
    ] {
        let now = narrow_shown(&host, &request(), &shown, &less).unwrap();
        assert_eq!(now.budget()[Dimension::CostUsd], Limit::Off);
    }
}

#[test]
fn too_little_that_is_left_now_is_refused_as_always() {
    let mut host = Host::new();
    let shown = host.narrow(&request()).unwrap();
    host.remaining[Dimension::ToolCalls] = Left::Of(4);
    let refusal = narrow_shown(&host, &request(), &shown, &Amendment::default()).unwrap_err();
    assert_eq!(broken(&refusal), [(Code::InvalidBudget, "budget.tool_calls")]);
    // Unless a person asked for that little.
    let less = Amendment::of(&shown.view(), &lowered(Dimension::ToolCalls, 3), []).unwrap();
    let now = narrow_shown(&host, &request(), &shown, &less).unwrap();
    assert_eq!(now.budget()[Dimension::ToolCalls], Limit::Of(3));
}

#[test]
fn what_changed_while_the_person_read_is_refused() {
    let shown_by = Host::new();
    let request = with_context();
    let shown = shown_by.narrow(&request).unwrap();
    let mut text = shown_by.clone();
    text.store.put("rules", SnippetKind::Rules, "AGENTS.md", "Other.", Sensitivity::Normal);
    let mut rules = shown_by.clone();
    ruled(&mut rules);
    let mut model = shown_by.clone();
    model.endpoint.model = "huge".to_owned();
    let mut secret = shown_by.clone();
    secret.store.put(
        "rules",
        SnippetKind::Rules,
        "AGENTS.md",
        "Keep it small.",
        Sensitivity::Secret,
    );
    for (host, code, field) in [
        (text, Code::InvalidTask, "context_keys"),
        (rules, Code::InvalidTask, "allowed_paths"),
        (model, Code::InvalidTask, "model"),
        (secret, Code::ContextForbidden, "context_keys"),
    ] {
        let refusal = narrow_shown(&host, &request, &shown, &Amendment::default()).unwrap_err();
        assert_eq!((refusal.first().code, refusal.first().field.as_str()), (code, field));
    }
}

#[test]
fn an_amendment_is_held_against_what_was_shown_wherever_it_comes_from() {
    let shown = Host::new().narrow(&with_context()).unwrap().view();
    let from = |json: serde_json::Value| serde_json::from_value::<Amendment>(json).unwrap();
    let wide = from(serde_json::json!({"budget": {"turns": 21}}));
    assert!(wide.held_against(&shown).is_err());
    assert!(from(serde_json::json!({"dropped": ["local"]})).held_against(&shown).is_err());
    let less = from(serde_json::json!({"budget": {"turns": 20, "cost_usd": 0.1}}));
    let held = less.held_against(&shown).unwrap();
    assert_eq!(
        (held.lowered(Dimension::Turns), held.lowered(Dimension::CostUsd)),
        (None, Some(100_000))
    );
}

#[test]
fn the_words_of_the_policy_are_read_and_the_stricter_one_comes_first() {
    for policy in PreflightPolicy::ALL {
        assert_eq!(PreflightPolicy::from_name(policy.name()), Some(policy));
    }
    assert_eq!(PreflightPolicy::from_name("sometimes"), None);
    assert_eq!(PreflightPolicy::default(), PreflightPolicy::Never);
    assert!(PreflightPolicy::Always < PreflightPolicy::Never);
}

/// Holds what the child gets against what was shown, without the code that made it.
fn assert_inside(shown: &Contract, less: &Amendment, now: &Contract) {
    for dimension in Dimension::ALL {
        match (shown.budget()[dimension], now.budget()[dimension]) {
            (Limit::Of(before), Limit::Of(after)) => {
                assert!(
                    after > 0 && after <= less.lowered(dimension).unwrap_or(before),
                    "{dimension}"
                );
            }
            (Limit::Off, Limit::Off) => {}
            (before, after) => panic!("{dimension}: {after:?} after {before:?}"),
        }
    }
    for snippet in now.context() {
        assert!(shown.context().contains(snippet) && !less.dropped().contains(&snippet.card.key));
    }
    assert!(now.permissions().is_subset(shown.permissions()));
    assert!(now.tools().iter().all(|tool| shown.tools().contains(tool)));
    assert!(now.paths().iter().all(|path| shown.paths().contains(path)));
    assert_eq!(now.rules(), shown.rules());
    assert_eq!(
        (now.model(), now.role(), now.depth()),
        (shown.model(), shown.role(), shown.depth())
    );
    assert_eq!((now.prompt(), now.must_not()), (shown.prompt(), shown.must_not()));
}

prop_compose! {
    /// Percent of each shown number to keep, and whether each key is dropped.
    fn changes()(
        percent in proptest::array::uniform6(proptest::option::of(1..=100_u64)),
        drops in proptest::array::uniform4(any::<bool>()),
    ) -> ([Option<u64>; 6], [bool; 4]) {
        (percent, drops)
    }
}

fn amendment(shown: &Contract, (percent, drops): ([Option<u64>; 6], [bool; 4])) -> Amendment {
    let lowered = PerDimension::from_fn(|dimension| {
        let part = percent[dimension as usize]?;
        Some((shown.budget()[dimension].finite()? * part / 100).max(1))
    });
    let dropped = shown.cards().zip(drops).filter(|(_, drop)| *drop);
    let keys = dropped.map(|(card, _)| card.key.clone()).collect::<Vec<_>>();
    Amendment::of(&shown.view(), &lowered, keys).unwrap()
}

#[test]
fn numbers_go_down_by_steps_and_never_above_what_was_shown() {
    let down = |shown: u64| {
        let mut now = shown;
        let mut all = Vec::new();
        while step_down(shown, now) < now {
            now = step_down(shown, now);
            all.push(now);
        }
        all
    };
    assert_eq!(down(20), [15, 10, 5, 2]);
    assert_eq!(down(3), [2, 1]);
    assert_eq!(down(1), [0; 0]);
    assert_eq!(step_up(20, 2), 5);
    assert_eq!(step_up(20, 15), 20);
    assert_eq!(step_up(20, 20), 20);
    assert_eq!(down(u64::MAX).len(), 4);
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn what_starts_is_never_wider_than_what_was_shown_nor_than_the_parent(
        wishes in proptest::collection::vec(wish(), 6),
        changes in changes(),
        moved in proptest::array::uniform6(0..300_u64),
    ) {
        let host = Host::new();
        for wish in &wishes {
            let request = wish.request();
            let Ok(shown) = host.narrow(&request) else { continue };
            let less = amendment(&shown, changes);
            // As long as nothing else changed, a person's word is enough.
            let now = narrow_shown(&host, &request, &shown, &less).unwrap();
            assert_inside(&shown, &less, &now);
            assert_not_wider(&host, &now);
            // Meanwhile siblings spent or gave back.
            let mut later = host.clone();
            for dimension in Dimension::ALL {
                if let Left::Of(left) = host.remaining[dimension] {
                    let part = i64::try_from(moved[dimension as usize]).unwrap();
                    later.remaining[dimension] = Left::Of(left / 100 * part);
                }
            }
            if let Ok(now) = narrow_shown(&later, &request, &shown, &less) {
                assert_inside(&shown, &less, &now);
                assert_not_wider(&later, &now);
            }
        }
    }

    #[test]
    fn steps_stay_between_one_and_what_was_shown(shown in 1..u64::MAX, ways in any::<[bool; 12]>()) {
        let mut now = shown;
        for down in ways {
            let next = if down { step_down(shown, now) } else { step_up(shown, now) };
            prop_assert!((1..=shown).contains(&next));
            let kept_going = if down { next <= now } else { next >= now };
            prop_assert!(kept_going);
            now = next;
        }
    }
}
