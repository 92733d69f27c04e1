//! Bodies for every dialect, from one conversation.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use super::*;
use crate::domain::ids::{CallId, RunId};
use crate::domain::message::{AssistantMessage, Block, Message, ToolCall, ToolResult};
use crate::provider::openai::profiles;

fn target(profile: &str, model: &str) -> Target {
    Target {
        model: model.to_owned(),
        profile: profiles::named(profile).unwrap(),
        max_output_tokens: 1_000,
        reasoning_effort: None,
        takes_temperature: None,
        takes_forced_tools: true,
    }
}

fn request(messages: Vec<Message>) -> Request {
    let schema = ToolSchema {
        name: "search".to_owned(),
        description: "finds".to_owned(),
        parameters: json!({"type": "object"}),
    };
    Request {
        run: RunId::parent(1),
        depth: 0,
        system: "be brief".into(),
        tools: [schema].into(),
        tool_choice: ToolChoice::Auto,
        messages: messages.into_iter().map(Arc::new).collect(),
        max_tokens: 100,
        temperature: Some(0.5),
    }
}

fn user(text: &str) -> Message {
    Message::User { text: text.to_owned() }
}

fn answer(model: &str, blocks: Vec<Block>) -> Message {
    Message::Assistant(AssistantMessage {
        blocks,
        provider: NAME.to_owned(),
        model: model.to_owned(),
        stop_reason: None,
        interrupted: false,
    })
}

fn thought(text: &str) -> Block {
    Block::Reasoning { text: text.to_owned(), signature: None }
}

fn words(text: &str) -> Block {
    Block::Text { text: text.to_owned() }
}

fn call(id: &str, arguments: &str) -> Block {
    Block::ToolCall(ToolCall::parse(CallId::from(id), "search", arguments))
}

fn results(ids: &[&str]) -> Message {
    let result = |id: &&str| ToolResult {
        call: CallId::from(*id),
        name: "search".to_owned(),
        ok: true,
        output: format!("found {id}"),
    };
    Message::Results { results: ids.iter().map(result).collect() }
}

/// A conversation with calls, whose own model thought before each answer.
fn conversation() -> Request {
    request(vec![
        user("go"),
        answer("m", vec![thought("hm"), call("a", "{\"pattern\":\"x\"}"), call("b", "{\"pa")]),
        results(&["a", "b"]),
        answer("m", vec![thought("so"), words("do"), words("ne")]),
        user("more"),
    ])
}

#[test]
fn a_conversation_becomes_messages_with_one_tool_message_a_result() {
    let body = build(&target("local", "m"), &conversation());
    let call = |id: &str, arguments: &str| {
        json!({"id": id, "type": "function",
            "function": {"name": "search", "arguments": arguments}})
    };
    let expected = json!({
        "model": "m",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": null, "tool_calls": [
                call("a", "{\"pattern\":\"x\"}"), call("b", "{\"_raw\":\"{\\\"pa\"}")
            ]},
            {"role": "tool", "tool_call_id": "a", "content": "found a"},
            {"role": "tool", "tool_call_id": "b", "content": "found b"},
            {"role": "assistant", "content": "done"},
            {"role": "user", "content": "more"}
        ],
        "tools": [{"type": "function", "function":
            {"name": "search", "description": "finds", "parameters": {"type": "object"}}}],
        "tool_choice": "auto",
        "max_tokens": 100,
        "temperature": 0.5,
        "stream": true,
        "stream_options": {"include_usage": true}
    });
    assert_eq!(body, expected);
}

#[test]
fn reasoning_goes_back_in_the_form_of_the_dialect_and_to_its_own_model_only() {
    let back = |profile: &str, model: &str| {
        let body = build(&target(profile, model), &conversation());
        let said = |place: usize| body["messages"][place].clone();
        [said(2), said(5)].map(|message| message.get("reasoning_content").cloned())
    };
    assert_eq!(back("deepseek", "m"), [Some(json!("hm")), Some(json!("so"))]);
    assert_eq!(back("qwen", "m"), [Some(json!("hm")), Some(json!("so"))]);
    // The field is demanded beside calls, whoever made them.
    assert_eq!(back("deepseek", "other"), [Some(json!("")), None]);
    assert_eq!(back("qwen", "other"), [None, None]);
    for profile in profiles::names() {
        let row = profiles::named(profile).unwrap();
        if matches!(row.reasoning, ReasoningBack::Never) {
            let body = build(&target(profile, "m"), &conversation()).to_string();
            assert!(!body.contains("hm") && !body.contains("reasoning"), "{profile}: {body}");
        }
    }
    let tagged = build(&target("minimax", "m"), &conversation());
    assert_eq!(tagged["messages"][5]["content"], "<think>so</think>\n\ndone");
}

