//! What a command line and its surroundings mean: files, environment and flags, in that order, each
//! value with its origin. Everything here is a plain value, checked once; nothing is built from it
//! and no request is made. It refuses to know providers, runs and screens.

mod file;
mod hands;
mod key;
mod layers;
mod limits;
mod narrowing;
mod pins;
mod places;
mod project;
mod prompt;
mod provider;
mod roles;
mod surroundings;
mod table;
pub mod trust;
mod value;

use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::cli::{Language, Options, OutputFormat, Typed, Verb};
use crate::domain::event::Level;
use crate::domain::exit::Exit;
use crate::domain::role_file::RoleFile;
use crate::domain::usage::{MicroUsd, Prices};
use layers::Layers;
use project::Project;
use surroundings::Env;
use trust::Trust;

pub use file::Place;
pub use hands::{FenceWishes, Hands};
pub use key::FoundKey;
pub use layers::{Origin, Told};
pub use limits::Limits;
pub use pins::Pin;
pub use provider::{ProviderChoice, Remote};
pub use surroundings::Surroundings;
pub use surroundings::Variables;
pub use table::Key;

/// Why the program cannot start, in one sentence each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A flag or variable holds nothing that can be used.
    #[error("{0}")]
    Usage(String),
    /// The folder to work in cannot be used.
    #[error("{0}")]
    Workspace(String),
}

impl SettingsError {
    /// The exit code that goes with it.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Workspace(_) => Exit::Failed,
        }
    }
}

/// What the user sees and asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Front {
    /// The screen, with a first message or none.
    Screen {
        /// The message.
        prompt: Option<String>,
    },
    /// Run once, print, exit.
    Run {
        /// What is asked; never blank.
        prompt: String,
        /// What is printed.
        format: OutputFormat,
        /// True to keep standard error for failures.
        quiet: bool,
        /// True to leave the events of children out of stream-json.
        no_children: bool,
    },
    /// Say what was found, and exit.
    Doctor {
        /// True to print the table of roles instead.
        roles: bool,
    },
}

/// How long servers may take, where the user said so, and how often they are asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// For a connection.
    pub connect: Duration,
    /// Until an answer begins; `None` where the user set nothing.
    pub headers: Option<Duration>,
    /// Between two signs of life; `None` where the user set nothing.
    pub stall: Option<Duration>,
    /// How often a failed request is made again.
    pub retries: u32,
}

/// What the user states about the model in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelNumbers {
    /// Tokens that prompt and answer may have together.
    pub context_window: Option<u64>,
    /// Tokens of one answer.
    pub max_output_tokens: Option<u64>,
    /// What it charges.
    pub prices: Option<Prices>,
}

/// A configuration file that was looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFile {
    /// Where.
    pub path: PathBuf,
    /// True if it is there and was read.
    pub found: bool,
    /// True for a project's, which can only narrow.
    pub of_project: bool,
}

/// Something to tell the user once the session has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// How serious.
    pub level: Level,
    /// A stable word.
    pub code: &'static str,
    /// The words.
    pub text: String,
}

/// All that a session is made of.
#[derive(Debug)]
pub struct Settings {
    /// What the user sees and asks.
    pub front: Front,
    /// Who answers.
    pub provider: ProviderChoice,
    /// The folder to work in: absolute, without symbolic links, and a folder that can be listed.
    pub workspace: PathBuf,
    /// What runs may do and touch.
    pub hands: Hands,
    /// Whether the project's own files are trusted.
    pub trust: Trust,
    /// The roles that files describe, the user's before the project's.
    pub roles: Vec<RoleFile>,
    /// The environment that this program was started with.
    pub variables: Variables,
    /// What each question may use.
    pub limits: Limits,
    /// When everything is cancelled; `None` for never.
    pub timeout: Option<Duration>,
    /// What tasks can choose as context from the start.
    pub pins: Vec<Pin>,
    /// The folder that sessions are kept in; `None` to keep nothing.
    pub sessions: Option<PathBuf>,
    /// The language of the interface.
    pub lang: Language,
    /// False for no colours.
    pub color: bool,
    /// How long each call of the embedded researcher takes at least.
    pub pace: Duration,
    /// How long servers may take.
    pub waits: Waits,
    /// What the user states about the model.
    pub numbers: ModelNumbers,
    /// Tokens of thinking before an answer; 0 for none that is asked for.
    pub thinking_budget: u64,
    /// The part of the context window at which older turns are summarised, from 0 to 1.
    pub compact_at: f64,
    /// The most context, in tokens, that is asked of an Ollama.
    pub num_ctx_cap: u64,
    /// Certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// Every setting with its origin, for people.
    pub told: Vec<Told>,
    /// The configuration files that were looked for.
    pub files: Vec<ConfigFile>,
    /// What to tell the user once the session has started.
    pub remarks: Vec<Remark>,
    secrets: Vec<SecretString>,
}

