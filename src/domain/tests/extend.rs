//! Extensions: what grows, what cannot, and that nothing else moves.

use proptest::prelude::*;

use super::*;
use crate::domain::budget::{Budget, Dimension, Limit};
use crate::domain::extend::{NotExtended, extend};
use crate::domain::ledger::{AccountId, Charge};
use crate::domain::usage::{MicroUsd, Usage};

fn all(amount: u64) -> Budget {
    PerDimension::from_fn(|_| Limit::Of(amount))
}

fn limits(ledger: &Ledger, account: AccountId) -> [Option<u64>; 6] {
    Dimension::ALL.map(|dimension| ledger.limits(account)[dimension].finite())
}

fn left(ledger: &Ledger, account: AccountId) -> [i64; 6] {
    Dimension::ALL.map(|dimension| ledger.left(account, dimension).finite().unwrap())
}

/// A parent with `parent` of everything and a child with `child`.
fn two(parent: u64, child: u64) -> (Ledger, AccountId, AccountId) {
    let totals = Totals { turns: 1_000_000, delegations: 8, active: 4 };
    let (mut ledger, root) = Ledger::new(all(parent), totals);
    let id = ledger.open(root, all(child)).unwrap();
    (ledger, root, id)
}

#[test]
fn every_dimension_grows_by_half_of_what_it_was_at_first() {
    let (mut ledger, root, child) = two(1_000, 100);
    for grown in [150, 200, 250] {
        let extension = extend(&mut ledger, child, &all(100), None).unwrap();
        assert_eq!(limits(&ledger, child), [Some(grown); 6]);
        assert_eq!(extension.limits, all(grown));
        assert!(extension.short.is_empty());
    }
    let [turns, input, .., duration] = left(&ledger, root);
    assert_eq!((turns, input, duration), (1_000, 750, 1_000), "only what is shared is reserved");
    ledger.settle(child);
    assert_eq!(left(&ledger, root), [1_000; 6]);
}

#[test]
fn what_is_shared_grows_whole_or_not_at_all_and_is_named() {
    let (mut ledger, _, child) = two(149, 100);
    let extension = extend(&mut ledger, child, &all(100), None).unwrap();
    let own = [Dimension::Turns, Dimension::Duration];
    for dimension in Dimension::ALL {
        let grown = if own.contains(&dimension) { 48 } else { 0 };
        assert_eq!(extension.grown[dimension], grown, "{dimension}");
        assert!(extension.short.iter().any(|short| short.dimension == dimension), "{dimension}");
    }
    let words = extension.to_string();
    assert!(words.starts_with("turns 100 to 148, duration 100 ms to 148 ms; "), "{words}");
    assert!(words.contains("input_tokens could not grow by 50, there is room for 49"), "{words}");
    assert!(words.contains("turns grew by 48 instead of 50"), "{words}");
}

#[test]
fn an_own_dimension_stays_below_its_parent_and_never_shrinks() {
    for (used_by_parent, grown) in [(0, 50), (49, 50), (50, 49), (98, 1), (99, 0), (190, 0)] {
        let (mut ledger, root, child) = two(200, 100);
        for _ in 0..used_by_parent {
            ledger.begin_turn(root);
        }
        let extension = extend(&mut ledger, child, &all(100), None).unwrap();
        assert_eq!(extension.grown[Dimension::Turns], grown, "{used_by_parent}");
        assert!(ledger.limits(child)[Dimension::Turns].finite() >= Some(100));
    }
}

#[test]
fn turns_stay_within_what_all_descendants_may_still_make() {
    let totals = Totals { turns: 120, delegations: 8, active: 4 };
    let (mut ledger, root) = Ledger::new(all(1_000), totals);
    let child = ledger.open(root, all(100)).unwrap();
    let extension = extend(&mut ledger, child, &all(100), None).unwrap();
    assert_eq!(extension.grown[Dimension::Turns], 20);
}

#[test]
fn what_is_off_or_unlimited_stays_so_and_bounds_nothing() {
    let totals = Preset::Normal.totals();
    let unlimited: Budget = PerDimension::from_fn(|_| Limit::Unlimited);
    let (mut ledger, root) = Ledger::new(unlimited.without_cost(), totals);
    assert_eq!(
        extend(&mut ledger, root, &unlimited.without_cost(), None),
        Err(NotExtended::NoRoom(Vec::new()))
    );
    let budget = all(100).without_cost();
    let child = ledger.open(root, budget).unwrap();
    let extension = extend(&mut ledger, child, &budget, None).unwrap();
    assert_eq!(extension.limits, all(150).without_cost());
}

#[test]
fn the_money_of_a_run_without_parent_stays_within_its_bound() {
    for (bound, cost) in [(None, 150), (Some(50), 150), (Some(49), 100), (Some(0), 100)] {
        let (mut ledger, root) = Ledger::new(all(100), Preset::Normal.totals());
        let extension = extend(&mut ledger, root, &all(100), bound.map(MicroUsd)).unwrap();
        assert_eq!(extension.limits[Dimension::CostUsd], Limit::Of(cost), "{bound:?}");
        assert_eq!(extension.limits[Dimension::InputTokens], Limit::Of(150));
    }
}

