//! What is sent, whatever the history looks like.

use offshoot::domain::ids::CallId;
use offshoot::domain::message::{Block, Message, ToolResult};
use offshoot::provider::anthropic::{Anthropic, Config};
use offshoot::provider::{Request, ToolChoice};
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::common::raw_server::{RawServer, Reply};

use super::bench::*;

pub async fn fine() -> RawServer {
    serve(vec![Reply::events(whole(&[text_block(0, &["fine"])], "end_turn"))]).await
}

/// The body that `request` becomes.
async fn body_of(request: Request, change: impl FnOnce(&mut Config)) -> Value {
    let server = fine().await;
    let mut config = config(&server.url);
    change(&mut config);
    let (_, error) = ask(&Anthropic::new(config).unwrap(), request).await;
    assert_eq!(error, None);
    server.bodies().remove(0)
}

async fn messages_of(messages: Vec<Message>) -> Value {
    without_marks(body_of(request(messages), |_| {}).await)["messages"].clone()
}

/// The same value without any `cache_control`.
pub fn without_marks(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(|value| *value = without_marks(value.take()));
        }
        Value::Array(items) => {
            for item in items {
                *item = without_marks(item.take());
            }
        }
        _ => {}
    }
    value
}

#[tokio::test]
async fn the_request_has_its_key_its_version_its_body_and_nothing_of_the_run() {
    let server = fine().await;
    let mut config = config(&format!("{}/v1/", server.url));
    config.headers = vec![
        ("anthropic-beta".to_owned(), SecretString::from("interleaved-thinking-2025-05-14")),
        ("anthropic-version".to_owned(), SecretString::from("2099-01-01")),
    ];
    ask(&Anthropic::new(config).unwrap(), request(vec![user("go 子")])).await;
    let asked = server.asked().remove(0);
    assert!(asked.head.starts_with("POST /v1/messages HTTP/1.1"), "{}", asked.head);
    let lines: Vec<&str> = asked.head.lines().collect();
    assert!(lines.contains(&format!("x-api-key: {KEY}").as_str()), "{lines:?}");
    assert!(lines.contains(&"anthropic-beta: interleaved-thinking-2025-05-14"), "{lines:?}");
    let versions: Vec<&&str> =
        lines.iter().filter(|line| line.starts_with("anthropic-version")).collect();
    assert_eq!(versions, [&"anthropic-version: 2099-01-01"], "a user's own header wins");
    let mark = json!({"type": "ephemeral"});
    let tool = |name: &str| json!({"name": name, "description": format!("does {name}"), "input_schema": {"type": "object"}});
    let mut last_tool = tool("read_file");
    last_tool["cache_control"] = mark.clone();
    let expected = json!({
        "model": MODEL,
        "max_tokens": 2_048,
        "system": [{"type": "text", "text": "be brief", "cache_control": mark}],
        "tools": [tool("search"), last_tool],
        "tool_choice": {"type": "auto"},
        "messages": [{"role": "user", "content": [
            {"type": "text", "text": "go 子", "cache_control": mark},
        ]}],
        "stream": true,
    });
    assert_eq!(asked.body, expected);
}

#[tokio::test]
async fn tools_stay_defined_whatever_the_choice_and_settings_are_clamped() {
    for (choice, written) in [
        (ToolChoice::Auto, json!({"type": "auto"})),
        (ToolChoice::None, json!({"type": "none"})),
        (ToolChoice::Named("search".to_owned()), json!({"type": "tool", "name": "search"})),
    ] {
        let mut request = request(vec![user("go")]);
        request.tool_choice = choice;
        request.max_tokens = 9_999_999;
        request.temperature = Some(1.7);
        let body = body_of(request, |_| {}).await;
        assert_eq!(body["tool_choice"], written);
        assert_eq!(body["tools"].as_array().unwrap().len(), 2);
        assert_eq!((&body["max_tokens"], &body["temperature"]), (&json!(4_096), &json!(1.0)));
    }
    let mut refused = request(vec![user("go")]);
    refused.tool_choice = ToolChoice::Named("search".to_owned());
    refused.temperature = Some(0.5);
    let without = |config: &mut Config| {
        (config.forced_tools, config.temperature) = (Some(false), Some(false));
    };
    let body = body_of(refused, without).await;
    assert_eq!(body["tool_choice"], json!({"type": "auto"}), "the model would refuse to be forced");
    assert_eq!(body.get("temperature"), None);
    let mut bare = request(vec![user("go")]);
    bare.tools = [].into();
    bare.system = " ".into();
    let body = body_of(bare, |_| {}).await;
    for absent in ["tools", "tool_choice", "system", "temperature", "thinking"] {
        assert_eq!(body.get(absent), None);
    }
}

