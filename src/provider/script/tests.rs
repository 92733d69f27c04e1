#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use futures_util::StreamExt;
use serde_json::json;

use super::*;
use crate::domain::ids::{CallId, TaskId};
use crate::domain::message::{StopReason, ToolCall};
use crate::domain::usage::Usage;
use crate::provider::{Chunk, ToolChoice};

fn request(run: RunId, depth: u32, text: &str) -> Request {
    Request {
        run,
        depth,
        system: "be brief".into(),
        tools: [].into(),
        tool_choice: ToolChoice::Auto,
        messages: vec![Arc::new(Message::User { text: text.to_owned() })],
        max_tokens: 1_000,
        temperature: None,
    }
}

fn parent(text: &str) -> Request {
    request(RunId::parent(1), 0, text)
}

fn child(task: u32, text: &str) -> Request {
    request(RunId::child(TaskId(task), 1), 1, text)
}

async fn ask(script: &Script, request: Request) -> Result<Vec<Chunk>, ProviderError> {
    let chunks: Vec<_> = script.stream(request).collect().await;
    chunks.into_iter().collect()
}

async fn text(script: &Script, request: Request) -> String {
    let pieces = ask(script, request).await.unwrap().into_iter().map(|chunk| match chunk {
        Chunk::Text(text) => text,
        _ => String::new(),
    });
    pieces.collect()
}

fn script(value: &serde_json::Value) -> Script {
    Script::from_json(&value.to_string()).unwrap()
}

#[tokio::test]
async fn a_turn_is_played_in_wire_order_with_its_usage_and_price() {
    let script = script(&json!({
        "prices": {"input": 1.0, "output": 10.0, "per": 1_000_000},
        "turns": [{
            "thinking": "hm", "text": "now",
            "tool_calls": [
                {"id": "c1", "name": "task", "arguments": "{\"prompt\": \"alpha\"}"},
                {"id": "c2", "name": "no_such_tool", "arguments": {"n": ["{n}"]}},
                {"id": "c3", "name": "read_file", "arguments": "{\"path\": "}
            ],
            "usage": {"input": 1000, "output": 100}
        }]
    }));
    let call = |id: &str, name: &str, arguments| {
        Chunk::ToolCall(ToolCall { call: CallId::from(id), name: name.to_owned(), arguments })
    };
    let usage = Usage {
        input_tokens: 1_000,
        output_tokens: 100,
        cost_usd: Some(MicroUsd(2_000)),
        ..Usage::default()
    };
    let expected = vec![
        Chunk::Reasoning("hm".to_owned()),
        Chunk::Text("now".to_owned()),
        call("c1", "task", json!({"prompt": "alpha"})),
        call("c2", "no_such_tool", json!({"n": ["1"]})),
        call("c3", "read_file", json!("{\"path\": ")),
        Chunk::Usage(usage),
        Chunk::Stop(StopReason::ToolUse),
    ];
    assert_eq!(ask(&script, parent("go")).await, Ok(expected));
}

#[tokio::test]
async fn the_parent_is_counted_through_the_session_and_children_per_run() {
    let script = script(&json!({
        "turns": [{"text": "p{n}"}, {"text": "p{n}"}],
        "children": [
            {"match": "alpha", "turns": [{"text": "a{n}"}], "repeat_last": true},
            {"match": "beta", "turns": [{"text": "b1-{n}"}, {"text": "b2-{n}"}], "cycle": true}
        ]
    }));
    assert_eq!(text(&script, parent("one")).await, "p1");
    assert_eq!(text(&script, request(RunId::parent(2), 0, "two")).await, "p2");
    for expected in ["a1", "a2", "a3"] {
        assert_eq!(text(&script, child(1, "do alpha and beta")).await, expected);
    }
    assert_eq!(text(&script, child(2, "alpha again")).await, "a1");
    for expected in ["b1-1", "b2-2", "b1-3"] {
        assert_eq!(text(&script, child(3, "beta")).await, expected);
    }
    let over = ask(&script, request(RunId::parent(3), 0, "three")).await.unwrap_err();
    assert!(
        matches!(&over, ProviderError::Script(text) if text.starts_with("script has no more turns"))
    );
}

#[tokio::test]
async fn a_child_that_nothing_matches_gets_an_error_that_names_what_was_asked() {
    let script = script(&json!({"turns": [], "children": [{"match": "alpha", "turns": []}]}));
    let error = ask(&script, child(1, "find the gamma")).await.unwrap_err();
    assert!(error.to_string().contains("find the gamma"), "{error}");
}

#[tokio::test]
async fn nothing_is_used_up_before_the_stream_is_polled() {
    let script = script(&json!({"turns": [{"text": "only"}]}));
    drop(script.stream(parent("dropped")));
    assert_eq!(text(&script, parent("played")).await, "only");
}

