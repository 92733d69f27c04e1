//! An answer that pauses is sent back and goes on in the same stream.

use offshoot::domain::message::StopReason;
use offshoot::domain::usage::Usage;
use offshoot::provider::{Chunk, ProviderError};
use serde_json::{Value, json};

use super::bench::*;
use crate::common::raw_server::Reply;

fn searches() -> Value {
    json!({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}})
}

fn found() -> Value {
    json!({"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []})
}

fn paused() -> String {
    let blocks = [
        thinking_block(0, &["hm"], &["seal"]),
        text_block(1, &["I search. "]),
        block(2, &searches(), &json_deltas(&["{\"query\":\"a\"}"])),
    ];
    whole(&blocks, "pause_turn")
}

#[tokio::test]
async fn what_was_said_goes_back_unchanged_and_the_answer_goes_on() {
    let second = whole(&[block(0, &found(), &[]), text_block(1, &["Half."])], "pause_turn");
    let third = whole(&[text_block(0, &["Done."])], "end_turn");
    let server = serve([paused(), second, third].map(Reply::events).to_vec()).await;
    let (chunks, error) = ask(&provider(&server), request(vec![user("go")])).await;
    assert_eq!(error, None);
    let mut asked = searches();
    asked["input"] = json!({"query": "a"});
    let expected = [
        Chunk::Reasoning("hm".to_owned()),
        Chunk::Signature("seal".to_owned()),
        text_chunk("I search. "),
        Chunk::Opaque(asked.clone()),
        Chunk::Opaque(found()),
        text_chunk("Half."),
        text_chunk("Done."),
        Chunk::Stop(StopReason::EndTurn),
    ];
    assert_eq!(without_usage(chunks.clone()), expected);
    let used: Vec<(u64, u64)> = chunks
        .iter()
        .filter_map(|chunk| match chunk {
            Chunk::Usage(Usage { input_tokens, output_tokens, .. }) => {
                Some((*input_tokens, *output_tokens))
            }
            _ => None,
        })
        .collect();
    assert_eq!(used, [(10, 1), (10, 20), (20, 21), (20, 40), (30, 41), (30, 60)]);

    let bodies = server.bodies();
    assert_eq!(bodies.len(), 3);
    let sent_back = json!([
        {"type": "thinking", "thinking": "hm", "signature": "seal"},
        {"type": "text", "text": "I search. "},
        asked,
    ]);
    assert_eq!(bodies[1]["messages"][1], json!({"role": "assistant", "content": sent_back}));
    let content = bodies[2]["messages"][1]["content"].as_array().unwrap();
    assert_eq!(content[..3], sent_back.as_array().unwrap()[..]);
    assert_eq!(content[3..], [found(), json!({"type": "text", "text": "Half."})]);
    assert_eq!(bodies[2]["messages"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn a_model_that_only_pauses_is_given_up() {
    let server = serve(vec![Reply::events(paused())]).await;
    let (chunks, error) = ask(&provider(&server), request(vec![user("go")])).await;
    assert!(matches!(error, Some(ProviderError::Broken { .. })), "{error:?}");
    assert!(chunks.contains(&text_chunk("I search. ")));
    assert_eq!(server.bodies().len(), 5);
}

#[tokio::test]
async fn a_pause_in_which_nothing_was_said_is_given_up_at_once() {
    let server = serve(vec![Reply::events(whole(&[], "pause_turn"))]).await;
    let (_, error) = ask(&provider(&server), request(vec![user("go")])).await;
    assert!(matches!(error, Some(ProviderError::Broken { .. })), "{error:?}");
    assert_eq!(server.bodies().len(), 1);
}

#[tokio::test]
async fn a_pause_with_a_call_waits_for_its_result_instead() {
    let body = whole(&[call_block(0, "a", "search", &["{}"])], "pause_turn");
    let (chunks, error) = read(Reply::events(body)).await;
    assert_eq!(error, None);
    let expected = [call_chunk("a", "search", json!({})), Chunk::Stop(StopReason::ToolUse)];
    assert_eq!(without_usage(chunks), expected);
}

#[tokio::test]
async fn an_error_after_a_pause_ends_the_answer_after_its_words() {
    let server = serve(vec![Reply::events(paused()), Reply::new(500, "", "")]).await;
    let (chunks, error) = ask(&provider(&server), request(vec![user("go")])).await;
    assert!(matches!(error, Some(ProviderError::Status { status: 500, .. })), "{error:?}");
    assert!(chunks.contains(&text_chunk("I search. ")));
}