#[tokio::test]
async fn thinking_is_asked_for_only_where_the_api_takes_it() {
    let call = || tool_call("a", "search", json!({}));
    let plain = || vec![user("go")];
    let own =
        vec![user("go"), answer(vec![thinking("hm", Some("s")), call()]), results(&[("a", "x")])];
    let mut again = own.clone();
    again.extend([answer(vec![tool_call("b", "search", json!({}))]), results(&[("b", "y")])]);
    let none = vec![user("go"), answer(vec![call()]), results(&[("a", "x")])];
    let mut answered = none.clone();
    answered.extend([answer(vec![text("so")]), user("more")]);
    let named = || ToolChoice::Named("search".to_owned());
    for (budget, max_tokens, choice, messages, expected) in [
        (1_024, 1_025, ToolChoice::Auto, plain(), Some(1_024)),
        (1_024, 1_024, ToolChoice::Auto, plain(), None),
        (1_023, 4_096, ToolChoice::Auto, plain(), None),
        (4_095, 99_999, ToolChoice::Auto, plain(), Some(4_095)),
        (4_096, 99_999, ToolChoice::Auto, plain(), None),
        (2_000, 4_096, ToolChoice::None, plain(), Some(2_000)),
        (2_000, 4_096, named(), plain(), None),
        (2_000, 4_096, ToolChoice::Auto, own, Some(2_000)),
        (2_000, 4_096, ToolChoice::Auto, again, Some(2_000)),
        (2_000, 4_096, ToolChoice::Auto, none, None),
        (2_000, 4_096, ToolChoice::Auto, answered, Some(2_000)),
    ] {
        let mut request = request(messages);
        (request.max_tokens, request.tool_choice) = (max_tokens, choice);
        request.temperature = Some(0.5);
        let body = body_of(request, |config| config.thinking_budget = Some(budget)).await;
        let told = body.pointer("/thinking/budget_tokens").and_then(Value::as_u64);
        assert_eq!(told, expected, "{budget} of {max_tokens}");
        assert_eq!(body.get("temperature").is_none(), expected.is_some());
    }
}

#[tokio::test]
async fn a_conversation_goes_back_block_for_block() {
    let server_call =
        json!({"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}});
    let server_result =
        json!({"type": "web_search_tool_result", "tool_use_id": "srv", "content": []});
    let opaque = |data: &Value| Block::Opaque { data: data.clone() };
    let mut failed = results(&[("a", "found"), ("b", " ")]);
    if let Message::Results { results } = &mut failed {
        results[1].ok = false;
        results.reverse();
    }
    let sent = messages_of(vec![
        user("go"),
        answer(vec![
            thinking("one \n", Some("s1")),
            text("I look.  "),
            opaque(&server_call),
            opaque(&server_result),
            tool_call("a", "search", json!({"pattern": "x"})),
            thinking("", Some("s2")),
            Block::Redacted { data: "r".to_owned() },
            tool_call("b", "search", json!("{\"cut")),
        ]),
        failed,
        user("typed meanwhile"),
        answer(vec![thinking("unsigned", None), text("done")]),
        user("more"),
    ])
    .await;
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "one \n", "signature": "s1"},
            {"type": "text", "text": "I look.  "},
            server_call,
            server_result,
            {"type": "tool_use", "id": "a", "name": "search", "input": {"pattern": "x"}},
            {"type": "thinking", "thinking": "", "signature": "s2"},
            {"type": "redacted_thinking", "data": "r"},
            {"type": "tool_use", "id": "b", "name": "search", "input": {"_raw": "{\"cut"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "found"},
            {"type": "tool_result", "tool_use_id": "b", "content": "(no output)", "is_error": true},
            {"type": "text", "text": "typed meanwhile"},
        ]},
        {"role": "assistant", "content": [{"type": "text", "text": "done"}]},
        {"role": "user", "content": [{"type": "text", "text": "more"}]},
    ]);
    assert_eq!(sent, expected);
}

