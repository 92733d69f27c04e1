//! From the events of one answer to chunks. Pure: bytes, hosts and time are somebody else's.

use serde_json::{Value, json};

use super::calls::Fragments;
use super::details::Details;
use super::failure;
use super::profiles::{Profile, ReasoningBack};
use super::usage;
use crate::domain::message::{StopReason, ToolCall};
use crate::provider::reading::{Decoder, Failure, Step};
use crate::provider::text_calls::TextCalls;
use crate::provider::think::ThinkTags;
use crate::provider::{Chunk, http};

/// Bytes of sealed reasoning that one answer may hold back.
const MAX_DETAIL_BYTES: usize = 8 * 1024 * 1024;

/// An answer while it comes in. Calls are held back until it is whole, so that half of one can
/// never run.
#[derive(Debug)]
pub struct Answer {
    profile: &'static Profile,
    think: ThinkTags,
    spoken: TextCalls,
    calls: Fragments,
    details: Details,
    finish: Option<String>,
    refused: bool,
    /// True once anything of an answer came: words, reasoning or a call.
    said_something: bool,
    events: usize,
    shape: Shape,
    /// How the body begins, for the words about one that makes no sense.
    opening: String,
}

/// How the answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// As a stream of events.
    Events,
    /// As one JSON value, though a stream was asked for; or as something else altogether.
    Whole,
}

/// How the answer ended, in the server's word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finish {
    Said,
    Cut,
    Refused,
    Failed,
    Unknown,
}

impl Answer {
    /// The answer to a request that offered tools of the names `offered`, in a body that begins
    /// with `opening`.
    pub fn new(
        profile: &'static Profile,
        offered: Vec<String>,
        shape: Shape,
        opening: &[u8],
    ) -> Self {
        Self {
            profile,
            think: if profile.think_tags { ThinkTags::default() } else { ThinkTags::Answer },
            spoken: TextCalls::new(if profile.text_calls { offered } else { Vec::new() }),
            calls: Fragments::default(),
            details: Details::default(),
            finish: None,
            refused: false,
            said_something: false,
            events: 0,
            shape,
            opening: http::one_line(&String::from_utf8_lossy(opening), 60),
        }
    }

    /// Takes a whole answer that came at once instead of a stream.
    fn take_whole(&mut self, body: &str) -> Step {
        let body = body.trim_start_matches('\u{feff}');
        let value = serde_json::from_str::<Value>(body).unwrap_or(Value::Null);
        let mut step = self.take_event(&value);
        if step.over {
            return step;
        }
        if value.pointer("/choices/0").is_none() {
            let words = http::server_words(body.as_bytes());
            return self.fail(format!("it is no event stream but says \"{words}\""));
        }
        let end = self.finish(true);
        step.chunks.extend(end.chunks);
        Step { chunks: step.chunks, ..end }
    }

    /// The answer is at its end; `done` says that it came to its own mark for that. Gives the
    /// calls and the reason to stop if the answer is whole.
    fn finish(&mut self, done: bool) -> Step {
        let finish = match self.finish.take() {
            Some(finish) => finish,
            None if done && self.said_something => "stop".to_owned(),
            None if self.events == 0 || done => return self.fail(self.nothing()),
            None => {
                let detail = "the stream ended before the answer was whole (no finish_reason)";
                return self.fail(detail.to_owned());
            }
        };
        let kind = Finish::of(&finish);
        if kind == Finish::Failed {
            let word = http::one_line(&finish, 40);
            return self.fail(format!("the server gave up in the middle (finish_reason {word})"));
        }
        self.whole(finish, kind)
    }

    fn nothing(&self) -> String {
        let begins = match self.opening.as_str() {
            _ if self.events > 0 => String::new(),
            "" => String::new(),
            opening => format!(" (it begins \"{opening}\")"),
        };
        format!("it has no content at all{begins}; is this a chat-completions server?")
    }

    /// The answer ends here, badly; the words that were held back are not lost.
    fn fail(&mut self, detail: String) -> Step {
        self.fail_with(Failure { status: None, detail })
    }

    fn fail_with(&mut self, failure: Failure) -> Step {
        let mut chunks = Vec::new();
        self.release(false, &mut chunks);
        Step { chunks, failure: Some(failure), over: true }
    }

    fn whole(&mut self, finish: String, kind: Finish) -> Step {
        let mut chunks = Vec::new();
        let counts = self.calls.is_empty() && matches!(kind, Finish::Said | Finish::Unknown);
        let spoken = self.release(counts, &mut chunks);
        if let Some(entries) = std::mem::take(&mut self.details).finish() {
            chunks.push(Chunk::Opaque(json!({ "reasoning_details": entries })));
        }
        let native = std::mem::take(&mut self.calls).finish(kind == Finish::Cut);
        if self.profile.call_extras && native.extras.iter().any(|extra| !extra.is_null()) {
            chunks.push(Chunk::Opaque(json!({ "extra_content": native.extras })));
        }
        let calls: Vec<Chunk> =
            native.calls.into_iter().chain(spoken).map(Chunk::ToolCall).collect();
        let stop = self.stop_reason(finish, kind, !calls.is_empty());
        chunks.extend(calls);
        chunks.push(Chunk::Stop(stop));
        Step { chunks, failure: None, over: true }
    }

    fn stop_reason(&self, word: String, kind: Finish, calls: bool) -> StopReason {
        match kind {
            _ if self.refused => StopReason::Refusal,
            Finish::Said if calls => StopReason::ToolUse,
            Finish::Said => StopReason::EndTurn,
            Finish::Cut => StopReason::MaxTokens,
            Finish::Refused => StopReason::Refusal,
            Finish::Failed | Finish::Unknown => StopReason::Other(word),
        }
    }

