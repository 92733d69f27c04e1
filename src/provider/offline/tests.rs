#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::sync::Arc;

use futures_util::StreamExt;
use grep_regex::RegexMatcher;
use grep_searcher::Searcher;
use grep_searcher::sinks::UTF8;
use serde_json::json;

use super::*;
use crate::domain::ids::{RunId, TaskId};
use crate::domain::message::{AssistantMessage, Block, Message, ToolResult, ToolSchema};
use crate::provider::ProviderError;

#[path = "sample_tests.rs"]
mod samples;

/// A folder that exists only here, with the three tools over it and a record of what they showed.
struct Project {
    files: Vec<(&'static str, &'static str)>,
    shown: BTreeSet<(String, u64)>,
}

impl Project {
    fn new(files: &[(&'static str, &'static str)]) -> Self {
        Self { files: files.to_vec(), shown: BTreeSet::new() }
    }

    fn run(&mut self, call: &ToolCall) -> ToolResult {
        let text = |key: &str| call.arguments.get(key).and_then(Value::as_str).unwrap_or("");
        let number = |key: &str| call.arguments.get(key).and_then(Value::as_u64);
        let output = match call.name.as_str() {
            "list_files" => Ok(self.list(usize::try_from(number("depth").unwrap_or(1)).unwrap())),
            "search" => Ok(self.search(text("pattern"))),
            "read_file" => self.read(
                text("path"),
                number("offset").unwrap_or(1),
                number("limit").unwrap_or(500),
            ),
            other => Err(format!("unknown tool {other}")),
        };
        let (name, call) = (call.name.clone(), call.call.clone());
        match output {
            Ok(output) => ToolResult { call, name, ok: true, output },
            Err(output) => ToolResult { call, name, ok: false, output },
        }
    }

    fn list(&self, depth: usize) -> String {
        let mut entries = BTreeSet::new();
        for (path, text) in &self.files {
            let parts: Vec<&str> = path.split('/').collect();
            for end in 1..parts.len().min(depth + 1) {
                entries.insert(format!("{}/", parts[..end].join("/")));
            }
            if parts.len() <= depth {
                entries.insert(format!("{path}\t{} B", text.len()));
            }
        }
        entries.into_iter().collect::<Vec<_>>().join("\n")
    }

    fn search(&mut self, pattern: &str) -> String {
        let matcher = RegexMatcher::new_line_matcher(pattern).unwrap();
        let mut hits = Vec::new();
        for (path, text) in &self.files {
            let sink = UTF8(|number, line| {
                self.shown.insert(((*path).to_owned(), number));
                hits.push(format!("{path}:{number}:{}", line.trim_end()));
                Ok(true)
            });
            Searcher::new().search_slice(&matcher, text.as_bytes(), sink).unwrap();
        }
        hits.push(format!("{} matches", hits.len()));
        hits.join("\n")
    }

    fn read(&mut self, path: &str, offset: u64, limit: u64) -> Result<String, String> {
        let file = self.files.iter().find(|(name, _)| *name == path);
        let (_, text) = file.ok_or_else(|| format!("there is no file {path}"))?;
        let lines =
            (1..).zip(text.lines()).filter(|(number, _)| (offset..offset + limit).contains(number));
        let shown = &mut self.shown;
        let lines = lines.map(|(number, line)| {
            shown.insert((path.to_owned(), number));
            format!("{number}\t{line}")
        });
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }
}

fn request(depth: u32, tools: &[&str], messages: &[Message]) -> Request {
    let run = if depth == 0 { RunId::parent(1) } else { RunId::child(TaskId(1), 1) };
    let schema = |name: &&str| ToolSchema {
        name: (*name).to_owned(),
        description: String::new(),
        parameters: json!({}),
    };
    Request {
        run,
        depth,
        system: "".into(),
        tools: tools.iter().map(schema).collect(),
        tool_choice: ToolChoice::Auto,
        messages: messages.iter().cloned().map(Arc::new).collect(),
        max_tokens: 8_192,
        temperature: None,
    }
}

