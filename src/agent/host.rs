//! What all runs of a session share, and what one parent run shares with its descendants.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::approvals::Approvals;
use super::cancel::LiveTasks;
use super::changes::Changes;
use super::places::Places;
use crate::domain::approval::{Asker, Mode};
use crate::domain::budget::Dimension;
use crate::domain::context_store::ContextStore;
use crate::domain::event::{Fact, Origin, Timestamp};
use crate::domain::fence::Fence;
use crate::domain::ids::{RunId, TaskId};
use crate::domain::ledger::{AccountId, Ledger};
use crate::domain::preflight::PreflightPolicy;
use crate::domain::role::RoleTable;
use crate::domain::rules::Rules;
use crate::domain::usage::MicroUsd;
use crate::journal::hub::Hub;
use crate::journal::redact::Redactor;
use crate::provider::Provider;
use crate::provider::retry::Patience;
use crate::sandbox::Sandbox;
use crate::tool::toolbox::Toolbox;
use crate::workspace::Workspace;

/// Tells the time of day, so that tests can fix it.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Makes the provider that answers with the named model, or says why it cannot.
pub type Switch = Arc<dyn Fn(&str) -> Result<Arc<dyn Provider>, String> + Send + Sync>;

/// What all runs of a session share.
pub struct Host {
    /// Where facts go.
    pub hub: Hub,
    /// All tools there are.
    pub toolbox: Toolbox,
    /// The ground.
    pub workspace: Arc<Workspace>,
    /// Where commands run.
    pub sandbox: Arc<Sandbox>,
    /// What may be done without asking.
    pub mode: Mutex<Mode>,
    /// Whether delegations are asked about.
    pub preflight: Mutex<PreflightPolicy>,
    /// What is allowed, asked about and denied by name.
    pub rules: Rules,
    /// Who is asked.
    pub asker: Asker,
    /// The calls that wait for an answer, and what was allowed so far.
    pub approvals: Approvals,
    /// How well commands are fenced, where that was said; else the sandbox finds it out.
    pub fence: Option<Fence>,
    /// The user's own command for the tests.
    pub test_command: Option<String>,
    /// What a task can choose as context.
    pub store: Mutex<ContextStore>,
    /// The keys that the parent's model was told last; empty where its history has no list.
    pub listed: Mutex<String>,
    /// Texts that may never leave, such as API keys.
    pub secrets: Vec<String>,
    /// Blots them, and whatever looks like a key, out of what a child reports.
    pub redactor: Redactor,
    /// How deep runs may go.
    pub max_depth: u32,
    /// How long to wait for the model, and how often.
    pub patience: Patience,
    /// At which part of its window the conversation is summarised.
    pub compact_at: Share,
    /// Who changed which files.
    pub changes: Changes,
    /// The live tasks, for cancelling one.
    pub live: Arc<LiveTasks>,
    /// The time of day.
    pub clock: Clock,
    /// The number of the newest task.
    pub tasks: AtomicU32,
}

