//! Who answers: the flag, else the key in the environment, else the embedded researcher. It refuses
//! to know how any of them is spoken to.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use reqwest::Url;
use secrecy::SecretString;

use super::surroundings::{Env, variable};
use super::{Remark, SettingsError};
use crate::cli::Options;
use crate::domain::event::Level;

/// The public server of the chat-completions wire.
const DEFAULT_BASE_URL: &str = "https://api.openai.com/v1";

/// Who answers.
#[derive(Debug, Clone)]
pub enum ProviderChoice {
    /// The embedded researcher: no network, no key, no language model.
    Offline,
    /// Scripted turns.
    Script {
        /// The file; it exists.
        path: PathBuf,
    },
    /// A server that speaks chat completions.
    OpenAi {
        /// With its `/v1` and without a slash at the end.
        base_url: String,
        /// `None` only for a server on this machine.
        key: Option<SecretString>,
        /// The model's name; `None` for the provider's default.
        model: Option<String>,
    },
}

/// Chooses. Files are relative to `dir`.
pub(super) fn choose(
    options: &Options,
    env: &Env,
    dir: &Path,
    remarks: &mut Vec<Remark>,
) -> Result<ProviderChoice, SettingsError> {
    let choice = match options.provider.as_deref() {
        Some("offline") => ProviderChoice::Offline,
        Some("openai") => openai(options, env, remarks)?,
        Some(name) => match name.strip_prefix("script:") {
            Some(file) => script(file, dir)?,
            None => return Err(unknown(name)),
        },
        None if options.base_url.is_some() || variable(env, "OPENAI_API_KEY").is_some() => {
            openai(options, env, remarks)?
        }
        None => {
            remarks.extend(unused_environment(env));
            ProviderChoice::Offline
        }
    };
    match choice {
        ProviderChoice::OpenAi { .. } => {}
        ProviderChoice::Offline | ProviderChoice::Script { .. } => refuse_unused(options)?,
    }
    Ok(choice)
}

fn unknown(name: &str) -> SettingsError {
    SettingsError::Usage(format!(
        "there is no provider `{name}`; --provider takes openai, offline or script:FILE"
    ))
}

/// Flags that would be passed over in silence.
fn refuse_unused(options: &Options) -> Result<(), SettingsError> {
    let given = [("--base-url", &options.base_url), ("--model", &options.model)];
    match given.into_iter().find(|(_, value)| value.is_some()) {
        Some((flag, _)) => Err(SettingsError::Usage(format!(
            "{flag} needs a server that answers, and none is chosen: set OPENAI_API_KEY, or give \
             --provider openai"
        ))),
        None => Ok(()),
    }
}

/// What was set, and does not make anyone answer.
fn unused_environment(env: &Env) -> Option<Remark> {
    let text = if variable(env, "ANTHROPIC_API_KEY").is_some() {
        "ANTHROPIC_API_KEY is set, but that provider is not built yet, so the offline researcher \
         answers; OPENAI_API_KEY or --provider openai choose a model that works today"
    } else if variable(env, "OPENAI_BASE_URL").is_some() {
        "OPENAI_BASE_URL is set without OPENAI_API_KEY, so the offline researcher answers; \
         --provider openai uses a local server without a key"
    } else {
        return None;
    };
    Some(Remark { level: Level::Warning, code: "PROVIDER", text: text.to_owned() })
}

fn script(file: &str, dir: &Path) -> Result<ProviderChoice, SettingsError> {
    if file.is_empty() {
        let text = "--provider script: has no file; write script:FILE";
        return Err(SettingsError::Usage(text.to_owned()));
    }
    let path = dir.join(file);
    let failed = |why: &str| {
        SettingsError::Usage(format!(
            "cannot read the script {file}: {why}; give an existing file with --provider script:FILE"
        ))
    };
    let meta = std::fs::metadata(&path).map_err(|error| failed(&error.to_string()))?;
    if meta.is_file() { Ok(ProviderChoice::Script { path }) } else { Err(failed("it is no file")) }
}

fn openai(
    options: &Options,
    env: &Env,
    remarks: &mut Vec<Remark>,
) -> Result<ProviderChoice, SettingsError> {
    let (said, from) = match (&options.base_url, variable(env, "OPENAI_BASE_URL")) {
        (Some(typed), _) => (typed.as_str(), "--base-url"),
        (None, Some(set)) => (set, "OPENAI_BASE_URL"),
        (None, None) => (DEFAULT_BASE_URL, "--base-url"),
    };
    let url = base_url(said, from)?;
    let local = is_loopback(&url);
    let key = variable(env, "OPENAI_API_KEY").map(SecretString::from);
    if key.is_none() && !local {
        return Err(SettingsError::Usage(format!(
            "there is no key for {}: set OPENAI_API_KEY, or give --base-url of a server on this \
             machine",
            url.host_str().unwrap_or(said)
        )));
    }
    if key.is_some() && !local && url.scheme() == "http" {
        remarks.push(Remark {
            level: Level::Warning,
            code: "PLAIN_HTTP",
            text: format!("the key goes to {said} unencrypted; use https"),
        });
    }
    let named = options.model.as_deref().map(str::trim).filter(|model| !model.is_empty());
    let model = named.or_else(|| variable(env, "OFFSHOOT_MODEL"));
    let model = model.or_else(|| variable(env, "MODEL_ID")).map(str::to_owned);
    let base_url = url.as_str().trim_end_matches('/').to_owned();
    Ok(ProviderChoice::OpenAi { base_url, key, model })
}

fn base_url(said: &str, from: &str) -> Result<Url, SettingsError> {
    let failed = |why: &str| {
        // The text may hold a password, so it is not repeated.
        SettingsError::Usage(format!("{from} {why}, such as {DEFAULT_BASE_URL}"))
    };
    let url = Url::parse(said.trim()).map_err(|_| failed("is no URL; give one with its /v1"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(failed("is no http or https URL; give one with its /v1"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(failed("holds a user or password; set OPENAI_API_KEY and give a plain URL"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(failed("has a `?` or `#` part; give the plain URL up to /v1"));
    }
    Ok(url)
}

/// True for a server on this machine.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    match address {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}
