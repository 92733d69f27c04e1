//! From settings to a session's parts: opens the workspace, builds the provider and the files. The
//! only place that knows both what was asked for and what can be built.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use uuid::Uuid;

use super::{Config, KeepTrust, Pin, RunLimits, server};
use crate::domain::event::Timestamp;
use crate::domain::exit::Exit;
use crate::domain::ids::SessionId;
use crate::domain::role::Permission;
use crate::journal::jsonl::Journal;
use crate::provider::ProviderError;
use crate::provider::script::ScriptError;
use crate::sandbox::SandboxSettings;
use crate::settings::trust::Standing;
use crate::settings::{Hands, Settings, SettingsError};
use crate::tool::run_tests::RunTests;
use crate::tool::toolbox::Toolbox;
use crate::workspace::{Workspace, WorkspaceError};

/// Why a session cannot be set up, in one sentence each.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The settings do not fit what was found.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The folder to work in cannot be opened.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The script cannot be played.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The provider cannot be built.
    #[error(transparent)]
    Provider(#[from] ProviderError),
}

impl SetupError {
    /// The exit code that goes with it.
    pub fn exit(&self) -> Exit {
        match self {
            Self::Settings(error) => error.exit(),
            Self::Script(_) | Self::Provider(_) => Exit::Usage,
            Self::Workspace(_) => Exit::Failed,
        }
    }
}

/// The parts of the session that the settings describe. Reads the script file and opens the
/// workspace; sends nothing. Where nothing is configured, the session looks for a local Ollama once
/// it has started, so that no screen waits for that.
pub fn config(settings: &Settings) -> Result<Config, SetupError> {
    let plan = server::Plan::of(settings);
    let provider = plan.build()?;
    let identity = provider.identity();
    settings.limits.parent_for(&identity.model, identity.prices.is_some())?;
    let id = SessionId(Uuid::now_v7());
    let workspace = Workspace::open_with(&settings.workspace, &settings.hands.add_dirs)?;
    let workspace = Arc::new(workspace);
    let pins = settings.pins.iter();
    let remarks = settings.remarks.iter();
    Ok(Config {
        id,
        switch: plan.switch(),
        detect: plan.detect(),
        toolbox: toolbox(&settings.hands),
        paths: workspace.scopes(),
        workspace,
        limits: RunLimits {
            preset: settings.limits.preset,
            parent: settings.limits.parent,
            totals: settings.limits.totals,
            session_cost: settings.limits.session_cost(),
            cost_must_hold: settings.limits.cost_must_hold(),
        },
        permissions: permissions(&settings.hands),
        mode: settings.hands.mode,
        preflight: settings.hands.preflight,
        rules: settings.hands.rules.clone(),
        asker: settings.hands.asker,
        keep_trust: keep_trust(settings),
        test_command: settings.hands.test_command.clone(),
        fence: None,
        sandbox: sandbox(settings),
        max_depth: settings.limits.depth,
        patience: plan.patience(provider.identity().local),
        compact_at: server::share(settings.compact_at),
        role_files: settings.roles.clone(),
        more_roles: Vec::new(),
        timeout: settings.timeout,
        pins: pins.map(pinned).collect(),
        secrets: settings.secret_texts(),
        journal: settings.sessions.as_deref().map(|folder| Journal::create(folder, id)),
        notices: remarks
            .map(|remark| (remark.level, remark.code.to_owned(), remark.text.clone()))
            .collect(),
        clock: Arc::new(|| Timestamp::from(SystemTime::now())),
        provider,
    })
}

fn pinned(pin: &crate::settings::Pin) -> Pin {
    let crate::settings::Pin { name, source, text, sensitivity } = pin.clone();
    Pin { name, source, text, sensitivity }
}

/// What the parent may do in the freest mode; the mode of the moment takes some of it back at the
/// start of each run.
fn permissions(hands: &Hands) -> Vec<Permission> {
    let mut held = vec![
        Permission::Read,
        Permission::Write,
        Permission::Test,
        Permission::Execute,
        Permission::Delegate,
    ];
    if hands.fence.network {
        held.push(Permission::Network);
    }
    held
}

/// The built-in tools, with the user's own command for the tests where there is one.
fn toolbox(hands: &Hands) -> Toolbox {
    match &hands.test_command {
        Some(command) => Toolbox::standard().with(Arc::new(RunTests::new(Some(command.clone())))),
        None => Toolbox::standard(),
    }
}

/// How commands are run: below this very program, with what they get of the user's environment, and
/// with what the user opened for them.
fn sandbox(settings: &Settings) -> SandboxSettings {
    let Hands { fence, pass, .. } = &settings.hands;
    let mut sandbox = SandboxSettings::of_user(helper(), settings.variables.0.clone(), pass);
    sandbox.readable.extend(fence.readable.iter().cloned());
    sandbox.writable.extend(fence.writable.iter().cloned());
    sandbox
}

/// This program. On Linux by a name that also works once its file was replaced by a newer one.
fn helper() -> PathBuf {
    let linux = PathBuf::from("/proc/self/exe");
    if cfg!(target_os = "linux") {
        return linux;
    }
    std::env::current_exe().unwrap_or(linux)
}

fn keep_trust(settings: &Settings) -> Option<KeepTrust> {
    let trust = settings.trust.clone();
    match trust.standing {
        Standing::Nothing => None,
        Standing::Trusted | Standing::Refused | Standing::Asks => {
            Some(Arc::new(move |trusted| trust.answer(trusted)))
        }
    }
}
