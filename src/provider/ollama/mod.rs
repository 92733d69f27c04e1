//! The wire of a local Ollama, by its own API: its chat-completions form silently cuts prompts that
//! are longer than a window nobody told it. Here every request says the window, and a prompt that
//! does not fit is refused before it is sent. It does not retry.

mod answer;
mod body;
pub(super) mod facts;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use reqwest::header::HeaderMap;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::cloud::is_cloud;
use super::http::{self, Endpoint, LazyClient, Network};
use super::reading::Reading;
use super::{
    ChunkStream, Identity, LearnFuture, ListedModel, ModelsFuture, Provider, ProviderError,
    Request, estimate,
};
use crate::domain::usage::Prices;
use answer::Answer;
use facts::Facts;

/// Where an Ollama listens if nobody says otherwise.
pub const DEFAULT_HOST: &str = "http://localhost:11434";
/// The cap on the window where none is set, in tokens: a larger one takes more memory than most
/// machines have beside the model itself.
pub const DEFAULT_NUM_CTX_CAP: u64 = 32_768;
/// Output tokens that a request may ask for where nothing else is said.
pub const DEFAULT_MAX_OUTPUT_TOKENS: u64 = 8_192;
/// Time that looking for a local Ollama may take.
pub const PROBE_LIMIT: Duration = Duration::from_millis(200);
/// The provider's name in events and histories.
pub const NAME: &str = "ollama";

/// Time that a question about models may take.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);
/// Models that are looked at for one that has tools, and how many of them at once.
const PROBED_MODELS: usize = 32;
const PROBED_AT_ONCE: usize = 8;

/// What is needed to reach a model.
#[derive(Debug, Clone)]
pub struct Config {
    /// The server: a URL, or `HOST`, `HOST:PORT` or `:PORT` as in `OLLAMA_HOST`.
    pub host: String,
    /// The model's name.
    pub model: String,
    /// The most that is asked for as `num_ctx`, in tokens, whatever the model could read.
    pub num_ctx_cap: u64,
    /// Output tokens per request at most; [`DEFAULT_MAX_OUTPUT_TOKENS`] if absent.
    pub max_output_tokens: Option<u64>,
    /// False to keep a model that can think from it.
    pub think: bool,
    /// What it charges; nothing if absent, for models that run on this machine.
    pub prices: Option<Prices>,
    /// More headers for each request.
    pub headers: Vec<(String, SecretString)>,
    /// How the server is reached.
    pub network: Network,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            host: DEFAULT_HOST.to_owned(),
            model: String::new(),
            num_ctx_cap: DEFAULT_NUM_CTX_CAP,
            max_output_tokens: None,
            think: true,
            prices: None,
            headers: Vec::new(),
            network: Network::default(),
        }
    }
}

/// A model behind an Ollama.
#[derive(Debug)]
pub struct Ollama {
    wire: Arc<Wire>,
    tags: Arc<LazyClient>,
}

/// What looking for a local Ollama found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its first installed model that has tools and runs on this machine.
    pub model: String,
    /// Tokens that the model was made to read, where the server says so.
    pub context_length: Option<u64>,
}

#[derive(Debug)]
struct Wire {
    chat: LazyClient,
    show: LazyClient,
    headers: HeaderMap,
    /// Who answers, before anything was asked.
    assumed: Identity,
    /// Who answers, once the server told of the model.
    learned: OnceLock<Identity>,
    facts: OnceCell<Facts>,
    /// What the settings say that the model charges.
    stated_prices: Option<Prices>,
    num_ctx_cap: u64,
    think: bool,
}

impl Ollama {
    /// Checks the settings. Nothing is sent before the first request.
    pub fn new(config: Config) -> Result<Self, ProviderError> {
        let host = url(&config.host);
        let model = super::named_model(&config.model)?;
        let headers = http::header_map(&config.headers)?;
        let endpoint = |verb: &str| Endpoint::new(&host, &["api", verb]);
        let (chat, show, tags) = (endpoint("chat")?, endpoint("show")?, endpoint("tags")?);
        let local = chat.is_loopback() && !is_cloud(&model);
        let assumed = Identity {
            provider: NAME.to_owned(),
            model,
            host: Some(chat.host().to_owned()),
            local,
            prices: config.prices.or(local.then_some(Prices::FREE)),
            max_output_tokens: config.max_output_tokens.unwrap_or(DEFAULT_MAX_OUTPUT_TOKENS),
            context_window: Some(config.num_ctx_cap),
            is_language_model: true,
        };
        let secrets: Vec<_> = config.headers.into_iter().map(|(_, value)| value).collect();
        let network = config.network;
        let client =
            |endpoint| LazyClient::new(endpoint).over(network.clone()).hiding(secrets.clone());
        let wire = Wire {
            chat: client(chat),
            show: client(show),
            headers,
            assumed,
            learned: OnceLock::new(),
            facts: OnceCell::new(),
            stated_prices: config.prices,
            num_ctx_cap: config.num_ctx_cap,
            think: config.think,
        };
        Ok(Self { wire: Arc::new(wire), tags: Arc::new(client(tags)) })
    }

