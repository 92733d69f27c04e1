//! Lines from a body of any size and any splitting, with bounded memory, for servers that send one
//! JSON value a line. It knows nothing of what the lines say.

use bytes::{Buf, Bytes, BytesMut};
use futures_util::{Stream, StreamExt, stream};

use super::sse::Event;

/// Bytes that one line may have.
const MAX_LINE_BYTES: usize = 8 * 1024 * 1024;

/// Each line that is not blank, in order, and signs of life while none is whole. `words` puts an
/// error of the body into words. An error is the last item.
pub fn lines<E>(
    body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    words: fn(E) -> String,
) -> impl Stream<Item = Result<Event, String>> + Send
where
    E: Send + 'static,
{
    let open = Open { body: Box::pin(body), held: BytesMut::new(), searched: 0 };
    stream::unfold(Some(open), move |open| async move {
        let mut open = open?;
        if let Some(line) = open.next_line() {
            return Some((line.map(Event::Data), Some(open)));
        }
        match open.body.next().await {
            Some(Ok(more)) if open.held.len() + more.len() > MAX_LINE_BYTES => {
                Some((Err(format!("one line has more than {MAX_LINE_BYTES} bytes")), None))
            }
            Some(Ok(more)) => {
                open.held.extend_from_slice(&more);
                let item = open.next_line().map_or(Ok(Event::Alive), |line| line.map(Event::Data));
                Some((item, Some(open)))
            }
            Some(Err(error)) => Some((Err(words(error)), None)),
            None => Some((open.last_line()?.map(Event::Data), None)),
        }
    })
}

struct Open<S> {
    body: S,
    held: BytesMut,
    /// Bytes of `held` in which there is no line break.
    searched: usize,
}

impl<S> Open<S> {
    fn next_line(&mut self) -> Option<Result<String, String>> {
        while let Some(place) = memchr::memchr(b'\n', &self.held[self.searched..]) {
            let line = self.held.split_to(self.searched + place);
            self.held.advance(1);
            self.searched = 0;
            if !line.trim_ascii().is_empty() {
                return Some(text(&line));
            }
        }
        self.searched = self.held.len();
        None
    }

    fn last_line(&mut self) -> Option<Result<String, String>> {
        let line = std::mem::take(&mut self.held);
        (!line.trim_ascii().is_empty()).then(|| text(&line))
    }
}

fn text(line: &[u8]) -> Result<String, String> {
    let line = std::str::from_utf8(line).map_err(|error| format!("a line is no text: {error}"))?;
    Ok(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(bytes: &[u8], size: usize) -> Vec<Result<String, String>> {
        let pieces: Vec<Result<Bytes, String>> =
            bytes.chunks(size).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let events = lines(stream::iter(pieces), |error| error);
        let lines = events.filter_map(|event| {
            std::future::ready(match event {
                Ok(Event::Data(line)) => Some(Ok(line)),
                Ok(Event::Alive) => None,
                Err(error) => Some(Err(error)),
            })
        });
        lines.collect().await
    }

    #[tokio::test]
    async fn lines_are_the_same_however_the_bytes_are_split() {
        let body = "{\"a\":\"子\"}\r\n\n \n{\"b\":\"🦀\"}\n{\"c\":1}";
        let whole = ["{\"a\":\"子\"}\r", "{\"b\":\"🦀\"}", "{\"c\":1}"].map(|l| Ok(l.to_owned()));
        for size in 1..=body.len() {
            assert_eq!(read(body.as_bytes(), size).await, whole, "pieces of {size}");
        }
    }

    #[tokio::test]
    async fn an_endless_line_fails_and_many_short_ones_do_not() {
        let error = read(&vec![b'x'; MAX_LINE_BYTES + 1], 65_536).await;
        assert!(matches!(error.as_slice(), [Err(words)] if words.contains("one line")));
        let many = "{}\n".repeat(MAX_LINE_BYTES / 3 + 1);
        assert_eq!(read(many.as_bytes(), 65_536).await.len(), MAX_LINE_BYTES / 3 + 1);
        let torn = read(b"a\n\xff\xfe\n", 64).await;
        assert!(matches!(torn.as_slice(), [Ok(_), Err(words)] if words.contains("no text")));
    }
}
