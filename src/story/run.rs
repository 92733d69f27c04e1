//! One run of the loop, parent or child: what it was given, what it does, what it has used.

use crate::domain::budget::Remaining;
use crate::domain::event::{ContractView, Receipt, RunFinished, Timestamp};
use crate::domain::ids::RunId;
use crate::domain::report::{By, Exhausted, Report, Status};
use crate::domain::usage::Usage;
use crate::domain::violation::Code;

use super::call::{Call, CallState};
use super::changed::Changed;

/// A model whose last words are at most this old is streaming, in ms.
pub const STREAMING_MS: u64 = 2_000;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The outcome in one word.
    pub status: Status,
    /// The reason code.
    pub code: Option<Code>,
    /// What ran out.
    pub dimension: Option<Exhausted>,
    /// Who cancelled.
    pub by: Option<By>,
}

impl From<&RunFinished> for End {
    fn from(fact: &RunFinished) -> Self {
        let RunFinished { status, code, dimension, by, .. } = *fact;
        Self { status, code, dimension, by }
    }
}

impl From<&Report> for End {
    fn from(report: &Report) -> Self {
        let Report { status, code, dimension, by, .. } = *report;
        Self { status, code, dimension, by }
    }
}

/// What a run that has not ended is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Before its first request, or between a batch and the next request.
    Between,
    /// A model request is open.
    Model {
        /// When its newest words came.
        last_words: Option<Timestamp>,
    },
    /// A failed request will be sent again.
    Retrying {
        /// When.
        at: Timestamp,
        /// The status that the server answered with.
        http_status: Option<u16>,
    },
    /// The model's tool batch is under way.
    Tools,
    /// Somebody asked for its end.
    Cancelling {
        /// Who.
        by: By,
    },
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Its id.
    pub id: RunId,
    /// 0 for the parent.
    pub depth: u32,
    /// When it began.
    pub started: Timestamp,
    /// What it was given.
    pub contract: Box<ContractView>,
    /// What it is at.
    pub phase: Phase,
    /// Since when.
    pub since: Timestamp,
    /// The newest turn, from 1; 0 before the first.
    pub turn: u32,
    /// How many turns there may be; `None` without a bound.
    pub turns_limit: Option<u64>,
    /// Since when it is to start nothing new.
    pub paused: Option<Timestamp>,
    /// True once it was asked to report.
    pub wrap_up: bool,
    /// What its own requests and those of its descendants used.
    pub usage: Usage,
    /// Calls its model asked for, and those of its descendants; "not run" ones are free.
    pub tool_calls: u64,
    /// What it has left, as of its newest request.
    pub remaining: Option<Remaining>,
    /// How it ended.
    pub end: Option<End>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// What a cancel ended.
    pub receipt: Option<Receipt>,
    /// The files that it and all it delegated changed.
    pub changed: Changed,
    /// How long its clock has stood, in ms, the time since `standing` not included.
    stood_ms: u64,
    /// Since when its clock stands: all that is alive under it waits for a person.
    standing: Option<Timestamp>,
}

/// What a run is doing right now, for a row that never lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Doing<'a> {
    /// Waits for a free place.
    Queued {
        /// How many are before it.
        position: u32,
        /// Since when.
        since: Timestamp,
    },
    /// Prepares its next request.
    Between {
        /// Since when.
        since: Timestamp,
    },
    /// Words are coming in.
    Streaming,
    /// A request is open and nothing comes.
    Silent {
        /// Since its start or its last words.
        since: Timestamp,
    },
    /// A failed request waits to be sent again.
    Retrying {
        /// When that will be.
        at: Timestamp,
        /// The status that the server answered with.
        http_status: Option<u16>,
    },
    /// A tool is running: the one that has been running longest.
    Calling {
        /// Which.
        call: &'a Call,
    },
    /// A call waits for a person's word.
    Asking {
        /// Which; `None` if it is the child itself that may not start yet.
        call: Option<&'a Call>,
        /// Since when.
        since: Timestamp,
    },
    /// Paused, and nothing goes on in it any more.
    Paused {
        /// Since when it starts nothing new.
        since: Timestamp,
    },
    /// Somebody asked for its end, and it has not come yet.
    Cancelling {
        /// Who.
        by: By,
        /// Since when.
        since: Timestamp,
    },
    /// Ended.
    Ended(&'a End),
}

