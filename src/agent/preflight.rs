//! The question before a child starts: what exactly it would get, and a person's word on it. Nothing
//! of the child exists before the answer. It refuses to know how a question looks on a screen.

use super::delegate::{Ticket, with_grant};
use super::queue;
use super::run::RunShared;
use crate::domain::approval::{Answer, ApprovePolicy, Asker, Decider, Decision};
use crate::domain::contract::{Contract, Issue};
use crate::domain::event::{Fact, Level, Origin, Preflight};
use crate::domain::grant::Grant;
use crate::domain::guidance::Guidance;
use crate::domain::message::ToolCall;
use crate::domain::preflight::{Amendment, PreflightPolicy};
use crate::domain::report::Ending;
use crate::domain::violation::Refusal;
use crate::provider::Provider;

/// What is said of a task that was cancelled while somebody was asked about it.
pub(super) const NEVER_RAN: &str = "Cancelled while the user was asked about it; it never ran.";

/// Why a child that holds a number never started.
pub(super) enum Unstarted {
    /// Its contract was refused.
    Refused(Refusal),
    /// It was cancelled while somebody was asked about it.
    Cancelled(Ending),
    /// Nobody allowed it; the words are for the model.
    Denied(String),
}

impl From<Refusal> for Unstarted {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// A delegation whose contract can be made.
pub(super) struct Delegation<'a> {
    /// The run that delegates.
    pub parent: &'a RunShared,
    /// Its call.
    pub call: &'a ToolCall,
    /// The task.
    pub ticket: &'a Ticket,
    /// The project's rules, as they were read for it.
    pub rules: &'a Guidance,
    /// What the contract is issued with.
    pub issue: Issue,
}

/// The contract that the child starts with: the shown one, or what a person made of it.
pub(super) async fn agree(
    delegation: &Delegation<'_>,
    shown: Contract,
    provider: &dyn Provider,
) -> Result<Contract, Unstarted> {
    let host = &delegation.parent.host;
    if host.preflight() == PreflightPolicy::Never {
        return Ok(shown);
    }
    match host.asker {
        Asker::Person => {}
        Asker::Nobody(ApprovePolicy::All) => return Ok(shown),
        Asker::Nobody(policy @ (ApprovePolicy::Never | ApprovePolicy::Edits)) => {
            return Err(nobody_there(delegation, &shown, policy).await);
        }
    }
    let preflight = Preflight {
        role: shown.role().to_owned(),
        description: shown.description().to_owned(),
        contract: shown.view().going_to(provider.identity().destination()),
    };
    let amendment = ask(delegation, preflight).await?;
    queue::may_start(delegation.parent, delegation.ticket).await.map_err(Unstarted::Cancelled)?;
    Ok(narrow_again(delegation, &shown, &amendment)?)
}

/// Time passed while the person read: what the parent has left now decides, and what was shown.
fn narrow_again(
    delegation: &Delegation<'_>,
    shown: &Contract,
    amendment: &Amendment,
) -> Result<Contract, Refusal> {
    let Delegation { parent, ticket, rules, issue, .. } = delegation;
    with_grant(parent, Some(ticket), rules, |grant| {
        // That it is no sibling's task was judged by what the model asked for; that a person takes a
        // key out of it does not make it one.
        let grant = Grant { siblings: &[], ..grant.clone() };
        Contract::narrow_shown(&grant, &ticket.request, *issue, shown, amendment)
    })
}

/// How a question ended.
enum Outcome {
    Answered(Answer),
    PolicyChanged,
    Cancelled(Ending),
}

async fn ask(delegation: &Delegation<'_>, preflight: Preflight) -> Result<Amendment, Unstarted> {
    let Delegation { parent, call, ticket, .. } = delegation;
    let host = &parent.host;
    // Waiting begins before the policy is looked at once more, so that no change can be missed.
    let mut open = host.approvals.open(parent.contract.run().clone(), call.call.clone());
    if host.preflight() == PreflightPolicy::Never {
        return Ok(Amendment::default());
    }
    let in_flight = parent.clock.enter();
    let waits = in_flight.wait();
    tell(delegation, question(delegation, &preflight)).await;
    let raced = ticket.scope.race(async {
        loop {
            if let Some(answer) = open.answer().await {
                return Outcome::Answered(answer);
            }
            if host.preflight() == PreflightPolicy::Never {
                return Outcome::PolicyChanged;
            }
        }
    });
    let outcome = raced.await.unwrap_or_else(Outcome::Cancelled);
    drop((open, waits));
    conclude(delegation, &preflight, outcome).await
}

