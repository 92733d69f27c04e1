//! One tree of cancellation: session, parent run, child run, tool. Cancelling a node cancels
//! everything under it and nothing beside or above it.
//!
//! **How long an end takes.** What a run started has [`CANCEL_GRACE`] to end after a cancel. What is
//! looked at after that, because the run's end has to tell it (which files changed, whether what is
//! cited exists), has until [`LAST_LOOKS`] after the cancel. So a run's future returns within that
//! time whatever hangs below it, a file system included, and what was left behind is named in the
//! receipts of the run and of those above it. The bound holds as long as the record takes its facts:
//! none is dropped, so a reader that keeps its channel and does not read holds up an end too.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::run::RunShared;
use crate::domain::ids::TaskId;
use crate::domain::report::{By, Ending};

/// How long what a run started may take to end after a cancel before it is left behind.
pub const CANCEL_GRACE: Duration = Duration::from_secs(2);
/// How long after a cancel the last look at files may take before it is left behind.
pub const LAST_LOOKS: Duration = Duration::from_secs(4);

/// A node of the tree: a token, why it was fired, and what did not end in time after that.
#[derive(Debug, Clone)]
pub struct CancelScope {
    token: CancellationToken,
    own: Arc<OnceLock<(Ending, Instant)>>,
    left: Arc<Mutex<Vec<String>>>,
    above: Option<Arc<CancelScope>>,
}

impl CancelScope {
    /// A tree of its own.
    pub fn root() -> Self {
        let (own, left) = (Arc::default(), Arc::default());
        Self { token: CancellationToken::new(), own, left, above: None }
    }

    /// A node under this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            token: self.token.child_token(),
            own: Arc::default(),
            left: Arc::default(),
            above: Some(Arc::new(self.clone())),
        }
    }

    /// Cancels this node and everything under it. The first reason stands.
    pub fn fire(&self, reason: Ending) {
        // The reason is set before the token fires, so that whoever wakes up finds it.
        if !self.token.is_cancelled() {
            let _ = self.own.set((reason, Instant::now()));
        }
        self.token.cancel();
    }

    /// The token, for tools and streams.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Why this node was cancelled, if it was: its own reason or the nearest one above.
    pub fn ending(&self) -> Option<Ending> {
        if !self.token.is_cancelled() {
            return None;
        }
        let own = self.own.get().map(|(reason, _)| *reason);
        Some(own.or_else(|| self.above.as_ref()?.ending()).unwrap_or(Ending::Cancelled(By::Parent)))
    }

    /// When this node was cancelled, if it was: by itself or with one above, whichever came first.
    fn fired_at(&self) -> Option<Instant> {
        let own = self.own.get().map(|(_, at)| *at);
        let above = self.above.as_ref().and_then(|above| above.fired_at());
        own.into_iter().chain(above).min()
    }

    /// The value of a look at something that a run's end has to tell; `None` if the run was cancelled
    /// and the look still hangs [`LAST_LOOKS`] after that. Then `what` is among what was left behind.
    pub async fn last_look<T>(&self, what: &str, look: impl Future<Output = T>) -> Option<T> {
        let out_of_time = async {
            self.token.cancelled().await;
            sleep_until(self.fired_at().unwrap_or_else(Instant::now) + LAST_LOOKS).await;
        };
        tokio::select! {
            biased;
            value = look => Some(value),
            () = out_of_time => {
                self.leave_behind(what);
                None
            }
        }
    }

    /// Something did not end in time: it is told in the receipt of this node and of those above.
    fn leave_behind(&self, what: &str) {
        let mut node = Some(self);
        while let Some(scope) = node {
            let mut left = scope.left.lock().unwrap_or_else(PoisonError::into_inner);
            if !left.iter().any(|known| known == what) {
                left.push(what.to_owned());
            }
            drop(left);
            node = scope.above.as_deref();
        }
    }

    /// What did not end in time under this node, beside calls.
    pub fn left_behind(&self) -> Vec<String> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until this node is cancelled.
    pub async fn cancelled(&self) -> Ending {
        self.token.cancelled().await;
        self.ending().unwrap_or(Ending::Cancelled(By::Parent))
    }

    /// The future's value, or why this node was cancelled before it was there. A value that is
    /// ready at the same moment as the cancel loses.
    pub async fn race<T>(&self, future: impl Future<Output = T>) -> Result<T, Ending> {
        tokio::select! {
            biased;
            ending = self.cancelled() => Err(ending),
            value = future => Ok(value),
        }
    }
}

