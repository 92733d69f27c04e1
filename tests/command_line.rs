//! The real program without a screen, when all goes well and when an answer cannot be kept or
//! printed: what lands on which stream, and the files.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "common/program.rs"]
mod program;

use std::fs;

use program::{Ended, Ground, QUESTION, finish, wait};
use serde_json::Value;

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn nothing_is_kept(ground: &Ground) -> bool {
    fs::read_dir(ground.home.path()).unwrap().count() == 0
}

#[test]
fn a_question_is_delegated_and_answered_without_a_network() {
    let ground = Ground::project();
    let Ended { code, out, err } = ground.run(&["run", QUESTION]);
    assert_eq!(code, Some(0), "{err}");
    assert!(out.contains("pytest"), "{out}");
    assert!(err.lines().any(|line| line.starts_with("tool: task ")), "{err}");
    let made = err.lines().filter(|line| line.starts_with("  [子] ")).count();
    assert!(made >= 3, "{err}");

    let session = ground.session();
    let own = lines(&fs::read_to_string(session.join("session.jsonl")).unwrap());
    let trace = lines(&fs::read_to_string(session.join("traces/t1.1.jsonl")).unwrap());
    let bounds = |lines: &[Value]| [&lines[0], &lines[lines.len() - 1]].map(|l| l["type"].clone());
    assert_eq!(bounds(&own), ["session_started", "session_finished"]);
    assert_eq!(bounds(&trace), ["run_started", "run_finished"]);
}

#[test]
fn the_same_question_in_chinese_finds_the_same_file() {
    let ended = Ground::project().run(&["run", "-q", "这个项目用什么测试框架？"]);
    assert_eq!((ended.code, ended.err.as_str()), (Some(0), ""));
    assert!(ended.out.contains("pytest") && ended.out.contains("pyproject.toml"), "{}", ended.out);
}

#[test]
fn json_is_one_object_and_without_a_session_nothing_is_kept() {
    let ground = Ground::project();
    let ended = ground.run(&["run", "--output-format", "json", "--no-session", QUESTION]);
    let object: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(object["status"], "completed");
    assert_eq!(object["children"][0]["task_id"], "t1");
    assert!(object["usage"]["input_tokens"].as_u64().unwrap() > 0);
    assert_eq!(object["trace_dir"], Value::Null);
    assert!(nothing_is_kept(&ground), "--no-session saves nothing");
}

#[test]
fn a_quiet_run_says_the_answer_alone() {
    let ended = finish(Ground::project().command(&["run", "-q", "-"]), QUESTION.as_bytes());
    assert!(ended.out.contains("pytest"), "{ended:?}");
    assert_eq!(ended.err, "");
}

#[test]
fn a_key_from_the_environment_is_in_no_file_and_on_no_stream() {
    let ground = Ground::project();
    let key = "key-0a1b2c3d4e5f";
    ground.file("config.py", &format!("SERVICE_API_KEY = \"{key}\"\n"));
    let question = "Where is SERVICE_API_KEY set?";
    let mut command = ground.command(&["run", "--output-format", "stream-json", question]);
    command.env("SERVICE_API_KEY", key);
    let ended = finish(command, b"");
    assert_eq!(ended.code, Some(0));
    let session = ground.session();
    let trace = fs::read_to_string(session.join("traces/t1.1.jsonl")).unwrap();
    assert!(trace.contains("SERVICE_API_KEY = \\\"(redacted)"), "the child came across it");
    let own = fs::read_to_string(session.join("session.jsonl")).unwrap();
    for text in [trace, own, ended.out, ended.err] {
        // Not asserted with the text itself, so that a failure does not print it.
        assert!(!text.contains(key), "the key is in it");
    }
}

#[test]
fn a_place_that_cannot_be_written_is_told_once() {
    let ground = Ground::project();
    ground.file("taken", "");
    let ended = ground.run(&["run", "--session-dir", "taken/sessions", QUESTION]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.err.matches("not saved any more").count(), 1, "{ended:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    use std::io::Read;
    use std::process::Stdio;

    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ground = Ground::project();
    let mut command = ground.command(&["run", "-q", QUESTION]);
    let mut child =
        command.stdin(Stdio::null()).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!(wait(&mut child), Some(1));
    assert!(err.contains("cannot write to standard output"), "{err}");
}

/// Starts a run whose model thinks for `delay_ms`, as a stream, from a shell that says `before`
/// first.
#[cfg(unix)]
fn long_run(ground: &Ground, delay_ms: u32, before: &str) -> std::process::Child {
    use std::process::{Command, Stdio};

    let turn = format!("{{\"text\": \"late\", \"delay_ms\": {delay_ms}}}");
    ground.file("slow.json", &format!("{{\"turns\": [{turn}]}}"));
    let words = "--output-format stream-json --provider script:slow.json q";
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{before} exec {} run {words}", program::PROGRAM)]);
    command.current_dir(ground.workspace.path()).env_clear().envs(ground.environment());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Sends a signal once the turn has begun; gives the code and all lines.
#[cfg(unix)]
fn signalled(
    mut child: std::process::Child,
    signal: rustix::process::Signal,
) -> (Option<i32>, Vec<Value>) {
    use std::io::{BufRead, BufReader};

    let process = rustix::process::Pid::from_child(&child);
    let mut told: Vec<Value> = Vec::new();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        if line["type"] == "turn_started" {
            rustix::process::kill_process(process, signal).unwrap();
        }
        told.push(line);
    }
    (wait(&mut child), told)
}

#[cfg(unix)]
#[test]
fn a_run_that_is_hung_up_or_terminated_reports_before_it_ends() {
    use rustix::process::Signal;

    for signal in [Signal::HUP, Signal::TERM, Signal::INT] {
        let ground = Ground::project();
        let (code, lines) = signalled(long_run(&ground, 60_000, ""), signal);
        assert_eq!(code, Some(130), "{signal:?}: {lines:?}");
        let [.., run_end, end] = lines.as_slice() else { panic!("{signal:?}: {lines:?}") };
        assert_eq!(
            (&run_end["type"], &run_end["status"]),
            (&"run_finished".into(), &"cancelled".into())
        );
        assert_eq!(end["type"], "session_finished");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_hangup_that_was_to_be_ignored_ends_nothing() {
    use rustix::process::Signal;

    let ground = Ground::project();
    let (code, lines) = signalled(long_run(&ground, 300, "trap '' HUP;"), Signal::HUP);
    assert_eq!(code, Some(0), "{lines:?}");
    assert_eq!(lines[lines.len() - 2]["reply"], "late", "{lines:?}");
}
