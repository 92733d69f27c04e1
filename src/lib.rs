//! offshoot, a terminal agent whose delegations can be watched, bounded and cancelled.
pub mod domain;
pub mod journal;
pub mod provider;
pub mod sanitize;
pub mod tool;
pub mod workspace;
