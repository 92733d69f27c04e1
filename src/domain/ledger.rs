//! Who owes what: one tree of accounts for a parent run and all its descendants.
//!
//! Shared dimensions are reserved out of the parent's remaining when a child starts, charged to the
//! child and every ancestor as they are used, and settled back when it ends. Turns and duration are
//! a run's own. The ledger has no clock: time is told to it. It decides nothing about the next
//! request; `spending` does, from what is left here.

use serde::{Deserialize, Serialize};

use super::budget::{Budget, Dimension, Limit, PerDimension, Remaining, Totals};
use super::usage::{MicroUsd, Usage};

mod calls;

/// What is left in one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// This much; negative after an overrun.
    Of(i64),
    /// No bound.
    Unlimited,
    /// Not measured.
    Off,
}

impl Left {
    /// The number, if there is one.
    pub fn finite(self) -> Option<i64> {
        match self {
            Self::Of(amount) => Some(amount),
            Self::Unlimited | Self::Off => None,
        }
    }

    /// True if at least `amount` can still be used.
    pub fn covers(self, amount: u64) -> bool {
        self.finite().is_none_or(|left| left >= signed(amount))
    }
}

/// One run's account. Only meaningful to the ledger that made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccountId(usize);

/// Tokens, calls and money of one step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Charge {
    /// Prompt tokens.
    pub input_tokens: u64,
    /// Generated tokens.
    pub output_tokens: u64,
    /// Calls.
    #[serde(default)]
    pub tool_calls: u64,
    /// Money; in files 0 where the price is unknown, since then it bounds nothing.
    #[serde(rename = "cost_usd")]
    pub cost: MicroUsd,
}

impl Charge {
    /// The part in one dimension; nothing in those that belong to a run alone.
    pub fn amount(&self, dimension: Dimension) -> u64 {
        match dimension {
            Dimension::InputTokens => self.input_tokens,
            Dimension::OutputTokens => self.output_tokens,
            Dimension::ToolCalls => self.tool_calls,
            Dimension::CostUsd => self.cost.0,
            Dimension::Turns | Dimension::Duration => 0,
        }
    }
}

impl From<&Usage> for Charge {
    /// An unknown cost charges nothing: its dimension is off.
    fn from(usage: &Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            tool_calls: 0,
            cost: usage.cost_usd.unwrap_or_default(),
        }
    }
}

/// Why a child cannot start: one shared dimension does not reach. `left` below zero means that a
/// child of the same parent, or the parent itself, used more than it had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.words())]
pub struct Shortfall {
    /// Which dimension.
    pub dimension: Dimension,
    /// What the child was to get, in the dimension's unit.
    pub wanted: u64,
    /// What could be given, in the dimension's unit.
    pub left: i64,
}

impl Shortfall {
    /// True if no request can be small enough: a child used more than it had.
    pub fn is_overrun(&self) -> bool {
        self.left < 0
    }

    fn words(&self) -> String {
        let Self { dimension, wanted, left } = *self;
        if self.is_overrun() {
            format!(
                "a child of this run used more {dimension} than it was given, and no other starts \
                 after that; go on without another child"
            )
        } else {
            format!(
                "{wanted} {dimension} cannot be reserved for a child, the parent has {left} left to \
                 give; ask for less or go on without a child"
            )
        }
    }
}

/// One run's side of the ledger.
#[derive(Debug, Clone)]
struct Account {
    parent: Option<AccountId>,
    limits: Budget,
    /// Shared dimensions include all descendants; turns and duration are the run's own.
    used: PerDimension<u64>,
    /// What open children hold and have not used yet.
    reserved: PerDimension<u64>,
    /// The worst case of the request that is on its way, or the calls of a batch that are promised
    /// to run and have not begun.
    request: Charge,
    /// What is kept for one wrap-up request.
    hold_back: Charge,
    settled: bool,
}

impl Account {
    fn new(parent: Option<AccountId>, limits: Budget) -> Self {
        Self {
            parent,
            limits,
            used: PerDimension::default(),
            reserved: PerDimension::default(),
            request: Charge::default(),
            hold_back: Charge::default(),
            settled: false,
        }
    }

