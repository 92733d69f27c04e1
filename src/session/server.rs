//! Who answers, built from what was chosen and from what is known of the model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use super::config::{Detect, Found, Share, Switch};
use super::setup::SetupError;
use crate::provider::anthropic::{self, Anthropic};
use crate::provider::http::{Endpoint, Network};
use crate::provider::models::{Facts, Known, Thinking, Wire, catalogue};
use crate::provider::nobody::Nobody;
use crate::provider::offline::Offline;
use crate::provider::ollama::{self, Ollama};
use crate::provider::openai::{self, OpenAi};
use crate::provider::retry::Patience;
use crate::provider::script::Script;
use crate::provider::{Provider, ProviderError};
use crate::settings::{ModelNumbers, ProviderChoice, Remote, Settings, Waits};

/// How long a server on this machine may be silent where the user set nothing: it may have to load
/// a model and to read a long prompt on a slow processor before it says anything.
const LOCAL_WAIT: Duration = Duration::from_mins(5);
/// How long an Ollama that was asked for may take to tell its models.
const ASKED_WAIT: Duration = Duration::from_secs(3);

/// All of the settings that decides who answers.
#[derive(Debug, Clone)]
pub struct Plan {
    choice: ProviderChoice,
    numbers: ModelNumbers,
    waits: Waits,
    thinking_budget: u64,
    num_ctx_cap: u64,
    ca_file: Option<PathBuf>,
    pace: Duration,
}

impl Plan {
    /// What the settings say of it.
    pub fn of(settings: &Settings) -> Self {
        Self {
            choice: settings.provider.clone(),
            numbers: settings.numbers,
            waits: settings.waits,
            thinking_budget: settings.thinking_budget,
            num_ctx_cap: settings.num_ctx_cap,
            ca_file: settings.ca_file.clone(),
            pace: settings.pace,
        }
    }

    /// Who answers. Reads the script file; sends nothing.
    pub fn build(&self) -> Result<Arc<dyn Provider>, SetupError> {
        Ok(match &self.choice {
            ProviderChoice::Offline | ProviderChoice::Detect(_) => {
                Arc::new(Offline::new(self.pace))
            }
            ProviderChoice::Script { path } => Arc::new(Script::load(path)?),
            ProviderChoice::Anthropic(remote) => Arc::new(self.anthropic(remote)?),
            ProviderChoice::OpenAi(remote) => Arc::new(self.openai(remote)?),
            ProviderChoice::Ollama(remote) => match &remote.model {
                Some(model) => Arc::new(self.ollama(remote, model)?),
                None => Arc::new(Nobody::new(ollama::NAME, no_model(remote))),
            },
        })
    }

    /// How long to wait for a server, and how often: what the user set, else what suits it.
    pub fn patience(&self, local: bool) -> Patience {
        let usual = Patience { retries: self.waits.retries, ..Patience::default() };
        let usual = if local {
            Patience { headers: LOCAL_WAIT, stall: LOCAL_WAIT, ..usual }
        } else {
            usual
        };
        Patience {
            headers: self.waits.headers.unwrap_or(usual.headers),
            stall: self.waits.stall.unwrap_or(usual.stall),
            ..usual
        }
    }

    /// Makes the provider of another model at the same server, where there is a server.
    pub fn switch(&self) -> Option<Switch> {
        self.choice.remote()?;
        if matches!(self.choice, ProviderChoice::Detect(_)) {
            return None;
        }
        let plan = self.clone();
        Some(Arc::new(move |model| {
            plan.with_model(model).build().map_err(|error| error.to_string())
        }))
    }

    /// Looks for an Ollama with a model that has tools, where nothing is configured, or an Ollama is
    /// and no model of it.
    pub fn detect(&self) -> Option<Detect> {
        let (remote, wait) = match &self.choice {
            ProviderChoice::Detect(remote) => (remote, ollama::PROBE_LIMIT),
            ProviderChoice::Ollama(remote) if remote.model.is_none() => (remote, ASKED_WAIT),
            ProviderChoice::Ollama(_)
            | ProviderChoice::Offline
            | ProviderChoice::Script { .. }
            | ProviderChoice::Anthropic(_)
            | ProviderChoice::OpenAi(_) => return None,
        };
        Some(Box::pin(self.clone().find(remote.clone(), wait)))
    }

    /// The model that requests will name, and what is known of it there, corrected by the user;
    /// `None` where that depends on what a server has installed, or where there is no model.
    pub fn model(&self) -> Option<(String, Facts)> {
        match &self.choice {
            ProviderChoice::Anthropic(remote) => Some(self.facts(remote, Wire::Anthropic)),
            ProviderChoice::OpenAi(remote) => Some(self.facts(remote, Wire::OpenAi)),
            ProviderChoice::Offline
            | ProviderChoice::Detect(_)
            | ProviderChoice::Script { .. }
            | ProviderChoice::Ollama(_) => None,
        }
    }

