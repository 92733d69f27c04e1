//! Who answers, built from what was chosen and from what is known of the model. It sends nothing.

use std::sync::Arc;
use std::time::Duration;

use secrecy::SecretString;

use super::setup::SetupError;
use crate::provider::anthropic::{self, Anthropic};
use crate::provider::http::{Endpoint, Network};
use crate::provider::models::{Facts, Known, Thinking, Wire, catalogue};
use crate::provider::offline::Offline;
use crate::provider::openai::{self, OpenAi};
use crate::provider::retry::Patience;
use crate::provider::script::Script;
use crate::provider::{Provider, ProviderError};
use crate::settings::{ProviderChoice, Remote, Settings};

/// How long a server on this machine may be silent where the user set nothing: it may have to load
/// a model and to read a long prompt on a slow processor before it says anything.
const LOCAL_WAIT: Duration = Duration::from_mins(5);

/// Who answers. Reads the script file.
pub fn build(settings: &Settings) -> Result<Arc<dyn Provider>, SetupError> {
    Ok(match &settings.provider {
        ProviderChoice::Offline | ProviderChoice::Detect(_) => {
            Arc::new(Offline::new(settings.pace))
        }
        ProviderChoice::Script { path } => Arc::new(Script::load(path)?),
        ProviderChoice::Anthropic(remote) => Arc::new(anthropic(settings, remote)?),
        ProviderChoice::OpenAi(remote) => Arc::new(openai(settings, remote)?),
        ProviderChoice::Ollama(_) => return Err(ProviderError::Setup("todo".into()).into()),
    })
}

/// How long to wait for a server, and how often: what the user set, else what suits the server.
pub fn patience(settings: &Settings, local: bool) -> Patience {
    let usual = Patience { retries: settings.waits.retries, ..Patience::default() };
    let usual = if local {
        Patience { headers: LOCAL_WAIT, stall: LOCAL_WAIT, ..usual }
    } else {
        usual
    };
    Patience {
        headers: settings.waits.headers.unwrap_or(usual.headers),
        stall: settings.waits.stall.unwrap_or(usual.stall),
        ..usual
    }
}

/// The model that requests will name, and what is known of it there, corrected by the user; `None`
/// where that depends on what a server has installed, or where there is no model.
pub fn model(settings: &Settings) -> Option<(String, Facts)> {
    match &settings.provider {
        ProviderChoice::Anthropic(remote) => Some(named_or_usual(settings, remote, Wire::Anthropic)),
        ProviderChoice::OpenAi(remote) => Some(named_or_usual(settings, remote, Wire::OpenAi)),
        ProviderChoice::Offline
        | ProviderChoice::Detect(_)
        | ProviderChoice::Script { .. }
        | ProviderChoice::Ollama(_) => None,
    }
}

fn named_or_usual(settings: &Settings, remote: &Remote, wire: Wire) -> (String, Facts) {
    let host = host(remote);
    let usual = || catalogue().default_model(wire, &host).to_owned();
    let name = remote.model.clone().unwrap_or_else(usual);
    let facts = corrected(catalogue().facts(&name, Some(&host)), settings);
    (name, facts)
}

/// The host that requests go to.
pub fn host(remote: &Remote) -> String {
    Endpoint::new(&remote.base_url, &[]).map_or_else(|_| String::new(), |url| url.host().to_owned())
}

fn corrected(facts: Facts, settings: &Settings) -> Facts {
    let numbers = settings.numbers;
    let mut facts = match numbers.context_window {
        Some(tokens) => facts.with_window(tokens),
        None => facts,
    };
    facts.max_output_tokens = numbers.max_output_tokens.unwrap_or(facts.max_output_tokens);
    facts.prices = numbers.prices.or(facts.prices);
    facts
}

fn network(settings: &Settings) -> Network {
    Network { connect: settings.waits.connect, ca_file: settings.ca_file.clone() }
}

fn key(remote: &Remote) -> Option<SecretString> {
    remote.key.as_ref().map(|found| found.key.clone())
}

fn anthropic(settings: &Settings, remote: &Remote) -> Result<Anthropic, ProviderError> {
    let (name, facts) = named_or_usual(settings, remote, Wire::Anthropic);
    Anthropic::new(anthropic::Config {
        base_url: remote.base_url.clone(),
        api_key: key(remote),
        model: name,
        max_output_tokens: Some(facts.max_output_tokens),
        context_window: Some(facts.context_window),
        prices: facts.prices,
        thinking_budget: thinking_budget(settings, &facts),
        headers: remote.headers.clone(),
        network: network(settings),
    })
}

fn openai(settings: &Settings, remote: &Remote) -> Result<OpenAi, ProviderError> {
    let (name, facts) = named_or_usual(settings, remote, Wire::OpenAi);
    OpenAi::new(openai::Config {
        base_url: remote.base_url.clone(),
        api_key: key(remote),
        model: name,
        max_output_tokens: Some(facts.max_output_tokens),
    })
}

/// A number of tokens to think with: only for models that take one, known or not known at all.
fn thinking_budget(settings: &Settings, facts: &Facts) -> Option<u64> {
    let takes_one = match facts.thinking {
        Thinking::Budget => true,
        Thinking::Adaptive => false,
        Thinking::None => facts.known == Known::Not,
    };
    Some(settings.thinking_budget).filter(|tokens| takes_one && *tokens > 0)
}
