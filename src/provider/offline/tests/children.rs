//! A child at work on a question: where it looks, what it cites, and that it always ends in a report.

use super::*;

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
