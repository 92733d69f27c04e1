//! The runs above a run: what they work on, and how to say where a call stands. It changes nothing.

use std::sync::Arc;

use super::delegate;
use super::dispatch::CallEnd;
use super::run::RunShared;
use crate::domain::hash::Sha;
use crate::domain::ids::CallId;
use crate::domain::violation::{Code, Refusal, Violation};

/// The answer to a `task` call of a run that does not hold `task`: it is too deep, or it was given
/// less than its place allows.
pub(super) async fn may_not_delegate(
    run: &Arc<RunShared>,
    call: &CallId,
    refused: &str,
) -> CallEnd {
    let path = call_path(run);
    let violation = if run.contract.depth() >= run.host.max_depth {
        let message = format!("delegation ends here ({path} > task): {refused}");
        Violation::new(Code::DepthExceeded, "", message)
    } else {
        let message = format!("this run was not given `task` ({path} > task): {refused}");
        Violation::new(Code::ToolEscalation, "", message)
    };
    delegate::refuse(run, call, None, Refusal::because(violation)).await
}

/// The fingerprints of the run's own task and of those above it.
pub(super) fn fingerprints(run: &RunShared) -> Vec<Sha> {
    upwards(run).map(|run| run.contract.fingerprint().clone()).collect()
}

/// The runs from the top down to this one, as `r1 > t2.1`.
fn call_path(run: &RunShared) -> String {
    let mut path: Vec<String> = upwards(run).map(|run| run.contract.run().to_string()).collect();
    path.reverse();
    path.join(" > ")
}

fn upwards(run: &RunShared) -> impl Iterator<Item = &RunShared> {
    std::iter::successors(Some(run), |run| run.above.as_deref())
}
