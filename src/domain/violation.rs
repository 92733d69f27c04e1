//! What was wrong with a request to delegate.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The reason codes of the delegation contract: stable words for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Code {
    /// Cancelled before or while it ran.
    Cancelled,
    /// A text, role, model or field of the request is missing or not acceptable.
    InvalidTask,
    /// The same task is an ancestor, or a sibling that is queued or running.
    DuplicateTask,
    /// The delegation would be deeper than the user allows.
    DepthExceeded,
    /// The parent run has used up its delegations or its descendants' turns.
    DelegationLimit,
    /// A context key that the store does not hold.
    ContextNotFound,
    /// A snippet that may not be given away, or its value in a free text.
    ContextForbidden,
    /// A permission that the parent or the role does not hold.
    PermissionEscalation,
    /// A tool that the parent or the role does not hold.
    ToolEscalation,
    /// A path outside the parent's.
    PathEscalation,
    /// A limit that is not positive, not finite, or not below the parent's remaining.
    InvalidBudget,
    /// A dimension of the budget ran out.
    BudgetExhausted,
    /// Time ran out.
    Timeout,
    /// One request used more than was reserved for it and left.
    UsageExceeded,
    /// The run repeated itself.
    LoopDetected,
    /// A policy denied a call.
    Denied,
    /// The provider failed.
    ProviderError,
    /// The prompt does not fit into the model.
    ContextExceeded,
    /// The model refused.
    Refused,
    /// A fault of this program.
    Internal,
    /// The child's answer breaks its contract.
    InvalidResult,
}

impl Code {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Cancelled,
        Self::InvalidTask,
        Self::DuplicateTask,
        Self::DepthExceeded,
        Self::DelegationLimit,
        Self::ContextNotFound,
        Self::ContextForbidden,
        Self::PermissionEscalation,
        Self::ToolEscalation,
        Self::PathEscalation,
        Self::InvalidBudget,
        Self::BudgetExhausted,
        Self::Timeout,
        Self::UsageExceeded,
        Self::LoopDetected,
        Self::Denied,
        Self::ProviderError,
        Self::ContextExceeded,
        Self::Refused,
        Self::Internal,
        Self::InvalidResult,
    ];

    /// The word as written in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "CANCELLED",
            Self::InvalidTask => "INVALID_TASK",
            Self::DuplicateTask => "DUPLICATE_TASK",
            Self::DepthExceeded => "DEPTH_EXCEEDED",
            Self::DelegationLimit => "DELEGATION_LIMIT",
            Self::ContextNotFound => "CONTEXT_NOT_FOUND",
            Self::ContextForbidden => "CONTEXT_FORBIDDEN",
            Self::PermissionEscalation => "PERMISSION_ESCALATION",
            Self::ToolEscalation => "TOOL_ESCALATION",
            Self::PathEscalation => "PATH_ESCALATION",
            Self::InvalidBudget => "INVALID_BUDGET",
            Self::BudgetExhausted => "BUDGET_EXHAUSTED",
            Self::Timeout => "TIMEOUT",
            Self::UsageExceeded => "USAGE_EXCEEDED",
            Self::LoopDetected => "LOOP_DETECTED",
            Self::Denied => "DENIED",
            Self::ProviderError => "PROVIDER_ERROR",
            Self::ContextExceeded => "CONTEXT_EXCEEDED",
            Self::Refused => "REFUSED",
            Self::Internal => "INTERNAL",
            Self::InvalidResult => "INVALID_RESULT",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Which rule.
    pub code: Code,
    /// Which field of the request; empty where no single one is at fault.
    pub field: String,
    /// What was wrong and what may be asked for instead. Holds no snippet and no secret.
    pub message: String,
}

impl Violation {
    /// A broken rule in words.
    pub fn new(code: Code, field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code, field: field.into(), message: message.into() }
    }
}

/// Why nothing was delegated: at least one violation, the first in the order of the checks first.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {}", self.first().code, self.first().message)]
pub struct Refusal {
    first: Violation,
    others: Vec<Violation>,
}

impl Refusal {
    /// A refusal for one reason.
    pub fn because(violation: Violation) -> Self {
        Self { first: violation, others: Vec::new() }
    }

    /// A refusal if there is any violation.
    pub fn from_all(violations: Vec<Violation>) -> Option<Self> {
        let mut violations = violations.into_iter();
        let first = violations.next()?;
        Some(Self { first, others: violations.collect() })
    }

    /// The violation that gives the refusal its code and field.
    pub fn first(&self) -> &Violation {
        &self.first
    }

    /// All violations in the order of the checks.
    pub fn violations(&self) -> impl Iterator<Item = &Violation> {
        std::iter::once(&self.first).chain(&self.others)
    }
}
