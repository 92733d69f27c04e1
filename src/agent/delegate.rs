//! A `task` call: from the request over the contract and the child's run to the report.
//!
//! Two moments matter. When the batch is admitted, all its `task` calls are checked before any
//! starts. When a child's turn comes, its contract is narrowed from what its parent has left then.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use tokio::time::Instant;

use super::apart::apart;
use super::briefing::Briefings;
use super::cancel::{CancelScope, LiveTask};
use super::dispatch::CallEnd;
use super::places::{Place, Seat};
use super::preflight::{self, Delegation, Unstarted};
use super::record::ChildEnd;
use super::reporting::{self, keep_report};
use super::run::{Run, RunShared, run_agent, standing_tokens};
use super::steering::Steering;
use super::{briefing, guidance, lineage, models, queue};
use crate::domain::context_store::{ContextStore, Sensitivity};
use crate::domain::contract::{Contract, Issue};
use crate::domain::event::{Fact, Failure, MessageFact, Origin};
use crate::domain::grant::Grant;
use crate::domain::guidance::Guidance;
use crate::domain::hash::Sha;
use crate::domain::history::History;
use crate::domain::ids::{CallId, RunId, TaskId};
use crate::domain::ledger::{AccountId, Shortfall};
use crate::domain::message::ToolCall;
use crate::domain::report::{By, Ending, Report, Spent, Status};
use crate::domain::request::TaskRequest;
use crate::domain::role::{Permission, RoleTable};
use crate::domain::usage::Usage;
use crate::domain::violation::{Code, Refusal, Violation};
use crate::provider::Provider;
use crate::tool::{Effects, ToolOutput};

/// A task that passed the first checks: it holds an id and a delegation, no budget yet.
pub struct Ticket {
    /// Its id.
    pub task: TaskId,
    /// What is asked for.
    pub request: TaskRequest,
    /// Its place in the cancel tree.
    pub scope: CancelScope,
    /// True if the child may run beside others.
    pub reads_only: bool,
    /// Forgets the task when it ends.
    live: LiveTask,
    sibling: Sibling,
}

/// Keeps a fingerprint among the live siblings; takes it out when dropped.
struct Sibling {
    parent: Arc<RunShared>,
    fingerprint: Sha,
}

impl Drop for Sibling {
    fn drop(&mut self) {
        let mut children = self.parent.children();
        if let Some(index) = children.iter().position(|sha| *sha == self.fingerprint) {
            children.remove(index);
        }
    }
}

/// Checks a request before anything of its batch starts.
pub async fn admit(
    parent: &Arc<RunShared>,
    call: &CallId,
    request: TaskRequest,
) -> Result<Ticket, Box<CallEnd>> {
    // No check is about the project's rules; they are read when the child starts.
    let none = Guidance::default();
    let checked = with_grant(parent, None, &none, |grant| Contract::check(grant, &request));
    let fingerprint = match checked {
        Ok(fingerprint) => fingerprint,
        Err(refusal) => return Err(Box::new(refuse(parent, call, None, refusal).await)),
    };
    parent.tree.ledger().count_delegation();
    parent.children().push(fingerprint.clone());
    let task = parent.host.next_task();
    let scope = parent.scope.child();
    Ok(Ticket {
        task,
        reads_only: reads_only(&request, &parent.tree.roles),
        request,
        live: parent.host.live.enter(task, scope.clone()),
        sibling: Sibling { parent: Arc::clone(parent), fingerprint },
        scope,
    })
}

/// The answer to a `task` call that does not have the right form.
pub async fn malformed(run: &Arc<RunShared>, call: &CallId, field: &str, words: &str) -> CallEnd {
    // A field or a value of the wrong shape is repeated in them; it may be anything.
    let redactor = &run.host.redactor;
    let (field, words) = (redactor.text(field), redactor.text(words));
    let violation = Violation::new(Code::InvalidTask, field, words);
    refuse(run, call, None, Refusal::because(violation)).await
}

