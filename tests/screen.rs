//! The story and the screen, without a terminal: events and keys in, frames and commands out.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

#[path = "common/aloud.rs"]
mod aloud;
#[path = "screen/asked.rs"]
mod asked;
#[path = "screen/asking.rs"]
mod asking;
#[path = "screen/asking_frames.rs"]
mod asking_frames;
#[path = "screen/children.rs"]
mod children;
#[path = "screen/context.rs"]
mod context;
#[path = "screen/faults.rs"]
mod faults;
#[path = "screen/feed.rs"]
mod feed;
#[path = "screen/frames.rs"]
mod frames;
#[path = "screen/kept_out.rs"]
mod kept_out;
#[path = "screen/keys.rs"]
mod keys;
#[path = "screen/keys_ending.rs"]
mod keys_ending;
#[path = "screen/keys_looking.rs"]
mod keys_looking;
#[path = "screen/levels.rs"]
mod levels;
#[path = "screen/permissions.rs"]
mod permissions;
#[path = "screen/preflight.rs"]
mod preflight;
#[path = "screen/questions.rs"]
mod questions;
#[path = "screen/running.rs"]
mod running;
#[path = "common/soak.rs"]
#[allow(dead_code, reason = "only rounds are counted here")]
mod soak;
#[path = "screen/steering.rs"]
mod steering;
#[path = "screen/stories.rs"]
mod stories;
#[path = "screen/told.rs"]
mod told;
#[path = "screen/view.rs"]
mod view;
