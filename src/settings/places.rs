//! Where a session works and where it is kept.

use std::path::{Path, PathBuf};

use super::file;
use super::layers::{Layers, Origin};
use super::surroundings::{Env, variable};
use super::table::Key;
use super::value::Value;
use super::{Remark, SettingsError};
use crate::cli::Options;
use crate::domain::event::Level;

/// The folder to work in.
pub(super) fn workspace(typed: Option<&Path>, dir: &Path) -> Result<PathBuf, SettingsError> {
    let wanted = typed.map_or_else(|| dir.to_owned(), |typed| dir.join(typed));
    let failed = |why: String| {
        let shown = wanted.display();
        SettingsError::Workspace(format!(
            "cannot work in {shown}: {why}; give an existing folder with -C DIR"
        ))
    };
    let workspace = wanted.canonicalize().map_err(|error| failed(error.to_string()))?;
    if !workspace.is_dir() {
        return Err(failed("it is no folder".to_owned()));
    }
    std::fs::read_dir(&workspace).map_err(|error| failed(error.to_string()))?;
    Ok(workspace)
}

/// The user's configuration file, by the rules of the XDG base directories; it need not exist.
pub(super) fn users_file(env: &Env) -> Option<PathBuf> {
    xdg(env, "XDG_CONFIG_HOME", ".config").map(|folder| folder.join("offshoot/config.toml"))
}

/// The folder of the user's own roles; it need not exist.
pub(super) fn users_agents(env: &Env) -> Option<PathBuf> {
    xdg(env, "XDG_CONFIG_HOME", ".config").map(|folder| folder.join("offshoot/agents"))
}

/// A path that a user wrote in a setting of one path.
pub(super) fn written(layers: &Layers, key: Key, env: &Env, dir: &Path) -> Option<PathBuf> {
    layers.text(key).map(|text| at(text, layers.origin(key), env, dir))
}

/// A path that a user wrote: `~` is the home folder, the rest is relative to where it was written.
pub(super) fn at(text: &str, origin: &Origin, env: &Env, dir: &Path) -> PathBuf {
    let home = || variable(env, "HOME").map(Path::new);
    let below = if text == "~" { Some("") } else { text.strip_prefix("~/") };
    if let (Some(rest), Some(home)) = (below, home()) {
        return home.join(rest);
    }
    let folder = match origin {
        Origin::UserFile(place) | Origin::ProjectFile(place) => place.path.parent().unwrap_or(dir),
        Origin::Default | Origin::Variable(_) | Origin::Flag(_) | Origin::Together(_) => dir,
    };
    folder.join(text)
}

/// The certificates to trust besides the system's; an error if there is no such file.
pub(super) fn ca_file(
    layers: &Layers,
    env: &Env,
    dir: &Path,
) -> Result<Option<PathBuf>, SettingsError> {
    let Some(path) = written(layers, Key::CaFile, env, dir) else { return Ok(None) };
    let why = match file::text_of(&path) {
        Ok(Some(text)) if text.contains("-----BEGIN CERTIFICATE-----") => return Ok(Some(path)),
        Ok(Some(_)) => "it holds no PEM certificate".to_owned(),
        Ok(None) => "there is no such file".to_owned(),
        Err(why) => why,
    };
    let origin = layers.origin(Key::CaFile);
    let shown = path.display();
    Err(SettingsError::Usage(format!("cannot use ca_file {shown} ({origin}): {why}")))
}

fn xdg(env: &Env, name: &str, usual: &str) -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let set = variable(env, name).map(PathBuf::from).and_then(absolute);
    set.or_else(|| absolute(PathBuf::from(variable(env, "HOME")?)).map(|home| home.join(usual)))
}

/// The folder that the program keeps its own state in; it need not exist.
pub(super) fn state(env: &Env) -> Option<PathBuf> {
    xdg(env, "XDG_STATE_HOME", ".local/state").map(|folder| folder.join("offshoot"))
}

/// The folder that sessions are kept in.
pub(super) fn sessions(
    options: &Options,
    layers: &mut Layers,
    env: &Env,
    dir: &Path,
    remarks: &mut Vec<Remark>,
) -> Option<PathBuf> {
    if options.no_session {
        return None;
    }
    if let Some(typed) = &options.session_dir {
        let shown = Value::Text(typed.display().to_string());
        layers.set(Key::SessionDir, shown, Origin::Flag("--session-dir"));
        // The path itself may not be Unicode.
        return Some(dir.join(typed));
    }
    if let Some(folder) = written(layers, Key::SessionDir, env, dir) {
        return Some(folder);
    }
    let sessions = state(env).map(|folder| folder.join("sessions"));
    if sessions.is_none() {
        remarks.push(Remark {
            level: Level::Warning,
            code: "NOT_SAVED",
            text: "this session is not saved: neither HOME nor XDG_STATE_HOME names a folder; \
                   give one with --session-dir DIR"
                .to_owned(),
        });
    }
    sessions
}
