//! From a request to a contract: the checks of the delegation contract, in their order.
//!
//! Pure: no I/O, no clock. Every check runs, so that a refusal names all that is wrong at once. The
//! arithmetic of the ninth check is in `allot`.

use std::collections::BTreeSet;

use super::allot::{self, Allotment};
use super::budget::Budget;
use super::choose::{
    Child, MAX_ITEMS, TASK_TOOL, choose_context, choose_paths, choose_permissions, choose_tools,
    names,
};
use super::context_store::{Entry, Snippet};
use super::contract::{Contract, Issue};
use super::fingerprint::fingerprint;
use super::grant::Grant;
use super::hash::Sha;
use super::ids::RunId;
use super::request::TaskRequest;
use super::role::{Permission, Role};
use super::scope::PathScope;
use super::secrecy::Secrecy;
use super::usage::estimate_tokens;
use super::violation::{Code, Refusal, Violation};

/// Bytes that `task` and `expected_output` may have each.
pub const MAX_TASK_BYTES: usize = 16 * 1024;

/// Bytes that each other text of a request may have.
pub const MAX_TEXT_BYTES: usize = 4 * 1024;

/// Checks 1 to 8; see [`Contract::check`].
pub(super) fn check(grant: &Grant<'_>, request: &TaskRequest) -> Result<Sha, Refusal> {
    let mut draft = Draft::new(grant, request);
    let mut violations = std::mem::take(&mut draft.violations);
    if !violations.is_empty() {
        violations.extend(draft.allot(grant, request, None).err().into_iter().flatten());
    }
    match Refusal::from_all(violations) {
        Some(refusal) => Err(refusal),
        None => Ok(draft.fingerprint),
    }
}

/// All nine checks; see [`Contract::narrow`]. Nothing that comes of them is above the ceiling.
pub(super) fn narrow(
    grant: &Grant<'_>,
    request: &TaskRequest,
    issue: Issue,
    ceiling: Option<&Budget>,
) -> Result<Contract, Refusal> {
    let mut draft = Draft::new(grant, request);
    let mut violations = std::mem::take(&mut draft.violations);
    if !violations.is_empty() {
        violations.extend(draft.allot(grant, request, ceiling).err().into_iter().flatten());
    }
    match (Refusal::from_all(violations), draft.role) {
        (Some(refusal), _) => Err(refusal),
        (None, Some(role)) => {
            let contract = issued(grant, request, issue, draft, role);
            with_budget(grant, request, contract, role, ceiling)
        }
        (None, None) => Err(flawed()),
    }
}

/// The ninth check, with the first prompt that the child would really begin with.
fn with_budget(
    grant: &Grant<'_>,
    request: &TaskRequest,
    contract: Contract,
    role: &Role,
    ceiling: Option<&Budget>,
) -> Result<Contract, Refusal> {
    let first_prompt = grant.briefer.first_prompt_tokens(&contract);
    let asked = request.budget.unwrap_or_default();
    match allot::allot(grant, asked, Some(role), first_prompt, ceiling) {
        Ok(Allotment { budget, share }) => Ok(Contract { budget, share: Some(share), ..contract }),
        Err(violations) => Err(Refusal::from_all(violations).unwrap_or_else(flawed)),
    }
}

fn flawed() -> Refusal {
    Refusal::because(Violation::new(
        Code::Internal,
        "",
        "the request passed its checks without a role or a budget; report this as a bug",
    ))
}

/// What a request comes to once everything it names is looked up, with all that is wrong.
struct Draft<'a> {
    role: Option<&'a Role>,
    context: Vec<&'a Entry>,
    permissions: BTreeSet<Permission>,
    tools: Vec<String>,
    paths: Vec<PathScope>,
    rules: Option<Snippet>,
    fingerprint: Sha,
    violations: Vec<Violation>,
}

