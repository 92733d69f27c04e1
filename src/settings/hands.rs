//! What runs may do and touch: the permission mode and who is asked, rules about calls, folders
//! beside the workspace, and what commands get. It checks what was written, and refuses to know how
//! any of it is held.

use std::path::{Path, PathBuf};

use super::layers::{Layers, Listed, Origin, warning};
use super::places::at;
use super::surroundings::Env;
use super::table::Key;
use super::{Remark, SettingsError};
use crate::cli::{Approve, Options};
use crate::domain::approval::{ApprovePolicy, Asker, Mode};
use crate::domain::preflight::PreflightPolicy;
use crate::domain::rules::{Rule, RuleError, Rules};

/// What runs may do and touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hands {
    /// What may be done without asking.
    pub mode: Mode,
    /// Whether delegations are asked about.
    pub preflight: PreflightPolicy,
    /// Who is asked.
    pub asker: Asker,
    /// What is allowed, asked about and denied by name.
    pub rules: Rules,
    /// Folders beside the workspace, absolute, without links, none inside of another or of it.
    pub add_dirs: Vec<PathBuf>,
    /// The user's own command for the tests; never a project's.
    pub test_command: Option<String>,
    /// What commands may touch beside the workspace.
    pub fence: FenceWishes,
    /// Names of variables that commands get beside the usual ones.
    pub pass: Vec<String>,
}

/// What the user opens in the fence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FenceWishes {
    /// Files and folders that commands may read, absolute.
    pub readable: Vec<PathBuf>,
    /// Files and folders that commands may read and change, absolute.
    pub writable: Vec<PathBuf>,
    /// True if commands may reach the network.
    pub network: bool,
}

impl Hands {
    pub(super) fn new(
        layers: &Layers,
        options: &Options,
        ground: Ground<'_>,
        remarks: &mut Vec<Remark>,
    ) -> Result<Self, SettingsError> {
        let mode = layers.text(Key::PermissionMode).and_then(Mode::from_name).unwrap_or_default();
        let asker = if ground.on_screen {
            Asker::Person
        } else {
            Asker::Nobody(options.approve.map_or_else(ApprovePolicy::default, policy))
        };
        let fence = FenceWishes {
            readable: places(layers, Key::FenceRead, ground, remarks),
            writable: places(layers, Key::FenceWrite, ground, remarks),
            network: layers.switch(Key::FenceNetwork),
        };
        if layers.text(Key::FenceUnix) == Some("workspace") {
            remarks.push(warning(format!(
                "{}: fence.unix = workspace has no effect: this version denies sockets of the file system \
                 to every command",
                layers.origin(Key::FenceUnix)
            )));
        }
        let pass = layers.lists(Key::EnvironmentPass).flat_map(|part| part.items.clone());
        let preflight = layers.text(Key::DelegationPreflight);
        Ok(Self {
            mode,
            preflight: preflight.and_then(PreflightPolicy::from_name).unwrap_or_default(),
            asker,
            rules: rules(layers, remarks)?,
            add_dirs: add_dirs(layers, options, ground, remarks)?,
            test_command: layers.text(Key::TestCommand).map(str::to_owned),
            fence,
            pass: pass.collect(),
        })
    }
}

/// Where written paths begin, and who is there to be asked.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground<'a> {
    pub env: &'a Env,
    pub current_dir: &'a Path,
    /// Absolute and without links.
    pub workspace: &'a Path,
    pub on_screen: bool,
}

fn policy(approve: Approve) -> ApprovePolicy {
    match approve {
        Approve::Never => ApprovePolicy::Never,
        Approve::Edits => ApprovePolicy::Edits,
        Approve::All => ApprovePolicy::All,
    }
}

/// All rules of all files. One that cannot be read is an error in the user's own file, where it
/// could be a denial that would silently be missing, and is ignored in a project's.
fn rules(layers: &Layers, remarks: &mut Vec<Remark>) -> Result<Rules, SettingsError> {
    let mut read = |key| -> Result<Vec<Rule>, SettingsError> {
        let mut rules = Vec::new();
        for part in layers.lists(key) {
            for item in &part.items {
                match (Rule::parse(item), &part.origin) {
                    (Ok(rule), _) => rules.push(rule),
                    (Err(error), Origin::ProjectFile(_)) => {
                        remarks.push(warning(format!("{}, so it is ignored", ill(part, &error))));
                    }
                    (Err(error), _) => return Err(SettingsError::Usage(ill(part, &error))),
                }
            }
        }
        Ok(rules)
    };
    Ok(Rules {
        allow: read(Key::PermissionsAllow)?,
        ask: read(Key::PermissionsAsk)?,
        deny: read(Key::PermissionsDeny)?,
    })
}

fn ill(part: &Listed, error: &RuleError) -> String {
    format!("{}: {error}", part.origin)
}

/// Places of a list as absolute paths; one that is not there is told and left out.
fn places(
    layers: &Layers,
    key: Key,
    ground: Ground<'_>,
    remarks: &mut Vec<Remark>,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for part in layers.lists(key) {
        for item in &part.items {
            let written = at(item, &part.origin, ground.env, ground.current_dir);
            match written.canonicalize() {
                Ok(place) if !found.contains(&place) => found.push(place),
                Ok(_) => {}
                Err(error) => remarks.push(warning(format!(
                    "{}: {} {item} is left out: {error}",
                    part.origin,
                    key.name()
                ))),
            }
        }
    }
    found
}

/// The folders beside the workspace. A typed one has to be there; a configured one may be missing
/// on this machine, which is told.
fn add_dirs(
    layers: &Layers,
    options: &Options,
    ground: Ground<'_>,
    remarks: &mut Vec<Remark>,
) -> Result<Vec<PathBuf>, SettingsError> {
    let mut found: Vec<PathBuf> = Vec::new();
    for part in layers.lists(Key::AddDirs).filter(|part| !matches!(part.origin, Origin::Flag(_))) {
        for item in &part.items {
            let written = at(item, &part.origin, ground.env, ground.current_dir);
            match folder(&written) {
                Ok(folder) => found.push(folder),
                Err(why) => remarks
                    .push(warning(format!("{}: add_dirs {item} is left out: {why}", part.origin))),
            }
        }
    }
    for typed in &options.add_dir {
        let folder = folder(&ground.current_dir.join(typed)).map_err(|why| {
            SettingsError::Workspace(format!(
                "cannot add {}: {why}; give an existing folder with --add-dir DIR",
                typed.display()
            ))
        })?;
        found.push(folder);
    }
    Ok(outermost(found, ground.workspace))
}

fn folder(path: &Path) -> Result<PathBuf, String> {
    let real = path.canonicalize().map_err(|error| error.to_string())?;
    if !real.is_dir() {
        return Err("it is no folder".to_owned());
    }
    std::fs::read_dir(&real).map_err(|error| error.to_string())?;
    Ok(real)
}

/// Without those that lie in the workspace or in another one: they are there already.
fn outermost(folders: Vec<PathBuf>, workspace: &Path) -> Vec<PathBuf> {
    let mut kept: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let there = |other: &Path| folder.starts_with(other);
        if there(workspace) || kept.iter().any(|other| there(other)) {
            continue;
        }
        kept.retain(|other| !other.starts_with(&folder));
        kept.push(folder);
    }
    kept
}
