//! The built program with secrets in its environment and in a file: a child that runs commands in it.

use super::leaks::{call, found};
use super::program::{Ground, finish};
use serde_json::json;

const VARIABLE: &str = "variable-e3f7-indigo-vole";
const SECRET: &str = "secret-a8b4-russet-crane";
const PINNED: &str = "pinned-61dd-ivory-shrew";

#[test]
fn what_stands_in_the_environment_or_a_pinned_file_is_in_nothing_of_a_child() {
    let ground = Ground::project();
    let command = "env; cat /proc/self/environ; cat token.txt";
    let script = json!({
        "turns": [
            { "text": "", "tool_calls": [call("c1", "task", json!({
                "task": "alpha", "expected_output": "x", "role": "worker",
            }))] },
            { "text": "done" },
        ],
        "children": [{ "match": "alpha", "turns": [
            { "tool_calls": [call("k1", "bash", json!({ "command": command }))] },
            { "text": "ran it" },
        ]}],
    });
    let script = ground.file("play.model.json", &script.to_string());
    ground.file("token.txt", SECRET);
    let provider = format!("script:{}", script.display());
    let pinned = format!("other={PINNED}");
    let mut run = ground.command(&[
        "run",
        "--provider",
        &provider,
        "--approve",
        "all",
        "--output-format",
        "stream-json",
        "--pin",
        &pinned,
        "--pin-secret",
        "token=@token.txt",
        "go",
    ]);
    run.env("SOME_SETTING_OF_MINE", VARIABLE).env("MY_API_KEY", "key-5521-pewter-raven");
    let ended = finish(run, b"");
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let seeds = [VARIABLE, SECRET, PINNED, "key-5521-pewter-raven"];
    let mut places = vec![("the stream", ended.out.clone()), ("the errors", ended.err)];
    let trace = ground.session().join("traces/t1.1.jsonl");
    places.push(("the trace", std::fs::read_to_string(trace).unwrap()));
    assert_eq!(found(&seeds, places), Vec::<String>::new());
    // The command may have been refused where no fence can be had; where it ran, it saw the file.
    let ran =
        ended.out.lines().any(|line| line.contains("\"tool_started\"") && line.contains("k1"));
    if ran {
        assert!(ended.out.contains("(redacted)"), "the file was really read");
    } else {
        super::common::aloud::skipped("the command of the child was not let run here");
    }
}
