//! The running time of one run, on the monotonic clock. It stands while everything alive under the
//! run waits for a person, or while somebody holds it. It knows what waits and refuses to know why.
//!
//! A run is doing something of its own (a model request, say) unless calls are in flight; while calls
//! are, it stands when all of them wait. A child's clock is one thing in flight on its parent's: when
//! the child's stands, its parent's `task` call waits, and so on up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// The running time of a run.
#[derive(Debug)]
pub struct RunClock {
    hands: Mutex<Hands>,
    standing: watch::Sender<bool>,
    above: Option<InFlight>,
}

#[derive(Debug)]
struct Hands {
    /// What ran before the clock last began to run.
    banked: Duration,
    /// When it last began to run; `None` while it stands.
    since: Option<Instant>,
    /// Calls and children that were begun and have not ended.
    in_flight: usize,
    /// How many of them wait.
    waiting: usize,
    /// How many hold it.
    holds: usize,
}

impl Hands {
    fn should_stand(&self) -> bool {
        self.holds > 0 || (self.waiting > 0 && self.waiting == self.in_flight)
    }
}

impl RunClock {
    /// A clock that runs from now on, of a run that nobody delegated to.
    pub fn start() -> Arc<Self> {
        Arc::new(Self::new(None))
    }

    /// The clock of a child, which is in flight on this one until it is dropped.
    pub fn child(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self::new(Some(self.enter())))
    }

    fn new(above: Option<InFlight>) -> Self {
        let hands = Hands {
            banked: Duration::ZERO,
            since: Some(Instant::now()),
            in_flight: 0,
            waiting: 0,
            holds: 0,
        };
        Self { hands: Mutex::new(hands), standing: watch::Sender::new(false), above }
    }

    /// Something of the run begins; it is in flight until the guard is dropped.
    pub fn enter(self: &Arc<Self>) -> InFlight {
        self.change(|hands| hands.in_flight += 1);
        InFlight { clock: Arc::clone(self) }
    }

    /// Stops the clock, whatever the run does, until the guard is dropped.
    pub fn hold(self: &Arc<Self>) -> Held {
        self.change(|hands| hands.holds += 1);
        Held { clock: Arc::clone(self) }
    }

    /// How long it ran.
    pub fn elapsed(&self) -> Duration {
        let hands = self.hands();
        hands.banked + hands.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    /// The same in ms.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// True while it does not run.
    pub fn stands(&self) -> bool {
        *self.standing.borrow()
    }

    /// Waits until it has run this long in all.
    pub async fn reaches(&self, limit: Duration) {
        let mut standing = self.standing.subscribe();
        loop {
            let stands = *standing.borrow_and_update();
            let left = limit.saturating_sub(self.elapsed());
            if !stands && left.is_zero() {
                return;
            }
            // The sender lives as long as `self`, so that a change cannot fail to come.
            tokio::select! {
                () = sleep(left), if !stands => {}
                _ = standing.changed() => {}
            }
        }
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is in flight, and stops or starts the clock, and those above it, with it. Locks
    /// are taken upwards only, so that what a parent hears is in the order that it happened.
    fn change(&self, change: impl FnOnce(&mut Hands)) {
        let mut hands = self.hands();
        change(&mut hands);
        let stands = hands.should_stand();
        match (hands.since, stands) {
            (Some(since), true) => {
                hands.banked += since.elapsed();
                hands.since = None;
            }
            (None, false) => hands.since = Some(Instant::now()),
            (Some(_), false) | (None, true) => return,
        }
        if let Some(above) = &self.above {
            above.clock.count_waiting(stands);
        }
        self.standing.send_replace(stands);
    }

    fn count_waiting(&self, one_more: bool) {
        self.change(|hands| {
            hands.waiting =
                if one_more { hands.waiting + 1 } else { hands.waiting.saturating_sub(1) };
        });
    }
}

impl Drop for RunClock {
    fn drop(&mut self) {
        // It is not in flight any more; should it have stood, it does not wait any more either.
        if let Some(above) = &self.above
            && *self.standing.borrow()
        {
            above.clock.count_waiting(false);
        }
    }
}

/// Something of a run that was begun and has not ended.
#[derive(Debug)]
pub struct InFlight {
    clock: Arc<RunClock>,
}

impl InFlight {
    /// It waits for a person until the guard is dropped.
    pub fn wait(&self) -> Waits<'_> {
        self.clock.count_waiting(true);
        Waits { in_flight: self }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.clock.change(|hands| hands.in_flight = hands.in_flight.saturating_sub(1));
    }
}

