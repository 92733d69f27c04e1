//! The calls that wait for a person's word, and what was allowed so far. It carries answers from the
//! session to whoever waits, and refuses to judge any call.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use crate::domain::allowance::Allowances;
use crate::domain::approval::Answer;
use crate::domain::ids::{CallId, RunId};

/// A call by its run and its id.
type Key = (RunId, CallId);

/// What waits and what was allowed, for all runs of a session.
#[derive(Debug, Default)]
pub struct Approvals {
    open: Mutex<HashMap<Key, oneshot::Sender<Answer>>>,
    given: Mutex<Allowances>,
    told: Mutex<HashSet<(RunId, String)>>,
    /// Changes whenever a call that waits might not have to any more.
    changes: watch::Sender<()>,
}

impl Approvals {
    /// Gives a person's answer to the call that waits for it. False if none of that name waits: it
    /// was answered already, or cancelled.
    pub fn answer(&self, run: &RunId, call: &CallId, answer: Answer) -> bool {
        let waiting = lock(&self.open).remove(&(run.clone(), call.clone()));
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    /// What was allowed by earlier answers.
    pub fn given(&self) -> MutexGuard<'_, Allowances> {
        lock(&self.given)
    }

    /// A run has ended: what was allowed to it alone, and what was told of it, is nobody's any more.
    pub fn run_ended(&self, run: &RunId) {
        lock(&self.given).run_ended(run);
        lock(&self.told).retain(|(told, _)| told != run);
    }

    /// Has every call that waits judged anew, because the mode or what is allowed changed.
    pub fn look_again(&self) {
        self.changes.send_replace(());
    }

    /// A call begins to wait; it does until what is returned is dropped.
    pub(super) fn open(&self, run: RunId, call: CallId) -> Open<'_> {
        let (sender, answer) = oneshot::channel();
        let key = (run, call);
        lock(&self.open).insert(key.clone(), sender);
        Open { approvals: self, key, answer, changes: self.changes.subscribe() }
    }

    /// True the first time that this is said of this run.
    pub(super) fn is_news(&self, run: &RunId, words: &str) -> bool {
        lock(&self.told).insert((run.clone(), words.to_owned()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call that waits.
pub(super) struct Open<'a> {
    approvals: &'a Approvals,
    key: Key,
    answer: oneshot::Receiver<Answer>,
    changes: watch::Receiver<()>,
}

impl Open<'_> {
    /// The answer of a person; `None` if the call should be judged anew first.
    pub(super) async fn answer(&mut self) -> Option<Answer> {
        tokio::select! {
            biased;
            // The sender is used up by an answer only; were it lost, nothing was allowed.
            answer = &mut self.answer => Some(answer.unwrap_or(Answer::Deny { reason: None })),
            _ = self.changes.changed() => None,
        }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        lock(&self.approvals.open).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_of_a_run_goes_with_it() {
        let approvals = Approvals::default();
        let (one, two) = (RunId::parent(1), RunId::parent(2));
        assert!(approvals.is_news(&one, "no") && approvals.is_news(&two, "no"));
        approvals.run_ended(&one);
        assert_eq!(lock(&approvals.told).len(), 1);
        assert!(!approvals.is_news(&two, "no"));
    }
}
