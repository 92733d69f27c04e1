//! The wires: how a neutral request becomes a model's answer. A provider knows nothing of runs,
//! budgets or screens; dropping its stream closes the connection.
//!
//! Four of them: [`offline`] needs nothing and is no language model, [`script`] plays what a file
//! says, [`openai`] speaks chat completions, [`anthropic`] Messages. [`http`], `sse`, `reading` and
//! `prepare` are what network wires share, `paced` and `estimate` what the others share.

pub mod anthropic;
mod cloud;
mod estimate;
pub mod http;
mod lines;
mod listing;
pub mod models;
mod network;
pub mod nobody;
pub mod offline;
pub mod ollama;
pub mod openai;
mod paced;
pub mod prepare;
mod reading;
pub mod retry;
pub mod script;
mod sse;
mod text_calls;
mod think;
mod words;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::Stream;
use serde_json::Value;

use crate::domain::event::Destination;
use crate::domain::ids::RunId;
use crate::domain::message::{Message, StopReason, ToolCall, ToolSchema};
use crate::domain::usage::{Prices, Usage};

/// Who answers, and what it costs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// `offline`, `script`, `openai`, `anthropic`.
    pub provider: String,
    /// The model's name.
    pub model: String,
    /// The host that requests go to; `None` if nothing leaves this process.
    pub host: Option<String>,
    /// True if no byte of a request leaves this machine.
    pub local: bool,
    /// What it charges; `None` if unknown.
    pub prices: Option<Prices>,
    /// Output tokens that one request may ask for at most.
    pub max_output_tokens: u64,
    /// Tokens that prompt and answer may have together; `None` if unknown.
    pub context_window: Option<u64>,
    /// True if there is a language model behind it.
    pub is_language_model: bool,
}

impl Identity {
    /// Where its requests go.
    pub fn destination(&self) -> Destination {
        Destination { host: self.host.clone() }
    }
}

/// Whether the model may or must call tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    Auto,
    /// Not at all; the tools stay defined.
    None,
    /// This one.
    Named(String),
}

/// A model that a server offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedModel {
    /// Its name, as requests name it.
    pub name: String,
    /// Tokens that prompt and answer may have together, where the list says so.
    pub context_window: Option<u64>,
}

/// One model request in the neutral form.
#[derive(Debug, Clone)]
pub struct Request {
    /// The run that asks: for scripted models and logs, never sent over a wire.
    pub run: RunId,
    /// The run's depth, 0 for a parent; never sent over a wire.
    pub depth: u32,
    /// The system prompt.
    pub system: Arc<str>,
    /// The tools it may call.
    pub tools: Arc<[ToolSchema]>,
    /// Whether it may call them.
    pub tool_choice: ToolChoice,
    /// The conversation.
    pub messages: Vec<Arc<Message>>,
    /// Output tokens at most.
    pub max_tokens: u64,
    /// Sampling temperature, where the contract sets one.
    pub temperature: Option<f64>,
}

/// A piece of an answer, in wire order.
#[derive(Debug, Clone, PartialEq)]
pub enum Chunk {
    /// More text.
    Text(String),
    /// More reasoning.
    Reasoning(String),
    /// The seal of the reasoning block that just ended.
    Signature(String),
    /// A sealed reasoning block.
    Redacted(String),
    /// A block of the provider's own, to be sent back to it unchanged and shown to nobody.
    Opaque(Value),
    /// The server said that it is still there. Shows nothing; resets the timer for silence.
    Alive,
    /// The model has written more of a call, which comes once it is whole.
    CallPart,
    /// A whole call.
    ToolCall(ToolCall),
    /// What the request has used so far; a later one replaces an earlier one.
    Usage(Usage),
    /// Why the model stopped. A stream that ends without this one was cut.
    Stop(StopReason),
}

