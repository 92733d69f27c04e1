//! `run_tests` in small real projects.

use offshoot::domain::approval::PreviewBody;
use offshoot::tool::Tool;
use offshoot::tool::run_tests::RunTests;
use serde_json::{Value, json};

use super::bench::{Bench, has};

/// Runs the tests, once as they are and once filtered to those that pass.
async fn run(bench: &Bench, right: &[&str], filter: Option<&str>) {
    let output = bench.call("run_tests", json!({})).await;
    assert!(!output.ok && output.effects.tests_passed == Some(false), "{}", output.text);
    for right in right {
        assert!(output.text.contains(right), "{right} is missing: {}", output.text);
    }
    let Some(filter) = filter else { return };
    let output = bench.call("run_tests", json!({ "filter": filter })).await;
    assert!(output.ok && output.effects.tests_passed == Some(true), "{}", output.text);
    assert!(output.text.contains("tests: 1 passed, 0 failed"), "{}", output.text);
}

#[tokio::test]
async fn a_cargo_project() {
    if !has("cargo", &["--version"]) {
        return;
    }
    let bench = Bench::new();
    bench.file(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    bench.file(
        "src/lib.rs",
        "#[test]\nfn adds() { assert_eq!(1 + 1, 2); }\n#[test]\nfn fails() { assert_eq!(1, 2); }\n",
    );
    let right =
        ["(command: cargo test)", "tests: 1 passed, 1 failed; failed: fails", "(exit code 101)"];
    run(&bench, &right, Some("adds")).await;
}

#[tokio::test]
async fn a_node_project() {
    if !has("npm", &["--version"]) || !has("node", &["--test", "--version"]) {
        return;
    }
    let bench = Bench::new();
    bench.file(
        "package.json",
        r#"{"name": "small", "version": "1.0.0", "scripts": {"test": "node --test"}}"#,
    );
    bench.file(
        "small.test.js",
        "const test = require('node:test');\nconst assert = require('node:assert');\n\
         test('adds', () => assert.equal(1 + 1, 2));\ntest('fails', () => assert.equal(1, 2));\n",
    );
    run(&bench, &["(command: npm test)", "1 failed", "fails"], Some("adds")).await;
}

#[tokio::test]
async fn a_python_project() {
    if !has("python3", &["-m", "pytest", "--version"]) {
        return;
    }
    let bench = Bench::new();
    bench.file("pytest.ini", "[pytest]\n");
    bench.file(
        "test_small.py",
        "def test_adds():\n    assert 1 + 1 == 2\ndef test_fails():\n    assert 1 == 2\n",
    );
    let right =
        ["(command: python3 -m pytest)", "tests: 1 passed, 1 failed", "test_small.py::test_fails"];
    run(&bench, &right, Some("adds")).await;
}

#[tokio::test]
async fn a_python_project_without_pytest() {
    if !has("python3", &["--version"]) {
        return;
    }
    let bench = Bench::new();
    bench.file("small.py", "ONE = 1\n");
    bench.file("pytest.ini", "");
    bench.file(
        "tests/test_small.py",
        "import unittest\nimport small\nclass T(unittest.TestCase):\n    def test_adds(self):\n        \
         self.assertEqual(small.ONE + 1, 2)\n    def test_fails(self):\n        \
         self.assertEqual(small.ONE, 2)\n",
    );
    let command = "(command: python3 -m unittest discover -s tests)";
    let right = [command, "tests: 1 passed, 1 failed", "test_fails"];
    run(&bench, &right, Some("adds")).await;
}

#[tokio::test]
async fn python_s_own_runner_by_configuration() {
    if !has("python3", &["--version"]) {
        return;
    }
    let mut bench = Bench::new();
    let configured = Some("python3 -m unittest -k \"$(printf %s {filter})\"".to_owned());
    bench.tools = bench.tools.clone().with(std::sync::Arc::new(RunTests::new(configured)));
    bench.file(
        "test_small.py",
        "import unittest\nclass T(unittest.TestCase):\n    def test_adds(self):\n        \
         self.assertEqual(1 + 1, 2)\n    def test_fails(self):\n        self.assertEqual(1, 2)\n",
    );
    run(&bench, &["tests: 1 passed, 1 failed; failed: test_fails"], Some("adds")).await;
}

#[tokio::test]
async fn a_make_project() {
    if !has("make", &["--version"]) {
        return;
    }
    let bench = Bench::new();
    bench.file("Makefile", "test:\n\t@echo checking\n\t@false\n");
    run(&bench, &["checking", "(command: make test)", "(exit code 2)"], None).await;
    let output = bench.call("run_tests", json!({"filter": "x"})).await;
    assert!(!output.ok && output.text.contains("filter cannot be passed"), "{}", output.text);
}

#[tokio::test]
async fn without_a_known_command_nothing_runs() {
    let output = Bench::new().call("run_tests", json!({})).await;
    assert!(!output.ok && output.effects.tests_passed.is_none(), "{}", output.text);
    assert!(output.text.contains("no test command is known here"), "{}", output.text);
}

async fn shown(tool: &RunTests, bench: &Bench, arguments: Value) -> (String, Option<String>) {
    let preview = tool.preview(&arguments, &bench.context()).await.unwrap().unwrap();
    match preview.body {
        PreviewBody::Command { command, .. } => (command, preview.prefix),
        PreviewBody::Diff(diff) => panic!("a diff: {diff}"),
    }
}

#[tokio::test]
async fn the_command_is_shown_before_and_no_other_runs() {
    let bench = Bench::new();
    bench.file("Makefile", "test:\n\techo ran\n");
    let tool = RunTests::new(None);
    let made = shown(&tool, &bench, json!({})).await;
    assert_eq!(made, ("make test".to_owned(), Some("make test".to_owned())));
    let preview = tool.preview(&json!({}), &bench.context()).await.unwrap();
    bench.file("Cargo.toml", "");
    let cargo = shown(&tool, &bench, json!({"filter": "x y"})).await;
    assert_eq!(cargo, ("cargo test 'x y'".to_owned(), Some("cargo test".to_owned())));
    // What was allowed is not what would run now.
    let mut context = bench.context();
    context.approved = preview.map(std::sync::Arc::new);
    let output = tool.run(json!({}), context).await;
    assert!(output.text.contains("`make test` was allowed"), "{}", output.text);
}
