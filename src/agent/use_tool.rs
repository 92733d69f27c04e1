//! One call of a tool: shown and let through, started, raced with its run's token, and its output
//! told while it comes.

use std::future::Future;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::approve::{self, Permit, Wish};
use super::cancel::{CANCEL_GRACE, CancelScope};
use super::changes;
use super::clock::InFlight;
use super::dispatch::CallEnd;
use super::follow;
use super::keeping;
use super::run::RunShared;
use super::steering::{self, Waiter};
use crate::domain::approval::Preview;
use crate::domain::event::{Fact, Failure};
use crate::domain::hidden::Hidden;
use crate::domain::message::ToolCall;
use crate::domain::report::{By, Ending};
use crate::domain::role::Permission;
use crate::tool::{Effects, Progress, Tool, ToolContext, ToolOutput, run_tests};

/// How a look that hangs is named.
const LOOKING: &str = "the look at which command runs the tests";

/// Makes the call, if it may be made.
pub(super) async fn use_tool(
    shared: &Arc<RunShared>,
    call: &ToolCall,
    tool: &Arc<dyn Tool>,
    arguments: Value,
) -> CallEnd {
    let in_flight = shared.clock.enter();
    if let Err(ending) = wait_while_paused(shared, &in_flight).await {
        return not_run(ending);
    }
    let (progress, output) = Progress::channel();
    let mut context = context(shared, progress);
    let wish = Wish {
        shared,
        call,
        tool,
        arguments: &arguments,
        context: &context,
        in_flight: &in_flight,
    };
    let permit = approve::permit(&wish).await;
    match permit {
        Permit::Allowed(shown) => context.approved = shown.map(Arc::new),
        // What is not run for want of an answer is free.
        Permit::Not(Failure::NotRun, words) => {
            return CallEnd::unstarted(Failure::NotRun, words);
        }
        Permit::LeftBehind(words) => {
            let unstarted = CallEnd::unstarted(Failure::NotRun, words);
            return CallEnd { left_behind: true, ..unstarted };
        }
        Permit::Not(failure, words) => {
            shared.tree.ledger().charge_promised_call(shared.account);
            return CallEnd::unstarted(failure, words);
        }
    }
    // The answer may have come while the run was paused, or with a cancel right behind it.
    if let Err(ending) = wait_while_paused(shared, &in_flight).await {
        return not_run(ending);
    }
    shared.tree.ledger().charge_promised_call(shared.account);
    let (call_id, name) = (call.call.clone(), call.name.clone());
    shared.emit(Fact::ToolStarted { call: call_id, name, arguments: call.arguments.clone() }).await;
    let watch = changes::before(shared, tool.spec(), &arguments).await;
    let began = Instant::now();
    let working =
        async { Box::pin(keeping::keep(shared, tool.run(arguments, context).await)).await };
    let mut ended = AssertUnwindSafe(follow(shared, call, working, output)).catch_unwind().await;
    if let Ok((output, ..)) = &mut ended {
        note_tests(shared, &mut output.effects).await;
    }
    let effects = ended.as_ref().ok().map(|(output, ..)| &output.effects);
    changes::after(shared, watch, effects).await;
    let (output, failure, left_behind) = ended.unwrap_or_else(|panic| resume_unwind(panic));
    let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    CallEnd { output, failure, duration_ms, child: None, left_behind }
}

/// A shell command that is the test command itself is a run of the tests.
async fn note_tests(shared: &RunShared, effects: &mut Effects) {
    if let (Some(ran), None) = (&effects.ran, effects.tests_passed) {
        let host = &shared.host;
        let own = host.test_command.as_deref();
        let looking = run_tests::is_test_command(&ran.command, own, &host.workspace);
        if is_so(&shared.scope, looking).await {
            effects.tests_passed = Some(ran.ok);
        }
    }
}

/// What a look at files says, as long as the run goes on; a cancelled run takes no such look.
async fn is_so(scope: &CancelScope, looking: impl Future<Output = bool>) -> bool {
    scope.ending().is_none() && scope.last_look(LOOKING, looking).await.unwrap_or(false)
}

/// Waits while the run is paused; an error if it was cancelled, paused or not.
async fn wait_while_paused(shared: &RunShared, in_flight: &InFlight) -> Result<(), Ending> {
    steering::gate(&shared.steering, &shared.scope, Waiter::Call(in_flight)).await?;
    shared.scope.ending().map_or(Ok(()), Err)
}

fn not_run(ending: Ending) -> CallEnd {
    let by = if ending.by() == Some(By::User) { " by the user" } else { "" };
    CallEnd::unstarted(Failure::NotRun, format!("not run: cancelled{by} before it started"))
}

fn context(shared: &RunShared, progress: Progress) -> ToolContext {
    ToolContext {
        workspace: Arc::clone(&shared.host.workspace),
        scopes: shared.contract.paths().into(),
        hidden: Arc::new(Hidden::by(&shared.host.rules)),
        cancel: shared.scope.token().child_token(),
        seen: Arc::clone(&shared.seen),
        sandbox: Arc::clone(&shared.host.sandbox),
        network: shared.contract.permissions().contains(&Permission::Network),
        progress,
        approved: None::<Arc<Preview>>,
    }
}

/// Waits for the end of a call and tells what it shows meanwhile.
async fn follow(
    shared: &RunShared,
    call: &ToolCall,
    working: impl Future<Output = ToolOutput>,
    shown: mpsc::Receiver<String>,
) -> (ToolOutput, Option<Failure>, bool) {
    tokio::pin!(working);
    let tell = |text| shared.emit(Fact::ToolProgress { call: call.call.clone(), text });
    let raced = shared.scope.race(follow::follow(working.as_mut(), shown, tell));
    match raced.await {
        Ok(output) => {
            let failure = (!output.ok).then_some(Failure::Error);
            (output, failure, false)
        }
        Err(ending) => cancelled(ending, working).await,
    }
}

/// The token has fired; what the tool started ends before the run goes on.
async fn cancelled(
    ending: Ending,
    working: impl Future<Output = ToolOutput>,
) -> (ToolOutput, Option<Failure>, bool) {
    let last = timeout(CANCEL_GRACE, working).await;
    let by = if ending.by() == Some(By::User) { " by the user" } else { "" };
    let left_behind = last.is_err();
    let effects = last.map(|output| output.effects).unwrap_or_default();
    let words = format!("cancelled{by} while it ran");
    (ToolOutput { effects, ..ToolOutput::error(words) }, Some(Failure::Cancelled), left_behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_look_for_the_test_command_that_hangs_ends_after_a_cancel_and_none_begins_then() {
        let scope = CancelScope::root();
        let cancel = async { scope.fire(Ending::Cancelled(By::User)) };
        let (is, ()) = tokio::join!(is_so(&scope, std::future::pending()), cancel);
        assert!(!is);
        assert_eq!(scope.left_behind(), [LOOKING]);
        assert!(!is_so(&scope, async { true }).await);
        assert!(is_so(&CancelScope::root(), async { true }).await);
    }
}
