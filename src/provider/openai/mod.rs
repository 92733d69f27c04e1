//! The chat-completions wire, as `OpenAI`, its many dialects and most local servers speak it: one
//! POST, one stream of events. How a server departs from the common form is said in [`profiles`]
//! alone. It does not retry.

mod answer;
mod body;
mod calls;
mod details;
mod failure;
pub mod profiles;
mod usage;
mod wire;

use std::sync::Arc;

use futures_util::stream::{self, TryStreamExt};
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::cloud::is_cloud;
use super::http::{self, Endpoint, LazyClient, Network};
use super::{
    ChunkStream, Identity, ListedModel, ModelsFuture, Provider, ProviderError, Request, listing,
};
use crate::domain::usage::Prices;
use profiles::{Auth, Profile};
use wire::Wire;

/// Output tokens that a request may ask for where nothing else is known of the model: what a
/// built-in role asks for at most, and what most served models allow.
pub const DEFAULT_MAX_OUTPUT_TOKENS: u64 = 8_192;
/// The provider's name in events and histories, whoever the vendor is.
pub const NAME: &str = "openai";
/// The version of Azure's API that is asked for where an address names a deployment and neither
/// it nor the settings name a version: the newest that is not a preview.
const AZURE_VERSION: &str = "2024-10-21";

/// What is needed to reach a model, and what is known of it.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The address below which `/chat/completions` lies; usually ends in `/v1`.
    pub base_url: String,
    /// The key; none for most local servers.
    pub api_key: Option<SecretString>,
    /// The model's name.
    pub model: String,
    /// Output tokens per request at most; [`DEFAULT_MAX_OUTPUT_TOKENS`] if absent.
    pub max_output_tokens: Option<u64>,
    /// Tokens that prompt and answer may have together, if known.
    pub context_window: Option<u64>,
    /// What it charges, if known.
    pub prices: Option<Prices>,
    /// The name of the server's [profile](profiles); chosen by its host if absent.
    pub profile: Option<String>,
    /// More headers for each request; they win over this wire's own.
    pub headers: Vec<(String, SecretString)>,
    /// The version of Azure's API.
    pub api_version: Option<String>,
    /// What has to be sent as `reasoning_effort` for the model to take tools.
    pub reasoning_effort: Option<String>,
    /// False if the model refuses a sampling temperature; known from its name if absent.
    pub temperature: Option<bool>,
    /// False if the model refuses a request that names the tool to call.
    pub forced_tools: Option<bool>,
    /// How the server is reached.
    pub network: Network,
}

/// A model behind a chat-completions server.
#[derive(Debug)]
pub struct OpenAi {
    identity: Identity,
    wire: Arc<Wire>,
    list: Arc<LazyClient>,
}

impl OpenAi {
    /// Checks the settings. Nothing is sent or built before the first request.
    pub fn new(config: Config) -> Result<Self, ProviderError> {
        let profile = profile(&config)?;
        let version = config.api_version.as_deref();
        let endpoint = |path: &[&str]| endpoint(profile, &config.base_url, version, path);
        let (chat, models) = (endpoint(&["chat", "completions"])?, endpoint(&["models"])?);
        let model = super::named_model(&config.model)?;
        let key = config.api_key.filter(|key| !key.expose_secret().trim().is_empty());
        let headers = headers(profile, key.as_ref(), &config.headers)?;
        let max_output_tokens = config.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS);
        let identity = Identity {
            provider: NAME.to_owned(),
            model: model.clone(),
            host: Some(chat.host().to_owned()),
            // A server on this machine may hand a model's work on to another one.
            local: chat.is_loopback() && !is_cloud(&model),
            prices: config.prices,
            max_output_tokens,
            context_window: config.context_window,
            is_language_model: true,
        };
        let own = config.headers.into_iter().map(|(_, value)| value);
        let secrets: Vec<SecretString> = own.chain(key).collect();
        let network = config.network;
        let client = LazyClient::new(chat).over(network.clone()).hiding(secrets.clone());
        let target = body::Target {
            model,
            profile,
            max_output_tokens,
            reasoning_effort: config.reasoning_effort,
            takes_temperature: config.temperature,
            takes_forced_tools: config.forced_tools.unwrap_or(true),
        };
        let list = Arc::new(LazyClient::new(models).over(network).hiding(secrets));
        Ok(Self { identity, wire: Arc::new(Wire { client, headers, target }), list })
    }

    /// The name of the dialect that is spoken.
    pub fn profile(&self) -> &'static str {
        self.wire.target.profile.name
    }

    /// The models that the server offers, by name. Takes ten seconds at most.
    pub async fn list_models(&self) -> Result<Vec<ListedModel>, ProviderError> {
        listing::ask(&self.list, &self.wire.headers).await
    }
}

impl Provider for OpenAi {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn models(&self) -> ModelsFuture {
        let (list, wire) = (Arc::clone(&self.list), Arc::clone(&self.wire));
        Box::pin(async move { listing::names(&list, &wire.headers).await })
    }

    fn stream(&self, request: Request) -> ChunkStream {
        let wire = Arc::clone(&self.wire);
        let answer = async move {
            let reading = wire.send(&request).await?;
            Ok(stream::unfold((wire, reading), |(wire, mut reading)| async move {
                let item = reading.next(&wire.client).await?;
                Some((item, (wire, reading)))
            }))
        };
        Box::pin(stream::once(answer).try_flatten())
    }
}

fn profile(config: &Config) -> Result<&'static Profile, ProviderError> {
    if let Some(name) = &config.profile {
        return profiles::named(name).ok_or_else(|| {
            let shown = http::one_line(name, 40);
            let known = profiles::names().collect::<Vec<_>>().join(", ");
            ProviderError::Setup(format!("there is no profile \"{shown}\"; there are {known}"))
        });
    }
    let endpoint = Endpoint::new(&config.base_url, &[])?;
    Ok(profiles::for_host(endpoint.url().host_str().unwrap_or_default()))
}

/// The address of `path`. Azure's differ: a bare host stands for its `/openai/v1`, and below a
/// deployment every request names the version of the API.
fn endpoint(
    profile: &Profile,
    base_url: &str,
    version: Option<&str>,
    path: &[&str],
) -> Result<Endpoint, ProviderError> {
    let base = Endpoint::new(base_url, &[])?;
    let endpoint = match (profile.auth, base.url().path()) {
        (Auth::Azure, "" | "/") => Endpoint::new(base_url, &[&["openai", "v1"], path].concat())?,
        (Auth::Azure | Auth::Bearer, _) => Endpoint::new(base_url, path)?,
    };
    let names_version = endpoint.url().query_pairs().any(|(key, _)| key == "api-version");
    let is_v1 = endpoint.url().path().contains("/v1/");
    let version = version.or((profile.auth == Auth::Azure && !is_v1).then_some(AZURE_VERSION));
    Ok(match version.filter(|_| !names_version) {
        Some(version) => endpoint.with_query("api-version", version),
        None => endpoint,
    })
}

/// What every request carries; the user's own headers win.
fn headers(
    profile: &Profile,
    key: Option<&SecretString>,
    own: &[(String, SecretString)],
) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
    if let Some(key) = key {
        let (name, prefix) = match profile.auth {
            Auth::Bearer => (AUTHORIZATION, "Bearer "),
            Auth::Azure => (HeaderName::from_static("api-key"), ""),
        };
        headers.insert(name, http::key_header(prefix, key)?);
    }
    headers.extend(http::header_map(own)?);
    Ok(headers)
}
