//! The record of a session: which file gets what, in which order, and what never gets there.
#![allow(clippy::unwrap_used, reason = "tests")]

mod files;
mod full_disk;
mod ground;
mod redaction;
mod subscribers;
