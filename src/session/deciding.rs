//! What may be done without asking, and a person's word on what was asked.

use super::Conversation;
use crate::domain::approval::{Answer, Mode};
use crate::domain::event::{Fact, Level};
use crate::domain::ids::{CallId, RunId};

impl Conversation {
    /// From now on this may be done without asking. Calls that wait are judged anew: what the mode
    /// allows goes on, what it denies is denied, the rest keeps waiting.
    pub(super) async fn set_mode(&self, mode: Mode) {
        self.host.set_mode(mode);
        self.tell(Fact::ModeChanged { mode }).await;
        self.host.approvals.look_again();
    }

    /// Gives an answer to the call that waits for it.
    pub(super) async fn decide(&self, run: &RunId, call: &CallId, answer: Answer) {
        if !self.host.approvals.answer(run, call, answer) {
            let text = "that call does not wait for an answer any more";
            self.tell(Fact::notice(Level::Info, "NOTHING_TO_DECIDE", text)).await;
        }
    }
}
