//! Ending what goes on before it ends by itself: one task, the answer, or all of it. It knows what
//! can be cancelled, and leaves to the runs how they end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Conversation;
use crate::agent::cancel::CancelScope;
use crate::agent::steering::Steering;
use crate::domain::event::{Fact, Level, Origin};
use crate::domain::ids::TaskId;
use crate::domain::report::{By, Ending};

/// How long a cancel waits for its event to be taken before it acts all the same.
const TELL_FIRST: Duration = Duration::from_millis(50);
/// How a run ends that a person cancels.
const CANCELLED: Ending = Ending::Cancelled(By::User);

impl Conversation {
    pub(super) async fn cancel_task(&mut self, task: TaskId) {
        match self.host.live.get(task) {
            Some(scope) if scope.ending().is_none() => {
                // A task that waits for its start has no run yet that could be named.
                let (run, target) = match self.host.live.run(task) {
                    Some(run) => (Some(Arc::clone(&run)), run.contract.run().to_string()),
                    None => (None, task.to_string()),
                };
                let steering = run.as_ref().map(|run| &*run.steering);
                self.cancel(&scope, steering, target, CANCELLED, By::User).await;
            }
            Some(_) => {}
            None => {
                let text = format!("there is no task #{} that could be cancelled", task.0);
                self.tell(Fact::notice(Level::Info, "NOTHING_TO_CANCEL", text)).await;
            }
        }
    }

    /// Stops the parent run and everything under it, and the person's own command; nothing starts
    /// again by itself.
    pub(super) async fn stop(&mut self) {
        let stopped_shell = self.stop_shell();
        let Some(running) = &self.running else {
            if stopped_shell {
                return;
            }
            let text = "nothing is running";
            return self.tell(Fact::notice(Level::Info, "NOTHING_TO_CANCEL", text)).await;
        };
        if running.scope.ending().is_some() {
            return;
        }
        let (scope, target) = (running.scope.clone(), running.id.to_string());
        let shared = Arc::clone(&running.shared);
        let unsent = self.typed.drain().len();
        self.cancel(&scope, Some(&shared.steering), target, CANCELLED, By::User).await;
        if unsent > 0 {
            let text = match unsent {
                1 => "stopped; the message that waited was not sent".to_owned(),
                many => format!("stopped; the {many} messages that waited were not sent"),
            };
            self.tell(Fact::notice(Level::Warning, "UNSENT", text)).await;
        }
    }

    /// The event comes first, so that the record reads in the right order, and not at all once the
    /// run's end has begun; but a cancel never waits for a slow reader.
    async fn cancel(
        &self,
        scope: &CancelScope,
        run: Option<&Steering>,
        target: String,
        ending: Ending,
        by: By,
    ) {
        let fact = Fact::CancelRequested { target, by };
        let tell = async {
            let place = self.host.hub.place().await;
            let take = || place.take(&Origin::session(), fact);
            if let Some(run) = run {
                return run.before_its_end(take).is_ok();
            }
            take();
            true
        };
        tokio::pin!(tell);
        match tokio::time::timeout(TELL_FIRST, &mut tell).await {
            Ok(true) => scope.fire(ending),
            // It has ended by itself; what it says of its end is on its way.
            Ok(false) => {}
            Err(_) => {
                scope.fire(ending);
                tell.await;
            }
        }
    }

    /// Ends the run that is going on by shutdown and waits for it.
    pub(super) async fn end_running(&mut self, ending: Ending) {
        let Some(running) = self.running.take() else { return };
        if running.scope.ending().is_none() && !running.over.load(Ordering::Acquire) {
            let (target, steering) = (running.id.to_string(), &running.shared.steering);
            self.cancel(&running.scope, Some(steering), target, ending, By::Shutdown).await;
        }
        // The run has told all it had to tell when its task ends; what it returns is not needed.
        drop(running.task.await);
    }
}
