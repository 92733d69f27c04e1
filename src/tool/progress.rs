//! The way of a running command's output to whoever watches. It is for the eye only: what does not
//! fit is kept back by the tool and offered again with the next piece, and the result has the whole.

use tokio::sync::mpsc;

/// Pieces that may wait for a reader.
const AHEAD: usize = 16;

/// Takes pieces of output while a call runs.
#[derive(Debug, Clone, Default)]
pub struct Progress(Option<mpsc::Sender<String>>);

impl Progress {
    /// A way with a reader at its end.
    pub fn channel() -> (Self, mpsc::Receiver<String>) {
        let (sender, receiver) = mpsc::channel(AHEAD);
        (Self(Some(sender)), receiver)
    }

    /// Shows new text, already harmless for a reader. False if the reader is behind: then nothing
    /// was taken, and the text may be offered again together with what comes next. Never waits.
    pub fn offer(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|sender| sender.try_send(text.to_owned()).is_ok())
    }
}