    /// What the parent still holds for this account.
    fn unused(&self, dimension: Dimension) -> u64 {
        match self.limits[dimension] {
            Limit::Of(limit) if !self.settled && dimension.is_shared() => {
                limit.saturating_sub(self.used[dimension])
            }
            Limit::Of(_) | Limit::Unlimited | Limit::Off => 0,
        }
    }

    /// Limit minus used minus what children hold: below zero only after an overrun.
    fn balance(&self, dimension: Dimension) -> Left {
        match self.limits[dimension] {
            Limit::Of(limit) => Left::Of(
                signed(limit)
                    .saturating_sub(signed(self.used[dimension]))
                    .saturating_sub(signed(self.reserved[dimension])),
            ),
            Limit::Unlimited => Left::Unlimited,
            Limit::Off => Left::Off,
        }
    }

    fn overdrawn(&self, dimension: Dimension) -> Option<i64> {
        self.balance(dimension).finite().filter(|left| *left < 0)
    }
}

/// One tree of accounts: a parent run and all its descendants.
#[derive(Debug, Clone)]
pub struct Ledger {
    accounts: Vec<Account>,
    totals: Totals,
    descendant_turns: u64,
    delegations: u32,
}

impl Ledger {
    /// A ledger for one parent run, with its account.
    pub fn new(budget: Budget, totals: Totals) -> (Self, AccountId) {
        let accounts = vec![Account::new(None, budget)];
        (Self { accounts, totals, descendant_turns: 0, delegations: 0 }, AccountId(0))
    }

    /// The parent run's account.
    pub fn root(&self) -> AccountId {
        AccountId(0)
    }

    /// Opens a child's account and reserves its shared dimensions out of what `parent` has left,
    /// so that all open children together never hold more than that.
    ///
    /// Refused, with nothing changed, if one dimension does not reach, if the parent's account is
    /// settled, or if an earlier child of this parent overran its own budget.
    pub fn open(&mut self, parent: AccountId, budget: Budget) -> Result<AccountId, Shortfall> {
        for dimension in Dimension::ALL.into_iter().filter(|d| d.is_shared()) {
            self.require_room(parent, dimension, budget[dimension])?;
        }
        Ok(self.adopt(parent, budget))
    }

    /// [`Self::open`] without asking whether there is room: for what was opened before, and is read
    /// again from a record.
    pub(super) fn adopt(&mut self, parent: AccountId, budget: Budget) -> AccountId {
        let id = AccountId(self.accounts.len());
        let account = Account::new(Some(parent), budget);
        for dimension in Dimension::ALL {
            let held = &mut self.accounts[parent.0].reserved[dimension];
            *held = held.saturating_add(account.unused(dimension));
        }
        self.accounts.push(account);
        id
    }

    /// Closes an account and everything under it: what it did not use returns to its parent.
    /// Settling twice changes nothing; a charge that comes late is still charged all the way up.
    pub fn settle(&mut self, account: AccountId) {
        for index in (account.0..self.accounts.len()).rev() {
            if self.is_under(AccountId(index), account) {
                self.settle_one(AccountId(index));
            }
        }
    }

    /// Counts a turn of this run, and in the totals if it is a descendant.
    pub fn begin_turn(&mut self, account: AccountId) {
        let own = &mut self.accounts[account.0];
        own.used[Dimension::Turns] = own.used[Dimension::Turns].saturating_add(1);
        if own.parent.is_some() {
            self.descendant_turns = self.descendant_turns.saturating_add(1);
        }
    }

    /// Tells how long this run has been running, in ms without its pauses.
    pub fn set_elapsed_ms(&mut self, account: AccountId, ms: u64) {
        self.accounts[account.0].used[Dimension::Duration] = ms;
    }

    /// Keeps this much for a wrap-up request, in place of what was kept before.
    pub fn set_hold_back(&mut self, account: AccountId, hold: Charge) {
        self.accounts[account.0].hold_back = hold;
    }

