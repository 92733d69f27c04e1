//! One request over the network: the post, and whatever comes back. It knows the forms that an
//! answer's body can have and nothing of what it says.

use bytes::Bytes;
use futures_util::{Stream, StreamExt, stream};
use reqwest::Response;
use reqwest::header::HeaderMap;

use super::answer::{Answer, Shape};
use super::body::{self, Target};
use crate::provider::http::{self, LazyClient};
use crate::provider::reading::Reading;
use crate::provider::{ProviderError, Request};

/// What every request needs.
#[derive(Debug)]
pub struct Wire {
    /// Where to, and how failures are put into words.
    pub client: LazyClient,
    /// What every request carries.
    pub headers: HeaderMap,
    /// The model and the dialect that it is asked in.
    pub target: Target,
}

impl Wire {
    /// Sends the request and waits for the first bytes of its answer's body.
    pub async fn send(&self, request: &Request) -> Result<Reading<Answer>, ProviderError> {
        let body = body::build(&self.target, request);
        let mut response = self.client.post(&self.headers, &body).await?;
        let first = self.first_bytes(&mut response).await?;
        let shape = shape(&response, &first);
        let offered = request.tools.iter().map(|tool| tool.name.clone()).collect();
        let answer =
            Answer::new(self.target.profile, offered, shape, &first[..first.len().min(256)]);
        let body = with_first(first, response);
        Ok(match shape {
            Shape::Events => Reading::bytes(body, answer),
            Shape::Whole => Reading::body(body, answer),
        })
    }

    async fn first_bytes(&self, response: &mut Response) -> Result<Bytes, ProviderError> {
        loop {
            match response.chunk().await {
                Ok(Some(bytes)) if bytes.is_empty() => {}
                Ok(Some(bytes)) => return Ok(bytes),
                Ok(None) => return Ok(Bytes::new()),
                Err(error) => return Err(self.client.broken(http::network_words(error))),
            }
        }
    }
}

/// What the body is, by its first visible byte and only then by what the server says that it is:
/// some give events the name of JSON, others JSON or a web page the name of events.
fn shape(response: &Response, first: &[u8]) -> Shape {
    let visible = first.iter().find(|byte| !byte.is_ascii_whitespace());
    match visible {
        Some(b'{' | b'[' | b'<') => Shape::Whole,
        // `data:`, `event:`, `id:`, `retry:` or a comment.
        Some(b'd' | b'e' | b'i' | b'r' | b':') => Shape::Events,
        Some(_) | None if http::is_event_stream(response) => Shape::Events,
        Some(_) | None => Shape::Whole,
    }
}

fn with_first(
    first: Bytes,
    response: Response,
) -> impl Stream<Item = Result<Bytes, reqwest::Error>> + Send + 'static {
    stream::once(std::future::ready(Ok(first))).chain(response.bytes_stream())
}
