//! Whether a call may be made: looks at what it would do, has it judged, and asks a person where the
//! verdict is to ask. It refuses to know how a question looks on a screen.
//!
//! What is told: `approval_requested` and, for each, exactly one `approval_decided`; beside those an
//! `approval_decided` without a question for every call that was denied without one. What is allowed
//! without a question is silent: its `tool_started` says enough.

use std::sync::Arc;

use serde_json::Value;
use tokio::time::timeout;

use super::cancel::CANCEL_GRACE;
use super::clock::InFlight;
use super::dispatch::call_line;
use super::run::RunShared;
use super::subject::Subject;
use crate::domain::approval::{Answer, Asker, Decider, Decision, Deed, Preview, PreviewBody};
use crate::domain::event::{Fact, Failure, Level};
use crate::domain::message::ToolCall;
use crate::domain::permit::{self, Verdict};
use crate::domain::report::{By, Ending};
use crate::domain::rules::Pattern;
use crate::tool::{Tool, ToolContext};

/// The answer.
pub(super) enum Permit {
    /// It may, exactly as it was shown.
    Allowed(Option<Preview>),
    /// It may not; the words are for the model.
    Not(Failure, String),
    /// It was cancelled, and the look at what it would do did not end in time.
    LeftBehind(String),
}

/// A call that wants to be made.
pub(super) struct Wish<'a> {
    /// The run that makes it.
    pub shared: &'a Arc<RunShared>,
    /// The call.
    pub call: &'a ToolCall,
    /// Its tool.
    pub tool: &'a Arc<dyn Tool>,
    /// Its arguments, in form.
    pub arguments: &'a Value,
    /// What it may use.
    pub context: &'a ToolContext,
    /// Its place in the run's time.
    pub in_flight: &'a InFlight,
}

/// Looks at what the call would do, decides, and asks where that is to be done.
pub(super) async fn permit(wish: &Wish<'_>) -> Permit {
    let (host, name) = (&wish.shared.host, &wish.call.name);
    let deed = Deed::of(wish.tool.spec().permission);
    if let Some(denied) = permit::denied_as_a_whole(host.mode(), &host.rules, name, deed) {
        return settled(wish, denied, None).await;
    }
    if deed == Deed::Look && !host.rules.name(name) {
        return Permit::Allowed(None);
    }
    // What is denied is not looked at either: why an edit would fail tells of a file's content.
    if deed == Deed::Edit && !host.rules.deny.is_empty() {
        let gathering = Subject::of(wish.shared, wish.call, wish.arguments, deed, None);
        match wish.shared.scope.race(gathering).await.map(|subject| subject.verdict(host)) {
            Ok(denied @ Verdict::Deny { .. }) => return settled(wish, denied, None).await,
            Ok(Verdict::Allow { .. } | Verdict::Ask) => {}
            Err(ending) => return Permit::Not(Failure::NotRun, not_run(ending)),
        }
    }
    let preview = match look(wish).await {
        Ok(preview) => preview,
        Err(not) => return not,
    };
    let gathering = Subject::of(wish.shared, wish.call, wish.arguments, deed, preview.as_ref());
    let subject = match wish.shared.scope.race(gathering).await {
        Ok(subject) => subject,
        Err(ending) => return Permit::Not(Failure::NotRun, not_run(ending)),
    };
    let verdict = match (subject.verdict(host), host.asker) {
        (Verdict::Ask, Asker::Person) => return ask(wish, &subject, deed, preview).await,
        (Verdict::Ask, Asker::Nobody(policy)) => {
            match permit::doubt(&host.rules, &subject.view()) {
                Some(reason) => Verdict::Deny { by: Decider::Rule, reason },
                None => permit::without_asking(policy, &subject.fence, deed),
            }
        }
        (verdict @ (Verdict::Allow { .. } | Verdict::Deny { .. }), _) => verdict,
    };
    settled(wish, verdict, preview).await
}

/// What the call would do. A call that would fail anyway is nobody's question.
async fn look(wish: &Wish<'_>) -> Result<Option<Preview>, Permit> {
    let looking = wish.tool.preview(wish.arguments, wish.context);
    tokio::pin!(looking);
    match wish.shared.scope.race(&mut looking).await {
        Ok(looked) => looked.map_err(|words| Permit::Not(Failure::Error, words)),
        Err(ending) => {
            // The context's token has fired too, so that it ends; what still looks after that is named.
            match timeout(CANCEL_GRACE, looking).await {
                Ok(_) => Err(Permit::Not(Failure::NotRun, not_run(ending))),
                Err(_) => Err(Permit::LeftBehind(not_run(ending))),
            }
        }
    }
}

/// How a question ended.
enum Outcome {
    Answered(Answer),
    Judged(Verdict),
    Cancelled(Ending),
}

async fn ask(wish: &Wish<'_>, subject: &Subject, deed: Deed, preview: Option<Preview>) -> Permit {
    let (shared, call) = (wish.shared, wish.call);
    let host = &shared.host;
    // Waiting begins before the last look, so that no change and no answer can be missed.
    let mut open = host.approvals.open(shared.contract.run().clone(), call.call.clone());
    match subject.verdict(host) {
        Verdict::Ask => {}
        verdict @ (Verdict::Allow { .. } | Verdict::Deny { .. }) => {
            return settled(wish, verdict, preview).await;
        }
    }
    let shown = preview.as_ref().and_then(|preview| preview.prefix.as_deref());
    let prefix = shown.and_then(|shown| permit::prefix_of(&subject.view(), shown));
    let waits = wish.in_flight.wait();
    shared.emit(question(wish, subject, deed, preview.as_ref(), prefix.is_some())).await;
    let raced = shared.scope.race(async {
        loop {
            if let Some(answer) = open.answer().await {
                return Outcome::Answered(answer);
            }
            match subject.verdict(host) {
                Verdict::Ask => {}
                verdict @ (Verdict::Allow { .. } | Verdict::Deny { .. }) => {
                    return Outcome::Judged(verdict);
                }
            }
        }
    });
    let outcome = raced.await.unwrap_or_else(Outcome::Cancelled);
    drop((open, waits));
    conclude(wish, subject, outcome, prefix, preview).await
}

