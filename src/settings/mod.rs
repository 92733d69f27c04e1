//! What a command line and its surroundings mean. Everything here is a plain value, checked once;
//! nothing is built from it and no request is made. It refuses to know providers, runs and screens.

mod limits;
mod pins;
mod places;
mod prompt;
mod provider;
mod surroundings;

use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};

use crate::cli::{Language, Options, OutputFormat, Typed, Verb};
use crate::domain::event::Level;
use crate::domain::exit::Exit;

pub use limits::Limits;
pub use pins::Pin;
pub use provider::ProviderChoice;
pub use surroundings::Surroundings;

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
    /// What to tell the user once the session has started.
    pub remarks: Vec<Remark>,
    secrets: Vec<SecretString>,
}

impl Settings {
    /// What was typed, in these surroundings. Reads pinned files and, for `run -`, standard input:
    /// to be called before anything else runs.
    pub fn new(typed: Typed, surroundings: Surroundings) -> Result<Self, SettingsError> {
        let Surroundings { env, current_dir, stdin } = surroundings;
        let Typed { prompt, verb, options, .. } = typed;
        let mut remarks = Vec::new();
        let provider = provider::choose(&options, &env, &current_dir, &mut remarks)?;
        let workspace = places::workspace(options.workspace.as_deref(), &current_dir)?;
        let runs = matches!(verb, Some(Verb::Run { .. }));
        let pace = surroundings::pace(&env, !runs)?;
        Ok(Self {
            provider,
            workspace,
            limits: Limits::new(&options)?,
            timeout: options.timeout.as_deref().map(limits::timeout).transpose()?,
            pins: pins::read_all(&options.pin, &current_dir)?,
            sessions: places::sessions(&options, &env, &current_dir, &mut remarks),
            lang: options.lang.unwrap_or_else(|| surroundings::language(&env)),
            color: !options.no_color && env.get("NO_COLOR").is_none_or(String::is_empty),
            pace,
            remarks,
            secrets: surroundings::secrets(&env),
            front: front(prompt, verb, &options, stdin)?,
        })
    }

    /// The secrets that this program was given, as texts to look for and never to show.
    pub fn secret_texts(&self) -> Vec<String> {
        self.secrets.iter().map(|secret| secret.expose_secret().to_owned()).collect()
    }
}

fn front(
    prompt: Option<String>,
    verb: Option<Verb>,
    options: &Options,
    stdin: Box<dyn std::io::Read>,
) -> Result<Front, SettingsError> {
    let Some(Verb::Run { prompt }) = verb else {
        return Ok(Front::Screen { prompt: prompt.filter(|prompt| !prompt.trim().is_empty()) });
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
mod tests;
