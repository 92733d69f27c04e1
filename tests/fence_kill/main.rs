//! Nothing of a command is left when it is over, however it is over: the system's own table of
//! processes is asked, not what the program says. Few rounds by default; `OFFSHOOT_SOAK=1` makes it
//! hundreds and prints how long each took.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod cancelled;
#[path = "../common/mod.rs"]
mod common;
mod ended;
mod ground;
mod killed;
#[path = "../common/powers.rs"]
mod powers;
mod unprivileged;
