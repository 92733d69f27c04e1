//! The chat-completions wire, as `OpenAI` and most local servers speak it: one POST, one stream of
//! events. It knows no dialects and does not retry.

mod answer;
mod body;
mod calls;
mod details;
mod failure;
pub mod profiles;
mod usage;

use std::collections::VecDeque;
use std::sync::Arc;

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use reqwest::Response;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::http::{self, Endpoint, LazyClient};
use super::{Chunk, ChunkStream, Identity, Provider, ProviderError, Request, sse};
use answer::{Answer, Step};

/// Output tokens that a request may ask for where nothing else is known of the model: what a
/// built-in role asks for at most, and what most served models allow.
pub const DEFAULT_MAX_OUTPUT_TOKENS: u64 = 8_192;

/// What is needed to reach a model.
#[derive(Debug, Clone)]
pub struct Config {
    /// The address below which `/chat/completions` lies; usually ends in `/v1`.
    pub base_url: String,
    /// The key; none for most local servers.
    pub api_key: Option<SecretString>,
    /// The model's name.
    pub model: String,
    /// Output tokens per request at most; [`DEFAULT_MAX_OUTPUT_TOKENS`] if absent.
    pub max_output_tokens: Option<u64>,
}

/// A model behind a chat-completions server. Its price is unknown, so costs are too.
#[derive(Debug)]
pub struct OpenAi {
    identity: Identity,
    wire: Arc<Wire>,
}

#[derive(Debug)]
struct Wire {
    client: LazyClient,
    model: String,
    key: Option<SecretString>,
    authorization: Option<HeaderValue>,
}

impl OpenAi {
    /// Checks the settings. Nothing is sent or built before the first request.
    pub fn new(config: Config) -> Result<Self, ProviderError> {
        let endpoint = Endpoint::new(&config.base_url, &["chat", "completions"])?;
        let model = config.model.trim().to_owned();
        if model.is_empty() {
            return Err(ProviderError::Setup(
                "no model is named; give one with --model or OFFSHOOT_MODEL".to_owned(),
            ));
        }
        let key = config.api_key.filter(|key| !key.expose_secret().trim().is_empty());
        let authorization = key.as_ref().map(bearer).transpose()?;
        let identity = Identity {
            provider: "openai".to_owned(),
            model: model.clone(),
            host: Some(endpoint.host().to_owned()),
            local: endpoint.is_loopback(),
            prices: None,
            max_output_tokens: config.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS),
            context_window: None,
            is_language_model: true,
        };
        let client = LazyClient::new(endpoint);
        Ok(Self { identity, wire: Arc::new(Wire { client, model, key, authorization }) })
    }
}

impl Provider for OpenAi {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn stream(&self, request: Request) -> ChunkStream {
        let wire = Arc::clone(&self.wire);
        let answer = async move {
            let response = wire.send(&request).await?;
            Ok(Arc::clone(&wire).chunks(response))
        };
        Box::pin(stream::once(answer).try_flatten())
    }
}

impl Wire {
    async fn send(&self, request: &Request) -> Result<Response, ProviderError> {
        let client = self.client.get().await?;
        let mut post = client
            .post(self.client.endpoint().url().clone())
            .header(ACCEPT, "text/event-stream")
            .json(&body::build(&self.model, request));
        if let Some(authorization) = &self.authorization {
            post = post.header(AUTHORIZATION, authorization.clone());
        }
        let response = post.send().await.map_err(|error| self.client.unreachable(error))?;
        if !response.status().is_success() {
            return Err(self.without_key(self.client.status_error(response).await));
        }
        if is_event_stream(&response) {
            return Ok(response);
        }
        let words = http::server_words(&http::read_some(response, 64 * 1024).await);
        Err(self
            .without_key(self.client.broken(format!("it is no event stream but says \"{words}\""))))
    }

    fn chunks(
        self: Arc<Self>,
        response: Response,
    ) -> impl Stream<Item = Result<Chunk, ProviderError>> + Send {
        let events = sse::events(response.bytes_stream(), http::network_words);
        let reading = Reading {
            events: Box::pin(events),
            answer: Answer::default(),
            ready: VecDeque::new(),
            over: false,
        };
        stream::unfold((self, reading), |(wire, mut reading)| async move {
            let item = reading.next(&wire).await?;
            Some((item, (wire, reading)))
        })
    }

    /// The same error in words that do not repeat the key, as some servers do.
    fn without_key(&self, error: ProviderError) -> ProviderError {
        let Some(key) = &self.key else { return error };
        let hide = |text: String| text.replace(key.expose_secret().trim(), "[key]");
        match error {
            ProviderError::Unreachable { host, detail } => {
                ProviderError::Unreachable { host, detail: hide(detail) }
            }
            ProviderError::Status { host, status, detail, retry_after } => {
                ProviderError::Status { host, status, detail: hide(detail), retry_after }
            }
            ProviderError::Broken { host, detail } => {
                ProviderError::Broken { host, detail: hide(detail) }
            }
            ProviderError::ContextExceeded { host, detail } => {
                ProviderError::ContextExceeded { host, detail: hide(detail) }
            }
            ProviderError::Stalled { .. } | ProviderError::Script(_) => error,
            ProviderError::Setup(text) => ProviderError::Setup(hide(text)),
        }
    }
}

/// An answer that is being read.
struct Reading<S> {
    events: S,
    answer: Answer,
    ready: VecDeque<Result<Chunk, ProviderError>>,
    over: bool,
}

impl<S: Stream<Item = Result<String, String>> + Unpin> Reading<S> {
    async fn next(&mut self, wire: &Wire) -> Option<Result<Chunk, ProviderError>> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if self.over {
                return None;
            }
            let event = self.events.next().await;
            self.take(event, wire);
        }
    }

    fn take(&mut self, event: Option<Result<String, String>>, wire: &Wire) {
        let step = match event {
            Some(Ok(data)) => self.answer.take(&data),
            Some(Err(detail)) => Step::failed(detail),
            None => self.answer.end(),
        };
        self.ready.extend(step.chunks.into_iter().map(Ok));
        if let Some(failure) = step.failure {
            let host = wire.client.endpoint().host().to_owned();
            let error = match failure.status {
                Some(status) => ProviderError::Status {
                    host,
                    status,
                    detail: failure.detail,
                    retry_after: None,
                },
                None => ProviderError::Broken { host, detail: failure.detail },
            };
            self.ready.push_back(Err(wire.without_key(error)));
        }
        self.over |= step.over;
    }
}

fn bearer(key: &SecretString) -> Result<HeaderValue, ProviderError> {
    let text = format!("Bearer {}", key.expose_secret().trim());
    let mut value = HeaderValue::from_str(&text).map_err(|_| {
        ProviderError::Setup(
            "the API key holds a character that cannot be sent (a line break?); check where it \
             comes from"
                .to_owned(),
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}

/// True unless the server says that it sends something else; some say nothing, or `text/plain`.
fn is_event_stream(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_none_or(|kind| {
        let kind = kind.to_ascii_lowercase();
        kind.starts_with("text/event-stream") || kind.starts_with("text/plain")
    })
}
