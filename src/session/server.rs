//! Who answers, built from what was chosen and from what is known of the model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::config::{Detect, Found, Share, Switch};
use super::setup::SetupError;
use crate::provider::anthropic::{self, Anthropic};
use crate::provider::http::{Endpoint, Network};
use crate::provider::models::{Facts, Known, Thinking, Wire, catalogue};
use crate::provider::offline::Offline;
use crate::provider::openai::{self, OpenAi};
use crate::provider::retry::Patience;
use crate::provider::script::Script;
use crate::provider::{Provider, ProviderError};
use crate::settings::{ModelNumbers, ProviderChoice, Remote, Settings, Waits};

/// How long a server on this machine may be silent where the user set nothing: it may have to load
/// a model and to read a long prompt on a slow processor before it says anything.
const LOCAL_WAIT: Duration = Duration::from_mins(5);
/// How long an Ollama that nobody configured is looked for.
const DETECT_WAIT: Duration = Duration::from_millis(200);

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
            ProviderChoice::Ollama(remote) => {
                return Err(ProviderError::Setup(remote.base_url.clone()).into());
            } //TMP,
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

    /// Looks for a local Ollama, where nothing is configured.
    pub fn detect(&self) -> Option<Detect> {
        let ProviderChoice::Detect(remote) = &self.choice else { return None };
        let plan = Self { choice: ProviderChoice::Ollama(remote.clone()), ..self.clone() };
        Some(Box::pin(async move {
            let _ = (plan, DETECT_WAIT);
            let none: Option<Found> = None;
            none /*TMP*/
        }))
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
        let facts = catalogue().facts(&name, Some(&host));
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
        Anthropic::new(anthropic::Config {
            base_url: remote.base_url.clone(),
            api_key: key(remote),
            model,
            max_output_tokens: Some(facts.max_output_tokens),
            context_window: Some(facts.context_window),
            prices: facts.prices,
            thinking_budget: self.thinking_budget(&facts),
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
            //TMP
        })
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
