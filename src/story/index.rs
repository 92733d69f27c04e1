//! Where each run's things are, so that no event has to be looked up in the history.

use std::collections::HashMap;

use crate::domain::event::Origin;
use crate::domain::ids::{CallId, RunId, TaskId};

use super::delegation::NodeId;

/// Whose run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Parent,
    Child(NodeId),
}

#[derive(Debug)]
pub(super) struct Slot {
    pub(super) place: Place,
    /// Each call's index: an entry for the parent, a row of the node for a child.
    pub(super) calls: HashMap<CallId, usize>,
    /// The child that each `task` call became.
    pub(super) children: HashMap<CallId, NodeId>,
}

/// Where each run's things are.
#[derive(Debug, Default)]
pub(super) struct RunIndex {
    slots: HashMap<RunId, Slot>,
    pub(super) tasks: HashMap<TaskId, NodeId>,
}

impl RunIndex {
    /// The run that a cancel names by its task (`t3`) or by itself (`r2`, `t3.1`).
    pub(super) fn named(&self, target: &str) -> Option<Place> {
        if let Ok(task) = target.parse::<TaskId>() {
            return self.tasks.get(&task).copied().map(Place::Child);
        }
        let run = match target.split_once('.') {
            Some((task, attempt)) => RunId::child(task.parse().ok()?, attempt.parse().ok()?),
            None => RunId::parent(target.strip_prefix('r')?.parse().ok()?),
        };
        self.slots.get(&run).map(|slot| slot.place)
    }

    /// The run whose `task` call an event is about: an event about a child bears either the child's
    /// own origin or the origin of the run that delegated, which then knows the call.
    pub(super) fn delegating(&self, origin: &Origin, call: &CallId) -> Option<RunId> {
        let run = origin.run.as_ref()?;
        let asked = self.slots.get(run).is_some_and(|slot| slot.calls.contains_key(call));
        if is_own_task(origin) && !asked { origin.parent_run.clone() } else { Some(run.clone()) }
    }

    /// The run's slot. The first event of a parent run may be its user message, so a run that was
    /// not announced is a parent if nothing says that it is a child.
    pub(super) fn slot(&mut self, origin: &Origin) -> Option<&mut Slot> {
        let run = origin.run.as_ref()?;
        if !self.slots.contains_key(run) {
            if origin.parent_run.is_some() || origin.task.is_some() {
                return None;
            }
            self.open(run.clone(), Place::Parent);
        }
        self.slots.get_mut(run)
    }

    pub(super) fn open(&mut self, run: RunId, place: Place) -> &mut Slot {
        let slot = Slot { place, calls: HashMap::new(), children: HashMap::new() };
        self.slots.entry(run).or_insert(slot)
    }
}

/// True if the origin's task is the one that its run works on; not so for a child that has no run
/// yet: its events bear its own number and the run that delegated.
pub(super) fn is_own_task(origin: &Origin) -> bool {
    let (Some(task), Some(run)) = (origin.task, &origin.run) else { return false };
    let attempt = run.as_str().strip_prefix(&task.to_string());
    attempt.is_some_and(|rest| rest.starts_with('.'))
}
