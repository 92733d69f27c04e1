//! The children: a tree of nodes, each keyed by its `task` call, never by role or name.

use crate::domain::event::Timestamp;
use crate::domain::ids::{CallId, TaskId};
use crate::domain::report::{Report, Status};

use super::approval::Verdict;
use super::call::Call;
use super::changed::Changed;
use super::conversation::Notice;
use super::gauge::{self, Used};
use super::run::{Doing, End, Run};

/// A child's place in the story; stable for the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub(super) usize);

impl NodeId {
    /// Its number in the order of delegation, from 0.
    pub fn index(self) -> usize {
        self.0
    }
}

/// How a child stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeState {
    /// Waits for a free place.
    Queued {
        /// How many wait before it, right now.
        position: u32,
    },
    /// A person is asked whether it may start.
    AskedAbout,
    /// Its run has begun.
    Running,
    /// Ended, or never started.
    Ended(End),
}

/// Why a child looks as if it would come to nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Runaway {
    /// It asked for the same thing this many times in a row.
    Repeats(u32),
    /// It went through the same calls again and again.
    Cycles {
        /// How many calls one round has.
        calls: u32,
        /// How many rounds.
        times: u32,
    },
    /// All of its calls failed, this many.
    OnlyErrors(u32),
    /// It has used more than three quarters of its turns.
    TurnsNearlyUsed {
        /// The newest turn.
        turn: u32,
        /// Its limit.
        of: u64,
    },
    /// It has used more than three quarters of something else.
    NearlyUsed(Used),
}

/// One child.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its place.
    pub id: NodeId,
    /// The child that delegated to it; `None` for a child of the parent.
    pub parent: Option<NodeId>,
    /// Its own children, oldest first.
    pub children: Vec<NodeId>,
    /// The `task` call.
    pub call: CallId,
    /// Its number; `None` for a delegation that was refused before it had one.
    pub task: Option<TaskId>,
    /// Its role.
    pub role: String,
    /// A few words on its task.
    pub description: String,
    /// How it stands.
    pub state: NodeState,
    /// Since when.
    pub since: Timestamp,
    /// Its run, once it has begun.
    pub run: Option<Run>,
    /// Its calls in the order they were asked for.
    pub calls: Vec<Call>,
    /// Its model's words of the newest turn.
    pub text: String,
    /// Grows when [`Self::text`] changed otherwise than by growing.
    pub text_version: u32,
    /// What the parent got of it.
    pub report: Option<Report>,
    /// What a person said to its start, where they were asked.
    pub verdict: Option<Verdict>,
    /// What the runtime said about it.
    pub notices: Vec<Notice>,
    pub(super) position: usize,
    pub(super) running: Vec<usize>,
    pub(super) asking: Vec<usize>,
    /// How many calls in a row were the same as the one before; as the second one before; as the
    /// third one before.
    pub(super) repeats: [u32; 3],
    pub(super) errors: u32,
    pub(super) successes: u32,
}

/// A repetition or a row of errors is worth a warning from here on.
const SUSPICIOUS: u32 = 3;

impl Node {
    /// True until it has ended.
    pub fn is_live(&self) -> bool {
        match self.state {
            NodeState::Queued { .. } | NodeState::AskedAbout | NodeState::Running => true,
            NodeState::Ended(_) => false,
        }
    }

    /// True if it ended without a run: its report holds nothing but the reason.
    pub fn never_ran(&self) -> bool {
        self.run.is_none() && !self.is_live()
    }

    /// True while it waits for a place.
    pub fn is_queued(&self) -> bool {
        match self.state {
            NodeState::Queued { .. } => true,
            NodeState::AskedAbout | NodeState::Running | NodeState::Ended(_) => false,
        }
    }

    /// True while a person is asked whether it may start.
    pub fn is_asked_about(&self) -> bool {
        match self.state {
            NodeState::AskedAbout => true,
            NodeState::Queued { .. } | NodeState::Running | NodeState::Ended(_) => false,
        }
    }

    /// Its call that has been running longest.
    pub fn running_call(&self) -> Option<&Call> {
        self.calls.get(*self.running.first()?)
    }

    /// Its call that has been waiting longest for a person's word.
    pub fn asking_call(&self) -> Option<&Call> {
        self.calls.get(*self.asking.first()?)
    }

    /// True while one of its calls waits for a person's word.
    pub fn asks(&self) -> bool {
        !self.asking.is_empty()
    }

    /// The place of its newest running call that has written something, among its calls.
    pub fn writing_call(&self) -> Option<usize> {
        let wrote = |index: &usize| self.calls.get(*index).is_some_and(|call| call.written > 0);
        self.running.iter().copied().rev().find(wrote)
    }

    /// The files that it and its children changed.
    pub fn changed(&self) -> Option<&Changed> {
        self.run.as_ref().map(|run| &run.changed).filter(|changed| !changed.is_empty())
    }

