//! Places for runs below a parent run that work at the same time. It knows who waits and in which
//! order, and refuses to know what a run does.
//!
//! **Who holds a place.** A run holds one while it works: while it asks its model or runs a tool of
//! its own. One that does nothing but wait for its children holds none: the first of them that asks
//! takes over its parent's, and the last one that ends hands its own back. So never more runs work
//! than there are places, and no run that holds one waits for another: whatever the depth and with a
//! single place, each wait ends.
//!
//! **Who is next.** Those that wait are ordered by call path: what a run delegated comes before its
//! later siblings, siblings come in the order of their calls, and a run whose children have ended
//! comes before its own next ones.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use super::cancel::CancelScope;
use crate::domain::ids::TaskId;
use crate::domain::report::{By, Ending};

/// The tasks from the top down to a run: none for the run that answers the user.
type Path = Vec<TaskId>;

/// All places below one parent run.
#[derive(Debug)]
pub struct Places(Mutex<State>);

#[derive(Debug)]
struct State {
    free: u32,
    waiting: BTreeMap<Path, oneshot::Sender<Place>>,
}

impl Places {
    /// So many places, at least one.
    pub fn new(count: u32) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State { free: count.max(1), waiting: BTreeMap::new() })))
    }

    fn take(self: &Arc<Self>) -> Option<Place> {
        let mut state = self.lock();
        state.free = state.free.checked_sub(1)?;
        Some(Place(Some(Arc::clone(self))))
    }

    fn queue(self: &Arc<Self>, path: &Path) -> Queued {
        let (sender, place) = oneshot::channel();
        let mut state = self.lock();
        let before = state.waiting.range(..path.clone()).count();
        state.waiting.insert(path.clone(), sender);
        let position = u32::try_from(before).unwrap_or(u32::MAX);
        Queued { places: Arc::clone(self), path: path.clone(), place, position }
    }

    /// A place became free: the first that waits gets it.
    fn release(self: &Arc<Self>) {
        let mut state = self.lock();
        while let Some((_, waiting)) = state.waiting.pop_first() {
            match waiting.send(Place(Some(Arc::clone(self)))) {
                Ok(()) => return,
                // Whoever waited is gone; the place is still to be given away.
                Err(mut place) => drop(place.0.take()),
            }
        }
        state.free += 1;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One place, free again when dropped.
#[derive(Debug)]
pub struct Place(Option<Arc<Places>>);

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(places) = self.0.take() {
            places.release();
        }
    }
}

/// Somebody that waits for a place, until it is dropped.
#[derive(Debug)]
pub struct Queued {
    places: Arc<Places>,
    path: Path,
    place: oneshot::Receiver<Place>,
    /// How many came before it when it began to wait.
    pub position: u32,
}

impl Queued {
    /// The place, or why the one that waits was cancelled.
    pub async fn place(mut self, scope: &CancelScope) -> Result<Place, Ending> {
        let given = scope.race(&mut self.place).await?;
        // A sender is used up by giving; were it lost, the program would be going down.
        given.map_err(|_| Ending::Cancelled(By::Shutdown))
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.places.lock().waiting.remove(&self.path);
    }
}

/// Where one run sits: its place while it works, and what of its batch is going on.
#[derive(Debug)]
pub struct Seat {
    places: Arc<Places>,
    path: Path,
    batch: Mutex<Batch>,
}

#[derive(Debug, Default)]
struct Batch {
    place: Option<Place>,
    /// Calls of the run's own that have not ended.
    own: usize,
    /// Children that have not ended.
    tasks: usize,
    /// Those of them that have not asked for a place yet.
    to_ask: usize,
}

/// What a child that asks for a place comes to.
#[derive(Debug)]
pub enum Asked {
    /// It may work.
    Now(Place),
    /// It waits.
    Later(Queued),
}

impl Seat {
    /// The seat of the run that answers the user: it needs no place.
    pub fn root(places: Arc<Places>) -> Self {
        Self { places, path: Path::new(), batch: Mutex::default() }
    }

    /// The seat of a child that works on this task.
    #[must_use]
    pub fn child(&self, task: TaskId, place: Place) -> Self {
        let batch = Batch { place: Some(place), ..Batch::default() };
        let (places, path) = (Arc::clone(&self.places), self.path_of(task));
        Self { places, path, batch: Mutex::new(batch) }
    }

    /// So many calls and children begin at once.
    pub fn begin(&self, own: usize, tasks: usize) {
        let mut batch = self.lock();
        (batch.own, batch.tasks, batch.to_ask) = (own, tasks, tasks);
    }

    /// A child of this run asks for a place.
    pub fn ask(&self, task: TaskId) -> Asked {
        let mut batch = self.lock();
        batch.to_ask = batch.to_ask.saturating_sub(1);
        if batch.own == 0
            && let Some(place) = batch.place.take()
        {
            return Asked::Now(place);
        }
        drop(batch);
        match self.places.take() {
            Some(place) => Asked::Now(place),
            None => Asked::Later(self.places.queue(&self.path_of(task))),
        }
    }

    /// A child of this run was cancelled before it asked.
    pub fn gave_up(&self) {
        let mut batch = self.lock();
        batch.to_ask = batch.to_ask.saturating_sub(1);
    }

