//! What changed in the workspace, by whom, and what is made of it: events, reports, warnings, /diff.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod diff;
mod ground;
mod reports;
mod tracking;
