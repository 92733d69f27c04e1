//! What runs may spend, through the real loop on a scripted model: money of a session and of its
//! models, calls inside a batch, and what a parent keeps for itself while its children work.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod calls;
mod children;
mod keeping;
mod money;
mod tries;
