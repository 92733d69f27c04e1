//! How a person steers a run: it pauses and goes on, is asked to report, may use more, is told
//! something.

use crate::domain::budget::{Budget, Dimension};
use crate::domain::event::{Event, Level};

use super::Story;
use super::conversation::Notice;

/// The notice of what a run was told or given.
pub const STEERED: &str = "STEERED";

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
        self.remark(event, &format!("budget extended: {text}"));
    }

    /// Something that a person did to a run, for whoever looks at it.
    pub(super) fn remark(&mut self, event: &Event, text: &str) {
        let (level, code) = (Level::Info, STEERED.to_owned());
        self.notice(event, Notice { level, code, text: text.to_owned() });
    }
}
