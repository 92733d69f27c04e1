//! What a child gets of what its parent and its role both have: context, permissions, tools and
//! paths, with a violation for each item that was asked for and is not held.
//!
//! What is left out of a request is filled with all that is held; what is asked for is never
//! replaced by something else.

use std::collections::BTreeSet;

use super::context_store::{Entry, Sensitivity};
use super::grant::Grant;
use super::request::TaskRequest;
use super::role::{Permission, Role};
use super::scope::{self, PathScope};
use super::secrecy::Secrecy;
use super::violation::{Code, Violation};

/// Items that each list of a request may have.
pub const MAX_ITEMS: usize = 100;

/// The tool that delegates: held by every role above the floor, by none at it.
pub const TASK_TOOL: &str = "task";

/// Tools that are about the conversation with the user, and so no child's.
pub const PARENT_TOOLS: [&str; 2] = ["note", "todo"];

/// What a role may give to a child at its depth.
pub(super) struct Child<'a> {
    pub(super) role: Option<&'a Role>,
    permissions: BTreeSet<Permission>,
    tools: Vec<&'a str>,
}

impl<'a> Child<'a> {
    /// An unknown role is reported once, by its own check; here it stands aside and leaves the
    /// parent's grant as the only bound.
    pub(super) fn new(grant: &Grant<'a>, role: &str) -> Self {
        let role = grant.roles.get(role);
        let mut permissions =
            role.map_or_else(|| grant.permissions.clone(), |role| role.permissions.clone());
        let all = role.map_or(grant.tools, |role| &role.tools);
        let childs = |tool: &&str| *tool != TASK_TOOL && !PARENT_TOOLS.contains(tool);
        let mut tools: Vec<&str> = all.iter().map(String::as_str).filter(childs).collect();
        if grant.depth.saturating_add(1) < grant.max_depth {
            permissions.insert(Permission::Delegate);
            tools.push(TASK_TOOL);
        } else {
            permissions.remove(&Permission::Delegate);
        }
        Self { role, permissions, tools }
    }
}

pub(super) fn choose_context<'a>(
    grant: &Grant<'a>,
    request: &TaskRequest,
    secrecy: &Secrecy<'_>,
    violations: &mut Vec<Violation>,
) -> Vec<&'a Entry> {
    let mut chosen = Vec::new();
    for key in distinct(request.context_keys.as_ref()) {
        let refused = match grant.store.get(key) {
            None => Some((Code::ContextNotFound, "does not exist; choose from the listed keys")),
            Some(Entry { sensitivity: Sensitivity::Secret, .. }) => {
                Some((Code::ContextForbidden, "is secret and is given to no child"))
            }
            Some(Entry { sensitivity: Sensitivity::LocalOnly, .. }) if !grant.endpoint.local => {
                let why = "may not leave this machine, and the child's provider is elsewhere";
                Some((Code::ContextForbidden, why))
            }
            Some(entry) => {
                chosen.push(entry);
                None
            }
        };
        if let Some((code, why)) = refused {
            let message = format!("context key {} {why}", secrecy.quote(key));
            violations.push(Violation::new(code, "context_keys", message));
        }
    }
    chosen
}

pub(super) fn choose_permissions(
    grant: &Grant<'_>,
    request: &TaskRequest,
    child: &Child<'_>,
    secrecy: &Secrecy<'_>,
    violations: &mut Vec<Violation>,
) -> BTreeSet<Permission> {
    let held: BTreeSet<Permission> =
        grant.permissions.intersection(&child.permissions).copied().collect();
    if request.permissions.is_none() {
        return held;
    }
    let mut chosen = BTreeSet::new();
    for name in distinct(request.permissions.as_ref()) {
        let why = match Permission::from_name(name) {
            Some(permission) if held.contains(&permission) => {
                chosen.insert(permission);
                continue;
            }
            Some(permission) if !grant.permissions.contains(&permission) => {
                "is not held by the parent"
            }
            Some(_) => "is not held by the role at this depth",
            None => "does not exist",
        };
        let message = format!(
            "permission {} {why}; it may ask for: {}",
            secrecy.quote(name),
            names(held.iter().map(|permission| permission.name())),
        );
        violations.push(Violation::new(Code::PermissionEscalation, "permissions", message));
    }
    chosen
}

pub(super) fn choose_tools(
    grant: &Grant<'_>,
    request: &TaskRequest,
    child: &Child<'_>,
    permissions: &BTreeSet<Permission>,
    secrecy: &Secrecy<'_>,
    violations: &mut Vec<Violation>,
) -> Vec<String> {
    let refusal = |tool: &str| -> Option<&'static str> {
        if !grant.tools.iter().any(|held| held == tool) {
            return Some("is not held by the parent");
        }
        if !child.tools.contains(&tool) {
            return Some("is not held by the role at this depth");
        }
        // A tool that the host says nothing about is not handed on.
        let needed = grant.tool_permissions.get(tool).copied();
        let held = needed.is_some_and(|permission| permissions.contains(&permission));
        (!held).then_some("needs a permission that the child does not get")
    };
    let usable: Vec<&str> =
        child.tools.iter().copied().filter(|tool| refusal(tool).is_none()).collect();
    let Some(asked) = request.allowed_tools.as_ref() else {
        return usable.into_iter().map(str::to_owned).collect();
    };
    let asked = distinct(Some(asked));
    for tool in &asked {
        if let Some(why) = refusal(tool) {
            let can = names(usable.iter().copied());
            let message = format!("tool {} {why}; it may ask for: {can}", secrecy.quote(tool));
            violations.push(Violation::new(Code::ToolEscalation, "allowed_tools", message));
        }
    }
    // In the role's order, so that the same tools always make the same prompt.
    usable.into_iter().filter(|tool| asked.contains(tool)).map(str::to_owned).collect()
}

pub(super) fn choose_paths(
    grant: &Grant<'_>,
    request: &TaskRequest,
    secrecy: &Secrecy<'_>,
    violations: &mut Vec<Violation>,
) -> Vec<PathScope> {
    if request.allowed_paths.is_none() {
        return grant.paths.to_vec();
    }
    let mut chosen = Vec::new();
    for text in distinct(request.allowed_paths.as_ref()) {
        let why = match PathScope::parse(text) {
            Ok(wanted) if grant.paths.iter().any(|held| held.contains(&wanted)) => {
                if !chosen.contains(&wanted) {
                    chosen.push(wanted);
                }
                continue;
            }
            Ok(wanted)
                if wanted.is_absolute() && !grant.paths.iter().any(PathScope::is_absolute) =>
            {
                "is absolute, scopes are relative to the workspace".to_owned()
            }
            Ok(_) => "is outside the parent's paths".to_owned(),
            Err(error) => error.reason().to_owned(),
        };
        let message = format!(
            "path {} {why}; it may ask for paths in: {}",
            secrecy.quote(text),
            scope::in_words(grant.paths),
        );
        violations.push(Violation::new(Code::PathEscalation, "allowed_paths", message));
    }
    chosen
}

/// The items of a list, each once, in the order they were written, as far as a list may go.
fn distinct(list: Option<&Vec<String>>) -> Vec<&str> {
    let mut seen = BTreeSet::new();
    let items = list.map(Vec::as_slice).unwrap_or_default();
    items.iter().take(MAX_ITEMS).map(String::as_str).filter(|item| seen.insert(*item)).collect()
}

/// Names as a list for a message.
pub(super) fn names<'a>(items: impl Iterator<Item = &'a str>) -> String {
    let items: Vec<&str> = items.collect();
    if items.is_empty() { "(nothing)".to_owned() } else { items.join(", ") }
}
