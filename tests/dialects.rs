//! Chat completions in all their dialects: recorded streams, streams by hand, requests by profile,
//! and public faults played through the real loop.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

#[path = "dialects/bench.rs"]
mod bench;
#[path = "dialects/listing.rs"]
mod listing;
#[path = "dialects/loop_cases.rs"]
mod loop_cases;
#[path = "dialects/recorded.rs"]
mod recorded;
#[path = "dialects/requests.rs"]
mod requests;
#[path = "dialects/streams.rs"]
mod streams;
