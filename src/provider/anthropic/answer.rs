//! From the events of one answer to chunks. Pure: bytes, hosts and time are somebody else's.
//!
//! Words and reasoning are passed on as they come. From the first call on everything waits for the
//! end of the answer: half of a call can never run, and blocks keep their order.

use serde_json::Value;

use super::block::OpenBlock;
use super::usage::Counts;
use crate::domain::message::{Block, StopReason};
use crate::provider::reading::{Decoder, Failure, Step};
use crate::provider::{Chunk, http};

/// What one answer may hold back: more is no answer but an attack on the memory.
const MAX_BLOCKS: usize = 4_096;
const MAX_HELD_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of words that are kept after they were passed on, in case the answer pauses and has to be
/// sent back.
const MAX_KEPT_BYTES: usize = 4 * 1024 * 1024;
/// The word for a pause, in which the model waits for its answer to be sent back.
pub const PAUSE: &str = "pause_turn";
const REFUSAL: &str = "refusal";

/// An answer while it comes in.
#[derive(Debug, Default)]
pub struct Answer {
    blocks: Vec<Placed>,
    /// The first of `blocks` that waits for the end.
    first_held: Option<usize>,
    /// Bytes of the events that brought nothing to show yet.
    held_bytes: usize,
    /// Bytes of the words that have been passed on; beyond a limit they are not kept.
    passed_bytes: usize,
    counts: Counts,
    started: bool,
    stop: Option<String>,
    events: usize,
}

#[derive(Debug)]
struct Placed {
    index: Option<u64>,
    block: OpenBlock,
    /// True once everything of it has been passed on.
    closed: bool,
}

impl Decoder for Answer {
    fn call_bytes(&self) -> usize {
        self.blocks.iter().map(|placed| placed.block.call_bytes()).sum()
    }

    fn take(&mut self, data: &str) -> Step {
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            if data.trim() == "[DONE]" {
                // Some gateways add the end mark of another API.
                return Step::default();
            }
            let excerpt = http::one_line(data, 80);
            return self.break_off(format!("an event is no JSON: \"{excerpt}\""));
        };
        let step = self.take_event(&event);
        if step.chunks.is_empty() && event.get("index").is_some() {
            self.held_bytes += data.len();
        }
        if self.blocks.len() > MAX_BLOCKS || self.held_bytes > MAX_HELD_BYTES {
            return self.break_off("it holds more calls or blocks than can be kept".to_owned());
        }
        step
    }

    /// The body is at its end, and no `message_stop` came.
    fn end(&mut self) -> Step {
        self.break_off(match self.events {
            0 => "it has no content at all; is this a server of the Messages API?".to_owned(),
            _ => "the stream ended before the answer was whole (no message_stop)".to_owned(),
        })
    }

    fn break_off(&mut self, detail: String) -> Step {
        self.fail(Failure { status: None, detail })
    }
}

impl Answer {
    /// The blocks so far, as they are sent back to go on after a pause. `None` if there are none,
    /// or more words than were kept.
    pub fn said(&self) -> Option<Vec<Block>> {
        let is_kept = self.passed_bytes <= MAX_KEPT_BYTES;
        let blocks = self.blocks.iter().filter_map(|placed| placed.block.said());
        is_kept.then(|| blocks.collect()).filter(|blocks: &Vec<Block>| !blocks.is_empty())
    }

