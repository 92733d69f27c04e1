//! What the terminal says, as a channel: one thread reads it, so that the loop can ask what is
//! already there without waiting. The thread also tells where it had to wait: whether keys belong
//! together is a matter of what was there to be read, not of how busy this program is.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use crossterm::event::{Event, poll, read};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::hangup;

/// Events in one batch at most.
const BATCH: usize = 65_536;
/// Batches that wait for the loop; a far longer paste without brackets fills it, and then the
/// terminal waits.
const AHEAD: usize = 64;
/// What follows within this time joins the batch.
const MOMENT: Duration = Duration::from_millis(1);
/// A batch that grows longer than this goes on its way.
const LONGEST: Duration = Duration::from_millis(16);
/// What follows within this time belongs to the same burst; fingers are slower.
const PAUSE: Duration = Duration::from_millis(15);

/// What the terminal said.
#[derive(Debug)]
pub enum Heard {
    /// These, at once.
    Events(Vec<Event>),
    /// Nothing more for a while.
    Quiet,
}

/// The terminal's words while this lives.
#[derive(Debug)]
pub struct Input(Receiver<io::Result<Heard>>);

impl Input {
    /// Starts reading the terminal. The thread ends with the first words that nobody takes.
    pub fn start() -> io::Result<Self> {
        let (outlet, words) = channel(AHEAD);
        let last = outlet.clone();
        hangup::watch(move |error| {
            // Nobody may be left to be told.
            let _ = last.blocking_send(Err(error));
        })?;
        let pump = move || {
            if let Err(error) = pump(&outlet) {
                // Nobody may be left to be told.
                let _ = outlet.blocking_send(Err(error));
            }
        };
        thread::Builder::new().name("terminal".to_owned()).spawn(pump)?;
        Ok(Self(words))
    }

    /// The next words; `None` once the terminal is gone.
    pub async fn next(&mut self) -> Option<io::Result<Heard>> {
        self.0.recv().await
    }

    /// The next words if they are already there.
    pub fn waiting(&mut self) -> Option<io::Result<Heard>> {
        self.0.try_recv().ok()
    }
}

fn pump(outlet: &Sender<io::Result<Heard>>) -> io::Result<()> {
    let send = |heard| outlet.blocking_send(Ok(heard)).is_ok();
    loop {
        // A burst begins.
        let mut first = read()?;
        while send(Heard::Events(batch(first)?)) {
            if !poll(PAUSE)? {
                break;
            }
            first = read()?;
        }
        if !send(Heard::Quiet) {
            return Ok(());
        }
    }
}

fn batch(first: Event) -> io::Result<Vec<Event>> {
    let began = Instant::now();
    let mut batch = vec![first];
    while batch.len() < BATCH && began.elapsed() < LONGEST && poll(MOMENT)? {
        batch.push(read()?);
    }
    Ok(batch)
}
