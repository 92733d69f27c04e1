//! Where a session works and where it is kept.

use std::path::{Path, PathBuf};

use super::surroundings::{Env, variable};
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

/// The folder that sessions are kept in, by the rules of the XDG base directories.
pub(super) fn sessions(
    options: &Options,
    env: &Env,
    dir: &Path,
    remarks: &mut Vec<Remark>,
) -> Option<PathBuf> {
    if options.no_session {
        return None;
    }
    if let Some(typed) = &options.session_dir {
        return Some(dir.join(typed));
    }
    let state = variable(env, "XDG_STATE_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let home = || {
        let home = PathBuf::from(variable(env, "HOME")?);
        home.is_absolute().then(|| home.join(".local/state"))
    };
    let sessions = state.or_else(home).map(|state| state.join("offshoot/sessions"));
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
