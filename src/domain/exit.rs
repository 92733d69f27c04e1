//! What the process says when it ends: the one table of exit codes.

use super::event::RunFinished;
use super::report::Status;
use super::violation::Code;

/// How the program ended, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Exit {
    /// The parent run completed, whatever became of its children.
    Completed,
    /// The provider, the network, the workspace or this program failed.
    Failed,
    /// The command line, its files or its keys are not usable, or not built yet.
    Usage,
    /// The parent's budget is exhausted.
    BudgetExhausted,
    /// A policy denied a call of the parent.
    Blocked,
    /// `--timeout` passed.
    TimedOut,
    /// Cancelled by a person or a signal.
    Cancelled,
}

impl Exit {
    /// The number for the operating system. 124 is what `timeout` uses, 130 what shells give for
    /// an interrupt.
    pub fn code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::BudgetExhausted => 3,
            Self::Blocked => 4,
            Self::TimedOut => 124,
            Self::Cancelled => 130,
        }
    }

    /// What the end of the parent run means for the process.
    pub fn of(parent: &RunFinished) -> Self {
        match parent.status {
            Status::Completed => Self::Completed,
            Status::BudgetExhausted => Self::BudgetExhausted,
            Status::Blocked => Self::Blocked,
            Status::Cancelled if parent.code == Some(Code::Timeout) => Self::TimedOut,
            Status::Cancelled => Self::Cancelled,
            Status::Failed | Status::InvalidResult => Self::Failed,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
