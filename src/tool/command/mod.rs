//! What the tools that run commands share: a last look at a command before it runs, what a wider
//! answer about it would cover, and its output within bounds. Nothing is run here.

pub mod deny;
pub mod line;
pub mod live;
pub mod output;
pub mod prefix;
