//! A request that is too wide in one dimension, at any level, through the real loop: it is refused
//! with its code, and nothing at all happens because of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use offshoot::domain::context_store::Sensitivity;
use offshoot::domain::event::Fact;
use offshoot::domain::role::Permission;
use offshoot::domain::scope::PathScope;
use offshoot::domain::violation::Code;
use offshoot::session::Pin;
use offshoot::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::chain::{NAMES, chain, task};
use crate::common::{Stage, rounds};

/// Counts its calls: a process, a file.
struct Counted {
    spec: ToolSpec,
    calls: Arc<AtomicU32>,
}

impl Tool for Counted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, _: Value, _: ToolContext) -> ToolFuture {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { ToolOutput::error("counted") })
    }
}

/// What the user pinned as `token` and no child may see.
const SECRET: &str = "hunter2-hunter2";

/// One thing too much, with the code and the field of its refusal.
fn too_much() -> Vec<(Value, Code, &'static str)> {
    let budget = |name: &str, number: f64| json!({ "budget": { name: number } });
    let mut cases = vec![
        (json!({ "permissions": ["network"] }), Code::PermissionEscalation, "permissions"),
        (json!({ "permissions": ["read", "execute"] }), Code::PermissionEscalation, "permissions"),
        (json!({ "permissions": ["write"] }), Code::PermissionEscalation, "permissions"),
        (json!({ "allowed_tools": ["bash"] }), Code::ToolEscalation, "allowed_tools"),
        (
            json!({ "allowed_tools": ["search", "write_file"] }),
            Code::ToolEscalation,
            "allowed_tools",
        ),
        (json!({ "allowed_tools": ["note"] }), Code::ToolEscalation, "allowed_tools"),
        (json!({ "allowed_tools": ["git_diff"] }), Code::ToolEscalation, "allowed_tools"),
        (json!({ "context_keys": ["unheard-of"] }), Code::ContextNotFound, "context_keys"),
        (json!({ "role": "wizard" }), Code::InvalidTask, "role"),
        (json!({ "model": "another" }), Code::InvalidTask, "model"),
        (json!({ "task": "  " }), Code::InvalidTask, "task"),
        (json!({ "done_when": format!("{SECRET} works") }), Code::ContextForbidden, "done_when"),
        (json!({ "must_not": SECRET }), Code::ContextForbidden, "must_not"),
        (json!({ "expected_output": "" }), Code::InvalidTask, "expected_output"),
    ];
    for path in ["..", "/", "/etc/passwd", "src/../..", "srcs", "other/src", "~/*", "."] {
        cases.push((json!({ "allowed_paths": [path] }), Code::PathEscalation, "allowed_paths"));
    }
    for (name, all) in [
        ("turns", 40.0),
        ("input_tokens", 8e6),
        ("output_tokens", 2e5),
        ("tool_calls", 400.0),
        ("duration_s", 1_800.0),
        ("cost_usd", 5.0),
    ] {
        for number in [0.0, -1.0, all, all * 2.0, 1e300] {
            cases.push((budget(name, number), Code::InvalidBudget, "budget"));
        }
    }
    cases
}

/// A stage with a workspace, prices, and tools that count.
fn stage(script: &Value, hands: &Arc<AtomicU32>) -> Stage {
    let mut script = script.clone();
    script["prices"] = json!({ "input": 1.0, "output": 1.0 });
    let mut stage = Stage::new(&script).file("src/a.txt", "a").file("srcs/b.txt", "b");
    for (name, permission) in [("bash", Permission::Execute), ("write_file", Permission::Write)] {
        let (description, parameters) = ("counts", json!({ "type": "object" }));
        let spec = ToolSpec { name, description, parameters, permission, read_only: false };
        stage = stage.tool(Counted { spec, calls: Arc::clone(hands) });
    }
    stage.paths = vec![PathScope::parse("src").unwrap()];
    stage.max_depth = 4;
    stage.pins.push(Pin { sensitivity: Sensitivity::Secret, ..Pin::normal("token", SECRET) });
    stage
}

fn files_of(folder: &std::path::Path) -> Vec<String> {
    let mut found: Vec<String> = walk(folder).collect();
    found.sort();
    found
}

fn walk(folder: &std::path::Path) -> Box<dyn Iterator<Item = String>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    Box::new(entries.flat_map(|path| {
        let inner: Box<dyn Iterator<Item = String>> =
            if path.is_dir() { walk(&path) } else { Box::new(std::iter::empty()) };
        std::iter::once(path.display().to_string()).chain(inner)
    }))
}

