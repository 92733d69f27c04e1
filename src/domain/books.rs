//! The ledger read again from the record: a pure fold of events into the same accounts that the runs
//! were charged in, and each run's own figures beside them. It believes the events and says where they
//! contradict each other; it refuses to know where they were kept.
//!
//! Two kinds of record are enough. With all events of a session, the accounts can be looked at after
//! any of them. With the session file alone, where of a child only its start and its end stand, a
//! child's use comes in as a whole when it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::approval::Decision;
use super::budget::{Budget, Dimension, PerDimension, Totals};
use super::choose::TASK_TOOL;
use super::event::{Account, Event, Fact, Failure, RunFinished};
use super::ids::{RunId, TaskId};
use super::ledger::{AccountId, Ledger, Left, Shortfall};
use super::report::Report;
use super::usage::Usage;

/// What a run used, may use and has left, by the record.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// The run that delegated to it.
    pub parent: Option<RunId>,
    /// Its own requests.
    pub own: Usage,
    /// Its own requests and those of all that is below it.
    pub total: Usage,
    /// The calls of its own model; those that were not run are free.
    pub own_calls: u64,
    /// What its account was charged, in the dimension's unit; in shared ones with all descendants.
    pub used: PerDimension<u64>,
    /// What it may use.
    pub limits: Budget,
    /// What it has left, without what is kept for its open request, for a last one and by its
    /// children.
    pub left: PerDimension<Left>,
    /// True once it has ended.
    pub ended: bool,
}

/// Where the record contradicts itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Contradiction {
    /// The run.
    pub run: RunId,
    /// In what.
    pub what: Mismatch,
}

/// What does not fit.
#[derive(Debug, Clone, PartialEq)]
pub enum Mismatch {
    /// A child got more than its parent had left.
    Share(Shortfall),
    /// The sum of the events is not what the run's end says.
    Used {
        /// In which dimension.
        dimension: Dimension,
        /// What the events come to, in its unit.
        summed: u64,
        /// What the end says.
        told: u64,
    },
    /// The limits at the end are not those of its contract and its extensions.
    Limits,
    /// Own requests, or those with all descendants, are not what the end says.
    Usage,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let run = &self.run;
        match &self.what {
            Mismatch::Share(shortfall) => write!(f, "{run}: {shortfall}"),
            Mismatch::Used { dimension, summed, told } => write!(
                f,
                "{run}: its events come to {summed} {dimension}, its end says {told}; the higher \
                 one is the safe one"
            ),
            Mismatch::Limits => {
                write!(f, "{run}: its limits at the end are not those it was given")
            }
            Mismatch::Usage => write!(f, "{run}: its requests do not add up to what its end says"),
        }
    }
}

#[derive(Debug)]
struct Entry {
    tree: usize,
    task: Option<TaskId>,
    account: AccountId,
    parent: Option<RunId>,
    own: Usage,
    total: Usage,
    own_calls: u64,
    /// True once an event from within the run was seen: its whole record is here.
    is_whole: bool,
    ended: bool,
}

/// All accounts of a session.
#[derive(Debug, Default)]
pub struct Books {
    trees: Vec<Ledger>,
    entries: BTreeMap<RunId, Entry>,
    tasks: BTreeSet<TaskId>,
    /// The trees of which not everything is recorded: what a run had left at a moment is unknown.
    partial: BTreeSet<usize>,
    contradictions: Vec<Contradiction>,
}