    /// Gives what was held back of the text; the calls in it only if they count.
    fn release(&mut self, counts: bool, chunks: &mut Vec<Chunk>) -> Vec<ToolCall> {
        let apart = std::mem::replace(&mut self.think, ThinkTags::Answer).finish();
        push(chunks, Chunk::Reasoning, apart.reasoning);
        let mut open = std::mem::replace(&mut self.spoken, TextCalls::new(Vec::new()));
        push(chunks, Chunk::Text, open.push(&apart.text));
        let spoken = open.finish(counts);
        push(chunks, Chunk::Text, spoken.text);
        spoken.calls
    }

    fn take_event(&mut self, event: &Value) -> Step {
        let mut step = Step::default();
        step.chunks.extend(usage::told(event).map(Chunk::Usage));
        if let Some(choice) = event.pointer("/choices/0") {
            self.take_choice(choice, &mut step.chunks);
        }
        let failure = failure::reported(event).or_else(|| self.too_much());
        if let Some(failure) = failure {
            let end = self.fail_with(failure);
            step.chunks.extend(end.chunks);
            return Step { chunks: step.chunks, ..end };
        }
        step
    }

    fn too_much(&self) -> Option<Failure> {
        let what = if self.calls.is_too_much() {
            "tool calls"
        } else if self.details.bytes() > MAX_DETAIL_BYTES {
            "sealed reasoning"
        } else {
            return None;
        };
        let detail = format!("it holds more {what} than can be kept");
        Some(Failure { status: None, detail })
    }

    fn take_choice(&mut self, choice: &Value, chunks: &mut Vec<Chunk>) {
        let whole = choice.get("message").filter(|_| !self.said_something);
        if let Some(delta) = choice.get("delta").filter(|delta| delta.is_object()).or(whole) {
            self.take_delta(delta, chunks);
        }
        let finish = choice.get("finish_reason").and_then(Value::as_str);
        if let Some(reason) = finish.filter(|reason| !reason.is_empty()) {
            self.finish = Some(reason.to_owned());
        }
    }

    fn take_delta(&mut self, delta: &Value, chunks: &mut Vec<Chunk>) {
        let details = list(delta.get("reasoning_details"));
        let plain = ["reasoning_content", "reasoning"].map(|key| words(delta.get(key)));
        let mut reasoning = plain.into_iter().find(|text| !text.is_empty()).unwrap_or_default();
        if reasoning.is_empty() {
            reasoning = Details::words(details);
        }
        self.said_something |= !reasoning.is_empty() || !details.is_empty();
        push(chunks, Chunk::Reasoning, reasoning);
        if self.profile.reasoning == ReasoningBack::Details {
            self.details.take(details);
        }
        self.take_content(delta.get("content"), chunks);
        let refusal = words(delta.get("refusal"));
        self.refused |= !refusal.is_empty();
        self.said_something |= !refusal.is_empty();
        push(chunks, Chunk::Text, refusal);
        let calls = list(delta.get("tool_calls"));
        self.said_something |= !calls.is_empty();
        self.calls.take(calls);
    }

    /// Content is text, or a list of parts of which some are reasoning.
    fn take_content(&mut self, content: Option<&Value>, chunks: &mut Vec<Chunk>) {
        match content {
            Some(Value::String(text)) => self.take_text(text, chunks),
            Some(Value::Array(parts)) => {
                for part in parts {
                    let thinking = words(part.get("thinking"));
                    self.said_something |= !thinking.is_empty();
                    push(chunks, Chunk::Reasoning, thinking);
                    self.take_text(&words(part.get("text")), chunks);
                }
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {}
        }
    }

    fn take_text(&mut self, text: &str, chunks: &mut Vec<Chunk>) {
        if text.is_empty() {
            return;
        }
        self.said_something = true;
        let apart = self.think.push(text);
        push(chunks, Chunk::Reasoning, apart.reasoning);
        push(chunks, Chunk::Text, self.spoken.push(&apart.text));
    }
}

impl Decoder for Answer {
    fn call_bytes(&self) -> usize {
        self.calls.bytes()
    }

    fn take(&mut self, data: &str) -> Step {
        self.events += 1;
        if self.shape == Shape::Whole {
            return self.take_whole(data);
        }
        if data.trim() == "[DONE]" {
            self.events -= 1;
            return self.finish(true);
        }
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            let excerpt = http::one_line(data, 80);
            return self.fail(format!("an event is no JSON: \"{excerpt}\""));
        };
        self.take_event(&event)
    }

    fn end(&mut self) -> Step {
        self.finish(false)
    }

    fn break_off(&mut self, detail: String) -> Step {
        self.fail(detail)
    }
}

impl Finish {
    fn of(word: &str) -> Self {
        match word.to_ascii_lowercase().as_str() {
            "stop" | "end_turn" | "eos" | "eos_token" | "stop_sequence" | "tool_calls"
            | "tool_use" | "function_call" => Self::Said,
            "length"
            | "max_tokens"
            | "model_length"
            | "max_output_tokens"
            | "model_context_window_exceeded" => Self::Cut,
            "content_filter" | "refusal" | "safety" | "sensitive" => Self::Refused,
            "error" | "network_error" | "insufficient_system_resource" | "abort" => Self::Failed,
            _ => Self::Unknown,
        }
    }
}

fn push(chunks: &mut Vec<Chunk>, kind: fn(String) -> Chunk, text: String) {
    if !text.is_empty() {
        chunks.push(kind(text));
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Words as a string or as a list of parts with a `text` each.
fn words(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            String::new()
        }
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
