//! From the events of one answer to chunks. Pure: bytes, hosts and time are somebody else's.

use serde_json::Value;

use crate::domain::ids::CallId;
use crate::domain::message::{StopReason, ToolCall};
use crate::domain::usage::Usage;
use crate::provider::reading::{Decoder, Failure, Step};
use crate::provider::{Chunk, http};

/// What one answer may hold back: more is no answer but an attack on the memory.
const MAX_CALLS: usize = 1_024;
const MAX_ARGUMENT_BYTES: usize = 8 * 1024 * 1024;

/// An answer while it comes in. Calls are held back until it is whole, so that half of one can
/// never run.
#[derive(Debug, Default)]
pub struct Answer {
    calls: Vec<CallParts>,
    argument_bytes: usize,
    finish: Option<String>,
    refused: bool,
    events: usize,
}

#[derive(Debug, Default)]
struct CallParts {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Decoder for Answer {
    fn take(&mut self, data: &str) -> Step {
        if data.trim() == "[DONE]" {
            return self.end();
        }
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            let excerpt = http::one_line(data, 80);
            return Step::failed(format!("an event is no JSON: \"{excerpt}\""));
        };
        self.events += 1;
        let mut step = Step::default();
        if let Some(usage) = event.get("usage").and_then(usage) {
            step.chunks.push(Chunk::Usage(usage));
        }
        if let Some(error) = event.get("error").filter(|error| !error.is_null()) {
            step.failure = Some(reported(error));
            step.over = true;
            return step;
        }
        if let Some(choice) = event.get("choices").and_then(|choices| choices.get(0)) {
            self.take_choice(choice, &mut step.chunks);
        }
        if self.calls.len() > MAX_CALLS || self.argument_bytes > MAX_ARGUMENT_BYTES {
            return Step::failed("it asks for more tool calls than can be held");
        }
        step
    }

    /// The stream is at its end: the calls and the reason to stop, if the answer is whole.
    fn end(&mut self) -> Step {
        let Some(finish) = self.finish.take() else {
            return Step::failed(match self.events {
                0 => "it has no content at all; is this a chat-completions server?",
                _ => "the stream ended before the answer was whole (no finish_reason)",
            });
        };
        let calls = std::mem::take(&mut self.calls);
        let stop = stop_reason(finish, self.refused, !calls.is_empty());
        let calls = calls.into_iter().map(|call| Chunk::ToolCall(call.whole()));
        Step { chunks: calls.chain([Chunk::Stop(stop)]).collect(), failure: None, over: true }
    }
}

impl Answer {
    fn take_choice(&mut self, choice: &Value, chunks: &mut Vec<Chunk>) {
        if let Some(delta) = choice.get("delta") {
            let reasoning = ["reasoning_content", "reasoning"].map(|key| text(delta.get(key)));
            let reasoning = reasoning.into_iter().find(|text| !text.is_empty());
            chunks.extend(reasoning.map(Chunk::Reasoning));
            let words = text(delta.get("content"));
            let refusal = text(delta.get("refusal"));
            self.refused |= !refusal.is_empty();
            let words = [words, refusal].into_iter().filter(|text| !text.is_empty());
            chunks.extend(words.map(Chunk::Text));
            let parts =
                delta.get("tool_calls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            for (place, part) in parts.iter().enumerate() {
                self.take_call(part, (parts.len() > 1).then_some(place));
            }
        }
        if let Some(reason) = choice.get("finish_reason").and_then(Value::as_str)
            && !reason.is_empty()
        {
            self.finish = Some(reason.to_owned());
        }
    }