    /// The models that are installed, by name. Takes ten seconds at most.
    pub async fn list_models(&self) -> Result<Vec<ListedModel>, ProviderError> {
        let mut names = in_time(&self.tags, names(&self.tags, &self.wire.headers)).await?;
        names.sort();
        let listed = |name| ListedModel { name, context_window: None };
        Ok(names.into_iter().map(listed).collect())
    }
}

/// Looks for an Ollama at `host` for at most `limit`, and for its first installed model that has
/// tools and runs on this machine. Whatever goes wrong means that there is none.
pub async fn probe(host: &str, limit: Duration) -> Option<Found> {
    let host = url(host);
    let look = async {
        let client = |verb| Some(LazyClient::new(Endpoint::new(&host, &["api", verb]).ok()?));
        let (tags, show) = (client("tags")?, client("show")?);
        let headers = HeaderMap::new();
        let names = names(&tags, &headers).await.ok()?;
        let names = names.into_iter().filter(|name| !is_cloud(name)).take(PROBED_MODELS);
        let (show, headers) = (&show, &headers);
        let asked = names.map(|name| async move {
            let facts = ask_about(show, headers, &name).await.ok()?;
            let fits = facts.tools && !facts.remote;
            fits.then_some(Found { model: name, context_length: facts.context_length })
        });
        let found = stream::iter(asked).buffered(PROBED_AT_ONCE);
        found.filter_map(std::future::ready).boxed().next().await
    };
    tokio::time::timeout(limit, look).await.ok().flatten()
}

impl Provider for Ollama {
    fn identity(&self) -> &Identity {
        self.wire.identity()
    }

    fn models(&self) -> ModelsFuture {
        let (tags, wire) = (Arc::clone(&self.tags), Arc::clone(&self.wire));
        Box::pin(async move {
            let mut names = in_time(&tags, names(&tags, &wire.headers)).await?;
            names.sort();
            Ok(names)
        })
    }

    /// Asks once; every request does so by itself.
    fn learn(&self) -> LearnFuture {
        let wire = Arc::clone(&self.wire);
        Box::pin(async move { wire.facts().await.map(|_| ()) })
    }

    fn stream(&self, request: Request) -> ChunkStream {
        let wire = Arc::clone(&self.wire);
        let answer = async move {
            let reading = wire.send(&request).await?;
            Ok(stream::unfold((wire, reading), |(wire, mut reading)| async move {
                let item = reading.next(&wire.chat).await?;
                Some((item, (wire, reading)))
            }))
        };
        Box::pin(stream::once(answer).try_flatten())
    }
}

impl Wire {
    fn identity(&self) -> &Identity {
        self.learned.get().unwrap_or(&self.assumed)
    }

    async fn send(&self, request: &Request) -> Result<Reading<Answer>, ProviderError> {
        let facts = self.facts().await?;
        let num_ctx = self.num_ctx(facts);
        let prompt = estimate::prompt_tokens(request);
        self.require_fit(prompt, num_ctx)?;
        let target = body::Target {
            model: &self.assumed.model,
            num_ctx,
            max_output_tokens: self.assumed.max_output_tokens,
            think: facts.thinking.then_some(self.think),
        };
        let sent = self.chat.post(&self.headers, &body::build(&target, request)).await;
        let response = sent.map_err(|error| self.with_hint(error))?;
        let offered = request.tools.iter().map(|tool| tool.name.clone()).collect();
        Ok(Reading::lines(response, Answer::new(offered, prompt)))
    }

    /// The server would cut the prompt's beginning without a word.
    fn require_fit(&self, prompt: u64, num_ctx: u64) -> Result<(), ProviderError> {
        if prompt < num_ctx {
            return Ok(());
        }
        Err(ProviderError::ContextExceeded {
            host: self.chat.endpoint().host().to_owned(),
            detail: format!(
                "about {prompt} tokens, and num_ctx is {num_ctx}; a larger cap on num_ctx helps \
                 if the model and the memory allow it"
            ),
        })
    }

