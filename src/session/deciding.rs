//! What may be done without asking, and a person's word on what was asked.

use super::Conversation;
use crate::domain::approval::{Answer, Mode};
use crate::domain::event::{Fact, Level};
use crate::domain::ids::{CallId, RunId};
use crate::domain::preflight::PreflightPolicy;

impl Conversation {
    /// From now on this may be done without asking. Calls that wait are judged anew: what the mode
    /// allows goes on, what it denies is denied, the rest keeps waiting.
    pub(super) async fn set_mode(&self, mode: Mode) {
        self.host.set_mode(mode);
        self.tell(Fact::ModeChanged { mode }).await;
        self.host.approvals.look_again();
    }

    /// From now on delegations are asked about, or not. With `never` those that wait for an answer
    /// start as they were shown.
    pub(super) async fn set_preflight(&self, policy: PreflightPolicy) {
        self.host.set_preflight(policy);
        self.tell(Fact::PreflightChanged { policy }).await;
        self.host.approvals.look_again();
    }

    /// Tells at the start what is not the default.
    pub(super) async fn tell_preflight(&self) {
        let policy = self.host.preflight();
        if policy != PreflightPolicy::default() {
            self.tell(Fact::PreflightChanged { policy }).await;
        }
    }

    /// Gives an answer to the call that waits for it.
    pub(super) async fn decide(&self, run: &RunId, call: &CallId, answer: Answer) {
        if !self.host.approvals.answer(run, call, answer) {
            let text = "that call does not wait for an answer any more";
            self.tell(Fact::notice(Level::Info, "NOTHING_TO_DECIDE", text)).await;
        }
    }
}