    /// Takes a fragment. `place` is its place among several that came at once.
    fn take_call(&mut self, part: &Value, place: Option<usize>) {
        let index = part.get("index").and_then(Value::as_u64);
        let id = part.get("id").and_then(Value::as_str).unwrap_or("");
        let function = part.get("function").unwrap_or(&Value::Null);
        let name = function.get("name").and_then(Value::as_str).unwrap_or("");
        let is_bare = index.is_none() && id.is_empty() && name.is_empty();
        let position = match place.filter(|place| is_bare && *place < self.calls.len()) {
            Some(place) => Some(place),
            None => self.calls.iter().rposition(|call| call.continues(index, id, name)),
        };
        let position = position.unwrap_or_else(|| {
            self.calls.push(CallParts { index, ..CallParts::default() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[position];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() {
            name.clone_into(&mut call.name);
        }
        match function.get("arguments") {
            Some(Value::String(text)) => {
                self.argument_bytes += text.len();
                call.arguments.push_str(text);
            }
            Some(whole @ Value::Object(_)) => call.arguments = whole.to_string(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_)) | None => {}
        }
    }
}

impl CallParts {
    /// True if a fragment with this index, id and name belongs to this call. Servers leave out the
    /// index, or all but the first id, or send one index for two calls.
    fn continues(&self, index: Option<u64>, id: &str, name: &str) -> bool {
        let same_place = index.is_none() || self.index.is_none() || index == self.index;
        let same_id = id.is_empty() || self.id.is_empty() || id == self.id;
        let begins = !name.is_empty() && !self.name.is_empty() && index.is_none() && id.is_empty();
        same_place && same_id && !begins
    }

    fn whole(self) -> ToolCall {
        ToolCall::parse(CallId(self.id), self.name, &self.arguments)
    }
}

fn stop_reason(word: String, refused: bool, calls: bool) -> StopReason {
    match word.as_str() {
        _ if refused => StopReason::Refusal,
        "stop" if calls => StopReason::ToolUse,
        "stop" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        _ => StopReason::Other(word),
    }
}

/// Text as a string or as a list of parts.
fn text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(|part| text(part.get("text"))).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            String::new()
        }
    }
}

fn usage(value: &Value) -> Option<Usage> {
    let count = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64);
    Some(Usage {
        input_tokens: count("/prompt_tokens")?,
        output_tokens: count("/completion_tokens").unwrap_or(0),
        cache_read_tokens: count("/prompt_tokens_details/cached_tokens").unwrap_or(0),
        reasoning_tokens: count("/completion_tokens_details/reasoning_tokens").unwrap_or(0),
        ..Usage::default()
    })
}

