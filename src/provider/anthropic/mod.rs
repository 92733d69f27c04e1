//! The Messages wire, as Anthropic and some gateways and local servers speak it. An answer that
//! pauses is sent back and goes on in the same stream. It does not retry.

mod answer;
mod block;
mod body;
mod marks;
#[cfg(test)]
mod tests;
mod usage;

use std::sync::Arc;

use futures_util::stream;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::cloud::is_cloud;
use super::http::{self, Endpoint, LazyClient, Network};
use super::reading::Reading;
use super::{
    Chunk, ChunkStream, Identity, ModelsFuture, Provider, ProviderError, Request, listing,
};
use crate::domain::message::{AssistantMessage, Block, Message, StopReason};
use crate::domain::usage::{Prices, Usage};
use answer::{Answer, PAUSE};
use body::Model;

/// Output tokens that a request may ask for where nothing else is known of the model.
pub const DEFAULT_MAX_OUTPUT_TOKENS: u64 = 8_192;
/// The provider's name in events and histories.
pub const NAME: &str = "anthropic";

/// The version of the API that this wire speaks.
const VERSION: &str = "2023-06-01";
/// How often one answer may pause and be sent back.
const MAX_PAUSES: u32 = 4;

/// What is needed to reach a model.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The address below which `/v1/messages` lies. A `/v1` at its end is not doubled.
    pub base_url: String,
    /// The key; none for local servers, and for gateways that take it in a header of their own.
    pub api_key: Option<SecretString>,
    /// The model's name.
    pub model: String,
    /// Output tokens per request at most; [`DEFAULT_MAX_OUTPUT_TOKENS`] if absent.
    pub max_output_tokens: Option<u64>,
    /// Tokens that prompt and answer may have together, if known.
    pub context_window: Option<u64>,
    /// What it charges, if known.
    pub prices: Option<Prices>,
    /// Tokens that the model may think with, for models that take such a budget. It is asked for
    /// only in requests where it is at least 1,024 and below their output limit.
    pub thinking_budget: Option<u64>,
    /// Whether the model takes a request that forces one tool; it does if absent.
    pub forced_tools: Option<bool>,
    /// Whether the model takes a temperature; it does if absent.
    pub temperature: Option<bool>,
    /// More headers for each request; they win over this wire's own.
    pub headers: Vec<(String, SecretString)>,
    /// How the server is reached.
    pub network: Network,
}

/// A model behind a server of the Messages API.
#[derive(Debug)]
pub struct Anthropic {
    identity: Identity,
    wire: Arc<Wire>,
    list: Arc<LazyClient>,
}

#[derive(Debug)]
struct Wire {
    client: LazyClient,
    headers: HeaderMap,
    model: Model,
}

impl Anthropic {
    /// Checks the settings. Nothing is sent or built before the first request.
    pub fn new(config: Config) -> Result<Self, ProviderError> {
        let base = without_version(&config.base_url);
        let endpoint = Endpoint::new(base, &["v1", "messages"])?;
        let models = Endpoint::new(base, &["v1", "models"])?;
        let name = super::named_model(&config.model)?;
        let key = config.api_key.filter(|key| !key.expose_secret().trim().is_empty());
        let headers = headers(key.as_ref(), &config.headers)?;
        let max_output_tokens = config.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS);
        let identity = Identity {
            provider: NAME.to_owned(),
            model: name.clone(),
            host: Some(endpoint.host().to_owned()),
            // A server on this machine may hand a model's work on to another one.
            local: endpoint.is_loopback() && !is_cloud(&name),
            prices: config.prices,
            max_output_tokens,
            context_window: config.context_window,
            is_language_model: true,
        };
        let own = config.headers.into_iter().map(|(_, value)| value);
        let secrets: Vec<SecretString> = own.chain(key).collect();
        let network = config.network;
        let client = LazyClient::new(endpoint).over(network.clone()).hiding(secrets.clone());
        let list = Arc::new(LazyClient::new(models).over(network).hiding(secrets));
        let model = Model {
            provider: NAME,
            name,
            max_output_tokens,
            thinking_budget: config.thinking_budget,
            takes_forced_tools: config.forced_tools.unwrap_or(true),
            takes_temperature: config.temperature.unwrap_or(true),
        };
        Ok(Self { identity, wire: Arc::new(Wire { client, headers, model }), list })
    }
}

