//! The file form of a scripted model: what may be written, and nothing of how it is played. Keys
//! that are not named here are ignored.

use serde::Deserialize;
use serde_json::Value;

/// A script file. The fields of an agent's turns are written out twice, here and in [`Child`]:
/// flattening them would cost the line and column in errors.
#[derive(Debug, Deserialize)]
pub struct File {
    /// What the parent says, request by request through the whole session.
    pub turns: Vec<Turn>,
    /// True: the last turn goes on for ever.
    #[serde(default)]
    pub repeat_last: bool,
    /// True: after the last turn comes the first.
    #[serde(default)]
    pub cycle: bool,
    /// What children say.
    #[serde(default)]
    pub children: Vec<Child>,
    /// What tokens cost; an unknown price if absent.
    pub prices: Option<PricesForm>,
}

/// The turns of the children whose first user message contains `match`.
#[derive(Debug, Deserialize)]
pub struct Child {
    /// What the message must contain; empty matches every child.
    #[serde(rename = "match")]
    pub matches: String,
    /// What such a child says, request by request.
    pub turns: Vec<Turn>,
    /// True: the last turn goes on for ever.
    #[serde(default)]
    pub repeat_last: bool,
    /// True: after the last turn comes the first.
    #[serde(default)]
    pub cycle: bool,
}

/// One answer. In every string `{n}` stands for the number of the request, from 1.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// Words.
    pub text: String,
    /// Words that are too long to write out; they replace `text`.
    pub text_repeat: Option<Repeat>,
    /// Reasoning, given before the words.
    pub thinking: Option<String>,
    /// Calls, given after the words.
    pub tool_calls: Vec<Call>,
    /// Time before the answer, in ms.
    pub delay_ms: u64,
    /// Time before each piece of text or reasoning, in ms, so that streaming can be watched.
    pub chunk_delay_ms: u64,
    /// What the request is said to have used; estimated if absent.
    pub usage: Option<UsageForm>,
    /// `end`, `tool`, `max_tokens`, `refusal` or a word of its own; by the calls if absent.
    pub stop: Option<String>,
    /// A server's error. It comes after `text`, and in place of everything else.
    pub error: Option<ErrorForm>,
}

/// A string, `n` times.
#[derive(Debug, Clone, Deserialize)]
pub struct Repeat {
    /// The string.
    pub s: String,
    /// How often.
    pub n: usize,
}

/// A tool call as written.
#[derive(Debug, Clone, Deserialize)]
pub struct Call {
    /// Its id.
    #[serde(default)]
    pub id: String,
    /// The tool's name, which need not exist.
    pub name: String,
    /// A JSON value, or the model's own text in a string.
    #[serde(default)]
    pub arguments: Value,
}

/// Tokens of one request.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct UsageForm {
    /// Prompt tokens.
    #[serde(default)]
    pub input: u64,
    /// Generated tokens.
    #[serde(default)]
    pub output: u64,
}

/// A server's error.
#[derive(Debug, Clone, Deserialize)]
pub struct ErrorForm {
    /// The HTTP status.
    #[serde(default = "internal_server_error")]
    pub status: u16,
    /// Its words.
    #[serde(default)]
    pub message: String,
}

/// Dollars per `per` tokens.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct PricesForm {
    /// Dollars for prompt tokens.
    pub input: f64,
    /// Dollars for generated tokens.
    pub output: f64,
    /// The number of tokens that the dollars buy; a million if absent.
    #[serde(default = "million")]
    pub per: f64,
}

fn internal_server_error() -> u16 {
    500
}

fn million() -> f64 {
    1e6
}
