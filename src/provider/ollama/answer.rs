//! From the lines of one answer to chunks. Pure: bytes, hosts and time are somebody else's.

use serde_json::Value;

use crate::domain::ids::CallId;
use crate::domain::message::{StopReason, ToolCall};
use crate::domain::usage::Usage;
use crate::provider::reading::{Decoder, Failure, Step};
use crate::provider::text_calls::TextCalls;
use crate::provider::think::ThinkTags;
use crate::provider::{Chunk, http};

/// What one answer may hold back: more is no answer but an attack on the memory.
const MAX_CALLS: usize = 1_024;
const MAX_CALL_BYTES: usize = 8 * 1024 * 1024;

/// An answer while it comes in. Calls are held back until it is whole.
#[derive(Debug)]
pub struct Answer {
    think: ThinkTags,
    spoken: TextCalls,
    calls: Vec<ToolCall>,
    call_bytes: usize,
    /// The prompt's size by estimate, for servers that tell none.
    prompt_estimate: u64,
    lines: usize,
}

impl Answer {
    /// The answer to a request that offered tools of these names in a prompt of about that size.
    pub fn new(offered: Vec<String>, prompt_estimate: u64) -> Self {
        Self {
            think: ThinkTags::default(),
            spoken: TextCalls::new(offered),
            calls: Vec::new(),
            call_bytes: 0,
            prompt_estimate,
            lines: 0,
        }
    }

    fn take_message(&mut self, message: &Value, chunks: &mut Vec<Chunk>) {
        let text = |key: &str| message.get(key).and_then(Value::as_str).unwrap_or_default();
        push(chunks, Chunk::Reasoning, text("thinking").to_owned());
        if !text("content").is_empty() {
            let apart = self.think.push(text("content"));
            push(chunks, Chunk::Reasoning, apart.reasoning);
            push(chunks, Chunk::Text, self.spoken.push(&apart.text));
        }
        let calls = message.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            self.take_call(call);
        }
    }

    /// A call comes whole, mostly without an id.
    fn take_call(&mut self, call: &Value) {
        let function = call.get("function").unwrap_or(&Value::Null);
        let name = function.get("name").and_then(Value::as_str).unwrap_or_default();
        let arguments = function.get("arguments").unwrap_or(&Value::Null);
        let text = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
        if name.is_empty() {
            return;
        }
        self.call_bytes += text.len();
        let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let id = id.map_or_else(|| format!("call_{}", self.calls.len() + 1), str::to_owned);
        self.calls.push(ToolCall::parse(CallId(id), name, &text));
    }

    fn finish(&mut self, last: &Value, chunks: &mut Vec<Chunk>) {
        let word = last.get("done_reason").and_then(Value::as_str).unwrap_or("stop");
        let is_cut = word == "length";
        let spoken = self.release(!is_cut && self.calls.is_empty(), chunks);
        let mut calls = std::mem::take(&mut self.calls);
        if let Some(half) = calls.last_mut().filter(|_| is_cut) {
            // Nobody knows whether it was to go on, so it does not pass for whole.
            half.arguments = Value::String(half.arguments.to_string());
        }
        calls.extend(spoken);
        chunks.extend(usage(last, self.prompt_estimate).map(Chunk::Usage));
        let stop = match word {
            "stop" if calls.is_empty() => StopReason::EndTurn,
            "stop" => StopReason::ToolUse,
            "length" => StopReason::MaxTokens,
            other => StopReason::Other(http::one_line(other, 40)),
        };
        chunks.extend(calls.into_iter().map(Chunk::ToolCall));
        chunks.push(Chunk::Stop(stop));
    }

    /// Gives what was held back of the text; the calls in it only if they count.
    fn release(&mut self, counts: bool, chunks: &mut Vec<Chunk>) -> Vec<ToolCall> {
        let apart = std::mem::replace(&mut self.think, ThinkTags::Answer).finish();
        push(chunks, Chunk::Reasoning, apart.reasoning);
        let mut open = std::mem::replace(&mut self.spoken, TextCalls::new(Vec::new()));
        push(chunks, Chunk::Text, open.push(&apart.text));
        let spoken = open.finish(counts);
        push(chunks, Chunk::Text, spoken.text);
        let number = |(place, mut call): (usize, ToolCall)| {
            call.call = CallId(format!("call_{}", place + 1));
            call
        };
        spoken.calls.into_iter().enumerate().map(number).collect()
    }
}

impl Decoder for Answer {
    fn take(&mut self, data: &str) -> Step {
        self.lines += 1;
        let Ok(line) = serde_json::from_str::<Value>(data) else {
            let words = http::server_words(data.as_bytes());
            return self
                .break_off(format!("a line is no JSON: \"{}\"", http::one_line(&words, 80)));
        };
        let mut step = Step::default();
        if let Some(message) = line.get("message") {
            self.take_message(message, &mut step.chunks);
        }
        let failure = if line.get("error").is_some_and(|error| !error.is_null()) {
            let words =
                http::json_words(&line).unwrap_or_else(|| "it does not say which".to_owned());
            Some(format!("the server reported an error: {words}"))
        } else if self.calls.len() > MAX_CALLS || self.call_bytes > MAX_CALL_BYTES {
            Some("it asks for more tool calls than can be held".to_owned())
        } else {
            None
        };
        if let Some(detail) = failure {
            let end = self.break_off(detail);
            step.chunks.extend(end.chunks);
            return Step { chunks: step.chunks, ..end };
        }
        if line.get("done").and_then(Value::as_bool) == Some(true) {
            self.finish(&line, &mut step.chunks);
            step.over = true;
        }
        step
    }

    fn end(&mut self) -> Step {
        self.break_off(match self.lines {
            0 => "it has no content at all; is this an Ollama server?".to_owned(),
            _ => "the stream ended before the answer was whole (no line said done)".to_owned(),
        })
    }

    fn break_off(&mut self, detail: String) -> Step {
        let mut chunks = Vec::new();
        self.release(false, &mut chunks);
        Step { chunks, failure: Some(Failure { status: None, detail }), over: true }
    }
}

/// A server that found the whole prompt in its cache tells no size for it. What is left out of the
/// output is left to whoever sees the answer; both are marked.
fn usage(last: &Value, prompt_estimate: u64) -> Option<Usage> {
    let count = |key: &str| last.get(key).and_then(Value::as_u64);
    let (prompt, output) = (count("prompt_eval_count"), count("eval_count"));
    if prompt.is_none() && output.is_none() {
        return None;
    }
    Some(Usage {
        input_tokens: prompt.unwrap_or(prompt_estimate),
        output_tokens: output.unwrap_or(0),
        estimated: prompt.is_none() || output.is_none(),
        ..Usage::default()
    })
}

fn push(chunks: &mut Vec<Chunk>, kind: fn(String) -> Chunk, text: String) {
    if !text.is_empty() {
        chunks.push(kind(text));
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
