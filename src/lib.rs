//! offshoot, a terminal agent whose delegations can be watched, bounded and cancelled.
pub mod agent;
pub mod cli;
pub mod domain;
pub mod headless;
pub mod journal;
pub mod provider;
pub mod sanitize;
pub mod session;
pub mod settings;
pub mod story;
pub mod tool;
pub mod ui;
pub mod workspace;
