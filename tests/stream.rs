//! The whole program, asked once without a screen: what its stream says, line by line, and what it
//! leaves on the disk.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "common/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use offshoot::domain::hash::Sha;
use program::{Ended, Ground, QUESTION};
use serde_json::Value;

/// One run, with everything that it left.
struct Asked {
    ended: Ended,
    lines: Vec<Value>,
    session: Vec<Value>,
    trace: Vec<Value>,
}

fn ask() -> Asked {
    let ground = Ground::project();
    let ended = ground.run(&["run", "--output-format", "stream-json", QUESTION]);
    let folder = ground.session();
    for (path, mode) in [
        (folder.clone(), 0o700),
        (folder.join("session.jsonl"), 0o600),
        (folder.join("traces"), 0o700),
        (folder.join("traces/t1.1.jsonl"), 0o600),
    ] {
        let found = path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(found, mode, "{}: {found:o}", path.display());
    }
    Asked {
        lines: parsed(&ended.out),
        session: read(&folder.join("session.jsonl")),
        trace: read(&folder.join("traces/t1.1.jsonl")),
        ended,
    }
}

fn read(path: &Path) -> Vec<Value> {
    parsed(&std::fs::read_to_string(path).unwrap())
}

/// Every line is an object, and nothing follows the last one.
fn parsed(text: &str) -> Vec<Value> {
    assert!(text.ends_with('\n'), "the last line is cut");
    text.lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
            assert!(value.is_object(), "{line}");
            value
        })
        .collect()
}

fn of_type<'a>(lines: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    lines.iter().filter(move |line| line["type"] == kind)
}

fn only<'a>(lines: &'a [Value], kind: &'a str, of_child: bool) -> &'a Value {
    let found: Vec<_> =
        of_type(lines, kind).filter(|line| line.get("task").is_some() == of_child).collect();
    assert_eq!(found.len(), 1, "{kind}: {found:#?}");
    found[0]
}

#[test]
fn the_stream_tells_everything_in_order_and_the_files_tell_the_same() {
    let asked = ask();
    assert_eq!(asked.ended.code, Some(0), "{}", asked.ended.err);
    for lines in [&asked.lines, &asked.session, &asked.trace] {
        envelopes_are_whole(lines);
    }
    calls_pair(&asked.lines);
    the_child_is_told_by_its_contract(&asked.lines);
    the_end_is_the_parents(&asked.lines);
    files_hold_the_same_events(&asked);
}

fn envelopes_are_whole(lines: &[Value]) {
    let mut last_id = 0;
    for (seq, line) in (1_u64..).zip(lines) {
        assert_eq!(line["v"], 1, "{line}");
        assert_eq!(line["seq"], seq, "{line}");
        let id = line["id"].as_u64().unwrap();
        assert!(id > last_id, "{id} after {last_id}");
        last_id = id;
        let ts = line["ts"].as_str().unwrap();
        assert!(ts.len() == 24 && ts.ends_with('Z') && ts.as_bytes()[19] == b'.', "{ts}");
        let of_child = line.get("task").is_some();
        for field in ["parent_run", "attempt"] {
            assert_eq!(line.get(field).is_some(), of_child, "{field}: {line}");
        }
    }
}

/// Every call of a message gets exactly one result, after it was asked for and, if it started,
/// after that; the first child makes at least three.
fn calls_pair(lines: &[Value]) {
    type Key = (String, String);
    let mut open: BTreeMap<Key, bool> = BTreeMap::new();
    let mut finished = BTreeMap::<String, usize>::new();
    for line in lines {
        let run = line["run"].as_str().unwrap_or_default().to_owned();
        let key = |call: &Value| (run.clone(), call.as_str().unwrap().to_owned());
        match line["type"].as_str().unwrap() {
            "message" => {
                for call in line["tool_calls"].as_array().unwrap() {
                    let twice = open.insert(key(&call["call"]), false);
                    assert_eq!(twice, None, "{call}");
                }
            }
            "tool_started" => {
                let started = open.get_mut(&key(&line["call"])).expect("started, never asked for");
                assert!(!std::mem::replace(started, true), "started twice: {line}");
            }
            "tool_finished" => {
                let started = open.remove(&key(&line["call"])).expect("finished, never asked for");
                assert!(started || line["ok"] == false, "{line}");
                *finished.entry(run).or_default() += 1;
            }
            _ => {}
        }
    }
    assert_eq!(open, BTreeMap::new(), "calls without a result");
    assert_eq!(finished.get("r1"), Some(&1), "the parent's history grew by one call");
    assert!(finished["t1.1"] >= 3, "{finished:?}");
}

