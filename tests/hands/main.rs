//! The reading tools against real folders: nothing from outside is ever read, and what is read is
//! bounded and told honestly.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stderr, missing_docs, reason = "tests")]

mod escapes;
mod ground;
mod list;
mod properties;
mod read;
mod search;
mod special;