async fn ask(request: Request) -> AssistantMessage {
    ask_paced(request, Duration::ZERO).await
}

async fn ask_paced(request: Request, pace: Duration) -> AssistantMessage {
    let chunks: Vec<Result<Chunk, ProviderError>> =
        Offline::new(pace).stream(request).collect().await;
    let mut text = String::new();
    let mut calls = Vec::new();
    let mut stop_reason = None;
    for chunk in chunks {
        match chunk.unwrap() {
            Chunk::Text(piece) => text.push_str(&piece),
            Chunk::ToolCall(call) => calls.push(Block::ToolCall(call)),
            Chunk::Usage(usage) => assert!(usage.estimated && usage.output_tokens > 0),
            Chunk::Stop(stop) => stop_reason = Some(stop),
            Chunk::Reasoning(_)
            | Chunk::Signature(_)
            | Chunk::Redacted(_)
            | Chunk::Opaque(_)
            | Chunk::Alive
            | Chunk::CallPart => {}
        }
    }
    let blocks = [Block::Text { text }].into_iter().chain(calls).collect();
    let (provider, model) = ("offline".to_owned(), String::new());
    AssistantMessage { blocks, provider, model, stop_reason, interrupted: false }
}

const TOOLS: [&str; 3] = ["list_files", "read_file", "search"];

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

/// The task text that the parent writes for a question.
async fn task_for(question: &str) -> Value {
    let answer = ask(request(0, &["task"], &[user(question)])).await;
    let call = answer.tool_calls().next().unwrap().clone();
    assert_eq!(call.name, "task");
    call.arguments
}

/// Everything that a child did: its calls by turn, and its report.
struct Work {
    turns: Vec<Vec<ToolCall>>,
    report: Value,
}

impl Work {
    fn calls(&self) -> usize {
        self.turns.iter().map(Vec::len).sum()
    }

    fn summary(&self) -> &str {
        self.report["summary"].as_str().unwrap()
    }
}

async fn work(project: &mut Project, question: &str, tools: &[&str]) -> Work {
    let task = task_for(question).await;
    let prompt = format!(
        "Your task:\n{}\n\nExpected output:\n{}\n\n<data key=\"request\">\n{question}\n</data>",
        task["task"].as_str().unwrap(),
        task["expected_output"].as_str().unwrap()
    );
    work_on(project, prompt, tools).await
}

async fn work_on(project: &mut Project, prompt: String, tools: &[&str]) -> Work {
    let mut messages = vec![Message::User { text: prompt }];
    let mut turns = Vec::new();
    loop {
        let answer = ask(request(1, tools, &messages)).await;
        let calls: Vec<ToolCall> = answer.tool_calls().cloned().collect();
        if calls.is_empty() {
            assert_eq!(answer.stop_reason, Some(StopReason::EndTurn));
            let report = serde_json::from_str(&answer.text()).unwrap();
            return Work { turns, report };
        }
        assert!(turns.len() < 10, "it never ends");
        let results = calls.iter().map(|call| project.run(call)).collect();
        turns.push(calls);
        messages.extend([Message::Assistant(answer), Message::Results { results }]);
    }
}

/// Every cited line was shown in a result.
fn assert_evidence_was_shown(project: &Project, report: &Value) {
    for evidence in report["evidence"].as_array().unwrap() {
        let path = evidence["path"].as_str().unwrap().to_owned();
        if let Some(line) = evidence["line"].as_u64() {
            assert!(project.shown.contains(&(path, line)), "{evidence}");
        } else {
            assert_eq!(path, ".");
        }
    }
}

