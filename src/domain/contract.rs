//! The contract of one run: immutable, complete, and never wider than what its parent has.
//!
//! This file holds what a contract is. How a request becomes one is in `narrow` and `allot`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::budget::{Budget, Dimension, Limit};
use super::context_store::{Snippet, SnippetCard};
use super::event::{ContractView, Share, Timestamp};
use super::fingerprint::fingerprint;
use super::grant::Grant;
use super::hash::Sha;
use super::ids::{RunId, TaskId};
use super::narrow;
use super::preflight::{self, Amendment};
use super::request::TaskRequest;
use super::role::Permission;
use super::scope::PathScope;
use super::violation::Refusal;

/// What a run may know, do, touch and spend. There are two ways to get one: [`Contract::root`] for
/// the run that answers the user, [`Contract::narrow`] for everything below.
///
/// It serialises to JSON and back without loss; a child is built from the serialised form only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contract {
    pub(super) task_id: Option<TaskId>,
    pub(super) attempt: u32,
    pub(super) parent_run: Option<RunId>,
    pub(super) run: RunId,
    pub(super) depth: u32,
    pub(super) role: String,
    pub(super) description: String,
    pub(super) prompt: String,
    pub(super) expected_output: String,
    pub(super) done_when: Option<String>,
    pub(super) must_not: Option<String>,
    pub(super) context: Vec<Snippet>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rules: Option<Snippet>,
    pub(super) permissions: BTreeSet<Permission>,
    pub(super) paths: Vec<PathScope>,
    pub(super) tools: Vec<String>,
    pub(super) budget: Budget,
    pub(super) share: Option<Share>,
    pub(super) output_per_request: u64,
    pub(super) provider: String,
    pub(super) model: String,
    pub(super) temperature: Option<f64>,
    pub(super) fingerprint: Sha,
    pub(super) issued_at: Timestamp,
}

/// What the user grants to the run that answers one message.
#[derive(Debug, Clone, PartialEq)]
pub struct Root {
    /// The run.
    pub run: RunId,
    /// The user's message.
    pub prompt: String,
    /// What it may do.
    pub permissions: BTreeSet<Permission>,
    /// Where.
    pub paths: Vec<PathScope>,
    /// With which tools.
    pub tools: Vec<String>,
    /// The project's rules for agents that apply there.
    pub rules: Option<Snippet>,
    /// Its limits.
    pub budget: Budget,
    /// Output tokens that one request may ask for at most.
    pub output_per_request: u64,
    /// Who answers.
    pub provider: String,
    /// With which model.
    pub model: String,
    /// When.
    pub issued_at: Timestamp,
}

/// What the host adds to a request when it issues a contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Issue {
    /// The task's number in the session.
    pub task_id: TaskId,
    /// Which try at it, from 1.
    pub attempt: u32,
    /// When.
    pub issued_at: Timestamp,
}

/// Why a text is no contract.
#[derive(Debug, thiserror::Error)]
pub enum ContractError {
    /// Not the serialised form.
    #[error("the contract cannot be read: {0}; start the child from the form that was issued")]
    Malformed(#[from] serde_json::Error),
    /// A snippet's text is not the one that was issued.
    #[error("the context `{0}` does not match its hash; the contract was changed after its issue")]
    Tampered(String),
}

impl Contract {
    /// The role name of the run that answers the user.
    pub const PARENT_ROLE: &str = "parent";

    /// The user's grant to the run that answers a message.
    pub fn root(root: Root) -> Self {
        let fingerprint = fingerprint(&root.prompt, "", Self::PARENT_ROLE, [], &root.paths);
        Self {
            task_id: None,
            attempt: 1,
            parent_run: None,
            run: root.run,
            depth: 0,
            role: Self::PARENT_ROLE.to_owned(),
            description: String::new(),
            prompt: root.prompt,
            expected_output: String::new(),
            done_when: None,
            must_not: None,
            context: Vec::new(),
            rules: root.rules,
            permissions: root.permissions,
            paths: root.paths,
            tools: root.tools,
            budget: root.budget,
            share: None,
            output_per_request: root.output_per_request,
            provider: root.provider,
            model: root.model,
            temperature: None,
            fingerprint,
            issued_at: root.issued_at,
        }
    }

    /// Checks 1 to 8, for every request of a batch before anything of it starts. Gives the
    /// fingerprint that tells the task from others. A refusal also lists what is wrong with the
    /// budget, but the budget alone refuses nothing here: it is judged when the child starts.
    pub fn check(grant: &Grant<'_>, request: &TaskRequest) -> Result<Sha, Refusal> {
        narrow::check(grant, request)
    }

    /// All nine checks, and the contract if every one passes. A refusal lists all violations in
    /// the order of the checks.
    pub fn narrow(grant: &Grant<'_>, request: &TaskRequest, issue: Issue) -> Result<Self, Refusal> {
        narrow::narrow(grant, request, issue, None)
    }

