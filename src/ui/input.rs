//! What the terminal says, as a channel: one task owns crossterm's stream, so that the loop can ask
//! what is already there without waiting. Asking the stream itself that way would leave it with a
//! waker that wakes nobody, and the keys after that would never arrive.

use std::io;

use crossterm::event::{Event, EventStream};
use futures_util::StreamExt;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::JoinHandle;

/// Events that wait for the loop; a paste without brackets fills it, and then the terminal waits.
const AHEAD: usize = 1_024;

/// The terminal's events while this lives.
#[derive(Debug)]
pub struct Input {
    events: Receiver<io::Result<Event>>,
    pump: JoinHandle<()>,
}

impl Input {
    /// Starts reading the terminal on the current tokio runtime.
    pub fn start() -> Self {
        let (outlet, events) = channel(AHEAD);
        let pump = tokio::spawn(async move {
            let mut stream = EventStream::new();
            while let Some(event) = stream.next().await {
                let failed = event.is_err();
                if outlet.send(event).await.is_err() || failed {
                    return;
                }
            }
        });
        Self { events, pump }
    }

    /// The next event; `None` once the terminal is gone.
    pub async fn next(&mut self) -> Option<io::Result<Event>> {
        self.events.recv().await
    }

    /// The next event if it is already there.
    pub fn waiting(&mut self) -> Option<io::Result<Event>> {
        self.events.try_recv().ok()
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        self.pump.abort();
    }
}
