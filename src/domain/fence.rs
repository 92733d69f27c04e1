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

/// Stands behind a fence whose commands have the network.
pub const NETWORK_OPEN: &str = " · network open";

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// The step.
    pub level: FenceLevel,
    /// True if commands have a loopback network of their own, so that tests may open servers there.
    pub loopback: bool,
    /// What is missing, each as `files not fenced`; empty when fenced.
    pub missing: Vec<String>,
    /// True if commands were given the network, however well the fence could keep them from it.
    #[serde(default)]
    pub network_open: bool,
}

impl Fence {
    /// No fence at all, for this reason.
    pub fn none(why: impl Into<String>) -> Self {
        Self {
            level: FenceLevel::Unfenced,
            loopback: false,
            missing: vec![why.into()],
            network_open: false,
        }
    }

    /// The same for commands that have the network, or have not.
    #[must_use]
    pub fn with_network(self, network_open: bool) -> Self {
        Self { network_open, ..self }
    }

    /// True if nothing is missing and nothing was opened: commands need no word before they run.
    pub fn is_whole(&self) -> bool {
        self.level == FenceLevel::Fenced && !self.network_open
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.level.name())?;
        if !self.missing.is_empty() {
            write!(f, " ({})", self.missing.join(", "))?;
        }
        if self.network_open {
            f.write_str(NETWORK_OPEN)?;
        }
        Ok(())
    }
}
