//! One answer, event by event, in every form that servers were seen to send.
#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;
use crate::domain::ids::CallId;
use crate::domain::usage::Usage;
use crate::provider::openai::profiles;

fn answer(profile: &str) -> Answer {
    let offered = vec!["list_files".to_owned()];
    Answer::new(profiles::named(profile).unwrap(), offered, Shape::Events, b"")
}

/// Reads events as the named dialect; the last step has the chunks of all.
fn read_as(profile: &str, events: &[Value]) -> Step {
    let mut answer = answer(profile);
    let mut chunks = Vec::new();
    for event in events {
        let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        let step = answer.take(&data);
        chunks.extend(step.chunks);
        if step.over {
            return Step { chunks, ..step };
        }
    }
    let end = answer.end();
    chunks.extend(end.chunks);
    Step { chunks, ..end }
}

fn read(events: &[Value]) -> Step {
    read_as("generic", events)
}

fn whole(profile: &str, body: &str) -> Step {
    let mut answer = Answer::new(profiles::named(profile).unwrap(), Vec::new(), Shape::Whole, b"{");
    answer.take(body)
}

fn delta(delta: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(reason: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
}

fn done() -> Value {
    json!("[DONE]")
}

fn part(fields: &Value) -> Value {
    delta(&json!({"tool_calls": [fields]}))
}

fn call(id: &str, name: &str, arguments: Value) -> Chunk {
    Chunk::ToolCall(ToolCall { call: CallId::from(id), name: name.to_owned(), arguments })
}

fn text(text: &str) -> Chunk {
    Chunk::Text(text.to_owned())
}

fn reasoning(text: &str) -> Chunk {
    Chunk::Reasoning(text.to_owned())
}

#[test]
fn an_answer_without_any_end_mark_gives_its_text_and_no_call() {
    let step = read(&[
        delta(&json!({"content": "I will"})),
        part(&json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}})),
    ]);
    assert_eq!(step.chunks, [text("I will")]);
    assert!(step.failure.unwrap().detail.contains("finish_reason"));
}

#[test]
fn either_mark_ends_an_answer() {
    let x = part(&json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}));
    let made = [call("a", "x", json!({})), Chunk::Stop(StopReason::ToolUse)];
    for events in [
        vec![x.clone(), done()],
        vec![x.clone(), finish("tool_calls")],
        vec![x.clone(), finish("stop"), done()],
    ] {
        let step = read(&events);
        assert_eq!((step.chunks.as_slice(), step.failure), (&made[..], None));
    }
    let said = read(&[delta(&json!({"content": "hi"})), done()]);
    assert_eq!(said.chunks, [text("hi"), Chunk::Stop(StopReason::EndTurn)]);
}

#[test]
fn a_stream_that_says_nothing_at_all_is_no_answer() {
    for events in [vec![], vec![done()], vec![json!({"choices": []}), done()]] {
        assert!(read(&events).failure.unwrap().detail.contains("no content"));
    }
    // But a model may have nothing to say.
    assert_eq!(read(&[finish("stop")]).chunks, [Chunk::Stop(StopReason::EndTurn)]);
}

#[test]
fn an_empty_list_of_choices_before_the_answer_is_passed_over() {
    let step = read(&[
        json!({"choices": [], "prompt_filter_results": [{}]}),
        json!({}),
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"role": "assistant", "content": "a"})),
        finish("stop"),
    ]);
    assert_eq!(step.chunks, [text("a"), Chunk::Stop(StopReason::EndTurn)]);
}

#[test]
fn words_for_the_end_are_understood_whoever_says_them() {
    for (word, stop) in [
        ("stop", StopReason::EndTurn),
        ("eos", StopReason::EndTurn),
        ("tool_calls", StopReason::EndTurn),
        ("length", StopReason::MaxTokens),
        ("MAX_TOKENS", StopReason::MaxTokens),
        ("model_length", StopReason::MaxTokens),
        ("content_filter", StopReason::Refusal),
        ("SAFETY", StopReason::Refusal),
        ("odd", StopReason::Other("odd".to_owned())),
    ] {
        assert_eq!(read(&[finish(word)]).chunks, [Chunk::Stop(stop)], "{word}");
    }
    for word in ["error", "network_error", "insufficient_system_resource"] {
        let step = read(&[delta(&json!({"content": "half"})), finish(word)]);
        assert_eq!(step.chunks, [text("half")]);
        assert!(step.failure.unwrap().detail.contains(word));
    }
}

