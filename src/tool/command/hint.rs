//! Why a command may have failed: where its last words sound like the fence, the fence is named.

use super::execute::Execution;
use crate::sandbox::Outcome;
use crate::sandbox::explain::explain;
use crate::tool::ToolContext;

/// What there is to say about the fence, for a command that failed. The first time it may take as
/// long as trying the fence does.
pub async fn of(context: &ToolContext, done: &Execution) -> Vec<String> {
    let Outcome::Exited(code) = done.ended.outcome else { return Vec::new() };
    if code == 0 {
        return Vec::new();
    }
    let fence = context.sandbox.fence().await;
    let hint = explain(&done.output.text, code, &fence, context.network);
    hint.map(|hint| hint.trim_end_matches('.').to_owned()).into_iter().collect()
}
