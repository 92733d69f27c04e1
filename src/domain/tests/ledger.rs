//! The ledger against a model of it that knows nothing of reservations as running sums.

use proptest::prelude::*;

use super::*;
use crate::domain::budget::{Budget, Dimension, Limit};
use crate::domain::ledger::{AccountId, Charge};
use crate::domain::usage::{MicroUsd, Usage};

fn budget(amount: u64) -> Budget {
    PerDimension::from_fn(|_| Limit::Of(amount))
}

fn totals() -> Totals {
    Totals { turns: 10, delegations: 4, active: 2 }
}

fn usage(input: u64, output: u64, micro_usd: u64) -> Usage {
    Usage {
        input_tokens: input,
        output_tokens: output,
        cost_usd: Some(MicroUsd(micro_usd)),
        ..Usage::default()
    }
}

fn left(ledger: &Ledger, account: AccountId, dimension: Dimension) -> i64 {
    ledger.left(account, dimension).finite().unwrap()
}

#[test]
fn a_child_reserves_charges_up_and_settles_back() {
    let (mut ledger, root) = Ledger::new(budget(1_000), totals());
    let child = ledger.open(root, budget(400)).unwrap();
    assert_eq!(left(&ledger, root, Dimension::InputTokens), 600);
    assert_eq!(left(&ledger, root, Dimension::Turns), 1_000, "turns are a run's own");

    ledger.charge_request(child, &usage(100, 10, 5));
    ledger.charge_calls(child, 7);
    assert_eq!(left(&ledger, child, Dimension::InputTokens), 300);
    assert_eq!(left(&ledger, root, Dimension::InputTokens), 600, "the charge was reserved");
    assert_eq!(ledger.used(root)[Dimension::ToolCalls], 7);

    ledger.settle(child);
    ledger.settle(child);
    assert_eq!(left(&ledger, root, Dimension::InputTokens), 900);
    assert_eq!(left(&ledger, root, Dimension::CostUsd), 995);
}

#[test]
fn siblings_never_hold_more_than_the_parent_has_left() {
    let (mut ledger, root) = Ledger::new(budget(1_000), totals());
    ledger.open(root, budget(600)).unwrap();
    let before = ledger.left_all(root);
    let short = ledger.open(root, budget(600)).unwrap_err();
    assert_eq!((short.dimension, short.wanted, short.left), (Dimension::InputTokens, 600, 400));
    assert_eq!(ledger.left_all(root), before, "a refusal changes nothing");
    ledger.open(root, budget(400)).unwrap();
}

#[test]
fn a_hold_back_is_replaced_and_never_makes_a_number_negative() {
    let (mut ledger, root) = Ledger::new(budget(1_000), totals());
    let hold = |n| Charge { input_tokens: n, output_tokens: n, tool_calls: 0, cost: MicroUsd(n) };
    ledger.set_hold_back(root, hold(300));
    ledger.set_hold_back(root, hold(200));
    assert_eq!(left(&ledger, root, Dimension::InputTokens), 800);
    assert_eq!(left(&ledger, root, Dimension::ToolCalls), 1_000);
    assert_eq!(ledger.left_with_hold_back(root, Dimension::InputTokens), Left::Of(1_000));
    ledger.set_hold_back(root, hold(5_000));
    assert_eq!(left(&ledger, root, Dimension::InputTokens), 0);
    assert_eq!(ledger.overrun(root), None);
}

#[test]
fn an_open_request_is_reserved_until_it_is_charged() {
    let (mut ledger, root) = Ledger::new(budget(1_000), totals());
    let worst = Charge { input_tokens: 400, output_tokens: 100, ..Charge::default() };
    ledger.reserve_request(root, worst);
    assert_eq!(left(&ledger, root, Dimension::InputTokens), 600);
    assert_eq!(ledger.left_with_hold_back(root, Dimension::OutputTokens), Left::Of(900));
    ledger.charge_request(root, &usage(390, 20, 0));
    assert_eq!(left(&ledger, root, Dimension::InputTokens), 610);
    assert_eq!(left(&ledger, root, Dimension::OutputTokens), 980);
}

#[test]
fn an_overrun_shows_below_zero_and_stops_new_siblings() {
    let (mut ledger, root) = Ledger::new(budget(1_000), totals());
    let child = ledger.open(root, budget(100)).unwrap();
    ledger.charge_request(child, &usage(50, 130, 0));
    assert_eq!(ledger.overrun(child), Some(Dimension::OutputTokens));
    assert_eq!(ledger.remaining(child).output_tokens, Some(-30));
    assert_eq!(ledger.overrun(root), None);
    assert_eq!(left(&ledger, root, Dimension::OutputTokens), 870);
    let short = ledger.open(root, budget(10)).unwrap_err();
    assert_eq!((short.dimension, short.left), (Dimension::OutputTokens, -30));
    ledger.settle(child);
    assert!(ledger.open(root, budget(10)).is_err(), "nor after it ended");
}