/// Waits for a place, makes the contract, runs the child to its end and reports.
pub async fn run_child(parent: &Arc<RunShared>, call: &ToolCall, ticket: Ticket) -> CallEnd {
    let began = Instant::now();
    let mut goes_on = parent.seat.child_goes_on();
    let place = match queue::wait_for_place(parent, call, &ticket).await {
        Ok(place) => place,
        Err(ending) => return never_started(parent, &ticket, ending, queue::NEVER_RAN).await,
    };
    let queued_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let issue = Issue { task_id: ticket.task, attempt: 1, issued_at: (parent.host.clock)() };
    let (request, paths) = (&ticket.request, parent.contract.paths());
    let rules = guidance::for_request(&parent.host, request, paths, &ticket.scope).await;
    let delegation = Delegation { parent, call, ticket: &ticket, rules: &rules, issue };
    let mut end = match apart(|| open(&delegation)).await {
        Ok((contract, account, provider)) => {
            let seat = parent.seat.child(ticket.task, place);
            let child = Child { ticket: &ticket, contract, account, provider, seat };
            let (end, place) = apart(|| start(parent, call, child)).await;
            goes_on.hand_on(place);
            end
        }
        Err(unstarted) => {
            goes_on.hand_on(Some(place));
            apart(|| not_started(parent, call, &ticket, unstarted)).await
        }
    };
    end.duration_ms = end.duration_ms.saturating_add(queued_ms);
    end
}

/// Makes the contract, has a person look at it where they want to, and reserves its share.
async fn open(
    delegation: &Delegation<'_>,
) -> Result<(Contract, AccountId, Arc<dyn Provider>), Unstarted> {
    let Delegation { parent, ticket, rules, issue, .. } = delegation;
    let narrowed = with_grant(parent, Some(ticket), rules, |grant| {
        Contract::narrow(grant, &ticket.request, *issue)
    })?;
    let (shown, provider) = models::for_child(parent, narrowed, ticket).await?;
    let contract = preflight::agree(delegation, shown, &*provider).await?;
    let (contract, account) = open_account(parent, contract)?;
    Ok((contract, account, provider))
}

async fn not_started(
    parent: &RunShared,
    call: &ToolCall,
    ticket: &Ticket,
    unstarted: Unstarted,
) -> CallEnd {
    match unstarted {
        Unstarted::Refused(refusal) => {
            parent.tree.ledger().return_delegation();
            refuse(parent, &call.call, Some(ticket.task), refusal).await
        }
        Unstarted::Cancelled(ending) => {
            never_started(parent, ticket, ending, preflight::NEVER_RAN).await
        }
        Unstarted::Denied(words) => {
            parent.tree.ledger().return_delegation();
            CallEnd::unstarted(Failure::Denied, words)
        }
    }
}

/// Reserves the child's share; what a sibling took since the contract was narrowed is a refusal.
fn open_account(parent: &RunShared, contract: Contract) -> Result<(Contract, AccountId), Refusal> {
    let opened = parent.tree.ledger().open(parent.account, *contract.budget());
    opened.map(|account| (contract, account)).map_err(|shortfall: Shortfall| {
        let field = format!("budget.{}", shortfall.dimension.field());
        let overrun = shortfall.is_overrun();
        let code = if overrun { Code::DelegationLimit } else { Code::InvalidBudget };
        Refusal::because(Violation::new(code, field, shortfall.to_string()))
    })
}

/// A child whose contract is made and paid for.
struct Child<'a> {
    ticket: &'a Ticket,
    contract: Contract,
    account: AccountId,
    provider: Arc<dyn Provider>,
    seat: Seat,
}