fn question(delegation: &Delegation<'_>, preflight: &Preflight) -> Fact {
    let Preflight { role, description, .. } = preflight;
    let number = delegation.ticket.task.0;
    Fact::ApprovalRequested {
        call: delegation.call.call.clone(),
        name: delegation.call.name.clone(),
        summary: format!("start #{number} {role}: {description}"),
        diff: None,
        command: None,
        folder: None,
        fence: None,
        prefix: None,
        preflight: Some(Box::new(preflight.clone())),
    }
}

/// Tells how the question ended, and what the child gets less than was shown.
async fn conclude(
    delegation: &Delegation<'_>,
    preflight: &Preflight,
    outcome: Outcome,
) -> Result<Amendment, Unstarted> {
    let amendment = match outcome {
        Outcome::Cancelled(ending) => {
            decided(delegation, Decision::Withdrawn, Decider::Runtime, None).await;
            return Err(Unstarted::Cancelled(ending));
        }
        Outcome::PolicyChanged => {
            decided(delegation, Decision::Once, Decider::Mode, None).await;
            return Ok(Amendment::default());
        }
        Outcome::Answered(Answer::Deny { reason }) => {
            let reason = reason.filter(|reason| !reason.trim().is_empty());
            let words = denied_by_user(reason.as_deref());
            decided(delegation, Decision::Deny, Decider::User, reason).await;
            return Err(Unstarted::Denied(words));
        }
        // There is no answer for more than this delegation: that would be the policy.
        Outcome::Answered(Answer::Once | Answer::Child | Answer::Session) => Amendment::default(),
        Outcome::Answered(Answer::Amended(amendment)) => {
            match amendment.held_against(&preflight.contract) {
                Ok(amendment) => amendment,
                Err(error) => {
                    let reason = error.to_string();
                    let words =
                        denied(&format!("the answer does not fit what was shown: {reason}"));
                    decided(delegation, Decision::Deny, Decider::Runtime, Some(reason)).await;
                    return Err(Unstarted::Denied(words));
                }
            }
        }
    };
    tell(
        delegation,
        Fact::ApprovalDecided {
            call: delegation.call.call.clone(),
            decision: Decision::Once,
            by: Decider::User,
            reason: None,
            amended: (!amendment.is_none()).then(|| amendment.clone()),
        },
    )
    .await;
    Ok(amendment)
}

/// Nobody can be asked, and the policy on the command line does not let it start.
async fn nobody_there(
    delegation: &Delegation<'_>,
    shown: &Contract,
    policy: ApprovePolicy,
) -> Unstarted {
    let parent = delegation.parent;
    let reason = format!(
        "nobody can be asked before a child starts (--approve {}); --approve all would let it start",
        policy.name()
    );
    decided(delegation, Decision::Expired, Decider::Policy, Some(reason.clone())).await;
    let text = format!("task \"{}\" was not allowed: {reason}", shown.description());
    if parent.host.approvals.is_news(parent.contract.run(), &text) {
        parent.emit(Fact::notice(Level::Warning, "CALL_DENIED", text)).await;
    }
    Unstarted::Denied(denied(&reason))
}

async fn decided(
    delegation: &Delegation<'_>,
    decision: Decision,
    by: Decider,
    reason: Option<String>,
) {
    let call = delegation.call.call.clone();
    tell(delegation, Fact::ApprovalDecided { call, decision, by, reason, amended: None }).await;
}

/// It is told of by the run that delegates: the task has no run yet.
async fn tell(delegation: &Delegation<'_>, fact: Fact) {
    let parent = delegation.parent;
    let origin = Origin { task: Some(delegation.ticket.task), ..parent.origin.clone() };
    parent.host.emit(&origin, fact).await;
}

fn denied_by_user(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => {
            denied(&format!("the user did not allow this delegation, and says: {reason}"))
        }
        None => denied("the user did not allow this delegation"),
    }
}

fn denied(why: &str) -> String {
    format!(
        "task was denied: {why}. No child was started. Do not delegate the same in other words; go on \
         without it, or say what is missing."
    )
}
