//! The signals that ask a process to end, or would end it without giving the terminal back.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// All of them, caught from its making on.
pub struct Signals([Signal; 6]);

impl Signals {
    /// Catches them.
    pub fn new() -> io::Result<Self> {
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
            signal(SignalKind::quit())?,
            signal(SignalKind::user_defined1())?,
            signal(SignalKind::user_defined2())?,
        ]))
    }

    /// Returns when one of them has come.
    pub async fn recv(&mut self) {
        poll_fn(|context| {
            let came = self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if came { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