/// Runs the child. Returns how it ended, and its place.
async fn start(
    parent: &Arc<RunShared>,
    call: &ToolCall,
    child: Child<'_>,
) -> (CallEnd, Option<Place>) {
    let settlement = parent.tree.settle_later(child.account);
    parent
        .emit(Fact::ToolStarted {
            call: call.call.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
        })
        .await;
    // From here on the child knows its contract only in the serialised form.
    let ticket = child.ticket;
    let child = match Contract::from_json(&child.contract.to_json()) {
        Ok(contract) => child_shared(parent, Child { contract, ..child }),
        Err(error) => {
            let text = format!("internal error: the contract does not survive its file: {error}");
            return (CallEnd::unstarted(Failure::Error, text), child.seat.leave());
        }
    };
    let started = Fact::RunStarted {
        call: Some(call.call.clone()),
        role: child.contract.role().to_owned(),
        description: Some(child.contract.description().to_owned()),
        depth: child.contract.depth(),
        contract: child.contract.view().going_to(child.provider.identity().destination()),
        totals: None,
    };
    let room = child.host.hub.place().await;
    ticket.live.begin(&child, || room.take(&child.origin, started));
    let mut run = Run::new(Arc::clone(&child), History::new(), None);
    let begun = AssertUnwindSafe(apart(|| begin(&mut run))).catch_unwind().await;
    let ending = begun.unwrap_or_else(|_| run.internal(&"the end of the run panicked"));
    let end = apart(|| reporting::finish(parent, ticket, run, ending)).await;
    // What is given back is told before another task can be given it: whoever reads the record finds
    // room for every share in it.
    drop(settlement);
    (end, child.seat.leave())
}

async fn begin(run: &mut Run) -> Ending {
    let message = briefing::first_message(&run.shared.contract);
    if let Err(error) = run.history.ask(message.clone()) {
        return run.internal(&error);
    }
    let fact = Fact::Message(MessageFact::user(message));
    run.shared.emit(fact).await;
    apart(|| run_agent(run)).await
}

pub(super) fn task_end(child: ChildEnd, ending: Ending, json: String) -> CallEnd {
    let failure = match ending.status() {
        Status::Completed => None,
        Status::Cancelled => Some(Failure::Cancelled),
        Status::Blocked => Some(Failure::Refused),
        Status::BudgetExhausted | Status::Failed | Status::InvalidResult => Some(Failure::Error),
    };
    let output = ToolOutput {
        ok: failure.is_none(),
        bytes: json.len() as u64,
        text: json,
        truncated: false,
        shown: Vec::new(),
        effects: Effects::default(),
        raw: None,
    };
    CallEnd { output, failure, duration_ms: 0, child: Some(child), left_behind: false }
}

/// A task that was cancelled before it began: a report, and no run.
async fn never_started(
    parent: &RunShared,
    ticket: &Ticket,
    ending: Ending,
    summary: &str,
) -> CallEnd {
    let mut report = empty_report(ending, summary);
    report.task_id = Some(ticket.task);
    report.attempt = Some(1);
    let json = keep_report(parent, ticket.task, &mut report, Sensitivity::Normal).await;
    task_end(ChildEnd::never_ran(report), ending, json)
}

/// The answer to a refusal; `admitted` is the task's id if it was refused at its start only.
pub(super) async fn refuse(
    parent: &RunShared,
    call: &CallId,
    admitted: Option<TaskId>,
    refusal: Refusal,
) -> CallEnd {
    let first = refusal.first().clone();
    let violations: Vec<Violation> = refusal.violations().cloned().collect();
    parent
        .emit(Fact::ContractRefused {
            call: call.clone(),
            code: first.code,
            field: first.field,
            message: first.message.clone(),
            violations: violations.clone(),
            refused_task: admitted,
        })
        .await;
    let ending = match first.code {
        Code::Cancelled => parent.scope.ending().unwrap_or(Ending::Cancelled(By::Parent)),
        code => Ending::Blocked(code),
    };
    let mut report = empty_report(ending, &first.message);
    report.violations = violations;
    // A model may have put a secret into any name that the refusal quotes.
    let json = parent.host.redactor.report(report).capped().to_json();
    let mut end = CallEnd::unstarted(Failure::Refused, json);
    if first.code == Code::Cancelled {
        end.failure = Some(Failure::Cancelled);
    }
    end
}