#[tokio::test(start_paused = true)]
async fn delays_pass_on_tokios_clock() {
    let script = script(&json!({"turns": [
        {"text": "x".repeat(401), "delay_ms": 900, "chunk_delay_ms": 10}
    ]}));
    let started = tokio::time::Instant::now();
    let chunks = ask(&script, parent("go")).await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_millis(930));
    assert_eq!(chunks.iter().filter(|chunk| matches!(chunk, Chunk::Text(_))).count(), 3);
}

#[tokio::test]
async fn an_error_is_a_status_of_the_host_script() {
    let script = script(&json!({
        "turns": [{"error": {"status": 529, "message": "busy {n}"}}], "repeat_last": true
    }));
    let error = ProviderError::Status {
        host: "script".into(),
        status: 529,
        detail: "busy 1".into(),
        retry_after: None,
    };
    assert_eq!(ask(&script, parent("go")).await, Err(error));
}

#[tokio::test]
async fn an_error_without_words_ends_in_no_colon() {
    for error in [json!({"status": 500}), json!({"status": 500, "message": " "})] {
        let script = script(&json!({"turns": [{"error": error}]}));
        let Err(error) = ask(&script, parent("go")).await else { panic!("it answered") };
        assert_eq!(error.to_string(), "script answered 500");
    }
}

#[tokio::test]
async fn usage_that_is_not_written_is_estimated_and_marked_and_within_max_tokens() {
    let script = script(&json!({
        "turns": [{"text_repeat": {"s": "子x ", "n": 20_000}, "stop": "max_tokens"}]
    }));
    let chunks = ask(&script, parent("go")).await.unwrap();
    let usage = chunks.iter().find_map(|chunk| match chunk {
        Chunk::Usage(usage) => Some(*usage),
        _ => None,
    });
    let usage = usage.unwrap();
    assert!(usage.estimated && usage.input_tokens > 0);
    assert_eq!((usage.output_tokens, usage.cost_usd), (1_000, None));
    assert_eq!(chunks.last(), Some(&Chunk::Stop(StopReason::MaxTokens)));
}

#[test]
fn stops_are_read_by_their_word_and_by_the_calls_where_there_is_none() {
    let cases = [
        (json!({}), StopReason::EndTurn),
        (json!({"stop": "end", "tool_calls": [{"name": "x"}]}), StopReason::EndTurn),
        (json!({"tool_calls": [{"name": "x"}]}), StopReason::ToolUse),
        (json!({"stop": "tool"}), StopReason::ToolUse),
        (json!({"stop": "refusal"}), StopReason::Refusal),
        (json!({"stop": "pause_turn"}), StopReason::Other("pause_turn".into())),
    ];
    for (turn, expected) in cases {
        let turn: Turn = serde_json::from_value(turn).unwrap();
        let steps = render::steps(&turn, 1, &parent("go"), None);
        assert_eq!(steps.last(), Some(&Step::chunk(Chunk::Stop(expected))));
    }
}

#[test]
fn malformed_scripts_are_refused_with_their_place_and_what_to_do() {
    let cases = [
        ("{\"turns\": [\n  {\"text\": 1}\n]}", 2, "a string"),
        ("{\"turns\": [", 1, "EOF"),
        ("{}", 1, "missing field `turns`"),
        ("{\"turns\": [], \"children\": [\n{\"turns\": []}]}", 2, "missing field `match`"),
        ("", 1, "EOF"),
    ];
    for (text, expected_line, words) in cases {
        let error = Script::from_json(text).unwrap_err();
        let place = matches!(&error, ScriptError::Malformed { line, .. } if *line == expected_line);
        assert!(place, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.to_string().contains(EXAMPLE), "{error}");
    }
}

#[test]
fn senseless_numbers_are_refused() {
    for text in [
        r#"{"turns": [], "prices": {"input": -1, "output": 1}}"#,
        r#"{"turns": [], "prices": {"input": 1, "output": 1, "per": 0}}"#,
        r#"{"turns": [{"text_repeat": {"s": "ab", "n": 9223372036854775808}}]}"#,
        r#"{"turns": [{"text_repeat": {"s": "ab", "n": 99999999}}]}"#,
    ] {
        assert!(matches!(Script::from_json(text), Err(ScriptError::Senseless { .. })), "{text}");
    }
}

#[test]
fn files_give_the_model_its_name_and_missing_ones_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.model.json");
    std::fs::write(&path, "{\"turns\": [], \"model\": \"ignored\"}").unwrap();
    let script = Script::load(&path).unwrap();
    assert_eq!((script.identity().model.as_str(), script.identity().prices), ("demo", None));
    let missing = Script::load(folder.path().join("none.json")).unwrap_err();
    assert!(missing.to_string().contains("none.json"), "{missing}");
}

#[test]
fn the_scripts_of_the_public_cases_load() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let scripts = paths.filter(|path| path.to_string_lossy().ends_with(".model.json"));
    let loaded: Vec<Script> = scripts.map(|path| Script::load(path).unwrap()).collect();
    assert!(!loaded.is_empty());
}
