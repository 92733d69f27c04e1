//! What streams of each kind read as, in whatever pieces they come.

use std::time::Duration;

use futures_util::StreamExt;
use offshoot::domain::message::StopReason;
use offshoot::domain::usage::Usage;
use offshoot::provider::{Chunk, Provider, ProviderError};
use serde_json::{Value, json};

use super::bench::*;
use crate::common::raw_server::{End, Reply, Seen};

fn used(input_tokens: u64, output_tokens: u64) -> Chunk {
    Chunk::Usage(Usage { input_tokens, output_tokens, ..Usage::default() })
}

/// Thinking, text and two calls with more between them, pings and comments in between.
fn full() -> String {
    let ping = event(&json!({"type": "ping"}));
    let redacted = block(4, &json!({"type": "redacted_thinking", "data": "ZW5j"}), &[]);
    [
        ": connected\n\n".to_owned(),
        started(10),
        thinking_block(0, &["First ", "子step. "], &["QUJD", "REVG"]),
        ping,
        text_block(1, &["I will ", "read 🧪."]),
        call_block(2, "toolu_1", "read_file", &["", "{\"path\":", "\"子.txt\"}"]),
        ":keep-alive\r\n\r\n".to_owned(),
        thinking_block(3, &["second"], &["R0hJ"]),
        redacted,
        text_block(5, &["and list"]),
        call_block(6, "toolu_2", "search", &[]),
        event(&json!({"type": "tea_break", "minutes": 3})),
        stopped("tool_use", 20),
        over(),
    ]
    .concat()
}

fn full_chunks() -> Vec<Chunk> {
    vec![
        used(10, 1),
        Chunk::Reasoning("First 子step. ".to_owned()),
        Chunk::Signature("QUJDREVG".to_owned()),
        text_chunk("I will read 🧪."),
        used(10, 20),
        call_chunk("toolu_1", "read_file", json!({"path": "子.txt"})),
        Chunk::Reasoning("second".to_owned()),
        Chunk::Signature("R0hJ".to_owned()),
        Chunk::Redacted("ZW5j".to_owned()),
        text_chunk("and list"),
        call_chunk("toolu_2", "search", json!({})),
        Chunk::Stop(StopReason::ToolUse),
    ]
}

#[tokio::test]
async fn an_answer_is_the_same_in_whatever_pieces_it_comes_and_blocks_keep_their_order() {
    for split in [usize::MAX, 1, 2, 3, 4, 5, 6, 7] {
        let read = read(Reply::events(full()).split(split)).await;
        assert_eq!(read, (full_chunks(), None), "pieces of {split}");
    }
}

#[tokio::test]
async fn words_are_passed_on_before_the_answer_ends_and_pings_and_calls_are_signs_of_life() {
    let body = started(10)
        + &text_block(0, &["first"])
        + &event(&json!({"type": "ping"}))
        + &call_block(1, "a", "search", &["{\"pattern\":", "1}"]);
    let mut server = serve(vec![Reply::events(body).ending(End::Hang)]).await;
    let mut stream = provider(&server).stream(request(vec![user("go")]));
    let mut chunks = Vec::new();
    // After its last event the server is silent.
    while let Ok(item) = tokio::time::timeout(Duration::from_millis(300), stream.next()).await {
        chunks.push(item.unwrap().unwrap());
    }
    let count = |sign: &Chunk| chunks.iter().filter(|chunk| *chunk == sign).count();
    assert!(count(&Chunk::Alive) >= 3, "{chunks:?}");
    assert_eq!(count(&Chunk::CallPart), 2, "the model is at work: {chunks:?}");
    chunks.retain(|chunk| !matches!(chunk, Chunk::Alive | Chunk::CallPart));
    assert_eq!(chunks, [used(10, 1), text_chunk("first")]);
    assert_eq!(server.seen.recv().await, Some(Seen::Request));
    drop(stream);
    let closed = tokio::time::timeout(Duration::from_secs(30), server.seen.recv()).await;
    assert_eq!(closed, Ok(Some(Seen::Closed)));
}

#[tokio::test]
async fn every_stop_reason_means_what_it_says() {
    for (word, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("tool_use", StopReason::ToolUse),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::MaxTokens),
        ("refusal", StopReason::Refusal),
        ("tired", StopReason::Other("tired".to_owned())),
    ] {
        let (chunks, error) = read(Reply::events(whole(&[text_block(0, &["so"])], word))).await;
        assert_eq!((chunks.last(), error), (Some(&Chunk::Stop(expected)), None), "{word}");
        assert!(chunks.contains(&text_chunk("so")), "{word}");
    }
}

