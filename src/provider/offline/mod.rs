//! The embedded model that is none: a small deterministic researcher for machines without a key.
//! As a parent it delegates the question, as a child it lists, searches and reads, and reports the
//! lines that fit. It sees what any model sees, the request, and never the disk.
//!
//! In reading order: `question` (what is asked), `observed` (what the results
//! showed), `plan` (what to look at next), `frameworks`, `builds`, `declared` and `findings` (what
//! it means), `answers`, `child` and `parent` (what is said).

mod answers;
mod builds;
mod child;
mod declared;
mod findings;
mod framework_table;
mod frameworks;
mod observed;
mod parent;
mod plan;
mod question;
mod table;
mod topics;

use std::time::Duration;

use serde_json::Value;

use crate::domain::ids::CallId;
use crate::domain::message::{StopReason, ToolCall};
use crate::domain::usage::Prices;

use super::paced::{self, Step, pieces};
use super::{Chunk, ChunkStream, Identity, Provider, Request, ToolChoice, estimate};

/// Characters in one piece of streamed text, and the most that a piece waits.
const PIECE_CHARS: usize = 32;
const PIECE_PAUSE: Duration = Duration::from_millis(20);

/// The embedded researcher.
#[derive(Debug)]
pub struct Offline {
    identity: Identity,
    pace: Duration,
}

/// What it says in one turn. Without calls it is its last word.
#[derive(Debug, Clone, PartialEq)]
struct Reply {
    text: String,
    calls: Vec<Call>,
}

/// A call that it wants made.
#[derive(Debug, Clone, PartialEq)]
struct Call {
    tool: &'static str,
    arguments: Value,
}

impl Offline {
    /// A researcher that waits `pace` before each call, so that a person can watch it and cancel.
    /// With zero nothing waits.
    pub fn new(pace: Duration) -> Self {
        let identity = Identity {
            provider: "offline".to_owned(),
            model: "no language model".to_owned(),
            host: None,
            local: true,
            prices: Some(Prices::FREE),
            max_output_tokens: 8_192,
            context_window: None,
            is_language_model: false,
        };
        Self { identity, pace }
    }
}

impl Provider for Offline {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn stream(&self, request: Request) -> ChunkStream {
        let pace = self.pace;
        paced::play(move || steps(&request, pace))
    }
}

fn steps(request: &Request, pace: Duration) -> Vec<Step> {
    let reply = if request.depth == 0 { parent::reply(request) } else { child::reply(request) };
    let calls = u32::try_from(reply.calls.len()).unwrap_or(u32::MAX);
    let mut steps: Vec<Step> =
        pieces(&reply.text, PIECE_CHARS, (pace / 20).min(PIECE_PAUSE), Chunk::Text).collect();
    steps.push(Step::Wait(pace.saturating_mul(calls)));
    let mut spoken = reply.text;
    let stop = if calls == 0 { StopReason::EndTurn } else { StopReason::ToolUse };
    for (index, call) in reply.calls.into_iter().enumerate() {
        spoken.push_str(&call.arguments.to_string());
        // The length of the conversation makes the id unique within it.
        // With the run in it, no two calls of a session share an id.
        let run = request.run.as_str().replace('.', "_");
        let id = CallId(format!("{run}_{}_{index}", request.messages.len()));
        let (name, arguments) = (call.tool.to_owned(), call.arguments);
        steps.push(Step::chunk(Chunk::ToolCall(ToolCall { call: id, name, arguments })));
    }
    let usage = estimate::usage(request, &spoken, Some(Prices::FREE));
    steps.extend([Chunk::Usage(usage), Chunk::Stop(stop)].map(Step::chunk));
    steps
}

impl Reply {
    fn last(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: Vec::new() }
    }
}

/// True if the model may call `tool` now.
fn may_call(request: &Request, tool: &str) -> bool {
    match &request.tool_choice {
        ToolChoice::None => false,
        ToolChoice::Auto => request.tools.iter().any(|schema| schema.name == tool),
        ToolChoice::Named(name) => {
            name == tool && request.tools.iter().any(|schema| schema.name == tool)
        }
    }
}

#[cfg(test)]
mod tests;
