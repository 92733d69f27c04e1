//! Everything a person can ask of the runtime. What only moves the screen is no command.

use super::approval::{Answer, Mode};
use super::budget::Preset;
use super::ids::{CallId, RunId, TaskId};
use super::preflight::PreflightPolicy;

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
    /// Steer one live run without ending it at once.
    Steer {
        /// Which.
        target: Target,
        /// How.
        steer: Steer,
    },
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
    /// Answer a call that waits for a person's word.
    Decide {
        /// The run that asked.
        run: RunId,
        /// Its call.
        call: CallId,
        /// The answer.
        answer: Answer,
    },
    /// What may be done without asking, from now on.
    SetMode {
        /// The mode.
        mode: Mode,
    },
    /// Whether delegations are asked about, from now on.
    SetPreflight {
        /// The policy.
        policy: PreflightPolicy,
    },
    /// Run a command of the person's own, and let the model see it with the next message.
    Shell {
        /// The command, as it would be typed into a shell.
        command: String,
    },
    /// Keep a text that tasks can choose as context.
    Pin {
        /// The key.
        name: String,
        /// The text, or `@` and a file of the workspace.
        text: String,
        /// True if it may only reach a model on this machine.
        local_only: bool,
    },
    /// Show what changed.
    Diff {
        /// By this task; by the newest answer and all it delegated if absent.
        task: Option<TaskId>,
    },
    /// Trust, or do not, what the project's own files of settings and roles say.
    Trust {
        /// The answer.
        trusted: bool,
    },
    /// End the session.
    Quit,
}

/// A run that a person steers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The run that answers the user.
    Parent,
    /// A child.
    Task(TaskId),
}

/// How a person steers a run. A run looks at it at its boundaries only: what goes on when it is
/// asked for comes to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Steer {
    /// Start nothing new, or go on if that was asked for before.
    Pause,
    /// Make the next turn the last and report.
    WrapUp,
    /// Let it use half as much again.
    Extend,
    /// Tell it something.
    Tell {
        /// The words.
        text: String,
    },
}

/// What `/budget` was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetChoice {
    /// A named set, for parent, children and totals.
    Preset(Preset),
    /// The current set with another number of turns for the parent.
    Turns(u64),
}