#[tokio::test]
async fn a_call_that_the_output_limit_cut_keeps_its_raw_text_closed_or_not() {
    let cut = ["{\"path\":\"a.txt\",", "\"content\":\"line 1\\nhal"];
    let content = json!({"type": "tool_use", "id": "w", "name": "write_file", "input": {}});
    let raw = json!(cut.concat());
    let open = open_block(1, &content, &json_deltas(&cut));
    for blocks in [call_block(1, "w", "write_file", &cut), open] {
        let body = whole(&[text_block(0, &["Writing."]), blocks], "max_tokens");
        let (chunks, error) = read(Reply::events(body)).await;
        assert_eq!(error, None);
        let call = call_chunk("w", "write_file", raw.clone());
        let stop = Chunk::Stop(StopReason::MaxTokens);
        assert_eq!(without_usage(chunks), [text_chunk("Writing."), call, stop]);
    }
}

#[tokio::test]
async fn a_refused_answer_keeps_its_words_and_none_of_its_calls() {
    let blocks = [text_block(0, &["I wi"]), call_block(1, "a", "search", &["{}"])];
    let (chunks, error) = read(Reply::events(whole(&blocks, "refusal"))).await;
    assert_eq!(error, None);
    assert_eq!(without_usage(chunks), [text_chunk("I wi"), Chunk::Stop(StopReason::Refusal)]);
}

#[tokio::test]
async fn blocks_of_the_servers_own_are_kept_whole_and_unseen() {
    let search =
        json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "srv_1",
        "content": [{"type": "web_search_result", "encrypted_content": "e"}]});
    let unknown = json!({"type": "compaction", "content": null});
    let blocks = [
        text_block(0, &["Let me look."]),
        block(1, &search, &json_deltas(&["{\"query\": ", "\"sky\"}"])),
        block(2, &found, &[]),
        block(3, &unknown, &[json!({"type": "compaction_delta", "content": "short"})]),
        text_block(4, &["Blue."]),
    ];
    let (chunks, error) = read(Reply::events(whole(&blocks, "end_turn"))).await;
    assert_eq!(error, None);
    let mut asked = search;
    asked["input"] = json!({"query": "sky"});
    let expected = [
        text_chunk("Let me look."),
        Chunk::Opaque(asked),
        Chunk::Opaque(found),
        Chunk::Opaque(json!({"type": "compaction", "content": "short"})),
        text_chunk("Blue."),
        Chunk::Stop(StopReason::EndTurn),
    ];
    assert_eq!(without_usage(chunks), expected);
}

#[tokio::test]
async fn usage_is_told_early_and_revised() {
    let start = json!({"type": "message_start", "message": {"usage": {"input_tokens": 12,
        "cache_read_input_tokens": 9_000, "cache_creation_input_tokens": 500, "output_tokens": 1}}});
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {
        "input_tokens": 30, "output_tokens": 70, "output_tokens_details": {"thinking_tokens": 50}}});
    let body = event(&start) + &event(&start) + &event(&delta) + &over();
    let (chunks, _) = read(Reply::events(body)).await;
    let first = Usage {
        input_tokens: 9_512,
        output_tokens: 1,
        cache_read_tokens: 9_000,
        cache_write_tokens: 500,
        ..Usage::default()
    };
    let last = Usage { input_tokens: 9_530, output_tokens: 70, reasoning_tokens: 50, ..first };
    let stop = Chunk::Stop(StopReason::EndTurn);
    assert_eq!(chunks, [Chunk::Usage(first), Chunk::Usage(last), stop]);
}