    /// All nine checks once more, after a person let a shown contract go: of what the parent has now,
    /// and in nothing more than what was shown to them and what they made of it.
    pub fn narrow_shown(
        grant: &Grant<'_>,
        request: &TaskRequest,
        issue: Issue,
        shown: &Self,
        amendment: &Amendment,
    ) -> Result<Self, Refusal> {
        let ceiling = amendment.ceiling(&shown.budget);
        let mut now = narrow::narrow(grant, &amendment.apply(request), issue, Some(&ceiling))?;
        // What its own model costs was not known when it was shown, and nobody could lower it.
        if shown.budget[Dimension::CostUsd] == Limit::Off {
            now = now.without_cost();
        }
        match preflight::beyond(shown, &now) {
            Some(violation) => Err(Refusal::because(violation)),
            None => Ok(now),
        }
    }

    /// Reads the serialised form, and refuses one whose snippets do not match their hashes.
    pub fn from_json(json: &str) -> Result<Self, ContractError> {
        let contract: Self = serde_json::from_str(json)?;
        let changed = |snippet: &&Snippet| snippet.card.sha256 != Sha::of(&snippet.text);
        match contract.context.iter().chain(&contract.rules).find(changed) {
            Some(snippet) => Err(ContractError::Tampered(snippet.card.key.clone())),
            None => Ok(contract),
        }
    }

    /// The serialised form: all that a child is built from.
    pub fn to_json(&self) -> String {
        // Every field is a plain value with string keys, which JSON can always hold.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The hash of the serialised form.
    pub fn sha256(&self) -> Sha {
        Sha::of(self.to_json())
    }

    /// What files and screens may show of it: everything but the text of the snippets and rules.
    pub fn view(&self) -> ContractView {
        ContractView {
            prompt: self.prompt.clone(),
            expected_output: self.expected_output.clone(),
            done_when: self.done_when.clone(),
            must_not: self.must_not.clone(),
            rules: self.rules.is_some(),
            context: self.cards().chain(self.rules().map(|rules| &rules.card)).cloned().collect(),
            permissions: self.permissions.clone(),
            paths: self.paths.clone(),
            tools: self.tools.clone(),
            budget: self.budget,
            share: self.share,
            provider: self.provider.clone(),
            model: self.model.clone(),
            goes_to: None,
        }
    }

    /// The task; none for a parent run.
    pub fn task_id(&self) -> Option<TaskId> {
        self.task_id
    }

    /// Which try at the task, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// The run that delegated; none for a parent run.
    pub fn parent_run(&self) -> Option<&RunId> {
        self.parent_run.as_ref()
    }

    /// The run that this contract binds.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// 0 for a parent run, one more for each delegation.
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The role's name.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// A few words for the screen; blank for a parent run.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The task, or the user's message.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// What is to come back; blank for a parent run.
    pub fn expected_output(&self) -> &str {
        &self.expected_output
    }

    /// When the task is done.
    pub fn done_when(&self) -> Option<&str> {
        self.done_when.as_deref()
    }

    /// What must not be done.
    pub fn must_not(&self) -> Option<&str> {
        self.must_not.as_deref()
    }

    /// Copies of the chosen snippets, in the order they were asked for.
    pub fn context(&self) -> &[Snippet] {
        &self.context
    }

    /// The project's rules for agents that apply to its paths.
    pub fn rules(&self) -> Option<&Snippet> {
        self.rules.as_ref()
    }

    /// What may be told about the chosen snippets.
    pub fn cards(&self) -> impl Iterator<Item = &SnippetCard> {
        self.context.iter().map(|snippet| &snippet.card)
    }

    /// What the run may do.
    pub fn permissions(&self) -> &BTreeSet<Permission> {
        &self.permissions
    }

    /// Which part of the workspace it may touch.
    pub fn paths(&self) -> &[PathScope] {
        &self.paths
    }

    /// The tools it may call, in the order they are offered.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    /// The same contract without a bound on the cost, for a model whose price is not known.
    #[must_use]
    pub fn without_cost(mut self) -> Self {
        self.budget = self.budget.without_cost();
        if let Some(share) = &mut self.share {
            share.cost_usd = None;
        }
        self
    }

    /// Its limits.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Its part of what the parent had left; none for a parent run.
    pub fn share(&self) -> Option<&Share> {
        self.share.as_ref()
    }

    /// Output tokens that one request may ask for at most.
    pub fn output_per_request(&self) -> u64 {
        self.output_per_request
    }

    /// With which model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Sampling temperature, where one is set.
    pub fn temperature(&self) -> Option<f64> {
        self.temperature
    }

    /// What tells this task from others, see [`Contract::check`].
    pub fn fingerprint(&self) -> &Sha {
        &self.fingerprint
    }
}
