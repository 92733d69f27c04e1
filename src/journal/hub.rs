//! Where facts become events: one task that numbers them in order of arrival and hands them to the
//! record and to everyone who watches. It refuses to know what a fact means beyond who may see it.
//!
//! **Delivery.** Every channel is bounded. [`Hub::emit`] waits while the hub is full, and the hub
//! waits for a subscriber that has a thousand events to read. No fact is ever dropped, reordered
//! or merged; words that stream in ([`Fact::is_transient`]) may be merged for a subscriber that
//! reads slowly, and are in no file. An event reaches the session's files before it reaches a
//! subscriber, so that what was seen is on record. A subscriber that dropped its receiver is
//! forgotten; one that keeps it and does not read holds up everything, on purpose.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;

use super::jsonl::Journal;
use super::outlet::Outlet;
use super::redact::Redactor;
use super::stream_redact::StreamRedactor;
use crate::domain::event::{Event, Fact, Level, Origin, Timestamp};

/// Facts that may wait for the hub before `emit` does, and events taken at once.
const CAPACITY: usize = 512;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What a hub is made of.
pub struct HubOptions {
    /// Tells the time of each event.
    pub clock: Clock,
    /// The session's files, if it is saved.
    pub journal: Option<Journal>,
    /// Who watches, from [`subscription`].
    pub subscribers: Vec<mpsc::Sender<Arc<Event>>>,
    /// What is blotted out of every event.
    pub redactor: Redactor,
}

/// A channel for one subscriber; `capacity` is the number of events that wait for it before words
/// are merged, at least one. It ends when the hub has finished.
pub fn subscription(capacity: usize) -> (mpsc::Sender<Arc<Event>>, mpsc::Receiver<Arc<Event>>) {
    mpsc::channel(capacity.max(1))
}

/// The place to tell facts to. Cheap to clone.
#[derive(Clone)]
pub struct Hub {
    facts: mpsc::Sender<(Origin, Fact)>,
}

impl Hub {
    /// Starts the hub's task on the current tokio runtime.
    pub fn start(options: HubOptions) -> (Self, HubTask) {
        let (facts, inbox) = mpsc::channel(CAPACITY);
        let closing = CancellationToken::new();
        let worker = Worker {
            clock: options.clock,
            last_id: 0,
            redactor: StreamRedactor::new(options.redactor),
            journal: options.journal,
            outlets: options.subscribers.into_iter().map(Outlet::start).collect(),
        };
        let task = tokio::spawn(worker.run(inbox, closing.clone()));
        (Self { facts }, HubTask { closing, task })
    }

    /// Tells a fact. Returns once it has its place in the order of events; waits while the hub is
    /// full. After [`HubTask::finish`] nobody listens and the fact is let go.
    pub async fn emit(&self, origin: &Origin, fact: Fact) {
        let told = self.facts.send((origin.clone(), fact)).await;
        // The only error is a hub that was told to finish: there is no one left to tell.
        drop(told);
    }

    /// Waits for a place among the facts that the hub has yet to take, for one that is to be told in
    /// the same step as something is done.
    pub async fn place(&self) -> Place<'_> {
        Place(self.facts.reserve().await.ok())
    }
}

/// Room for one fact.
pub struct Place<'a>(Option<mpsc::Permit<'a, (Origin, Fact)>>);

impl Place<'_> {
    /// Tells the fact: it comes after all that was told before this moment and before all that is
    /// told after it.
    pub fn take(self, origin: &Origin, fact: Fact) {
        if let Some(permit) = self.0 {
            permit.send((origin.clone(), fact));
        }
    }
}

/// The running hub, held by the one who ends it.
pub struct HubTask {
    closing: CancellationToken,
    task: JoinHandle<()>,
}

impl HubTask {
    /// To be called after the last fact was told: takes what is still waiting, writes it through to
    /// the disk, hands it out and closes every subscription. Each subscriber must have read to the
    /// end or dropped its receiver for this to return.
    pub async fn finish(self) {
        self.closing.cancel();
        // A hub that panicked has nothing left to write or to hand out.
        drop(self.task.await);
    }
}

struct Worker {
    clock: Clock,
    last_id: u64,
    redactor: StreamRedactor,
    journal: Option<Journal>,
    outlets: Vec<Outlet>,
}

impl Worker {
    async fn run(mut self, mut inbox: mpsc::Receiver<(Origin, Fact)>, closing: CancellationToken) {
        let mut batch = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = closing.cancelled(), if !inbox.is_closed() => inbox.close(),
                taken = inbox.recv_many(&mut batch, CAPACITY) => match taken {
                    0 => break,
                    _ => self.take(batch.drain(..)).await,
                },
            }
        }
        for outlet in self.outlets {
            outlet.finish().await;
        }
    }

    async fn take(&mut self, batch: impl Iterator<Item = (Origin, Fact)>) {
        let mut events = Vec::new();
        for (origin, fact) in batch {
            for (origin, fact) in self.redactor.pass(origin, fact) {
                events.push(self.stamp(origin, fact));
            }
        }
        let lost = self.write(&events).await;
        for event in events {
            self.hand_out(shown(event)).await;
        }
        if let Some(notice) = lost {
            self.hand_out(Arc::new(notice)).await;
        }
        self.sync().await;
    }

    fn stamp(&mut self, origin: Origin, fact: Fact) -> Arc<Event> {
        self.last_id += 1;
        Arc::new(Event { id: self.last_id, ts: (self.clock)(), origin, fact })
    }

    async fn hand_out(&mut self, event: Arc<Event>) {
        for outlet in &mut self.outlets {
            outlet.hand(&event).await;
        }
    }

    /// Writes what belongs into files. The first failure ends the record and comes back as the one
    /// notice about it.
    async fn write(&mut self, events: &[Arc<Event>]) -> Option<Event> {
        if events.iter().all(|event| event.fact.is_transient()) {
            return None;
        }
        let events = events.to_vec();
        self.on_journal(move |journal| journal.append(&events)).await
    }

    /// Makes sure of the disk where a run or the session ended.
    async fn sync(&mut self) {
        if !self.journal.as_ref().is_some_and(Journal::wants_sync) {
            return;
        }
        if let Some(notice) = self.on_journal(Journal::sync).await {
            self.hand_out(Arc::new(notice)).await;
        }
    }

    async fn on_journal<E: std::fmt::Display + Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Journal) -> Result<(), E> + Send + 'static,
    ) -> Option<Event> {
        let mut journal = self.journal.take()?;
        let worked = spawn_blocking(move || {
            let result = work(&mut journal);
            (journal, result)
        });
        let why = match worked.await {
            Ok((journal, Ok(()))) => {
                self.journal = Some(journal);
                return None;
            }
            Ok((_, Err(error))) => error.to_string(),
            Err(broken) => format!("the writer broke ({broken})"),
        };
        let text = format!("this session is not saved any more: {why}");
        let notice = Fact::notice(Level::Error, "NOT_SAVED", text);
        Some(Event::clone(&self.stamp(Origin::session(), notice)))
    }
}

/// What screens and streams get: a snippet's text is for the session file alone.
fn shown(mut event: Arc<Event>) -> Arc<Event> {
    if matches!(event.fact, Fact::ContextAdded { text: Some(_), .. })
        && let Fact::ContextAdded { text, .. } = &mut Arc::make_mut(&mut event).fact
    {
        *text = None;
    }
    event
}