#[tokio::test]
async fn servers_that_are_sloppy_with_their_events_are_understood() {
    let text_delta = json!({"type": "text_delta", "text": "hi"});
    let without_start =
        event(&json!({"type": "content_block_delta", "index": 0, "delta": text_delta}));
    let without_index = event(&json!({"type": "content_block_start", "content_block":
            {"type": "text", "text": "h"}}))
        + &event(
            &json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "i"}}),
        );
    let input_at_once = block(
        0,
        &json!({"type": "tool_use", "id": "a", "name": "search",
        "input": {"k": 1}}),
        &[],
    );
    let calls_at_once = open_block(0, &json!({"type": "tool_use", "id": "a", "name": "x"}), &[])
        + &open_block(
            1,
            &json!({"type": "tool_use", "id": "b", "name": "y"}),
            &json_deltas(&["{\"k\":"]),
        )
        + &event(
            &json!({"type": "content_block_delta", "index": 0, "delta": json_deltas(&["{}"])[0]}),
        )
        + &event(
            &json!({"type": "content_block_delta", "index": 1, "delta": json_deltas(&["2}"])[0]}),
        );
    let end = |chunks: &[Chunk], reason| [chunks, &[Chunk::Stop(reason)]].concat();
    for (body, expected) in [
        (without_start, end(&[text_chunk("hi")], StopReason::EndTurn)),
        (without_index, end(&[text_chunk("hi")], StopReason::EndTurn)),
        (input_at_once, end(&[call_chunk("a", "search", json!({"k": 1}))], StopReason::ToolUse)),
        (
            calls_at_once,
            end(
                &[call_chunk("a", "x", json!({})), call_chunk("b", "y", json!({"k": 2}))],
                StopReason::ToolUse,
            ),
        ),
        ("data: [DONE]\n\ndata: {}\n\n".to_owned(), end(&[], StopReason::EndTurn)),
    ] {
        let (chunks, error) = read(Reply::events(whole(&[body], "end_turn"))).await;
        assert_eq!((without_usage(chunks), error), (expected, None));
    }
}

#[tokio::test]
async fn an_answer_that_was_not_streamed_is_read_all_the_same() {
    let message = json!({"type": "message", "role": "assistant", "content": [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "a", "name": "search", "input": {"pattern": "x"}},
    ], "stop_reason": "tool_use", "usage": {"input_tokens": 7, "output_tokens": 3}});
    let expected = vec![
        used(7, 3),
        Chunk::Reasoning("hm".to_owned()),
        Chunk::Signature("s".to_owned()),
        text_chunk("I look."),
        call_chunk("a", "search", json!({"pattern": "x"})),
        Chunk::Stop(StopReason::ToolUse),
    ];
    for split in [usize::MAX, 7] {
        assert_eq!(read(Reply::json(200, &message).split(split)).await, (expected.clone(), None));
    }
}

#[tokio::test]
async fn events_of_a_strange_shape_never_panic() {
    let strange = [
        "1",
        "null",
        "[]",
        "\"x\"",
        "{}",
        r#"{"type":7}"#,
        r#"{"type":"message_start","message":5}"#,
        r#"{"type":"content_block_start"}"#,
        r#"{"type":"content_block_start","index":-1,"content_block":[1]}"#,
        r#"{"type":"content_block_delta","index":99,"delta":{"type":"input_json_delta"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":{}}}"#,
        r#"{"type":"content_block_stop","index":1e99}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":{}},"usage":{"output_tokens":-5}}"#,
    ];
    let events = strange.map(|data| format!("data: {data}\n\n")).concat();
    let (chunks, error) = read(Reply::events(whole(&[events], "end_turn"))).await;
    assert_eq!(error, None);
    assert_eq!(chunks.last(), Some(&Chunk::Stop(StopReason::EndTurn)));
}

#[tokio::test]
async fn blocks_without_end_are_refused() {
    let start = json!({"type": "tool_use", "id": "a", "name": "x", "input": {}});
    let many: String = (0..5_000).map(|index| open_block(index, &start, &[])).collect();
    let large = "x".repeat(1024 * 1024);
    let large = open_block(0, &start, &vec![json_deltas(&[&large])[0].clone(); 20]);
    for body in [many, large] {
        let (chunks, error) = read(Reply::events(whole(&[body], "tool_use"))).await;
        assert!(matches!(error, Some(ProviderError::Broken { .. })), "{error:?}");
        assert_eq!(without_usage(chunks), []);
    }
}

/// A long answer is read in one pass: its words are not gone through again for each piece.
#[tokio::test]
async fn a_long_answer_of_small_pieces_is_read_to_its_end() {
    let delta = json!({"type": "text_delta", "text": "0123456789 "});
    let deltas: Vec<Value> = vec![delta; 30_000];
    let long = block(0, &json!({"type": "text", "text": ""}), &deltas);
    let (chunks, error) = read(Reply::events(whole(&[long], "end_turn"))).await;
    assert_eq!(error, None);
    let text = chunks.iter().find_map(|chunk| match chunk {
        Chunk::Text(text) => Some(text.len()),
        _ => None,
    });
    assert_eq!(text, Some(330_000));
}
