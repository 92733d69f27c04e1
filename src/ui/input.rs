//! Where keys come in: a thread of its own reads the terminal and hands on what came at once. It
//! refuses to know what a key means.
//!
//! Reading does not come back once the terminal is gone, so it must not happen on the thread that
//! draws and hears signals. The thread has no end of its own; it ends with the process.

use std::io;
use std::thread;
use std::time::Duration;

use crossterm::event::{Event, poll, read};
use tokio::sync::mpsc;

/// Batches that wait for the screen; when it is full, keys wait in the terminal.
const BATCHES_AHEAD: usize = 16;
/// Events handed on at once at most.
const BATCH: usize = 4_096;

/// What came in at once, or why nothing comes any more; then it was the last.
pub type Input = io::Result<Vec<Event>>;

/// Starts reading.
pub fn start() -> io::Result<mpsc::Receiver<Input>> {
    let (sender, receiver) = mpsc::channel(BATCHES_AHEAD);
    thread::Builder::new().name("keys".to_owned()).spawn(move || hand_on(&sender))?;
    Ok(receiver)
}

fn hand_on(sender: &mpsc::Sender<Input>) {
    loop {
        let input = next();
        let is_last = input.is_err();
        if sender.blocking_send(input).is_err() || is_last {
            return;
        }
    }
}

/// Waits for an event and takes with it all that is there already.
fn next() -> Input {
    let mut events = vec![read()?];
    while events.len() < BATCH && poll(Duration::ZERO)? {
        events.push(read()?);
    }
    Ok(events)
}
