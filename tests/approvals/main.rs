//! Asking before a call is made: who is asked, what an answer covers, what waits meanwhile, and what
//! becomes of it where nobody can be asked. Scripted models and stand-in tools on the paused clock.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/mod.rs"]
mod common;

mod answers;
mod ends;
mod hands;
mod headless;
mod rules;
mod time;
