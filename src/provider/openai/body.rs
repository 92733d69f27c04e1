//! From a neutral request to a chat-completions body. Pure; the order of keys and messages is
//! fixed, so that a server's prompt cache finds the same prefix again.

use std::collections::VecDeque;

use serde_json::{Map, Value, json};

use super::NAME;
use super::profiles::{CallIds, ChoiceForms, Profile, ReasoningBack};
use crate::domain::history::NO_TEXT;
use crate::domain::message::ToolSchema;
use crate::provider::prepare::{self, Asked, IdForm, Outcome, Piece, Reader, Turn};
use crate::provider::{Request, ToolChoice};

/// Characters of a call's id where nothing shorter is asked for.
const LONGEST_ID: usize = 40;
/// What stands between results and a user's words for servers that refuse these in a row.
const BETWEEN: &str = "(going on)";

/// Whom a body is for.
#[derive(Debug)]
pub struct Target {
    /// The model's name.
    pub model: String,
    /// The server's dialect.
    pub profile: &'static Profile,
    /// Output tokens that it allows.
    pub max_output_tokens: u64,
    /// What has to be sent as `reasoning_effort` beside tools.
    pub reasoning_effort: Option<String>,
    /// Whether it takes a temperature; by its name if absent.
    pub takes_temperature: Option<bool>,
    /// Whether it takes a request that names the tool to call.
    pub takes_forced_tools: bool,
}

/// The body of one request.
pub fn build(target: &Target, request: &Request) -> Value {
    let Target { model, profile, .. } = target;
    let mut body = Map::new();
    let mut set = |key: &str, value: Value| body.insert(key.to_owned(), value);
    set("model", model.as_str().into());
    set("messages", messages(target, request));
    if !request.tools.is_empty() {
        set("tools", request.tools.iter().map(tool).collect());
        if let Some(choice) = tool_choice(target, request) {
            set("tool_choice", choice);
        }
        if let Some(effort) = &target.reasoning_effort {
            set("reasoning_effort", effort.as_str().into());
        }
    }
    set(profile.limit_field(model), request.max_tokens.min(target.max_output_tokens).into());
    let takes = target.takes_temperature.unwrap_or(!profile.is_reasoning_model(model));
    if let Some(temperature) = request.temperature.filter(|_| takes) {
        set("temperature", temperature.into());
    }
    for (key, value) in profile.switches {
        // Servers refuse what is said about tools where there are none.
        if !request.tools.is_empty() || !key.contains("tool") {
            set(key, (*value).into());
        }
    }
    set("stream", true.into());
    if profile.stream_options {
        set("stream_options", json!({ "include_usage": true }));
    }
    Value::Object(body)
}

fn messages(target: &Target, request: &Request) -> Value {
    let ids = match target.profile.call_ids {
        CallIds::Short => IdForm::Word { longest: LONGEST_ID },
        CallIds::NineAlphanumeric => IdForm::Nine,
    };
    let reader = Reader { provider: NAME, model: &target.model, ids };
    let turns = prepare::turns(&request.messages, &reader);
    let mut messages = Vec::with_capacity(turns.len() + 1);
    if !request.system.trim().is_empty() {
        let reasons = target.profile.is_reasoning_model(&target.model);
        let is_developer = target.profile.developer_role && reasons;
        let role = if is_developer { "developer" } else { "system" };
        messages.push(json!({ "role": role, "content": &*request.system }));
    }
    for turn in &turns {
        match turn {
            Turn::Asked(asked) => messages.extend(told(target.profile, asked)),
            Turn::Answered(pieces) => messages.push(assistant(target.profile.reasoning, pieces)),
        }
    }
    Value::Array(messages)
}

fn told<'a>(profile: &Profile, asked: &'a Asked<'_>) -> impl Iterator<Item = Value> + use<'a> {
    let user = (!asked.texts.is_empty())
        .then(|| json!({ "role": "user", "content": asked.texts.join("\n\n") }));
    let in_a_row = user.is_some() && !asked.results.is_empty();
    let between = (in_a_row && !profile.user_after_results)
        .then(|| json!({ "role": "assistant", "content": BETWEEN }));
    asked.results.iter().map(result).chain(between).chain(user)
}

fn assistant(back: ReasoningBack, pieces: &[Piece<'_>]) -> Value {
    let mut said = Said::default();
    for piece in pieces {
        said.take(piece);
    }
    let Said { mut text, reasoning, details, calls, .. } = said;
    if back == ReasoningBack::Tags && !reasoning.is_empty() {
        text = format!("<think>{reasoning}</think>\n\n{text}");
    }
    let content = match (text.trim().is_empty(), calls.is_empty()) {
        (false, _) => Value::String(text),
        (true, false) => Value::Null,
        // Servers refuse a message with neither content nor calls.
        (true, true) => NO_TEXT.into(),
    };
    let mut message = json!({ "role": "assistant", "content": content });
    match back {
        ReasoningBack::Text if reasoning.is_empty() => {}
        ReasoningBack::TextRequired if reasoning.is_empty() && calls.is_empty() => {}
        ReasoningBack::Text | ReasoningBack::TextRequired => {
            message["reasoning_content"] = reasoning.into();
        }
        ReasoningBack::Details if details.is_some() => {
            message["reasoning_details"] = details.cloned().unwrap_or_default();
        }
        ReasoningBack::Details | ReasoningBack::Tags | ReasoningBack::Never => {}
    }
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    message
}

/// The parts of one answer.
#[derive(Default)]
struct Said<'a> {
    text: String,
    reasoning: String,
    details: Option<&'a Value>,
    /// What has to go back with the calls that follow.
    extras: VecDeque<&'a Value>,
    calls: Vec<Value>,
}

impl<'a> Said<'a> {
    fn take(&mut self, piece: &'a Piece<'_>) {
        match piece {
            Piece::Text(text) => self.text.push_str(text),
            Piece::Reasoning { text, .. } => self.reasoning.push_str(text),
            Piece::Redacted(_) => {}
            Piece::Opaque(data) => {
                self.details = data.get("reasoning_details").or(self.details);
                if let Some(extras) = data.get("extra_content").and_then(Value::as_array) {
                    self.extras = extras.iter().collect();
                }
            }
            Piece::Call { id, name, arguments } => {
                let mut call = json!({
                    "id": id,
                    "type": "function",
                    "function": { "name": name, "arguments": arguments.to_string() },
                });
                if let Some(extra) = self.extras.pop_front().filter(|extra| !extra.is_null()) {
                    call["extra_content"] = extra.clone();
                }
                self.calls.push(call);
            }
        }
    }
}

fn result(result: &Outcome<'_>) -> Value {
    json!({ "role": "tool", "tool_call_id": result.id, "content": result.output })
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

fn tool_choice(target: &Target, request: &Request) -> Option<Value> {
    let forms = match target.profile.tool_choice {
        ChoiceForms::All | ChoiceForms::Words if !target.takes_forced_tools => {
            ChoiceForms::AutoOrNone
        }
        forms => forms,
    };
    Some(match (&request.tool_choice, forms) {
        (_, ChoiceForms::Absent) => return None,
        (ToolChoice::None, _) => "none".into(),
        (ToolChoice::Auto, _) | (ToolChoice::Named(_), ChoiceForms::AutoOrNone) => "auto".into(),
        (ToolChoice::Named(_), ChoiceForms::Words) => "required".into(),
        (ToolChoice::Named(name), ChoiceForms::All) => {
            json!({ "type": "function", "function": { "name": name } })
        }
    })
}

#[cfg(test)]
#[path = "body_tests.rs"]
mod tests;