#[test]
fn an_ended_run_is_not_extended() {
    let (mut ledger, root, child) = two(1_000, 100);
    ledger.settle(child);
    let before = left(&ledger, root);
    assert_eq!(extend(&mut ledger, child, &all(100), None), Err(NotExtended::Ended));
    assert_eq!(left(&ledger, root), before);
}

/// Something that happens to one of four runs below each other.
#[derive(Debug, Clone)]
enum Step {
    Charge { depth: usize, input: u64, output: u64, calls: u64 },
    Turn { depth: usize },
    Time { depth: usize, ms: u64 },
    Hold { depth: usize, input: u64 },
    Extend { depth: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let depth = 0..4_usize;
    prop_oneof![
        (depth.clone(), 0..300_u64, 0..300_u64, 0..5_u64)
            .prop_map(|(depth, input, output, calls)| Step::Charge { depth, input, output, calls }),
        depth.clone().prop_map(|depth| Step::Turn { depth }),
        (depth.clone(), 0..2_000_u64).prop_map(|(depth, ms)| Step::Time { depth, ms }),
        (depth.clone(), 0..400_u64).prop_map(|(depth, input)| Step::Hold { depth, input }),
        depth.prop_map(|depth| Step::Extend { depth }),
    ]
}

fn happens(ledger: &mut Ledger, accounts: &[AccountId], originals: &[Budget], step: &Step) {
    match *step {
        Step::Charge { depth, input, output, calls } => {
            let usage = Usage {
                input_tokens: input,
                output_tokens: output,
                cost_usd: Some(MicroUsd(input)),
                ..Usage::none()
            };
            ledger.charge_request(accounts[depth], &usage);
            ledger.charge_calls(accounts[depth], calls);
        }
        Step::Turn { depth } => ledger.begin_turn(accounts[depth]),
        Step::Time { depth, ms } => ledger.set_elapsed_ms(accounts[depth], ms),
        Step::Hold { depth, input } => {
            let hold = Charge { input_tokens: input, ..Charge::default() };
            ledger.set_hold_back(accounts[depth], hold);
        }
        Step::Extend { depth } => check_extension(ledger, accounts, originals, depth),
    }
}

fn check_extension(
    ledger: &mut Ledger,
    accounts: &[AccountId],
    originals: &[Budget],
    depth: usize,
) {
    let before = ledger.clone();
    let account = accounts[depth];
    let parent = depth.checked_sub(1).map(|above| accounts[above]);
    match extend(ledger, account, &originals[depth], None) {
        Err(_) => {
            for account in accounts {
                assert_eq!(limits(ledger, *account), limits(&before, *account));
                assert_eq!(left(ledger, *account), left(&before, *account));
            }
        }
        Ok(extension) => {
            for dimension in Dimension::ALL {
                let (grown, old) = (extension.grown[dimension], before.limits(account)[dimension]);
                let half = originals[depth][dimension].finite().unwrap() / 2;
                assert!(grown <= half);
                assert_eq!(
                    extension.limits[dimension].finite(),
                    Some(old.finite().unwrap() + grown)
                );
                let named = extension.short.iter().any(|short| short.dimension == dimension);
                assert_eq!(named, grown < half || half == 0, "what could not grow is named");
                let Some(parent) = parent else { continue };
                let of =
                    |ledger: &Ledger, account| ledger.left(account, dimension).finite().unwrap();
                let (own, above) = (of(ledger, account), of(&before, parent));
                let grown = i64::try_from(grown).unwrap();
                if dimension.is_shared() {
                    assert!(grown == 0 || grown <= above, "it fits into what the parent had left");
                    assert!(of(ledger, parent) >= above - grown && of(ledger, parent) <= above);
                    assert!(of(ledger, parent) >= above.min(0), "nobody is taken below zero");
                } else {
                    assert!(grown == 0 || own < above, "it stays below its parent");
                    assert!(own >= of(&before, account), "it never has less than before");
                    assert_eq!(of(ledger, parent), above, "an own dimension reserves nothing");
                }
            }
            for (index, other) in accounts.iter().enumerate() {
                if index != depth {
                    assert_eq!(limits(ledger, *other), limits(&before, *other));
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn no_extension_makes_a_run_wider_than_what_is_above_it(
        sizes in prop::array::uniform4(1..1_000_u64),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        let mut size: u64 = sizes.iter().sum::<u64>() + 10;
        let totals = Totals { turns: 500, delegations: 8, active: 4 };
        let (mut ledger, root) = Ledger::new(all(size), totals);
        let (mut accounts, mut originals) = (vec![root], vec![all(size)]);
        for part in &sizes[..3] {
            size = (size - part).max(1);
            let budget = all(size);
            accounts.push(ledger.open(*accounts.last().unwrap(), budget).unwrap());
            originals.push(budget);
        }
        for step in &steps {
            happens(&mut ledger, &accounts, &originals, step);
        }
        // Whatever was reserved for the runs below comes back; what was used stays used.
        ledger.settle(accounts[1]);
        for dimension in Dimension::ALL {
            let limit = i64::try_from(ledger.limits(root)[dimension].finite().unwrap()).unwrap();
            let used = i64::try_from(ledger.used(root)[dimension]).unwrap();
            let kept = ledger.left(root, dimension).finite().unwrap();
            prop_assert!(kept <= (limit - used).max(kept.min(0)));
            ledger.set_hold_back(root, Charge::default());
            prop_assert_eq!(ledger.left(root, dimension).finite(), Some(limit - used));
        }
    }
}