const RUST: &[(&str, &str)] = &[
    ("Cargo.lock", "name = \"proptest\"\nname = \"test\"\n"),
    ("Cargo.toml", "[package]\nname = \"demo\"\n\n[dev-dependencies]\nproptest = \"1\"\n"),
    ("README.md", "# demo\n\nRun the tests with cargo test.\n"),
    (
        "src/lib.rs",
        "pub fn add() {}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n",
    ),
];
const PYTEST: &[(&str, &str)] = &[
    (".github/workflows/ci.yml", "jobs:\n  test:\n    steps:\n      - run: pytest -q\n"),
    (
        "pyproject.toml",
        "[project]\nname = \"demo\"\n\n[project.optional-dependencies]\ndev = [\n  \"pytest>=8\",\n]\n",
    ),
    ("src/demo/core.py", "from unittest import mock\n\ndef core():\n    return 1\n"),
    ("tests/test_core.py", "import pytest\n\ndef test_core():\n    pass\n"),
];
const UNITTEST: &[(&str, &str)] = &[
    ("setup.py", "from setuptools import setup\nsetup(name='demo')\n"),
    ("tests/test_core.py", "import unittest\n\nclass Core(unittest.TestCase):\n    pass\n"),
];
const JEST: &[(&str, &str)] = &[
    ("package-lock.json", "{\n \"jest\": 1,\n \"mocha\": 1\n}\n"),
    (
        "package.json",
        "{\n  \"scripts\": {\n    \"test\": \"jest\"\n  },\n  \"devDependencies\": {\n    \"eslint-plugin-mocha\": \"1\",\n    \"jest\": \"^29\"\n  }\n}\n",
    ),
    ("src/a.test.js", "test('a', () => {});\n"),
];
const VITEST: &[(&str, &str)] = &[
    (
        "package.json",
        "{\n  \"devDependencies\": {\n    \"@types/jest\": \"1\",\n    \"vitest\": \"^2\"\n  }\n}\n",
    ),
    ("src/a.test.ts", "import { test } from 'vitest'\n"),
];
const MOCHA: &[(&str, &str)] =
    &[("package.json", "{\n  \"scripts\": { \"test\": \"mocha --recursive\" }\n}\n")];
const NODE: &[(&str, &str)] = &[
    ("package.json", "{\n  \"name\": \"demo\"\n}\n"),
    ("test/a.test.mjs", "import assert from 'node:assert';\nimport { test } from 'node:test';\n"),
];
const GO: &[(&str, &str)] = &[
    ("go.mod", "module demo\n\ngo 1.22\n\nrequire github.com/stretchr/testify v1.9.0\n"),
    ("main_test.go", "package main\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {}\n"),
];
const JUNIT: &[(&str, &str)] = &[
    (
        "pom.xml",
        "<project>\n <dependency>\n  <groupId>org.junit.jupiter</groupId>\n  <artifactId>junit-jupiter</artifactId>\n </dependency>\n</project>\n",
    ),
    ("src/test/java/demo/AppTest.java", "package demo;\n\nimport org.junit.jupiter.api.Test;\n"),
];
const JUNIT4: &[(&str, &str)] = &[
    ("build.gradle", "dependencies {\n  testImplementation 'junit:junit:4.13.2'\n}\n"),
    ("src/test/java/demo/AppTest.java", "import org.junit.Test;\n"),
];

#[tokio::test]
async fn the_test_framework_of_typical_projects_is_named_with_its_place() {
    let cases = [
        (RUST, "cargo test", "src/lib.rs:5"),
        (PYTEST, "pytest", "pyproject.toml:6"),
        (UNITTEST, "unittest", "tests/test_core.py:1"),
        (JEST, "Jest", "package.json:3"),
        (VITEST, "Vitest", "package.json:4"),
        (MOCHA, "Mocha", "package.json:2"),
        (NODE, "node:test", "test/a.test.mjs:2"),
        (GO, "go test", "main_test.go:5"),
        (JUNIT, "JUnit 5", "pom.xml:4"),
        (JUNIT4, "JUnit 4", "build.gradle:2"),
    ];
    for question in ["Which test framework does this project use?", "这个项目用的是什么测试框架？"]
    {
        for (files, name, place) in cases {
            let mut project = Project::new(files);
            let work = work(&mut project, question, &TOOLS).await;
            let summary = work.summary();
            let first = summary.split([';', '。']).next().unwrap();
            assert!(first.contains(name) && first.contains(place), "{place}: {summary}");
            assert!((3..=8).contains(&work.calls()), "{} calls", work.calls());
            assert!(work.turns.iter().all(|calls| calls.len() <= 2));
            assert_evidence_was_shown(&project, &work.report);
            assert_eq!(summary.contains("测试使用"), question.contains("测试"), "{summary}");
        }
    }
}

