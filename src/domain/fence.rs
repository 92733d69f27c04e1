//! How well commands are fenced, as it was found by trying.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A step of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FenceLevel {
    /// Nothing holds a command but the system's own permissions.
    Unfenced,
    /// Something is missing.
    Partial,
    /// Files, network and signals are all fenced.
    Fenced,
}

impl FenceLevel {
    /// The word on the screen and in events.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unfenced => "unfenced",
            Self::Partial => "partial",
            Self::Fenced => "fenced",
        }
    }
}

impl fmt::Display for FenceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// The step.
    pub level: FenceLevel,
    /// True if commands have a loopback network of their own, so that tests may open servers there.
    pub loopback: bool,
    /// What is missing, each as `files not fenced`; empty when fenced.
    pub missing: Vec<String>,
}

impl Fence {
    /// No fence at all, for this reason.
    pub fn none(why: impl Into<String>) -> Self {
        Self { level: FenceLevel::Unfenced, loopback: false, missing: vec![why.into()] }
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.level.name())?;
        if !self.missing.is_empty() {
            write!(f, " ({})", self.missing.join(", "))?;
        }
        Ok(())
    }
}
