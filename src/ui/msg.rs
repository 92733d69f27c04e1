//! What can happen to the screen, and what it can ask for: plain data, so that tests can compare it.

use std::sync::Arc;

use crossterm::event::KeyEvent;

use crate::domain::command::Command;
use crate::domain::event::Event;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Msg {
    /// A key was pressed.
    Key(KeyEvent),
    /// A text was pasted.
    Paste(String),
    /// The terminal has another size, in cells.
    Resize(u16, u16),
    /// The story has taken in these events.
    Events(Vec<Arc<Event>>),
    /// Time has passed.
    Tick,
}

/// Something that is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Ask the session for this.
    Send(Command),
    /// Draw every cell anew.
    Repaint,
    /// End the session and leave.
    Quit,
}
