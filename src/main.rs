//! The program: reads the command line, picks a front end and turns the outcome into an exit code.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::Duration;
use std::time::SystemTime;

use offshoot::cli::{self, Language, OutputFormat, Parsed, Verb};
use offshoot::doctor::{self, Findings, Terminal};
use offshoot::domain::command::Command;
use offshoot::domain::event::Timestamp;
use offshoot::domain::exit::Exit;
use offshoot::headless::{self, Format, Headless};
use offshoot::journal::trace::trace_dir;
use offshoot::sandbox;
use offshoot::sanitize;
use offshoot::session::{self, Session, setup};
use offshoot::settings::trust::{FileState, Standing, Trust};
use offshoot::settings::{Front, Settings, Surroundings};
use offshoot::ui::{self, UiError};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// How long the session may take to write its last lines once nobody watches any more.
const LAST_WORDS: Duration = Duration::from_secs(5);
/// Threads for agents; what blocks has threads of its own.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == sandbox::helper::VERB) {
        return sandbox::helper::main();
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == sandbox::canary::VERB) {
        return sandbox::canary::main();
    }
    sandbox::harden();
    match prepare() {
        Ok(Some(settings)) => ExitCode::from(run(settings)),
        Ok(None) => ExitCode::from(Exit::Completed),
        Err(failed) => ExitCode::from(failed),
    }
}

/// Everything before the session: none if there was only something to say.
fn prepare() -> Result<Option<Settings>, Exit> {
    let format = cli::wanted_format(std::env::args_os());
    let typed = match cli::parse(std::env::args_os()) {
        Ok(Parsed::Typed(typed)) => *typed,
        Ok(Parsed::Say(text)) => {
            say(&text, Exit::Completed);
            return Ok(None);
        }
        Err(error) => return Err(fail(format, Exit::Usage, &error.to_string())),
    };
    let ill = matches!(typed.verb, Some(Verb::Doctor { roles: false }));
    let settings = Surroundings::here().and_then(|here| Settings::new(typed, here));
    settings.map(Some).map_err(|error| match error {
        error if ill => tell(&doctor::without_settings(&error, &Terminal::here())),
        error => fail(format, error.exit(), &error.to_string()),
    })
}

fn run(settings: Settings) -> Exit {
    if let Front::Doctor { roles } = settings.front {
        return examine(&settings, roles);
    }
    let format = match settings.front {
        Front::Run { format, .. } => format,
        Front::Screen { .. } | Front::Doctor { .. } => OutputFormat::Text,
    };
    if matches!(settings.front, Front::Screen { .. })
        && let Err(error) = ui::check()
    {
        return fail(OutputFormat::Text, screen_exit(&error), &error.to_string());
    }
    let config = match setup::config(&settings) {
        Ok(config) => config,
        Err(error) => return fail(format, error.exit(), &error.to_string()),
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(converse(settings, config)),
        Err(error) => fail(format, Exit::Failed, &no_runtime(&error)),
    }
}

/// Says what was found, or what the roles are.
fn examine(settings: &Settings, roles: bool) -> Exit {
    if roles {
        return say(&doctor::roles(settings), Exit::Completed);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => tell(&runtime.block_on(doctor::examine(settings, &Terminal::here()))),
        Err(error) => fail(OutputFormat::Text, Exit::Failed, &no_runtime(&error)),
    }
}

fn tell(findings: &Findings) -> Exit {
    say(&findings.page(), findings.exit())
}

/// Writes a page; a reader that went away has read all it wanted.
fn say(page: &str, exit: Exit) -> Exit {
    let _ = io::stdout().write_all(page.as_bytes());
    exit
}

fn no_runtime(error: &io::Error) -> String {
    format!("cannot start the async runtime: {error}")
}

