//! Who would answer, and whether the server is there: asked for its list of models, bounded in time.

use std::time::Duration;

use super::finding::{Finding, Section};
use crate::provider::ProviderError;
use crate::session::server::Plan;
use crate::settings::{ProviderChoice, Remote, Settings};

/// Time that the server gets for its list.
const TIME: Duration = Duration::from_secs(3);

/// What was found, and the names of the models that the server offers.
pub(super) async fn examine(settings: &Settings) -> (Section, Vec<String>) {
    let (findings, offered) = match &settings.provider {
        ProviderChoice::Offline => (offline(), Vec::new()),
        ProviderChoice::Script { path } => {
            (script(settings, &path.display().to_string()), Vec::new())
        }
        ProviderChoice::Detect(remote) => detect(settings, remote).await,
        ProviderChoice::Anthropic(remote) => ask(settings, "anthropic", remote).await,
        ProviderChoice::OpenAi(remote) => ask(settings, "openai", remote).await,
        ProviderChoice::Ollama(remote) => ask(settings, "ollama", remote).await,
    };
    (Section::new("provider", findings), offered)
}

fn offline() -> Vec<Finding> {
    vec![
        Finding::fine("offline: the embedded researcher answers, without a network"),
        Finding::note(
            "it is no language model; for one set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start \
             Ollama",
        ),
    ]
}

fn script(settings: &Settings, path: &str) -> Vec<Finding> {
    vec![match Plan::of(settings).build() {
        Ok(_) => Finding::fine(format!("the script {path} answers, without a network")),
        Err(error) => Finding::broken(error.to_string()),
    }]
}

/// Where nothing is configured, an Ollama that does not answer is no fault.
async fn detect(settings: &Settings, remote: &Remote) -> (Vec<Finding>, Vec<String>) {
    let found = match Plan::of(settings).detect() {
        Some(detect) => detect.await,
        None => None,
    };
    let Some(found) = found else {
        let words = format!("no Ollama with a model that has tools answers at {}", remote.base_url);
        let mut findings = offline();
        findings.push(Finding::row(words));
        return (findings, Vec::new());
    };
    let model = &found.provider.identity().model;
    let words = format!("a local Ollama answers at {} with {model}", remote.base_url);
    (vec![Finding::fine(words)], Vec::new())
}

async fn ask(settings: &Settings, name: &str, remote: &Remote) -> (Vec<Finding>, Vec<String>) {
    let mut findings = vec![Finding::fine(format!("{name} at {}", remote.base_url)), key(remote)];
    let provider = match Plan::of(settings).build() {
        Ok(provider) => provider,
        Err(error) => {
            findings.push(Finding::broken(error.to_string()));
            return (findings, Vec::new());
        }
    };
    match tokio::time::timeout(TIME, provider.models()).await {
        Ok(Ok(models)) => {
            findings.push(Finding::fine(format!("it answers and offers {} models", models.len())));
            (findings, models)
        }
        Ok(Err(error)) => {
            findings.push(refused(&error));
            (findings, Vec::new())
        }
        Err(_) => {
            let words = format!(
                "it does not answer within {} s; is the server running, and does a proxy or \
                 firewall let it through?",
                TIME.as_secs()
            );
            findings.push(Finding::broken(words));
            (findings, Vec::new())
        }
    }
}

fn key(remote: &Remote) -> Finding {
    match &remote.key {
        Some(found) => Finding::fine(format!("the key is there, from {} (not shown)", found.from)),
        None => Finding::note("no key is sent, which suits a server on this machine"),
    }
}

fn refused(error: &ProviderError) -> Finding {
    match error {
        ProviderError::Status { status: 401 | 403, .. } => {
            Finding::broken(format!("{error}; is the key right, and for this server?"))
        }
        // Not every server has a list.
        ProviderError::Status { status: 404 | 405 | 501, .. } => {
            Finding::note(format!("it answers, but lists no models: {error}"))
        }
        ProviderError::Status { status: 429, .. } => {
            Finding::note(format!("it answers, and asks to wait: {error}"))
        }
        ProviderError::Status { .. }
        | ProviderError::Unreachable { .. }
        | ProviderError::ContextExceeded { .. }
        | ProviderError::Stalled { .. }
        | ProviderError::Broken { .. }
        | ProviderError::Script(_)
        | ProviderError::Setup(_) => Finding::broken(error.to_string()),
    }
}
