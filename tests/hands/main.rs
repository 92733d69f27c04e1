//! The tools that read and write files against real folders: nothing outside is ever read or
//! changed, what is read is bounded and told honestly, what is written is whole.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

mod added;
#[path = "../common/aloud.rs"]
mod aloud;
mod edit;
mod escapes;
mod escapes_writing;
mod ground;
mod list;
#[path = "../common/powers.rs"]
mod powers;
mod properties;
mod public;
mod read;
mod search;
#[path = "../common/soak.rs"]
mod soak;
mod special;
mod torn;
mod unprivileged;
mod write;
