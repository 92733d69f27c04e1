//! Waiting for a place: the task that waits is told of once, with how many come before it.

use super::delegate::Ticket;
use super::places::{Asked, Place};
use super::run::RunShared;
use super::steering;
use crate::domain::event::{Fact, Origin};
use crate::domain::message::ToolCall;
use crate::domain::report::Ending;

/// What is said of a task that was cancelled while it waited.
pub(super) const NEVER_RAN: &str = "Cancelled while it waited for a place; it never ran.";

/// A place for the child, at once where there is one; else why it was cancelled while it waited.
pub(super) async fn wait_for_place(
    parent: &RunShared,
    call: &ToolCall,
    ticket: &Ticket,
) -> Result<Place, Ending> {
    if let Err(ending) = may_start(parent, ticket).await {
        parent.seat.gave_up();
        return Err(ending);
    }
    let place = take_or_queue(parent, call, ticket).await?;
    may_start(parent, ticket).await?;
    Ok(place)
}

/// While the parent is paused nothing of it starts, whatever was free before or became free
/// meanwhile.
pub(super) async fn may_start(parent: &RunShared, ticket: &Ticket) -> Result<(), Ending> {
    steering::gate_of_child(parent, &ticket.scope).await?;
    ticket.scope.ending().map_or(Ok(()), Err)
}

async fn take_or_queue(
    parent: &RunShared,
    call: &ToolCall,
    ticket: &Ticket,
) -> Result<Place, Ending> {
    let queued = match parent.seat.ask(ticket.task) {
        Asked::Now(place) => return Ok(place),
        Asked::Later(queued) => queued,
    };
    let fact = Fact::TaskQueued {
        call: call.call.clone(),
        description: ticket.request.title(),
        role: ticket.request.role_name().to_owned(),
        position: queued.position,
    };
    // It is told of by the run that delegates: the task has no run yet.
    let origin = Origin { task: Some(ticket.task), ..parent.origin.clone() };
    // The place in the queue is taken by now, so that tasks start in call order.
    let (place, ()) =
        tokio::join!(biased; queued.place(&ticket.scope), parent.host.emit(&origin, fact));
    place
}
