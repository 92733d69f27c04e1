//! The ground: one folder that no path leads out of.

/// A folder that is open for work.
pub struct Workspace {}
