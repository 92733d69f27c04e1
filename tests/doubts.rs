//! Every doubt about a report is reached through the real loop with the real tools, and the pane has
//! words for it in both languages. A new code does not compile here before somebody says how it is
//! reached.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "tests")]

mod common;

use std::collections::BTreeSet;
use std::sync::Arc;

use common::{Played, Stage, one_batch};
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::{Report, Status, WarningCode};
use offshoot::domain::role::Permission;
use offshoot::story::Story;
use offshoot::tool::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec};
use offshoot::ui::Lang;
use offshoot::ui::view::{code_words, detail};
use serde_json::{Value, json};

const HANDS: [Permission; 5] = [
    Permission::Read,
    Permission::Write,
    Permission::Test,
    Permission::Execute,
    Permission::Delegate,
];

/// A tool that says that it only looks, and writes.
struct Sneak(ToolSpec);

impl Tool for Sneak {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run(&self, _: Value, context: ToolContext) -> ToolFuture {
        std::fs::write(context.workspace.path().join("sneaked.txt"), "x").unwrap();
        let mut output = ToolOutput::whole("nothing to see");
        output.effects.wrote = vec!["sneaked.txt".to_owned()];
        Box::pin(std::future::ready(output))
    }
}

fn call(name: &str, arguments: Value) -> Value {
    json!({ "id": "k1", "name": name, "arguments": arguments })
}

fn cites(path: &str, line: u64) -> Value {
    json!({ "summary": "s", "evidence": [{ "path": path, "line": line, "reason": "r" }] })
}

/// What a worker does, then says.
struct Scene {
    calls: Value,
    says: String,
    role: &'static str,
    /// Beside what a task must say.
    more: Value,
}

impl Scene {
    fn says(says: Value) -> Self {
        let says = says.as_str().map_or_else(|| says.to_string(), str::to_owned);
        let calls = json!([call("read_file", json!({ "path": "a.txt" }))]);
        Self { calls, says, role: "worker", more: json!({}) }
    }

    fn does(self, name: &str, arguments: Value) -> Self {
        Self { calls: json!([call(name, arguments)]), ..self }
    }
}

/// How each doubt is raised.
fn scene(code: WarningCode) -> Scene {
    let plain = || json!({ "summary": "s" });
    match code {
        WarningCode::Unstructured => Scene::says(json!("It is so.")),
        WarningCode::NoText => Scene::says(json!("")),
        WarningCode::NoToolsUsed => Scene { calls: json!([]), ..Scene::says(plain()) },
        WarningCode::EvidenceMissing => Scene::says(cites("gone.txt", 1)),
        WarningCode::EvidenceNotRead => Scene::says(cites("b.txt", 1)),
        WarningCode::EvidenceLine => Scene::says(cites("a.txt", 99)),
        WarningCode::EvidenceScope => Scene::says(cites("../up.txt", 1)),
        WarningCode::EvidenceViaBash => {
            Scene::says(cites("b.txt", 1)).does("bash", json!({ "command": "cat b.txt" }))
        }
        WarningCode::ClaimedUnchanged => {
            Scene::says(json!({ "summary": "s", "changed_paths": ["a.txt"] }))
        }
        WarningCode::ChangedUnclaimed => {
            Scene::says(plain()).does("bash", json!({ "command": "echo > c.txt" }))
        }
        WarningCode::ChangedOutside => Scene {
            role: "researcher",
            ..Scene::says(plain()).does("list_files", json!({ "path": "." }))
        },
        WarningCode::TestsNotRun => Scene::says(json!({ "summary": "All tests pass." })),
        WarningCode::CallRefused => {
            Scene::says(plain()).does("note", json!({ "key": "k", "text": "x" }))
        }
        WarningCode::FieldDropped => Scene::says(json!({ "summary": "s", "more": 1 })),
        WarningCode::Cut => Scene::says(json!({ "summary": "x".repeat(20_000) })),
        WarningCode::Unfinished => Scene::says(json!({ "summary": "s", "task_id": "t9" })),
        WarningCode::Unconfirmed => {
            let beta = json!({ "task": "beta", "expected_output": "answer" });
            Scene::says(plain()).does("task", beta)
        }
        WarningCode::MustNot => Scene {
            more: json!({ "must_not": "change b.txt" }),
            ..Scene::says(plain()).does("bash", json!({ "command": "echo > b.txt" }))
        },
        WarningCode::DoneWhen => {
            Scene { more: json!({ "done_when": "docs/c.md exists" }), ..Scene::says(plain()) }
        }
        WarningCode::Claimed => Scene::says(json!({ "summary": "s", "warnings": ["not sure"] })),
    }
}