impl<'a> Draft<'a> {
    fn new(grant: &Grant<'a>, request: &TaskRequest) -> Self {
        let secrecy = Secrecy::new(grant);
        let child = Child::new(grant, role_name(request));
        let mut later = Vec::new();
        require_depth_and_count(grant, &mut later);
        require_role_and_model(grant, request, &child, &secrecy, &mut later);
        let context = choose_context(grant, request, &secrecy, &mut later);
        secrecy.require_clean(request, &context, &mut later);
        let permissions = choose_permissions(grant, request, &child, &secrecy, &mut later);
        let tools = choose_tools(grant, request, &child, &permissions, &secrecy, &mut later);
        let paths = choose_paths(grant, request, &secrecy, &mut later);
        let rules = grant.guidance.for_paths(&paths);
        let hashes = context.iter().map(|entry| &entry.snippet.card.sha256);
        let (task, output) = (&request.task, &request.expected_output);
        let fingerprint = fingerprint(task, output, role_name(request), hashes, &paths);

        let mut violations = Vec::new();
        require_not_cancelled(grant, &mut violations);
        require_texts(request, &mut violations);
        require_new(grant, &fingerprint, &mut violations);
        violations.append(&mut later);
        let role = child.role;
        Self { role, context, permissions, tools, paths, rules, fingerprint, violations }
    }

    /// What is wrong with the budget of a request that is refused for something else. There is no
    /// contract then, so that the first prompt is at least what the request puts into it.
    fn allot(
        &self,
        grant: &Grant<'_>,
        request: &TaskRequest,
        ceiling: Option<&Budget>,
    ) -> Result<Allotment, Vec<Violation>> {
        let texts = [Some(&request.task), Some(&request.expected_output)]
            .into_iter()
            .chain([request.done_when.as_ref(), request.must_not.as_ref()])
            .flatten();
        let words: u64 = texts.map(|text| estimate_tokens(text)).sum();
        let chosen = self.context.iter().map(|entry| &entry.snippet);
        let snippets: u64 =
            chosen.chain(&self.rules).map(|snippet| estimate_tokens(&snippet.text)).sum();
        let asked = request.budget.unwrap_or_default();
        allot::allot(grant, asked, self.role, words + snippets, ceiling)
    }
}

fn role_name(request: &TaskRequest) -> &str {
    request.role_name()
}

/// An optional text, left out if blank: models often write `""` for "nothing".
fn written(text: Option<&String>) -> Option<&str> {
    text.map(String::as_str).filter(|text| !text.trim().is_empty())
}

fn require_not_cancelled(grant: &Grant<'_>, violations: &mut Vec<Violation>) {
    if grant.cancelled {
        let message = format!("{} was cancelled, nothing can be started under it", grant.run);
        violations.push(Violation::new(Code::Cancelled, "", message));
    }
}

/// True if there is nothing in it that anybody could see.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        c.is_whitespace()
            || c.is_control()
            || matches!(c,
                '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}')
    })
}

fn require_texts(request: &TaskRequest, violations: &mut Vec<Violation>) {
    let mut bad = |field: &str, message: String| {
        violations.push(Violation::new(Code::InvalidTask, field, message));
    };
    let required = [("task", &request.task), ("expected_output", &request.expected_output)];
    for (field, text) in required {
        if is_blank(text) {
            bad(field, format!("{field} is required and may not be blank"));
        } else if text.len() > MAX_TASK_BYTES {
            bad(field, too_long(field, text.len(), MAX_TASK_BYTES));
        }
    }
    let optional = [
        ("description", &request.description),
        ("done_when", &request.done_when),
        ("must_not", &request.must_not),
    ];
    for (field, text) in optional {
        let bytes = text.as_ref().map_or(0, String::len);
        if bytes > MAX_TEXT_BYTES {
            bad(field, too_long(field, bytes, MAX_TEXT_BYTES));
        }
    }
    let lists = [
        ("context_keys", &request.context_keys),
        ("permissions", &request.permissions),
        ("allowed_paths", &request.allowed_paths),
        ("allowed_tools", &request.allowed_tools),
    ];
    for (field, list) in lists {
        let items = list.as_ref().map_or(0, Vec::len);
        if items > MAX_ITEMS {
            bad(field, format!("{field} has {items} items, at most {MAX_ITEMS} are taken"));
        }
    }
}