#[tokio::test]
async fn every_kind_of_question_gets_real_places() {
    let files: &[(&str, &str)] = &[
        (
            "Cargo.toml",
            "[package]\nname = \"shop\"\nlicense = \"MIT\"\nversion = \"0.3.0\"\n\n[dependencies]\nserde = \"1\"\n",
        ),
        ("LICENSE", "MIT License\n\nCopyright (c) 2024\n"),
        ("README.md", "# shop\n\nSells things over HTTP.\n"),
        (".github/workflows/ci.yml", "jobs:\n  check:\n    runs-on: ubuntu-latest\n"),
        ("src/main.rs", "mod cart;\n\nfn main() {\n    cart::open();\n}\n"),
        ("src/cart.rs", "/// What a person wants to buy.\npub struct Cart;\n\npub fn open() {}\n"),
        ("src/login.rs", "pub fn log_in(password: &str) {}\n"),
    ];
    for (question, place) in [
        ("Where is the entry point?", "src/main.rs:3"),
        ("入口在哪里？", "src/main.rs:3"),
        ("What is the cart?", "src/cart.rs:2"),
        ("Which license is it under?", "LICENSE:1"),
        ("这个项目用什么许可证？", "LICENSE:1"),
        ("What are the dependencies?", "Cargo.toml:6"),
        ("它有哪些依赖", "Cargo.toml:6"),
        ("登录的代码在哪个文件里", "src/login.rs:1"),
        ("持续集成怎么配置的", ".github/workflows/ci.yml:3"),
        ("How does this work?", "README.md:1"),
        ("这个项目是做什么的？", "README.md:1"),
    ] {
        let mut project = Project::new(files);
        let work = work(&mut project, question, &TOOLS).await;
        let shown = work.report.to_string();
        assert!(shown.contains(place.split(':').next().unwrap()), "{question}: {shown}");
        assert!(work.summary().contains(place), "{question}: {}", work.summary());
        assert!((3..=8).contains(&work.calls()), "{question}: {} calls", work.calls());
        assert_evidence_was_shown(&project, &work.report);
    }
}

#[tokio::test]
async fn a_chinese_question_in_an_english_tree_falls_back_to_what_every_project_has() {
    let mut project = Project::new(RUST);
    let work = work(&mut project, "请解释一下量子纠缠", &TOOLS).await;
    let read = work.turns.iter().flatten().filter(|call| call.name == "read_file");
    let read: Vec<&str> = read.map(|call| call.arguments["path"].as_str().unwrap()).collect();
    assert!(read.contains(&"README.md") && read.contains(&"Cargo.toml"), "{read:?}");
    assert!(work.summary().contains("没有与`量子纠缠`匹配"), "{}", work.summary());
    assert_evidence_was_shown(&project, &work.report);
}

#[tokio::test]
async fn an_empty_folder_and_missing_or_failing_tools_still_end_in_a_report() {
    let question = "Which test framework does this project use?";
    let mut nothing = Project::new(&[]);
    let empty = work(&mut nothing, question, &TOOLS).await;
    assert!(empty.summary().contains("no files") && empty.calls() >= 3, "{:?}", empty.report);
    for tools in [&["search"][..], &["list_files"], &["read_file"], &["bash"], &[]] {
        let mut project = Project::new(PYTEST);
        let work = work(&mut project, question, tools).await;
        let called = work.turns.iter().flatten();
        assert!(called.into_iter().all(|call| tools.contains(&call.name.as_str())));
        assert!(!work.summary().is_empty());
        assert_evidence_was_shown(&project, &work.report);
    }
    let mut broken = Project::new(PYTEST);
    broken.files.clear();
    let prompt = "look at x.py".to_owned();
    let only_errors = work_on(&mut broken, prompt, &["read_file"]).await;
    assert!(only_errors.report["warnings"][1].as_str().unwrap().contains("no file"));
}