/// The live tasks by number, so that a person can cancel or steer one of them.
#[derive(Default)]
pub struct LiveTasks(Mutex<HashMap<TaskId, Live>>);

struct Live {
    scope: CancelScope,
    /// `None` until it begins.
    run: Option<Weak<RunShared>>,
}

impl LiveTasks {
    /// Makes a task known for as long as the returned guard lives.
    pub fn enter(self: &Arc<Self>, task: TaskId, scope: CancelScope) -> LiveTask {
        self.lock().insert(task, Live { scope, run: None });
        LiveTask { tasks: Arc::clone(self), task }
    }

    /// The scope of a live task.
    pub fn get(&self, task: TaskId) -> Option<CancelScope> {
        self.lock().get(&task).map(|live| live.scope.clone())
    }

    /// The run of a live task that has begun.
    pub fn run(&self, task: TaskId) -> Option<Arc<RunShared>> {
        self.lock().get(&task)?.run.as_ref()?.upgrade()
    }

    /// Does something about a live task, with its run if it has begun, in one step in which it
    /// neither begins nor ends; `None` if it has ended. `act` must not wait.
    pub fn while_live<T>(
        &self,
        task: TaskId,
        act: impl FnOnce(Option<&RunShared>) -> T,
    ) -> Option<T> {
        let tasks = self.lock();
        let run = match &tasks.get(&task)?.run {
            Some(run) => Some(run.upgrade()?),
            None => None,
        };
        let done = act(run.as_deref());
        // Should this be the last that holds the run, the run is let go without the lock.
        drop(tasks);
        Some(done)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TaskId, Live>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a task known; forgets it when dropped.
pub struct LiveTask {
    tasks: Arc<LiveTasks>,
    task: TaskId,
}

impl LiveTask {
    /// The task's run begins, which `tell` tells in the same step, so that nothing that is done to
    /// the run is told before its start, nor to the task after it. `tell` must not wait.
    pub fn begin(&self, run: &Arc<RunShared>, tell: impl FnOnce()) {
        let mut tasks = self.tasks.lock();
        if let Some(live) = tasks.get_mut(&self.task) {
            live.run = Some(Arc::downgrade(run));
        }
        tell();
    }
}

impl Drop for LiveTask {
    fn drop(&mut self) {
        self.tasks.lock().remove(&self.task);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_look_that_hangs_ends_with_a_bound_that_begins_at_the_cancel_and_is_named_above_too()
    {
        let root = CancelScope::root();
        let (run, sibling) = (root.child(), root.child());
        let tool = run.child();
        run.fire(Ending::Cancelled(By::User));
        let fired = Instant::now();
        tokio::time::sleep(CANCEL_GRACE).await;
        // A second reason that comes later does not make the wait longer.
        tool.fire(Ending::TimedOut);
        for look in ["one", "one", "two"] {
            assert_eq!(tool.last_look(look, std::future::pending::<()>()).await, None);
            assert_eq!(fired.elapsed(), LAST_LOOKS);
        }
        for scope in [&tool, &run, &root] {
            assert_eq!(scope.left_behind(), ["one", "two"]);
        }
        assert!(sibling.left_behind().is_empty());
        let ready = std::future::ready(7);
        assert_eq!(tool.last_look("three", ready).await, Some(7), "what is there counts");
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_without_a_cancel_takes_its_time() {
        let scope = CancelScope::root();
        let look = tokio::time::sleep(Duration::from_hours(1));
        assert_eq!(scope.last_look("look", look).await, Some(()));
        assert!(scope.left_behind().is_empty());
    }

    #[test]
    fn nothing_is_done_to_a_task_that_is_known_no_more() {
        let tasks = Arc::<LiveTasks>::default();
        let live = tasks.enter(TaskId(1), CancelScope::root());
        assert_eq!(tasks.while_live(TaskId(1), |run| run.is_none()), Some(true));
        // Its run began and is let go already: its end was told.
        tasks.lock().get_mut(&TaskId(1)).unwrap().run = Some(Weak::new());
        assert_eq!(tasks.while_live(TaskId(1), |_| ()), None);
        drop(live);
        assert_eq!(tasks.while_live(TaskId(1), |_| ()), None);
    }
}