    fn num_ctx(&self, facts: &Facts) -> u64 {
        facts.context_length.unwrap_or(u64::MAX).min(self.num_ctx_cap)
    }

    async fn facts(&self) -> Result<&Facts, ProviderError> {
        let ask = || async {
            let model = &self.assumed.model;
            let asked = in_time(&self.show, ask_about(&self.show, &self.headers, model)).await;
            let facts = asked.map_err(|error| self.with_hint(error))?;
            let mut identity = self.assumed.clone();
            identity.context_window = Some(self.num_ctx(&facts));
            if facts.remote {
                identity.local = false;
                identity.prices = self.stated_prices;
            }
            // Fails only if it was learned already.
            let _ = self.learned.set(identity);
            Ok(facts)
        };
        self.facts.get_or_try_init(ask).await
    }

    /// A model that is not installed is the usual reason for a 404.
    fn with_hint(&self, error: ProviderError) -> ProviderError {
        match error {
            ProviderError::Status { host, status: 404, mut detail, retry_after } => {
                detail.push_str("; install it with: ollama pull ");
                detail.push_str(&http::one_line(&self.assumed.model, 100));
                ProviderError::Status { host, status: 404, detail, retry_after }
            }
            ProviderError::Unreachable { .. }
            | ProviderError::Status { .. }
            | ProviderError::ContextExceeded { .. }
            | ProviderError::Stalled { .. }
            | ProviderError::Broken { .. }
            | ProviderError::Script(_)
            | ProviderError::Setup(_) => error,
        }
    }
}

async fn names(client: &LazyClient, headers: &HeaderMap) -> Result<Vec<String>, ProviderError> {
    let tags = client.get_json(headers).await?;
    facts::names(&tags).ok_or_else(|| {
        let words = http::server_words(tags.to_string().as_bytes());
        client.broken(format!("what should be its list of models says \"{words}\""))
    })
}

async fn ask_about(
    client: &LazyClient,
    headers: &HeaderMap,
    model: &str,
) -> Result<Facts, ProviderError> {
    let response = client.post(headers, &json!({ "model": model })).await?;
    let shown: Value = client.read_json(response).await?;
    Ok(Facts::of(&shown))
}

async fn in_time<T>(
    client: &LazyClient,
    question: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, ProviderError> {
    tokio::time::timeout(QUESTION_LIMIT, question).await.unwrap_or_else(|_| {
        Err(ProviderError::Stalled {
            host: client.endpoint().host().to_owned(),
            seconds: QUESTION_LIMIT.as_secs(),
            phase: "before its answer began",
        })
    })
}

/// A server's address in the forms that `OLLAMA_HOST` has, as a URL. An address to listen at stands
/// for this machine.
fn url(host: &str) -> String {
    const PORT: &str = "11434";
    let host = host.trim().trim_end_matches('/');
    if host.is_empty() {
        return DEFAULT_HOST.to_owned();
    }
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let rest = match rest.strip_prefix("0.0.0.0").or_else(|| rest.strip_prefix("[::]")) {
        Some(port) => format!("127.0.0.1{port}"),
        None if rest.starts_with(':') => format!("127.0.0.1{rest}"),
        None => rest.to_owned(),
    };
    let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| {
        !port.is_empty()
            && port.bytes().take_while(|byte| *byte != b'/').all(|b| b.is_ascii_digit())
    });
    if has_port || host.contains("://") || rest.contains('/') {
        format!("{scheme}://{rest}")
    } else {
        format!("{scheme}://{rest}:{PORT}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_be_written_like_the_servers_own_variable() {
        for (said, meant) in [
            ("", "http://localhost:11434"),
            ("http://localhost:11434/", "http://localhost:11434"),
            ("https://ollama.example.com", "https://ollama.example.com"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:8080", "http://127.0.0.1:8080"),
            (":8080", "http://127.0.0.1:8080"),
            ("gpu-box", "http://gpu-box:11434"),
            ("10.0.0.7:1234", "http://10.0.0.7:1234"),
            ("[::1]", "http://[::1]:11434"),
            ("http://[::]:1234", "http://127.0.0.1:1234"),
        ] {
            assert_eq!(url(said), meant, "{said}");
        }
    }
}
