//! How much the results of one batch may add to the prompt. Where children work, their parent keeps
//! enough to read a report of each and to answer, whatever they spend; nothing is known here of how.

use super::run::Run;
use crate::domain::message::ToolCall;
use crate::domain::report::Report;
use crate::domain::usage::estimate_tokens;
use crate::tool::{ToolOutput, excerpt, task};

/// Tokens that each result of a batch with children has room for: a whole report, in English as in
/// Chinese.
const REPORT_TOKENS: u64 = Report::MAX_BYTES as u64 / 3;
/// Tokens around a result in the prompt, with the note that it was cut, by estimate.
const FRAME: u64 = 24;
/// Tokens of a warning at the end of a batch, by estimate.
const WARNING: u64 = 64;

/// The room that the results of one batch have.
pub(super) struct Room {
    /// Tokens that all of them may add; `None` without a bound.
    pub(super) tokens: Option<u64>,
    /// Tokens around all of them.
    frames: u64,
    /// True if children may spend meanwhile what their parent has left.
    delegates: bool,
}

impl Room {
    /// The room before anything of the batch has started.
    pub(super) fn of(run: &Run, calls: &[ToolCall]) -> Self {
        let delegates = calls.iter().any(|call| call.name == task::NAME);
        let frames = WARNING + FRAME * calls.len() as u64;
        let mut room = Self { tokens: None, frames, delegates };
        room.keep(run, calls.len());
        room.measure(run, calls.len());
        room
    }

    /// Keeps for the run what it needs to read the results that are there and a report for each open
    /// call, and to answer: no child can be given that.
    pub(super) fn keep(&self, run: &Run, open: usize) {
        if self.delegates {
            run.keep_wrap_up_after(self.at_least(run, open));
        }
    }

    /// Cuts a result so that the next prompt and its wrap-up still fit into the budget.
    pub(super) fn fit(&mut self, run: &Run, open: usize, output: &mut ToolOutput) {
        if self.delegates {
            self.measure(run, open);
        }
        let Some(room) = self.tokens else { return };
        let share = room.saturating_sub(taken(run)) / open.max(1) as u64;
        if estimate_tokens(&output.text) > share {
            output.text = excerpt::cut_to_tokens(
                &output.text,
                share,
                "cut to fit the budget of this run; ask for less at a time",
            );
            output.truncated = true;
            // What was cut away was not shown; which lines are left is not known any more.
            output.shown.clear();
        }
    }

    fn measure(&mut self, run: &Run, open: usize) {
        let at_least = if self.delegates { self.at_least(run, open) } else { 0 };
        self.tokens = run.room_for_results(at_least).map(|room| room.saturating_sub(self.frames));
    }

    fn at_least(&self, run: &Run, open: usize) -> u64 {
        taken(run) + open as u64 * REPORT_TOKENS + self.frames
    }
}

fn taken(run: &Run) -> u64 {
    run.settled.iter().map(|result| estimate_tokens(&result.output)).sum()
}
