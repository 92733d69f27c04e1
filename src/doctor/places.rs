//! The folder to work in and the folder that sessions are kept in.

use std::path::Path;

use rustix::fs::{Access, access};

use super::finding::{Finding, Section};
use crate::settings::Settings;
use crate::workspace::Workspace;

pub(super) fn workspace(settings: &Settings) -> Section {
    let path = settings.workspace.display();
    let finding = match Workspace::open(&settings.workspace) {
        Ok(workspace) => {
            let branch = workspace.branch().map_or_else(String::new, |name| format!(" ({name})"));
            Finding::fine(format!("{path}{branch} can be read"))
        }
        Err(error) => Finding::broken(error.to_string()),
    };
    Section::new("workspace", vec![finding])
}

pub(super) fn sessions(settings: &Settings) -> Section {
    let finding = match &settings.sessions {
        None => Finding::note("nothing is kept"),
        Some(folder) => kept_in(folder),
    };
    Section::new("sessions", vec![finding])
}

/// Nothing is made to find out.
fn kept_in(folder: &Path) -> Finding {
    let shown = folder.display();
    let there = folder.ancestors().find(|path| path.exists());
    let writable =
        there.is_some_and(|path| path.is_dir() && access(path, Access::WRITE_OK).is_ok());
    if writable {
        return Finding::fine(format!("are kept in {shown}"));
    }
    Finding::note(format!(
        "cannot be kept in {shown}: {} cannot be written to; give another folder with \
         --session-dir DIR, or --no-session. Answers come all the same",
        there.unwrap_or(folder).display()
    ))
}