pub(super) fn empty_report(ending: Ending, summary: &str) -> Report {
    Report {
        task_id: None,
        attempt: None,
        status: ending.status(),
        code: ending.code(),
        dimension: ending.dimension(),
        by: ending.by(),
        summary: summary.to_owned(),
        evidence: Vec::new(),
        fields: serde_json::Map::new(),
        warnings: Vec::new(),
        violations: Vec::new(),
        changed_paths: Vec::new(),
        needs_review: false,
        turns: 0,
        usage: Spent::new(&Usage::none(), 0, 0),
        next: ending.next().to_owned(),
        trace: None,
    }
}

fn child_shared(parent: &Arc<RunShared>, child: Child<'_>) -> Arc<RunShared> {
    let Child { ticket, contract, account, provider, seat } = child;
    let host = Arc::clone(&parent.host);
    let system = briefing::child_prompt(&parent.tree.roles, &contract);
    let schemas = host.toolbox.schemas(contract.tools());
    let run = RunId::child(ticket.task, 1);
    Arc::new(RunShared {
        standing_tokens: standing_tokens(&system, &schemas),
        system: system.into(),
        schemas: schemas.into(),
        origin: Origin::child(run, parent.contract.run().clone(), ticket.task, 1),
        tree: Arc::clone(&parent.tree),
        provider,
        account,
        scope: ticket.scope.clone(),
        above: Some(Arc::clone(parent)),
        children: Mutex::default(),
        seat,
        own_store: Mutex::new(ContextStore::of(contract.context())),
        seen: Arc::default(),
        clock: parent.clock.child(),
        steering: Arc::<Steering>::default(),
        host,
        contract,
    })
}

/// Gathers what the parent really has at this moment and looks at it.
pub(super) fn with_grant<T>(
    parent: &RunShared,
    own: Option<&Ticket>,
    guidance: &Guidance,
    look: impl FnOnce(&Grant<'_>) -> T,
) -> T {
    let host = &parent.host;
    let ancestors = lineage::fingerprints(parent);
    let mut siblings = parent.children().clone();
    if let Some(ticket) = own {
        // The task itself is among the live ones; it is no duplicate of itself.
        siblings.retain(|sha| *sha != ticket.sibling.fingerprint);
    }
    // Nor does it stand in its own way: its delegation was counted when it was admitted.
    let counted = u32::from(own.is_some());
    let (remaining, totals, delegations, descendant_turns) = {
        let mut ledger = parent.tree.ledger();
        ledger.set_elapsed_ms(parent.account, parent.elapsed_ms());
        let left = ledger.left_all(parent.account);
        let others = ledger.delegations().saturating_sub(counted);
        (left, ledger.totals(), others, ledger.descendant_turns())
    };
    let store = parent.store();
    look(&Grant {
        run: parent.contract.run().clone(),
        depth: parent.contract.depth(),
        max_depth: host.max_depth,
        cancelled: parent.scope.ending().is_some(),
        permissions: parent.contract.permissions(),
        paths: parent.contract.paths(),
        tools: parent.contract.tools(),
        tool_permissions: &host.toolbox.permissions(),
        remaining,
        totals,
        delegations,
        descendant_turns,
        store: &store,
        guidance,
        secrets: &host.secrets,
        roles: &parent.tree.roles,
        endpoint: &models::endpoint(parent),
        ancestors: &ancestors,
        siblings: &siblings,
        briefer: &Briefings { toolbox: &host.toolbox, roles: &parent.tree.roles },
    })
}

/// Whether the child of this request could only read: its role at most, or what was asked for.
fn reads_only(request: &TaskRequest, roles: &RoleTable) -> bool {
    let reads =
        |permission: Permission| matches!(permission, Permission::Read | Permission::Delegate);
    match &request.permissions {
        Some(asked) => asked.iter().all(|name| Permission::from_name(name).is_some_and(reads)),
        None => roles
            .get(request.role_name())
            .is_some_and(|role| role.permissions.iter().copied().all(reads)),
    }
}
