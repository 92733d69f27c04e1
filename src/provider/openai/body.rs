//! From a neutral request to a chat-completions body. Pure; the order of keys and messages is
//! fixed, so that a server's prompt cache finds the same prefix again.

use serde_json::{Map, Value, json};

use crate::domain::message::ToolSchema;
use crate::domain::message::{AssistantMessage, Message, ToolCall, ToolResult};
use crate::provider::{Request, ToolChoice};

/// The body of one request.
pub fn build(model: &str, request: &Request) -> Value {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.into());
    body.insert("messages".to_owned(), messages(request));
    if !request.tools.is_empty() {
        body.insert("tools".to_owned(), request.tools.iter().map(tool).collect());
        body.insert("tool_choice".to_owned(), tool_choice(&request.tool_choice));
    }
    body.insert("max_tokens".to_owned(), request.max_tokens.into());
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), temperature.into());
    }
    body.insert("stream".to_owned(), true.into());
    body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    Value::Object(body)
}

fn messages(request: &Request) -> Value {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": &*request.system }));
    }
    for message in &request.messages {
        match &**message {
            Message::User { text } => messages.push(json!({ "role": "user", "content": text })),
            Message::Assistant(answer) => messages.push(assistant(answer)),
            Message::Results { results } => messages.extend(results.iter().map(result)),
        }
    }
    Value::Array(messages)
}

fn assistant(answer: &AssistantMessage) -> Value {
    let text = answer.text();
    let calls: Vec<Value> = answer.tool_calls().map(call).collect();
    let content = match (text.trim().is_empty(), calls.is_empty()) {
        (false, _) => Value::String(text),
        (true, false) => Value::Null,
        // A message of reasoning alone: servers refuse one with neither content nor calls.
        (true, true) => "(no text)".into(),
    };
    let mut message = json!({ "role": "assistant", "content": content });
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

fn call(call: &ToolCall) -> Value {
    let arguments = call.arguments_object().to_string();
    json!({
        "id": call.call.as_str(),
        "type": "function",
        "function": { "name": call.name, "arguments": arguments },
    })
}

fn result(result: &ToolResult) -> Value {
    json!({ "role": "tool", "tool_call_id": result.call.as_str(), "content": result.output })
}

fn tool(schema: &ToolSchema) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": schema.name,
            "description": schema.description,
            "parameters": schema.parameters,
        },
    })
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => "auto".into(),
        ToolChoice::None => "none".into(),
        ToolChoice::Named(name) => json!({ "type": "function", "function": { "name": name } }),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::ids::{CallId, RunId};
    use crate::domain::message::Block;

    fn request(messages: Vec<Message>) -> Request {
        Request {
            run: RunId::parent(1),
            depth: 0,
            system: "be brief".into(),
            tools: [].into(),
            tool_choice: ToolChoice::Auto,
            messages: messages.into_iter().map(Arc::new).collect(),
            max_tokens: 100,
            temperature: None,
        }
    }

    fn answer(blocks: Vec<Block>) -> Message {
        let (provider, model) = ("openai".to_owned(), "m".to_owned());
        Message::Assistant(AssistantMessage {
            blocks,
            provider,
            model,
            stop_reason: None,
            interrupted: false,
        })
    }

    #[test]
    fn a_conversation_becomes_messages_with_one_tool_message_a_result() {
        let text = |text: &str| Block::Text { text: text.to_owned() };
        let thought = Block::Reasoning { text: "hm".to_owned(), signature: None };
        let call = |id: &str, arguments: &str| {
            Block::ToolCall(ToolCall::parse(CallId::from(id), "search", arguments))
        };
        let result = |id: &str| ToolResult {
            call: CallId::from(id),
            name: "search".to_owned(),
            ok: true,
            output: format!("found {id}"),
        };
        let body = build(
            "m",
            &request(vec![
                Message::User { text: "go".to_owned() },
                answer(vec![thought.clone(), call("a", "{\"pattern\":\"x\"}"), call("b", "{\"pa")]),
                Message::Results { results: vec![result("a"), result("b")] },
                answer(vec![thought.clone(), text("do"), text("ne")]),
                Message::User { text: "more".to_owned() },
                answer(vec![thought]),
            ]),
        );
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
                {"role": "user", "content": "more"},
                {"role": "assistant", "content": "(no text)"}
            ],
            "max_tokens": 100,
            "stream": true,
            "stream_options": {"include_usage": true}
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn tools_stay_defined_whatever_the_choice() {
        let schema = ToolSchema {
            name: "task".to_owned(),
            description: "delegates".to_owned(),
            parameters: json!({"type": "object"}),
        };
        let named = json!({"type": "function", "function": {"name": "task"}});
        for (choice, written) in [
            (ToolChoice::Auto, json!("auto")),
            (ToolChoice::None, json!("none")),
            (ToolChoice::Named("task".to_owned()), named),
        ] {
            let mut request = request(Vec::new());
            request.tools = [schema.clone()].into();
            request.tool_choice = choice;
            request.temperature = Some(0.5);
            let body = build("m", &request);
            assert_eq!(body["tool_choice"], written);
            assert_eq!(body["tools"][0]["function"]["name"], "task");
            assert_eq!(body["temperature"], 0.5);
        }
    }
}
