//! What a request may not ask for, one table row per rule, and what a refusal says.

use super::allot::{ask, with_limit};
use super::*;
use crate::domain::budget::Dimension;
use crate::domain::choose::MAX_ITEMS;
use crate::domain::fingerprint::fingerprint;
use crate::domain::narrow::{MAX_TASK_BYTES, MAX_TEXT_BYTES};
use crate::domain::scope::in_words;

type Change = fn(&mut Host, &mut TaskRequest);

fn refusal_of(change: Change) -> Refusal {
    let (mut host, mut request) = (Host::new(), request());
    change(&mut host, &mut request);
    host.narrow(&request).unwrap_err()
}

#[test]
fn a_snippet_that_was_not_chosen_is_not_in_the_serialised_contract() {
    let host = Host::new();
    let request = TaskRequest { context_keys: strings(&["rules"]), ..request() };
    let json = host.narrow(&request).unwrap().to_json();
    for entry in host.store.iter() {
        let (card, chosen) = (&entry.snippet.card, entry.snippet.card.key == "rules");
        assert_eq!(json.contains(entry.snippet.text.trim()), chosen, "{}", card.key);
        assert_eq!(json.contains(card.sha256.as_str()), chosen, "{}", card.key);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table, one row per rule")]
fn each_broken_rule_is_refused_with_its_code_and_field() {
    let rows: &[(&str, Change, Code, &str)] = &[
        ("cancelled", |h, _| h.cancelled = true, Code::Cancelled, ""),
        ("no task", |_, r| r.task = " \n".into(), Code::InvalidTask, "task"),
        ("long task", |_, r| r.task = "x".repeat(MAX_TASK_BYTES + 1), Code::InvalidTask, "task"),
        (
            "no output",
            |_, r| r.expected_output = String::new(),
            Code::InvalidTask,
            "expected_output",
        ),
        (
            "long condition",
            |_, r| r.done_when = Some("x".repeat(MAX_TEXT_BYTES + 1)),
            Code::InvalidTask,
            "done_when",
        ),
        (
            "long list",
            |_, r| r.allowed_tools = Some(vec!["search".to_owned(); MAX_ITEMS + 1]),
            Code::InvalidTask,
            "allowed_tools",
        ),
        (
            "a sibling's task",
            |h, r| h.siblings = vec![Contract::check(&h.grant(), r).unwrap()],
            Code::DuplicateTask,
            "task",
        ),
        (
            "an ancestor's task",
            |h, r| h.ancestors = vec![Contract::check(&h.grant(), r).unwrap()],
            Code::DuplicateTask,
            "task",
        ),
        ("too deep", |h, _| h.depth = 1, Code::DepthExceeded, ""),
        ("too many", |h, _| h.delegations = 8, Code::DelegationLimit, ""),
        ("no turns left", |h, _| h.descendant_turns = 200, Code::DelegationLimit, ""),
        ("unknown role", |_, r| r.role = Some("wizard".into()), Code::InvalidTask, "role"),
        ("unknown model", |_, r| r.model = Some("huge".into()), Code::InvalidTask, "model"),
        (
            "unknown context",
            |_, r| r.context_keys = strings(&["rules", "nope"]),
            Code::ContextNotFound,
            "context_keys",
        ),
        (
            "secret context",
            |_, r| r.context_keys = strings(&["secret"]),
            Code::ContextForbidden,
            "context_keys",
        ),
        (
            "local context for a remote child",
            |_, r| r.context_keys = strings(&["local"]),
            Code::ContextForbidden,
            "context_keys",
        ),
        (
            "secret in the task",
            |_, r| r.task = "Log in with hunter2-hunter2, please.".into(),
            Code::ContextForbidden,
            "task",
        ),
        (
            "key in must_not",
            |_, r| r.must_not = Some("print sk-0123456789abcdef".into()),
            Code::ContextForbidden,
            "must_not",
        ),
        (
            "local text for a remote child",
            |_, r| r.description = Some("internal: the build host is called gandalf".into()),
            Code::ContextForbidden,
            "description",
        ),
        (
            "unknown permission",
            |_, r| r.permissions = strings(&["read", "root"]),
            Code::PermissionEscalation,
            "permissions",
        ),
        (
            "permission beyond the role",
            |_, r| r.permissions = strings(&["write"]),
            Code::PermissionEscalation,
            "permissions",
        ),
        (
            "permission beyond the parent",
            |h, r| {
                h.permissions.remove(&Permission::Read);
                r.permissions = strings(&["read"]);
            },
            Code::PermissionEscalation,
            "permissions",
        ),
        (
            "delegate at the floor",
            |_, r| r.permissions = strings(&["delegate"]),
            Code::PermissionEscalation,
            "permissions",
        ),
        (
            "tool beyond the role",
            |_, r| r.allowed_tools = strings(&["search", "bash"]),
            Code::ToolEscalation,
            "allowed_tools",
        ),
        (
            "tool beyond the parent",
            |h, r| {
                h.tools.retain(|tool| tool != "search");
                r.allowed_tools = strings(&["search"]);
            },
            Code::ToolEscalation,
            "allowed_tools",
        ),
        (
            "tool without its permission",
            |_, r| {
                r.role = Some("worker".into());
                r.permissions = strings(&["read"]);
                r.allowed_tools = strings(&["write_file"]);
            },
            Code::ToolEscalation,
            "allowed_tools",
        ),
        (
            "task at the floor",
            |_, r| r.allowed_tools = strings(&["task"]),
            Code::ToolEscalation,
            "allowed_tools",
        ),
        (
            "absolute path",
            |_, r| r.allowed_paths = strings(&["/etc"]),
            Code::PathEscalation,
            "allowed_paths",
        ),
        (
            "upward path",
            |_, r| r.allowed_paths = strings(&["src/../.."]),
            Code::PathEscalation,
            "allowed_paths",
        ),
        (
            "a sibling folder with the same beginning",
            |h, r| {
                h.paths = vec![PathScope::parse("src").unwrap()];
                r.allowed_paths = strings(&["src2"]);
            },
            Code::PathEscalation,
            "allowed_paths",
        ),
        (
            "a glob",
            |_, r| r.allowed_paths = strings(&["src/*.rs"]),
            Code::PathEscalation,
            "allowed_paths",
        ),
    ];
    for (name, change, code, field) in rows {
        let refusal = refusal_of(*change);
        assert_eq!(broken(&refusal), [(*code, *field)], "{name}: {refusal}");
    }
}

#[test]
fn everything_wrong_at_once_is_listed_in_the_order_of_the_checks() {
    let mut host = Host::new();
    host.cancelled = true;
    host.depth = 1;
    host.delegations = 99;
    let request = TaskRequest {
        task: String::new(),
        role: Some("wizard".into()),
        context_keys: strings(&["nope", "secret"]),
        permissions: strings(&["root"]),
        allowed_tools: strings(&["rm"]),
        allowed_paths: strings(&["/"]),
        must_not: Some("hunter2-hunter2".into()),
        budget: ask(|b| (b.turns, b.cost_usd) = (Some(0.0), Some(-1.0))),
        ..request()
    };
    let codes: Vec<Code> =
        host.narrow(&request).unwrap_err().violations().map(|violation| violation.code).collect();
    assert_eq!(
        codes,
        [
            Code::Cancelled,
            Code::InvalidTask,
            Code::DepthExceeded,
            Code::DelegationLimit,
            Code::InvalidTask,
            Code::ContextNotFound,
            Code::ContextForbidden,
            Code::ContextForbidden,
            Code::PermissionEscalation,
            Code::ToolEscalation,
            Code::PathEscalation,
            Code::InvalidBudget,
            Code::InvalidBudget,
        ]
    );
}

#[test]
fn a_read_only_parent_that_asks_for_a_wider_child_hears_of_each_refused_item() {
    let mut host = Host::new();
    host.permissions = BTreeSet::from([Permission::Read, Permission::Delegate]);
    host.tools = ["read_file", "list_files", "task"].map(str::to_owned).to_vec();
    host.paths = vec![PathScope::parse("src").unwrap()];
    let request = TaskRequest {
        allowed_tools: strings(&["read_file", "write_file", "bash"]),
        allowed_paths: strings(&["/", "src"]),
        budget: ask(|b| (b.turns, b.cost_usd) = (Some(9_999.0), Some(1_000.0))),
        ..request()
    };
    let refused_early = Contract::check(&host.grant(), &request).unwrap_err();
    assert_eq!(refused_early, host.narrow(&request).unwrap_err());
    let messages: Vec<String> =
        refused_early.violations().map(|violation| violation.message.clone()).collect();
    let named = ["`write_file`", "`bash`", "`/`", "turns", "cost"];
    assert_eq!(messages.len(), named.len(), "{messages:?}");
    for (message, name) in messages.iter().zip(named) {
        assert!(message.contains(name), "{name} is not named in: {message}");
    }
}

#[test]
fn a_budget_alone_is_refused_at_the_start_and_not_in_the_batch() {
    let host = Host::new();
    let request = with_limit(Dimension::Turns, 9_999.0);
    assert!(Contract::check(&host.grant(), &request).is_ok());
    assert_eq!(host.narrow(&request).unwrap_err().first().code, Code::InvalidBudget);
}

#[test]
fn an_unknown_role_names_the_roles_there_are() {
    let mut host = Host::new();
    host.roles = RoleTable::built_in(Preset::Normal);
    let request = TaskRequest { role: Some("wizard".into()), ..request() };
    let message = host.narrow(&request).unwrap_err().first().message.clone();
    assert!(message.contains("researcher") && message.contains("planner"), "{message}");
}

#[test]
fn at_the_floor_a_refusal_names_the_path_and_the_tools_that_may_be_used() {
    let mut host = Host::new();
    host.depth = 1;
    host.run = RunId::child(TaskId(3), 1);
    host.tools = ["list_files", "read_file"].map(str::to_owned).to_vec();
    let message = host.narrow(&request()).unwrap_err().first().message.clone();
    assert!(message.contains("t3.1 > task"), "{message}");
    assert!(message.contains("list_files, read_file"), "{message}");
}

#[test]
fn no_refusal_repeats_a_secret_or_a_snippet() {
    let host = Host::new();
    let secrets = ["hunter2-hunter2", "sk-0123456789abcdef", "Keep it small."];
    for secret in secrets {
        let inside = [format!("x{secret}y"), secret.to_owned()];
        let request = TaskRequest {
            task: format!("a {secret} b"),
            role: Some(secret.to_owned()),
            model: Some(secret.to_owned()),
            context_keys: Some(inside.to_vec()),
            permissions: Some(inside.to_vec()),
            allowed_tools: Some(inside.to_vec()),
            allowed_paths: Some(vec![format!("/{secret}"), format!("../{secret}")]),
            ..request()
        };
        let refusal = host.narrow(&request).unwrap_err();
        assert!(refusal.violations().count() > 8);
        let found = refusal.violations().filter(|v| v.message.contains(secret)).count();
        assert_eq!(found, 0, "a refusal holds the value with hash {}", Sha::of(secret));
    }
}

#[test]
fn a_snippet_that_holds_a_secret_is_not_given_away_either() {
    let mut host = Host::new();
    let text = "the password is hunter2-hunter2";
    host.store.put("plain", SnippetKind::Note, "the model", text, Sensitivity::Normal);
    let request = TaskRequest { context_keys: strings(&["plain"]), ..request() };
    let refusal = host.narrow(&request).unwrap_err();
    assert_eq!(broken(&refusal), [(Code::ContextForbidden, "context_keys")]);
    assert!(!refusal.to_string().contains("hunter2"));
}

#[test]
fn a_local_snippet_may_go_to_a_local_child() {
    let mut host = Host::new();
    host.endpoint.local = true;
    let request = TaskRequest { context_keys: strings(&["local"]), ..request() };
    assert_eq!(host.narrow(&request).unwrap().context().len(), 1);
}

#[test]
fn a_local_snippet_is_not_handed_on_to_a_remote_grandchild() {
    let mut host = Host::new();
    host.max_depth = 2;
    host.endpoint.local = true;
    let request = TaskRequest { context_keys: strings(&["local", "rules"]), ..request() };
    let issued = host.narrow(&request).unwrap();
    let mut child = host.under(&Contract::from_json(&issued.to_json()).unwrap());
    assert!(child.narrow(&request).is_ok());
    child.endpoint.local = false;
    let refusal = child.narrow(&request).unwrap_err();
    assert_eq!(broken(&refusal), [(Code::ContextForbidden, "context_keys")]);
}

#[test]
fn a_short_secret_does_not_forbid_honest_words() {
    let mut host = Host::new();
    host.secrets = vec!["test".to_owned(), "  ".to_owned(), String::new()];
    assert!(host.narrow(&request()).is_ok());
}

#[test]
fn repeated_items_collapse_and_order_is_stable() {
    let host = Host::new();
    let request = TaskRequest {
        context_keys: strings(&["rules", "request", "rules"]),
        allowed_tools: strings(&["search", "list_files", "search"]),
        allowed_paths: strings(&["src", "docs", "./src/**"]),
        permissions: strings(&["read", "read"]),
        ..request()
    };
    let contract = host.narrow(&request).unwrap();
    let keys: Vec<&str> = contract.cards().map(|card| card.key.as_str()).collect();
    assert_eq!(keys, ["rules", "request"]);
    assert_eq!(contract.tools(), ["list_files", "search"]);
    assert_eq!(in_words(contract.paths()), "src, docs");
}

#[test]
fn an_empty_list_asks_for_nothing_and_a_blank_text_is_left_out() {
    let host = Host::new();
    let request = TaskRequest {
        role: Some(String::new()),
        model: Some(" ".into()),
        done_when: Some(String::new()),
        allowed_tools: strings(&[]),
        allowed_paths: strings(&[]),
        permissions: strings(&[]),
        ..request()
    };
    let contract = host.narrow(&request).unwrap();
    assert_eq!(contract.role(), "researcher");
    assert_eq!(contract.model(), "large");
    assert_eq!(contract.done_when(), None);
    assert!(contract.tools().is_empty() && contract.paths().is_empty());
    assert!(contract.permissions().is_empty());
}

#[test]
fn every_role_can_delegate_above_the_floor_and_none_at_it() {
    let mut host = Host::new();
    host.max_depth = 3;
    for depth in 0..3 {
        host.depth = depth;
        let contract = host.narrow(&request()).unwrap();
        let above_the_floor = depth + 1 < 3;
        assert_eq!(contract.permissions().contains(&Permission::Delegate), above_the_floor);
        assert_eq!(contract.tools().iter().any(|tool| tool == "task"), above_the_floor);
        assert_eq!(contract.depth(), depth + 1);
    }
    host.depth = u32::MAX;
    assert_eq!(host.narrow(&request()).unwrap_err().first().code, Code::DepthExceeded);
}

#[test]
fn a_model_of_the_role_may_be_chosen() {
    let host = Host::new();
    let request =
        TaskRequest { role: Some("worker".into()), model: Some("small".into()), ..request() };
    assert_eq!(host.narrow(&request).unwrap().model(), "small");
}

#[test]
fn a_part_of_an_added_folder_is_given_and_nothing_beside_it() {
    let mut host = Host::new();
    host.paths = vec![PathScope::all(), PathScope::parse("/srv/data").unwrap()];
    let asking =
        |path: &str| TaskRequest { allowed_paths: Some(vec![path.to_owned()]), ..request() };
    let contract = host.narrow(&asking("/srv/data/**")).unwrap();
    assert_eq!(in_words(contract.paths()), "/srv/data");
    let part = host.narrow(&asking("/srv/data/a/b")).unwrap();
    assert_eq!(in_words(Contract::from_json(&part.to_json()).unwrap().paths()), "/srv/data/a/b");
    for elsewhere in ["/srv", "/srv/database", "/etc/passwd", "/", "/srv/data/../x"] {
        let refusal = host.narrow(&asking(elsewhere)).unwrap_err();
        let violation = refusal.violations().next().unwrap();
        assert_eq!(violation.code, Code::PathEscalation, "{elsewhere}");
        assert_eq!(violation.field, "allowed_paths");
        let ending = "it may ask for paths in: ., /srv/data";
        assert!(violation.message.ends_with(ending), "{}", violation.message);
    }
}

#[test]
fn the_same_task_in_other_spacing_or_order_has_the_same_fingerprint() {
    let (a, b) = (Sha::of("a"), Sha::of("b"));
    let (src, docs) = (PathScope::parse("src").unwrap(), PathScope::parse("docs/**").unwrap());
    let one = fingerprint("find  it\n", "x", "planner", [&a, &b], &[src.clone(), docs.clone()]);
    let two = fingerprint("find it", " x ", "planner", [&b, &a], &[docs.clone(), src.clone()]);
    assert_eq!(one, two);
    let others = [
        fingerprint("find it x", "", "planner", [&a, &b], &[src.clone(), docs.clone()]),
        fingerprint("find it", "x", "researcher", [&a, &b], &[src.clone(), docs.clone()]),
        fingerprint("find it", "x", "planner", [&a], &[src.clone(), docs]),
        fingerprint("find it", "x", "planner", [&a, &b], &[src]),
    ];
    assert!(!others.contains(&one));
}

#[test]
fn ten_thousand_hostile_items_make_a_bounded_refusal() {
    let items: Vec<String> = (0..10_000).map(|n| format!("{n}\u{1b}[31m")).collect();
    let request = TaskRequest {
        context_keys: Some(items.clone()),
        permissions: Some(items.clone()),
        allowed_tools: Some(items.clone()),
        allowed_paths: Some(items),
        role: Some("r".repeat(1 << 20)),
        ..request()
    };
    let refusal = Host::new().narrow(&request).unwrap_err();
    assert!(refusal.violations().count() <= 5 + 4 * MAX_ITEMS);
    let clean = |text: &str| text.len() < 1_000 && !text.contains(char::is_control);
    assert!(refusal.violations().all(|violation| clean(&violation.message)));
}
