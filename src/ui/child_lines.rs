//! Which lines a child has, and how many of each there is room for: what it does now comes first, so
//! that it never falls off the end; of many calls the newest are shown.

use crate::story::Node;

/// One line of a child.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    /// Role, task, time.
    Header,
    /// What it is doing.
    State,
    /// Why it looks as if it would come to nothing.
    Runaway,
    /// Its budget.
    Gauge,
    /// What it was given.
    Gets,
    /// How many calls came before those that are shown.
    Earlier,
    /// A call.
    Call(usize),
    /// A row of what its running command wrote last.
    Tail(usize),
    /// The files that it changed.
    Changed,
    /// Something the runtime said about it.
    Notice(usize),
    /// A row of its newest words.
    Words(usize),
    /// A row of its report.
    Report(usize),
    /// What its report comes to.
    Tally,
}

impl Line {
    /// The line this many rows further down in the same section.
    #[must_use]
    pub fn plus(self, rows: usize) -> Self {
        match self {
            Self::Call(first) => Self::Call(first + rows),
            Self::Tail(first) => Self::Tail(first + rows),
            Self::Notice(first) => Self::Notice(first + rows),
            Self::Words(first) => Self::Words(first + rows),
            Self::Report(first) => Self::Report(first + rows),
            Self::Header
            | Self::State
            | Self::Runaway
            | Self::Gauge
            | Self::Gets
            | Self::Earlier
            | Self::Changed
            | Self::Tally => self,
        }
    }

    /// True for a line that can be selected. What ages or streams cannot.
    pub fn is_selectable(self) -> bool {
        match self {
            Self::Header
            | Self::Earlier
            | Self::Call(_)
            | Self::Changed
            | Self::Notice(_)
            | Self::Report(_)
            | Self::Tally => true,
            Self::State
            | Self::Runaway
            | Self::Gauge
            | Self::Gets
            | Self::Tail(_)
            | Self::Words(_) => false,
        }
    }
}

/// Rows of a report; Enter shows all of it.
const REPORT: usize = 6;
/// Fewer rows than this make a live child no use.
const LEAST: usize = 8;

/// What decides how a child is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown {
    /// True if more than its header is shown.
    pub open: bool,
    /// Rows it should fit into.
    pub room: usize,
    /// The first call that is shown.
    pub from: usize,
    /// Rows that its newest words come to.
    pub words: usize,
    /// Rows that its report's summary comes to.
    pub report: usize,
}

/// Rows for each child that runs in a pane of this height, where so many run and so many others
/// are listed: those get a little of it too.
pub fn room(height: usize, running: usize, others: usize) -> usize {
    let free = height - others.min(height / 5);
    (free / running.max(1)).max(LEAST).min(height)
}

/// A child's kinds of lines in order, and how many there are of each.
pub fn sections(node: &Node, shown: Shown) -> [(Line, usize); 14] {
    let counts = counts(node, shown.room, shown.report);
    let open = usize::from(shown.open);
    let notices = node.notices.len();
    let from = shown.from.min(node.calls.len());
    // What a command writes stands right under it.
    let writing = node.writing_call().filter(|call| *call >= from && counts.tail > 0);
    let (until, written) = match writing {
        Some(call) => (call + 1, tail(node).len()),
        None => (node.calls.len(), 0),
    };
    let tail = written.min(counts.tail);
    [
        (Line::Header, 1),
        (Line::State, open * counts.state),
        (Line::Runaway, open * counts.runaway),
        (Line::Gauge, open * counts.gauge),
        (Line::Gets, open * counts.gets),
        (Line::Earlier, open * usize::from(shown.from > 0 && shown.room >= 4)),
        (Line::Call(from), open * (until - from)),
        (Line::Tail(written - tail), open * tail),
        (Line::Call(until), open * (node.calls.len() - until)),
        (Line::Changed, open * counts.changed),
        (Line::Notice(notices - counts.notices), open * counts.notices),
        (
            Line::Words(shown.words - shown.words.min(counts.words)),
            open * shown.words.min(counts.words),
        ),
        (Line::Report(0), open * counts.report),
        (Line::Tally, open * counts.tally),
    ]
}

/// The last lines of what its running command wrote.
pub fn tail(node: &Node) -> Vec<&str> {
    let call = node.writing_call().and_then(|call| node.calls.get(call));
    call.map_or_else(Vec::new, |call| call.tail())
}

/// The first of the newest calls that there is room for.
pub fn newest_calls(node: &Node, room: usize, report: usize) -> usize {
    let counts = counts(node, room, report);
    let others = 1
        + counts.state
        + counts.runaway
        + counts.gauge
        + counts.gets
        + counts.tail
        + counts.changed
        + counts.notices
        + counts.words
        + counts.report
        + counts.tally;
    let fit = room.saturating_sub(others).max(1);
    if node.calls.len() <= fit {
        return 0;
    }
    // One row says how many are left out.
    let fit = if room >= 4 { fit.saturating_sub(1).max(1) } else { fit };
    node.calls.len() - fit
}

/// How many lines of each kind but the calls.
struct LineCounts {
    state: usize,
    runaway: usize,
    gauge: usize,
    gets: usize,
    tail: usize,
    changed: usize,
    notices: usize,
    /// At most.
    words: usize,
    report: usize,
    tally: usize,
}

fn counts(node: &Node, room: usize, report: usize) -> LineCounts {
    let live = usize::from(node.is_live());
    // What waits says all there is to say in its header.
    let runs = usize::from(node.is_live() && !node.is_queued());
    let has_run = usize::from(node.run.is_some());
    let most_notices = if node.never_ran() {
        REPORT
    } else if room >= 12 {
        3
    } else {
        1
    };
    let words = match room {
        0..5 => 0,
        5..8 => 1,
        8..12 => 2,
        _ => 3,
    };
    // A command's newest line matters more than anything but that it runs.
    let most_tail = match room {
        0..4 => 0,
        4..8 => 1,
        8..12 => 2,
        _ => 3,
    };
    // What never ran has a report that repeats what was said about it.
    let repeats = node.never_ran() && !node.notices.is_empty();
    let reports = usize::from(node.report.is_some() && !repeats);
    LineCounts {
        state: runs,
        runaway: usize::from(node.runaway().is_some()),
        gauge: has_run * usize::from(room >= 6),
        gets: has_run * usize::from(room >= 10),
        tail: live * tail(node).len().min(most_tail),
        changed: usize::from(node.changed().is_some() && room >= 4),
        notices: node.notices.len().min(most_notices),
        words: live * words,
        report: (1 - live) * reports * report.min(REPORT),
        tally: (1 - live) * reports,
    }
}