    /// A call of this run's own has ended. If nothing is left but children, the place is theirs.
    pub fn call_ended(&self) {
        let mut batch = self.lock();
        batch.own = batch.own.saturating_sub(1);
        let only_waits = batch.own == 0 && batch.tasks > 0 && batch.to_ask == 0;
        let place = if only_waits { batch.place.take() } else { None };
        drop(batch);
        // Somebody else may get it, so not under the lock.
        drop(place);
    }

    /// A child of this run is counted as going on until the guard is dropped.
    pub fn child_goes_on(&self) -> ChildGoesOn<'_> {
        ChildGoesOn { seat: self, place: None }
    }

    /// The run has ended: takes its place, if it has one at that moment.
    pub fn leave(&self) -> Option<Place> {
        self.lock().place.take()
    }

    /// After a batch: the run works again as soon as it has a place. Returns at once if its last
    /// child handed one back; a run that was cancelled meanwhile needs none to end.
    pub async fn come_back(&self, scope: &CancelScope) {
        if self.path.is_empty() || self.lock().place.is_some() {
            return;
        }
        let place = match self.places.take() {
            Some(place) => Some(place),
            None => self.places.queue(&self.path).place(scope).await.ok(),
        };
        self.lock().place = place;
    }

    fn child_ended(&self, place: Option<Place>) {
        let mut batch = self.lock();
        batch.tasks = batch.tasks.saturating_sub(1);
        let is_last = batch.tasks == 0 && !self.path.is_empty() && batch.place.is_none();
        let place = if is_last {
            batch.place = place;
            None
        } else {
            place
        };
        drop(batch);
        drop(place);
    }

    fn path_of(&self, task: TaskId) -> Path {
        let mut path = self.path.clone();
        path.push(task);
        path
    }

    fn lock(&self) -> MutexGuard<'_, Batch> {
        self.batch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A child that has not ended, whatever way it ends.
#[derive(Debug)]
pub struct ChildGoesOn<'a> {
    seat: &'a Seat,
    place: Option<Place>,
}

impl ChildGoesOn<'_> {
    /// It has ended and hands its place on.
    pub fn hand_on(&mut self, place: Option<Place>) {
        self.place = place;
    }
}

impl Drop for ChildGoesOn<'_> {
    fn drop(&mut self) {
        self.seat.child_ended(self.place.take());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn now(asked: Asked) -> Place {
        match asked {
            Asked::Now(place) => place,
            Asked::Later(queued) => panic!("{queued:?}"),
        }
    }

    fn later(asked: Asked) -> Queued {
        match asked {
            Asked::Later(queued) => queued,
            Asked::Now(place) => panic!("{place:?}"),
        }
    }

    fn is_given(queued: &mut Queued) -> bool {
        !queued.place.is_empty()
    }

    #[tokio::test]
    async fn a_child_takes_over_its_parents_place_and_hands_it_back_past_who_waits() {
        let root = Seat::root(Places::new(1));
        root.begin(0, 2);
        let one = root.child(TaskId(1), now(root.ask(TaskId(1))));
        let mut two = later(root.ask(TaskId(2)));
        one.begin(0, 1);
        let mut goes_on = one.child_goes_on();
        let grandchild = one.child(TaskId(3), now(one.ask(TaskId(3))));
        assert!(!is_given(&mut two));
        goes_on.hand_on(grandchild.leave());
        drop(goes_on);
        one.come_back(&CancelScope::root()).await;
        assert!(!is_given(&mut two), "the first child works again");
        drop(one.leave());
        assert!(is_given(&mut two));
    }

    #[tokio::test]
    async fn a_run_keeps_its_place_while_a_call_of_its_own_goes_on() {
        let root = Seat::root(Places::new(1));
        root.begin(0, 1);
        let one = root.child(TaskId(1), now(root.ask(TaskId(1))));
        one.begin(1, 1);
        let mut child = later(one.ask(TaskId(2)));
        assert!(!is_given(&mut child));
        one.call_ended();
        assert!(is_given(&mut child));
    }

    #[tokio::test]
    async fn those_that_wait_are_served_by_call_path() {
        let root = Seat::root(Places::new(1));
        root.begin(0, 3);
        let place = now(root.ask(TaskId(1)));
        let one = root.child(TaskId(1), place);
        let (mut three, mut two) = (later(root.ask(TaskId(3))), later(root.ask(TaskId(2))));
        one.begin(0, 2);
        let four = now(one.ask(TaskId(4)));
        let mut five = later(one.ask(TaskId(5)));
        assert_eq!([five.position, two.position, three.position], [0, 0, 0], "as of then");
        drop(four);
        assert!(is_given(&mut five) && !is_given(&mut two));
        drop(five);
        assert!(is_given(&mut two) && !is_given(&mut three));
        drop(two);
        assert!(is_given(&mut three));
        drop(three);
        let only = root.places.take();
        assert!(only.is_some() && root.places.take().is_none());
    }

    #[tokio::test]
    async fn whoever_was_cancelled_while_it_waited_costs_no_place() {
        let root = Seat::root(Places::new(1));
        root.begin(0, 2);
        let place = now(root.ask(TaskId(1)));
        let scope = CancelScope::root();
        scope.fire(Ending::Cancelled(By::User));
        let waited = later(root.ask(TaskId(2))).place(&scope).await;
        assert_eq!(waited.unwrap_err(), Ending::Cancelled(By::User));
        drop(place);
        assert!(root.places.take().is_some());
    }
}