#[tokio::test]
async fn a_child_that_is_to_wrap_up_reports_what_it_has() {
    let mut project = Project::new(PYTEST);
    let task = task_for("Which test framework is used?").await;
    let mut messages = vec![user(task["task"].as_str().unwrap())];
    for turns in 0..4 {
        let mut wrap_up = request(1, &TOOLS, &messages);
        wrap_up.tool_choice = ToolChoice::None;
        let report: Value = serde_json::from_str(&ask(wrap_up).await.text()).unwrap();
        assert!(report["summary"].as_str().is_some_and(|text| !text.is_empty()), "{turns}");
        let answer = ask(request(1, &TOOLS, &messages)).await;
        let results = answer.tool_calls().map(|call| project.run(call)).collect();
        messages.extend([Message::Assistant(answer), Message::Results { results }]);
    }
}

#[tokio::test]
async fn a_planner_gets_its_fields() {
    let mut wants = request(1, &[], &[user("Question: add a cart")]);
    wants.system = "{\"summary\": \"\", \"steps\": [\"\"], \"risks\": [\"\"]}".into();
    let report: Value = serde_json::from_str(&ask(wants).await.text()).unwrap();
    assert!(report["steps"].as_array().is_some_and(|steps| !steps.is_empty()), "{report}");
    assert!(report["risks"].is_array());
}

fn reported(report: &Value) -> Message {
    let output = format!("Data from t1:\n<data>\n{report}\n</data>");
    let (call, name) = (CallId::from("offline_1_0"), "task".to_owned());
    Message::Results { results: vec![ToolResult { call, name, ok: true, output }] }
}

#[tokio::test]
async fn a_parent_answers_from_the_report_in_the_language_of_the_question() {
    for (question, words) in [
        (
            "Which test framework?",
            [
                "pytest is it",
                "Evidence:",
                "a.py:3 — says so (not verified)",
                "- read a.py first",
                "no language model",
            ],
        ),
        (
            "什么测试框架？",
            [
                "pytest is it",
                "依据：",
                "a.py:3 — says so（未核实）",
                "- read a.py first",
                "没有接入语言模型",
            ],
        ),
    ] {
        let mut messages = vec![user(question)];
        messages.push(Message::Assistant(ask(request(0, &["task"], &messages)).await));
        messages.push(reported(&json!({
            "status": "completed", "summary": "pytest is it",
            "evidence": [{"path": "a.py", "line": 3, "reason": "says so", "verified": false}],
            "steps": ["read a.py first"]
        })));
        let answer = ask(request(0, &["task"], &messages)).await;
        assert_eq!(answer.tool_calls().count(), 0);
        for word in words {
            assert!(answer.text().contains(word), "{}", answer.text());
        }
        messages.push(Message::Assistant(answer));
        messages.push(user("And the license?"));
        let next = ask(request(0, &["task"], &messages)).await;
        let call = next.tool_calls().next().unwrap();
        assert!(call.arguments["task"].as_str().unwrap().contains("And the license?"));
    }
}