    /// Reserves the worst case of a request that is about to be sent; [`Self::charge_request`]
    /// puts what it really used in its place.
    pub fn reserve_request(&mut self, account: AccountId, worst: Charge) {
        self.accounts[account.0].request = worst;
    }

    /// Releases the open request's reservation and charges what it used to this run and every
    /// ancestor. More than was reserved is charged too, and nothing beyond it.
    pub fn charge_request(&mut self, account: AccountId, usage: &Usage) {
        self.accounts[account.0].request = Charge::default();
        self.charge(account, &Charge::from(usage));
    }

    /// Charges tool calls to this run and every ancestor.
    pub fn charge_calls(&mut self, account: AccountId, calls: u64) {
        self.charge(account, &Charge { tool_calls: calls, ..Charge::default() });
    }

    /// Limit minus used, minus what open children and the open request hold, minus the hold-back.
    /// What is only kept never takes this below zero: a negative number is always an overrun.
    pub fn left(&self, account: AccountId, dimension: Dimension) -> Left {
        let own = &self.accounts[account.0];
        let kept = own.request.amount(dimension).saturating_add(own.hold_back.amount(dimension));
        keep(own.balance(dimension), kept)
    }

    /// [`Self::left`] in every dimension.
    pub fn left_all(&self, account: AccountId) -> PerDimension<Left> {
        PerDimension::from_fn(|dimension| self.left(account, dimension))
    }

    /// [`Self::left`] with the hold-back still in it: what a wrap-up request may use.
    pub fn left_with_hold_back(&self, account: AccountId, dimension: Dimension) -> Left {
        let own = &self.accounts[account.0];
        keep(own.balance(dimension), own.request.amount(dimension))
    }

    /// What was used; in shared dimensions with all descendants.
    pub fn used(&self, account: AccountId) -> PerDimension<u64> {
        self.accounts[account.0].used
    }

    /// What this run may use.
    pub fn limits(&self, account: AccountId) -> &Budget {
        &self.accounts[account.0].limits
    }

    /// What is left, in the form that events carry.
    pub fn remaining(&self, account: AccountId) -> Remaining {
        let left = |dimension| self.left(account, dimension).finite();
        Remaining {
            turns: left(Dimension::Turns),
            input_tokens: left(Dimension::InputTokens),
            output_tokens: left(Dimension::OutputTokens),
            tool_calls: left(Dimension::ToolCalls),
            cost_usd: left(Dimension::CostUsd).map(dollars),
            duration_ms: left(Dimension::Duration),
        }
    }

    /// The first shared dimension in which this run is below zero.
    pub fn overrun(&self, account: AccountId) -> Option<Dimension> {
        let own = &self.accounts[account.0];
        Dimension::ALL.into_iter().find(|d| d.is_shared() && own.overdrawn(*d).is_some())
    }

    /// Counts a child that was started or queued.
    pub fn count_delegation(&mut self) {
        self.delegations = self.delegations.saturating_add(1);
    }

    /// Takes back what [`Self::count_delegation`] counted for a child that was refused at its start.
    pub fn return_delegation(&mut self) {
        self.delegations = self.delegations.saturating_sub(1);
    }

    /// Children started or queued so far.
    pub fn delegations(&self) -> u32 {
        self.delegations
    }

    /// Turns that all descendants made so far.
    pub fn descendant_turns(&self) -> u64 {
        self.descendant_turns
    }

    /// Turns that all descendants may still make together.
    pub fn descendant_turns_left(&self) -> u64 {
        self.totals.turns.saturating_sub(self.descendant_turns)
    }

    /// The bounds on all descendants together.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// True for every run below the parent run.
    pub fn is_descendant(&self, account: AccountId) -> bool {
        self.accounts[account.0].parent.is_some()
    }

    /// The account that this one was opened under.
    pub(super) fn parent_of(&self, account: AccountId) -> Option<AccountId> {
        self.accounts[account.0].parent
    }

