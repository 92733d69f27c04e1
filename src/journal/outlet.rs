//! One subscriber's end of the hub: hands events on as fast as they are read and merges words that
//! pile up. It refuses to drop, reorder or merge a fact.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::domain::event::{Event, Fact};
use crate::domain::ids::CallId;

/// Events that may pile up here before the hub waits.
const BACKLOG: usize = 1024;
/// Bytes of words that are merged into one event at most.
const MERGED_BYTES: usize = 64 * 1024;
/// How far back a place to merge into is looked for, in events.
const LOOK_BACK: usize = 32;

/// The hub's side of one subscription.
pub(super) struct Outlet {
    events: mpsc::Sender<Arc<Event>>,
    task: JoinHandle<()>,
    gone: bool,
}

impl Outlet {
    pub(super) fn start(subscriber: mpsc::Sender<Arc<Event>>) -> Self {
        // One place is enough: what piles up does so where it can be merged.
        let (events, inbox) = mpsc::channel(1);
        let task = tokio::spawn(forward(inbox, subscriber));
        Self { events, task, gone: false }
    }

    /// Hands one event over; waits while the backlog is full.
    pub(super) async fn hand(&mut self, event: &Arc<Event>) {
        if !self.gone {
            self.gone = self.events.send(Arc::clone(event)).await.is_err();
        }
    }

    /// Returns when the subscriber has everything, or is gone.
    pub(super) async fn finish(self) {
        drop(self.events);
        drop(self.task.await);
    }
}

async fn forward(mut inbox: mpsc::Receiver<Arc<Event>>, subscriber: mpsc::Sender<Arc<Event>>) {
    let mut backlog = VecDeque::new();
    let mut open = true;
    while open || !backlog.is_empty() {
        tokio::select! {
            biased;
            place = subscriber.reserve(), if !backlog.is_empty() => match (place, backlog.pop_front()) {
                (Ok(place), Some(event)) => place.send(event),
                (Ok(_), None) => {}
                (Err(_), _) => return,
            },
            event = inbox.recv(), if open && backlog.len() < BACKLOG => match event {
                Some(event) => push(&mut backlog, event),
                None => open = false,
            },
            () = subscriber.closed(), if open => return,
        }
    }
}

/// Adds an event at the end, or its words to those of the same source that already wait. A merged
/// event keeps the id of its first words, so that ids still rise.
fn push(backlog: &mut VecDeque<Arc<Event>>, event: Arc<Event>) {
    if event.fact.is_transient() {
        let earlier = backlog.iter_mut().rev().take(LOOK_BACK);
        let mut same_source = earlier.filter(|earlier| earlier.origin == event.origin);
        if same_source.next().is_some_and(|earlier| merge(earlier, &event.fact)) {
            return;
        }
    }
    backlog.push_back(event);
}

fn merge(earlier: &mut Arc<Event>, more: &Fact) -> bool {
    let (Some(words), Some(more_words)) = (words(&earlier.fact), words(more)) else {
        return false;
    };
    let fits = words.text.len() + more_words.text.len() <= MERGED_BYTES;
    if words.source != more_words.source || !fits {
        return false;
    }
    let fact = &mut Arc::make_mut(earlier).fact;
    if let Fact::TextDelta { text }
    | Fact::ReasoningDelta { text }
    | Fact::ToolProgress { text, .. } = fact
    {
        text.push_str(more_words.text);
    }
    true
}

#[derive(PartialEq, Eq)]
enum Source<'a> {
    Text,
    Reasoning,
    Progress(&'a CallId),
}

struct Words<'a> {
    source: Source<'a>,
    text: &'a str,
}

/// The words of a transient fact.
fn words(fact: &Fact) -> Option<Words<'_>> {
    if let Fact::TextDelta { text } = fact {
        Some(Words { source: Source::Text, text })
    } else if let Fact::ReasoningDelta { text } = fact {
        Some(Words { source: Source::Reasoning, text })
    } else if let Fact::ToolProgress { call, text } = fact {
        Some(Words { source: Source::Progress(call), text })
    } else {
        None
    }
}
