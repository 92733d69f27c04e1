//! One tree of cancellation: session, parent run, child run, tool. Cancelling a node cancels
//! everything under it and nothing beside or above it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use tokio_util::sync::CancellationToken;

use super::run::RunShared;
use crate::domain::ids::TaskId;
use crate::domain::report::{By, Ending};

/// A node of the tree: a token, and why it was fired.
#[derive(Debug, Clone)]
pub struct CancelScope {
    token: CancellationToken,
    own: Arc<OnceLock<Ending>>,
    above: Option<Arc<CancelScope>>,
}

impl CancelScope {
    /// A tree of its own.
    pub fn root() -> Self {
        Self { token: CancellationToken::new(), own: Arc::default(), above: None }
    }

    /// A node under this one.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            token: self.token.child_token(),
            own: Arc::default(),
            above: Some(Arc::new(self.clone())),
        }
    }

    /// Cancels this node and everything under it. The first reason stands.
    pub fn fire(&self, reason: Ending) {
        // The reason is set before the token fires, so that whoever wakes up finds it.
        if !self.token.is_cancelled() {
            let _ = self.own.set(reason);
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
        let own = self.own.get().copied();
        Some(own.or_else(|| self.above.as_ref()?.ending()).unwrap_or(Ending::Cancelled(By::Parent)))
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
    run: Weak<RunShared>,
}

impl LiveTasks {
    /// Makes a task known for as long as the returned guard lives.
    pub fn enter(self: &Arc<Self>, task: TaskId, scope: CancelScope) -> LiveTask {
        self.lock().insert(task, Live { scope, run: Weak::new() });
        LiveTask { tasks: Arc::clone(self), task }
    }

    /// The scope of a live task.
    pub fn get(&self, task: TaskId) -> Option<CancelScope> {
        self.lock().get(&task).map(|live| live.scope.clone())
    }

    /// The run of a live task that has begun.
    pub fn run(&self, task: TaskId) -> Option<Arc<RunShared>> {
        self.lock().get(&task)?.run.upgrade()
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
    /// The task's run begins.
    pub fn begin(&self, run: &Arc<RunShared>) {
        if let Some(live) = self.tasks.lock().get_mut(&self.task) {
            live.run = Arc::downgrade(run);
        }
    }
}

impl Drop for LiveTask {
    fn drop(&mut self) {
        self.tasks.lock().remove(&self.task);
    }
}
