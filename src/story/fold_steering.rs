//! How a person steers a run: it pauses and goes on, is asked to report, may use more, is told
//! something.

use crate::domain::budget::{Budget, Dimension};
use crate::domain::event::{Event, Level};

use super::Story;
use super::conversation::Notice;

/// The notice of what a run was told: its words.
pub const STEERED: &str = "STEERED";
/// The notice that a run was asked to wrap up: no words.
pub const WRAP_UP: &str = "WRAP_UP";
/// The notice that a run may use more: how much.
pub const EXTENDED: &str = "EXTENDED";

impl Story {
    pub(super) fn paused(&mut self, event: &Event, paused: bool) {
        if let Some(run) = self.run_mut(&event.origin) {
            run.paused = paused.then_some(event.ts);
        }
    }

    pub(super) fn extended(&mut self, event: &Event, limits: &Budget, text: &str) {
        if let Some(run) = self.run_mut(&event.origin) {
            run.contract.budget = *limits;
            run.turns_limit = limits[Dimension::Turns].finite();
        }
        self.remark(event, EXTENDED, text);
    }

    /// Something that a person did to a run, for whoever looks at it, who has the words for it.
    pub(super) fn remark(&mut self, event: &Event, code: &str, text: &str) {
        let (level, code) = (Level::Info, code.to_owned());
        self.notice(event, Notice { level, code, text: text.to_owned() });
    }
}
