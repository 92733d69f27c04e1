//! The fence as a command meets it: a hundred ways out that must be closed, as root and as a user
//! without powers, with and without namespaces; and the tools of everyday work, which must go on
//! working inside.
//!
//! Not covered, because the system has nothing to hold it with, and said so in the documentation of
//! `offshoot::sandbox`: whether a path outside exists, its size, times, owner and mode, and changing
//! the mode, times or owner of one's own files there; being told of changes in a folder outside
//! (inotify); the priority and processors of other processes of the same user.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "../common/aloud.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod aloud;
mod escapes;
mod ladder;
#[path = "../common/powers.rs"]
mod powers;
mod scene;
mod swapped;
mod tools;
