//! Recorded streams and answers, read as somebody checked them by hand.

use std::collections::BTreeSet;

use offshoot::domain::message::StopReason;
use offshoot::domain::usage::Usage;
use offshoot::provider::{Chunk, ProviderError};
use serde_json::{Value, json};

use super::bench::*;
use crate::common::raw_server::{End, Reply};
use crate::common::recorded::{self, reply};

/// Below this a stream is sent in pieces of every small size.
const SMALL: usize = 8 * 1024;

/// The dialect of the server that a file was recorded from.
fn profile(file: &str) -> &str {
    let vendor = file.split(['-', '.']).next().unwrap();
    match vendor {
        "compat" | "venice" => "generic",
        "gpustack" => "vllm",
        known => known,
    }
}

#[tokio::test]
async fn recorded_answers_read_as_checked_by_hand_whole_and_in_pieces() {
    for (file, body, checked) in recorded::of("openai-chat") {
        let sizes: &[usize] = if body.len() < SMALL {
            &[usize::MAX, 1, 2, 3, 4, 5, 6, 7]
        } else {
            &[usize::MAX, 1, 2, 3, 7]
        };
        for &split in sizes {
            let server = serve(vec![reply(&body, &checked).split(split)]).await;
            // As its own dialect; once also as an unknown server on this machine.
            let more = if split == usize::MAX { "local" } else { profile(&file) };
            for profile in BTreeSet::from([profile(&file), more]) {
                let place = format!("{file} as {profile} in pieces of {split}");
                let (chunks, error) = ask_go(&speaking(&server, profile)).await;
                assert_content(&chunks, &checked, &place);
                assert_usage(&chunks, &checked, &file);
                assert_end(&chunks, error.as_ref(), &checked, &place);
            }
        }
    }
}

/// `ended_by`: who says `[DONE]` need not close the connection.
#[tokio::test]
async fn a_stream_is_over_at_its_own_end_mark() {
    for (file, body, checked) in recorded::of("openai-chat") {
        // One lost the blank line behind its mark when it was recorded.
        let marked = checked["ended_by"] == "[DONE]" && body.ends_with(b"\n\n");
        if marked && checked["error"].is_null() {
            let server = serve(vec![reply(&body, &checked).ending(End::Hang)]).await;
            let (chunks, error) = ask_go(&provider(&server)).await;
            assert_end(&chunks, error.as_ref(), &checked, &file);
        }
    }
}

/// A recorded stream that is cut anywhere before its end mark is no answer.
#[tokio::test]
async fn a_recorded_stream_that_is_cut_is_a_failure_and_gives_no_call() {
    for (file, body, checked) in recorded::of("openai-chat") {
        if checked["stream"] != true || !checked["error"].is_null() {
            continue;
        }
        let whole = String::from_utf8(body).unwrap();
        let end = whole.find("\"finish_reason\":\"").or(whole.find("[DONE]")).unwrap();
        for cut in [end / 3, end / 2, end - 1] {
            let server = serve(vec![Reply::events(&whole.as_bytes()[..cut])]).await;
            let (chunks, error) = ask_go(&provider(&server)).await;
            assert!(error.is_some(), "{file} cut at {cut}");
            let whole = |chunk: &Chunk| matches!(chunk, Chunk::ToolCall(_) | Chunk::Stop(_));
            assert!(!chunks.iter().any(whole), "{file} cut at {cut}: {chunks:?}");
        }
    }
}

/// A small model wrote its call into a code block: text if the tool was not offered, else a call.
#[tokio::test]
async fn a_recorded_call_in_the_text_is_recognised_if_the_tool_was_offered() {
    let name = "local-llamacpp-fenced-call-as-text.sse";
    let found = recorded::of("openai-chat").into_iter().find(|(file, ..)| file == name);
    let Some((_, body, _)) = found else { return };
    for split in [usize::MAX, 1, 7] {
        let server = serve(vec![Reply::events(body.clone()).split(split)]).await;
        let mut request = request(vec![user("go")]);
        request.tools = [schema("list_files")].into();
        let (chunks, error) = ask(&provider(&server), request).await;
        assert_eq!(error, None);
        let expected = [
            used(259, 29),
            made("", "list_files", json!({"path": "src"})),
            Chunk::Stop(StopReason::ToolUse),
        ];
        assert_eq!(chunks, expected);
    }
}

