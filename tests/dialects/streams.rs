//! Streams by hand, one of each kind that servers were seen to send, whole and in pieces.

use std::time::Duration;

use futures_util::StreamExt;
use offshoot::domain::message::StopReason;
use offshoot::domain::usage::Usage;
use offshoot::provider::{Chunk, Provider, ProviderError};
use serde_json::{Value, json};

use super::bench::*;
use crate::common::raw_server::{End, Reply};

fn called(calls: Vec<Chunk>) -> Vec<Chunk> {
    [calls, vec![Chunk::Stop(StopReason::ToolUse)]].concat()
}

fn answered(chunks: Vec<Chunk>) -> Vec<Chunk> {
    [chunks, vec![Chunk::Stop(StopReason::EndTurn)]].concat()
}

fn one(id: &Value, name: &str, arguments: &str) -> Value {
    json!([{"index": 0, "id": id, "function": {"name": name, "arguments": arguments}}])
}

/// Each kind as `(what it is, body, chunks)`.
fn kinds_of_calls() -> Vec<(&'static str, String, Vec<Chunk>)> {
    let search = |id: &str| made(id, "search", json!({"pattern": "子"}));
    let whole = "{\"pattern\":\"子\"}";
    vec![
        (
            "index from 1, id null later",
            [
                calls(&json!([{"index": 1, "id": "a", "function": {"name": "search", "arguments": ""}}])),
                calls(&json!([{"index": 1, "id": null, "function": {"arguments": whole}}])),
                finish("tool_calls"),
                DONE.to_owned(),
            ]
            .concat(),
            called(vec![search("a")]),
        ),
        (
            "one index for all, ids apart",
            [calls(&one(&json!("a"), "search", whole)), calls(&one(&json!("b"), "search", whole)), finish("tool_calls")].concat(),
            called(vec![search("a"), search("b")]),
        ),
        (
            "one index for all, no ids",
            [calls(&one(&json!(null), "search", whole)), calls(&one(&json!(""), "search", whole)), finish("stop"), DONE.to_owned()].concat(),
            called(vec![search(""), search("")]),
        ),
        (
            "id, role and name in every piece, no finish_reason",
            [
                delta(&json!({"role": "assistant", "content": null, "tool_calls": one(&json!("0"), "search", "")})),
                delta(&json!({"role": "assistant", "content": null, "tool_calls": one(&json!("0"), "search", whole)})),
                DONE.to_owned(),
            ]
            .concat(),
            called(vec![search("0")]),
        ),
        (
            "arguments absent and as the text null",
            [
                calls(&json!([{"index": 0, "id": "a", "function": {"name": "search"}}])),
                calls(&json!([{"index": 1, "id": "b", "function": {"name": "search", "arguments": "null"}}])),
                finish("tool_calls"),
            ]
            .concat(),
            called(vec![made("a", "search", json!({})), made("b", "search", json!({}))]),
        ),
    ]
}

/// The same for words, their end and what they cost.
fn kinds_of_words() -> Vec<(&'static str, String, Vec<Chunk>)> {
    vec![
        (
            "empty choices first, usage beside the last choice, CRLF, no [DONE]",
            [
                event(&json!({"choices": [], "prompt_filter_results": []})),
                delta(&json!({"role": "assistant", "content": "子🦀"})),
                event(&json!({"choices": [{"delta": {}, "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": 3, "completion_tokens": 2}})),
            ]
            .concat()
            .replace('\n', "\r\n"),
            answered(vec![text("子🦀"), used(3, 2)]),
        ),
        (
            "usage under x_groq",
            [
                delta(&json!({"content": "a"})),
                event(&json!({"choices": [{"delta": {}, "finish_reason": "stop"}],
                    "x_groq": {"usage": {"prompt_tokens": 3, "completion_tokens": 2}}})),
                DONE.to_owned(),
            ]
            .concat(),
            answered(vec![text("a"), used(3, 2)]),
        ),
        (
            "content as parts, reasoning apart",
            [
                delta(&json!({"reasoning_content": "so "})),
                delta(&json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]})),
                delta(&json!({"content": [{"type": "text", "text": "子"}]})),
                finish("stop"),
                DONE.to_owned(),
            ]
            .concat(),
            answered(vec![Chunk::Reasoning("so hm".to_owned()), text("子")]),
        ),
        (
            "a refusal",
            [delta(&json!({"refusal": "I ca"})), delta(&json!({"refusal": "n't"})), finish("stop"), DONE.to_owned()].concat(),
            vec![text("I can't"), Chunk::Stop(StopReason::Refusal)],
        ),
        (
            "a call cut by length",
            [calls(&one(&json!("a"), "search", "{\"pat")), finish("length"), DONE.to_owned()].concat(),
            vec![made("a", "search", json!("{\"pat")), Chunk::Stop(StopReason::MaxTokens)],
        ),
        (
            "think tags and a spoken call",
            [
                delta(&json!({"content": "<think>hm</think>\n"})),
                delta(&json!({"content": "<tool_call>{\"name\": \"search\", "})),
                delta(&json!({"content": "\"arguments\": {\"pattern\": \"子\"}}</tool_call>"})),
                finish("stop"),
                DONE.to_owned(),
            ]
            .concat(),
            called(vec![
                Chunk::Reasoning("hm".to_owned()),
                made("", "search", json!({"pattern": "子"})),
            ]),
        ),
    ]
}

