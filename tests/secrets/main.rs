//! What a child is given of what its parent knows, and that nothing else reaches it: seeds are put
//! everywhere and looked for everywhere. A failing test names a seed by its hash alone.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "tests"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/program.rs"]
mod program;

mod choosing;
mod environment;
mod everywhere;
mod leaks;
mod local;
mod malformed;
mod notes;
mod told;
