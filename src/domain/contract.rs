//! The contract of one run: immutable, complete, and never wider than what its parent has.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::budget::Budget;
use super::context_store::{Snippet, SnippetCard};
use super::event::{ContractView, Share, Timestamp};
use super::hash::Sha;
use super::ids::{RunId, TaskId};
use super::role::Permission;
use super::scope::PathScope;

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
