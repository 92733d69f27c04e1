//! The calls that wait for a person's word, in the order in which they asked. Nothing is decided
//! here: who may do what is the runtime's business.

use crate::domain::approval::{Decider, Decision};
use crate::domain::event::{Preflight, Timestamp};
use crate::domain::ids::{CallId, RunId};
use crate::domain::preflight::Amendment;

use super::delegation::NodeId;

/// The tool whose command is confirmed once for the session.
const RUN_TESTS: &str = "run_tests";

/// Whose call it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The parent.
    Parent,
    /// A child.
    Child(NodeId),
}

/// A call that waits for a person's word.
#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    /// The question's own number: a call that asks again asks anew.
    pub number: u64,
    /// The run that asks.
    pub run: RunId,
    /// Its call.
    pub call: CallId,
    /// Whose run that is.
    pub asker: Asker,
    /// The tool.
    pub name: String,
    /// What it would do, on one line.
    pub summary: String,
    /// The change, for a call that changes files.
    pub diff: Option<String>,
    /// The command, for a call that runs one.
    pub command: Option<String>,
    /// Where the command starts.
    pub folder: Option<String>,
    /// How it would be fenced.
    pub fence: Option<String>,
    /// What an answer for more than this call covers; `None` if only this call can be allowed.
    pub prefix: Option<String>,
    /// What the child would get, for a call that delegates.
    pub preflight: Option<Box<Preflight>>,
    /// The child that it would become.
    pub about: Option<NodeId>,
    /// Since when it waits.
    pub since: Timestamp,
}

impl Approval {
    /// True for a run of the tests, where a yes confirms the command for the session: it is asked
    /// about once.
    pub fn confirms_for_session(&self) -> bool {
        self.name == RUN_TESTS
    }
}

/// How a question about a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// The outcome.
    pub decision: Decision,
    /// Whose.
    pub by: Decider,
    /// Why, in words.
    pub reason: Option<String>,
    /// What a child gets less than was shown.
    pub amended: Option<Box<Amendment>>,
}

/// What a person allowed beyond one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Whom it was given to.
    pub asker: Asker,
    /// The tool.
    pub tool: String,
    /// The first words of a command, or a path.
    pub prefix: String,
    /// True if it holds for the whole session, false for that run alone.
    pub session: bool,
}

/// All that wait, the oldest first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Approvals(Vec<Approval>);

impl Approvals {
    /// The oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Approval> {
        self.0.iter()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if nobody waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The question of this number, if it still waits.
    pub fn get(&self, number: u64) -> Option<&Approval> {
        self.0.iter().find(|approval| approval.number == number)
    }

    /// How many wait that asked earlier.
    pub fn before(&self, number: u64) -> usize {
        self.0.iter().take_while(|approval| approval.number != number).count()
    }

    /// The oldest question of this child, or the one whether it may start.
    pub fn of_child(&self, node: NodeId) -> Option<&Approval> {
        let concerns = |approval: &&Approval| {
            approval.asker == Asker::Child(node) || approval.about == Some(node)
        };
        self.0.iter().find(concerns)
    }

    /// The question about a call.
    pub fn of_call(&self, asker: Asker, call: &CallId) -> Option<&Approval> {
        self.0.iter().find(|approval| approval.asker == asker && approval.call == *call)
    }

    pub(super) fn ask(&mut self, approval: Approval) {
        self.settle(&approval.run, &approval.call);
        self.0.push(approval);
    }

    pub(super) fn settle(&mut self, run: &RunId, call: &CallId) {
        self.0.retain(|approval| approval.run != *run || approval.call != *call);
    }

    pub(super) fn settle_run(&mut self, run: &RunId) {
        self.0.retain(|approval| approval.run != *run);
    }
}
