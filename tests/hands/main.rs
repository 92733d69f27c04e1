//! The reading tools against real folders: nothing from outside is ever read, and what is read is
//! bounded and told honestly.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

#[path = "../common/aloud.rs"]
mod aloud;
mod escapes;
mod ground;
mod list;
mod properties;
mod read;
mod search;
mod special;