/// The request at `level` (0: the user's run asks) is the wide one; those above it are lawful.
fn check(level: usize, narrowed: &Value, wide: &(Value, Code, &'static str)) {
    let (more, code, field) = wide;
    let mut asked = json!({ "allowed_paths": ["src"] });
    asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let bad = task("wide", "too wide", &asked);
    let script = if level == 0 {
        json!({ "turns": [{ "tool_calls": [bad] }, { "text": "parent done" }] })
    } else {
        chain(level, narrowed, json!([{ "tool_calls": [bad] }, { "text": "went on" }]))
    };
    let hands = Arc::<AtomicU32>::default();
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let played = runtime.block_on(async {
        let stage = stage(&script, &hands);
        let before = files_of(stage.folder.path());
        let played = stage.play("go").await;
        assert_eq!(files_of(played.folder.path()), before, "files");
        played
    });
    let report = played.task_result("wide");
    assert_eq!(report.code, Some(*code), "{}: {}", report.summary, json!(more));
    assert!(report.violations.iter().any(|violation| violation.field.starts_with(field)));
    assert_eq!((report.task_id, report.trace.as_ref()), (None, None));
    let refused: Vec<_> = played
        .facts()
        .filter(
            |fact| matches!(fact, Fact::ContractRefused { call, .. } if call.as_str() == "wide"),
        )
        .collect();
    assert_eq!(refused.len(), 1);
    // The lawful runs and nothing else: two requests, one start and one trace for each.
    assert_eq!(played.requests.len(), 2 * (level + 1), "requests");
    let starts = played.facts().filter(|fact| matches!(fact, Fact::RunStarted { .. })).count();
    assert_eq!(starts, level + 1);
    let traces = played.files().iter().filter(|(path, _)| path.contains("traces")).count();
    assert_eq!(traces, level, "traces");
    assert_eq!(hands.load(Ordering::Relaxed), 0, "processes and files");
    assert_eq!(played.reply(), "parent done", "and the run goes on");
}

#[test]
fn each_kind_of_too_much_is_refused_at_the_top_and_at_the_bottom() {
    for wide in too_much() {
        for level in [0, 3] {
            check(level, &json!({ "allowed_paths": ["src"] }), &wide);
        }
    }
    // A key that only the user's run knows: below it there is none of that name.
    let secret = json!({ "context_keys": ["token"] });
    for (level, code) in [(0, Code::ContextForbidden), (1, Code::ContextNotFound)] {
        let wide = (secret.clone(), code, "context_keys");
        check(level, &json!({ "allowed_paths": ["src"] }), &wide);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: rounds(150, 3_000), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn one_thing_too_much_anywhere_leads_to_nothing_at_all(
        level in 0..=3_usize,
        wide in any::<Index>(),
        path in select(vec!["src", "src/**"]),
        permissions in proptest::option::of(Just(["read", "delegate"])),
        tools in proptest::option::of(select(vec![
            vec!["search", "task"], vec!["task", "read_file", "list_files"],
        ])),
    ) {
        let mut narrowed = json!({ "allowed_paths": [path] });
        if let Some(permissions) = permissions {
            narrowed["permissions"] = json!(permissions);
        }
        if let Some(tools) = &tools {
            narrowed["allowed_tools"] = json!(tools);
        }
        let cases = too_much();
        let mut wide = cases[wide.index(cases.len())].clone();
        if tools.is_some() && level > 0 {
            // What is asked beside it must be lawful for a parent that has fewer tools.
            if wide.0 == json!({ "allowed_tools": ["search", "write_file"] }) {
                wide.0 = json!({ "allowed_tools": ["write_file"] });
            }
        }
        check(level, &narrowed, &wide);
    }
}

/// The floor is a width too: one level more than the user allows, in words that are new.
#[test]
fn one_level_too_deep_leads_to_nothing_at_all() {
    for depth in 1..=4_u32 {
        let bad = task("wide", "too deep", &json!({}));
        let script =
            chain(depth as usize, &json!({}), json!([{ "tool_calls": [bad] }, { "text": "x" }]));
        let hands = Arc::<AtomicU32>::default();
        let runtime =
            Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let mut stage = stage(&script, &hands);
        stage.max_depth = depth;
        let played = runtime.block_on(async { stage.play("go").await });
        assert_eq!(played.task_result("wide").code, Some(Code::DepthExceeded));
        assert_eq!(played.requests.len(), 2 * (depth as usize + 1));
        assert_eq!(hands.load(Ordering::Relaxed), 0);
        assert_eq!(NAMES.len(), 4);
    }
}
