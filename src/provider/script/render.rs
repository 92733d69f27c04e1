//! From a written turn to the steps of an answer. It knows the form and the numbers, not whose
//! turn it is.

use std::time::Duration;

use serde_json::Value;

use crate::domain::ids::CallId;
use crate::domain::message::{StopReason, ToolCall};
use crate::domain::usage::{Prices, Usage};
use crate::provider::paced::{Step, pieces};
use crate::provider::{Chunk, ProviderError, Request, estimate};

use super::form::{Call, Turn, UsageForm};

/// Characters in one piece of streamed text.
const PIECE_CHARS: usize = 200;

/// The answer to `request`, which is the `number`th of its agent.
pub fn steps(turn: &Turn, number: usize, request: &Request, prices: Option<Prices>) -> Vec<Step> {
    let fill = |text: &str| text.replace("{n}", &number.to_string());
    let pause = Duration::from_millis(turn.chunk_delay_ms);
    let thinking = turn.thinking.as_deref().map(fill).unwrap_or_default();
    let text = match &turn.text_repeat {
        Some(repeat) => fill(&repeat.s).repeat(repeat.n),
        None => fill(&turn.text),
    };
    let mut steps = vec![Step::Wait(Duration::from_millis(turn.delay_ms))];
    steps.extend(pieces(&thinking, PIECE_CHARS, pause, Chunk::Reasoning));
    steps.extend(pieces(&text, PIECE_CHARS, pause, Chunk::Text));
    if let Some(error) = &turn.error {
        steps.push(Step::Give(Err(failure(error.status, fill(&error.message)))));
        return steps;
    }
    let calls: Vec<ToolCall> = turn.tool_calls.iter().map(|call| tool_call(call, number)).collect();
    let usage = match turn.usage {
        Some(usage) => told_usage(usage, prices),
        None => estimate::usage(request, &spoken(thinking, &text, &calls), prices),
    };
    let stop = stop_reason(turn, !calls.is_empty());
    steps.extend(calls.into_iter().map(|call| Step::chunk(Chunk::ToolCall(call))));
    steps.extend([Chunk::Usage(usage), Chunk::Stop(stop)].map(Step::chunk));
    steps
}

fn tool_call(written: &Call, number: usize) -> ToolCall {
    let fill = |text: &str| text.replace("{n}", &number.to_string());
    let call = CallId(fill(&written.id));
    let name = fill(&written.name);
    match &written.arguments {
        Value::String(text) => ToolCall::parse(call, name, &fill(text)),
        Value::Null => ToolCall::parse(call, name, ""),
        value => ToolCall::new(call, name, filled(value, &fill)),
    }
}

fn filled(value: &Value, fill: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text)),
        Value::Array(items) => items.iter().map(|item| filled(item, fill)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, item)| (key.clone(), filled(item, fill))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

fn told_usage(usage: UsageForm, prices: Option<Prices>) -> Usage {
    Usage {
        input_tokens: usage.input,
        output_tokens: usage.output,
        cost_usd: prices.map(|prices| prices.cost(usage.input, usage.output)),
        ..Usage::default()
    }
}

fn spoken(mut thinking: String, text: &str, calls: &[ToolCall]) -> String {
    thinking.push_str(text);
    for call in calls {
        thinking.push_str(&call.name);
        thinking.push_str(&call.arguments.to_string());
    }
    thinking
}

fn stop_reason(turn: &Turn, calls: bool) -> StopReason {
    match turn.stop.as_deref() {
        None if calls => StopReason::ToolUse,
        None | Some("end") => StopReason::EndTurn,
        Some("tool") => StopReason::ToolUse,
        Some("max_tokens") => StopReason::MaxTokens,
        Some("refusal") => StopReason::Refusal,
        Some(other) => StopReason::Other(other.to_owned()),
    }
}

/// The error of a scripted server. The code that chat-completions servers give for a prompt that is
/// too long means the same here.
fn failure(status: u16, detail: String) -> ProviderError {
    let host = "script".to_owned();
    if status == 400 && detail.contains("context_length_exceeded") {
        return ProviderError::ContextExceeded { host, detail };
    }
    ProviderError::Status { host, status, detail, retry_after: None }
}
