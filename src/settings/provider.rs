//! Who answers: what was typed or configured, else the key in the environment, else a local Ollama,
//! else the embedded researcher. It refuses to know how any of them is spoken to.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};

use super::key::{self, FoundKey};
use super::layers::{Layers, Origin};
use super::surroundings::{Env, variable};
use super::table::Key;
use super::value::Value;
use super::{Remark, SettingsError};
use crate::cli::Options;
use crate::domain::event::Level;

const ANTHROPIC_KEY: &str = "ANTHROPIC_API_KEY";
const OPENAI_KEY: &str = "OPENAI_API_KEY";
/// Where an Ollama listens that was installed and started as its manual says.
const OLLAMA_PORT: u16 = 11_434;

/// Who answers.
#[derive(Debug, Clone)]
pub enum ProviderChoice {
    /// The embedded researcher: no network, no key, no language model.
    Offline,
    /// Nothing is configured: a local Ollama if one answers, else the embedded researcher.
    Detect(Remote),
    /// Scripted turns.
    Script {
        /// The file; it exists.
        path: PathBuf,
    },
    /// A server that speaks Anthropic Messages; its URL is without `/v1`.
    Anthropic(Remote),
    /// A server that speaks chat completions; its URL is with its `/v1`.
    OpenAi(Remote),
    /// An Ollama; its URL has no path.
    Ollama(Remote),
}

impl ProviderChoice {
    /// The server, where there is one.
    pub fn remote(&self) -> Option<&Remote> {
        match self {
            Self::Offline | Self::Script { .. } => None,
            Self::Detect(remote)
            | Self::Anthropic(remote)
            | Self::OpenAi(remote)
            | Self::Ollama(remote) => Some(remote),
        }
    }
}

/// A server.
#[derive(Debug, Clone)]
pub struct Remote {
    /// Where it is, without a slash at the end.
    pub base_url: String,
    /// The key; `None` only for a server on this machine.
    pub key: Option<FoundKey>,
    /// The model's name; `None` for the provider's default.
    pub model: Option<String>,
    /// The dialect that the user named.
    pub profile: Option<String>,
    /// The version of Azure's API that the user named.
    pub api_version: Option<String>,
    /// What every request carries besides.
    pub headers: Vec<(String, SecretString)>,
}

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Anthropic,
    OpenAi,
    Ollama,
}

/// Chooses. Files are relative to `dir`.
pub(super) fn choose(
    layers: &mut Layers,
    options: &Options,
    env: &Env,
    dir: &Path,
    remarks: &mut Vec<Remark>,
) -> Result<ProviderChoice, SettingsError> {
    keep_connections_apart(layers, remarks)?;
    let named = layers.text(Key::Provider).map(str::to_owned);
    let choice = match named.as_deref() {
        Some("offline") => ProviderChoice::Offline,
        Some(name) => match (kind_named(name), name.strip_prefix("script:")) {
            (Some(kind), _) => kind.server(layers, env, remarks)?,
            (None, Some(file)) => script(file, dir)?,
            (None, None) => return Err(unknown(name, layers.origin(Key::Provider))),
        },
        None => found_around(layers, env, remarks)?,
    };
    match choice {
        ProviderChoice::Anthropic(_) | ProviderChoice::OpenAi(_) | ProviderChoice::Ollama(_) => {}
        ProviderChoice::Offline | ProviderChoice::Script { .. } | ProviderChoice::Detect(_) => {
            refuse_unused(options)?;
        }
    }
    Ok(choice)
}

/// Without a name: the first that something was set for.
fn found_around(
    layers: &mut Layers,
    env: &Env,
    remarks: &mut Vec<Remark>,
) -> Result<ProviderChoice, SettingsError> {
    let (kind, origin) = if layers.value(Key::BaseUrl).is_some() {
        (Kind::OpenAi, layers.origin(Key::BaseUrl).clone())
    } else if variable(env, ANTHROPIC_KEY).is_some() {
        (Kind::Anthropic, Origin::Variable(ANTHROPIC_KEY))
    } else if variable(env, OPENAI_KEY).is_some() {
        (Kind::OpenAi, Origin::Variable(OPENAI_KEY))
    } else {
        remarks.extend(unused_environment(env));
        let host = ollama_host(env).ok().filter(|(url, _)| is_loopback(url));
        let Some((url, _)) = host else { return Ok(ProviderChoice::Offline) };
        return Ok(ProviderChoice::Detect(remote(&url, None, layers)));
    };
    layers.set(Key::Provider, Value::Text(kind.name().to_owned()), origin);
    kind.server(layers, env, remarks)
}

