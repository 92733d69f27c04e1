//! Server-sent events from a body of any size and any splitting, with bounded memory. It knows
//! nothing of what the events say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use sse_stream::SseByteStream;

/// Bytes that may come before an event is whole: nobody else bounds them.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BodyError(String);

/// What a body brings.
#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    /// The data of an event.
    Data(String),
    /// Bytes that are no event: a comment, or a part of an event that is yet to be whole.
    Alive,
}

/// The data of each event that has any, in order, and signs of life while there is none. `words`
/// puts an error of the body into words. An error is the last item.
pub fn events<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    words: fn(E) -> String,
) -> impl Stream<Item = Result<Event, String>> + Send
where
    E: Send + 'static,
{
    let pending = Arc::new(AtomicUsize::new(0));
    let heard = Arc::new(AtomicBool::new(false));
    let (received, sign) = (Arc::clone(&pending), Arc::clone(&heard));
    let counted = body.map_err(move |error| BodyError(words(error))).and_then(move |bytes| {
        sign.store(true, Ordering::Relaxed);
        let sum = received.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len();
        std::future::ready(if sum > MAX_EVENT_BYTES {
            Err(BodyError(format!("one event has more than {MAX_EVENT_BYTES} bytes")))
        } else {
            Ok(bytes)
        })
    });
    // Some servers close without the blank line that ends the last event.
    let end = stream::once(std::future::ready(Ok(Bytes::from_static(b"\n\n"))));
    let mut events = SseByteStream::new(Box::pin(counted.chain(end)));
    stream::poll_fn(move |context| {
        loop {
            let Poll::Ready(event) = events.poll_next_unpin(context) else {
                // One sign for all the bytes that came since the last one.
                let alive = heard.swap(false, Ordering::Relaxed);
                return if alive { Poll::Ready(Some(Ok(Event::Alive))) } else { Poll::Pending };
            };
            pending.store(0, Ordering::Relaxed);
            match event {
                Some(Ok(event)) => {
                    let data = event.data.filter(|data| !data.trim().is_empty());
                    if let Some(data) = data {
                        heard.store(false, Ordering::Relaxed);
                        return Poll::Ready(Some(Ok(Event::Data(data))));
                    }
                }
                Some(Err(sse_stream::Error::Body(error))) => {
                    return Poll::Ready(Some(Err(error.to_string())));
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error.to_string()))),
                None => return Poll::Ready(None),
            }
        }
    })
}

/// A body that is no stream of events, as one event at its end, and signs of life until then. An
/// error is the last item.
pub fn whole<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    words: fn(E) -> String,
) -> impl Stream<Item = Result<Event, String>> + Send
where
    E: Send + 'static,
{
    let start = Some((Box::pin(body), Vec::new()));
    stream::unfold(start, move |state| async move {
        let (mut body, mut bytes) = state?;
        match body.next().await {
            Some(Ok(more)) if bytes.len() + more.len() <= MAX_EVENT_BYTES => {
                bytes.extend_from_slice(&more);
                Some((Ok(Event::Alive), Some((body, bytes))))
            }
            Some(Ok(_)) => {
                Some((Err(format!("the answer has more than {MAX_EVENT_BYTES} bytes")), None))
            }
            Some(Err(error)) => Some((Err(words(error)), None)),
            None => Some((Ok(Event::Data(String::from_utf8_lossy(&bytes).into_owned())), None)),
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use futures_util::FutureExt;

    use super::*;

    async fn read(bytes: &[u8], size: usize) -> Vec<Result<Event, String>> {
        let pieces: Vec<Result<Bytes, String>> =
            bytes.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        events(stream::iter(pieces), |error| error).collect().await
    }

    #[expect(clippy::unnecessary_wraps, reason = "it is compared with what a stream gives")]
    fn data(text: &str) -> Result<Event, String> {
        Ok(Event::Data(text.to_owned()))
    }

    #[tokio::test]
    async fn events_are_the_same_however_the_bytes_are_split() {
        let body = "\u{feff}: hi\n\n:\ndata: 子\ndata: b\r\n\r\nevent: ping\n\nid: 1\n\ndata: 🦀";
        let whole = [data("子\nb"), data("🦀")];
        for size in 1..=body.len() {
            assert_eq!(read(body.as_bytes(), size).await, whole, "pieces of {size}");
        }
    }

    #[tokio::test]
    async fn an_endless_event_fails_and_a_long_stream_of_short_ones_does_not() {
        let endless = vec![b'x'; MAX_EVENT_BYTES + 1];
        let error = read(&endless, 65_536).await;
        assert!(matches!(error.as_slice(), [Err(words)] if words.contains("one event")));
        let many = "data: 0123456789\n\n".repeat(MAX_EVENT_BYTES / 17 + 1);
        let events = read(many.as_bytes(), 65_536).await;
        assert_eq!(events.iter().filter(|event| event.is_err()).count(), 0);
    }

    #[tokio::test]
    async fn an_error_of_the_body_comes_after_what_was_whole() {
        let pieces = [Ok(Bytes::from_static(b"data: a\n\ndata: b")), Err("reset")];
        let read: Vec<_> = events(stream::iter(pieces), str::to_owned).collect().await;
        assert_eq!(read, [data("a"), Err("reset".to_owned())]);
    }

    #[tokio::test]
    async fn a_silent_body_says_nothing_and_one_that_trickles_shows_that_it_lives() {
        let (tell, listen) = tokio::sync::mpsc::channel::<&'static str>(8);
        let body = stream::unfold(listen, |mut listen| async {
            let piece = listen.recv().await?;
            Some((Ok::<_, String>(Bytes::from_static(piece.as_bytes())), listen))
        });
        let mut events = Box::pin(events(body, |error| error));
        let alive = || Some(Some(Ok(Event::Alive)));
        assert_eq!(events.next().now_or_never(), None);
        for (piece, now) in [
            (": ping\n\n", alive()),
            ("data: a", alive()),
            ("\n\ndata: ", Some(Some(data("a")))),
            ("event: ping\n\n", Some(Some(data("event: ping")))),
            ("event: ping\nid: 1\n\n", alive()),
        ] {
            tell.send(piece).await.unwrap();
            assert_eq!(events.next().now_or_never(), now, "{piece}");
            assert_eq!(events.next().now_or_never(), None, "{piece}");
        }
        drop(tell);
        assert_eq!(events.next().await, None);
    }
}
