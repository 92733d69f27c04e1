//! What was typed. It knows words, flags and which of them are not built yet; it refuses to know
//! what they mean together, which is the work of the settings.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

/// What to do with a command line.
#[derive(Debug)]
pub enum Parsed {
    /// Go on with this.
    Typed(Box<Typed>),
    /// Print this on standard output and end well: help or the version.
    Say(String),
}

/// Why a command line cannot be used. All of these exit with 2.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The words do not fit together.
    #[error("{0}")]
    Grammar(String),
    /// It is in the manual and not in the program.
    #[error("{what} is not built yet; {instead}")]
    NotBuilt {
        /// The words, as typed.
        what: String,
        /// What works today.
        instead: &'static str,
    },
    /// A flag of `run` without it.
    #[error("{flag} is for `offshoot run`, which has no screen; nothing else takes it")]
    RunOnly {
        /// Which.
        flag: &'static str,
    },
}

/// What was typed, as typed.
#[derive(Debug, Parser)]
#[command(
    name = "offshoot",
    version,
    about = "A full-screen terminal agent whose delegations can be watched, bounded and cancelled",
    disable_help_subcommand = true,
    after_help = "A prompt that is the name of a command goes after `--`: offshoot -- run"
)]
pub struct Typed {
    /// Open the screen with this first message
    #[arg(value_name = "PROMPT")]
    pub prompt: Option<String>,
    /// What to do instead of opening the screen.
    #[command(subcommand)]
    pub verb: Option<Verb>,
    /// The options.
    #[command(flatten)]
    pub options: Options,
    #[command(flatten)]
    later: Later,
}

/// What to do instead of opening the screen.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Without a screen: run once, print, exit
    Run {
        /// What to ask; `-` reads it from standard input
        #[arg(value_name = "PROMPT|-", allow_hyphen_values = false)]
        prompt: String,
    },
    /// Go on with an earlier session.
    #[command(hide = true)]
    Resume(Rest),
    /// List earlier sessions.
    #[command(hide = true)]
    Sessions(Rest),
    /// Play a recorded session.
    #[command(hide = true)]
    Replay(Rest),
    /// Write a session as a document.
    #[command(hide = true)]
    Export(Rest),
    /// Compare work with and without delegation.
    #[command(hide = true)]
    Eval(Rest),
    /// Say what was found: settings, provider, model, terminal; with what to do
    Doctor {
        /// Print the table of roles instead
        #[arg(long)]
        roles: bool,
    },
}

/// Whatever follows a command that is not built yet.
#[derive(Debug, Args)]
pub struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// The formats of `run`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer for people
    #[default]
    Text,
    /// One object
    Json,
    /// Every event as a line
    StreamJson,
}

/// The languages of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// English
    En,
    /// 中文
    Zh,
}

/// The named budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BudgetName {
    /// Small questions
    Tight,
    /// The default
    Normal,
    /// Long work
    Generous,
}

