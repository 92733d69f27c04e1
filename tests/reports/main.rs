//! What a report says, through the real loop: of answers in every form, of tasks further down, of
//! terms that were not kept, and whatever way the child ended.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod below;
mod forms;
mod hashes;
mod hostile;
mod lost;
mod stand;
mod terms;
