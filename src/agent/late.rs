//! What a stream brings that is no part of an answer: what came in after a cancel, and signs that
//! the model is writing something that cannot be shown yet.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tokio::time::Instant;

use crate::domain::event::Fact;
use crate::domain::message::Block;
use crate::domain::usage::estimate_tokens;
use crate::provider::{Chunk, ChunkStream};

/// Pieces that are counted at most: a stream that is always ready would never be let go.
const MOST_PIECES: usize = 1_000;
/// Signs of writing are at least this far apart.
const SIGN_EVERY: Duration = Duration::from_secs(1);

/// Tokens, by estimate, that are there when the stream is about to be let go. Nothing is waited for;
/// a request that was not answered yet is not looked at, so that it cannot start by that.
pub(super) fn count(stream: &mut ChunkStream, began: bool) -> u64 {
    if !began {
        return 0;
    }
    let ready = || stream.next().now_or_never().flatten().and_then(Result::ok);
    std::iter::from_fn(ready).take(MOST_PIECES).map(|chunk| tokens(&chunk)).sum()
}

fn tokens(chunk: &Chunk) -> u64 {
    match chunk {
        Chunk::Text(text) | Chunk::Reasoning(text) => estimate_tokens(text),
        Chunk::ToolCall(call) => Block::ToolCall(call.clone()).estimated_tokens(),
        Chunk::Redacted(_)
        | Chunk::Opaque(_)
        | Chunk::Signature(_)
        | Chunk::Alive
        | Chunk::CallPart
        | Chunk::Usage(_)
        | Chunk::Stop(_) => 0,
    }
}

/// When it was last told that a call is being written.
#[derive(Debug, Default)]
pub(super) struct Writing(Option<Instant>);

impl Writing {
    /// What is to be told of one more part of a call: nothing if that was told just now.
    pub(super) fn sign(&mut self) -> Option<Fact> {
        let now = Instant::now();
        if self.0.is_some_and(|last| now.duration_since(last) < SIGN_EVERY) {
            return None;
        }
        self.0 = Some(now);
        Some(Fact::ModelWriting)
    }
}
