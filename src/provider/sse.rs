//! Server-sent events from a body of any size and any splitting, with bounded memory. It knows
//! nothing of what the events say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use sse_stream::SseByteStream;

/// Bytes that may come before an event is whole: nobody else bounds them.
const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BodyError(String);

/// The data of each event that has any, in order. `words` puts an error of the body into words.
/// An error is the last item.
pub fn events<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    words: fn(E) -> String,
) -> impl Stream<Item = Result<String, String>> + Send
where
    E: Send + 'static,
{
    let pending = Arc::new(AtomicUsize::new(0));
    let received = Arc::clone(&pending);
    let counted = body.map_err(move |error| BodyError(words(error))).and_then(move |bytes| {
        let sum = received.fetch_add(bytes.len(), Ordering::Relaxed) + bytes.len();
        std::future::ready(if sum > MAX_EVENT_BYTES {
            Err(BodyError(format!("one event has more than {MAX_EVENT_BYTES} bytes")))
        } else {
            Ok(bytes)
        })
    });
    // Some servers close without the blank line that ends the last event.
    let end = stream::once(std::future::ready(Ok(Bytes::from_static(b"\n\n"))));
    SseByteStream::new(Box::pin(counted.chain(end))).filter_map(move |event| {
        pending.store(0, Ordering::Relaxed);
        std::future::ready(match event {
            Ok(event) => event.data.filter(|data| !data.trim().is_empty()).map(Ok),
            Err(sse_stream::Error::Body(error)) => Some(Err(error.to_string())),
            Err(error) => Some(Err(error.to_string())),
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], size: usize) -> Vec<Result<String, String>> {
        let pieces: Vec<Result<Bytes, String>> =
            bytes.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        events(stream::iter(pieces), |error| error).collect().await
    }

    #[tokio::test]
    async fn events_are_the_same_however_the_bytes_are_split() {
        let body = "\u{feff}: hi\n\n:\ndata: 子\ndata: b\r\n\r\nevent: ping\n\nid: 1\n\ndata: 🦀";
        let whole = [Ok("子\nb".to_owned()), Ok("🦀".to_owned())];
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
        assert_eq!(read, [Ok("a".to_owned()), Err("reset".to_owned())]);
    }
}
