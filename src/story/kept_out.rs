//! What delegation kept out of a conversation, and what it used for that. It counts tokens and leaves
//! the price of what was spared alone: nobody knows what of it would have come from a cache.
//!
//! A child keeps out of the context of the run that delegated to it what its own context grew by, less
//! its report: its last prompt minus its first minus the report. Every later request of that run would
//! have carried that much more, until its conversation was summarised; so what is *spared* grows with
//! each of them, and only that can be held against what the child used.
//!
//! A grandchild keeps out of its parent's context, not of the user's conversation: what it read would
//! have stood in the child's prompts, and the child's report would not be longer for it. The session's
//! figure is therefore the sum over the children of the user's conversation alone. What a grandchild
//! used is part of what its parent used, and so is in that sum once.
//!
//! The sum goes along with the events: each request of the conversation adds what is carried, a summary
//! clears that. It needs no more of an event than whose it is and how large a prompt was, and keeps no
//! word of it.

use std::collections::HashMap;
use std::fmt;

use crate::domain::event::{Event, Fact, Origin, RunFinished};
use crate::domain::ids::RunId;
use crate::domain::usage::{Usage, estimate_tokens};

/// What delegation kept out, against what it used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worth {
    /// Tokens that did not enter the context; below zero if reports are longer than what they stand
    /// for.
    pub kept_out: i64,
    /// The same once for each request that would have carried it since.
    pub spared: i64,
    /// What the children used for it, with all that is below them.
    pub used: Usage,
}

impl Worth {
    /// All tokens that were used, prompts and answers together.
    pub fn used_tokens(&self) -> u64 {
        self.used.input_tokens.saturating_add(self.used.output_tokens)
    }

    /// True while more was used than was spared.
    pub fn costs_more(&self) -> bool {
        u64::try_from(self.spared).map_or(true, |spared| self.used_tokens() > spared)
    }
}

impl fmt::Display for Worth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "delegation used {} tokens", self.used_tokens())?;
        if let Some(cost) = self.used.cost_usd.filter(|cost| cost.0 > 0) {
            write!(f, " ({cost})")?;
        }
        let tokens = self.kept_out.unsigned_abs();
        if self.kept_out < 0 {
            write!(f, " and brought {tokens} more into the conversation than it kept out")?;
        } else {
            write!(f, " and kept {tokens} out of the conversation")?;
        }
        if self.costs_more() {
            write!(f, "; that is more than the {} it has spared so far", self.spared.max(0))?;
        }
        Ok(())
    }
}

/// The fold of what delegation kept out, over a session.
#[derive(Debug, Default)]
pub struct KeptOut {
    /// The requests of the user's conversation, whichever answer they are for.
    conversation: Requests,
    sum: Sum,
    children: HashMap<RunId, Child>,
}

impl KeptOut {
    /// Takes in the next event. What is not told of a run that was announced is the conversation's, or
    /// nobody's.
    pub fn apply(&mut self, event: &Event) {
        let origin = &event.origin;
        match &event.fact {
            Fact::RunStarted { call: Some(_), depth: 1.., .. } => self.started(origin),
            Fact::Usage { usage, .. } => self.sent(origin, *usage),
            Fact::Compacted { .. } => self.summarised(origin),
            Fact::RunFinished(end) => self.ended(origin, end),
            Fact::SessionStarted { .. }
            | Fact::SessionFinished { .. }
            | Fact::TaskQueued { .. }
            | Fact::RunStarted { .. }
            | Fact::ContractRefused { .. }
            | Fact::TurnStarted { .. }
            | Fact::TextDelta { .. }
            | Fact::ReasoningDelta { .. }
            | Fact::ModelWriting
            | Fact::Message(_)
            | Fact::ToolStarted { .. }
            | Fact::ToolProgress { .. }
            | Fact::ToolFinished { .. }
            | Fact::Notice { .. }
            | Fact::CancelRequested { .. }
            | Fact::Paused { .. }
            | Fact::Resumed { .. }
            | Fact::WrapUpRequested { .. }
            | Fact::BudgetExtended { .. }
            | Fact::Steered { .. }
            | Fact::RetryScheduled { .. }
            | Fact::ModeChanged { .. }
            | Fact::ApprovalRequested { .. }
            | Fact::ApprovalDecided { .. }
            | Fact::PreflightChanged { .. }
            | Fact::FilesChanged { .. }
            | Fact::ContextAdded { .. }
            | Fact::Unknown => {}
        }
    }

    /// What all ended children of the user's conversation kept out of it; `None` if there is none.
    pub fn worth(&self) -> Option<Worth> {
        let Sum { kept_out, spared, used, .. } = self.sum;
        Some(Worth { kept_out: clamped(kept_out), spared: clamped(spared), used: used? })
    }

    /// What one ended child kept out of the context of the run that delegated to it; `None` for one
    /// that still runs or never did.
    pub fn worth_of(&self, run: &RunId) -> Option<Worth> {
        let child = self.children.get(run)?;
        let settled = child.settled?;
        let above = child.above.as_ref().and_then(|above| self.children.get(above));
        let requests = above.map_or(&self.conversation, |above| &above.requests);
        let spared = i128::from(settled.tokens) * i128::from(requests.since(settled.entered));
        Some(Worth { kept_out: settled.tokens, spared: clamped(spared), used: settled.used })
    }

