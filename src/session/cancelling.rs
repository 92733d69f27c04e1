//! Ending what goes on before it ends by itself: one task, the answer, or all of it. It knows what
//! can be cancelled, and leaves to the runs how they end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Conversation;
use crate::agent::cancel::CancelScope;
use crate::domain::event::{Fact, Level};
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
                self.cancel(&scope, task.to_string(), CANCELLED, By::User).await;
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
        let unsent = self.typed.drain().len();
        self.cancel(&scope, target, CANCELLED, By::User).await;
        if unsent > 0 {
            let text = match unsent {
                1 => "stopped; the message that waited was not sent".to_owned(),
                many => format!("stopped; the {many} messages that waited were not sent"),
            };
            self.tell(Fact::notice(Level::Warning, "UNSENT", text)).await;
        }
    }

    /// The event comes first, so that the record reads in the right order; but a cancel never
    /// waits for a slow reader.
    async fn cancel(&self, scope: &CancelScope, target: String, ending: Ending, by: By) {
        let told = self.tell(Fact::CancelRequested { target, by });
        tokio::pin!(told);
        let in_time = tokio::time::timeout(TELL_FIRST, &mut told).await.is_ok();
        scope.fire(ending);
        if !in_time {
            told.await;
        }
    }

    /// Ends the run that is going on by shutdown and waits for it.
    pub(super) async fn end_running(&mut self, ending: Ending) {
        let Some(running) = self.running.take() else { return };
        if running.scope.ending().is_none() && !running.over.load(Ordering::Acquire) {
            let target = running.id.to_string();
            self.cancel(&running.scope, target, ending, By::Shutdown).await;
        }
        // The run has told all it had to tell when its task ends; what it returns is not needed.
        drop(running.task.await);
    }
}
