//! Children that delegate: both locks at every level, who works at the same time, what each level
//! spends, what a stop at the top leaves behind.
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::format_collect,
    reason = "small numbers and names of tests"
)]

mod chain;
#[path = "../common/mod.rs"]
mod common;
mod endless;
mod levels;
mod spending;
mod storm;
mod widening;
