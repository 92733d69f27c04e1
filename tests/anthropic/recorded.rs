//! Recorded streams and answers, read as somebody checked them by hand.

use offshoot::domain::message::StopReason;
use offshoot::domain::usage::Usage;
use offshoot::provider::{Chunk, ProviderError};
use serde_json::{Value, json};

use super::bench::*;
use crate::common::raw_server::Reply;
use crate::common::recorded::{self, reply};

/// Below this a stream is also sent in pieces of 4, 5 and 6 bytes.
const SMALL: usize = 8 * 1024;

#[tokio::test]
async fn recorded_answers_read_as_checked_by_hand_whole_and_in_pieces() {
    for (file, body, checked) in recorded::of("anthropic") {
        let sizes: &[usize] = if body.len() < SMALL {
            &[usize::MAX, 1, 2, 3, 4, 5, 6, 7]
        } else {
            &[usize::MAX, 1, 2, 3, 7]
        };
        for &split in sizes {
            let reply = reply(&body, &checked).split(split);
            // What a paused answer goes on with.
            let rest = Reply::events(whole(&[], "end_turn"));
            let server = serve(vec![reply, rest]).await;
            let (chunks, error) = ask(&provider(&server), request(vec![user("go")])).await;
            let paused = checked["stop_reason"] == "pause_turn";
            assert_eq!(server.bodies().len(), if paused { 2 } else { 1 }, "{file}");
            let place = format!("{file} in pieces of {split}");
            assert_content(&chunks, &checked, &place);
            assert_usage(&chunks, &checked, paused, &place);
            assert_end(&chunks, error.as_ref(), &checked, &place);
        }
    }
}

fn assert_content(chunks: &[Chunk], checked: &Value, place: &str) {
    let (mut text, mut thinking) = (String::new(), String::new());
    let (mut calls, mut server_tools) = (Vec::new(), Vec::new());
    for chunk in chunks {
        match chunk {
            Chunk::Text(piece) => text.push_str(piece),
            Chunk::Reasoning(piece) => thinking.push_str(piece),
            Chunk::ToolCall(call) => calls.push(call),
            Chunk::Opaque(block) if block["type"] == "server_tool_use" => {
                server_tools.push(block["name"].clone());
            }
            _ => {}
        }
    }
    assert_eq!(json!(text), checked["text"], "{place}");
    assert_eq!(thinking, checked["thinking"].as_str().unwrap_or_default(), "{place}");
    assert_eq!(checked["refusal"], Value::Null, "{place}");
    assert_eq!(json!(server_tools), checked["server_tools"], "{place}");
    let expected = checked["tool_calls"].as_array().unwrap();
    assert_eq!(calls.len(), expected.len(), "{place}");
    for (call, expected) in calls.iter().zip(expected) {
        assert_eq!(json!(call.call.as_str()), expected["id"], "{place}");
        assert_eq!(json!(call.name), expected["name"], "{place}");
        let whole = expected["complete"].as_bool().unwrap();
        let arguments = if whole { "arguments" } else { "arguments_raw" };
        assert_eq!(call.arguments, expected[arguments], "{place}");
    }
    assert_blocks(chunks, checked, place);
}

/// The kinds of blocks in the order in which they come to stand in a history.
fn assert_blocks(chunks: &[Chunk], checked: &Value, place: &str) {
    let Some(expected) = checked["block_types"].as_array() else { return };
    let mut kinds: Vec<String> = Vec::new();
    for chunk in chunks {
        let kind = match chunk {
            Chunk::Text(_) => "text",
            Chunk::Signature(_) if kinds.last().is_some_and(|kind| kind == "thinking") => continue,
            Chunk::Reasoning(_) | Chunk::Signature(_) => "thinking",
            Chunk::Redacted(_) => "redacted_thinking",
            Chunk::ToolCall(_) => "tool_use",
            Chunk::Opaque(block) => block["type"].as_str().unwrap(),
            Chunk::Alive | Chunk::Usage(_) | Chunk::Stop(_) => continue,
        };
        kinds.push(kind.to_owned());
    }
    assert_eq!(json!(kinds), json!(expected), "{place}");
}

fn assert_usage(chunks: &[Chunk], checked: &Value, paused: bool, place: &str) {
    let told = chunks.iter().filter_map(|chunk| match chunk {
        Chunk::Usage(usage) => Some(*usage),
        _ => None,
    });
    let told: Vec<Usage> = told.collect();
    // After a pause two more counts come, of the request that goes on.
    let last = told[..told.len() - if paused { 2 } else { 0 }].last();
    let counted = &checked["usage"];
    if counted.is_null() {
        assert_eq!(last, None, "{place}");
        return;
    }
    let count = |key: &str| counted[key].as_u64().unwrap_or(0);
    let (read, write) = (count("cache_read"), count("cache_write"));
    let expected = Usage {
        input_tokens: count("input") + read + write,
        output_tokens: count("output"),
        cache_read_tokens: read,
        cache_write_tokens: write,
        reasoning_tokens: count("reasoning"),
        ..Usage::default()
    };
    assert_eq!(last, Some(&expected), "{place}");
}

fn assert_end(chunks: &[Chunk], error: Option<&ProviderError>, checked: &Value, place: &str) {
    if checked["error"].is_null() {
        assert_eq!(error, None, "{place}");
        let expected = match checked["stop_reason"].as_str().unwrap() {
            // The first after the pause that was followed up.
            "end_turn" | "stop_sequence" | "pause_turn" => StopReason::EndTurn,
            "tool_use" => StopReason::ToolUse,
            "max_tokens" => StopReason::MaxTokens,
            "refusal" => StopReason::Refusal,
            other => panic!("{place}: {other}"),
        };
        assert_eq!(chunks.last(), Some(&Chunk::Stop(expected.clone())), "{place}");
        assert_eq!(checked["cut"] == true, expected == StopReason::MaxTokens, "{place}");
        return;
    }
    let message = checked["error"]["message"].as_str().unwrap();
    let kind = checked["error"]["type"].as_str().unwrap();
    let error = error.unwrap_or_else(|| panic!("{place}: no error"));
    let words = error.to_string();
    assert!(words.contains(message) && words.contains(kind), "{place}: {words}");
    match error {
        ProviderError::Status { status, .. } => {
            let http = checked["error"]["http_status"].as_u64().unwrap();
            // Inside a stream the kind of the error says what the status would have been.
            let expected = if kind == "overloaded_error" { 529 } else { http };
            assert_eq!(u64::from(*status), expected, "{place}");
        }
        ProviderError::ContextExceeded { .. } => assert!(place.contains("context"), "{place}"),
        other => panic!("{place}: {other}"),
    }
    assert!(!chunks.iter().any(|chunk| matches!(chunk, Chunk::Stop(_))), "{place}");
}