#[test]
fn what_a_vendor_sealed_goes_back_to_it_unchanged() {
    let details = json!([{"type": "reasoning.encrypted", "data": "AA"}]);
    let opaque = |data: Value| Block::Opaque { data };
    let sealed = |block: Block| {
        request(vec![user("go"), answer("m", vec![block, call("a", "{}")]), results(&["a"])])
    };
    let body = |profile: &str, request: &Request| {
        build(&target(profile, "m"), request)["messages"][2].clone()
    };
    let with_details = sealed(opaque(json!({ "reasoning_details": details })));
    assert_eq!(body("openrouter", &with_details)["reasoning_details"], details);
    assert_eq!(body("openai", &with_details).get("reasoning_details"), None);
    let with_extra = sealed(opaque(json!({"extra_content": [{"google": {"s": 1}}]})));
    let call = body("gemini", &with_extra)["tool_calls"][0].clone();
    assert_eq!(call["extra_content"], json!({"google": {"s": 1}}));
}

#[test]
fn the_choice_among_tools_is_as_strong_as_the_server_takes() {
    let named = json!({"type": "function", "function": {"name": "search"}});
    for (profile, auto, none, forced) in [
        ("openai", json!("auto"), json!("none"), named),
        ("lmstudio", json!("auto"), json!("none"), json!("required")),
        ("deepseek", json!("auto"), json!("none"), json!("auto")),
        ("zai", Value::Null, Value::Null, Value::Null),
    ] {
        for (choice, written) in [
            (ToolChoice::Auto, auto),
            (ToolChoice::None, none),
            (ToolChoice::Named("search".to_owned()), forced),
        ] {
            let mut request = conversation();
            request.tool_choice = choice;
            let body = build(&target(profile, "m"), &request);
            assert_eq!(body["tool_choice"], written, "{profile}");
            assert_eq!(body["tools"][0]["function"]["name"], "search", "tools stay defined");
        }
    }
    let mut target = target("openai", "m");
    target.takes_forced_tools = false;
    let mut request = conversation();
    request.tool_choice = ToolChoice::Named("search".to_owned());
    assert_eq!(build(&target, &request)["tool_choice"], "auto");
}

#[test]
fn reasoning_models_get_the_fields_that_they_take() {
    let body = build(&target("openai", "o4-mini"), &conversation());
    assert_eq!(body["messages"][0]["role"], "developer");
    assert_eq!(body["max_completion_tokens"], 100);
    assert_eq!((body.get("max_tokens"), body.get("temperature")), (None, None));
    let older = build(&target("azure", "gpt-4o"), &conversation());
    assert_eq!(
        (older["messages"][0]["role"].as_str(), &older["max_tokens"]),
        (Some("system"), &json!(100))
    );
    let mut told = target("generic", "m");
    told.takes_temperature = Some(false);
    told.reasoning_effort = Some("none".to_owned());
    let body = build(&told, &conversation());
    assert_eq!((body.get("temperature"), &body["reasoning_effort"]), (None, &json!("none")));
}

#[test]
fn the_output_limit_is_the_smaller_of_what_is_asked_for_and_what_the_model_allows() {
    let mut request = conversation();
    request.max_tokens = 5_000;
    assert_eq!(build(&target("local", "m"), &request)["max_tokens"], 1_000);
}

#[test]
fn switches_are_sent_where_the_row_has_them_and_those_of_tools_only_with_tools() {
    let body = build(&target("qwen", "m"), &conversation());
    assert_eq!(
        (&body["parallel_tool_calls"], &body["preserve_thinking"]),
        (&json!(true), &json!(true))
    );
    let mut bare = conversation();
    bare.tools = [].into();
    let body = build(&target("qwen", "m"), &bare);
    for key in ["tools", "tool_choice", "parallel_tool_calls"] {
        assert_eq!(body.get(key), None);
    }
    assert_eq!(build(&target("mistral", "m"), &bare).get("stream_options"), None);
}

#[test]
fn mistral_gets_nine_letters_and_an_answer_between_results_and_words() {
    let body = build(
        &target("mistral", "m"),
        &request(vec![
            user("go"),
            answer("m", vec![call("call_0123456789", "{}"), call("abcDEF123", "{}")]),
            results(&["call_0123456789", "abcDEF123"]),
            user("wrap up"),
        ]),
    );
    let messages = body["messages"].as_array().unwrap();
    let id = messages[2]["tool_calls"][0]["id"].as_str().unwrap();
    assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
    assert_eq!(messages[2]["tool_calls"][1]["id"], "abcDEF123");
    assert_eq!(messages[3]["tool_call_id"], id);
    let roles: Vec<&str> = messages.iter().map(|m| m["role"].as_str().unwrap()).collect();
    let expected = ["system", "user", "assistant", "tool", "tool", "assistant", "user"];
    assert_eq!(roles, expected);
}

#[test]
fn an_answer_of_seals_alone_has_words_all_the_same() {
    let sealed = Block::Opaque { data: json!({"reasoning_details": []}) };
    let body = build(
        &target("openrouter", "m"),
        &request(vec![user("go"), answer("m", vec![sealed]), user("again")]),
    );
    assert_eq!(body["messages"][2]["content"], "(no text)");
}