fn too_long(field: &str, bytes: usize, most: usize) -> String {
    format!("{field} has {bytes} bytes, at most {most} are taken; put data into a context snippet")
}

fn require_new(grant: &Grant<'_>, fingerprint: &Sha, violations: &mut Vec<Violation>) {
    let mut same = |whose: &str| {
        let message = format!("this is the same task as {whose}; use its result, or ask for less");
        violations.push(Violation::new(Code::DuplicateTask, "task", message));
    };
    if grant.ancestors.contains(fingerprint) {
        same("the one that this run or one above it works on");
    }
    if grant.siblings.contains(fingerprint) {
        same("one that is queued or running");
    }
}

fn require_depth_and_count(grant: &Grant<'_>, violations: &mut Vec<Violation>) {
    if grant.depth >= grant.max_depth {
        let message = format!(
            "{} > {TASK_TOOL}: this run is at depth {}, delegations may go {} deep; \
             do it yourself with: {}",
            grant.run,
            grant.depth,
            grant.max_depth,
            names(grant.tools.iter().map(String::as_str).filter(|tool| *tool != TASK_TOOL)),
        );
        violations.push(Violation::new(Code::DepthExceeded, "", message));
    }
    let mut used_up = |what: String| {
        let message = format!("{what}; go on without another child");
        violations.push(Violation::new(Code::DelegationLimit, "", message));
    };
    if grant.delegations >= grant.totals.delegations {
        used_up(format!("all {} delegations of this run are used", grant.totals.delegations));
    }
    if grant.descendant_turns >= grant.totals.turns {
        used_up(format!("all {} turns of this run's children are used", grant.totals.turns));
    }
}

fn require_role_and_model(
    grant: &Grant<'_>,
    request: &TaskRequest,
    child: &Child<'_>,
    secrecy: &Secrecy<'_>,
    violations: &mut Vec<Violation>,
) {
    let Some(role) = child.role else {
        let message = format!(
            "there is no role {}; there are: {}",
            secrecy.quote(role_name(request)),
            names(grant.roles.iter().map(|role| role.name.as_str())),
        );
        violations.push(Violation::new(Code::InvalidTask, "role", message));
        return;
    };
    let Some(model) = written(request.model.as_ref()) else { return };
    // A role without models of its own runs on its parent's.
    let own = std::iter::once(grant.endpoint.model.as_str()).filter(|_| role.models.is_empty());
    let allowed: Vec<&str> = own.chain(role.models.iter().map(String::as_str)).collect();
    if !allowed.contains(&model) {
        let message = format!(
            "role {} does not run on {}, only on: {}",
            role.name,
            secrecy.quote(model),
            names(allowed.into_iter()),
        );
        violations.push(Violation::new(Code::InvalidTask, "model", message));
    }
}

/// The contract, with the role's own budget.
fn issued(
    grant: &Grant<'_>,
    request: &TaskRequest,
    issue: Issue,
    draft: Draft<'_>,
    role: &Role,
) -> Contract {
    let text = |text: &Option<String>| written(text.as_ref()).map(str::to_owned);
    Contract {
        task_id: Some(issue.task_id),
        attempt: issue.attempt,
        parent_run: Some(grant.run.clone()),
        run: RunId::child(issue.task_id, issue.attempt),
        depth: grant.depth + 1,
        role: role.name.clone(),
        description: request.title(),
        prompt: request.task.clone(),
        expected_output: request.expected_output.clone(),
        done_when: text(&request.done_when),
        must_not: text(&request.must_not),
        context: draft.context.iter().map(|entry| Snippet::clone(&entry.snippet)).collect(),
        rules: draft.rules,
        permissions: draft.permissions,
        paths: draft.paths,
        tools: draft.tools,
        budget: role.budget,
        share: None,
        output_per_request: role.output_per_request,
        provider: grant.endpoint.provider.clone(),
        model: text(&request.model)
            .or_else(|| role.model.clone())
            .unwrap_or_else(|| grant.endpoint.model.clone()),
        temperature: None,
        fingerprint: draft.fingerprint,
        issued_at: issue.issued_at,
    }
}
