//! The format for programs that watch: every event as a line, numbered without gaps. It always ends
//! with the parent's `run_finished` and `session_finished`; where the runtime broke off without
//! one of them, it is written here, as a failure. Only a session that never began has no run to end.

use super::{Pages, Printer, failure_code, is_parent};
use crate::domain::event::{Event, Fact, Level, Origin, RunFinished, Timestamp};
use crate::domain::exit::Exit;
use crate::domain::hash::Sha;
use crate::domain::ids::RunId;
use crate::domain::line;
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
    /// The newest parent run.
    parent: Option<RunId>,
    /// The end of the session is held until the end of the parent run is known to be written.
    session_end: Option<Event>,
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
            session_end: None,
        }
    }

    fn line(&mut self, event: &Event, pages: &mut Pages) {
        let start = pages.out.len();
        if line::write(&mut pages.out, self.seq + 1, event).is_err() {
            return;
        }
        self.seq += 1;
        if self.out_is_terminal {
            let written = String::from_utf8_lossy(&pages.out[start..]).into_owned();
            pages.out.truncate(start);
            pages.out.extend_from_slice(sanitize::json(&written).as_bytes());
        }
    }

    /// An event that the runtime owes.
    fn supply(&mut self, origin: Origin, fact: Fact, pages: &mut Pages) {
        self.last_id += 1;
        let event = Event { id: self.last_id, ts: self.last_ts, origin, fact };
        self.line(&event, pages);
    }
}

/// The lines of a session that never began: why, and that it is over. There was no run, so none
/// ends.
pub(super) fn failure(exit: Exit, text: &str, now: Timestamp) -> String {
    let reason = "it could not begin".to_owned();
    let facts =
        [Fact::notice(Level::Error, failure_code(exit), text), Fact::SessionFinished { reason }];
    let mut stream = Stream { last_ts: now, ..Stream::new(false, false) };
    let mut pages = Pages::default();
    for fact in facts {
        stream.supply(Origin::session(), fact, &mut pages);
    }
    String::from_utf8_lossy(&pages.out).into_owned()
}

impl Printer for Stream {
    fn event(&mut self, event: &Event, pages: &mut Pages) {
        self.last_ts = event.ts;
        if is_parent(&event.origin) {
            self.parent.clone_from(&event.origin.run);
        }
        if matches!(event.fact, Fact::SessionFinished { .. }) {
            self.session_end = Some(event.clone());
            return;
        }
        self.last_id = event.id;
        if !(self.no_children && event.origin.parent_run.is_some()) {
            self.line(event, pages);
        }
    }

    fn end(&mut self, finished: Option<&RunFinished>, pages: &mut Pages) {
        if finished.is_none() {
            let run = self.parent.take().unwrap_or_else(|| RunId::parent(1));
            let fact = Fact::RunFinished(Box::new(broken_off()));
            self.supply(Origin::parent(run), fact, pages);
        }
        if let Some(event) = self.session_end.take() {
            let id = event.id.max(self.last_id + 1);
            self.line(&Event { id, ..event }, pages);
        } else {
            let reason = "the runtime broke off".to_owned();
            self.supply(Origin::session(), Fact::SessionFinished { reason }, pages);
        }
    }
}

/// The end of a run that the runtime told no end of.
fn broken_off() -> RunFinished {
    RunFinished {
        status: Status::Failed,
        code: Some(Code::Internal),
        dimension: None,
        by: None,
        turns: 0,
        usage: Usage::default(),
        usage_total: Usage::default(),
        reply: None,
        report: None,
        changed: Vec::new(),
        contract_sha256: Sha::of(""),
        report_sha256: None,
        receipt: None,
        account: None,
    }
}
