//! Redaction of words that come in pieces: a secret that is cut in two must not pass in halves. It
//! holds back the end of a piece as long as a secret may have begun there, and nothing longer.

use std::collections::HashMap;

use super::redact::Redactor;
use super::shapes;
use crate::domain::event::{Fact, Origin};
use crate::domain::ids::{CallId, RunId};

/// Bytes that are held back at most.
const HELD_BYTES: usize = 16 * 1024;

/// Redacts facts in the order they are told.
pub struct StreamRedactor {
    redactor: Redactor,
    held: HashMap<Option<RunId>, Vec<Held>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Stream {
    Text,
    Reasoning,
    Progress(CallId),
}

struct Held {
    stream: Stream,
    origin: Origin,
    text: String,
}

impl StreamRedactor {
    /// Starts with nothing held back.
    pub fn new(redactor: Redactor) -> Self {
        Self { redactor, held: HashMap::new() }
    }

    /// What may be told now: nothing where all words are held back, else the fact, after the words
    /// of its run that were held back before it.
    pub fn pass(&mut self, origin: Origin, fact: Fact) -> Vec<(Origin, Fact)> {
        match streamed(fact) {
            Ok((stream, text)) => self.words(origin, stream, &text).into_iter().collect(),
            Err(fact) => {
                let mut told = self.release(&origin);
                told.push((origin, self.redactor.fact(fact)));
                told
            }
        }
    }

    fn words(&mut self, origin: Origin, stream: Stream, more: &str) -> Option<(Origin, Fact)> {
        let all_held = self.held.entry(origin.run.clone()).or_default();
        let earlier = all_held.iter().position(|held| held.stream == stream);
        let mut text = earlier.map(|at| all_held.swap_remove(at).text).unwrap_or_default();
        text.push_str(more);
        // Whole secrets go first: the end of one may look like the beginning of the next.
        let mut text = self.redactor.known(&text).into_owned();
        let mut keep = text.len() - safe_length(&self.redactor, &text);
        if keep > HELD_BYTES {
            keep = 0;
        }
        let held = text.split_off(text.len() - keep);
        if !held.is_empty() {
            all_held.push(Held { stream: stream.clone(), origin: origin.clone(), text: held });
        }
        let text = self.redactor.text(&text).into_owned();
        (!text.is_empty()).then(|| (origin, delta(stream, text)))
    }

    fn release(&mut self, origin: &Origin) -> Vec<(Origin, Fact)> {
        let held = self.held.remove(&origin.run).unwrap_or_default();
        let told = held.into_iter().map(|held| {
            (held.origin, delta(held.stream, self.redactor.text(&held.text).into_owned()))
        });
        told.collect()
    }
}

/// Bytes from the start in which no secret is still growing.
fn safe_length(redactor: &Redactor, text: &str) -> usize {
    let known = redactor.secrets().iter().filter_map(|secret| shapes::partial_end(text, secret));
    known.chain(shapes::open_end(text)).min().unwrap_or(text.len())
}

fn streamed(fact: Fact) -> Result<(Stream, String), Fact> {
    if let Fact::TextDelta { text } = fact {
        Ok((Stream::Text, text))
    } else if let Fact::ReasoningDelta { text } = fact {
        Ok((Stream::Reasoning, text))
    } else if let Fact::ToolProgress { call, text } = fact {
        Ok((Stream::Progress(call), text))
    } else {
        Err(fact)
    }
}

fn delta(stream: Stream, text: String) -> Fact {
    match stream {
        Stream::Text => Fact::TextDelta { text },
        Stream::Reasoning => Fact::ReasoningDelta { text },
        Stream::Progress(call) => Fact::ToolProgress { call, text },
    }
}
