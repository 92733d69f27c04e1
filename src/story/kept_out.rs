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

use std::fmt;

use crate::domain::event::{Event, RunFinished};
use crate::domain::usage::{Usage, estimate_tokens};

use super::Story;
use super::delegation::{Node, NodeId};
use super::index::Place;
use super::run::Run;

/// The requests of one conversation, so that those after a moment can be counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Requests {
    count: u64,
    /// How many there were when the conversation was summarised, each time.
    summaries: Vec<u64>,
}

impl Requests {
    pub(super) fn one_more(&mut self) {
        self.count = self.count.saturating_add(1);
    }

    fn summarised(&mut self) {
        self.summaries.push(self.count);
    }

    /// Requests after the first `at`, up to the next summary: what stood in the conversation then is
    /// not carried any further.
    fn since(&self, at: u64) -> u64 {
        let until = self.summaries.iter().find(|count| **count >= at).unwrap_or(&self.count);
        until.saturating_sub(at)
    }
}

/// What one child kept out, as its end settled it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeptOut {
    tokens: i64,
    /// Requests of the run that delegated, up to then.
    at: u64,
}

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

    fn plus(self, more: &Self) -> Self {
        let mut used = self.used;
        used += more.used;
        Self {
            kept_out: self.kept_out.saturating_add(more.kept_out),
            spared: self.spared.saturating_add(more.spared),
            used,
        }
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

impl Story {
    /// What one ended child kept out of the context of the run that delegated to it; `None` for one
    /// that still runs or never did.
    pub fn worth_of(&self, id: NodeId) -> Option<Worth> {
        let node = self.delegations.get(id)?;
        let (kept, run) = (node.kept_out?, node.run.as_ref()?);
        let later = self.requests_above(node).map_or(0, |requests| requests.since(kept.at));
        let later = i64::try_from(later).unwrap_or(i64::MAX);
        let spared = kept.tokens.saturating_mul(later);
        Some(Worth { kept_out: kept.tokens, spared, used: run.usage })
    }

    /// What all ended children of the user's conversation kept out of it; `None` if there is none.
    pub fn worth(&self) -> Option<Worth> {
        let own = self.delegations.nodes().iter().filter(|node| node.parent.is_none());
        own.filter_map(|node| self.worth_of(node.id)).reduce(|sum, next| sum.plus(&next))
    }

    /// A conversation was summarised.
    pub(super) fn summarised(&mut self, event: &Event) {
        match self.place(&event.origin) {
            Some(Place::Parent) => self.requests.summarised(),
            Some(Place::Child(_)) => {
                if let Some(run) = self.run_mut(&event.origin) {
                    run.requests.summarised();
                }
            }
            None => {}
        }
    }

    /// A child ended: what it kept out is settled.
    pub(super) fn settle_kept_out(&mut self, id: NodeId, end: &RunFinished) {
        let Some(node) = self.delegations.get(id) else { return };
        let Some(run) = &node.run else { return };
        let kept = KeptOut {
            tokens: kept_out(run, end),
            at: self.requests_above(node).map_or(0, |requests| requests.count),
        };
        if node.parent.is_none() {
            self.totals.kept_out = self.totals.kept_out.saturating_add(kept.tokens);
        }
        if let Some(node) = self.delegations.get_mut(id) {
            node.kept_out = Some(kept);
        }
    }

    /// The requests of the conversation that a child's report enters.
    fn requests_above(&self, node: &Node) -> Option<&Requests> {
        match node.parent {
            None => Some(&self.requests),
            Some(above) => Some(&self.delegations.get(above)?.run.as_ref()?.requests),
        }
    }
}

/// Its last prompt minus its first minus its report.
fn kept_out(run: &Run, end: &RunFinished) -> i64 {
    let grown = signed(run.last_prompt).saturating_sub(signed(run.first_prompt));
    let report = end.report.as_ref().map(|report| estimate_tokens(&report.to_json()));
    grown.saturating_sub(signed(report))
}

fn signed(tokens: Option<u64>) -> i64 {
    tokens.map_or(0, |tokens| i64::try_from(tokens).unwrap_or(i64::MAX))
}