fn reported(error: &Value) -> Failure {
    let status =
        ["code", "status_code", "status"].map(|key| error.get(key).and_then(Value::as_u64));
    let status = status.into_iter().flatten().find(|status| (400..600).contains(status));
    let words = http::json_words(error).unwrap_or_else(|| http::one_line(&error.to_string(), 300));
    Failure {
        status: status.and_then(|status| u16::try_from(status).ok()),
        detail: format!("the server reported an error in its stream: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(events: &[Value]) -> Step {
        let mut answer = Answer::default();
        let mut all = Step::default();
        for event in events {
            let step = answer.take(&event.to_string());
            all.chunks.extend(step.chunks);
            if step.over {
                return Step { chunks: all.chunks, ..step };
            }
        }
        let end = answer.end();
        all.chunks.extend(end.chunks);
        Step { chunks: all.chunks, ..end }
    }

    fn delta(delta: &Value) -> Value {
        json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
    }

    fn finish(reason: &str) -> Value {
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    }

    fn call(id: &str, name: &str, arguments: Value) -> Chunk {
        Chunk::ToolCall(ToolCall { call: CallId::from(id), name: name.to_owned(), arguments })
    }

    fn part(fields: &Value) -> Value {
        delta(&json!({"tool_calls": [fields]}))
    }

    #[test]
    fn fragments_come_together_by_index_with_or_without_ids() {
        let step = read(&[
            part(&json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": ""}})),
            part(&json!({"index": 1, "id": "b", "function": {"name": "y", "arguments": "{\"k\""}})),
            part(&json!({"index": 0, "function": {"arguments": "{}"}})),
            part(&json!({"index": 1, "id": "", "function": {"name": "", "arguments": ":1}"}})),
            finish("tool_calls"),
        ]);
        let calls = [call("a", "x", json!({})), call("b", "y", json!({"k": 1}))];
        assert_eq!(step.chunks[..2], calls);
        assert_eq!(step.chunks[2..], [Chunk::Stop(StopReason::ToolUse)]);
    }

    #[test]
    fn calls_without_index_are_told_apart_by_id_or_else_by_name() {
        let by_id = read(&[
            part(&json!({"id": "a", "function": {"name": "x", "arguments": "{"}})),
            part(&json!({"function": {"arguments": "}"}})),
            part(&json!({"id": "b", "function": {"name": "x", "arguments": {"k": 2}}})),
            finish("stop"),
        ]);
        assert_eq!(by_id.chunks[..2], [call("a", "x", json!({})), call("b", "x", json!({"k": 2}))]);
        let by_name = read(&[
            part(&json!({"function": {"name": "x", "arguments": "{}"}})),
            part(&json!({"function": {"name": "y", "arguments": ""}})),
            finish("tool_calls"),
        ]);
        assert_eq!(by_name.chunks[..2], [call("", "x", json!({})), call("", "y", json!({}))]);
    }

    #[test]
    fn bare_fragments_that_come_at_once_belong_to_the_calls_in_their_order() {
        let begin = |id: &str| json!({"id": id, "function": {"name": "x", "arguments": "{\"k\":"}});
        let end = |value: &str| json!({"function": {"arguments": value}});
        let step = read(&[
            delta(&json!({"tool_calls": [begin("a"), begin("b")]})),
            delta(&json!({"tool_calls": [end("1}"), end("2}")]})),
            finish("tool_calls"),
        ]);
        let calls = [call("a", "x", json!({"k": 1})), call("b", "x", json!({"k": 2}))];
        assert_eq!(step.chunks[..2], calls);
    }

    #[test]
    fn one_index_with_two_ids_is_two_calls() {
        let step = read(&[
            part(&json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}})),
            part(&json!({"index": 0, "id": "b", "function": {"name": "x", "arguments": "{}"}})),
            finish("tool_calls"),
        ]);
        assert_eq!(step.chunks[..2], [call("a", "x", json!({})), call("b", "x", json!({}))]);
    }

    #[test]
    fn endless_calls_are_refused() {
        let event = |id: usize| part(&json!({"id": id.to_string(), "function": {"name": "x"}}));
        let events: Vec<Value> = (0..=MAX_CALLS).map(event).collect();
        let step = read(&events);
        assert!(step.failure.is_some_and(|failure| failure.detail.contains("more tool calls")));
    }

    #[test]
    fn a_cut_stream_gives_its_text_and_no_call() {
        let step = read(&[
            delta(&json!({"content": "I will"})),
            part(&json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}})),
        ]);
        assert_eq!(step.chunks, [Chunk::Text("I will".to_owned())]);
        assert!(step.failure.is_some());
    }

    #[test]
    fn a_call_cut_by_the_output_limit_keeps_its_text_for_the_refusal() {
        let step = read(&[
            part(&json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": "{\"k"}})),
            finish("length"),
        ]);
        assert_eq!(
            step.chunks,
            [call("a", "x", json!("{\"k")), Chunk::Stop(StopReason::MaxTokens)]
        );
    }

    #[test]
    fn reasoning_refusals_parts_and_usage_are_read() {
        let step = read(&[
            json!({"choices": [], "usage": null}),
            delta(&json!({"reasoning_content": "hm", "reasoning": "hm", "content": null})),
            delta(&json!({"content": [{"type": "text", "text": "par"}, {"text": "ts"}]})),
            delta(&json!({"refusal": "no"})),
            finish("stop"),
            json!({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 3}}}),
        ]);
        let usage = Usage {
            input_tokens: 10,
            output_tokens: 5,
            cache_read_tokens: 4,
            reasoning_tokens: 3,
            ..Usage::default()
        };
        let expected = [
            Chunk::Reasoning("hm".to_owned()),
            Chunk::Text("parts".to_owned()),
            Chunk::Text("no".to_owned()),
            Chunk::Usage(usage),
            Chunk::Stop(StopReason::Refusal),
        ];
        assert_eq!(step.chunks, expected);
    }

    #[test]
    fn an_error_in_the_stream_keeps_its_status_and_the_usage_before_it() {
        let step = read(&[json!({
            "error": {"code": 429, "message": "slow\ndown"}, "choices": [],
            "usage": {"prompt_tokens": 1}
        })]);
        let failure = step.failure.map(|failure| (failure.status, failure.detail));
        let words = "the server reported an error in its stream: slow down";
        assert_eq!(failure, Some((Some(429), words.to_owned())));
        assert!(matches!(step.chunks.as_slice(), [Chunk::Usage(_)]));
        let plain = read(&[json!({"error": {"message": "tool", "code": "tool_use_failed"}})]);
        assert_eq!(plain.failure.and_then(|failure| failure.status), None);
    }

    #[test]
    fn events_that_are_no_json_or_of_a_strange_shape_never_panic() {
        let mut answer = Answer::default();
        for data in ["1", "null", "[]", "{\"choices\":{}}", "{\"choices\":[{\"delta\":[1]}]}"] {
            assert!(!answer.take(data).over, "{data}");
        }
        assert!(answer.take("{\"choices\":[{\"de").failure.is_some());
    }
}