impl Provider for Anthropic {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn models(&self) -> ModelsFuture {
        let (list, wire) = (Arc::clone(&self.list), Arc::clone(&self.wire));
        Box::pin(async move { listing::names(&list, &wire.headers).await })
    }

    fn stream(&self, request: Request) -> ChunkStream {
        let exchange = Exchange {
            wire: Arc::clone(&self.wire),
            request,
            reading: None,
            pauses: 0,
            before: None,
            now: None,
            said: Vec::new(),
        };
        Box::pin(stream::unfold(Some(exchange), |exchange| async {
            let mut exchange = exchange?;
            match exchange.next().await? {
                Ok(chunk) => Some((Ok(chunk), Some(exchange))),
                Err(error) => Some((Err(error), None)),
            }
        }))
    }
}

impl Wire {
    async fn send(&self, request: &Request) -> Result<Reading<Answer>, ProviderError> {
        let body = body::build(&self.model, request);
        let response = self.client.post(&self.headers, &body).await?;
        if http::is_event_stream(&response) {
            return Ok(Reading::events(response, Answer::default()));
        }
        if http::is_json(&response) {
            let body = self.client.read_whole(response).await?;
            return Ok(Reading::whole(body, Answer::default()));
        }
        let words = http::server_words(&http::read_some(response, 64 * 1024).await);
        Err(self.client.broken(format!("it is no event stream but says \"{words}\"")))
    }
}

/// One answer, which may take several requests: a model that pauses goes on when what it said is
/// sent back.
struct Exchange {
    wire: Arc<Wire>,
    request: Request,
    reading: Option<Reading<Answer>>,
    pauses: u32,
    /// What the requests before this one used.
    before: Option<Usage>,
    /// What this one has used so far.
    now: Option<Usage>,
    /// What was said before this request.
    said: Vec<Block>,
}

impl Exchange {
    async fn next(&mut self) -> Option<Result<Chunk, ProviderError>> {
        let reading = match &mut self.reading {
            Some(reading) => reading,
            unsent @ None => match self.wire.send(&self.request).await {
                Ok(reading) => unsent.insert(reading),
                Err(error) => return Some(Err(error)),
            },
        };
        match reading.next(&self.wire.client).await? {
            Ok(Chunk::Usage(usage)) => Some(Ok(Chunk::Usage(self.sum(usage)))),
            Ok(Chunk::Stop(StopReason::Other(word))) if word == PAUSE => Some(self.go_on()),
            other => Some(other),
        }
    }

    /// What all requests of this answer have used.
    fn sum(&mut self, usage: Usage) -> Usage {
        self.now = Some(usage);
        let mut sum = usage;
        if let Some(before) = self.before {
            sum += before;
        }
        sum
    }

    /// Prepares the request that sends back what was said. A pause that cannot be followed by one
    /// leaves the answer unfinished.
    fn go_on(&mut self) -> Result<Chunk, ProviderError> {
        let said = self.reading.as_ref().and_then(|reading| reading.decoder().said());
        let Some(said) = said.filter(|_| self.pauses < MAX_PAUSES) else {
            let pauses = self.pauses + 1;
            let detail = format!("the model paused ({pauses} times) and cannot be told to go on");
            return Err(self.wire.client.broken(detail));
        };
        if self.pauses > 0 {
            self.request.messages.pop();
        }
        self.pauses += 1;
        self.said.extend(said);
        self.request.messages.push(Arc::new(Message::Assistant(AssistantMessage {
            blocks: self.said.clone(),
            provider: self.wire.model.provider.to_owned(),
            model: self.wire.model.name.clone(),
            stop_reason: Some(StopReason::Other(PAUSE.to_owned())),
            interrupted: false,
        })));
        if let Some(now) = self.now.take() {
            *self.before.get_or_insert_with(Usage::none) += now;
        }
        self.reading = None;
        Ok(Chunk::Alive)
    }
}

/// What every request carries.
fn headers(
    key: Option<&SecretString>,
    more: &[(String, SecretString)],
) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert("anthropic-version", HeaderValue::from_static(VERSION));
    if let Some(key) = key {
        headers.insert("x-api-key", http::key_header("", key)?);
    }
    headers.extend(http::header_map(more)?);
    Ok(headers)
}

fn without_version(base_url: &str) -> &str {
    let base = base_url.trim().trim_end_matches('/');
    base.strip_suffix("/v1").unwrap_or(base)
}