#[tokio::test]
async fn blocks_that_the_api_would_refuse_are_left_out() {
    let half = json!({"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}});
    let orphan = json!({"type": "web_search_tool_result", "tool_use_id": "x", "content": []});
    let sent = messages_of(vec![
        user("go"),
        answer(vec![Block::Opaque { data: half.clone() }, thinking("only", None)]),
        user("again"),
        answer(vec![text("so"), Block::Opaque { data: orphan }, thinking("cut", Some("s"))]),
        user("more"),
        answer(vec![text("It is \n"), thinking("hm", Some("s"))]),
    ])
    .await;
    let expected = json!([
        {"role": "user", "content": [
            {"type": "text", "text": "go"},
            {"type": "text", "text": "again"},
        ]},
        {"role": "assistant", "content": [{"type": "text", "text": "so"}]},
        {"role": "user", "content": [{"type": "text", "text": "more"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "It is"}]},
    ]);
    assert_eq!(sent, expected);
}

/// Public case B006: blank texts in five places made every later request fail.
#[tokio::test]
async fn blank_texts_and_outputs_do_not_reach_the_server() {
    let mut messages = transcript("B006-empty-text.session.jsonl");
    messages.push(user("go"));
    let sent = messages_of(messages).await;
    let expected = json!([
        {"role": "user", "content": [{"type": "text", "text": "start"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "shell", "input": {"command": "true"}},
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "content": "(no output)"},
            {"type": "text", "text": "next"},
            {"type": "text", "text": "again"},
            {"type": "text", "text": "go"},
        ]},
    ]);
    assert_eq!(sent, expected);
}

/// Public case B007: trailing blanks of a last answer were refused, and a wide repair of them
/// changed code and thinking.
#[tokio::test]
async fn only_the_last_answers_last_text_loses_its_blank_end() {
    let sent = messages_of(transcript("B007-trailing-space.session.jsonl")).await;
    assert_eq!(sent[1]["content"][0]["text"], "| a | b |  \n|---|---|  \n");
    let last = json!([
        {"type": "thinking", "thinking": "keep me  \n", "signature": "c2ln"},
        {"type": "text", "text": "Looking"},
    ]);
    assert_eq!(sent[3]["content"], last);
}

/// Public case B100: another model was sent the thinking of the one before.
#[tokio::test]
async fn another_model_gets_words_and_calls_and_no_foreign_thinking() {
    let mut messages = transcript("B100-model-change.session.jsonl");
    messages.push(user("go on"));
    let body =
        body_of(request(messages.clone()), |config| config.model = "fake-b".to_owned()).await;
    assert_eq!(body["model"], "fake-b");
    assert!(!body.to_string().contains("private") && !body.to_string().contains("U0lHLUE="));
    let content = &body["messages"][1]["content"];
    assert_eq!(content[0], json!({"type": "text", "text": "reading"}));
    assert_eq!(content[1]["id"], "toolu_01Abc");
    let same = body_of(request(messages), |_| {}).await;
    let block = json!({"type": "thinking", "thinking": "private", "signature": "U0lHLUE="});
    assert_eq!(same["messages"][1]["content"][0], block);
}

#[tokio::test]
async fn ids_and_names_of_other_providers_are_mapped_and_stay_unique() {
    let odd = "functions.read:0|fc 子";
    let sent = messages_of(vec![
        user("go"),
        answer_of(
            "openai",
            "m",
            vec![
                tool_call(odd, "read file!", json!(null)),
                tool_call(odd, "", json!([1])),
                tool_call("", "x", json!({})),
            ],
        ),
        results(&[(odd, "one"), (odd, "two"), ("", "three")]),
        answer_of("openai", "m", vec![tool_call("functions_read_0_fc__", "x", json!({}))]),
        results(&[("functions_read_0_fc__", "four")]),
    ])
    .await;
    let calls = sent[1]["content"].as_array().unwrap();
    let ids: Vec<&str> = calls.iter().map(|call| call["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["functions_read_0_fc__", "functions_read_0_fc___2", "call_3"]);
    let names: Vec<&str> = calls.iter().map(|call| call["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["read_file_", "unnamed", "x"]);
    let outputs: Vec<&str> = sent[2]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["content"].as_str().unwrap())
        .collect();
    assert_eq!(outputs, ["one", "two", "three"]);
    assert_eq!(sent[3]["content"][0]["id"], sent[4]["content"][0]["tool_use_id"]);
}

#[tokio::test]
async fn a_history_without_beginning_results_or_order_is_repaired() {
    assert_eq!(messages_of(Vec::new()).await.as_array().unwrap().len(), 1);
    let sent = messages_of(vec![
        answer(vec![text("hello")]),
        answer(vec![tool_call("a", "x", json!({})), tool_call("b", "x", json!({}))]),
        user("while it runs"),
        results(&[("nobody", "lost"), ("b", "late")]),
        answer(vec![tool_call("c", "x", json!({}))]),
    ])
    .await;
    assert_eq!(sent[0]["role"], "user");
    let results = sent[2]["content"].as_array().unwrap();
    let told: Vec<&str> = results
        .iter()
        .map(|block| block.get("content").unwrap_or(&block["text"]).as_str().unwrap())
        .collect();
    assert_eq!(told, ["not run: no result was recorded", "late", "while it runs"]);
    assert_eq!(results[0]["is_error"], true);
    assert_eq!(sent[4]["content"][0]["tool_use_id"], "c");
}

/// A neutral transcript, one message a line, as the program's own messages.
fn transcript(file: &str) -> Vec<Message> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    let lines = std::fs::read_to_string(path).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| message(&line)).collect()
}

pub fn message(line: &Value) -> Option<Message> {
    let blocks = line["content"].as_array()?;
    let text = |block: &Value, key: &str| block[key].as_str().unwrap().to_owned();
    if line["role"] == "assistant" {
        let blocks = blocks.iter().map(|block| match block["type"].as_str().unwrap() {
            "text" => self::text(&text(block, "text")),
            "thinking" => thinking(&text(block, "thinking"), block["signature"].as_str()),
            _ => tool_call(&text(block, "id"), &text(block, "name"), block["input"].clone()),
        });
        return Some(answer(blocks.collect()));
    }
    let results: Vec<ToolResult> = blocks
        .iter()
        .filter(|block| block["type"] == "tool_result")
        .map(|block| ToolResult {
            call: CallId(text(block, "tool_use_id")),
            name: String::new(),
            ok: true,
            output: text(block, "content"),
        })
        .collect();
    Some(if results.is_empty() {
        user(blocks[0]["text"].as_str().unwrap())
    } else {
        Message::Results { results }
    })
}