#[test]
fn a_childs_overrun_can_take_its_parent_below_zero() {
    let (mut ledger, root) = Ledger::new(budget(1_000), totals());
    let child = ledger.open(root, budget(100)).unwrap();
    let sibling = ledger.open(root, budget(850)).unwrap();
    ledger.charge_request(child, &usage(200, 0, 0));
    assert_eq!(left(&ledger, root, Dimension::InputTokens), -50);
    assert_eq!(ledger.overrun(root), Some(Dimension::InputTokens));
    assert_eq!(ledger.overrun(sibling), None, "what was reserved for it is still its own");
}

#[test]
fn settling_a_run_settles_everything_under_it_and_a_late_charge_still_counts() {
    let (mut ledger, root) = Ledger::new(budget(1_000), totals());
    let child = ledger.open(root, budget(500)).unwrap();
    let grandchild = ledger.open(child, budget(200)).unwrap();
    ledger.charge_request(grandchild, &usage(50, 0, 0));
    ledger.settle(child);
    assert_eq!(left(&ledger, root, Dimension::InputTokens), 950);
    ledger.charge_request(grandchild, &usage(7, 0, 0));
    assert_eq!(left(&ledger, root, Dimension::InputTokens), 943);
    assert!(ledger.open(child, budget(1)).is_err(), "a settled account opens nothing");
}

#[test]
fn only_descendants_count_in_the_totals() {
    let (mut ledger, root) = Ledger::new(budget(100), totals());
    let child = ledger.open(root, budget(10)).unwrap();
    ledger.begin_turn(root);
    for _ in 0..12 {
        ledger.begin_turn(child);
    }
    assert_eq!((ledger.descendant_turns(), ledger.descendant_turns_left()), (12, 0));
    assert_eq!(ledger.used(root)[Dimension::Turns], 1);
    ledger.count_delegation();
    assert_eq!(ledger.delegations(), 1);
}

#[test]
fn a_dimension_without_bound_or_price_stays_so() {
    let mut limits = budget(100).without_cost();
    limits[Dimension::InputTokens] = Limit::Unlimited;
    let (mut ledger, root) = Ledger::new(limits, totals());
    let child = ledger.open(root, budget(50).without_cost()).unwrap();
    ledger.charge_request(child, &Usage { input_tokens: 9, ..Usage::default() });
    assert_eq!(ledger.left(root, Dimension::InputTokens), Left::Unlimited);
    assert_eq!(ledger.left(root, Dimension::CostUsd), Left::Off);
    assert_eq!(ledger.remaining(root).cost_usd, None);
    assert_eq!(ledger.used(root)[Dimension::InputTokens], 9);
    let mut boundless = budget(1).without_cost();
    boundless[Dimension::OutputTokens] = Limit::Unlimited;
    assert!(ledger.open(root, boundless).is_err(), "no bound cannot come out of a bound");
}

#[test]
fn absurd_numbers_neither_panic_nor_wrap() {
    let (mut ledger, root) = Ledger::new(budget(u64::MAX), totals());
    let child = ledger.open(root, budget(u64::MAX)).unwrap();
    for _ in 0..3 {
        ledger.charge_request(child, &usage(u64::MAX, u64::MAX, u64::MAX));
        ledger.charge_calls(child, u64::MAX);
    }
    ledger.set_elapsed_ms(root, u64::MAX);
    assert_eq!(ledger.used(root)[Dimension::InputTokens], u64::MAX);
    ledger.settle(child);
    assert_eq!(ledger.remaining(root).duration_ms, Some(0));
}

#[derive(Debug, Clone)]
enum Step {
    Open { parent: usize, amount: u64 },
    Settle { account: usize },
    Request { account: usize, share: [u64; 3] },
    Calls { account: usize, share: u64 },
    Hold { account: usize, amount: u64 },
    Turn { account: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let account = 0..12_usize;
    prop_oneof![
        3 => (account.clone(), 1..600_u64).prop_map(|(parent, amount)| Step::Open { parent, amount }),
        2 => account.clone().prop_map(|account| Step::Settle { account }),
        4 => (account.clone(), proptest::array::uniform3(0..=100_u64))
            .prop_map(|(account, share)| Step::Request { account, share }),
        2 => (account.clone(), 0..=100_u64).prop_map(|(account, share)| Step::Calls { account, share }),
        1 => (account.clone(), 0..300_u64).prop_map(|(account, amount)| Step::Hold { account, amount }),
        1 => account.prop_map(|account| Step::Turn { account }),
    ]
}

/// What a bookkeeper with a pencil would know: who is whose child, and who used what by itself.
struct Pencil {
    ids: Vec<AccountId>,
    parents: Vec<Option<usize>>,
    own: Vec<PerDimension<u64>>,
    open: Vec<bool>,
}

const SHARED: [Dimension; 4] =
    [Dimension::InputTokens, Dimension::OutputTokens, Dimension::ToolCalls, Dimension::CostUsd];

impl Pencil {
    fn new(root: AccountId) -> Self {
        Self {
            ids: vec![root],
            parents: vec![None],
            own: vec![PerDimension::default()],
            open: vec![true],
        }
    }

