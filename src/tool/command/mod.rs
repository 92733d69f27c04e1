//! What the tools that run commands share: a last look at a command before it runs, what a wider
//! answer about it would cover, its way through the sandbox, and its output within bounds.

pub mod deny;
pub mod execute;
pub mod git_config;
pub mod git_view;
pub mod hint;
pub mod line;
pub mod live;
pub mod output;
pub mod prefix;
mod python_tests;
pub mod signals;
pub mod test_command;
pub mod test_results;