/// The options that work today, before or after the command.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag that was typed or not")]
pub struct Options {
    /// Who answers: anthropic, openai, ollama, offline, or script:FILE
    #[arg(long, global = true, value_name = "NAME")]
    pub provider: Option<String>,
    /// Where the server is; for openai with its /v1
    #[arg(long, global = true, value_name = "URL")]
    pub base_url: Option<String>,
    /// The model's name
    #[arg(long, global = true, value_name = "NAME")]
    pub model: Option<String>,
    /// The folder to work in [default: the current one]
    #[arg(short = 'C', long, global = true, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// A folder beside the one to work in that may be read and changed too; may be repeated
    #[arg(long, global = true, value_name = "DIR")]
    pub add_dir: Vec<PathBuf>,
    /// What may be done without asking [default: ask]
    #[arg(long, global = true, value_name = "MODE", value_enum)]
    pub permission_mode: Option<PermissionMode>,
    /// What `run`, which can ask nobody, lets through of what would be asked [default: never]
    #[arg(long, global = true, value_name = "WHAT", value_enum)]
    pub approve: Option<Approve>,
    /// Limits for each question
    #[arg(long, global = true, value_name = "NAME", value_enum)]
    pub budget: Option<BudgetName>,
    /// Model requests of the parent, or `unlimited`
    #[arg(long, global = true, allow_negative_numbers = true, value_name = "N")]
    pub max_turns: Option<String>,
    /// US dollars for the session, or `unlimited`
    #[arg(long, global = true, allow_negative_numbers = true, value_name = "USD")]
    pub max_cost: Option<String>,
    /// Children that may be started or queued for each question
    #[arg(long, global = true, allow_negative_numbers = true, value_name = "N")]
    pub max_delegations: Option<u32>,
    /// Children that may run at the same time
    #[arg(long, global = true, allow_negative_numbers = true, value_name = "N")]
    pub max_active: Option<u32>,
    /// Levels of children, from 1 to 4; above 1 a child can delegate too [default: 1]
    #[arg(long, global = true, allow_negative_numbers = true, value_name = "N")]
    pub max_depth: Option<String>,
    /// Cancel everything after this time
    #[arg(long, global = true, allow_negative_numbers = true, value_name = "SECONDS")]
    pub timeout: Option<String>,
    /// Times that a failed request is made again [default: 4]
    #[arg(long, global = true, allow_negative_numbers = true, value_name = "N")]
    pub retries: Option<String>,
    /// A text that tasks can choose as context; may be repeated
    #[arg(long, global = true, value_name = "NAME=TEXT|@FILE")]
    pub pin: Vec<String>,
    /// The same for children whose model runs on this machine
    #[arg(long, global = true, value_name = "NAME=TEXT|@FILE")]
    pub pin_local: Vec<String>,
    /// A secret that is given to no model and that is blotted out wherever it turns up
    #[arg(long, global = true, value_name = "NAME=@FILE")]
    pub pin_secret: Vec<String>,
    /// Where sessions are kept
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "no_session")]
    pub session_dir: Option<PathBuf>,
    /// Keep nothing on disk
    #[arg(long, global = true)]
    pub no_session: bool,
    /// What `run` prints [default: text]
    #[arg(long, global = true, value_name = "FORMAT", value_enum)]
    pub output_format: Option<OutputFormat>,
    /// Leave the events of children out of stream-json
    #[arg(long, global = true)]
    pub no_children: bool,
    /// The language of the interface
    #[arg(long, global = true, value_name = "LANG", value_enum)]
    pub lang: Option<Language>,
    /// No colours
    #[arg(long, global = true)]
    pub no_color: bool,
    /// `run` keeps standard error for failures
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// What may be done without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PermissionMode {
    /// Nothing but looking; the rest is denied
    ReadOnly,
    /// Ask before every change and every command
    Ask,
    /// Change files without asking, ask before commands
    AutoEdit,
    /// Ask nothing, as long as commands are fenced
    FullAccess,
}

/// What `run` lets through of what would be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Approve {
    /// Nothing: it is denied
    Never,
    /// Changes of files, no commands
    Edits,
    /// Commands too, as long as they are fenced
    All,
}

/// The options that are in the manual and not in the program.
#[derive(Debug, Default, Args)]
struct Later {
    #[arg(long = "continue", global = true, hide = true)]
    go_on: bool,
    #[arg(short, long, global = true, hide = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

/// Reads a command line; `arguments` begins with the program's name.
pub fn parse<I, T>(arguments: I) -> Result<Parsed, CliError>
where
    I: IntoIterator<Item = T>,
    T: Into<OsString> + Clone,
{
    let matches = match Typed::command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) => return explained(&error),
    };
    let typed = Typed::from_arg_matches(&matches).map_err(|error| grammar(&error))?;
    typed.refuse_what_is_not_built()?;
    typed.refuse_what_does_not_fit()?;
    Ok(Parsed::Typed(Box::new(typed)))
}