    fn children(&self, of: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.ids.len()).filter(move |child| self.parents[*child] == Some(of))
    }

    fn used(&self, account: usize, dimension: Dimension) -> u64 {
        let under: u64 = self.children(account).map(|child| self.used(child, dimension)).sum();
        self.own[account][dimension] + under
    }

    fn close(&mut self, account: usize) {
        self.open[account] = false;
        let children: Vec<usize> = self.children(account).collect();
        for child in children {
            self.close(child);
        }
    }

    fn check(&self, ledger: &Ledger) {
        for account in 0..self.ids.len() {
            let id = self.ids[account];
            for dimension in SHARED {
                let used = self.used(account, dimension);
                assert_eq!(ledger.used(id)[dimension], used);
                let limit = ledger.limits(id)[dimension].finite().unwrap();
                let held: u64 = self
                    .children(account)
                    .filter(|child| self.open[*child])
                    .map(|child| {
                        let given = ledger.limits(self.ids[child])[dimension].finite().unwrap();
                        given.saturating_sub(self.used(child, dimension))
                    })
                    .sum();
                let balance = i64::try_from(limit).unwrap()
                    - i64::try_from(used).unwrap()
                    - i64::try_from(held).unwrap();
                let kept = ledger.left_with_hold_back(id, dimension);
                assert_eq!(kept, Left::Of(balance), "{dimension}");
                assert!(left(ledger, id, dimension) >= balance.min(0));
                assert!(left(ledger, id, dimension) <= balance.max(0));
            }
        }
    }
}

/// Plays one step. `share` of a charge is in percent of what is left, doubled for a rude run.
fn play(ledger: &mut Ledger, pencil: &mut Pencil, step: &Step, rude: bool) {
    let pick = |index: usize| index % pencil.ids.len();
    let part = |ledger: &Ledger, account: AccountId, dimension, share: u64| {
        let left = u64::try_from(left(ledger, account, dimension)).unwrap_or(0);
        if rude { share } else { left * share / 100 }
    };
    match *step {
        Step::Open { parent, amount } => {
            let parent = pick(parent);
            if let Ok(id) = ledger.open(pencil.ids[parent], budget(amount)) {
                pencil.ids.push(id);
                pencil.parents.push(Some(parent));
                pencil.own.push(PerDimension::default());
                pencil.open.push(true);
            }
        }
        Step::Settle { account } if pick(account) > 0 => {
            let account = pick(account);
            ledger.settle(pencil.ids[account]);
            pencil.close(account);
        }
        Step::Settle { .. } => {}
        Step::Request { account, share } => {
            let account = pick(account);
            // A settled account has given back what it did not use.
            if pencil.open[account] || rude {
                let id = pencil.ids[account];
                let input = part(ledger, id, Dimension::InputTokens, share[0]);
                let output = part(ledger, id, Dimension::OutputTokens, share[1]);
                let cost = part(ledger, id, Dimension::CostUsd, share[2]);
                ledger.charge_request(id, &usage(input, output, cost));
                pencil.own[account][Dimension::InputTokens] += input;
                pencil.own[account][Dimension::OutputTokens] += output;
                pencil.own[account][Dimension::CostUsd] += cost;
            }
        }
        Step::Calls { account, share } => {
            let account = pick(account);
            if pencil.open[account] || rude {
                let calls = part(ledger, pencil.ids[account], Dimension::ToolCalls, share);
                ledger.charge_calls(pencil.ids[account], calls);
                pencil.own[account][Dimension::ToolCalls] += calls;
            }
        }
        Step::Hold { account, amount } => {
            let hold = Charge { input_tokens: amount, output_tokens: amount, ..Charge::default() };
            ledger.set_hold_back(pencil.ids[pick(account)], hold);
        }
        Step::Turn { account } => ledger.begin_turn(pencil.ids[pick(account)]),
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn the_ledger_conserves_whatever_happens(
        steps in proptest::collection::vec(step(), 1..60), rude in any::<bool>()
    ) {
        let (mut ledger, root) = Ledger::new(budget(1_000), totals());
        let mut pencil = Pencil::new(root);
        for step in &steps {
            play(&mut ledger, &mut pencil, step, rude);
            pencil.check(&ledger);
            if !rude {
                for id in &pencil.ids {
                    prop_assert_eq!(ledger.overrun(*id), None);
                }
            }
        }
        for child in 1..pencil.ids.len() {
            ledger.settle(pencil.ids[child]);
            pencil.close(child);
        }
        pencil.check(&ledger);
        for dimension in SHARED {
            let used = i64::try_from(pencil.used(0, dimension)).unwrap();
            let all = ledger.left_with_hold_back(root, dimension);
            prop_assert_eq!(all, Left::Of(1_000 - used), "all is settled back");
        }
        let before = ledger.left_all(root);
        pencil.ids.iter().skip(1).for_each(|id| ledger.settle(*id));
        prop_assert_eq!(ledger.left_all(root), before);
    }
}
