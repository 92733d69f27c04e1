//! An answer while it is read: events in, chunks out, one failure at most and that as the last item.
//! What every streaming wire shares; it knows no format, that is its decoder's business.

use std::collections::VecDeque;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use reqwest::Response;

use super::http::{self, LazyClient};
use super::{Chunk, ProviderError, lines, sse};

/// From the events of one answer to chunks.
pub trait Decoder {
    /// Takes the data of one event.
    fn take(&mut self, data: &str) -> Step;

    /// The body is at its end.
    fn end(&mut self) -> Step;

    /// The body broke off, or makes no sense any more. What was held back and may be shown comes
    /// with the failure.
    fn break_off(&mut self, detail: String) -> Step {
        Step::failed(detail)
    }

    /// Bytes of the calls that are held back until they are whole; 0 where calls come whole.
    fn call_bytes(&self) -> usize {
        0
    }
}

/// What one event brings.
#[derive(Debug, Default)]
pub struct Step {
    /// To be passed on, before the failure.
    pub chunks: Vec<Chunk>,
    /// Why the answer ends badly.
    pub failure: Option<Failure>,
    /// True if nothing more is to be read.
    pub over: bool,
}

/// Why an answer ended badly.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure {
    /// The HTTP status that the server reports in the stream, where it does.
    pub status: Option<u16>,
    /// What was wrong, in one line.
    pub detail: String,
}

impl Step {
    /// The answer ends here, badly.
    pub fn failed(detail: impl Into<String>) -> Self {
        let failure = Some(Failure { status: None, detail: detail.into() });
        Self { chunks: Vec::new(), failure, over: true }
    }
}

type Events = Pin<Box<dyn Stream<Item = Result<sse::Event, String>> + Send>>;

/// An answer that is being read. Dropping it closes the connection.
pub struct Reading<D> {
    events: Events,
    decoder: D,
    ready: VecDeque<Result<Chunk, ProviderError>>,
    over: bool,
}

impl<D: Decoder> Reading<D> {
    /// Reads the events of `response`.
    pub fn events(response: Response, decoder: D) -> Self {
        Self::bytes(response.bytes_stream(), decoder)
    }

    /// Reads the events of a body.
    pub fn bytes(
        body: impl Stream<Item = Result<Bytes, reqwest::Error>> + Send + 'static,
        decoder: D,
    ) -> Self {
        Self::new(Box::pin(sse::events(body, http::network_words)), decoder)
    }

    /// Reads the lines of `response`, each of them an event.
    pub fn lines(response: Response, decoder: D) -> Self {
        let lines = lines::lines(response.bytes_stream(), http::network_words);
        Self::new(Box::pin(lines), decoder)
    }

    /// Reads a body that is one event as a whole, such as an answer that is no stream.
    pub fn body(
        body: impl Stream<Item = Result<Bytes, reqwest::Error>> + Send + 'static,
        decoder: D,
    ) -> Self {
        Self::new(Box::pin(sse::whole(body, http::network_words)), decoder)
    }

    /// Reads an answer that came in one piece.
    pub fn whole(data: String, decoder: D) -> Self {
        let event = Ok(sse::Event::Data(data));
        let one = futures_util::stream::once(std::future::ready(event));
        Self::new(Box::pin(one), decoder)
    }

    /// Reads the events of a body that comes in these pieces.
    #[cfg(test)]
    pub fn pieces(pieces: Vec<bytes::Bytes>, decoder: D) -> Self {
        let pieces = pieces.into_iter().map(Ok::<_, String>);
        let events = sse::events(futures_util::stream::iter(pieces), |words| words);
        Self::new(Box::pin(events), decoder)
    }

    fn new(events: Events, decoder: D) -> Self {
        Self { events, decoder, ready: VecDeque::new(), over: false }
    }

    /// What has been decoded so far.
    pub fn decoder(&self) -> &D {
        &self.decoder
    }

    /// The next chunk. An event that shows nothing, such as a ping, is a sign of life; a part of a
    /// call that is held back is one of the model's.
    pub async fn next(&mut self, client: &LazyClient) -> Option<Result<Chunk, ProviderError>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if self.over {
                return None;
            }
            match self.events.next().await {
                Some(Ok(sse::Event::Alive)) => return Some(Ok(Chunk::Alive)),
                Some(Ok(sse::Event::Data(data))) => {
                    let before = self.decoder.call_bytes();
                    let step = self.decoder.take(&data);
                    self.take(step, client);
                    if self.ready.is_empty() && !self.over {
                        let grown = self.decoder.call_bytes() > before;
                        return Some(Ok(if grown { Chunk::CallPart } else { Chunk::Alive }));
                    }
                }
                Some(Err(detail)) => {
                    let step = self.decoder.break_off(detail);
                    self.take(step, client);
                }
                None => {
                    let step = self.decoder.end();
                    self.take(step, client);
                }
            }
        }
    }

    fn take(&mut self, step: Step, client: &LazyClient) {
        self.ready.extend(step.chunks.into_iter().map(Ok));
        if let Some(Failure { status, detail }) = step.failure {
            self.ready.push_back(Err(client.failure(status, detail, None)));
        }
        self.over |= step.over;
    }
}