    fn started(&mut self, origin: &Origin) {
        let Some(run) = origin.run.clone() else { return };
        let above = origin.parent_run.clone().filter(|above| self.children.contains_key(above));
        // What is above was there before, so that no way up ever comes back to where it began.
        self.children.entry(run).or_insert(Child { above, ..Child::default() });
    }

    fn sent(&mut self, origin: &Origin, usage: Usage) {
        if is_conversation(origin) {
            self.conversation.count = self.conversation.count.saturating_add(1);
            self.sum.spared = self.sum.spared.saturating_add(self.sum.carried);
            return;
        }
        let Some(child) = self.child_mut(origin) else { return };
        child.first_prompt.get_or_insert(usage.input_tokens);
        child.last_prompt = Some(usage.input_tokens);
        child.requests.count = child.requests.count.saturating_add(1);
        let mut next = origin.run.clone();
        while let Some(child) = next.as_ref().and_then(|run| self.children.get_mut(run)) {
            child.used += usage;
            next.clone_from(&child.above);
        }
    }

    fn summarised(&mut self, origin: &Origin) {
        if is_conversation(origin) {
            self.conversation.summaries.push(self.conversation.count);
            self.sum.carried = 0;
        } else if let Some(child) = self.child_mut(origin) {
            child.requests.summaries.push(child.requests.count);
        }
    }

    /// A child ended, which settles what it kept out.
    fn ended(&mut self, origin: &Origin, end: &RunFinished) {
        let Some(child) = self.child_mut(origin).filter(|child| child.settled.is_none()) else {
            return;
        };
        let (tokens, used, above) = (child.kept_out(end), child.used, child.above.clone());
        let above = above.and_then(|above| self.children.get(&above));
        let entered = above.map_or(&self.conversation, |above| &above.requests).now();
        if above.is_none() {
            self.sum.add(tokens, used);
        }
        if let Some(child) = self.child_mut(origin) {
            child.settled = Some(Settled { tokens, entered, used });
        }
    }

    fn child_mut(&mut self, origin: &Origin) -> Option<&mut Child> {
        self.children.get_mut(origin.run.as_ref()?)
    }
}

/// What the conversation's ended children come to. Wide enough for any sum of what 64 bits hold.
#[derive(Debug, Default)]
struct Sum {
    kept_out: i128,
    /// What the next request of the conversation would have to carry.
    carried: i128,
    spared: i128,
    used: Option<Usage>,
}

impl Sum {
    fn add(&mut self, tokens: i64, used: Usage) {
        self.kept_out = self.kept_out.saturating_add(tokens.into());
        self.carried = self.carried.saturating_add(tokens.into());
        *self.used.get_or_insert_with(Usage::none) += used;
    }
}

#[derive(Debug)]
struct Child {
    /// The child that delegated to it; `None` where the conversation did.
    above: Option<RunId>,
    first_prompt: Option<u64>,
    last_prompt: Option<u64>,
    /// What its requests and those below it used.
    used: Usage,
    requests: Requests,
    settled: Option<Settled>,
}

impl Default for Child {
    fn default() -> Self {
        Self {
            above: None,
            first_prompt: None,
            last_prompt: None,
            used: Usage::none(),
            requests: Requests::default(),
            settled: None,
        }
    }
}

impl Child {
    /// Its last prompt minus its first minus its report.
    fn kept_out(&self, end: &RunFinished) -> i64 {
        let grown = signed(self.last_prompt).saturating_sub(signed(self.first_prompt));
        let report = end.report.as_ref().map(|report| estimate_tokens(&report.to_json()));
        grown.saturating_sub(signed(report))
    }
}

/// What one child kept out, as its end settled it.
#[derive(Debug, Clone, Copy)]
struct Settled {
    tokens: i64,
    /// When its report entered the context above.
    entered: Moment,
    used: Usage,
}

/// The requests of one context, so that those after a moment can be counted.
#[derive(Debug, Default)]
struct Requests {
    count: u64,
    /// How many there were when the context was summarised, each time.
    summaries: Vec<u64>,
}

/// A moment between two requests.
#[derive(Debug, Clone, Copy)]
struct Moment {
    requests: u64,
    summaries: usize,
}

impl Requests {
    fn now(&self) -> Moment {
        Moment { requests: self.count, summaries: self.summaries.len() }
    }

    /// Requests from then to the next summary: what stood in the context then is not carried any
    /// further.
    fn since(&self, then: Moment) -> u64 {
        let until = self.summaries.get(then.summaries).unwrap_or(&self.count);
        until.saturating_sub(then.requests)
    }
}

/// True for what a run of the user's conversation tells.
fn is_conversation(origin: &Origin) -> bool {
    origin.run.is_some() && origin.parent_run.is_none() && origin.task.is_none()
}

fn signed(tokens: Option<u64>) -> i64 {
    tokens.map_or(0, |tokens| i64::try_from(tokens).unwrap_or(i64::MAX))
}

fn clamped(tokens: i128) -> i64 {
    let limit = if tokens < 0 { i64::MIN } else { i64::MAX };
    i64::try_from(tokens).unwrap_or(limit)
}