impl Host {
    /// A fresh task number.
    pub fn next_task(&self) -> TaskId {
        TaskId(self.tasks.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// True if a task has this number.
    pub fn has_task(&self, task: TaskId) -> bool {
        (1..=self.tasks.load(Ordering::Relaxed)).contains(&task.0)
    }

    /// What may be done without asking at this moment.
    pub fn mode(&self) -> Mode {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on this may be done without asking.
    pub fn set_mode(&self, mode: Mode) {
        *self.mode.lock().unwrap_or_else(PoisonError::into_inner) = mode;
    }

    /// Whether delegations are asked about at this moment.
    pub fn preflight(&self) -> PreflightPolicy {
        *self.preflight.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on delegations are asked about, or not.
    pub fn set_preflight(&self, policy: PreflightPolicy) {
        *self.preflight.lock().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    /// How well commands are fenced: as was said, else found out by trying, which takes seconds at
    /// worst and happens once.
    pub async fn fence(&self) -> Fence {
        match &self.fence {
            Some(fence) => fence.clone(),
            None => self.sandbox.fence().await,
        }
    }

    /// A run has ended and was told: what nobody can ask for any more is let go.
    pub fn run_ended(&self, run: &RunId) {
        self.approvals.run_ended(run);
        self.changes.ended(run);
    }

    /// Tells what happened.
    pub async fn emit(&self, origin: &Origin, fact: Fact) {
        self.hub.emit(origin, fact).await;
    }

    /// The keys that a task can choose, in words for the model, if it does not know them yet.
    pub fn new_listing(&self) -> Option<String> {
        let store = self.store();
        let keys = store.key_list();
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if *listed == keys {
            return None;
        }
        *listed = keys;
        Some(store.listing())
    }

    /// The history that had the newest list is gone, so that it is told again.
    pub fn forget_listing(&self) {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The context store, for a short look.
    pub fn store(&self) -> MutexGuard<'_, ContextStore> {
        self.store.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of a whole, in percent from 1 to 100.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share(u8);

impl Share {
    /// This many percent; `None` outside of 1 to 100.
    pub fn percent(percent: u8) -> Option<Self> {
        (1..=100).contains(&percent).then_some(Self(percent))
    }

    /// This part of a whole.
    pub fn of(self, whole: u64) -> u64 {
        whole / 100 * u64::from(self.0)
    }
}

impl Default for Share {
    fn default() -> Self {
        Self(80)
    }
}

/// What a parent run shares with all its descendants.
pub struct RunTree {
    ledger: Mutex<Ledger>,
    /// Makes the provider of another model, for the roles that have one; `None` where there is only
    /// one.
    pub switch: Option<Switch>,
    /// True if the user bounded the session's cost, so that nobody whose price is not known may answer.
    pub cost_must_hold: bool,
    /// The roles with the limits of this run's preset.
    pub roles: RoleTable,
    /// Places for descendants that work at the same time.
    pub places: Arc<Places>,
}

impl RunTree {
    /// A tree whose root account is already open.
    pub fn new(
        switch: Option<Switch>,
        cost_must_hold: bool,
        ledger: Ledger,
        roles: RoleTable,
    ) -> Self {
        let places = Places::new(ledger.totals().active);
        Self { switch, cost_must_hold, ledger: Mutex::new(ledger), roles, places }
    }

    /// The ledger, for one step of arithmetic. Never held over an await.
    pub fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the run and all below it cost so far, as far as prices are known.
    pub fn spent(&self) -> MicroUsd {
        let ledger = self.ledger();
        MicroUsd(ledger.used(ledger.root())[Dimension::CostUsd])
    }

    /// Returns the unused reservation of an account when the returned guard is dropped, whatever
    /// happens in between.
    pub fn settle_later(self: &Arc<Self>, account: AccountId) -> Settlement {
        Settlement { tree: Arc::clone(self), account }
    }
}

/// Settles an account when dropped.
pub struct Settlement {
    tree: Arc<RunTree>,
    account: AccountId,
}

impl Drop for Settlement {
    fn drop(&mut self) {
        self.tree.ledger().settle(self.account);
    }
}

/// Words that a person typed while a run was going on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Typed {
    /// The words.
    pub words: String,
    /// True if the parent is to delegate them.
    pub must_delegate: bool,
}

/// Characters of waiting command output at most: what one result of a tool may have.
const MAX_BESIDE: usize = crate::tool::MAX_RESULT_CHARS;

/// What was typed and waits for the next boundary, and what else the model is to see there.
#[derive(Debug, Default)]
pub struct Inbox {
    typed: Mutex<VecDeque<Typed>>,
    beside: Mutex<VecDeque<String>>,
}

impl Inbox {
    /// Adds a message.
    pub fn push(&self, typed: Typed) {
        self.lock().push_back(typed);
    }

    /// Takes all messages, oldest first.
    pub fn drain(&self) -> Vec<Typed> {
        self.lock().drain(..).collect()
    }

    /// Takes the oldest message.
    pub fn pop(&self) -> Option<Typed> {
        self.lock().pop_front()
    }

    /// Adds what the model is to see with the next message or at the next boundary. Of too much
    /// the oldest is left out.
    pub fn put_beside(&self, text: String) {
        let mut beside = self.beside();
        beside.push_back(text);
        let mut chars: usize = beside.iter().map(|text| text.chars().count()).sum();
        while chars > MAX_BESIDE && beside.len() > 1 {
            chars -= beside.pop_front().map_or(0, |text| text.chars().count());
        }
    }

    /// Takes all of that, oldest first.
    pub fn take_beside(&self) -> Vec<String> {
        self.beside().drain(..).collect()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Typed>> {
        self.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn beside(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_much_output_the_oldest_is_left_out() {
        let inbox = Inbox::default();
        for letter in ["a", "b", "c"] {
            inbox.put_beside(letter.repeat(MAX_BESIDE / 2));
        }
        let firsts: Vec<_> = inbox.take_beside().iter().map(|text| text.chars().next()).collect();
        assert_eq!(firsts, [Some('b'), Some('c')]);
        inbox.put_beside("d".repeat(2 * MAX_BESIDE));
        assert_eq!(inbox.take_beside().len(), 1);
        assert!(inbox.take_beside().is_empty());
    }
}
