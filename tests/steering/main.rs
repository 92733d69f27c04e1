//! Steering a live run: what each way of it does in each phase, and that nothing else is touched.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod ground;
mod matrix;
mod parent;
mod words;
