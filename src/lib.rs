//! offshoot, a terminal agent whose delegations can be watched, bounded and cancelled.
pub mod agent;
pub mod domain;
pub mod journal;
pub mod provider;
pub mod sanitize;
pub mod session;
pub mod story;
pub mod tool;
pub mod workspace;
