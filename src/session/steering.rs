//! Steering a live run without ending it at once: pause, wrap up, extend, a message. It knows who can
//! be steered and answers in words who cannot; what comes of it is the run's own doing.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Conversation;
use crate::agent::host::Typed;
use crate::agent::run::RunShared;
use crate::agent::steering::TooLate;
use crate::domain::budget::Dimension;
use crate::domain::command::{Steer, Target};
use crate::domain::event::{Fact, Level};
use crate::domain::extend;
use crate::domain::ids::TaskId;
use crate::domain::report::By;
use crate::domain::secrecy;
use crate::domain::usage::MicroUsd;
use crate::journal::hub::Place;

/// The notice that a run cannot be steered, or not in this way.
const NOT_STEERED: &str = "NOT_STEERED";

impl Conversation {
    /// Steers a run, or says why that cannot be.
    pub(super) async fn steer(&mut self, target: Target, steer: Steer) {
        let run = match target {
            Target::Parent => self.parent_run(),
            Target::Task(task) => self.task_run(task, &steer),
        };
        let steered = match (run, steer) {
            (Err(why), _) => Err(why),
            (Ok(_), Steer::Tell { text }) if text.trim().is_empty() => {
                Err("there is nothing to tell".to_owned())
            }
            (Ok(_), Steer::Tell { text }) if target == Target::Parent => {
                self.submit(Typed { words: text, must_delegate: false }).await;
                Ok(())
            }
            (Ok(run), Steer::Tell { text }) => self.tell_child(&run, text),
            (Ok(run), Steer::Pause) => pause(&run).await,
            (Ok(run), Steer::WrapUp) => wrap_up(&run).await,
            (Ok(run), Steer::Extend) => {
                let money = self.money_left(target, &run);
                extend(&run, money).await
            }
        };
        if let Err(why) = steered {
            self.tell(Fact::notice(Level::Info, NOT_STEERED, why)).await;
        }
    }

    /// Leaves words for a child, unless they hold what it may not get: they go to its model as they
    /// are, like the words of its task.
    fn tell_child(&self, run: &RunShared, text: String) -> Result<(), String> {
        let local = run.provider.identity().local;
        let secrets = &self.host.secrets;
        let mut withheld = secrecy::withheld_from(&text, &self.host.store(), secrets, local);
        if let Some(above) = &run.above {
            let more = secrecy::withheld_from(&text, &above.store(), secrets, local);
            withheld
                .extend(more.into_iter().filter(|why| !withheld.contains(why)).collect::<Vec<_>>());
        }
        if !withheld.is_empty() {
            let (name, what) = (name(run), withheld.join(", "));
            return Err(format!(
                "{name} was not told: the words hold the value of {what}; say it without"
            ));
        }
        run.steering.tell(text).map_err(|late| too_late(run, late))
    }

    fn parent_run(&self) -> Result<Arc<RunShared>, String> {
        let running = self.running.as_ref().filter(|running| !running.over.load(Ordering::Acquire));
        let running = running.ok_or_else(|| "no answer is being made".to_owned())?;
        match running.scope.ending() {
            Some(_) => Err("the answer is being stopped".to_owned()),
            None => Ok(Arc::clone(&running.shared)),
        }
    }

    fn task_run(&self, task: TaskId, steer: &Steer) -> Result<Arc<RunShared>, String> {
        let number = task.0;
        match (self.host.live.get(task), self.host.live.run(task)) {
            (Some(scope), _) if scope.ending().is_some() => {
                Err(format!("#{number} is being cancelled"))
            }
            (Some(_), Some(run)) => Ok(run),
            (Some(_), None) => {
                let cannot = match steer {
                    Steer::Pause => "there is nothing to pause yet",
                    Steer::WrapUp => "there is nothing to report yet",
                    Steer::Extend => "it has no budget to extend yet",
                    Steer::Tell { .. } => "it cannot hear yet",
                };
                Err(format!("#{number} waits for its start: {cannot}; /cancel #{number} works"))
            }
            (None, _) if self.host.has_task(task) => Err(format!("#{number} has ended")),
            (None, _) => Err(format!("there is no task #{number}")),
        }
    }

    /// By how much the money of the parent's run may grow: what the session's own bound leaves.
    fn money_left(&self, target: Target, run: &RunShared) -> Option<MicroUsd> {
        let bound = self.limits.session_cost.filter(|_| target == Target::Parent)?;
        let given = run.tree.ledger().limits(run.account)[Dimension::CostUsd].finite().unwrap_or(0);
        Some(MicroUsd(bound.0.saturating_sub(self.spent.0).saturating_sub(given)))
    }
}

fn name(run: &RunShared) -> String {
    run.contract.task_id().map_or_else(|| "the answer".to_owned(), |task| format!("#{}", task.0))
}

fn target(run: &RunShared) -> String {
    run.contract.run().to_string()
}

fn too_late(run: &RunShared, late: TooLate) -> String {
    let name = name(run);
    match late {
        TooLate::WrappingUp => format!("{name} is in its last turn and reports"),
        TooLate::Over => format!("{name} has ended"),
    }
}

/// Pauses, or lets go on. It is told in the same step as it is done, so that the record reads in the
/// right order.
async fn pause(run: &RunShared) -> Result<(), String> {
    let place = run.host.hub.place().await;
    let (target, by) = (target(run), By::User);
    let steering = &run.steering;
    let done = if steering.is_paused() {
        steering.before_its_end(|| {
            place.take(&run.origin, Fact::Resumed { target, by });
            steering.set_paused(false);
        })
    } else {
        steering.while_going(|| {
            place.take(&run.origin, Fact::Paused { target, by });
            steering.set_paused(true);
        })
    };
    done.map_err(|late| too_late(run, late))
}

/// The next turn is the last; one that is paused goes on for it.
async fn wrap_up(run: &RunShared) -> Result<(), String> {
    let place = run.host.hub.place().await;
    let fact = Fact::WrapUpRequested { target: target(run), by: By::User };
    let asked = run.steering.wrap_up(|| place.take(&run.origin, fact));
    if !asked.map_err(|late| too_late(run, late))? {
        return Err(format!("{} was already asked to wrap up", name(run)));
    }
    if run.steering.is_paused() {
        return pause(run).await;
    }
    Ok(())
}

async fn extend(run: &RunShared, money: Option<MicroUsd>) -> Result<(), String> {
    let place = run.host.hub.place().await;
    raise(run, money, place)?;
    run.steering.extended();
    Ok(())
}

/// One step under the ledger's lock, as the run's own decision about its last turn is, and told in
/// the same step.
fn raise(run: &RunShared, money: Option<MicroUsd>, place: Place<'_>) -> Result<(), String> {
    let mut ledger = run.tree.ledger();
    ledger.set_elapsed_ms(run.account, run.elapsed_ms());
    if let Some(above) = &run.above {
        ledger.set_elapsed_ms(above.account, above.elapsed_ms());
    }
    let raised = run.steering.while_going(|| {
        let extended = extend::extend(&mut ledger, run.account, run.contract.budget(), money)
            .map_err(|why| format!("{} could not be extended: {why}", name(run)))?;
        let (text, limits) = (extended.to_string(), extended.limits);
        let fact = Fact::BudgetExtended { target: target(run), by: By::User, text, limits };
        place.take(&run.origin, fact);
        Ok(())
    });
    raised.unwrap_or_else(|late| Err(too_late(run, late)))
}