/// What the user's file says of a server is for the provider that the file names: a key or a header
/// must not go to another one because a flag chose that.
fn keep_connections_apart(
    layers: &mut Layers,
    remarks: &mut Vec<Remark>,
) -> Result<(), SettingsError> {
    let in_file = |key| matches!(layers.origin(key), Origin::UserFile(_));
    let Some(own) = layers.users_provider().map(str::to_owned) else {
        let secret = [Key::ApiKeyCommand, Key::ApiKeyEnv, Key::Headers];
        return match secret.into_iter().find(|key| in_file(*key)) {
            Some(key) => Err(SettingsError::Usage(format!(
                "{}: {} is there without a provider; name one in the same file, so that the key \
                 cannot go to another server",
                layers.origin(key),
                key.name()
            ))),
            None => Ok(()),
        };
    };
    let chosen = layers.text(Key::Provider).unwrap_or_default().to_owned();
    if own == chosen {
        return Ok(());
    }
    let forgotten = layers.forget_connection();
    if !forgotten.is_empty() && kind_named(&chosen).is_some() {
        let names = forgotten.join(", ");
        remarks.push(Remark {
            level: Level::Info,
            code: "CONFIG",
            text: format!(
                "of your config.toml is not used what belongs to {own} and not to {chosen}: {names}"
            ),
        });
    }
    Ok(())
}

fn kind_named(name: &str) -> Option<Kind> {
    [Kind::Anthropic, Kind::OpenAi, Kind::Ollama].into_iter().find(|kind| kind.name() == name)
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }

    /// The server of this kind, with its key.
    fn server(
        self,
        layers: &mut Layers,
        env: &Env,
        remarks: &mut Vec<Remark>,
    ) -> Result<ProviderChoice, SettingsError> {
        let (url, origin) = self.address(layers, env)?;
        let local = is_loopback(&url);
        check_headers(layers)?;
        let key = match self {
            Self::Anthropic => key::find(layers, env, ANTHROPIC_KEY)?,
            Self::OpenAi => key::find(layers, env, OPENAI_KEY)?,
            // It has no keys by itself; one that was configured is for a proxy before it.
            Self::Ollama => key::find(layers, env, "OLLAMA_API_KEY")?,
        };
        if key.is_none() && !local && self != Self::Ollama {
            return Err(self.no_key(&url));
        }
        if key.is_some() && !local && url.scheme() == "http" {
            remarks.push(unencrypted(&url));
        }
        let server = remote(&url, key, layers);
        layers.set(Key::BaseUrl, Value::Text(server.base_url.clone()), origin);
        Ok(match self {
            Self::Anthropic => ProviderChoice::Anthropic(server),
            Self::OpenAi => ProviderChoice::OpenAi(server),
            Self::Ollama => ProviderChoice::Ollama(server),
        })
    }

    /// Where the server is: what was typed, then the environment, then the file, then the usual.
    fn address(self, layers: &Layers, env: &Env) -> Result<(Url, Origin), SettingsError> {
        let written = layers.text(Key::BaseUrl);
        let origin = layers.origin(Key::BaseUrl);
        if let (Some(text), Origin::Flag(_)) = (written, origin) {
            return Ok((self.url(text, &origin.to_string())?, origin.clone()));
        }
        let name = match self {
            Self::Anthropic => "ANTHROPIC_BASE_URL",
            Self::OpenAi => "OPENAI_BASE_URL",
            Self::Ollama => {
                return match written {
                    Some(text) if variable(env, "OLLAMA_HOST").is_none() => {
                        Ok((self.url(text, &origin.to_string())?, origin.clone()))
                    }
                    _ => ollama_host(env),
                };
            }
        };
        match (variable(env, name), written) {
            (Some(text), _) => Ok((self.url(text, name)?, Origin::Variable(name))),
            (None, Some(text)) => Ok((self.url(text, &origin.to_string())?, origin.clone())),
            (None, None) => Ok((self.url(self.example(), "the usual address")?, Origin::Default)),
        }
    }

    /// Only chat completions are written with their `/v1`.
    fn url(self, text: &str, from: &str) -> Result<Url, SettingsError> {
        let mut url = base_url(text, from, self)?;
        match self {
            Self::OpenAi => {}
            Self::Anthropic | Self::Ollama => {
                let path = url.path().trim_end_matches('/');
                let path = path.strip_suffix("/v1").unwrap_or(path).to_owned();
                url.set_path(&path);
            }
        }
        Ok(url)
    }

    fn no_key(self, url: &Url) -> SettingsError {
        let name = match self {
            Self::Anthropic => ANTHROPIC_KEY,
            Self::OpenAi | Self::Ollama => OPENAI_KEY,
        };
        SettingsError::Usage(format!(
            "there is no key for {}: set {name}, or api_key_command in your config.toml, or give \
             --base-url of a server on this machine",
            url.host_str().unwrap_or("the server")
        ))
    }

    /// An address as it should look: the usual one.
    fn example(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com",
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }
}

