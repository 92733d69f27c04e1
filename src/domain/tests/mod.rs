//! Table and property tests of the vocabulary, and the host that they narrow contracts under.
#![allow(clippy::unwrap_used, reason = "tests")]

mod allot;
mod arithmetic;
mod context;
mod contract;
mod event;
mod extend;
mod history;
mod ledger;
mod narrow;
mod never_wider;
mod permit;
mod preflight;
mod report;
mod scope;
mod spending;

use std::collections::{BTreeMap, BTreeSet};

use proptest::test_runner::Config;

use super::budget::{PerDimension, Preset, Totals};
use super::context_store::{ContextStore, Sensitivity, SnippetKind};
use super::contract::{Contract, Issue};
use super::event::Timestamp;
use super::grant::{Endpoint, Grant};
use super::guidance::Guidance;
use super::hash::Sha;
use super::ids::{RunId, TaskId};
use super::ledger::{Ledger, Left};
use super::request::TaskRequest;
use super::role::{OUTPUT_PER_REQUEST, Permission, Role, RoleTable};
use super::role_file::RoleSource;
use super::scope::PathScope;
use super::violation::{Code, Refusal};

/// So many random cases, twenty times as many where the environment asks for a soak.
fn cases(number: u32) -> Config {
    let soak = std::env::var("OFFSHOOT_SOAK").is_ok_and(|value| value == "1");
    let cases = if soak { number * 20 } else { number };
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// All that a grant borrows, owned in one place, so that a test changes one thing and narrows.
#[derive(Clone)]
struct Host {
    run: RunId,
    depth: u32,
    max_depth: u32,
    cancelled: bool,
    permissions: BTreeSet<Permission>,
    paths: Vec<PathScope>,
    tools: Vec<String>,
    tool_permissions: BTreeMap<String, Permission>,
    remaining: PerDimension<Left>,
    totals: Totals,
    delegations: u32,
    descendant_turns: u64,
    store: ContextStore,
    secrets: Vec<String>,
    roles: RoleTable,
    endpoint: Endpoint,
    guidance: Guidance,
    ancestors: Vec<Sha>,
    siblings: Vec<Sha>,
    overhead: u64,
}

impl std::fmt::Debug for Host {
    /// What a failing property needs: what the run holds and has left, no snippet and no secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host")
            .field("permissions", &self.permissions)
            .field("tools", &self.tools)
            .field("paths", &self.paths)
            .field("remaining", &self.remaining)
            .field("delegations", &self.delegations)
            .field("endpoint", &(self.endpoint.local, self.endpoint.priced))
            .finish_non_exhaustive()
    }
}

const TOOLS: [(&str, Permission); 9] = [
    ("list_files", Permission::Read),
    ("read_file", Permission::Read),
    ("search", Permission::Read),
    ("note", Permission::Read),
    ("write_file", Permission::Write),
    ("edit_file", Permission::Write),
    ("bash", Permission::Execute),
    ("run_tests", Permission::Test),
    ("task", Permission::Delegate),
];

impl Host {
    /// A parent run of the normal preset that holds everything, with a worker role beside the
    /// built-in ones, a store with one snippet of each sensitivity, and a remote endpoint.
    fn new() -> Self {
        let (ledger, root) = Ledger::new(Preset::Normal.parent(), Preset::Normal.totals());
        let mut store = ContextStore::default();
        store.put_request("Which test framework does this project use?");
        store.put("rules", SnippetKind::Rules, "AGENTS.md", "Keep it small.", Sensitivity::Normal);
        let local = "internal: the build host is called gandalf";
        store.put("local", SnippetKind::Pin, "pinned", local, Sensitivity::LocalOnly);
        store.put("secret", SnippetKind::Pin, "pinned", "hunter2-hunter2\n", Sensitivity::Secret);
        let mut roles = RoleTable::built_in(Preset::Normal);
        roles.insert(worker());
        Self {
            run: RunId::parent(1),
            depth: 0,
            max_depth: 1,
            cancelled: false,
            permissions: BTreeSet::from(Permission::ALL),
            paths: vec![PathScope::all()],
            tools: TOOLS.map(|(name, _)| name.to_owned()).to_vec(),
            tool_permissions: TOOLS.map(|(name, needs)| (name.to_owned(), needs)).into(),
            remaining: ledger.left_all(root),
            totals: Preset::Normal.totals(),
            delegations: 0,
            descendant_turns: 0,
            store,
            secrets: vec!["sk-0123456789abcdef".to_owned()],
            roles,
            endpoint: Endpoint {
                provider: "openai".to_owned(),
                model: "large".to_owned(),
                local: false,
                priced: true,
            },
            guidance: Guidance::default(),
            ancestors: Vec::new(),
            siblings: Vec::new(),
            overhead: 900,
        }
    }

    fn grant(&self) -> Grant<'_> {
        Grant {
            run: self.run.clone(),
            depth: self.depth,
            max_depth: self.max_depth,
            cancelled: self.cancelled,
            permissions: &self.permissions,
            paths: &self.paths,
            tools: &self.tools,
            tool_permissions: &self.tool_permissions,
            remaining: self.remaining,
            totals: self.totals,
            delegations: self.delegations,
            descendant_turns: self.descendant_turns,
            store: &self.store,
            guidance: &self.guidance,
            secrets: &self.secrets,
            roles: &self.roles,
            endpoint: &self.endpoint,
            ancestors: &self.ancestors,
            siblings: &self.siblings,
            child_overhead_tokens: self.overhead,
        }
    }

    fn narrow(&self, request: &TaskRequest) -> Result<Contract, Refusal> {
        Contract::narrow(&self.grant(), request, issue())
    }

    /// The host as the child of this contract sees it, before its first request.
    fn under(&self, contract: &Contract) -> Self {
        let (ledger, root) = Ledger::new(*contract.budget(), self.totals);
        Self {
            run: contract.run().clone(),
            depth: contract.depth(),
            permissions: contract.permissions().clone(),
            paths: contract.paths().to_vec(),
            tools: contract.tools().to_vec(),
            remaining: ledger.left_all(root),
            store: ContextStore::of(contract.context()),
            ..self.clone()
        }
    }
}

fn worker() -> Role {
    let tools = ["list_files", "read_file", "search", "write_file", "edit_file", "bash"];
    Role {
        name: "worker".to_owned(),
        description: "changes things".to_owned(),
        prompt: "You change things.".to_owned(),
        permissions: BTreeSet::from([
            Permission::Read,
            Permission::Write,
            Permission::Test,
            Permission::Execute,
        ]),
        tools: tools.map(str::to_owned).to_vec(),
        budget: Preset::Normal.child(),
        output_per_request: OUTPUT_PER_REQUEST,
        models: vec!["small".to_owned()],
        model: None,
        report_fields: Vec::new(),
        source: RoleSource::BuiltIn,
    }
}

fn issue() -> Issue {
    Issue { task_id: TaskId(3), attempt: 1, issued_at: Timestamp(1_767_225_600_000) }
}

fn request() -> TaskRequest {
    TaskRequest {
        task: "Find the test framework.".to_owned(),
        expected_output: "Its name and where it is configured.".to_owned(),
        ..TaskRequest::default()
    }
}

#[expect(clippy::unnecessary_wraps, reason = "the fields it fills are optional")]
fn strings(items: &[&str]) -> Option<Vec<String>> {
    Some(items.iter().map(|item| (*item).to_owned()).collect())
}

/// The code and field of every violation, in order.
fn broken(refusal: &Refusal) -> Vec<(Code, &str)> {
    refusal.violations().map(|violation| (violation.code, violation.field.as_str())).collect()
}