impl Run {
    pub(super) fn new(id: RunId, depth: u32, started: Timestamp, contract: &ContractView) -> Self {
        let turns_limit = contract.budget[crate::domain::budget::Dimension::Turns].finite();
        Self {
            id,
            depth,
            started,
            contract: Box::new(contract.clone()),
            phase: Phase::Between,
            since: started,
            turn: 0,
            turns_limit,
            paused: None,
            wrap_up: false,
            usage: Usage::none(),
            tool_calls: 0,
            remaining: None,
            end: None,
            ended: None,
            receipt: None,
            changed: Changed::default(),
            stood_ms: 0,
            standing: None,
        }
    }

    /// What it is doing at `now`; `call` is its call that has been waiting longest for a person's
    /// word, or else the one that has been running longest.
    pub fn doing<'a>(&'a self, call: Option<&'a Call>, now: Timestamp) -> Doing<'a> {
        if let Some(end) = &self.end {
            return Doing::Ended(end);
        }
        match self.phase {
            Phase::Cancelling { by } => Doing::Cancelling { by, since: self.since },
            Phase::Model { last_words: Some(at) } if now.millis_since(at) <= STREAMING_MS => {
                Doing::Streaming
            }
            Phase::Model { last_words } => {
                Doing::Silent { since: last_words.unwrap_or(self.since) }
            }
            Phase::Retrying { at, http_status } if now < at => Doing::Retrying { at, http_status },
            Phase::Retrying { at, .. } => match self.paused {
                Some(since) => Doing::Paused { since },
                None => Doing::Silent { since: at },
            },
            Phase::Tools | Phase::Between => match call {
                Some(call) if call.state == CallState::Asking => {
                    Doing::Asking { call: Some(call), since: call.since }
                }
                Some(call) => Doing::Calling { call },
                None => match self.paused {
                    Some(since) => Doing::Paused { since },
                    None => Doing::Between { since: self.since },
                },
            },
        }
    }

    /// From when on a paused run has nothing going on but its calls; `None` while it has, or is not
    /// paused.
    pub(super) fn quiet_from(&self) -> Option<Timestamp> {
        let paused = self.paused?;
        match self.phase {
            Phase::Retrying { at, .. } => Some(at.max(paused)),
            Phase::Tools | Phase::Between => Some(paused),
            Phase::Model { .. } | Phase::Cancelling { .. } => None,
        }
    }

    /// Its running time at `now`, in ms: while all that is alive under it waits for a person, its
    /// clock stands.
    pub fn elapsed_ms(&self, now: Timestamp) -> u64 {
        let until = self.ended.unwrap_or(now);
        let standing = self.standing.map_or(0, |since| until.millis_since(since));
        until.millis_since(self.started).saturating_sub(self.stood_ms + standing)
    }

    /// True while its clock stands.
    pub fn is_standing(&self) -> bool {
        self.standing.is_some()
    }

    pub(super) fn stand(&mut self, stands: bool, at: Timestamp) {
        let stands = stands && self.end.is_none();
        match self.standing {
            None if stands => self.standing = Some(at),
            Some(since) if !stands => {
                self.stood_ms += at.millis_since(since);
                self.standing = None;
            }
            None | Some(_) => {}
        }
    }

    pub(super) fn enter(&mut self, phase: Phase, since: Timestamp) {
        let leaving = matches!(self.phase, Phase::Cancelling { .. });
        if self.end.is_none() && !leaving {
            self.phase = phase;
            self.since = since;
        }
    }

    pub(super) fn words_came(&mut self, at: Timestamp) {
        match &mut self.phase {
            Phase::Model { last_words } => *last_words = Some(at),
            Phase::Retrying { .. } => self.enter(Phase::Model { last_words: Some(at) }, at),
            Phase::Between | Phase::Tools | Phase::Cancelling { .. } => {}
        }
    }

    pub(super) fn finish(&mut self, fact: &RunFinished, at: Timestamp) {
        self.end = Some(End::from(fact));
        self.ended = Some(at);
        self.receipt.clone_from(&fact.receipt);
        if self.changed.is_empty() {
            self.changed.fold(&fact.changed);
        }
    }
}
