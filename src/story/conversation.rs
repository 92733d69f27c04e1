//! What the user and the parent said to each other, and what happened in between.

use crate::domain::event::{Level, Timestamp};

use super::call::Call;
use super::changed::Changed;
use super::run::End;

/// Words of the parent model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speech {
    /// The words so far.
    pub text: String,
    /// True while more may come.
    pub streaming: bool,
    /// True if they were cut off.
    pub interrupted: bool,
}

/// Something the runtime said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// How serious.
    pub level: Level,
    /// A stable word.
    pub code: String,
    /// The words.
    pub text: String,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq)]
pub enum Body {
    /// The user's words.
    User {
        /// The words.
        text: String,
    },
    /// The parent model's words.
    Assistant(Speech),
    /// A tool call of the parent; a delegation if it has a child.
    Call(Call),
    /// Something the runtime said.
    Notice(Notice),
    /// The files that a parent run and all it delegated changed.
    Changed(Changed),
    /// A parent run that ended otherwise than completed.
    Ended(End),
}

/// One piece of the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// When it came.
    pub at: Timestamp,
    /// What it is.
    pub body: Body,
    /// Grows when text that was already there changed; text that is only appended to keeps it. A
    /// layout of an entry stays good for the same version and length.
    pub version: u32,
}

impl Entry {
    pub(super) fn new(at: Timestamp, body: Body) -> Self {
        Self { at, body, version: 0 }
    }

    /// The call, if it is one.
    pub fn call(&self) -> Option<&Call> {
        match &self.body {
            Body::Call(call) => Some(call),
            Body::User { .. }
            | Body::Assistant(_)
            | Body::Notice(_)
            | Body::Changed(_)
            | Body::Ended(_) => None,
        }
    }

    pub(super) fn call_mut(&mut self) -> Option<&mut Call> {
        match &mut self.body {
            Body::Call(call) => Some(call),
            Body::User { .. }
            | Body::Assistant(_)
            | Body::Notice(_)
            | Body::Changed(_)
            | Body::Ended(_) => None,
        }
    }

    /// The text that has to be wrapped; `None` for what is always one row.
    pub fn text(&self) -> Option<&str> {
        match &self.body {
            Body::User { text } => Some(text),
            Body::Assistant(speech) => Some(&speech.text),
            Body::Notice(notice) => Some(&notice.text),
            Body::Call(_) | Body::Changed(_) | Body::Ended(_) => None,
        }
    }
}
