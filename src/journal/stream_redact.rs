//! Redaction of words that come in pieces: a secret that is cut in two must not pass in halves. It
//! holds back the end of a piece as long as a secret may have begun there, and nothing longer.

use std::collections::HashMap;

use super::redact::Redactor;
use super::shapes::{self, Part};
use crate::domain::event::{Fact, Origin, RawOutput};
use crate::domain::ids::{CallId, RunId};

/// Bytes that are held back at most.
const HELD_BYTES: usize = 16 * 1024;

/// Redacts facts in the order they are told.
pub struct StreamRedactor {
    redactor: Redactor,
    tails: HashMap<Option<RunId>, Vec<Tail>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stream {
    Text,
    Reasoning,
    Progress(CallId),
}

/// What is known of one stream of words.
struct Tail {
    stream: Stream,
    origin: Origin,
    /// Words that were not told yet.
    held: String,
    /// True if the words that were told end inside of a word.
    inside_word: bool,
}

impl StreamRedactor {
    /// Starts with nothing held back.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, tails: HashMap::new() }
    }

    /// What may be told now: nothing where all words are held back, else the fact, after the words
    /// that were held back and that it is the end of.
    pub fn pass(&mut self, origin: Origin, fact: Fact) -> Vec<(Origin, Fact)> {
        if let Some((stream, text)) = streamed(&fact) {
            return self.words(origin, stream, text).into_iter().collect();
        }
        let mut told = self.release(&origin, &fact);
        let (raw, fact) = apart(fact);
        let raw = raw.map(|RawOutput(text)| RawOutput(self.redactor.text(&text).into()));
        told.push((origin, together(raw, self.redactor.fact(fact))));
        told
    }

    fn words(&mut self, origin: Origin, stream: Stream, more: &str) -> Option<(Origin, Fact)> {
        let tails = self.tails.entry(origin.run.clone()).or_default();
        let place = tails.iter().position(|tail| tail.stream == stream).unwrap_or_else(|| {
            let (stream, origin) = (stream.clone(), origin.clone());
            tails.push(Tail { stream, origin, held: String::new(), inside_word: false });
            tails.len() - 1
        });
        let text = tails[place].grow(&self.redactor, more);
        (!text.is_empty()).then(|| (origin, delta(stream, text)))
    }

    fn release(&mut self, origin: &Origin, fact: &Fact) -> Vec<(Origin, Fact)> {
        let Some(tails) = self.tails.get_mut(&origin.run) else { return Vec::new() };
        let (over, open): (Vec<Tail>, Vec<Tail>) =
            std::mem::take(tails).into_iter().partition(|tail| tail.stream.ends_with(fact));
        if open.is_empty() {
            self.tails.remove(&origin.run);
        } else {
            *tails = open;
        }
        let held = over.into_iter().filter(|tail| !tail.held.is_empty());
        held.map(|tail| {
            let text = tail.blotted(&self.redactor.cut_short(&tail.held));
            (tail.origin, delta(tail.stream, text))
        })
        .collect()
    }
}

impl Stream {
    /// True if no more words of the stream come once its run tells this. What others do to the run
    /// falls anywhere between the pieces of a word.
    fn ends_with(&self, fact: &Fact) -> bool {
        match self {
            Self::Text | Self::Reasoning => !falls_between(fact),
            Self::Progress(own) => {
                matches!(fact, Fact::RunFinished(_))
                    || matches!(fact, Fact::ToolFinished { call, .. } if call == own)
            }
        }
    }
}

/// True for what can be told of a run while its model's words come in.
fn falls_between(fact: &Fact) -> bool {
    match fact {
        Fact::ModelWriting
        | Fact::Paused { .. }
        | Fact::Resumed { .. }
        | Fact::WrapUpRequested { .. }
        | Fact::BudgetExtended { .. }
        | Fact::CancelRequested { .. } => true,
        Fact::SessionStarted { .. }
        | Fact::SessionFinished { .. }
        | Fact::ContextAdded { .. }
        | Fact::TaskQueued { .. }
        | Fact::RunStarted { .. }
        | Fact::ContractRefused { .. }
        | Fact::TurnStarted { .. }
        | Fact::TextDelta { .. }
        | Fact::ReasoningDelta { .. }
        | Fact::Message(_)
        | Fact::ToolStarted { .. }
        | Fact::ToolProgress { .. }
        | Fact::ToolFinished { .. }
        | Fact::Usage { .. }
        | Fact::RetryScheduled { .. }
        | Fact::ApprovalRequested { .. }
        | Fact::ApprovalDecided { .. }
        | Fact::FilesChanged { .. }
        | Fact::ModeChanged { .. }
        | Fact::PreflightChanged { .. }
        | Fact::Compacted { .. }
        | Fact::Notice { .. }
        | Fact::Steered { .. }
        | Fact::RunFinished(_)
        | Fact::Unknown => false,
    }
}

impl Tail {
    /// Takes more words and gives those that may be told.
    fn grow(&mut self, redactor: &Redactor, more: &str) -> String {
        self.held.push_str(more);
        // Whole secrets go first: the end of one may look like the beginning of the next.
        let mut text = redactor.known(&self.held).into_owned();
        let safe = self.safe_length(redactor, &text);
        let told = if text.len() - safe > HELD_BYTES { text.len() } else { safe };
        self.held = text.split_off(told);
        let blotted = self.blotted(&text);
        if !text.is_empty() {
            self.inside_word = shapes::ends_in_word(&text);
        }
        blotted
    }

    /// Bytes from the start in which no secret is still growing.
    fn safe_length(&self, redactor: &Redactor, text: &str) -> usize {
        let secrets = redactor.secrets().iter();
        let known = secrets.filter_map(|secret| shapes::partial_end(text, secret)).min();
        let mut safe = known.unwrap_or(text.len());
        // A key that reaches up to that place may go on behind it.
        while let Some(earlier) = shapes::open_end(self.part(&text[..safe])) {
            safe = earlier;
        }
        safe
    }

    fn blotted(&self, text: &str) -> String {
        shapes::blot(self.part(text)).unwrap_or_else(|| text.to_owned())
    }

    fn part<'a>(&self, text: &'a str) -> Part<'a> {
        Part { text, inside_word: self.inside_word }
    }
}

/// What stands in no JSON is taken off, and put back where everything else was gone over.
fn apart(mut fact: Fact) -> (Option<RawOutput>, Fact) {
    let raw = if let Fact::ToolFinished { raw, .. } = &mut fact { raw.take() } else { None };
    (raw, fact)
}

fn together(kept: Option<RawOutput>, mut fact: Fact) -> Fact {
    if let Fact::ToolFinished { raw, .. } = &mut fact {
        *raw = kept;
    }
    fact
}

/// The stream that a transient fact belongs to, and its words.
fn streamed(fact: &Fact) -> Option<(Stream, &str)> {
    if let Fact::TextDelta { text } = fact {
        Some((Stream::Text, text))
    } else if let Fact::ReasoningDelta { text } = fact {
        Some((Stream::Reasoning, text))
    } else if let Fact::ToolProgress { call, text } = fact {
        Some((Stream::Progress(call.clone()), text))
    } else {
        None
    }
}

fn delta(stream: Stream, text: String) -> Fact {
    match stream {
        Stream::Text => Fact::TextDelta { text },
        Stream::Reasoning => Fact::ReasoningDelta { text },
        Stream::Progress(call) => Fact::ToolProgress { call, text },
    }
}