impl Settings {
    /// What was typed, in these surroundings. Reads configuration and pinned files, runs the program
    /// that prints a key and, for `run -`, reads standard input: to be called before anything else
    /// runs.
    pub fn new(typed: Typed, surroundings: Surroundings) -> Result<Self, SettingsError> {
        let Surroundings { env, current_dir, stdin } = surroundings;
        let Typed { prompt, verb, options, .. } = typed;
        let mut remarks = Vec::new();
        let workspace = places::workspace(options.workspace.as_deref(), &current_dir)?;
        let on_screen = verb.is_none();
        let own = trust::find(&workspace);
        let trust = Trust::new(&workspace, &own, places::state(&env).as_deref(), &mut remarks);
        remarks.extend(trust.warning(on_screen));
        let project = Project { workspace: &workspace, files: &own, trusted: trust.holds() };
        let (mut layers, files) = read(&options, &env, &project, &mut remarks)?;
        let provider = provider::choose(&mut layers, &options, &env, &current_dir, &mut remarks)?;
        let sessions = places::sessions(&options, &mut layers, &env, &current_dir, &mut remarks);
        let ground = hands::Ground {
            env: &env,
            current_dir: &current_dir,
            workspace: &workspace,
            on_screen,
        };
        let limits = Limits::new(&layers);
        let agents = places::users_agents(&env);
        Ok(Self {
            roles: roles::read_all(agents.as_deref(), &project, limits.preset, &mut remarks),
            hands: Hands::new(&layers, &options, ground, &mut remarks)?,
            trust,
            limits,
            timeout: options.timeout.as_deref().map(limits::timeout).transpose()?,
            pins: pins::read_all(
                pins::Typed {
                    plain: &options.pin,
                    local: &options.pin_local,
                    secret: &options.pin_secret,
                },
                &current_dir,
            )?,
            sessions,
            lang: language(&layers, &env),
            color: layers.switch(Key::Color),
            pace: layers
                .whole(Key::PaceMs)
                .map_or_else(|| surroundings::usual_pace(on_screen), Duration::from_millis),
            waits: waits(&layers),
            numbers: numbers(&layers)?,
            thinking_budget: layers.whole(Key::ThinkingBudget).unwrap_or_default(),
            compact_at: layers.number(Key::CompactAt).unwrap_or(1.0),
            num_ctx_cap: layers.whole(Key::OllamaNumCtxCap).unwrap_or_default(),
            ca_file: places::ca_file(&layers, &env, &current_dir)?,
            secrets: secrets(&env, &layers, &provider),
            variables: Variables(env.into_iter().collect()),
            told: layers.told(),
            front: front(prompt, verb, &options, stdin)?,
            provider,
            workspace,
            files,
            remarks,
        })
    }

    /// The secrets that this program was given, as texts to look for and never to show.
    pub fn secret_texts(&self) -> Vec<String> {
        let mut texts: Vec<String> =
            self.secrets.iter().map(|secret| secret.expose_secret().to_owned()).collect();
        texts.sort_unstable();
        texts.dedup();
        texts
    }
}

