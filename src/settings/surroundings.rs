//! What a process finds around itself, gathered once so that tests can make their own. It refuses
//! to know what most of it is for.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use super::SettingsError;
use crate::cli::Language;

/// The environment's variables.
pub(super) type Env = HashMap<String, String>;

/// The environment's variables, for those who pick from them what commands may have. Its form for
/// debugging tells names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Variables(pub Vec<(String, String)>);

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// How long each call of the embedded researcher takes at least on the screen, so that a person
/// can watch and cancel.
const SCREEN_PACE: Duration = Duration::from_millis(400);

/// Variables that hold secrets beside all whose name ends in `_API_KEY`.
const SECRET_NAMES: [&str; 8] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GH_TOKEN",
    "GITHUB_TOKEN",
    "GITLAB_TOKEN",
    "HF_TOKEN",
    "NPM_TOKEN",
    "ANTHROPIC_AUTH_TOKEN",
];

/// What is around this process.
pub struct Surroundings {
    /// The environment's variables that are Unicode.
    pub env: HashMap<String, String>,
    /// Where relative paths begin.
    pub current_dir: PathBuf,
    /// Standard input, for `run -`.
    pub stdin: Box<dyn Read>,
}

impl Surroundings {
    /// Those of this process.
    pub fn here() -> Result<Self, SettingsError> {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let current_dir = std::env::current_dir().map_err(|error| {
            SettingsError::Workspace(format!(
                "cannot find the current folder: {error}; go to one that exists, or give -C DIR"
            ))
        })?;
        let env = std::env::vars_os().filter_map(text).collect();
        Ok(Self { env, current_dir, stdin: Box::new(io::stdin()) })
    }
}

/// A variable that has words in it.
pub(super) fn variable<'a>(env: &'a Env, name: &str) -> Option<&'a str> {
    env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
}

/// The language that the locale asks for, by the order of the C library.
pub(super) fn language(env: &Env) -> Language {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| variable(env, name));
    match locale {
        Some(locale) if locale.to_ascii_lowercase().starts_with("zh") => Language::Zh,
        Some(_) | None => Language::En,
    }
}

/// How long each call of the embedded researcher takes, where nothing is set.
pub(super) fn usual_pace(screen: bool) -> Duration {
    if screen { SCREEN_PACE } else { Duration::ZERO }
}

/// The values of all variables that hold secrets.
pub(super) fn secrets(env: &Env) -> Vec<SecretString> {
    let is_secret = |name: &str| name.ends_with("_API_KEY") || SECRET_NAMES.contains(&name);
    let values = env.iter().filter(|(name, _)| is_secret(name)).map(|(_, value)| value.trim());
    values.filter(|value| !value.is_empty()).map(SecretString::from).collect()
}
