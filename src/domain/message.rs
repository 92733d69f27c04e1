//! Messages in the neutral form that every provider's wire format is built from.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::CallId;
use super::usage::estimate_tokens;

/// A tool as a model sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its parameters as a JSON schema.
    pub parameters: Value,
}

impl ToolSchema {
    /// An estimate of the tokens that the schema takes in a prompt.
    pub fn estimated_tokens(&self) -> u64 {
        estimate_tokens(&self.name)
            + estimate_tokens(&self.description)
            + estimate_tokens(&self.parameters.to_string())
    }
}

/// What a model asked a tool to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ties the call to its result.
    pub call: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// The arguments as JSON, or the raw string where the model's text does not parse.
    pub arguments: Value,
}

/// Levels of arrays and objects that arguments may have. A reader of JSON takes 128, and a line of a
/// trace, or a request that repeats the call, puts some around them.
const MOST_LEVELS: usize = 100;

impl ToolCall {
    /// A call whose arguments came as JSON. What is nested too deeply for a file that holds it to be
    /// read again is kept as its text.
    pub fn new(call: CallId, name: impl Into<String>, arguments: Value) -> Self {
        let arguments = match arguments {
            deep if !has_at_most(MOST_LEVELS, &deep) => Value::String(deep.to_string()),
            value => value,
        };
        Self { call, name: name.into(), arguments }
    }

    /// A call whose arguments are still the model's text. Blank text and `null` mean `{}`; text
    /// that does not parse is kept as a JSON string, so that the tool can quote it in its refusal.
    pub fn parse(call: CallId, name: impl Into<String>, arguments: &str) -> Self {
        let arguments = match serde_json::from_str(arguments) {
            Ok(Value::Null) => Value::Object(serde_json::Map::new()),
            Ok(value) => value,
            Err(_) if arguments.trim().is_empty() => Value::Object(serde_json::Map::new()),
            Err(_) => Value::String(arguments.to_owned()),
        };
        Self::new(call, name, arguments)
    }

    /// The arguments as a JSON object text that any provider accepts in a replayed history:
    /// anything that is no object is wrapped as `{"_raw": ...}`.
    pub fn arguments_object(&self) -> Value {
        match &self.arguments {
            Value::Object(_) => self.arguments.clone(),
            other => serde_json::json!({ "_raw": other }),
        }
    }
}

fn has_at_most(levels: usize, value: &Value) -> bool {
    let inside = |value: &Value| levels > 0 && has_at_most(levels - 1, value);
    match value {
        Value::Array(items) => items.is_empty() || items.iter().all(inside),
        Value::Object(fields) => fields.is_empty() || fields.values().all(inside),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// A piece of an assistant message, in the order it came over the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Words for the reader.
    Text {
        /// The words.
        text: String,
    },
    /// The model's reasoning, never shown as an answer.
    Reasoning {
        /// The reasoning, possibly empty where only the signature came.
        text: String,
        /// The provider's seal on it, to be sent back unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// Reasoning that the provider sealed, to be sent back unchanged.
    Redacted {
        /// The sealed bytes as the provider wrote them.
        data: String,
    },
    /// A block of the provider's own, to be sent back to the same provider unchanged.
    Opaque {
        /// The block as the provider wrote it.
        data: Value,
    },
    /// A tool call.
    ToolCall(ToolCall),
}

impl Block {
    /// An estimate of the tokens that the block takes in a prompt.
    pub fn estimated_tokens(&self) -> u64 {
        const FRAME: u64 = 4;
        match self {
            Self::Text { text } | Self::Reasoning { text, .. } => estimate_tokens(text),
            Self::Redacted { data } => estimate_tokens(data),
            Self::Opaque { data } => estimate_tokens(&data.to_string()),
            Self::ToolCall(call) => {
                FRAME + estimate_tokens(&call.name) + estimate_tokens(&call.arguments.to_string())
            }
        }
    }
}

/// Why the model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It said what it wanted to say.
    EndTurn,
    /// It waits for tool results.
    ToolUse,
    /// `max_tokens` cut it.
    MaxTokens,
    /// It refused.
    Refusal,
    /// A reason that this program does not know, in the provider's word.
    #[serde(untagged)]
    Other(String),
}

/// One answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AssistantMessage {
    /// The pieces in wire order.
    pub blocks: Vec<Block>,
    /// The provider that wrote it.
    pub provider: String,
    /// The model that wrote it.
    pub model: String,
    /// Why it stopped; `None` if it was interrupted.
    pub stop_reason: Option<StopReason>,
    /// True if it was cut off by a cancel or an error: what is here came before that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
}

impl AssistantMessage {
    /// All text blocks joined.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for block in &self.blocks {
            if let Block::Text { text: piece } = block {
                text.push_str(piece);
            }
        }
        text
    }

    /// The calls in the order they were made.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            Block::Text { .. }
            | Block::Reasoning { .. }
            | Block::Redacted { .. }
            | Block::Opaque { .. } => None,
        })
    }
}

/// What a tool call came to, as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that it answers.
    pub call: CallId,
    /// The tool's name, as the model wrote it.
    pub name: String,
    /// False for an error of any kind.
    pub ok: bool,
    /// The text; never blank.
    pub output: String,
}

/// One message of a history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// A person's words (for a child: its task).
    User {
        /// The words; never blank.
        text: String,
    },
    /// A model's answer.
    Assistant(AssistantMessage),
    /// The results of the calls in the assistant message right before, in call order.
    Results {
        /// One for each call.
        results: Vec<ToolResult>,
    },
}

impl Message {
    /// An estimate of the tokens that the message takes in a prompt: its texts and its frame.
    pub fn estimated_tokens(&self) -> u64 {
        const FRAME: u64 = 4;
        FRAME
            + match self {
                Self::User { text } => estimate_tokens(text),
                Self::Assistant(answer) => answer.blocks.iter().map(Block::estimated_tokens).sum(),
                Self::Results { results } => {
                    results.iter().map(|result| FRAME + estimate_tokens(&result.output)).sum()
                }
            }
    }
}