fn the_child_is_told_by_its_contract(lines: &[Value]) {
    let call = &only(lines, "tool_started", false)["call"];
    let started = only(lines, "run_started", true);
    assert_eq!(started["call"], *call);
    assert_eq!(started["depth"], 1);
    assert_eq!(started["role"], "researcher");
    assert_eq!((&started["run"], &started["parent_run"]), (&"t1.1".into(), &"r1".into()));
    assert_eq!((&started["task"], &started["attempt"]), (&"t1".into(), &1.into()));
    let contract = &started["contract"];
    for field in ["prompt", "expected_output", "provider", "model"] {
        assert!(contract[field].as_str().is_some_and(|text| !text.is_empty()), "{field}");
    }
    assert_eq!(contract["permissions"], serde_json::json!(["read"]));
    let mut tools: Vec<_> =
        contract["tools"].as_array().unwrap().iter().map(|tool| tool.as_str().unwrap()).collect();
    tools.sort_unstable();
    assert_eq!(tools, ["list_files", "read_file", "search"]);
    assert_eq!(contract["paths"], serde_json::json!(["."]));
    for snippet in contract["context"].as_array().unwrap() {
        let fields: Vec<_> = snippet.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["key", "kind", "source", "bytes", "sha256"], "and no text");
    }
    let dimensions =
        ["turns", "input_tokens", "output_tokens", "tool_calls", "cost_usd", "duration_ms"];
    let parent = &only(lines, "run_started", false)["contract"]["budget"];
    for dimension in dimensions {
        let (own, share) = (&contract["budget"][dimension], &contract["share"][dimension]);
        assert!(own.as_f64().unwrap() < parent[dimension].as_f64().unwrap(), "{dimension}");
        assert!((0.0..1.0).contains(&share.as_f64().unwrap()), "{dimension}: {share}");
    }
}

fn the_end_is_the_parents(lines: &[Value]) {
    let [.., run, session] = lines else { panic!("too short") };
    assert_eq!((&run["type"], &run["run"]), (&"run_finished".into(), &"r1".into()));
    assert_eq!(run["status"], "completed");
    let reply = run["reply"].as_str().unwrap();
    assert!(reply.contains("pytest") && reply.contains("pyproject.toml"), "{reply}");
    assert_eq!(session["type"], "session_finished");
    let child = only(lines, "run_finished", true);
    assert_eq!(child["status"], "completed");
    assert_eq!(child["report"]["task_id"], "t1");
    let result: Value =
        serde_json::from_str(only(lines, "tool_finished", false)["output"].as_str().unwrap())
            .unwrap();
    assert_eq!(result, child["report"], "the parent reads the report and nothing else");
    let read = only(lines, "tool_finished", false)["output"].as_str().unwrap();
    assert_eq!(child["report_sha256"], Sha::of(read).as_str(), "the hash of what the parent read");
}

/// Each recorded line is the stream's line of the same id, but for the number that each sink gives
/// and for the texts of snippets, which the session file alone holds.
fn files_hold_the_same_events(asked: &Asked) {
    let by_id: BTreeMap<u64, &Value> =
        asked.lines.iter().map(|line| (line["id"].as_u64().unwrap(), line)).collect();
    for line in asked.session.iter().chain(&asked.trace) {
        let kind = line["type"].as_str().unwrap();
        assert!(!matches!(kind, "text_delta" | "reasoning_delta" | "tool_progress"), "{line}");
        let streamed = by_id[&line["id"].as_u64().unwrap()];
        assert_eq!(bare(line), bare(streamed));
    }
    let kinds = |lines: &[Value], of_child: bool| -> Vec<String> {
        let own = lines.iter().filter(|line| line.get("task").is_some() == of_child);
        own.map(|line| line["type"].as_str().unwrap().to_owned())
            .filter(|kind| !kind.ends_with("_delta"))
            .collect()
    };
    assert_eq!(kinds(&asked.session, true), ["run_started", "run_finished"]);
    assert_eq!(kinds(&asked.session, false), kinds(&asked.lines, false), "nothing is left out");
    assert_eq!(kinds(&asked.trace, true), kinds(&asked.lines, true), "nothing is left out");
    assert!(kinds(&asked.trace, false).is_empty());
    let of_session = &of_type(&asked.session, "session_started").next().unwrap()["session"];
    assert_eq!(asked.trace[0]["type"], "run_started");
    assert_eq!(&asked.trace[0]["session"], of_session, "a trace says where it belongs");
    assert!(asked.trace[1..].iter().all(|line| line.get("session").is_none()));
}

fn bare(line: &Value) -> Value {
    let mut line = line.clone();
    let fields = line.as_object_mut().unwrap();
    fields.remove("seq");
    if fields["type"] == "run_started" {
        fields.remove("session");
    }
    if fields["type"] == "context_added" {
        fields.remove("text");
    }
    line
}

#[test]
fn the_stream_without_children_is_the_parents_alone() {
    let ground = Ground::project();
    let ended = ground.run(&["run", "--output-format", "stream-json", "--no-children", QUESTION]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    let lines = parsed(&ended.out);
    envelopes_are_whole(&lines);
    assert!(lines.iter().all(|line| line.get("task").is_none()), "{}", ended.out);
    assert_eq!(of_type(&lines, "tool_finished").count(), 1);
    assert_eq!(lines.last().unwrap()["type"], "session_finished");
}
