//! The format for programs that watch: every event as a line, numbered without gaps. It always ends
//! with the parent's `run_finished` and `session_finished`; where the runtime broke off without
//! them, they are written here, as a failure.

use super::{Pages, Printer, is_parent};
use crate::domain::event::{Event, Fact, Origin, RunFinished, Timestamp};
use crate::domain::hash::Sha;
use crate::domain::ids::RunId;
use crate::domain::report::Status;
use crate::domain::usage::Usage;
use crate::domain::violation::Code;
use crate::sanitize;

/// Prints lines.
pub(super) struct Stream {
    no_children: bool,
    out_is_terminal: bool,
    seq: u64,
    last_id: u64,
    last_ts: Timestamp,
    parent: Option<RunId>,
    session_over: bool,
}

impl Stream {
    pub(super) fn new(no_children: bool, out_is_terminal: bool) -> Self {
        Self {
            no_children,
            out_is_terminal,
            seq: 0,
            last_id: 0,
            last_ts: Timestamp::default(),
            parent: None,
            session_over: false,
        }
    }

    fn line(&mut self, event: &Event, pages: &mut Pages) {
        let line = Line { v: VERSION, seq: self.seq + 1, event };
        let Ok(json) = serde_json::to_string(&line) else { return };
        self.seq += 1;
        let cleaned = sanitize::json(&json);
        let json = if self.out_is_terminal { cleaned.as_ref() } else { &json };
        pages.out.extend_from_slice(json.as_bytes());
        pages.out.push(b'\n');
    }

    fn supply(&mut self, origin: Origin, fact: Fact, pages: &mut Pages) {
        self.last_id += 1;
        let event = Event { id: self.last_id, ts: self.last_ts, origin, fact };
        self.line(&event, pages);
    }
}
