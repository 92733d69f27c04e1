//! From a neutral request to the body of `/api/chat`. Pure; the order of keys and messages is
//! fixed, so that the server finds the same prefix in its cache again.

use serde_json::{Map, Value, json};

use super::NAME;
use crate::domain::history::NO_TEXT;
use crate::domain::message::ToolSchema;
use crate::provider::Request;
use crate::provider::prepare::{self, IdForm, Outcome, Piece, Reader, Turn};

/// Whom a body is for.
#[derive(Debug)]
pub struct Target<'a> {
    /// The model's name.
    pub model: &'a str,
    /// Tokens that prompt and answer may have together.
    pub num_ctx: u64,
    /// Output tokens at most.
    pub max_output_tokens: u64,
    /// Whether it is to think; `None` for models that cannot be told.
    pub think: Option<bool>,
}

/// The body of one request. The wire has no choice among tools: they stay defined, and whoever
/// forbids them refuses the calls.
pub fn build(target: &Target<'_>, request: &Request) -> Value {
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    set("model", target.model.into());
    set("messages", messages(target, request));
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
    }
    if let Some(think) = target.think {
        set("think", think.into());
    }
    set("stream", true.into());
    let num_predict = request.max_tokens.min(target.max_output_tokens);
    let mut options = json!({ "num_ctx": target.num_ctx, "num_predict": num_predict });
    if let Some(temperature) = request.temperature {
        options["temperature"] = temperature.into();
    }
    set("options", options);
    Value::Object(body)
}

fn messages(target: &Target<'_>, request: &Request) -> Value {
    let reader = Reader { provider: NAME, model: target.model, ids: IdForm::Word { longest: 64 } };
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": &*request.system }));
    }
    for turn in prepare::turns(&request.messages, &reader) {
        match turn {
            Turn::Asked(asked) => {
                messages.extend(asked.results.iter().map(result));
                if !asked.texts.is_empty() {
                    let text = asked.texts.join("\n\n");
                    messages.push(json!({ "role": "user", "content": text }));
                }
            }
            Turn::Answered(pieces) => messages.push(assistant(&pieces)),
        }
    }
    Value::Array(messages)
}

fn assistant(pieces: &[Piece<'_>]) -> Value {
    let (mut text, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(more) => text.push_str(more),
            Piece::Reasoning { text: more, .. } => thinking.push_str(more),
            Piece::Redacted(_) | Piece::Opaque(_) => {}
            Piece::Call { id, name, arguments } => calls.push(json!({
                "id": id, "function": { "name": name, "arguments": arguments }
            })),
        }
    }
    if text.trim().is_empty() && calls.is_empty() {
        NO_TEXT.clone_into(&mut text);
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !thinking.is_empty() {
        message["thinking"] = thinking.into();
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

fn result(result: &Outcome<'_>) -> Value {
    json!({
        "role": "tool",
        "tool_name": result.name,
        "tool_call_id": result.id,
        "content": result.output,
    })
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
