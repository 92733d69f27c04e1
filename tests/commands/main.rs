//! The tools that run commands, through the real helper: what a shell can do to a call, and what the
//! call makes of it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

#[path = "../common/aloud.rs"]
mod aloud;
mod bench;
mod git;
mod hostile_git;
mod output;
mod projects;
mod shell;