fn question(
    wish: &Wish<'_>,
    subject: &Subject,
    deed: Deed,
    preview: Option<&Preview>,
    wider: bool,
) -> Fact {
    let runs = matches!(deed, Deed::Test | Deed::Command | Deed::Network);
    let fence = &subject.fence;
    let mut summary =
        preview.map_or_else(|| call_line(wish.call), |preview| preview.summary.clone());
    if runs && !fence.is_whole() {
        summary = format!("{summary} · {fence}");
    }
    if let Some(why) = permit::doubt(&wish.shared.host.rules, &subject.view()) {
        summary = format!("{summary} · {why}");
    }
    let (diff, folder) = match preview.map(|preview| &preview.body) {
        Some(PreviewBody::Diff(diff)) => (Some(diff.clone()), None),
        Some(PreviewBody::Command { folder, .. }) => (None, Some(folder.clone())),
        None => (None, None),
    };
    Fact::ApprovalRequested {
        call: wish.call.call.clone(),
        name: wish.call.name.clone(),
        summary,
        diff,
        command: subject.command.clone(),
        folder,
        fence: runs.then(|| fence.to_string()),
        prefix: preview.and_then(|preview| preview.prefix.clone()).filter(|_| wider),
        preflight: None,
    }
}

/// Tells how a question ended, and keeps what the answer allows beyond the call.
async fn conclude(
    wish: &Wish<'_>,
    subject: &Subject,
    outcome: Outcome,
    prefix: Option<Pattern>,
    preview: Option<Preview>,
) -> Permit {
    let approvals = &wish.shared.host.approvals;
    let (decision, answer) = match outcome {
        Outcome::Cancelled(ending) => {
            decided(wish, Decision::Withdrawn, Decider::Runtime, None).await;
            return Permit::Not(Failure::NotRun, not_run(ending));
        }
        Outcome::Judged(Verdict::Allow { by }) => {
            decided(wish, Decision::Once, by, None).await;
            return Permit::Allowed(preview);
        }
        Outcome::Judged(verdict) => return settled(wish, verdict, preview).await,
        Outcome::Answered(Answer::Deny { reason }) => {
            let reason = reason.filter(|reason| !reason.trim().is_empty());
            let words = denied_by_user(reason.as_deref());
            decided(wish, Decision::Deny, Decider::User, reason).await;
            return Permit::Not(Failure::Denied, words);
        }
        // Less than was shown is an answer about a delegation; here it allows nothing.
        Outcome::Answered(Answer::Amended(_)) => {
            decided(wish, Decision::Deny, Decider::User, None).await;
            return Permit::Not(Failure::Denied, denied_by_user(None));
        }
        Outcome::Answered(Answer::Once) => (Decision::Once, Answer::Once),
        Outcome::Answered(Answer::Child) => (Decision::Child, Answer::Child),
        Outcome::Answered(Answer::Session) => (Decision::Session, Answer::Session),
    };
    approvals.given().keep(&answer, &subject.requester, &subject.view(), prefix);
    decided(wish, decision, Decider::User, None).await;
    // Others may wait for what was just allowed.
    approvals.look_again();
    Permit::Allowed(preview)
}

/// What a verdict comes to that needs no person.
async fn settled(wish: &Wish<'_>, verdict: Verdict, preview: Option<Preview>) -> Permit {
    let (by, reason) = match verdict {
        Verdict::Allow { .. } => return Permit::Allowed(preview),
        Verdict::Deny { by, reason } => (by, reason),
        // Whoever comes here asked before, or decided without asking.
        Verdict::Ask => (Decider::Runtime, "nobody could be asked".to_owned()),
    };
    let decision = match by {
        Decider::Policy => Decision::Expired,
        Decider::User | Decider::Earlier | Decider::Rule | Decider::Mode | Decider::Runtime => {
            Decision::Deny
        }
    };
    decided(wish, decision, by, Some(reason.clone())).await;
    let shared = wish.shared;
    // No answer is not a no.
    let outcome = match decision {
        Decision::Expired => "was not allowed",
        Decision::Once
        | Decision::Child
        | Decision::Session
        | Decision::Deny
        | Decision::Withdrawn => "was denied",
    };
    let text = format!("{} {outcome}: {reason}", call_line(wish.call));
    if shared.host.approvals.is_news(shared.contract.run(), &text) {
        shared.emit(Fact::notice(Level::Warning, "CALL_DENIED", text)).await;
    }
    let words = format!(
        "{} {outcome}: {reason}. Nothing was done. Do not try the same in another way; go on \
         without it, or say what is missing.",
        wish.call.name
    );
    Permit::Not(Failure::Denied, words)
}

async fn decided(wish: &Wish<'_>, decision: Decision, by: Decider, reason: Option<String>) {
    let call = wish.call.call.clone();
    wish.shared.emit(Fact::ApprovalDecided { call, decision, by, reason, amended: None }).await;
}

fn denied_by_user(reason: Option<&str>) -> String {
    match reason {
        Some(reason) => format!("denied by the user, who says: {reason}"),
        None => "denied by the user. Do not try the same in another way; go on without it, or ask \
                 what to do instead."
            .to_owned(),
    }
}

fn not_run(ending: Ending) -> String {
    let by = if ending.by() == Some(By::User) { " by the user" } else { "" };
    format!("not run: cancelled{by} before it was allowed")
}