/// All sources, one above the other.
fn read(
    options: &Options,
    env: &Env,
    project: &Project<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<(Layers, Vec<ConfigFile>), SettingsError> {
    let mut layers = Layers::new();
    let mut files = Vec::new();
    if let Some(path) = places::users_file(env) {
        let found = layers.user_file(&path, remarks)?;
        files.push(ConfigFile { path, found, of_project: false });
    }
    files.push(project.read(&mut layers, remarks)?);
    layers.environment(env)?;
    layers.flags(options)?;
    Ok((layers, files))
}

/// What is set, else what the locale asks for.
fn language(layers: &Layers, env: &Env) -> Language {
    match layers.text(Key::Lang) {
        Some("zh") => Language::Zh,
        Some(_) => Language::En,
        None => surroundings::language(env),
    }
}

fn waits(layers: &Layers) -> Waits {
    let seconds = |key| layers.number(key).and_then(|s| Duration::try_from_secs_f64(s).ok());
    let set = |key| seconds(key).filter(|_| *layers.origin(key) != Origin::Default);
    Waits {
        connect: seconds(Key::TimeoutConnect).unwrap_or_default(),
        headers: set(Key::TimeoutHeaders),
        stall: set(Key::TimeoutStall),
        retries: layers.whole(Key::Retries).and_then(|n| u32::try_from(n).ok()).unwrap_or_default(),
    }
}

fn numbers(layers: &Layers) -> Result<ModelNumbers, SettingsError> {
    Ok(ModelNumbers {
        context_window: layers.whole(Key::ContextWindow),
        max_output_tokens: layers.whole(Key::MaxOutputTokens),
        prices: prices(layers)?,
    })
}

/// The user's own prices: both of the main ones, or none.
fn prices(layers: &Layers) -> Result<Option<Prices>, SettingsError> {
    let price = |key| layers.number(key).and_then(MicroUsd::from_dollars).map(|price| price.0);
    let keys = [Key::PriceInput, Key::PriceOutput, Key::PriceCacheRead, Key::PriceCacheWrite];
    match keys.map(price) {
        [Some(input), Some(output), cache_read, cache_write] => Ok(Some(Prices {
            input,
            output,
            cache_read: cache_read.unwrap_or(input),
            cache_write: cache_write.unwrap_or(input),
        })),
        [None, None, None, None] => Ok(None),
        _ => {
            let one = keys.into_iter().find(|key| layers.value(*key).is_some());
            let origin = one.map_or(&Origin::Default, |key| layers.origin(key));
            Err(SettingsError::Usage(format!(
                "{origin}: prices need both prices.input and prices.output, in US dollars per \
                 million tokens"
            )))
        }
    }
}

/// What is secret: keys of the environment, the one in use, and the values of headers.
fn secrets(env: &Env, layers: &Layers, provider: &ProviderChoice) -> Vec<SecretString> {
    let mut secrets = surroundings::secrets(env);
    secrets.extend(layers.secrets());
    secrets.extend(provider.remote().and_then(|remote| remote.key.as_ref()).map(|k| k.key.clone()));
    secrets
}

fn front(
    prompt: Option<String>,
    verb: Option<Verb>,
    options: &Options,
    stdin: Box<dyn std::io::Read>,
) -> Result<Front, SettingsError> {
    let prompt = match verb {
        Some(Verb::Run { prompt }) => prompt,
        Some(Verb::Doctor { roles }) => return Ok(Front::Doctor { roles }),
        Some(
            Verb::Resume(_) | Verb::Sessions(_) | Verb::Replay(_) | Verb::Export(_) | Verb::Eval(_),
        )
        | None => {
            return Ok(Front::Screen { prompt: prompt.filter(|prompt| !prompt.trim().is_empty()) });
        }
    };
    let format = options.output_format.unwrap_or_default();
    if options.no_children && format != OutputFormat::StreamJson {
        let text = "--no-children belongs to --output-format stream-json; the other formats have \
                    no events to leave out";
        return Err(SettingsError::Usage(text.to_owned()));
    }
    Ok(Front::Run {
        prompt: prompt::read(prompt, stdin)?,
        format,
        quiet: options.quiet,
        no_children: options.no_children,
    })
}

#[cfg(test)]
mod document_tests;
#[cfg(test)]
mod tests;
