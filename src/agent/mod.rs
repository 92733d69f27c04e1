//! The loop: one straight `async fn` for parent and child alike.
//!
//! A child is a function call with a narrower contract and a child's cancel scope: its lifetime is
//! the call, and it is joined before its parent goes on. This module knows no screen and no file
//! format; it tells the hub what happened.
//!
//! Reading order: [`run`] (the loop), `planning` (what the next request may be), [`turn`] (one
//! request), [`dispatch`] (a batch of calls), `room` (how much its results may add), [`approvals`]
//! (calls that wait for a person, and [`clock`], which stands meanwhile), [`delegate`] (a `task` call),
//! `preflight` (the question before a child starts), [`places`] (how many work at once), `apart` (what
//! keeps each level off the stack), [`steering`] (what a person asks of a live run), [`conclude`] (the
//! report), `terms` (whether `done_when` and `must_not` were kept), `verdict` (which end counts where
//! several meet), [`below`] (what grandchildren left open), `reporting` (how all this comes back).

mod answer;
mod apart;
pub mod approvals;
mod approve;
pub mod below;
pub mod briefing;
pub mod cancel;
pub mod changes;
pub mod cited;
pub mod claims;
pub mod clock;
pub mod compact;
pub mod conclude;
mod deeds;
pub mod delegate;
pub mod dispatch;
mod evidence;
mod fields;
pub mod follow;
pub mod guidance;
pub mod host;
pub mod keeping;
mod last_look;
mod late;
mod lineage;
mod may;
mod models;
mod passing;
pub mod places;
mod planning;
mod preflight;
mod queue;
pub mod record;
mod reporting;
mod room;
pub mod run;
pub mod runaway;
pub mod steering;
mod subject;
mod terms;
pub mod turn;
mod use_tool;
mod verdict;