    /// True if it changed files and did not complete: nobody vouches for what it left behind.
    pub fn needs_review(&self) -> bool {
        match &self.state {
            NodeState::Queued { .. } | NodeState::AskedAbout | NodeState::Running => false,
            NodeState::Ended(end) => end.status != Status::Completed && self.changed().is_some(),
        }
    }

    /// What it is doing at `now`.
    pub fn doing(&self, now: Timestamp) -> Doing<'_> {
        match (&self.state, &self.run) {
            (NodeState::Ended(end), _) => Doing::Ended(end),
            (NodeState::Queued { position }, _) => {
                Doing::Queued { position: *position, since: self.since }
            }
            (NodeState::AskedAbout, _) => Doing::Asking { call: None, since: self.since },
            (NodeState::Running, Some(run)) => {
                run.doing(self.asking_call().or_else(|| self.running_call()), now)
            }
            (NodeState::Running, None) => Doing::Between { since: self.since },
        }
    }

    /// Its running time at `now` in ms; 0 if it never ran.
    pub fn elapsed_ms(&self, now: Timestamp) -> u64 {
        self.run.as_ref().map_or(0, |run| run.elapsed_ms(now))
    }

    /// Why a live child looks as if it would come to nothing.
    pub fn runaway(&self) -> Option<Runaway> {
        let run = self.run.as_ref().filter(|_| self.is_live())?;
        if let Some(repeats) = self.repetition() {
            return Some(repeats);
        }
        if self.successes == 0 && self.errors >= SUSPICIOUS {
            return Some(Runaway::OnlyErrors(self.errors));
        }
        match run.turns_limit.filter(|of| u64::from(run.turn) * 4 > of * 3) {
            Some(of) => Some(Runaway::TurnsNearlyUsed { turn: run.turn, of }),
            None => gauge::nearly_used(run).map(Runaway::NearlyUsed),
        }
    }

    /// The shortest round of calls that it has gone through too often.
    fn repetition(&self) -> Option<Runaway> {
        let rounds = (1..).zip(self.repeats).map(|(calls, same)| (calls, same / calls + 1));
        let (calls, times) = rounds.into_iter().find(|(_, times)| *times >= SUSPICIOUS)?;
        Some(match calls {
            1 => Runaway::Repeats(times),
            calls => Runaway::Cycles { calls, times },
        })
    }
}

/// How many children there are of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Those whose run goes on.
    pub running: usize,
    /// Those that wait for a place.
    pub queued: usize,
    /// Those that a person is asked about before they start.
    pub asked_about: usize,
    /// Those that completed.
    pub done: usize,
    /// Those that failed, or whose report was no use.
    pub failed: usize,
    /// Those that used up their budget.
    pub exhausted: usize,
    /// Those that somebody cancelled.
    pub cancelled: usize,
    /// Those that were refused or blocked.
    pub refused: usize,
}

impl Counts {
    fn of_ended(&mut self, status: Status) -> &mut usize {
        match status {
            Status::Completed => &mut self.done,
            Status::BudgetExhausted => &mut self.exhausted,
            Status::Cancelled => &mut self.cancelled,
            Status::Blocked => &mut self.refused,
            Status::Failed | Status::InvalidResult => &mut self.failed,
        }
    }
}

/// All children of the session.
#[derive(Debug, Default)]
pub struct Delegations {
    nodes: Vec<Node>,
    roots: Vec<NodeId>,
    /// Of those that have ended.
    ended: Counts,
    /// Those that have not ended, oldest first: few, whatever the session's length.
    live: Vec<NodeId>,
}

