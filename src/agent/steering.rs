//! What a person asked of a live run. It is left here by the session and looked at by the run at its
//! boundaries: before a request, before a try of one, before a call. Nothing that goes on is broken
//! off by it; that is what [`super::cancel`] is for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::cancel::CancelScope;
use super::clock::{InFlight, RunClock};
use super::run::{Run, RunShared};
use crate::domain::budget::{Dimension, Limit};
use crate::domain::event::{Fact, Level, MessageFact, RunFinished};
use crate::domain::report::{By, Ending, Exhausted};

/// What makes a turn the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastTurn {
    /// Something ran out.
    Exhausted(Exhausted),
    /// A person asked for it.
    Asked,
}

/// How far a run is, as far as that matters to who steers it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Stage {
    /// More turns may come.
    #[default]
    Going,
    /// Its last turn has begun.
    WrappingUp,
    /// Nothing will be looked at any more.
    Over,
}

/// Why a run cannot be steered any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooLate {
    /// Its last turn has begun.
    WrappingUp,
    /// It has ended.
    Over,
}

/// What a person asked of one run.
#[derive(Debug, Default)]
pub struct Steering {
    asked: Mutex<Asked>,
    paused: watch::Sender<bool>,
    extended: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Asked {
    stage: Stage,
    end_told: bool,
    wrap_up: bool,
    words: VecDeque<String>,
}

impl Asked {
    fn require_going(&self) -> Result<(), TooLate> {
        match self.stage {
            Stage::Going => Ok(()),
            Stage::WrappingUp => Err(TooLate::WrappingUp),
            Stage::Over => Err(TooLate::Over),
        }
    }
}

impl Steering {
    /// Does something to the run and tells of it in one step, unless its end was told: so that
    /// nothing of this kind is told after the run's end. `act` must not wait.
    pub fn before_its_end<T>(&self, act: impl FnOnce() -> T) -> Result<T, TooLate> {
        let asked = self.asked();
        if asked.end_told { Err(TooLate::Over) } else { Ok(act()) }
    }

    /// The same, unless its last turn has begun.
    pub fn while_going<T>(&self, act: impl FnOnce() -> T) -> Result<T, TooLate> {
        let asked = self.asked();
        asked.require_going().map(|()| act())
    }

    /// True while the run may start nothing new.
    pub fn is_paused(&self) -> bool {
        *self.paused.borrow()
    }

    /// The run starts nothing new, or goes on.
    pub fn set_paused(&self, paused: bool) {
        self.paused.send_replace(paused);
    }

    /// The next turn is to be the last, which `tell` tells; false if that was asked for before.
    /// `tell` must not wait.
    pub fn wrap_up(&self, tell: impl FnOnce()) -> Result<bool, TooLate> {
        let mut asked = self.asked();
        asked.require_going()?;
        let news = !std::mem::replace(&mut asked.wrap_up, true);
        if news {
            tell();
        }
        Ok(news)
    }

    /// Leaves words for the run's next boundary.
    pub fn tell(&self, words: String) -> Result<(), TooLate> {
        let mut asked = self.asked();
        asked.require_going()?;
        asked.words.push_back(words);
        Ok(())
    }

    /// The run looks at its limits anew.
    pub fn extended(&self) {
        self.extended.send_replace(());
    }

    /// What a person made of the turn to come, where the run itself found `because`. The answer
    /// holds: a last turn begins here for whoever steers.
    pub(super) fn last_turn(&self, because: Option<Exhausted>) -> Option<LastTurn> {
        let mut asked = self.asked();
        let last = match because {
            _ if asked.wrap_up => Some(LastTurn::Asked),
            Some(because) => Some(LastTurn::Exhausted(because)),
            None => None,
        };
        asked.stage = match (asked.stage, last) {
            (Stage::Going, Some(_)) => Stage::WrappingUp,
            // A last turn that could not be had, because its prompt was too long, was none: with
            // shorter results there may be room for more than one.
            (Stage::WrappingUp, None) => Stage::Going,
            (stage @ Stage::Going, None)
            | (stage @ Stage::WrappingUp, Some(_))
            | (stage @ Stage::Over, Some(_) | None) => stage,
        };
        last
    }

    /// True if words wait. Otherwise nothing is taken any more, so that none can come too late
    /// without its sender hearing so.
    fn has_words_or_closes(&self) -> bool {
        let mut asked = self.asked();
        if asked.words.is_empty() {
            asked.stage = Stage::Over;
        }
        !asked.words.is_empty()
    }

    fn take_words(&self) -> Vec<String> {
        self.asked().words.drain(..).collect()
    }