    /// The same for another model, of which the user's numbers do not speak.
    fn with_model(&self, name: &str) -> Self {
        let mut plan = self.clone();
        let before = self.model().map(|(model, _)| model);
        if let ProviderChoice::Anthropic(remote)
        | ProviderChoice::OpenAi(remote)
        | ProviderChoice::Ollama(remote) = &mut plan.choice
        {
            remote.model = Some(name.to_owned());
            if before.as_deref() != Some(name) {
                plan.numbers = ModelNumbers::default();
            }
        }
        plan
    }

    fn facts(&self, remote: &Remote, wire: Wire) -> (String, Facts) {
        let host = host(remote);
        let usual = || catalogue().default_model(wire, &host).to_owned();
        let name = remote.model.clone().unwrap_or_else(usual);
        // A server that is nobody's and was told no model may serve anything under any name.
        let is_guess = remote.model.is_none() && catalogue().vendor(&host).is_none();
        let facts =
            if is_guess { catalogue().unknown() } else { catalogue().facts(&name, Some(&host)) };
        let mut facts = match self.numbers.context_window {
            Some(tokens) => facts.with_window(tokens),
            None => facts,
        };
        facts.max_output_tokens = self.numbers.max_output_tokens.unwrap_or(facts.max_output_tokens);
        facts.prices = self.numbers.prices.or(facts.prices);
        (name, facts)
    }

    fn network(&self) -> Network {
        Network { connect: self.waits.connect, ca_file: self.ca_file.clone() }
    }

    fn anthropic(&self, remote: &Remote) -> Result<Anthropic, ProviderError> {
        let (model, facts) = self.facts(remote, Wire::Anthropic);
        let known = facts.known != Known::Not;
        Anthropic::new(anthropic::Config {
            base_url: remote.base_url.clone(),
            api_key: key(remote),
            model,
            max_output_tokens: Some(facts.max_output_tokens),
            context_window: Some(facts.context_window),
            prices: facts.prices,
            thinking_budget: self.thinking_budget(&facts),
            forced_tools: known.then_some(facts.forced_tools),
            temperature: known.then_some(facts.temperature),
            headers: remote.headers.clone(),
            network: self.network(),
        })
    }

    fn openai(&self, remote: &Remote) -> Result<OpenAi, ProviderError> {
        let (model, facts) = self.facts(remote, Wire::OpenAi);
        let known = facts.known != Known::Not;
        OpenAi::new(openai::Config {
            base_url: remote.base_url.clone(),
            api_key: key(remote),
            model,
            max_output_tokens: Some(facts.max_output_tokens),
            context_window: Some(facts.context_window),
            prices: facts.prices,
            profile: remote.profile.clone(),
            headers: remote.headers.clone(),
            api_version: remote.api_version.clone(),
            reasoning_effort: facts.reasoning_effort,
            temperature: known.then_some(facts.temperature),
            forced_tools: known.then_some(facts.forced_tools),
            network: self.network(),
        })
    }

    fn ollama(&self, remote: &Remote, model: &str) -> Result<Ollama, ProviderError> {
        let mut headers = remote.headers.clone();
        headers.extend(key(remote).map(|key| {
            let value = format!("Bearer {}", key.expose_secret());
            ("Authorization".to_owned(), SecretString::from(value))
        }));
        Ollama::new(ollama::Config {
            host: remote.base_url.clone(),
            model: model.to_owned(),
            num_ctx_cap: self.numbers.context_window.unwrap_or(self.num_ctx_cap),
            max_output_tokens: self.numbers.max_output_tokens,
            prices: self.numbers.prices,
            headers,
            network: self.network(),
            ..ollama::Config::default()
        })
    }

    /// The first installed model that has tools.
    async fn find(self, remote: Remote, wait: Duration) -> Option<Found> {
        let found = ollama::probe(&remote.base_url, wait).await?;
        let provider = self.ollama(&remote, &found.model).ok()?;
        let remote = Remote { model: Some(found.model), ..remote };
        let plan = Self { choice: ProviderChoice::Ollama(remote), ..self };
        Some(Found { provider: Arc::new(provider), switch: plan.switch() })
    }

    /// A number of tokens to think with: only for models that take one, or that are not known.
    fn thinking_budget(&self, facts: &Facts) -> Option<u64> {
        let takes_one = match facts.thinking {
            Thinking::Budget => true,
            Thinking::Adaptive => false,
            Thinking::None => facts.known == Known::Not,
        };
        Some(self.thinking_budget).filter(|tokens| takes_one && *tokens > 0)
    }
}

fn no_model(remote: &Remote) -> String {
    format!(
        "no model with tools was found at {}: start Ollama there and install one (ollama pull \
         qwen3), or name one with --model",
        remote.base_url
    )
}

/// The host that requests go to.
pub fn host(remote: &Remote) -> String {
    Endpoint::new(&remote.base_url, &[]).map_or_else(|_| String::new(), |url| url.host().to_owned())
}

/// A part of a whole as the session counts it.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped first")]
pub fn share(part: f64) -> Share {
    Share::percent((part * 100.0).round().clamp(1.0, 100.0) as u8).unwrap_or_default()
}

fn key(remote: &Remote) -> Option<SecretString> {
    remote.key.as_ref().map(|found| found.key.clone())
}
