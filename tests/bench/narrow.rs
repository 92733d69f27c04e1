//! What it costs to turn a request into a contract, or into a refusal.
//!
//! Run with `cargo bench --bench narrow`.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use std::collections::{BTreeMap, BTreeSet};

use divan::{Bencher, black_box};
use offshoot::domain::budget::Preset;
use offshoot::domain::context_store::{ContextStore, Sensitivity, SnippetKind};
use offshoot::domain::contract::{Contract, Issue};
use offshoot::domain::event::Timestamp;
use offshoot::domain::grant::{Briefer, Endpoint, Grant};
use offshoot::domain::guidance::Guidance;
use offshoot::domain::ids::{RunId, TaskId};
use offshoot::domain::ledger::Ledger;
use offshoot::domain::request::TaskRequest;
use offshoot::domain::role::{Permission, RoleTable};
use offshoot::domain::scope::PathScope;
use offshoot::domain::usage::estimate_tokens;

fn main() {
    divan::main();
}

/// Pinned texts, of a page each, from which the request takes two.
const PINS: usize = 16;

/// What a parent run holds.
struct Host {
    permissions: BTreeSet<Permission>,
    paths: Vec<PathScope>,
    tools: Vec<String>,
    tool_permissions: BTreeMap<String, Permission>,
    store: ContextStore,
    guidance: Guidance,
    secrets: Vec<String>,
    roles: RoleTable,
    endpoint: Endpoint,
    ledger: Ledger,
    account: offshoot::domain::ledger::AccountId,
}

impl Briefer for Host {
    fn first_prompt_tokens(&self, contract: &Contract) -> u64 {
        700 + estimate_tokens(contract.prompt())
    }
}

impl Host {
    fn new() -> Self {
        let (ledger, account) = Ledger::new(Preset::Normal.parent(), Preset::Normal.totals());
        let mut store = ContextStore::default();
        let page = "A line of a page that somebody pinned.\n".repeat(50);
        for number in 0..PINS {
            let key = format!("page{number}");
            store.put(key, SnippetKind::Pin, "pinned", page.clone(), Sensitivity::Normal);
        }
        let tools = ["list_files", "read_file", "search"].map(str::to_owned);
        let mut tool_permissions = BTreeMap::from(tools.clone().map(|t| (t, Permission::Read)));
        tool_permissions.insert("task".to_owned(), Permission::Delegate);
        Self {
            permissions: BTreeSet::from([Permission::Read, Permission::Delegate]),
            paths: vec![PathScope::all()],
            tools: tool_permissions.keys().cloned().collect(),
            tool_permissions,
            store,
            guidance: Guidance::default(),
            secrets: vec!["sk-0123456789abcdef".to_owned(); 4],
            roles: RoleTable::built_in(Preset::Normal),
            endpoint: Endpoint {
                provider: "openai".to_owned(),
                model: "large".to_owned(),
                local: false,
                priced: true,
            },
            ledger,
            account,
        }
    }

    fn grant(&self) -> Grant<'_> {
        Grant {
            run: RunId::parent(1),
            depth: 0,
            max_depth: 1,
            cancelled: false,
            permissions: &self.permissions,
            paths: &self.paths,
            tools: &self.tools,
            tool_permissions: &self.tool_permissions,
            remaining: self.ledger.left_all(self.account),
            totals: Preset::Normal.totals(),
            delegations: 0,
            descendant_turns: 0,
            store: &self.store,
            guidance: &self.guidance,
            secrets: &self.secrets,
            roles: &self.roles,
            endpoint: &self.endpoint,
            ancestors: &[],
            siblings: &[],
            briefer: self,
        }
    }
}

fn request() -> TaskRequest {
    TaskRequest {
        task: "Find the test framework and how it is run. ".repeat(20),
        expected_output: "Its name and where it is configured.".to_owned(),
        context_keys: Some(vec!["page3".to_owned(), "page7".to_owned()]),
        allowed_paths: Some(vec!["src/**".to_owned(), "tests".to_owned()]),
        ..TaskRequest::default()
    }
}

fn issue() -> Issue {
    Issue { task_id: TaskId(1), attempt: 1, issued_at: Timestamp(0) }
}

#[divan::bench]
fn a_contract(bencher: Bencher) {
    let (host, request) = (Host::new(), request());
    Contract::narrow(&host.grant(), &request, issue()).unwrap();
    bencher.bench(|| Contract::narrow(&black_box(host.grant()), black_box(&request), issue()));
}

#[divan::bench]
fn a_refusal_with_many_reasons(bencher: Bencher) {
    let host = Host::new();
    let request = TaskRequest {
        role: Some("wizard".to_owned()),
        permissions: Some(vec!["write".to_owned(), "network".to_owned()]),
        allowed_tools: Some(vec!["bash".to_owned()]),
        allowed_paths: Some(vec!["../other".to_owned()]),
        ..request()
    };
    Contract::narrow(&host.grant(), &request, issue()).unwrap_err();
    bencher.bench(|| Contract::narrow(&black_box(host.grant()), black_box(&request), issue()));
}
