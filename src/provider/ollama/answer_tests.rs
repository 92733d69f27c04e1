//! One answer, line by line.
#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;

fn read(lines: &[Value]) -> Step {
    let mut answer = Answer::new(vec!["list_files".to_owned()], 77);
    let mut chunks = Vec::new();
    for line in lines {
        let step = answer.take(&line.to_string());
        chunks.extend(step.chunks);
        if step.over {
            return Step { chunks, ..step };
        }
    }
    let end = answer.end();
    chunks.extend(end.chunks);
    Step { chunks, ..end }
}

fn said(message: &Value) -> Value {
    json!({"model": "m", "message": message, "done": false})
}

fn done(reason: &str) -> Value {
    json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": reason,
        "prompt_eval_count": 10, "eval_count": 4})
}

fn made(id: &str, arguments: Value) -> Chunk {
    Chunk::ToolCall(ToolCall { call: CallId::from(id), name: "list_files".to_owned(), arguments })
}

fn used(input_tokens: u64, estimated: bool) -> Chunk {
    Chunk::Usage(Usage { input_tokens, output_tokens: 4, estimated, ..Usage::default() })
}

#[test]
fn thinking_text_and_calls_come_apart_and_calls_get_ids() {
    let call =
        |path: &str| json!({"function": {"name": "list_files", "arguments": {"path": path}}});
    let step = read(&[
        said(&json!({"content": "", "thinking": "hm"})),
        said(&json!({"content": "I look"})),
        said(&json!({"content": "", "tool_calls": [call("a"), call("b")]})),
        done("stop"),
    ]);
    let expected = [
        Chunk::Reasoning("hm".to_owned()),
        Chunk::Text("I look".to_owned()),
        used(10, false),
        made("call_1", json!({"path": "a"})),
        made("call_2", json!({"path": "b"})),
        Chunk::Stop(StopReason::ToolUse),
    ];
    assert_eq!(step.chunks, expected);
}

#[test]
fn a_cut_answer_has_no_whole_call_at_its_end() {
    let call = json!({"id": "x", "function": {"name": "list_files", "arguments": {"path": "a"}}});
    let step = read(&[said(&json!({ "tool_calls": [call] })), done("length")]);
    let half = made("x", json!("{\"path\":\"a\"}"));
    assert_eq!(step.chunks, [used(10, false), half, Chunk::Stop(StopReason::MaxTokens)]);
}

#[test]
fn an_error_or_an_early_end_keeps_the_words_and_no_call() {
    let call = json!({"function": {"name": "list_files", "arguments": {}}});
    let begun = said(&json!({"content": "half", "tool_calls": [call]}));
    let error = read(&[begun.clone(), json!({"error": "model runner crashed"})]);
    assert_eq!(error.chunks, [Chunk::Text("half".to_owned())]);
    assert!(error.failure.unwrap().detail.contains("model runner crashed"));
    let early = read(&[begun]);
    assert_eq!(early.chunks, [Chunk::Text("half".to_owned())]);
    assert!(early.failure.unwrap().detail.contains("before the answer was whole"));
    assert!(read(&[]).failure.unwrap().detail.contains("no content"));
}

#[test]
fn a_call_or_thoughts_in_the_text_are_recognised() {
    let spoken = "<think>hm</think>{\"name\": \"list_files\", \"arguments\": {\"path\": \"a\"}}";
    let step = read(&[said(&json!({ "content": spoken })), done("stop")]);
    let expected = [
        Chunk::Reasoning("hm".to_owned()),
        used(10, false),
        made("call_1", json!({"path": "a"})),
        Chunk::Stop(StopReason::ToolUse),
    ];
    assert_eq!(step.chunks, expected);
}

#[test]
fn a_prompt_that_was_all_cached_is_estimated() {
    let step = read(&[json!({"message": {"content": "a"}, "done": true, "eval_count": 4})]);
    let expected = [Chunk::Text("a".to_owned()), used(77, true), Chunk::Stop(StopReason::EndTurn)];
    assert_eq!(step.chunks, expected);
    let silent = read(&[json!({"done": true, "done_reason": "load"})]);
    assert_eq!(silent.chunks, [Chunk::Stop(StopReason::Other("load".to_owned()))]);
}

#[test]
fn strange_lines_never_panic() {
    let mut answer = Answer::new(Vec::new(), 0);
    for line in ["1", "null", "[]", "{\"message\":[]}", "{\"message\":{\"tool_calls\":[1,{}]}}"] {
        assert!(!answer.take(line).over, "{line}");
    }
    assert!(answer.take("<html>").failure.is_some());
}