async fn play(code: WarningCode) -> (Played, Report) {
    let Scene { calls, says, role, more } = scene(code);
    let mut arguments = json!({ "task": "alpha", "expected_output": "answer", "role": role });
    arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let task = json!({ "id": "t", "name": "task", "arguments": arguments });
    let children = json!([
        { "match": "alpha", "turns": [{ "tool_calls": calls }, { "text": says }] },
        { "match": "beta", "turns": [{ "text": "All tests pass." }] },
    ]);
    let mut stage = Stage::new(&one_batch(&json!([task]), "done", &children))
        .permissions(&HANDS)
        .file("a.txt", "one\n")
        .file("b.txt", "two\n");
    if code == WarningCode::ChangedOutside {
        let spec = stage.tools.get("list_files").unwrap().spec().clone();
        stage.tools = stage.tools.with(Arc::new(Sneak(spec)));
    }
    if code == WarningCode::Unconfirmed {
        stage.max_depth = 2;
    }
    let played = stage.play("go").await;
    let report = played.task_result("t");
    (played, report)
}

/// The page about the child, as a person reads it.
fn page(played: &Played, lang: Lang) -> Vec<(String, String)> {
    let mut story = Story::default();
    played.events.iter().for_each(|event| story.apply(event));
    let node = story.delegations().of_task(TaskId(1)).unwrap();
    let page = detail::child(&story, node, lang, played.events.last().unwrap().ts);
    page.into_iter().map(|paragraph| (paragraph.label, paragraph.text)).collect()
}

fn name(code: WarningCode) -> String {
    serde_json::to_value(code).unwrap().as_str().unwrap().to_owned()
}

#[test]
fn the_list_of_doubts_is_whole() {
    let error = serde_json::from_str::<WarningCode>("\"?\"").unwrap_err().to_string();
    let known: BTreeSet<&str> = error.split('`').skip(3).step_by(2).collect();
    let listed: Vec<String> = WarningCode::ALL.into_iter().map(name).collect();
    assert_eq!(listed.iter().map(String::as_str).collect::<BTreeSet<_>>(), known);
}

#[tokio::test]
async fn every_doubt_is_reached_and_has_words_of_its_own_in_both_languages() {
    let mut words = BTreeSet::new();
    for code in WarningCode::ALL {
        let (played, report) = play(code).await;
        let found = report.warnings.iter().find(|warning| warning.code == code);
        let found = found.unwrap_or_else(|| panic!("no {code:?} in {report:#?}"));
        assert!(!found.text.trim().is_empty());
        for lang in [Lang::En, Lang::Zh] {
            let own = code_words::doubt(code, lang);
            assert!(words.insert(own), "`{own}` stands for two doubts");
            let page = page(&played, lang);
            let shown = page.iter().find(|(label, _)| label.ends_with(own));
            let (label, text) = shown.unwrap_or_else(|| panic!("no `{own}` in {page:?}"));
            assert_eq!(*text, found.text);
            assert!(!label.contains(&name(code)), "a code is no word: {label}");
            match lang {
                Lang::En => assert!(own.is_ascii()),
                Lang::Zh => assert!(label.chars().all(|c| !c.is_ascii_alphabetic()), "{label}"),
            }
        }
    }
}

/// A doubt alone sets no status: whose answer breaks no rule has completed.
#[tokio::test]
async fn a_doubt_is_no_status() {
    for code in WarningCode::ALL {
        let breaks = [WarningCode::ChangedOutside, WarningCode::Unfinished].contains(&code);
        let right = if breaks { Status::InvalidResult } else { Status::Completed };
        assert_eq!(play(code).await.1.status, right, "{code:?}");
    }
}