impl Delegations {
    /// All nodes in the order of delegation.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// One node.
    pub fn get(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.0)
    }

    /// The node of a task: the newest, if there were several attempts.
    pub fn of_task(&self, task: TaskId) -> Option<&Node> {
        self.nodes.iter().rev().find(|node| node.task == Some(task))
    }

    /// Those that have not ended, oldest first.
    pub fn live(&self) -> impl DoubleEndedIterator<Item = &Node> {
        self.live.iter().filter_map(|id| self.get(*id))
    }

    /// The newest of those that have not ended: the one that a cancel without a choice means.
    pub fn newest_live(&self) -> Option<&Node> {
        self.live().next_back()
    }

    /// How many have not ended.
    pub fn live_count(&self) -> usize {
        self.live.len()
    }

    /// How many there are of each kind.
    pub fn counts(&self) -> Counts {
        let queued = self.live().filter(|node| node.is_queued()).count();
        let asked_about = self.live().filter(|node| node.is_asked_about()).count();
        let running = self.live.len() - queued - asked_about;
        Counts { running, queued, asked_about, ..self.ended }
    }

    /// The first node as a screen lists them: the newest child of the parent.
    pub fn first(&self) -> Option<NodeId> {
        self.roots.last().copied()
    }

    /// The last node as a screen lists them.
    pub fn last(&self) -> Option<NodeId> {
        self.roots.first().map(|root| self.lowest(*root))
    }

    /// The node below: a node's children come right after it, the newest first.
    pub fn after(&self, id: NodeId) -> Option<NodeId> {
        let mut node = self.get(id)?;
        if let Some(child) = node.children.last() {
            return Some(*child);
        }
        loop {
            let siblings = self.siblings(node)?;
            if let Some(next) = node.position.checked_sub(1) {
                return siblings.get(next).copied();
            }
            node = self.get(node.parent?)?;
        }
    }

    /// The node above.
    pub fn before(&self, id: NodeId) -> Option<NodeId> {
        let node = self.get(id)?;
        match self.siblings(node)?.get(node.position + 1) {
            Some(sibling) => Some(self.lowest(*sibling)),
            None => node.parent,
        }
    }

    /// How deep a node is in the tree, 0 for a child of the parent.
    pub fn depth(&self, id: NodeId) -> usize {
        std::iter::successors(self.get(id), |node| self.get(node.parent?)).count().saturating_sub(1)
    }

    pub(super) fn get_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut(id.0)
    }

    pub(super) fn add(&mut self, parent: Option<NodeId>, call: CallId, at: Timestamp) -> NodeId {
        let id = NodeId(self.nodes.len());
        let siblings = match parent.and_then(|parent| self.nodes.get_mut(parent.0)) {
            Some(node) => &mut node.children,
            None => &mut self.roots,
        };
        let position = siblings.len();
        siblings.push(id);
        self.nodes.push(empty_node(id, parent, position, call, at));
        self.live.push(id);
        id
    }

    /// Puts a child at the end of the queue, or leaves it where it is there.
    pub(super) fn wait(&mut self, id: NodeId, at: Timestamp) {
        if let Some(node) = self.nodes.get_mut(id.0) {
            node.state = NodeState::Queued { position: 0 };
            node.since = at;
        }
        self.count_queue();
    }

    /// A person is asked whether it may start.
    pub(super) fn asked_about(&mut self, id: NodeId, at: Timestamp) {
        if let Some(node) = self.nodes.get_mut(id.0) {
            node.state = NodeState::AskedAbout;
            node.since = at;
        }
        self.count_queue();
    }

    /// Its run begins.
    pub(super) fn start(&mut self, id: NodeId, run: Run, at: Timestamp) {
        let Some(node) = self.nodes.get_mut(id.0) else { return };
        if let NodeState::Ended(end) = &node.state {
            *self.ended.of_ended(end.status) -= 1;
        }
        node.state = NodeState::Running;
        node.since = at;
        node.run = Some(run);
        if !self.live.contains(&id) {
            self.live.push(id);
            self.live.sort_unstable();
        }
        self.count_queue();
    }

    pub(super) fn end(&mut self, id: NodeId, end: End, at: Timestamp) {
        let Some(node) = self.nodes.get_mut(id.0) else { return };
        if let NodeState::Ended(before) = &node.state {
            *self.ended.of_ended(before.status) -= 1;
        }
        *self.ended.of_ended(end.status) += 1;
        node.state = NodeState::Ended(end);
        node.since = at;
        node.running.clear();
        node.asking.clear();
        self.live.retain(|live| *live != id);
        self.count_queue();
    }

    /// Those that wait are started in the order of the tree, a child's before its later siblings,
    /// so each knows how many are before it.
    fn count_queue(&mut self) {
        let mut waiting: Vec<NodeId> =
            self.live().filter(|node| node.is_queued()).map(|node| node.id).collect();
        waiting.sort_by_cached_key(|id| self.path(*id));
        for (place, id) in (0..).zip(waiting) {
            if let Some(node) = self.nodes.get_mut(id.0) {
                node.state = NodeState::Queued { position: place };
            }
        }
    }

    /// A node below those above it, the topmost first.
    fn path(&self, id: NodeId) -> Vec<NodeId> {
        let upwards = std::iter::successors(self.get(id), |node| self.get(node.parent?));
        let mut path: Vec<NodeId> = upwards.map(|node| node.id).collect();
        path.reverse();
        path
    }

    fn siblings(&self, node: &Node) -> Option<&[NodeId]> {
        match node.parent {
            Some(parent) => self.get(parent).map(|parent| parent.children.as_slice()),
            None => Some(&self.roots),
        }
    }

    fn lowest(&self, mut id: NodeId) -> NodeId {
        while let Some(child) = self.get(id).and_then(|node| node.children.first()) {
            id = *child;
        }
        id
    }
}

fn empty_node(
    id: NodeId,
    parent: Option<NodeId>,
    position: usize,
    call: CallId,
    since: Timestamp,
) -> Node {
    Node {
        id,
        parent,
        children: Vec::new(),
        call,
        task: None,
        role: String::new(),
        description: String::new(),
        state: NodeState::Queued { position: 0 },
        since,
        run: None,
        calls: Vec::new(),
        text: String::new(),
        text_version: 0,
        report: None,
        verdict: None,
        notices: Vec::new(),
        position,
        running: Vec::new(),
        asking: Vec::new(),
        repeats: [0; 3],
        errors: 0,
        successes: 0,
    }
}
