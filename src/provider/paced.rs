//! An answer that is known before it is given: chunks with pauses between them. It knows tokio's
//! clock and nothing of where the answer comes from.

use std::time::Duration;

use futures_util::{StreamExt, stream};

use super::{Chunk, ChunkStream, ProviderError};

/// One step of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Lets this much time pass.
    Wait(Duration),
    /// Gives this.
    Give(Result<Chunk, ProviderError>),
}

impl Step {
    /// Gives `chunk`.
    pub fn chunk(chunk: Chunk) -> Self {
        Self::Give(Ok(chunk))
    }
}

/// Works out the answer when the stream is first polled, then plays it.
pub fn play(answer: impl FnOnce() -> Vec<Step> + Send + 'static) -> ChunkStream {
    let steps = stream::once(async move { stream::iter(answer()) }).flatten();
    Box::pin(steps.filter_map(|step| async move {
        match step {
            Step::Wait(time) if time.is_zero() => None,
            Step::Wait(time) => {
                tokio::time::sleep(time).await;
                None
            }
            Step::Give(chunk) => Some(chunk),
        }
    }))
}

/// Steps that give `text` in pieces of at most `size` characters, each after `pause`.
pub fn pieces(
    text: &str,
    size: usize,
    pause: Duration,
    kind: fn(String) -> Chunk,
) -> impl Iterator<Item = Step> + '_ {
    Pieces { rest: text, size: size.max(1) }
        .flat_map(move |piece| [Step::Wait(pause), Step::chunk(kind(piece.to_owned()))])
}

struct Pieces<'a> {
    rest: &'a str,
    size: usize,
}

impl<'a> Iterator for Pieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let end = self.rest.char_indices().nth(self.size).map_or(self.rest.len(), |(at, _)| at);
        let (piece, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!piece.is_empty()).then_some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_given_whole_in_order_and_takes_its_pauses() {
        let text = "子子子子x";
        let answer = play(move || pieces(text, 2, Duration::from_secs(3), Chunk::Text).collect());
        let started = tokio::time::Instant::now();
        let chunks: Vec<_> = answer.collect().await;
        let told = |text: &str| Ok(Chunk::Text(text.to_owned()));
        assert_eq!(chunks, [told("子子"), told("子子"), told("x")]);
        assert_eq!(started.elapsed(), Duration::from_secs(9));
    }

    #[test]
    fn no_text_is_no_piece() {
        assert_eq!(pieces("", 5, Duration::ZERO, Chunk::Text).count(), 0);
    }
}
