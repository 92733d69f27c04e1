//! From settings to a session's parts: opens the workspace, builds the provider and the files. The
//! only place that knows both what was asked for and what can be built.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use uuid::Uuid;

use super::{Config, Pin, RunLimits, Share};
use crate::domain::event::Timestamp;
use crate::domain::exit::Exit;
use crate::domain::ids::SessionId;
use crate::domain::role::Permission;
use crate::domain::scope::PathScope;
use crate::journal::jsonl::Journal;
use crate::provider::offline::Offline;
use crate::provider::openai::{self, OpenAi};
use crate::provider::retry::Patience;
use crate::provider::script::{Script, ScriptError};
use crate::provider::{Provider, ProviderError};
use crate::settings::{ProviderChoice, Settings, SettingsError};
use crate::tool::toolbox::Toolbox;
use crate::workspace::{Workspace, WorkspaceError};

/// The model that the chat-completions provider asks for where none is named.
const DEFAULT_MODEL: &str = "gpt-4.1-mini";
/// How long a server on this machine may be silent.
const LOCAL_WAIT: Duration = Duration::from_mins(5);
/// Without a raised limit the parent delegates and no child does.
const MAX_DEPTH: u32 = 1;

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
/// workspace; sends nothing.
pub fn config(settings: &Settings) -> Result<Config, SetupError> {
    let provider = provider(settings)?;
    let identity = provider.identity();
    let parent = settings.limits.parent_for(&identity.model, identity.prices.is_some())?;
    let id = SessionId(Uuid::now_v7());
    let pins = settings.pins.iter();
    let remarks = settings.remarks.iter();
    Ok(Config {
        id,
        switch: None,
        toolbox: Toolbox::standard(),
        workspace: Arc::new(Workspace::open(&settings.workspace)?),
        limits: RunLimits {
            preset: settings.limits.preset,
            parent,
            totals: settings.limits.totals,
            session_cost: settings.limits.session_cost(),
        },
        permissions: vec![Permission::Read, Permission::Delegate],
        paths: vec![PathScope::all()],
        max_depth: MAX_DEPTH,
        patience: patience(provider.identity().local),
        compact_at: Share::default(),
        more_roles: Vec::new(),
        timeout: settings.timeout,
        pins: pins.map(|pin| Pin { name: pin.name.clone(), text: pin.text.clone() }).collect(),
        secrets: settings.secret_texts(),
        journal: settings.sessions.as_deref().map(|folder| Journal::create(folder, id)),
        notices: remarks
            .map(|remark| (remark.level, remark.code.to_owned(), remark.text.clone()))
            .collect(),
        clock: Arc::new(|| Timestamp::from(SystemTime::now())),
        provider,
    })
}

/// A server on this machine may have to load a model and to read a long prompt on a slow processor
/// before it says anything, so it gets more time.
fn patience(local: bool) -> Patience {
    let patience = Patience::default();
    if local {
        return Patience { headers: LOCAL_WAIT, stall: LOCAL_WAIT, ..patience };
    }
    patience
}

fn provider(settings: &Settings) -> Result<Arc<dyn Provider>, SetupError> {
    Ok(match &settings.provider {
        ProviderChoice::Offline => Arc::new(Offline::new(settings.pace)),
        ProviderChoice::Script { path } => Arc::new(Script::load(path)?),
        ProviderChoice::OpenAi { base_url, key, model } => Arc::new(OpenAi::new(openai::Config {
            base_url: base_url.clone(),
            api_key: key.clone(),
            model: model.clone().unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            ..openai::Config::default()
        })?),
    })
}