/// Why there is no answer, or only a part of one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProviderError {
    /// The server could not be reached.
    #[error("cannot reach {host}: {detail}; is the server running and the base URL right?")]
    Unreachable {
        /// Which.
        host: String,
        /// What the network said.
        detail: String,
    },
    /// The server answered with an error.
    #[error("{host} answered {status}{}{}", after_colon(detail), hint(*status, *retry_after))]
    Status {
        /// Which.
        host: String,
        /// The HTTP status.
        status: u16,
        /// Its words, shortened.
        detail: String,
        /// How long it asked to wait before another try.
        retry_after: Option<Duration>,
    },
    /// The prompt does not fit into the model.
    #[error("the prompt is too long for the model at {host}: {detail}")]
    ContextExceeded {
        /// Which.
        host: String,
        /// Its words, shortened.
        detail: String,
    },
    /// The server said nothing for too long.
    #[error("{host} said nothing for {seconds} s {phase}; try again, or raise the stall timeout")]
    Stalled {
        /// Which.
        host: String,
        /// How long was waited, in seconds.
        seconds: u64,
        /// `before its answer began` or `in the middle of its answer`.
        phase: &'static str,
    },
    /// The answer broke off or made no sense.
    #[error("the answer of {host} broke off: {detail}")]
    Broken {
        /// Which.
        host: String,
        /// What was wrong.
        detail: String,
    },
    /// A scripted model cannot go on.
    #[error("{0}")]
    Script(String),
    /// This machine lacks something the connection needs.
    #[error("{0}")]
    Setup(String),
}

/// A server may answer with a status and no words.
fn after_colon(detail: &str) -> String {
    if detail.trim().is_empty() { String::new() } else { format!(": {detail}") }
}

/// What to do about a status that waiting does not mend, or not soon.
fn hint(status: u16, retry_after: Option<Duration>) -> String {
    match (status, retry_after) {
        (401 | 403, _) => {
            "; is the key right? `offshoot doctor` says where it comes from".to_owned()
        }
        (404, _) => {
            "; are the base URL and the model's name right? `offshoot doctor` asks the server"
                .to_owned()
        }
        (_, Some(wait)) if wait > retry::LONGEST_WAIT => {
            format!("; it asks to wait {} s, which is too long to wait here", wait.as_secs())
        }
        _ => String::new(),
    }
}

impl ProviderError {
    /// True if the server did not work on the request, so that it cost nothing.
    pub fn used_nothing(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Status { .. }
            | Self::ContextExceeded { .. }
            | Self::Script(_)
            | Self::Setup(_) => true,
            Self::Stalled { .. } | Self::Broken { .. } => false,
        }
    }

    /// The status that the server answered with.
    pub fn http_status(&self) -> Option<u16> {
        match self {
            Self::Status { status, .. } => Some(*status),
            Self::Unreachable { .. }
            | Self::ContextExceeded { .. }
            | Self::Stalled { .. }
            | Self::Broken { .. }
            | Self::Script(_)
            | Self::Setup(_) => None,
        }
    }
}

/// The pieces of one answer. Dropping it ends the request.
pub type ChunkStream = Pin<Box<dyn Stream<Item = Result<Chunk, ProviderError>> + Send>>;

/// The names of the models that a provider offers, once they are there.
pub type ModelsFuture = Pin<Box<dyn Future<Output = Result<Vec<String>, ProviderError>> + Send>>;

/// The end of asking a server about its model.
pub type LearnFuture = Pin<Box<dyn Future<Output = Result<(), ProviderError>> + Send>>;

/// Something that answers requests.
pub trait Provider: Send + Sync {
    /// Who answers, and what it costs.
    fn identity(&self) -> &Identity;

    /// The models that could answer instead; the one that does, where there is no list to ask for.
    fn models(&self) -> ModelsFuture {
        let model = self.identity().model.clone();
        Box::pin(async move { Ok(vec![model]) })
    }

    /// Asks what only the server knows of the model, so that [`identity`](Self::identity) tells the
    /// truth before a first request: a name may stand for a model that runs somewhere else. Says
    /// nothing of any conversation. Where there is nothing to ask, nothing is sent.
    fn learn(&self) -> LearnFuture {
        Box::pin(std::future::ready(Ok(())))
    }

    /// Starts a request. Nothing is sent before the stream is polled.
    fn stream(&self, request: Request) -> ChunkStream;
}

/// The model's name as it is sent.
fn named_model(name: &str) -> Result<String, ProviderError> {
    let name = name.trim();
    if name.is_empty() {
        return Err(ProviderError::Setup(
            "no model is named; give one with --model or OFFSHOOT_MODEL".to_owned(),
        ));
    }
    Ok(name.to_owned())
}
