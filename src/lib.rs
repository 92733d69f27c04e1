//! offshoot, a terminal agent whose delegations can be watched, bounded and cancelled.
pub mod domain;
pub mod provider;
pub mod story;
pub mod tool;
pub mod ui;
pub mod workspace;