/// The output format that a command line asks for, wherever it says so and whatever else is wrong
/// with it: who wants JSON gets a failure as JSON.
pub fn wanted_format(arguments: impl IntoIterator<Item = OsString>) -> OutputFormat {
    let words = arguments.into_iter().map(|word| word.to_string_lossy().into_owned());
    let mut words = words.take_while(|word| word != "--");
    let mut wanted = OutputFormat::default();
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--output-format") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        if let Some(format) = value.and_then(|value| OutputFormat::from_str(&value, false).ok()) {
            wanted = format;
        }
    }
    wanted
}

fn explained(error: &clap::Error) -> Result<Parsed, CliError> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Ok(Parsed::Say(error.render().to_string()))
        }
        _ => Err(grammar(error)),
    }
}

fn grammar(error: &clap::Error) -> CliError {
    let rendered = error.render().to_string();
    let text = rendered.strip_prefix("error: ").unwrap_or(&rendered).trim_end();
    let hint = match error.kind() {
        // Most often these are the words of a prompt without quotes.
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => {
            "\n\nA prompt of several words goes into quotes: offshoot \"which tests are there?\""
        }
        ErrorKind::InvalidUtf8 => {
            "\n\nText on the command line must be UTF-8. Convert it and give it on standard input:\n  \
             iconv -f LATIN1 -t UTF-8 question.txt | offshoot run -"
        }
        _ => "",
    };
    CliError::Grammar(format!("{text}{hint}"))
}

impl Typed {
    fn refuse_what_is_not_built(&self) -> Result<(), CliError> {
        match self.not_built() {
            Some((what, instead)) => Err(CliError::NotBuilt { what: format!("`{what}`"), instead }),
            None => Ok(()),
        }
    }

    fn not_built(&self) -> Option<(String, &'static str)> {
        let verb = self.verb.as_ref().and_then(Verb::not_built);
        verb.or_else(|| {
            let (flag, instead) = self.later.first()?;
            Some((flag.to_owned(), instead))
        })
    }

    fn refuse_what_does_not_fit(&self) -> Result<(), CliError> {
        if let (Some(verb), Some(prompt)) = (&self.verb, &self.prompt) {
            let name = verb.name();
            return Err(CliError::Grammar(format!(
                "`{prompt}` stands before the command `{name}`: either open the screen with it, \
                 or give it to `offshoot run`"
            )));
        }
        if matches!(self.verb, Some(Verb::Run { .. })) {
            return Ok(());
        }
        let run_only = [
            ("--output-format", self.options.output_format.is_some()),
            ("--approve", self.options.approve.is_some()),
            ("--no-children", self.options.no_children),
            ("--quiet", self.options.quiet),
        ];
        match run_only.into_iter().find(|(_, given)| *given) {
            Some((flag, _)) => Err(CliError::RunOnly { flag }),
            None => Ok(()),
        }
    }
}

const TWO_VERBS: &str = "today `offshoot [PROMPT]` opens a new session and `offshoot run PROMPT` \
                         runs one without a screen; as a prompt it goes after `--`";

impl Verb {
    fn name(&self) -> &'static str {
        match self {
            Self::Run { .. } => "run",
            Self::Resume(_) => "resume",
            Self::Sessions(_) => "sessions",
            Self::Replay(_) => "replay",
            Self::Export(_) => "export",
            Self::Eval(_) => "eval",
            Self::Doctor { .. } => "doctor",
        }
    }

    fn not_built(&self) -> Option<(String, &'static str)> {
        match self {
            Self::Run { .. } | Self::Doctor { .. } => None,
            Self::Resume(_)
            | Self::Sessions(_)
            | Self::Replay(_)
            | Self::Export(_)
            | Self::Eval(_) => Some((format!("offshoot {}", self.name()), TWO_VERBS)),
        }
    }
}

impl Later {
    fn first(&self) -> Option<(&'static str, &'static str)> {
        let given = [
            (self.go_on, "--continue", "today every start is a new session"),
            (
                self.verbose > 0,
                "--verbose",
                "today `run --output-format stream-json` tells everything",
            ),
        ];
        given.into_iter().find(|(is_given, ..)| *is_given).map(|(_, flag, instead)| (flag, instead))
    }
}

#[cfg(test)]
mod tests;