    fn close(&self) -> Vec<String> {
        let mut asked = self.asked();
        asked.stage = Stage::Over;
        asked.words.drain(..).collect()
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn resumed(&self) {
        let mut paused = self.paused.subscribe();
        // The sender lives as long as `self`, so that a change cannot fail to come.
        let _ = paused.wait_for(|paused| !paused).await;
    }
}

/// What waits while its run is paused: the run as a whole, or one thing that is in flight in it.
pub(super) enum Waiter<'a> {
    Run(&'a Arc<RunClock>),
    Call(&'a InFlight),
}

/// Waits while the run is paused, its clock with it. True if it was.
pub(super) async fn gate(
    steering: &Steering,
    scope: &CancelScope,
    waiter: Waiter<'_>,
) -> Result<bool, Ending> {
    let mut was_paused = false;
    while steering.is_paused() {
        was_paused = true;
        match &waiter {
            Waiter::Run(clock) => {
                let held = clock.hold();
                scope.race(steering.resumed()).await?;
                drop(held);
            }
            Waiter::Call(in_flight) => {
                let waits = in_flight.wait();
                scope.race(steering.resumed()).await?;
                drop(waits);
            }
        }
    }
    Ok(was_paused)
}

/// Waits, before a child starts, while the run that delegated to it is paused.
pub(super) async fn gate_of_child(parent: &RunShared, child: &CancelScope) -> Result<(), Ending> {
    if !parent.steering.is_paused() {
        return Ok(());
    }
    let in_flight = parent.clock.enter();
    gate(&parent.steering, child, Waiter::Call(&in_flight)).await.map(drop)
}

/// Between two turns: waits while the run is paused and takes in what it was told.
pub(super) async fn boundary(run: &mut Run) -> Result<(), Ending> {
    let shared = Arc::clone(&run.shared);
    let was_paused = gate(&shared.steering, &shared.scope, Waiter::Run(&shared.clock)).await?;
    hear(run).await?;
    if was_paused {
        super::run::hear_inbox(run).await?;
    }
    Ok(())
}

/// A run that would end by itself has one turn more if words wait for it and that turn would not be
/// its last: a run that had finished would else end as one that was cut. What waits then is told to
/// have come too late.
pub(super) async fn hears_before_it_ends(run: &mut Run) -> Result<bool, Ending> {
    if run.shared.contract.depth() == 0 || !run.shared.steering.has_words_or_closes() {
        return Ok(false);
    }
    if !run.plan().is_ok_and(|plan| plan.wrap_up.is_none()) {
        return Ok(false);
    }
    hear(run).await?;
    Ok(true)
}

/// The words enter the history, where the model reads them as its user's.
async fn hear(run: &mut Run) -> Result<(), Ending> {
    for words in run.shared.steering.take_words() {
        let target = run.shared.contract.run().to_string();
        run.history.ask(words.clone()).map_err(|error| run.internal(&error))?;
        let told = Fact::Steered { target, by: By::User, text: words.clone() };
        run.shared.emit(told).await;
        run.shared.emit(Fact::Message(MessageFact::user(words))).await;
    }
    Ok(())
}

/// The run takes nothing any more; words that came too late are told to be lost.
pub(super) async fn close(shared: &RunShared) {
    let unheard = shared.steering.close();
    if unheard.is_empty() {
        return;
    }
    let text = format!(
        "{} ended before it could hear: {}",
        shared
            .contract
            .task_id()
            .map_or_else(|| "the run".to_owned(), |task| format!("#{}", task.0)),
        unheard.join(" / "),
    );
    shared.emit(Fact::notice(Level::Warning, "UNHEARD", text)).await;
}

/// Tells the end of a run, after which nothing that is done to it is told any more.
pub async fn tell_end(shared: &RunShared, finished: RunFinished) {
    let place = shared.host.hub.place().await;
    let mut asked = shared.steering.asked();
    (asked.stage, asked.end_told) = (Stage::Over, true);
    place.take(&shared.origin, Fact::RunFinished(Box::new(finished)));
}

/// Waits until the run has used its duration, however often that grows meanwhile; the time in which
/// it waits for a person or is paused is not counted.
pub(super) async fn time_is_up(shared: &RunShared) {
    let mut extended = shared.steering.extended.subscribe();
    loop {
        extended.mark_unchanged();
        let limit = shared.tree.ledger().limits(shared.account)[Dimension::Duration];
        let reached = async {
            match limit {
                Limit::Of(ms) => shared.clock.reaches(Duration::from_millis(ms)).await,
                Limit::Unlimited | Limit::Off => std::future::pending().await,
            }
        };
        // The sender lives as long as the run, so that a change cannot fail to come.
        tokio::select! {
            biased;
            _ = extended.changed() => {}
            () = reached => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_last_turn_that_could_not_be_had_leaves_the_run_to_be_steered() {
        let steering = Steering::default();
        let last = steering.last_turn(Some(Exhausted::InputTokens));
        assert_eq!(last, Some(LastTurn::Exhausted(Exhausted::InputTokens)));
        assert_eq!(steering.tell("too late".to_owned()), Err(TooLate::WrappingUp));
        assert_eq!(steering.while_going(|| ()), Err(TooLate::WrappingUp));
        // The prompt was refused as too long; with shorter results there is room again.
        assert_eq!(steering.last_turn(None), None);
        assert_eq!(steering.tell("in time".to_owned()), Ok(()));
        assert_eq!(steering.while_going(|| 7), Ok(7));
        assert_eq!(steering.wrap_up(|| ()), Ok(true));
        assert_eq!(steering.last_turn(None), Some(LastTurn::Asked));
        assert_eq!(steering.close(), ["in time"]);
        assert_eq!(steering.last_turn(None), Some(LastTurn::Asked));
        assert_eq!(steering.while_going(|| ()), Err(TooLate::Over));
        assert_eq!(steering.before_its_end(|| 7), Ok(7), "its end is yet to be told");
    }
}
