//! Everything a person can ask of the runtime. What only moves the screen is no command.

use super::budget::Preset;
use super::ids::TaskId;

/// A request of the user to the session. Effects are plain data, so that tests compare them.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Say something to the parent. While a run is going on it enters at the next boundary.
    Submit {
        /// The words.
        text: String,
    },
    /// Tell the parent to delegate this.
    Delegate {
        /// The role to use; the default one if absent.
        role: Option<String>,
        /// What to delegate.
        text: String,
    },
    /// Cancel one child, running or queued, and nothing beside or above it.
    CancelTask {
        /// Which.
        task: TaskId,
    },
    /// Cancel the parent run and with it every child.
    Stop,
    /// What the next run gets.
    SetBudget {
        /// The limits.
        budget: BudgetChoice,
    },
    /// Summarise the older part of the conversation.
    Compact,
    /// Tell which models the provider offers.
    ListModels,
    /// Let another model answer from the next message on.
    SetModel {
        /// Its name.
        model: String,
    },
    /// End the session.
    Quit,
}

/// What `/budget` was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetChoice {
    /// A named set, for parent, children and totals.
    Preset(Preset),
    /// The current set with another number of turns for the parent.
    Turns(u64),
}