#[tokio::test]
async fn each_kind_of_stream_is_read_however_it_is_split() {
    for (kind, body, expected) in kinds_of_calls().into_iter().chain(kinds_of_words()) {
        for split in [usize::MAX, 1, 2, 3, 5, 7] {
            let server = serve(vec![Reply::events(body.clone()).split(split)]).await;
            let (chunks, error) = ask_go(&provider(&server)).await;
            assert_eq!((chunks, error), (expected.clone(), None), "{kind} in pieces of {split}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_no_stream_is_read_all_the_same() {
    let body = json!({
        "choices": [{"finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": null,
            "tool_calls": [{"id": "a", "type": "function",
                "function": {"name": "search", "arguments": "{\"pattern\":\"子\"}"}}]
        }}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}
    });
    let body = format!("\n{body:#}\n");
    let expected = called(vec![used(3, 2), made("a", "search", json!({"pattern": "子"}))]);
    // Under whatever name, and an event stream under the name of JSON.
    for kind in ["application/json", "text/event-stream", ""] {
        for split in [usize::MAX, 1, 7] {
            let reply = Reply::new(200, kind, body.clone()).split(split);
            // The first byte is blank, so alone it cannot tell.
            let reply =
                if split == 1 { Reply { body: body.trim().into(), ..reply } } else { reply };
            let server = serve(vec![reply]).await;
            assert_eq!(ask_go(&provider(&server)).await, (expected.clone(), None), "{kind}");
        }
    }
    let events = [delta(&json!({"content": "a"})), finish("stop")].concat();
    for split in [usize::MAX, 1] {
        let reply = Reply::new(200, "application/json", events.clone()).split(split);
        let server = serve(vec![reply]).await;
        assert_eq!(ask_go(&provider(&server)).await, (answered(vec![text("a")]), None));
    }
}

#[tokio::test]
async fn a_200_with_something_else_says_what_it_is() {
    let page = "<html><head><title>Sign in</title></head>\u{1b}]0;x\u{7}</html>";
    let error = json!({"error": {"message": "model not loaded"}}).to_string();
    for (kind, body, words) in [
        ("text/html", page, "Sign in"),
        ("text/event-stream", page, "Sign in"),
        ("application/json", error.as_str(), "model not loaded"),
        ("text/plain", error.as_str(), "model not loaded"),
        ("application/json", "{\"detail\":\"odd\"}", "odd"),
        ("application/json", "", "no event stream"),
        ("text/plain", "hello", "it begins \"hello\""),
        ("", "", "no content"),
    ] {
        let server = serve(vec![Reply::new(200, kind, body)]).await;
        let (chunks, error) = ask_go(&provider(&server)).await;
        let Some(ProviderError::Broken { detail, .. }) = error else { panic!("{body}: {error:?}") };
        assert!(detail.contains(words) && !detail.contains('\u{1b}'), "{kind} {body}: {detail}");
        assert_eq!(chunks, []);
    }
    let busy = json!({"error": {"message": "slow down", "code": 429}});
    let server = serve(vec![Reply::json(200, &busy)]).await;
    let (_, error) = ask_go(&provider(&server)).await;
    assert!(matches!(error, Some(ProviderError::Status { status: 429, .. })), "{error:?}");
}

#[tokio::test]
async fn an_error_after_half_a_call_leaves_words_and_no_call() {
    let begun =
        [delta(&json!({"content": "I look"})), calls(&one(&json!("a"), "search", "{}"))].concat();
    let error = event(&json!({"error": {"message": "Overloaded", "code": 503}}));
    let named = format!(
        "event: error\n{}",
        event(&json!({"error": {"message": "Overloaded", "type": "overloaded_error"}}))
    );
    for (end, end_of_connection) in [
        (error, End::Close),
        (named, End::Close),
        (finish("error"), End::Close),
        (String::new(), End::Close),
        (String::new(), End::Break),
    ] {
        let server =
            serve(vec![Reply::events(begun.clone() + &end).ending(end_of_connection)]).await;
        let (chunks, error) = ask_go(&provider(&server)).await;
        assert_eq!(chunks, [text("I look")]);
        assert!(error.is_some(), "{end}");
        let reported = end.contains("Overloaded");
        assert_eq!(matches!(error, Some(ProviderError::Status { status: 503, .. })), reported);
    }
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_told_apart_in_a_stream_too() {
    let words = "This model's maximum context length is 10 tokens, you requested 20";
    let error = json!({"error": {"message": words, "code": 400}});
    for reply in [Reply::json(400, &error), Reply::json(200, &error), Reply::events(event(&error))]
    {
        let server = serve(vec![reply]).await;
        let (_, error) = ask_go(&provider(&server)).await;
        assert!(matches!(error, Some(ProviderError::ContextExceeded { .. })), "{error:?}");
    }
}

/// Held-back arguments and comments show nothing, yet the server is not silent.
#[tokio::test]
async fn what_shows_nothing_is_a_sign_of_life() {
    let silent = [
        (": OPENROUTER PROCESSING\n\n".to_owned(), Chunk::Alive),
        (calls(&one(&json!("a"), "search", "{\"pattern\":")), Chunk::CallPart),
    ];
    for (body, sign) in silent {
        let server = serve(vec![Reply::events(body).ending(End::Hang)]).await;
        let mut stream = provider(&server).stream(request(vec![user("go")]));
        assert_eq!(stream.next().await, Some(Ok(sign)));
        let more = tokio::time::timeout(Duration::from_millis(20), stream.next()).await;
        assert!(more.is_err(), "then it waits: {more:?}");
    }
}

/// Public case B015: work grew with the square of a long argument's pieces.
#[tokio::test]
async fn two_megabytes_of_arguments_in_twenty_thousand_pieces_are_one_call() {
    let piece = "0123456789".repeat(10);
    let mut body = calls(&one(&json!("a"), "search", "{\"pattern\":\""));
    for _ in 0..20_000 {
        body.push_str(&calls(&json!([{"index": 0, "function": {"arguments": piece}}])));
    }
    body.push_str(&calls(&json!([{"index": 0, "function": {"arguments": "\"}"}}])));
    body.push_str(&finish("tool_calls"));
    let server = serve(vec![Reply::events(body)]).await;
    let (chunks, error) = ask_go(&provider(&server)).await;
    assert_eq!(error, None);
    let Some(Chunk::ToolCall(call)) = chunks.first() else { panic!("no call") };
    assert_eq!(call.arguments["pattern"].as_str().unwrap().len(), 2_000_000);
}

/// Public case B103: cached tokens were counted twice, or not at all.
#[tokio::test]
async fn usage_is_normalised_as_the_table_says() {
    let table: Value = serde_json::from_str(&fixture("B103-cache-double.usage.json")).unwrap();
    for case in table["cases"].as_array().unwrap() {
        if !matches!(case["api"].as_str().unwrap(), "openai" | "deepseek") {
            continue;
        }
        let last = event(&json!({"choices": [], "usage": case["usage"]}));
        let body =
            [delta(&json!({"content": "a"})), finish("stop"), last, DONE.to_owned()].concat();
        let server = serve(vec![Reply::events(body)]).await;
        let (chunks, _) = ask_go(&provider(&server)).await;
        let told = chunks.iter().find_map(|chunk| match chunk {
            Chunk::Usage(usage) => Some(*usage),
            _ => None,
        });
        let normal = |usage: Usage| {
            json!({
                "uncached": usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens,
                "cache_read": usage.cache_read_tokens,
                "cache_write": usage.cache_write_tokens,
                "output": usage.output_tokens,
                "context": usage.input_tokens,
            })
        };
        assert_eq!(told.map_or(Value::Null, normal), case["norm"], "{case}");
    }
}