#[tokio::test]
async fn a_parent_says_how_an_unfinished_child_ended_and_still_answers() {
    for (report, words) in [
        (
            json!({"status": "cancelled", "by": "user", "summary": "read 2 files"}),
            "cancelled by you",
        ),
        (json!({"status": "cancelled", "by": "shutdown", "summary": "x"}), "cancelled by shutdown"),
        (
            json!({"status": "budget_exhausted", "dimension": "turns", "summary": "x"}),
            "ran out of turns",
        ),
        (json!({"status": "failed", "code": "PROVIDER_ERROR", "summary": "x"}), "PROVIDER_ERROR"),
        (
            json!({"status": "blocked", "code": "DELEGATION_LIMIT", "summary": "",
                "violations": [{"message": "no delegations left"}]}),
            "no delegations left",
        ),
    ] {
        let mut messages = vec![user("Which test framework?")];
        messages.push(Message::Assistant(ask(request(0, &["task"], &messages)).await));
        messages.push(reported(&report));
        let text = ask(request(0, &["task"], &messages)).await.text();
        assert!(text.contains(words), "{text}");
        assert!(text.contains(report["summary"].as_str().unwrap()));
    }
    let mut messages = vec![user("Which?")];
    messages.push(Message::Assistant(ask(request(0, &["task"], &messages)).await));
    let (call, name) = (CallId::from("offline_1_0"), "task".to_owned());
    let output = "not run: cancelled".to_owned();
    let results = vec![ToolResult { call, name, ok: false, output }];
    messages.push(Message::Results { results });
    assert!(ask(request(0, &["task"], &messages)).await.text().contains("not run: cancelled"));
}

/// Asks and lets a child report.
async fn asked_and_reported(messages: &mut Vec<Message>, question: &str, report: &Value) {
    messages.push(user(question));
    messages.push(Message::Assistant(ask(request(0, &["task"], messages)).await));
    messages.push(reported(report));
}

#[tokio::test]
async fn an_answer_is_made_of_what_came_after_the_newest_words_of_a_person() {
    let mut messages = Vec::new();
    let stopped = json!({"status": "cancelled", "by": "user", "summary": "old lead"});
    asked_and_reported(&mut messages, "Which test framework?", &stopped).await;
    let Some(Message::Results { results }) = messages.last_mut() else { panic!("no results") };
    results[0].ok = false;
    let license = json!({"status": "completed", "summary": "MIT"});
    asked_and_reported(&mut messages, "Which license?", &license).await;
    messages.push(user("[runtime] The budget of this run is nearly used up. Answer now."));
    let last = ask(Request { tool_choice: ToolChoice::None, ..request(0, &["task"], &messages) });
    let text = last.await.text();
    assert!(text.starts_with("MIT"), "{text}");
    assert!(!messages_text(&messages).contains("old lead") && !text.contains("old lead"), "{text}");
}