async fn converse(settings: Settings, config: session::Config) -> Exit {
    let trace_dir = settings.sessions.as_deref().map(|folder| trace_dir(folder, config.id));
    let header = header(&config);
    let Session { commands, events, task } = session::start(config);
    let exit = match settings.front {
        Front::Run { prompt, format, quiet, no_children } => {
            stop_on_signals(commands.clone());
            let outcome = headless::run(Headless {
                events,
                commands,
                format: printed(format),
                quiet,
                no_children,
                prompt,
                trace_dir,
                out_is_terminal: io::stdout().is_terminal(),
                out: io::stdout(),
                err: io::stderr(),
            })
            .await;
            outcome.exit
        }
        // It has no conversation, and was answered before.
        Front::Doctor { .. } => Exit::Completed,
        Front::Screen { prompt } => {
            let front = ui::Front {
                events,
                commands,
                first_message: prompt,
                lang: match settings.lang {
                    Language::En => ui::Lang::En,
                    Language::Zh => ui::Lang::Zh,
                },
                colour: settings.color,
                trust: trust_question(&settings.trust, &header.workspace),
                header,
            };
            match ui::run(front).await {
                Ok(exit) => exit,
                Err(error) => fail(OutputFormat::Text, screen_exit(&error), &error.to_string()),
            }
        }
    };
    // The front end let go of its channels, so the session ends by itself and writes its files; an
    // error means that its task panicked, which was told.
    let _ = tokio::time::timeout(LAST_WORDS, task).await;
    exit
}

/// What the user is asked about the project's own files, where they were not asked about these yet.
fn trust_question(trust: &Trust, folder: &str) -> Option<ui::TrustQuestion> {
    let asks = match trust.standing {
        Standing::Asks => true,
        Standing::Nothing | Standing::Trusted | Standing::Refused => false,
    };
    let news = trust.changes.iter().filter(|change| change.state != FileState::Same);
    let files = news.map(|change| (change.path.clone(), change.diff.clone())).collect();
    asks.then(|| ui::TrustQuestion { folder: folder.to_owned(), files })
}

/// What the screen's header shows and no event tells.
fn header(config: &session::Config) -> ui::HeaderFacts {
    let identity = config.provider.identity();
    ui::HeaderFacts {
        workspace: config.workspace.display_name(),
        branch: config.workspace.branch(),
        model: identity.model.clone(),
        mode: config.mode.name().to_owned(),
        fence: None,
        rules: config.rules.clone(),
        context_window: identity.context_window,
        language_model: identity.is_language_model,
    }
}

fn screen_exit(error: &UiError) -> Exit {
    match error {
        UiError::NoTerminal | UiError::DumbTerminal => Exit::Usage,
        UiError::Terminal(_) | UiError::SessionLost => Exit::Failed,
    }
}

/// The first signal cancels the run, which then reports; a second one does not wait for that.
fn stop_on_signals(commands: mpsc::Sender<Command>) {
    let (Ok(mut interrupt), Ok(mut terminate), Ok(mut quit)) = (
        signal(SignalKind::interrupt()),
        signal(SignalKind::terminate()),
        signal(SignalKind::quit()),
    ) else {
        return;
    };
    // Listening would undo what `nohup` asked for.
    let mut hangup = if hangup_is_ignored() { None } else { signal(SignalKind::hangup()).ok() };
    tokio::spawn(async move {
        for first in [true, false] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                _ = quit.recv() => {}
                // A shell and a terminal that go away may both tell, which is no second wish.
                Some(()) = next(&mut hangup) => hangup = None,
            }
            if !first {
                std::process::exit(i32::from(Exit::Cancelled.code()));
            }
            // A session that is gone has nothing left to cancel.
            let _ = commands.send(Command::Stop).await;
            let _ = commands.send(Command::Quit).await;
        }
    });
}

/// The next of these signals; without one to listen for it never comes.
async fn next(signal: &mut Option<Signal>) -> Option<()> {
    match signal {
        Some(signal) => signal.recv().await,
        None => std::future::pending().await,
    }
}

/// True if whoever started the program had it ignore hangups. Only Linux tells without unsafe code.
fn hangup_is_ignored() -> bool {
    const HANGUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & HANGUP != 0)
}

/// Says on both streams why nothing was asked; on standard output in the format that was wanted.
fn fail(format: OutputFormat, exit: Exit, text: &str) -> Exit {
    let now = Timestamp::from(SystemTime::now());
    let page = headless::failure(printed(format), exit, text, now);
    if io::stdout().is_terminal() {
        say(&sanitize::json(&page), exit);
    } else {
        say(&page, exit);
    }
    complain(text);
    exit
}

fn printed(format: OutputFormat) -> Format {
    match format {
        OutputFormat::Text => Format::Text,
        OutputFormat::Json => Format::Json,
        OutputFormat::StreamJson => Format::StreamJson,
    }
}

fn complain(text: &str) {
    // There is no other place to complain to.
    let _ = writeln!(io::stderr(), "offshoot: {}", sanitize::block(text));
}
