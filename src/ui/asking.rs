//! The question that lies over the panes: which call waits for a person's word, how far the reader
//! is in what it would do, and for how long no key may answer. What an answer means is decided
//! elsewhere.

use std::collections::HashSet;

use crate::domain::event::Timestamp;
use crate::story::{Approval, Story};

use super::composer::Composer;
use super::keymap::{self, Context};
use super::lang::Lang;
use super::long_text::{Kind, LongText};
use super::preflight::{self, Draft};

/// Keys of a question's first ms on the screen do not answer it: whoever was typing has not read
/// it. A key within this time starts it anew.
pub const GUARD_MS: u64 = 400;

/// Keeps keys that were meant for something else from answering.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Guard {
    /// When the question was first seen, or the last key that came too early.
    since: Option<Timestamp>,
}

impl Guard {
    /// The question is on the screen.
    pub fn seen(&mut self, now: Timestamp) {
        self.since.get_or_insert(now);
    }

    /// True if a key that comes now cannot be an answer.
    pub fn holds(&mut self, now: Timestamp) -> bool {
        let holds = self.since.is_none_or(|since| now.millis_since(since) < GUARD_MS);
        if holds && self.since.is_some() {
            self.since = Some(now);
        }
        holds
    }
}

/// A question that is open.
#[derive(Debug)]
pub struct Asking {
    /// Its number.
    pub number: u64,
    /// What the call would do.
    pub body: LongText,
    /// What is changed about a delegation before its child starts.
    pub draft: Option<Draft>,
    /// The reason for a no, while it is being typed.
    pub reason: Option<Composer>,
    /// Keeps early keys from answering.
    pub guard: Guard,
    /// Rows of the text, counted as far as there is room.
    pub rows: usize,
    /// True once it was said that not all was shown: the next key that allows does.
    pub warned: bool,
    /// Lines of the text, from its start, that were shown to their end.
    seen: usize,
}

impl Asking {
    fn about(approval: &Approval, lang: Lang) -> Self {
        let body = match (&approval.diff, &approval.command) {
            (Some(diff), _) => LongText::of(hunks(diff), Kind::Diff),
            (None, Some(command)) => LongText::of(command, Kind::Plain),
            (None, None) => LongText::of(&approval.summary, Kind::Plain),
        };
        let mut open = Self {
            number: approval.number,
            body,
            draft: approval.preflight.as_ref().map(|asked| Draft::of(asked, lang)),
            reason: None,
            guard: Guard::default(),
            rows: 0,
            warned: false,
            seen: 0,
        };
        preflight::rewrite(&mut open);
        open
    }

    /// Where its keys are looked up.
    pub fn contexts(&self) -> &'static [Context] {
        if self.draft.is_some() { keymap::PREFLIGHT } else { keymap::APPROVAL }
    }

    /// Takes note that what is visible of the text is on the screen. What was jumped over was not.
    pub fn shown(&mut self) {
        let (first, ended) = self.body.shown_lines();
        if first <= self.seen {
            self.seen = self.seen.max(ended);
        }
    }

    /// Lines of the text that were never shown.
    pub fn unseen(&self) -> usize {
        self.body.line_count() - self.seen
    }

    /// Takes note that somebody is told so. A key that is held down does not go on to allow it.
    pub fn warn(&mut self) {
        self.warned = true;
        self.guard = Guard::default();
    }
}

/// The diff of one file without the two lines that name it: the question does.
fn hunks(diff: &str) -> &str {
    let first = diff.lines().take(3).collect::<Vec<_>>();
    match first[..] {
        [old, new, hunk]
            if old.starts_with("--- ") && new.starts_with("+++ ") && hunk.starts_with("@@ ") =>
        {
            diff.splitn(3, '\n').nth(2).unwrap_or(diff)
        }
        _ => diff,
    }
}

/// Which of the questions that wait is open, and which are left for later.
#[derive(Debug, Default)]
pub struct Questions {
    /// The open one.
    pub open: Option<Asking>,
    /// Those that were put off.
    put_off: HashSet<u64>,
    /// Those that were answered; the runtime has not said so yet.
    answered: HashSet<u64>,
}

impl Questions {
    /// Brings it up to date with what waits; true if the open one was withdrawn.
    pub fn settle(&mut self, story: &Story, lang: Lang) -> bool {
        let waits = |number: u64| story.approvals().get(number).is_some();
        self.put_off.retain(|number| waits(*number));
        self.answered.retain(|number| waits(*number));
        let withdrawn = self.open.as_ref().is_some_and(|open| !waits(open.number));
        if withdrawn {
            self.open = None;
        }
        if self.open.is_none() {
            let next = story.approvals().iter().find(|approval| {
                !self.put_off.contains(&approval.number)
                    && !self.answered.contains(&approval.number)
            });
            self.open = next.map(|approval| Asking::about(approval, lang));
        }
        withdrawn
    }

    /// Closes the open one because it was answered.
    pub fn answered(&mut self) {
        self.answered.extend(self.open.take().map(|open| open.number));
    }

    /// Closes the open one until somebody opens it again.
    pub fn later(&mut self) {
        self.put_off.extend(self.open.take().map(|open| open.number));
    }

    /// Opens this one. What is typed in another's reason is let go.
    pub fn reopen(&mut self, approval: &Approval, lang: Lang) {
        self.put_off.remove(&approval.number);
        self.answered.remove(&approval.number);
        self.open = Some(Asking::about(approval, lang));
    }

    /// True if it was put off.
    pub fn is_put_off(&self, number: u64) -> bool {
        self.put_off.contains(&number)
    }

    /// How many are put off.
    pub fn put_off(&self) -> usize {
        self.put_off.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_counts_before_it_was_seen_or_while_somebody_types_on() {
        let mut guard = Guard::default();
        assert!(guard.holds(Timestamp(5_000)), "nobody has seen it");
        guard.seen(Timestamp(5_000));
        guard.seen(Timestamp(5_100));
        assert!(guard.holds(Timestamp(5_399)));
        assert!(guard.holds(Timestamp(5_798)), "typing goes on");
        assert!(!guard.holds(Timestamp(6_198)));
        assert!(!guard.holds(Timestamp(6_199)));
    }
}