/// What the assistant said so far.
fn messages_text(messages: &[Message]) -> String {
    let said = messages.iter().filter_map(|message| match message {
        Message::Assistant(answer) => Some(answer.text()),
        Message::User { .. } | Message::Results { .. } => None,
    });
    said.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn words_typed_while_a_child_works_do_not_lose_its_answer() {
    let mut messages = Vec::new();
    let framework = json!({"status": "completed", "summary": "pytest is it"});
    asked_and_reported(&mut messages, "Which test framework?", &framework).await;
    messages.push(user("And the license?"));
    let next = ask(request(0, &["task"], &messages)).await;
    let call = next.tool_calls().next().unwrap();
    assert!(call.arguments["task"].as_str().unwrap().contains("And the license?"));
    assert!(next.text().starts_with("pytest is it\n\nI'll delegate"), "{}", next.text());
    messages.push(Message::Assistant(next));
    messages.push(reported(&json!({"status": "completed", "summary": "MIT"})));
    let last = ask(request(0, &["task"], &messages)).await.text();
    assert!(last.starts_with("MIT") && !last.contains("pytest"), "{last}");
}

#[tokio::test]
async fn how_to_get_a_model_is_told_once_in_a_conversation() {
    let mut messages = Vec::new();
    let report = json!({"status": "completed", "summary": "x"});
    for (question, end) in [
        ("Which license?", "or run Ollama, and start again.)"),
        ("Which version?", "\n\n(offline: found by matching words)"),
        ("什么版本？", "\n\n（离线：按词匹配找到）"),
    ] {
        asked_and_reported(&mut messages, question, &report).await;
        let answer = ask(request(0, &["task"], &messages)).await;
        assert!(answer.text().ends_with(end), "{}", answer.text());
        messages.push(Message::Assistant(answer));
    }
    assert!(messages_text(&messages).contains("ANTHROPIC_API_KEY or OPENAI_API_KEY"));
}

#[tokio::test]
async fn a_parent_that_may_not_delegate_says_so() {
    let mut wrap_up = request(0, &["task"], &[user("Which?")]);
    wrap_up.tool_choice = ToolChoice::None;
    for request in [wrap_up, request(0, &["list_files"], &[user("Which?")])] {
        let answer = ask(request).await;
        assert_eq!(answer.tool_calls().count(), 0);
        assert!(answer.text().contains("could not look"), "{}", answer.text());
    }
}

#[tokio::test]
async fn a_delegate_command_names_its_role_and_notes_below_the_question_are_left_out() {
    let message = "/delegate planner map the\nCI config\n\n[context keys: request, rules]";
    let task = task_for(message).await;
    assert_eq!(task["role"], "planner");
    assert_eq!(parent::question_of_task(task["task"].as_str().unwrap()), "map the\nCI config");
    assert_eq!(task["description"], "map the CI config");
    for plain in ["/delegate find the parser", "Delegate this with `task`: find the parser"] {
        let task = task_for(plain).await;
        assert_eq!((task.get("role"), &task["description"]), (None, &json!("find the parser")));
    }
    let words =
        "Delegate this to the role planner with `task`: 找\n\n[context keys for `task`: request]";
    let task = task_for(words).await;
    assert_eq!((&task["role"], &task["description"]), (&json!("planner"), &json!("找")));
    let huge = task_for(&"子".repeat(100_000)).await;
    assert!(huge["task"].as_str().unwrap().len() < 8_000);
}

#[tokio::test(start_paused = true)]
async fn pace_is_waited_once_a_call_and_not_at_all_when_it_is_zero() {
    let started = tokio::time::Instant::now();
    work(&mut Project::new(RUST), "Which test framework?", &TOOLS).await;
    assert!(started.elapsed().is_zero());
    let pace = Duration::from_millis(400);
    let messages = [user("Question: x")];
    ask_paced(request(1, &TOOLS, &messages), pace).await;
    assert!(started.elapsed() >= pace && started.elapsed() < 2 * pace);
}

#[tokio::test]
async fn hostile_results_are_survived() {
    let task = task_for("Which test framework is used?").await;
    let prompt = user(task["task"].as_str().unwrap());
    let long = "x".repeat(100_000);
    for output in
        ["", ":", ":::\n0\t\n-1:2:3", "\u{1b}[2J:1:\u{202e}", "{\"a\":", "子:1:测试", &long]
    {
        let mut messages = vec![prompt.clone()];
        for _ in 0..5 {
            let answer = ask(request(1, &TOOLS, &messages)).await;
            let results = answer.tool_calls().map(|call| ToolResult {
                call: call.call.clone(),
                name: "something else".to_owned(),
                ok: true,
                output: output.to_owned(),
            });
            let results = results.collect();
            messages.extend([Message::Assistant(answer), Message::Results { results }]);
        }
        let last = ask(request(1, &TOOLS, &messages)).await;
        assert!(serde_json::from_str::<Value>(&last.text()).is_ok(), "{output}");
    }
}

#[tokio::test]
async fn what_the_runtime_says_in_a_persons_place_is_no_question() {
    let question = user("Which test framework?\n\n[context keys for `task`: request (21 B)]");
    let answer = ask(request(0, &["task"], std::slice::from_ref(&question))).await;
    let call = answer.tool_calls().next().unwrap().clone();
    let results = vec![ToolResult {
        call: call.call.clone(),
        name: call.name.clone(),
        ok: true,
        output: json!({"status": "completed", "summary": "pytest"}).to_string(),
    }];
    let list = user("[context keys for `task`: request (21 B), report:1 (9 B)]");
    let messages = [question, Message::Assistant(answer), Message::Results { results }, list];
    let answer = ask(request(0, &["task"], &messages)).await;
    assert!(answer.tool_calls().next().is_none(), "it answers instead of asking again");
    assert!(answer.text().contains("pytest"), "{}", answer.text());
}
