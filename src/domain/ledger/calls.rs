//! The calls of one batch: each is promised to run before any begins, and paid for when it does, so
//! that no child that starts between them can take what it needs. Knows no tool and no order.

use super::{AccountId, Ledger};
use crate::domain::budget::Dimension;

impl Ledger {
    /// Promises that one more call may run. False, with nothing changed, if none is left.
    pub fn promise_call(&mut self, account: AccountId) -> bool {
        let fits = self.left(account, Dimension::ToolCalls).covers(1);
        if fits {
            self.accounts[account.0].request.tool_calls += 1;
        }
        fits
    }

    /// Charges a promised call to this run and every ancestor.
    pub fn charge_promised_call(&mut self, account: AccountId) {
        let promised = &mut self.accounts[account.0].request.tool_calls;
        *promised = promised.saturating_sub(1);
        self.charge_calls(account, 1);
    }

    /// Takes back what was promised and never ran: it is free.
    pub fn forget_promised_calls(&mut self, account: AccountId) {
        self.accounts[account.0].request.tool_calls = 0;
    }
}
