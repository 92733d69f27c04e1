//! The loop: one straight `async fn` for parent and child alike.
//!
//! A child is a function call with a narrower contract and a child's cancel scope: its lifetime is
//! the call, and it is joined before its parent goes on. This module knows no screen and no file
//! format; it tells the hub what happened.
//!
//! Reading order: [`run`] (the loop), [`turn`] (one request), [`dispatch`] (a batch of calls),
//! [`delegate`] (a `task` call), [`conclude`] (the report).

mod approve;
pub mod briefing;
pub mod cancel;
pub mod claims;
pub mod compact;
pub mod conclude;
pub mod delegate;
pub mod dispatch;
pub mod guidance;
pub mod host;
mod may;
pub mod record;
pub mod run;
pub mod runaway;
pub mod turn;
mod use_tool;