/// Something of a run that waits for a person.
#[derive(Debug)]
pub struct Waits<'a> {
    in_flight: &'a InFlight,
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.in_flight.clock.count_waiting(false);
    }
}

/// Keeps a clock from running.
#[derive(Debug)]
pub struct Held {
    clock: Arc<RunClock>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.clock.change(|hands| hands.holds = hands.holds.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    async fn pass(seconds: u64) {
        tokio::time::advance(Duration::from_secs(seconds)).await;
    }

    fn seconds(clock: &RunClock) -> u64 {
        clock.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn it_stands_while_its_only_call_waits() {
        let clock = RunClock::start();
        pass(1).await;
        let call = clock.enter();
        pass(2).await;
        let waits = call.wait();
        pass(600).await;
        assert!(clock.stands());
        drop(waits);
        pass(4).await;
        drop(call);
        pass(8).await;
        assert_eq!(seconds(&clock), 15);
    }

    #[tokio::test(start_paused = true)]
    async fn it_runs_while_one_of_two_calls_works() {
        let clock = RunClock::start();
        let (one, two) = (clock.enter(), clock.enter());
        let waits = one.wait();
        pass(1).await;
        let also = two.wait();
        pass(100).await;
        drop(also);
        pass(2).await;
        drop(two);
        pass(1_000).await;
        drop(waits);
        drop(one);
        pass(4).await;
        assert_eq!(seconds(&clock), 7);
    }

    #[tokio::test(start_paused = true)]
    async fn a_child_that_stands_makes_its_parents_call_wait() {
        let parent = RunClock::start();
        let (child, sibling) = (parent.child(), parent.child());
        let grandchild = child.child();
        let call = grandchild.enter();
        let waits = call.wait();
        pass(1).await;
        assert!(grandchild.stands() && child.stands() && !parent.stands());
        drop(sibling);
        pass(100).await;
        assert!(parent.stands());
        drop(waits);
        pass(2).await;
        assert_eq!([seconds(&grandchild), seconds(&child), seconds(&parent)], [2, 2, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_child_that_ends_while_it_stands_leaves_its_parent_running() {
        let parent = RunClock::start();
        let child = parent.child();
        let held = child.hold();
        pass(10).await;
        drop((held, child));
        pass(1).await;
        let child = parent.child();
        let held = child.hold();
        drop(child);
        drop(held);
        let next = parent.enter();
        pass(2).await;
        drop(next);
        assert_eq!((seconds(&parent), parent.stands()), (3, false));
    }

    #[tokio::test(start_paused = true)]
    async fn a_limit_is_reached_by_running_time_alone() {
        let clock = RunClock::start();
        let began = Instant::now();
        let reached = clock.reaches(Duration::from_secs(10));
        let life = async {
            sleep(Duration::from_secs(9)).await;
            let held = clock.hold();
            sleep(Duration::from_mins(10)).await;
            drop(held);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = reached => {}
            () = life => {}
        }
        assert_eq!(began.elapsed().as_secs(), 610);
        clock.reaches(Duration::from_secs(10)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn two_holds_are_both_let_go_before_it_runs() {
        let clock = RunClock::start();
        let (one, two) = (clock.hold(), clock.hold());
        drop(one);
        pass(5).await;
        drop(two);
        pass(3).await;
        assert_eq!(seconds(&clock), 3);
    }
}