impl Books {
    /// Reads a record. The events must be in the order of their ids, each once.
    pub fn read<'a>(events: impl IntoIterator<Item = &'a Event>) -> Self {
        let mut books = Self::default();
        for event in events {
            books.apply(event);
        }
        books
    }

    /// Takes in the next event. What belongs to a run that never started changes nothing.
    pub fn apply(&mut self, event: &Event) {
        let Some(run) = &event.origin.run else { return };
        match &event.fact {
            Fact::RunStarted { contract, totals, .. } => {
                self.start(event, run, contract.budget, *totals);
            }
            Fact::TaskQueued { .. } => self.delegated(run, event.origin.task),
            Fact::ContractRefused { refused_task, .. } => self.unstarted(run, *refused_task),
            Fact::ApprovalDecided { decision, .. } => {
                self.decided(run, event.origin.task, *decision);
            }
            Fact::TurnStarted { reserved, held_back, .. } => {
                let Some((ledger, account)) = self.within(run) else { return };
                ledger.set_hold_back(account, *held_back);
                ledger.reserve_request(account, *reserved);
                ledger.begin_turn(account);
            }
            Fact::Usage { usage, remaining } => self.charge(run, usage, remaining.duration_ms),
            Fact::ToolFinished { name, output, failure, .. } => {
                self.call_ended(run, name, output, *failure);
            }
            Fact::BudgetExtended { limits, .. } => self.extended(run, limits),
            // Every run has its task as its first message, in its own trace.
            Fact::Message(_) => {
                self.within(run);
            }
            Fact::RunFinished(end) => self.finish(run, end),
            Fact::SessionStarted { .. }
            | Fact::SessionFinished { .. }
            | Fact::ContextAdded { .. }
            | Fact::TextDelta { .. }
            | Fact::ReasoningDelta { .. }
            | Fact::ModelWriting
            | Fact::ToolStarted { .. }
            | Fact::ToolProgress { .. }
            | Fact::RetryScheduled { .. }
            | Fact::ApprovalRequested { .. }
            | Fact::FilesChanged { .. }
            | Fact::ModeChanged { .. }
            | Fact::PreflightChanged { .. }
            | Fact::Compacted { .. }
            | Fact::Notice { .. }
            | Fact::CancelRequested { .. }
            | Fact::Paused { .. }
            | Fact::Resumed { .. }
            | Fact::WrapUpRequested { .. }
            | Fact::Steered { .. }
            | Fact::Unknown => {}
        }
    }

    /// The runs, by their names.
    pub fn runs(&self) -> impl Iterator<Item = &RunId> {
        self.entries.keys()
    }

    /// A run's figures as of the newest event.
    pub fn figures(&self, run: &RunId) -> Option<Figures> {
        let entry = self.entries.get(run)?;
        let ledger = self.trees.get(entry.tree)?;
        Some(Figures {
            parent: entry.parent.clone(),
            own: entry.own,
            total: entry.total,
            own_calls: entry.own_calls,
            used: ledger.used(entry.account),
            limits: *ledger.limits(entry.account),
            left: ledger.left_all(entry.account),
            ended: entry.ended,
        })
    }

    /// Tasks that were started or queued by a parent run and all below it.
    pub fn delegations(&self, run: &RunId) -> u32 {
        let tree = self.entries.get(run).and_then(|entry| self.trees.get(entry.tree));
        tree.map_or(0, Ledger::delegations)
    }

    /// Where the record contradicts itself; empty for one that is right.
    pub fn contradictions(&self) -> &[Contradiction] {
        &self.contradictions
    }

    fn start(&mut self, event: &Event, run: &RunId, budget: Budget, totals: Option<Totals>) {
        let above = event.origin.parent_run.as_ref().and_then(|above| self.entries.get(above));
        let above = above.map(|above| (above.tree, above.account));
        let (tree, account) = if let Some((tree, parent)) = above {
            (tree, self.open(run, tree, parent, budget))
        } else {
            let unbounded = Totals { turns: u64::MAX, delegations: u32::MAX, active: u32::MAX };
            let (ledger, account) = Ledger::new(budget, totals.unwrap_or(unbounded));
            self.trees.push(ledger);
            (self.trees.len() - 1, account)
        };
        let entry = Entry {
            tree,
            task: event.origin.task,
            account,
            parent: event.origin.parent_run.clone(),
            own: Usage::none(),
            total: Usage::none(),
            own_calls: 0,
            is_whole: false,
            ended: false,
        };
        self.entries.insert(run.clone(), entry);
        self.delegated(run, event.origin.task);
    }

    /// A child's account. Whether there was room for it is known only if everything is.
    fn open(&mut self, run: &RunId, tree: usize, parent: AccountId, budget: Budget) -> AccountId {
        match self.trees[tree].open(parent, budget) {
            Ok(account) => account,
            Err(shortfall) => {
                if !self.partial.contains(&tree) {
                    self.contradict(run, Mismatch::Share(shortfall));
                }
                self.trees[tree].adopt(parent, budget)
            }
        }
    }

    /// Counts a task once, whatever is told of it.
    fn delegated(&mut self, run: &RunId, task: Option<TaskId>) {
        let Some(tree) = self.entries.get(run).map(|entry| entry.tree) else { return };
        if let Some(task) = task
            && self.tasks.insert(task)
        {
            self.trees[tree].count_delegation();
        }
    }

    /// Of a task's start its parent tells; of a call, the run whose own task it is.
    fn decided(&mut self, run: &RunId, task: Option<TaskId>, decision: Decision) {
        let is_own = |entry: &Entry| entry.task == task;
        let about_its_start = self.entries.get(run).is_some_and(|entry| !is_own(entry));
        match decision {
            Decision::Deny | Decision::Expired if about_its_start => self.unstarted(run, task),
            // What is withdrawn was cancelled, as its result tells.
            Decision::Deny
            | Decision::Expired
            | Decision::Once
            | Decision::Child
            | Decision::Session
            | Decision::Withdrawn => {}
        }
    }

    /// A task that was refused or denied at its start gives back what it was counted for.
    fn unstarted(&mut self, run: &RunId, task: Option<TaskId>) {
        let Some(tree) = self.entries.get(run).map(|entry| entry.tree) else { return };
        if task.is_some_and(|task| !self.tasks.insert(task)) {
            self.trees[tree].return_delegation();
        }
    }

    /// The account that an event from within a run is about.
    fn within(&mut self, run: &RunId) -> Option<(&mut Ledger, AccountId)> {
        let entry = self.entries.get_mut(run)?;
        entry.is_whole = true;
        Some((self.trees.get_mut(entry.tree)?, entry.account))
    }

    fn charge(&mut self, run: &RunId, usage: &Usage, ms_left: Option<i64>) {
        let Some((ledger, account)) = self.within(run) else { return };
        ledger.charge_request(account, usage);
        let limit = ledger.limits(account)[Dimension::Duration].finite();
        if let (Some(limit), Some(left)) = (limit.and_then(|ms| i64::try_from(ms).ok()), ms_left) {
            ledger.set_elapsed_ms(account, u64::try_from(limit.saturating_sub(left)).unwrap_or(0));
        }
        self.add_usage(run, usage);
    }

    fn add_usage(&mut self, run: &RunId, usage: &Usage) {
        if let Some(entry) = self.entries.get_mut(run) {
            entry.own += *usage;
        }
        let mut next = Some(run.clone());
        while let Some(entry) = next.as_ref().and_then(|run| self.entries.get_mut(run)) {
            entry.total += *usage;
            next.clone_from(&entry.parent);
        }
    }

    fn call_ended(&mut self, run: &RunId, name: &str, output: &str, failure: Option<Failure>) {
        let Some((ledger, account)) = self.within(run) else { return };
        if failure == Some(Failure::NotRun) {
            return;
        }
        ledger.charge_calls(account, 1);
        if let Some(entry) = self.entries.get_mut(run) {
            entry.own_calls += 1;
        }
        // Of a task that was cancelled before it was queued, its result alone tells.
        if name == TASK_TOOL && failure == Some(Failure::Cancelled) {
            let json = output.find('{').map_or("", |start| &output[start..]);
            let report = serde_json::Deserializer::from_str(json).into_iter::<Report>().next();
            let task = report.and_then(Result::ok).and_then(|report| report.task_id);
            self.delegated(run, task);
        }
    }

    fn extended(&mut self, run: &RunId, limits: &Budget) {
        if let Some((ledger, account)) = self.within(run) {
            raise_to(ledger, account, limits);
        }
    }

    fn finish(&mut self, run: &RunId, end: &RunFinished) {
        let Some(entry) = self.entries.get(run) else { return };
        if !entry.is_whole {
            self.doubt_shares(entry.tree);
            self.catch_up(run, end);
        }
        self.hold_against(run, end);
        let Some(entry) = self.entries.get_mut(run) else { return };
        entry.ended = true;
        let (account, ledger) = (entry.account, &mut self.trees[entry.tree]);
        if let Some(told) = &end.account {
            ledger.set_elapsed_ms(account, told.used.duration_ms);
        }
        ledger.settle(account);
    }

    /// The record has only the run's start and end: all that it did is charged now.
    fn catch_up(&mut self, run: &RunId, end: &RunFinished) {
        let Some(entry) = self.entries.get_mut(run) else { return };
        let (account, ledger) = (entry.account, &mut self.trees[entry.tree]);
        if let Some(told) = &end.account {
            raise_to(ledger, account, &told.limits);
            let known = ledger.used(account)[Dimension::ToolCalls];
            let own_calls = told.used.tool_calls.saturating_sub(known);
            ledger.charge_calls(account, own_calls);
            entry.own_calls = own_calls;
        }
        for _ in 0..end.turns {
            ledger.begin_turn(account);
        }
        ledger.charge_request(account, &end.usage);
        self.add_usage(run, &end.usage);
    }

    fn doubt_shares(&mut self, tree: usize) {
        self.partial.insert(tree);
        let entries = &self.entries;
        let is_of_it = |run: &RunId| entries.get(run).is_some_and(|entry| entry.tree == tree);
        self.contradictions.retain(|found| match found.what {
            Mismatch::Share(_) => !is_of_it(&found.run),
            Mismatch::Used { .. } | Mismatch::Limits | Mismatch::Usage => true,
        });
    }

    fn hold_against(&mut self, run: &RunId, end: &RunFinished) {
        let (Some(figures), Some(told)) = (self.figures(run), &end.account) else { return };
        let mut found = Vec::new();
        if (figures.own, figures.total) != (end.usage, end.usage_total) {
            found.push(Mismatch::Usage);
        }
        if figures.limits != told.limits {
            found.push(Mismatch::Limits);
        }
        found.extend(differences(&figures, told));
        for what in found {
            self.contradict(run, what);
        }
    }

    fn contradict(&mut self, run: &RunId, what: Mismatch) {
        self.contradictions.push(Contradiction { run: run.clone(), what });
    }
}

/// Where what was used is not what the end says. Running time is told by the end alone.
fn differences(figures: &Figures, told: &Account) -> Vec<Mismatch> {
    let counted = Dimension::ALL.into_iter().filter(|d| *d != Dimension::Duration);
    let pairs = counted.filter_map(|dimension| {
        Some((dimension, figures.used[dimension], told.used.get(dimension)?))
    });
    let differ = pairs.filter(|(_, summed, told)| summed != told);
    differ.map(|(dimension, summed, told)| Mismatch::Used { dimension, summed, told }).collect()
}

/// Takes limits over that only ever grow.
fn raise_to(ledger: &mut Ledger, account: AccountId, limits: &Budget) {
    let before = *ledger.limits(account);
    let by = PerDimension::from_fn(|dimension| {
        let grown = limits[dimension].finite().zip(before[dimension].finite());
        grown.map_or(0, |(now, before)| now.saturating_sub(before))
    });
    ledger.raise(account, &by);
}