fn remote(url: &Url, key: Option<FoundKey>, layers: &Layers) -> Remote {
    let text = |key| layers.text(key).map(str::trim).map(str::to_owned);
    Remote {
        base_url: url.as_str().trim_end_matches('/').to_owned(),
        key,
        model: text(Key::Model).filter(|model| !model.is_empty()),
        profile: text(Key::Profile),
        api_version: text(Key::ApiVersion),
        headers: layers.pairs(Key::Headers).to_vec(),
    }
}

/// Where the environment says that Ollama is, in any of the forms that Ollama itself takes.
fn ollama_host(env: &Env) -> Result<(Url, Origin), SettingsError> {
    let Some(text) = variable(env, "OLLAMA_HOST") else {
        let usual = format!("http://127.0.0.1:{OLLAMA_PORT}");
        return Ok((base_url(&usual, "the usual address", Kind::Ollama)?, Origin::Default));
    };
    let whole = match text.strip_prefix(':') {
        Some(port) => format!("http://127.0.0.1:{port}"),
        None if text.contains("://") => text.to_owned(),
        None => format!("http://{text}"),
    };
    let mut url = Kind::Ollama.url(&whole, "OLLAMA_HOST")?;
    if !text.contains("://") && url.port().is_none() {
        // Fails only for addresses without a host, which are refused above.
        let _ = url.set_port(Some(OLLAMA_PORT));
    }
    // What a server listens on is not where to find it.
    if matches!(url.host_str(), Some("0.0.0.0" | "[::]")) {
        let _ = url.set_host(Some("127.0.0.1"));
    }
    Ok((url, Origin::Variable("OLLAMA_HOST")))
}

fn check_headers(layers: &Layers) -> Result<(), SettingsError> {
    let of_the_wire = ["host", "content-length", "content-type", "connection", "transfer-encoding"];
    for (name, value) in layers.pairs(Key::Headers) {
        let bad = |why: &str| {
            let origin = layers.origin(Key::Headers);
            SettingsError::Usage(format!("{origin}: the header `{name}` {why}"))
        };
        let known = name.parse::<HeaderName>().map_err(|_| bad("has a name that no header has"))?;
        if of_the_wire.contains(&known.as_str()) {
            return Err(bad("belongs to the connection itself and cannot be set"));
        }
        HeaderValue::from_str(value.expose_secret())
            .map_err(|_| bad("has a value with characters that no header can hold"))?;
    }
    Ok(())
}

fn unknown(name: &str, origin: &Origin) -> SettingsError {
    SettingsError::Usage(format!(
        "there is no provider `{name}` ({origin}); it is one of anthropic, openai, ollama, offline \
         and script:FILE"
    ))
}

/// Flags that would be passed over in silence.
fn refuse_unused(options: &Options) -> Result<(), SettingsError> {
    let given = [("--base-url", &options.base_url), ("--model", &options.model)];
    match given.into_iter().find(|(_, value)| value.is_some()) {
        Some((flag, _)) => Err(SettingsError::Usage(format!(
            "{flag} needs a server that answers, and none is chosen: set ANTHROPIC_API_KEY or \
             OPENAI_API_KEY, or give --provider anthropic, openai or ollama"
        ))),
        None => Ok(()),
    }
}

/// What was set, and does not make anyone answer.
fn unused_environment(env: &Env) -> Option<Remark> {
    let lonely = [
        ("ANTHROPIC_BASE_URL", ANTHROPIC_KEY, "anthropic"),
        ("OPENAI_BASE_URL", OPENAI_KEY, "openai"),
    ];
    let (url, key, name) = lonely.into_iter().find(|(url, ..)| variable(env, url).is_some())?;
    Some(Remark {
        level: Level::Warning,
        code: "PROVIDER",
        text: format!(
            "{url} is set without {key}, so it is not used; --provider {name} uses a local server \
             without a key"
        ),
    })
}

fn unencrypted(url: &Url) -> Remark {
    Remark {
        level: Level::Warning,
        code: "PLAIN_HTTP",
        text: format!("the key goes to {url} unencrypted; use https"),
    }
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

fn base_url(said: &str, from: &str, kind: Kind) -> Result<Url, SettingsError> {
    let failed = |why: &str| {
        // The text may hold a password, so it is not repeated.
        SettingsError::Usage(format!("{from} {why}, such as {}", kind.example()))
    };
    let url = Url::parse(said.trim()).map_err(|_| failed("is no URL; give a whole one"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(failed("is no http or https URL; give a whole one"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(failed("holds a user or password; give the key as a key and a plain URL"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(failed("has a `?` or `#` part; give the plain URL"));
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
