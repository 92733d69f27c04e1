//! One content block of an answer while it comes in: what of it is shown at once, what when it is
//! whole, and what is sent back. It knows nothing of the blocks beside it.

use serde_json::{Map, Value, json};

use crate::domain::ids::CallId;
use crate::domain::message::{Block, ToolCall};
use crate::provider::Chunk;

/// A content block while it comes in.
#[derive(Debug)]
pub enum OpenBlock {
    /// Words.
    Text(String),
    /// Reasoning and its seal.
    Thinking {
        /// The reasoning.
        words: String,
        /// The seal, which may come in pieces.
        signature: String,
    },
    /// Sealed reasoning.
    Redacted(String),
    /// A call of one of the tools that were offered.
    Call {
        /// Its id; possibly empty.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments where they came at once.
        input: Value,
        /// The arguments where they came as text in pieces.
        partial: String,
    },
    /// Any other block: a server tool's, or one that this program does not know.
    Other {
        /// The block as it began.
        value: Value,
        /// Its input where it came as text in pieces.
        partial: String,
    },
}

impl OpenBlock {
    /// A block as `content_block_start` announces it.
    pub fn start(content: &Value) -> Self {
        let text = |key: &str| text(content, key).to_owned();
        match content.get("type").and_then(Value::as_str).unwrap_or_default() {
            "text" => Self::Text(text("text")),
            "thinking" => Self::Thinking { words: text("thinking"), signature: text("signature") },
            "redacted_thinking" => Self::Redacted(text("data")),
            "tool_use" => Self::Call {
                id: text("id"),
                name: text("name"),
                input: content.get("input").cloned().unwrap_or_default(),
                partial: String::new(),
            },
            _ => Self::Other { value: content.clone(), partial: String::new() },
        }
    }

    /// The beginning of the block that `delta` belongs to, where it was not announced.
    pub fn announced_by(delta: &Value) -> Option<Value> {
        match text(delta, "type") {
            "text_delta" => Some(json!({ "type": "text" })),
            "thinking_delta" => Some(json!({ "type": "thinking" })),
            _ => None,
        }
    }

    /// True for a call of a tool that was offered.
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. })
    }

    /// The words so far, as they are shown.
    pub fn shown(&self) -> Option<Chunk> {
        match self {
            Self::Text(words) if !words.is_empty() => Some(Chunk::Text(words.clone())),
            Self::Thinking { words, .. } if !words.is_empty() => {
                Some(Chunk::Reasoning(words.clone()))
            }
            Self::Text(_)
            | Self::Thinking { .. }
            | Self::Redacted(_)
            | Self::Call { .. }
            | Self::Other { .. } => None,
        }
    }

    /// Bytes of a call's arguments so far, where they come in pieces.
    pub fn call_bytes(&self) -> usize {
        match self {
            Self::Call { partial, .. } => partial.len(),
            Self::Text(_) | Self::Thinking { .. } | Self::Redacted(_) | Self::Other { .. } => 0,
        }
    }

    /// Takes a delta; returns the words that it adds. Deltas of another kind than the block's add
    /// nothing.
    pub fn take(&mut self, delta: &Value) -> Option<Chunk> {
        match (self, text(delta, "type")) {
            (Self::Text(words), "text_delta") => return added(words, delta, "text", Chunk::Text),
            (Self::Thinking { words, .. }, "thinking_delta") => {
                return added(words, delta, "thinking", Chunk::Reasoning);
            }
            (Self::Thinking { signature, .. }, "signature_delta") => {
                signature.push_str(text(delta, "signature"));
            }
            (Self::Call { partial, .. } | Self::Other { partial, .. }, "input_json_delta") => {
                partial.push_str(text(delta, "partial_json"));
            }
            (Self::Other { value: Value::Object(fields), .. }, _) => merge(fields, delta),
            (
                Self::Text(_)
                | Self::Thinking { .. }
                | Self::Redacted(_)
                | Self::Call { .. }
                | Self::Other { .. },
                _,
            ) => {}
        }
        None
    }

    /// Forgets the words, which have been shown, to save their memory.
    pub fn forget_words(&mut self) {
        match self {
            Self::Text(words) | Self::Thinking { words, .. } => *words = String::new(),
            Self::Redacted(_) | Self::Call { .. } | Self::Other { .. } => {}
        }
    }

    /// What of a block that was shown as it came is passed on when it is whole.
    pub fn sealed(&self) -> Option<Chunk> {
        match self {
            Self::Text(_) => None,
            Self::Thinking { signature, .. } => {
                (!signature.is_empty()).then(|| Chunk::Signature(signature.clone()))
            }
            Self::Redacted(data) => Some(Chunk::Redacted(data.clone())),
            Self::Call { id, name, input, partial } => {
                Some(Chunk::ToolCall(call(id, name, input, partial)))
            }
            Self::Other { value, partial } => opaque(value, partial).map(Chunk::Opaque),
        }
    }

    /// All chunks of a block that was held back.
    pub fn whole(&self) -> Vec<Chunk> {
        self.shown().into_iter().chain(self.sealed()).collect()
    }

    /// The block in the neutral form; `None` if it is not whole.
    pub fn said(&self) -> Option<Block> {
        Some(match self {
            Self::Text(words) => Block::Text { text: words.clone() },
            Self::Thinking { words, signature } => Block::Reasoning {
                text: words.clone(),
                signature: (!signature.is_empty()).then(|| signature.clone()),
            },
            Self::Redacted(data) => Block::Redacted { data: data.clone() },
            Self::Call { id, name, input, partial } => {
                Block::ToolCall(call(id, name, input, partial))
            }
            Self::Other { value, partial } => Block::Opaque { data: opaque(value, partial)? },
        })
    }
}

/// Appends what `delta` has at `key` and returns it.
fn added(words: &mut String, delta: &Value, key: &str, kind: fn(String) -> Chunk) -> Option<Chunk> {
    let more = text(delta, key);
    words.push_str(more);
    (!more.is_empty()).then(|| kind(more.to_owned()))
}

fn call(id: &str, name: &str, input: &Value, partial: &str) -> ToolCall {
    let id = CallId::from(id);
    if partial.trim().is_empty() && !input.is_null() {
        ToolCall::new(id, name, input.clone())
    } else {
        ToolCall::parse(id, name, partial)
    }
}

/// The block with its input put together; `None` if that was cut.
fn opaque(value: &Value, partial: &str) -> Option<Value> {
    let mut value = value.clone();
    if let (Value::Object(fields), false) = (&mut value, partial.trim().is_empty()) {
        fields.insert("input".to_owned(), serde_json::from_str(partial).ok()?);
    }
    value.is_object().then_some(value)
}

/// Adds a delta of an unknown kind to a block of an unknown kind: text grows, anything else is
/// replaced.
fn merge(fields: &mut Map<String, Value>, delta: &Value) {
    for (key, more) in delta.as_object().into_iter().flatten().filter(|(key, _)| *key != "type") {
        match (fields.get_mut(key), more) {
            (Some(Value::String(text)), Value::String(more)) => text.push_str(more),
            (Some(_) | None, _) => {
                fields.insert(key.clone(), more.clone());
            }
        }
    }
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
