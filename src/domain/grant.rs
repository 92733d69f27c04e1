//! What a parent run really has to give, gathered by the runtime. Trusted, unlike the request.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::budget::{PerDimension, Totals};
use super::context_store::ContextStore;
use super::contract::Contract;
use super::guidance::Guidance;
use super::hash::Sha;
use super::ids::RunId;
use super::ledger::Left;
use super::role::{Permission, RoleTable};
use super::scope::PathScope;

/// Who would answer the child, as far as the contract cares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The provider's name.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// True if no byte of a request leaves this machine.
    pub local: bool,
    /// True if a request's cost is known.
    pub priced: bool,
}

/// Knows what a child is told at its start, and with it the size of its first prompt.
pub trait Briefer {
    /// Tokens of the first prompt of a child with this contract, whatever its budget, by estimate.
    fn first_prompt_tokens(&self, contract: &Contract) -> u64;
}

impl fmt::Debug for dyn Briefer + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Briefer")
    }
}

/// What a parent run can give at this moment.
#[derive(Debug, Clone)]
pub struct Grant<'a> {
    /// The parent run.
    pub run: RunId,
    /// Its depth; 0 for the run that answers the user.
    pub depth: u32,
    /// How deep runs may go; 1 lets the parent delegate and no child.
    pub max_depth: u32,
    /// True once the parent was cancelled.
    pub cancelled: bool,
    /// What it may do.
    pub permissions: &'a BTreeSet<Permission>,
    /// Where.
    pub paths: &'a [PathScope],
    /// With which tools.
    pub tools: &'a [String],
    /// The permission that each tool of the host needs.
    pub tool_permissions: &'a BTreeMap<String, Permission>,
    /// What it has left in each dimension.
    pub remaining: PerDimension<Left>,
    /// The bounds on all its descendants together.
    pub totals: Totals,
    /// Delegations already started or queued.
    pub delegations: u32,
    /// Turns that its descendants have already made.
    pub descendant_turns: u64,
    /// What may be chosen as context.
    pub store: &'a ContextStore,
    /// The project's rules for agents, as far as they could concern a child.
    pub guidance: &'a Guidance,
    /// Texts that may never leave, such as API keys.
    pub secrets: &'a [String],
    /// The roles to choose from.
    pub roles: &'a RoleTable,
    /// Who would answer.
    pub endpoint: &'a Endpoint,
    /// The fingerprints of its own task and its ancestors' tasks.
    pub ancestors: &'a [Sha],
    /// The fingerprints of its children that are queued or running.
    pub siblings: &'a [Sha],
    /// Knows what a child is told at its start.
    pub briefer: &'a dyn Briefer,
}
