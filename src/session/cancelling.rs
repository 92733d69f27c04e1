//! Ending what goes on before it ends by itself: one task, the answer, or all of it. It knows what
//! can be cancelled, and leaves to the runs how they end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Conversation;
use crate::agent::cancel::{CancelScope, LiveTasks};
use crate::agent::run::RunShared;
use crate::domain::event::{Fact, Level, Origin};
use crate::domain::ids::TaskId;
use crate::domain::report::{By, Ending};
use crate::journal::hub::Place;

/// How long a cancel waits for its event to be taken before it acts all the same.
const TELL_FIRST: Duration = Duration::from_millis(50);
/// How a run ends that a person cancels.
const CANCELLED: Ending = Ending::Cancelled(By::User);

/// What is cancelled.
enum Whom<'a> {
    /// A live task, by a person.
    Task(&'a LiveTasks, TaskId),
    /// A run.
    Run(&'a RunShared, By),
}

impl Conversation {
    pub(super) async fn cancel_task(&mut self, task: TaskId) {
        match self.host.live.get(task) {
            Some(scope) if scope.ending().is_none() => {
                let whom = Whom::Task(&self.host.live, task);
                self.cancel(&scope, CANCELLED, whom).await;
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
        let (scope, shared) = (running.scope.clone(), Arc::clone(&running.shared));
        let unsent = self.typed.drain().len();
        self.cancel(&scope, CANCELLED, Whom::Run(&shared, By::User)).await;
        if unsent > 0 {
            let text = match unsent {
                1 => "stopped; the message that waited was not sent".to_owned(),
                many => format!("stopped; the {many} messages that waited were not sent"),
            };
            self.tell(Fact::notice(Level::Warning, "UNSENT", text)).await;
        }
    }

    /// The event comes first, so that the record reads in the right order, and not at all once the
    /// run's end has begun, as what is cancelled says; but a cancel never waits for a slow reader.
    async fn cancel(&self, scope: &CancelScope, ending: Ending, whom: Whom<'_>) {
        let tell = async { whom.tell(self.host.hub.place().await) };
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
            let whom = Whom::Run(&running.shared, By::Shutdown);
            self.cancel(&running.scope, ending, whom).await;
        }
        // The run has told all it had to tell when its task ends; what it returns is not needed.
        drop(running.task.await);
    }
}

impl Whom<'_> {
    /// False if its end was told. While there was no room to tell the cancel, a task may have begun
    /// or ended: what it is now is looked up in the step in which it is told.
    fn tell(&self, place: Place<'_>) -> bool {
        match *self {
            Self::Run(run, by) => tell_of_run(run, by, place),
            Self::Task(live, task) => {
                let tell = |run: Option<&RunShared>| match run {
                    Some(run) => tell_of_run(run, By::User, place),
                    None => tell_of_waiting(task, place),
                };
                live.while_live(task, tell).unwrap_or(false)
            }
        }
    }
}

fn tell_of_run(run: &RunShared, by: By, place: Place<'_>) -> bool {
    let fact = Fact::CancelRequested { target: run.contract.run().to_string(), by };
    run.steering.before_its_end(|| place.take(&Origin::session(), fact)).is_ok()
}

/// A task that waits for its start has no run yet that could be named.
fn tell_of_waiting(task: TaskId, place: Place<'_>) -> bool {
    let fact = Fact::CancelRequested { target: task.to_string(), by: By::User };
    place.take(&Origin::session(), fact);
    true
}