    fn take_event(&mut self, event: &Value) -> Step {
        let mut step = Step::default();
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "message_start" => self.take_start(event.get("message"), &mut step),
            "message" => return self.take_whole(event),
            "content_block_start" => self.open(index(event), event.get("content_block"), &mut step),
            "content_block_delta" => self.take_delta(event, &mut step),
            "content_block_stop" => self.close(index(event), &mut step),
            "message_delta" => self.take_message_delta(event, &mut step),
            "message_stop" => return self.finish(),
            _ if event.get("error").is_some_and(|error| !error.is_null()) => {
                return self.fail(reported(&event["error"]));
            }
            // A ping, or something that this program does not know yet.
            _ => return step,
        }
        self.events += 1;
        step
    }

    /// Some servers say twice that they start; the second time says nothing new.
    fn take_start(&mut self, message: Option<&Value>, step: &mut Step) {
        if !std::mem::replace(&mut self.started, true) {
            self.take_usage(message.and_then(|message| message.get("usage")), step);
        }
    }

    fn take_message_delta(&mut self, event: &Value, step: &mut Step) {
        self.take_usage(event.get("usage"), step);
        if let Some(reason) = event.pointer("/delta/stop_reason").and_then(Value::as_str) {
            self.stop = Some(reason.to_owned());
        }
    }

    fn take_usage(&mut self, usage: Option<&Value>, step: &mut Step) {
        let usage = usage.and_then(|usage| self.counts.take(usage));
        step.chunks.extend(usage.map(Chunk::Usage));
    }

    /// An answer that was not streamed.
    fn take_whole(&mut self, message: &Value) -> Step {
        let mut step = Step::default();
        self.take_start(Some(message), &mut step);
        for block in message.get("content").and_then(Value::as_array).into_iter().flatten() {
            self.open(None, Some(block), &mut step);
        }
        self.stop = message.get("stop_reason").and_then(Value::as_str).map(str::to_owned);
        let end = self.finish();
        step.chunks.extend(end.chunks);
        Step { chunks: step.chunks, ..end }
    }

    fn open(&mut self, index: Option<u64>, content: Option<&Value>, step: &mut Step) {
        self.close_all(step);
        let block = OpenBlock::start(content.unwrap_or(&Value::Null));
        if block.is_call() && self.first_held.is_none() {
            self.first_held = Some(self.blocks.len());
        }
        let shown = block.shown();
        self.blocks.push(Placed { index, block, closed: false });
        self.show(self.blocks.len() - 1, shown, step);
    }

    fn take_delta(&mut self, event: &Value, step: &mut Step) {
        let Some(delta) = event.get("delta") else { return };
        let Some(position) = self.position(index(event)) else {
            // A server that does not announce its blocks: the delta says what block it is of.
            if let Some(content) = OpenBlock::announced_by(delta) {
                self.open(index(event), Some(&content), step);
                self.take_delta(event, step);
            }
            return;
        };
        let shown = self.blocks[position].block.take(delta);
        self.show(position, shown, step);
    }

    /// Passes on what a block adds, unless it waits for the end.
    fn show(&mut self, position: usize, shown: Option<Chunk>, step: &mut Step) {
        if self.is_held(position) {
            return;
        }
        if let Some(Chunk::Text(words) | Chunk::Reasoning(words)) = &shown {
            self.passed_bytes += words.len();
            if self.passed_bytes > MAX_KEPT_BYTES {
                self.blocks[position].block.forget_words();
            }
        }
        step.chunks.extend(shown);
    }

    fn close(&mut self, index: Option<u64>, step: &mut Step) {
        if let Some(position) = self.position(index) {
            self.close_at(position, step);
        }
    }

    /// Blocks come one after the other, so a new one ends those before it.
    fn close_all(&mut self, step: &mut Step) {
        let first_open = self.blocks.iter().rposition(|placed| placed.closed);
        for position in first_open.map_or(0, |closed| closed + 1)..self.blocks.len() {
            self.close_at(position, step);
        }
    }

    fn close_at(&mut self, position: usize, step: &mut Step) {
        let is_held = self.is_held(position);
        let placed = &mut self.blocks[position];
        if !is_held && !std::mem::replace(&mut placed.closed, true) {
            step.chunks.extend(placed.block.sealed());
        }
    }

    /// True for blocks from the first call on: they wait for the end of the answer.
    fn is_held(&self, position: usize) -> bool {
        self.first_held.is_some_and(|first| position >= first)
    }

    fn position(&self, index: Option<u64>) -> Option<usize> {
        match index {
            Some(_) => self.blocks.iter().rposition(|placed| placed.index == index),
            None => self.blocks.len().checked_sub(1),
        }
    }

    /// The answer is whole: what was held back, and why the model stopped.
    fn finish(&mut self) -> Step {
        let mut step = Step { over: true, ..Step::default() };
        let Some(reason) = self.stop.take() else {
            return self.break_off("the answer ended without a stop_reason".to_owned());
        };
        self.close_all(&mut step);
        let held = self.first_held.unwrap_or(self.blocks.len());
        // The calls of an answer that was stopped by a refusal may be half of what was meant.
        let is_refused = reason == REFUSAL;
        let held = self.blocks[held..].iter().map(|placed| &placed.block);
        let held = held.filter(|block| !(is_refused && block.is_call()));
        step.chunks.extend(held.flat_map(OpenBlock::whole));
        let calls = self.blocks.iter().any(|placed| placed.block.is_call());
        step.chunks.push(Chunk::Stop(stop_reason(reason, calls)));
        step
    }

    /// The answer ends badly. Words that waited are passed on, calls are not.
    fn fail(&mut self, failure: Failure) -> Step {
        let held = self.first_held.unwrap_or(self.blocks.len());
        let words = self.blocks[held..].iter().filter_map(|placed| placed.block.shown());
        Step { chunks: words.collect(), failure: Some(failure), over: true }
    }
}

fn index(event: &Value) -> Option<u64> {
    event.get("index").and_then(Value::as_u64)
}

fn stop_reason(word: String, calls: bool) -> StopReason {
    match word.as_str() {
        "end_turn" if calls => StopReason::ToolUse,
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        // A pause with calls waits for their results, not for a continuation.
        PAUSE if calls => StopReason::ToolUse,
        // In both cases the answer was cut, and its last call may be half of one.
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxTokens,
        REFUSAL => StopReason::Refusal,
        _ => StopReason::Other(word),
    }
}

/// An error that the server reports in its stream, with the HTTP status that it stands for.
/// Source: the API's table of errors.
fn reported(error: &Value) -> Failure {
    let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
    let status = match kind {
        "invalid_request_error" => Some(400),
        "authentication_error" => Some(401),
        "billing_error" => Some(402),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        "request_too_large" => Some(413),
        "rate_limit_error" => Some(429),
        "api_error" => Some(500),
        "timeout_error" => Some(504),
        "overloaded_error" => Some(529),
        _ => None,
    };
    let code = error.get("code").and_then(Value::as_u64);
    let code = code.filter(|code| (400..600).contains(code));
    let words = http::json_words(error).unwrap_or_else(|| http::one_line(&error.to_string(), 300));
    Failure {
        status: status.or_else(|| code.and_then(|code| u16::try_from(code).ok())),
        detail: format!("the server reported an error in its stream: {words}"),
    }
}
