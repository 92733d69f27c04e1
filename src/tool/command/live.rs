//! What a person sees of a command while it runs: the newest of its output, a few times a second.
//! Nothing depends on it; the result has the whole.

use std::time::Duration;

use tokio::time::Instant;

use super::line::{Carriage, Line};
use crate::tool::Progress;
use crate::tool::excerpt::without_partial_char;

/// Bytes that wait to be shown at most; of more only the newest are.
const KEPT_BYTES: usize = 4_096;
/// The time between two pieces at least.
pub const PACE: Duration = Duration::from_millis(100);

/// Output on its way to the screen.
#[derive(Debug)]
pub struct Live {
    progress: Progress,
    pending: Pending,
    shown_at: Option<Instant>,
}

impl Live {
    /// With a reader at the end of this way.
    pub fn new(progress: Progress) -> Self {
        Self { progress, pending: Pending::default(), shown_at: None }
    }

    /// Takes the next bytes and shows what is due. Never waits.
    pub fn push(&mut self, bytes: &[u8]) {
        self.pending.push(bytes);
        self.show();
    }

    /// Shows what waits, if the last piece is old enough and the reader has room.
    pub fn show(&mut self) {
        if self.shown_at.is_some_and(|at| at.elapsed() < PACE) {
            return;
        }
        let Some(piece) = self.pending.piece() else { return };
        if self.progress.offer(&piece) {
            self.shown_at = Some(Instant::now());
            self.pending.taken(&piece);
        }
    }
}

/// Bytes that nobody has seen yet.
#[derive(Debug, Default)]
struct Pending {
    bytes: Vec<u8>,
    /// True if older ones were dropped unseen.
    skipped: bool,
    /// True if what was shown last ended inside of a line.
    open: bool,
}

impl Pending {
    fn push(&mut self, bytes: &[u8]) {
        let newest = bytes.get(bytes.len().saturating_sub(KEPT_BYTES)..).unwrap_or(bytes);
        self.bytes.extend_from_slice(newest);
        let over = self.bytes.len().saturating_sub(KEPT_BYTES);
        self.skipped |= over > 0 || newest.len() < bytes.len();
        self.bytes.drain(..over);
    }

    /// How many bytes are ready: not half a character, and no carriage return whose line end may
    /// still come.
    fn ready(&self) -> usize {
        let whole = without_partial_char(&self.bytes).len();
        let end = self.bytes.iter().take(whole).rposition(|byte| *byte != b'\r');
        end.map_or(0, |last| last + 1)
    }

    /// What can be shown now.
    fn piece(&self) -> Option<String> {
        let ready = self.bytes.get(..self.ready()).filter(|ready| !ready.is_empty())?;
        let mut piece = String::new();
        if self.skipped {
            piece.push_str(if self.open { "\n…" } else { "…" });
        }
        for (index, raw) in ready.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let line = Line::read(raw, Carriage::Overwrites);
            // What is shown cannot be taken back: its new state stands on a line of its own.
            if index == 0 && line.overwritten && self.open && !self.skipped {
                piece.push('\n');
            }
            piece.push_str(&line.text);
            if raw.ends_with(b"\n") {
                piece.push('\n');
            }
        }
        Some(piece)
    }

    fn taken(&mut self, piece: &str) {
        let ready = self.ready();
        self.bytes.drain(..ready);
        self.skipped = false;
        self.open = !piece.ends_with('\n');
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn take(pending: &mut Pending) -> String {
        let piece = pending.piece().unwrap_or_default();
        pending.taken(&piece);
        piece
    }

    #[test]
    fn pieces_go_on_where_the_last_one_ended() {
        let mut pending = Pending::default();
        pending.push(b"one\ntw");
        assert_eq!(take(&mut pending), "one\ntw");
        pending.push(b"o\n\xe5\xad");
        assert_eq!(take(&mut pending), "o\n");
        pending.push(b"\x90\x1b[2J");
        assert_eq!(take(&mut pending), "子␛[2J");
        assert_eq!(pending.piece(), None);
    }

    #[test]
    fn a_progress_bar_shows_its_states_one_below_the_other() {
        let mut pending = Pending::default();
        pending.push(b"1%\r2%");
        assert_eq!(take(&mut pending), "2%");
        pending.push(b"\r3%\r4%\r");
        assert_eq!(take(&mut pending), "\n4%");
        pending.push(b"\ndone\r\n");
        assert_eq!(take(&mut pending), "\ndone\n");
    }

    #[test]
    fn only_the_newest_waits() {
        let mut pending = Pending::default();
        pending.push(&b"old\n".repeat(5_000));
        pending.push(b"new\n");
        let piece = take(&mut pending);
        assert!(piece.starts_with('…') && piece.ends_with("old\nnew\n"));
        assert!(piece.len() < KEPT_BYTES + 10);
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_slow_reader_did_not_take_comes_with_the_next_piece() {
        let (progress, mut shown) = Progress::channel();
        let mut live = Live::new(progress);
        for number in 0..40 {
            live.push(format!("{number}\n").as_bytes());
            tokio::time::sleep(PACE).await;
        }
        live.show();
        let mut seen = String::new();
        while let Ok(piece) = shown.try_recv() {
            seen.push_str(&piece);
        }
        tokio::time::sleep(PACE).await;
        live.show();
        seen.push_str(&shown.try_recv().unwrap());
        let right: String = (0..40).map(|number| format!("{number}\n")).collect();
        assert_eq!(seen, right);
    }
}
