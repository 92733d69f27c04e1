//! The conversation that is sent to a model. An ill-formed one cannot be built, so it cannot be
//! sent: every tool call has exactly one result, in call order, before the next message.

use std::collections::HashSet;
use std::sync::Arc;

use super::ids::CallId;
use super::message::{AssistantMessage, Block, Message, StopReason, ToolCall, ToolResult};

/// The provider that messages of the runtime itself name.
pub const RUNTIME: &str = "offshoot";

/// What stands in a history for an answer without any words or calls.
pub const NO_TEXT: &str = "(no text)";

/// Why a message was not taken. Each of these is a bug of the caller, not of a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HistoryError {
    /// Calls wait for their results.
    #[error("{0} tool calls have no result yet")]
    OpenCalls(usize),
    /// The first message must be a user's.
    #[error("an assistant message needs a user message or results before it")]
    NothingToAnswer,
    /// Results that do not match the open calls one to one.
    #[error("the results do not match the open calls")]
    Mismatch,
    /// A blank user message.
    #[error("the message is blank")]
    Blank,
}

/// A well-formed conversation. Cloning is cheap: messages are shared.
#[derive(Debug, Clone, Default)]
pub struct History {
    messages: Vec<Arc<Message>>,
    open: Vec<(CallId, String)>,
    used: HashSet<CallId>,
    tokens: u64,
}

impl History {
    /// An empty conversation.
    pub fn new() -> Self {
        Self::default()
    }

    /// A conversation made of messages that come from a well-formed one and are still in order,
    /// calls beside their results.
    pub(super) fn of(messages: Vec<Arc<Message>>) -> Self {
        let mut history = Self::default();
        for message in &messages {
            history.tokens += message.estimated_tokens();
            if let Message::Assistant(answer) = &**message {
                history.used.extend(answer.tool_calls().map(|call| call.call.clone()));
            }
        }
        history.messages = messages;
        history
    }

    /// The messages, oldest first.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Calls that wait for a result, in call order.
    pub fn open_calls(&self) -> impl Iterator<Item = &CallId> {
        self.open.iter().map(|(call, _)| call)
    }

    /// An estimate of the tokens that all messages take in a prompt.
    pub fn estimated_tokens(&self) -> u64 {
        self.tokens
    }

    /// A person's words.
    pub fn ask(&mut self, text: impl Into<String>) -> Result<(), HistoryError> {
        let text = text.into();
        self.require_closed()?;
        if text.trim().is_empty() {
            return Err(HistoryError::Blank);
        }
        self.push(Message::User { text });
        Ok(())
    }

    /// A model's answer. Call ids that are blank or were used before are replaced, and blank
    /// text is dropped, so that any provider accepts the message again. An answer without text
    /// and calls after that gets a marked text: some providers drop reasoning and would be left
    /// with an empty message. Returns the calls that now wait for a result.
    pub fn answer(&mut self, mut message: AssistantMessage) -> Result<Vec<ToolCall>, HistoryError> {
        self.require_closed()?;
        if !self.messages.last().is_some_and(|last| !matches!(**last, Message::Assistant(_))) {
            return Err(HistoryError::NothingToAnswer);
        }
        message.blocks.retain(|block| !is_blank(block));
        for block in &mut message.blocks {
            if let Block::ToolCall(call) = block {
                call.call = self.unused_id(&call.call);
                self.used.insert(call.call.clone());
            }
        }
        let calls: Vec<ToolCall> = message.tool_calls().cloned().collect();
        self.open = calls.iter().map(|c| (c.call.clone(), c.name.clone())).collect();
        if calls.is_empty() && message.text().is_empty() {
            message.blocks.push(Block::Text { text: NO_TEXT.to_owned() });
        }
        self.push(Message::Assistant(message));
        Ok(calls)
    }

    /// The results of all open calls, in whatever order they finished.
    pub fn settle(&mut self, mut results: Vec<ToolResult>) -> Result<(), HistoryError> {
        if self.open.is_empty() || results.len() != self.open.len() {
            return Err(HistoryError::Mismatch);
        }
        let mut ordered = Vec::with_capacity(results.len());
        for (call, _) in &self.open {
            let found = results.iter().position(|result| result.call == *call);
            let index = found.ok_or(HistoryError::Mismatch)?;
            ordered.push(with_visible_output(results.swap_remove(index)));
        }
        self.open.clear();
        self.push(Message::Results { results: ordered });
        Ok(())
    }

    /// Closes every open call: those in `done` with their result, the others with
    /// "not run: `reason`". Returns the results that had to be made up.
    pub fn interrupt(&mut self, done: Vec<ToolResult>, reason: &str) -> Vec<ToolResult> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let mut done = done;
        let mut made_up = Vec::new();
        let mut results = Vec::with_capacity(self.open.len());
        for (call, name) in std::mem::take(&mut self.open) {
            if let Some(index) = done.iter().position(|result| result.call == call) {
                results.push(with_visible_output(done.swap_remove(index)));
            } else {
                let result = not_run(call, name, reason);
                made_up.push(result.clone());
                results.push(result);
            }
        }
        self.push(Message::Results { results });
        made_up
    }

    /// Makes the conversation end in a way that a user message can follow: open calls are closed
    /// and words without an answer get a marked, interrupted one, which is returned.
    pub fn close(&mut self, reason: &str) -> Option<AssistantMessage> {
        self.interrupt(Vec::new(), reason);
        self.messages.last().filter(|last| !matches!(***last, Message::Assistant(_)))?;
        let closing = AssistantMessage {
            blocks: vec![Block::Text { text: format!("(no answer: {reason})") }],
            provider: RUNTIME.to_owned(),
            model: "runtime".to_owned(),
            stop_reason: Some(StopReason::Other("interrupted".to_owned())),
            interrupted: true,
        };
        self.push(Message::Assistant(closing.clone()));
        Some(closing)
    }

    fn require_closed(&self) -> Result<(), HistoryError> {
        match self.open.len() {
            0 => Ok(()),
            open => Err(HistoryError::OpenCalls(open)),
        }
    }

    fn unused_id(&self, wanted: &CallId) -> CallId {
        if !wanted.0.trim().is_empty() && !self.used.contains(wanted) {
            return wanted.clone();
        }
        let stem = if wanted.0.trim().is_empty() { "call" } else { wanted.as_str() };
        let mut number = self.used.len() + 1;
        loop {
            let candidate = CallId(format!("{stem}_{number}"));
            if !self.used.contains(&candidate) {
                return candidate;
            }
            number += 1;
        }
    }

    fn push(&mut self, message: Message) {
        self.tokens += message.estimated_tokens();
        self.messages.push(Arc::new(message));
    }
}

/// The result of a call that never ran.
pub fn not_run(call: CallId, name: String, reason: &str) -> ToolResult {
    ToolResult { call, name, ok: false, output: format!("not run: {reason}") }
}

fn is_blank(block: &Block) -> bool {
    matches!(block, Block::Text { text } if text.trim().is_empty())
}

fn with_visible_output(mut result: ToolResult) -> ToolResult {
    if result.output.trim().is_empty() {
        "(no output)".clone_into(&mut result.output);
    }
    result
}
