//! The Messages wire against servers that stream, trickle, pause, refuse, lie, break off and hang.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

#[path = "anthropic/bench.rs"]
mod bench;
#[path = "anthropic/failures.rs"]
mod failures;
#[path = "anthropic/growing.rs"]
mod growing;
#[path = "anthropic/loop_cases.rs"]
mod loop_cases;
#[path = "anthropic/pauses.rs"]
mod pauses;
#[path = "anthropic/recorded.rs"]
mod recorded;
#[path = "anthropic/requests.rs"]
mod requests;
#[path = "anthropic/streams.rs"]
mod streams;