    /// True once the account was closed.
    pub(super) fn is_settled(&self, account: AccountId) -> bool {
        self.accounts[account.0].settled
    }

    /// Adds to an open account's finite limits; what is shared is reserved out of its parent. The
    /// caller has looked whether there is room.
    pub(super) fn raise(&mut self, account: AccountId, by: &PerDimension<u64>) {
        let own = &mut self.accounts[account.0];
        let before = PerDimension::from_fn(|d| own.unused(d));
        for (dimension, amount) in by.iter() {
            if let Limit::Of(limit) = &mut own.limits[dimension] {
                *limit = limit.saturating_add(*amount);
            }
        }
        let more = PerDimension::from_fn(|d| own.unused(d) - before[d]);
        let Some(parent) = own.parent else { return };
        for (dimension, amount) in more.iter() {
            let held = &mut self.accounts[parent.0].reserved[dimension];
            *held = held.saturating_add(*amount);
        }
    }

    fn require_room(
        &self,
        parent: AccountId,
        dimension: Dimension,
        limit: Limit,
    ) -> Result<(), Shortfall> {
        let wanted = match limit {
            Limit::Of(amount) => amount,
            Limit::Unlimited => u64::MAX,
            Limit::Off => 0,
        };
        let short = |left| Shortfall { dimension, wanted, left };
        if self.accounts[parent.0].settled {
            return Err(short(0));
        }
        if let Some(below_zero) = self.overdrawn_child(parent, dimension) {
            return Err(short(below_zero));
        }
        match self.left(parent, dimension) {
            Left::Of(left) if left < signed(wanted) => Err(short(left)),
            Left::Of(_) | Left::Unlimited | Left::Off => Ok(()),
        }
    }

    fn overdrawn_child(&self, parent: AccountId, dimension: Dimension) -> Option<i64> {
        let mut children = self.accounts.iter().filter(|child| child.parent == Some(parent));
        children.find_map(|child| child.overdrawn(dimension))
    }

    fn is_under(&self, account: AccountId, ancestor: AccountId) -> bool {
        let mut at = Some(account);
        while let Some(id) = at {
            if id == ancestor {
                return true;
            }
            at = self.accounts[id.0].parent;
        }
        false
    }

    fn settle_one(&mut self, account: AccountId) {
        let held = PerDimension::from_fn(|d| self.accounts[account.0].unused(d));
        let own = &mut self.accounts[account.0];
        own.settled = true;
        own.request = Charge::default();
        own.hold_back = Charge::default();
        self.release(own_parent(&self.accounts, account), &held);
    }

    fn charge(&mut self, account: AccountId, charge: &Charge) {
        let mut at = Some(account);
        while let Some(id) = at {
            let own = &mut self.accounts[id.0];
            let before = PerDimension::from_fn(|d| own.unused(d));
            for dimension in Dimension::ALL {
                let used = &mut own.used[dimension];
                *used = used.saturating_add(charge.amount(dimension));
            }
            let freed = PerDimension::from_fn(|d| before[d] - own.unused(d));
            at = own.parent;
            self.release(at, &freed);
        }
    }

    fn release(&mut self, parent: Option<AccountId>, freed: &PerDimension<u64>) {
        let Some(parent) = parent else { return };
        for (dimension, amount) in freed.iter() {
            let held = &mut self.accounts[parent.0].reserved[dimension];
            *held = held.saturating_sub(*amount);
        }
    }
}

fn own_parent(accounts: &[Account], account: AccountId) -> Option<AccountId> {
    accounts[account.0].parent
}

/// Takes `kept` out of what is left, but never below zero.
fn keep(left: Left, kept: u64) -> Left {
    match left {
        Left::Of(amount) if amount > 0 => Left::Of(amount.saturating_sub(signed(kept)).max(0)),
        Left::Of(_) | Left::Unlimited | Left::Off => left,
    }
}

fn signed(amount: u64) -> i64 {
    i64::try_from(amount).unwrap_or(i64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "exact below a billion dollars")]
fn dollars(micro: i64) -> f64 {
    micro as f64 / 1e6
}