#[test]
fn the_last_call_of_a_cut_answer_is_never_whole() {
    for arguments in ["{\"k", "{\"k\":1}", ""] {
        let step = read(&[
            part(
                &json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": arguments}}),
            ),
            finish("length"),
        ]);
        let expected = [call("a", "x", json!(arguments)), Chunk::Stop(StopReason::MaxTokens)];
        assert_eq!(step.chunks, expected);
    }
}

#[test]
fn reasoning_is_kept_apart_under_all_its_names() {
    for fields in [
        json!({"reasoning_content": "hm"}),
        json!({"reasoning": "hm", "content": ""}),
        json!({"reasoning_content": "hm", "reasoning": "hm", "content": null}),
        json!({"reasoning": "hm", "reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
        json!({"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]}),
        json!({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
        json!({"content": [{"type": "thinking", "thinking": "hm"}]}),
    ] {
        let step = read(&[delta(&fields), finish("stop")]);
        assert_eq!(step.chunks, [reasoning("hm"), Chunk::Stop(StopReason::EndTurn)], "{fields}");
    }
}

#[test]
fn content_parts_come_in_their_order() {
    let parts = json!([
        {"type": "thinking", "thinking": [{"type": "text", "text": "a"}]},
        {"type": "text", "text": "b"}, {"text": "c"}, {"type": "reference", "ids": [1]}, 7
    ]);
    let step = read(&[delta(&json!({ "content": parts })), finish("stop")]);
    let expected = [reasoning("a"), text("b"), text("c"), Chunk::Stop(StopReason::EndTurn)];
    assert_eq!(step.chunks, expected);
}

#[test]
fn a_refusal_is_its_words_and_its_own_reason() {
    let step = read(&[delta(&json!({"refusal": "I can't"})), finish("stop")]);
    assert_eq!(step.chunks, [text("I can't"), Chunk::Stop(StopReason::Refusal)]);
}

#[test]
fn usage_comes_as_soon_as_it_is_told_wherever_that_is() {
    let usage = |input_tokens: u64| {
        Chunk::Usage(Usage { input_tokens, output_tokens: 1, ..Usage::default() })
    };
    let told = |prompt: u64| json!({"prompt_tokens": prompt, "completion_tokens": 1});
    let step = read(&[
        json!({"choices": [], "usage": null}),
        json!({"choices": [{"delta": {"content": "a"}}], "x_groq": {"usage": told(1)}}),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": told(2)}),
        json!({"choices": [], "usage": told(3)}),
        done(),
    ]);
    let expected = [usage(1), text("a"), usage(2), usage(3), Chunk::Stop(StopReason::EndTurn)];
    assert_eq!(step.chunks, expected);
}

#[test]
fn an_error_in_the_stream_keeps_what_came_with_it_and_no_call() {
    let step = read(&[
        part(&json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}})),
        json!({
            "error": {"code": 429, "message": "slow\ndown"},
            "choices": [{"delta": {"content": "last"}, "finish_reason": "length"}],
            "usage": {"prompt_tokens": 1}
        }),
    ]);
    assert!(
        matches!(step.chunks.as_slice(), [Chunk::Usage(_), Chunk::Text(last)] if last == "last")
    );
    let failure = step.failure.unwrap();
    assert_eq!(failure.status, Some(429));
    assert_eq!(failure.detail, "the server reported an error in its answer: slow down");
}

#[test]
fn a_whole_answer_is_read_like_a_stream() {
    let body = json!({
        "choices": [{"finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "I look", "reasoning_content": "hm",
            "tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{}"}}]
        }}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2}
    });
    let usage = Usage { input_tokens: 3, output_tokens: 2, ..Usage::default() };
    let expected = [
        Chunk::Usage(usage),
        reasoning("hm"),
        text("I look"),
        call("a", "x", json!({})),
        Chunk::Stop(StopReason::ToolUse),
    ];
    assert_eq!(whole("generic", &body.to_string()).chunks, expected);
    let page = whole("generic", "<html><title>Sign in</title>");
    assert!(page.failure.unwrap().detail.contains("Sign in"));
    let error = whole("generic", r#"{"error":{"message":"no","code":500}}"#);
    assert_eq!(error.failure.unwrap().status, Some(500));
    assert!(whole("generic", r#"{"detail":"odd"}"#).failure.unwrap().detail.contains("odd"));
}

#[test]
fn think_tags_are_reasoning_only_where_the_profile_says_so() {
    let events = ["<thi", "nk>hm</thi", "nk>\n\nyes"].map(|text| delta(&json!({"content": text})));
    let events = [&events[..], &[finish("stop")]].concat();
    let joined = |step: Step, kind: fn(&Chunk) -> Option<&str>| {
        step.chunks.iter().filter_map(kind).collect::<String>()
    };
    let texts = |chunk: &Chunk| match chunk {
        Chunk::Text(text) => Some(text.clone()),
        _ => None,
    };
    let local = read_as("local", &events);
    assert_eq!(local.chunks.iter().filter_map(texts).collect::<String>(), "yes");
    assert_eq!(
        joined(local, |chunk| match chunk {
            Chunk::Reasoning(text) => Some(text),
            _ => None,
        }),
        "hm"
    );
    let generic = read_as("generic", &events);
    let all = "<think>hm</think>\n\nyes";
    assert_eq!(generic.chunks.iter().filter_map(texts).collect::<String>(), all);
}

#[test]
fn a_spoken_call_counts_only_in_a_whole_answer_without_native_calls() {
    let spoken = r#"{"name": "list_files", "arguments": {"path": "src"}}"#;
    let said = delta(&json!({ "content": spoken }));
    let made = [call("", "list_files", json!({"path": "src"})), Chunk::Stop(StopReason::ToolUse)];
    assert_eq!(read_as("local", &[said.clone(), finish("stop")]).chunks, made);
    let remote = read_as("generic", &[said.clone(), finish("stop")]);
    assert_eq!(remote.chunks, [text(spoken), Chunk::Stop(StopReason::EndTurn)]);
    let cut = read_as("local", &[said.clone(), finish("length")]);
    assert_eq!(cut.chunks, [text(spoken), Chunk::Stop(StopReason::MaxTokens)]);
    let broken = read_as("local", std::slice::from_ref(&said));
    assert_eq!(broken.chunks, [text(spoken)]);
    let native = part(&json!({"id": "a", "function": {"name": "x", "arguments": "{}"}}));
    let both = read_as("local", &[said, native, finish("tool_calls")]);
    let expected = [text(spoken), call("a", "x", json!({})), Chunk::Stop(StopReason::ToolUse)];
    assert_eq!(both.chunks, expected);
}

#[test]
fn what_a_vendor_sealed_is_handed_on_for_the_way_back() {
    let seal = json!({"type": "reasoning.encrypted", "data": "AA", "index": 0});
    let events = [
        delta(&json!({"reasoning_details": [seal]})),
        part(&json!({"index": 0, "id": "a", "extra_content": {"g": 1},
            "function": {"name": "x", "arguments": "{}"}})),
        finish("tool_calls"),
    ];
    let opaque = |profile: &str| {
        let step = read_as(profile, &events);
        step.chunks.into_iter().find_map(|chunk| match chunk {
            Chunk::Opaque(data) => Some(data),
            _ => None,
        })
    };
    assert_eq!(opaque("openrouter"), Some(json!({ "reasoning_details": [seal] })));
    assert_eq!(opaque("gemini"), Some(json!({"extra_content": [{"g": 1}]})));
    assert_eq!(opaque("generic"), None);
}

#[test]
fn endless_calls_are_refused() {
    let event = |id: usize| part(&json!({"id": id.to_string(), "function": {"name": "x"}}));
    let events: Vec<Value> = (0..=crate::provider::openai::calls::MAX_CALLS).map(event).collect();
    assert!(read(&events).failure.unwrap().detail.contains("more tool calls"));
}

#[test]
fn events_that_are_no_json_or_of_a_strange_shape_never_panic() {
    let mut answer = answer("local");
    for data in [
        "1",
        "null",
        "[]",
        "\"x\"",
        "{\"choices\":{}}",
        "{\"choices\":[{\"delta\":[1]}]}",
        "{\"choices\":[null]}",
        "{\"choices\":[{\"delta\":{\"content\":{},\"tool_calls\":{},\"reasoning_details\":1}}]}",
        "{\"choices\":[{\"delta\":{\"tool_calls\":[null,1,{\"function\":1}]},\"finish_reason\":1}]}",
    ] {
        assert!(!answer.take(data).over, "{data}");
    }
    assert!(answer.take("{\"choices\":[{\"de").failure.is_some());
}