fn assert_content(chunks: &[Chunk], checked: &Value, place: &str) {
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for chunk in chunks {
        match chunk {
            Chunk::Text(piece) => text.push_str(piece),
            Chunk::Reasoning(piece) => thinking.push_str(piece),
            Chunk::ToolCall(call) => calls.push(call),
            Chunk::Signature(_)
            | Chunk::Redacted(_)
            | Chunk::Opaque(_)
            | Chunk::Alive
            | Chunk::Usage(_)
            | Chunk::Stop(_) => {}
        }
    }
    let words = |key: &str| checked[key].as_str().unwrap_or_default();
    assert_eq!(text, format!("{}{}", words("text"), words("refusal")), "{place}");
    assert_eq!(thinking, words("thinking"), "{place}");
    assert_eq!(checked["server_tools"], json!([]), "{place}");
    let expected = checked["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), expected.len(), "{place}");
    for (call, expected) in calls.iter().zip(expected) {
        assert_eq!(json!(call.call.as_str()), expected["id"], "{place}");
        assert_eq!(json!(call.name), expected["name"], "{place}");
        let whole = expected["complete"].as_bool().unwrap();
        let arguments = if whole { "arguments" } else { "arguments_raw" };
        assert_eq!(call.arguments, expected[arguments], "{place}");
    }
}

fn assert_usage(chunks: &[Chunk], checked: &Value, file: &str) {
    let mut told = chunks.iter().filter_map(|chunk| match chunk {
        Chunk::Usage(usage) => Some(*usage),
        _ => None,
    });
    let counted = &checked["usage"];
    if counted.is_null() {
        assert_eq!(told.next_back(), None, "{file}");
        return;
    }
    let count = |key: &str| counted[key].as_u64().unwrap_or(0);
    // This vendor alone counts the reasoning beside the output, and its total says so.
    let is_xai = file.starts_with("xai") || file == "compat-two-tools-no-index.sse";
    let beside = if is_xai { count("reasoning") } else { 0 };
    let expected = Usage {
        input_tokens: count("input"),
        output_tokens: count("output") + beside,
        cache_read_tokens: count("cache_read"),
        cache_write_tokens: count("cache_write"),
        reasoning_tokens: count("reasoning"),
        ..Usage::default()
    };
    assert_eq!(told.next_back(), Some(expected), "{file}");
}

/// An error stands in place of the reason to stop: an answer that failed has none.
fn assert_end(chunks: &[Chunk], error: Option<&ProviderError>, checked: &Value, place: &str) {
    let reported = &checked["error"];
    if !reported.is_null() {
        let error = error.unwrap_or_else(|| panic!("{place}: no error"));
        assert_error(error, reported, place);
        assert!(!chunks.iter().any(|chunk| matches!(chunk, Chunk::Stop(_))), "{place}");
        return;
    }
    assert_eq!(error, None, "{place}");
    let called = !checked["tool_calls"].as_array().unwrap().is_empty();
    let expected = match checked["stop_reason"].as_str() {
        _ if checked["refusal"].is_string() => StopReason::Refusal,
        Some("length") => StopReason::MaxTokens,
        Some("tool_calls") => StopReason::ToolUse,
        // Never said: the end mark came all the same.
        None if called => StopReason::ToolUse,
        Some("stop") | None => StopReason::EndTurn,
        Some(other) => panic!("{place}: {other}"),
    };
    assert_eq!(chunks.last(), Some(&Chunk::Stop(expected.clone())), "{place}");
    assert_eq!(checked["cut"] == true, expected == StopReason::MaxTokens, "{place}");
}

fn assert_error(error: &ProviderError, reported: &Value, place: &str) {
    let words = error.to_string();
    let message = reported["message"].as_str().unwrap();
    let shown: String = message.chars().take(200).collect();
    assert!(words.contains(&shown), "{place}: {words}");
    let status_in_stream = reported["code"].as_u64().or(place.starts_with("groq").then_some(400));
    let status = match reported["where"].as_str() {
        Some("stream") => status_in_stream.unwrap(),
        _ => reported["http_status"].as_u64().unwrap(),
    };
    match error {
        ProviderError::Status { status: told, retry_after, .. } => {
            assert_eq!(u64::from(*told), status, "{place}");
            assert_eq!(retry_after.is_some(), reported["retry_after"].is_string(), "{place}");
            assert!(!place.contains("context"), "{place}");
        }
        ProviderError::ContextExceeded { .. } => assert!(place.contains("context"), "{place}"),
        other => panic!("{place}: {other}"),
    }
}
