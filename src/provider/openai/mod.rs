//! The chat-completions wire, as `OpenAI` and most local servers speak it: one POST, one stream of
//! events. It knows no dialects and does not retry.

mod answer;
mod body;

use std::sync::Arc;

use futures_util::{Stream, TryStreamExt, stream};
use reqwest::Response;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::http::{self, Endpoint, LazyClient};
use super::reading::Reading;
use super::{Chunk, ChunkStream, Identity, Provider, ProviderError, Request};
use answer::Answer;

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
    headers: HeaderMap,
}

impl OpenAi {
    /// Checks the settings. Nothing is sent or built before the first request.
    pub fn new(config: Config) -> Result<Self, ProviderError> {
        let endpoint = Endpoint::new(&config.base_url, &["chat", "completions"])?;
        let model = super::named_model(&config.model)?;
        let key = config.api_key.filter(|key| !key.expose_secret().trim().is_empty());
        let headers = headers(key.as_ref())?;
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
        let client = LazyClient::new(endpoint).hiding(key);
        Ok(Self { identity, wire: Arc::new(Wire { client, model, headers }) })
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
        let response = self.client.post(&self.headers, &body::build(&self.model, request)).await?;
        if http::is_event_stream(&response) {
            return Ok(response);
        }
        let words = http::server_words(&http::read_some(response, 64 * 1024).await);
        Err(self.client.broken(format!("it is no event stream but says \"{words}\"")))
    }

    fn chunks(
        self: Arc<Self>,
        response: Response,
    ) -> impl Stream<Item = Result<Chunk, ProviderError>> + Send {
        let reading = Reading::events(response, Answer::default());
        stream::unfold((self, reading), |(wire, mut reading)| async move {
            let item = reading.next(&wire.client).await?;
            Some((item, (wire, reading)))
        })
    }
}

/// What every request carries.
fn headers(key: Option<&SecretString>) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    if let Some(key) = key {
        headers.insert(AUTHORIZATION, http::key_header("Bearer ", key)?);
    }
    Ok(headers)
}
