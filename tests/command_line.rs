//! The real program without a screen: exit codes, what lands on which stream, and the files.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A home and a small project, with nothing of this machine's environment.
struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        fs::create_dir_all(project.join("tests")).unwrap();
        fs::write(project.join("pyproject.toml"), "[tool.pytest.ini_options]\naddopts = \"-q\"\n")
            .unwrap();
        fs::write(project.join("tests/test_a.py"), "import pytest\n\ndef test_a():\n    pass\n")
            .unwrap();
        fs::write(project.join("README.md"), "# Demo\n\nRun pytest.\n").unwrap();
        Self { dir }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_offshoot"));
        command
            .args(arguments)
            .current_dir(self.dir.path().join("project"))
            .env_clear()
            .env("HOME", self.dir.path())
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The one session that was saved.
    fn session(&self) -> PathBuf {
        let sessions = self.dir.path().join(".local/state/offshoot/sessions");
        let mut found = fs::read_dir(sessions).unwrap().map(|entry| entry.unwrap().path());
        let session = found.next().unwrap();
        assert!(found.next().is_none());
        session
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const QUESTION: &str = "Which test framework does this project use?";

#[test]
fn what_is_not_built_or_not_usable_exits_with_its_code_and_one_clear_text() {
    let world = World::new();
    let cases: [(&[&str], i32, &str); 14] = [
        (&["resume"], 2, "`offshoot resume` is not built yet"),
        (&["sessions"], 2, "`offshoot sessions` is not built yet"),
        (&["replay", "x"], 2, "`offshoot replay` is not built yet"),
        (&["export", "x", "--format", "md"], 2, "`offshoot export` is not built yet"),
        (&["eval", "x"], 2, "`offshoot eval` is not built yet"),
        (&["doctor"], 2, "`offshoot doctor` is not built yet"),
        (&["run", "--approve", "all", "q"], 2, "`--approve` is not built yet"),
        (&["run", "--provider", "anthropic", "q"], 2, "`--provider anthropic` is not built yet"),
        (&["run", "--provider", "openai", "q"], 2, "OPENAI_API_KEY"),
        (&["run", "--frobnicate", "q"], 2, "--frobnicate"),
        (&["run", "two", "words"], 2, "quotes"),
        (&["run", " "], 2, "blank"),
        (&["run", "-C", "missing", "q"], 1, "cannot work in"),
        (&["run", "--max-cost", "0", "q"], 2, "INVALID_BUDGET"),
    ];
    for (arguments, code, expected) in cases {
        let output = world.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
        assert!(said.starts_with("offshoot: ") && said.contains(expected), "{arguments:?}: {said}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
    }
    assert!(!world.dir.path().join(".local").exists(), "nothing was saved");
}

#[test]
fn a_question_is_delegated_and_answered_without_a_network() {
    let world = World::new();
    let output = world.run(&["run", QUESTION]);
    let (answer, calls) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{calls}");
    assert!(answer.contains("pytest"), "{answer}");
    assert!(calls.lines().any(|line| line.starts_with("tool: task ")), "{calls}");
    let made = calls.lines().filter(|line| line.starts_with("  [子] ")).count();
    assert!(made >= 3, "{calls}");

    let session = world.session();
    let own = lines(&fs::read_to_string(session.join("session.jsonl")).unwrap());
    let trace = lines(&fs::read_to_string(session.join("traces/t1.1.jsonl")).unwrap());
    for file in [&own, &trace] {
        assert!((1..).zip(file).all(|(seq, line)| line["seq"] == seq && line["v"] == 1));
    }
    let kind = |line: &Value| line["type"].as_str().unwrap().to_owned();
    assert_eq!(kind(&own[0]), "session_started");
    assert_eq!(kind(own.last().unwrap()), "session_finished");
    assert_eq!(kind(&trace[0]), "run_started");
    assert_eq!(kind(trace.last().unwrap()), "run_finished");
    let of_child: Vec<String> =
        own.iter().filter(|line| line["parent_run"].is_string()).map(kind).collect();
    assert_eq!(of_child, ["run_started", "run_finished"]);
    assert!(own.iter().chain(&trace).all(|line| !kind(line).ends_with("_delta")));
}

#[test]
fn the_stream_pairs_its_calls_and_ends_with_the_session() {
    let output = World::new().run(&["run", "--output-format", "stream-json", QUESTION]);
    assert_eq!(text(&output.stderr), "");
    let lines = lines(&text(&output.stdout));
    assert!((1..).zip(&lines).all(|(seq, line)| line["seq"] == seq));
    let [.., run_end, session_end] = lines.as_slice() else { panic!("{lines:?}") };
    assert_eq!(run_end["type"], "run_finished");
    assert!(run_end["parent_run"].is_null());
    assert_eq!(session_end["type"], "session_finished");

    let mut finishes: BTreeMap<String, u32> = BTreeMap::new();
    let key = |line: &Value| format!("{} {}", line["run"], line["call"]);
    for line in lines.iter().filter(|line| line["type"] == "tool_finished") {
        *finishes.entry(key(line)).or_default() += 1;
    }
    let started = lines.iter().filter(|line| line["type"] == "tool_started");
    assert!(started.map(key).all(|call| finishes.get(&call) == Some(&1)));
    let mut asked = Vec::new();
    for line in lines.iter().filter(|line| line["type"] == "message") {
        for call in line["tool_calls"].as_array().unwrap() {
            asked.push(format!("{} {}", line["run"], call["call"]));
        }
    }
    assert_eq!(asked.len(), finishes.len());
    assert!(asked.iter().all(|call| finishes.contains_key(call)));
    let child = lines.iter().find(|line| line["type"] == "run_started" && line["task"] == "t1");
    assert!(child.unwrap()["contract"]["budget"]["turns"].is_u64());
}

#[test]
fn json_is_one_object_on_success_and_on_failure() {
    let world = World::new();
    let output = world.run(&["run", "--output-format", "json", "--no-session", QUESTION]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(object["status"], "completed");
    assert_eq!(object["children"][0]["task_id"], "t1");
    assert!(object["usage"]["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(object["trace_dir"], Value::Null);
    assert!(!world.dir.path().join(".local").exists(), "--no-session saves nothing");

    let output = world.run(&["run", "--output-format", "json", "-C", "missing", "q"]);
    let object: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((object["status"].as_str(), output.status.code()), (Some("failed"), Some(1)));
}

#[test]
fn the_prompt_can_come_from_standard_input() {
    let world = World::new();
    let mut child = world
        .command(&["run", "-q", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(QUESTION.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(text(&output.stdout).contains("pytest"));
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn a_key_from_the_environment_is_in_no_file_and_on_no_stream() {
    let world = World::new();
    let key = "key-0a1b2c3d4e5f";
    let config = world.dir.path().join("project/config.py");
    fs::write(config, format!("SERVICE_API_KEY = \"{key}\"\n")).unwrap();
    let question = "Where is SERVICE_API_KEY set?";
    let mut command = world.command(&["run", "--output-format", "stream-json", question]);
    let output = command.env("SERVICE_API_KEY", key).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let session = world.session();
    let trace = fs::read(session.join("traces/t1.1.jsonl")).unwrap();
    assert!(text(&trace).contains("SERVICE_API_KEY = \\\"(redacted)"), "the child came across it");
    let files = [trace, fs::read(session.join("session.jsonl")).unwrap()].into_iter();
    for bytes in files.chain([output.stdout, output.stderr]) {
        // Not asserted with the text itself, so that a failure does not print it.
        assert!(!String::from_utf8_lossy(&bytes).contains(key), "the key is in it");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_told_and_the_answer_comes_all_the_same() {
    let world = World::new();
    let file = world.dir.path().join("file");
    fs::write(&file, "").unwrap();
    let inside = file.join("sessions");
    let output = world.run(&["run", "--session-dir", inside.to_str().unwrap(), QUESTION]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(said.matches("not saved any more").count(), 1, "{said}");
    assert!(said.contains("--session-dir"), "{said}");
    assert!(text(&output.stdout).contains("pytest"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    let full = fs::OpenOptions::new().write(true).open(Path::new("/dev/full")).unwrap();
    let output = World::new().command(&["run", "-q", QUESTION]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot write to standard output"));
}
