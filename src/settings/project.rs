//! What a project says for itself, as it was read once: the same text is compared with what the user
//! trusted and taken as settings.

use std::path::Path;

use super::layers::{self, Layers};
use super::trust::{LEADS_OUT, OwnFile};
use super::{ConfigFile, Remark, SettingsError};

const CONFIG: &str = ".offshoot/config.toml";

/// A project's own files, and whether the user trusts them.
pub(super) struct Project<'a> {
    pub workspace: &'a Path,
    pub files: &'a [OwnFile],
    pub trusted: bool,
}

impl Project<'_> {
    /// Takes its settings as far as a project may have any.
    pub fn read(
        &self,
        layers: &mut Layers,
        remarks: &mut Vec<Remark>,
    ) -> Result<ConfigFile, SettingsError> {
        let path = self.workspace.join(CONFIG);
        let file = self.files.iter().find(|file| file.path == CONFIG);
        match file.map(|file| &file.text) {
            Some(Ok(text)) => layers.project_file(&path, text, self.trusted, remarks)?,
            Some(Err(why)) if why == LEADS_OUT => remarks.push(layers::warning(format!(
                "{} leads out of the project, so it is ignored",
                path.display()
            ))),
            // What it would have narrowed must not silently be missing.
            Some(Err(why)) => return Err(layers::unreadable(&path, why)),
            None => {}
        }
        let found = file.is_some_and(|file| file.text.is_ok());
        Ok(ConfigFile { path, found, of_project: true })
    }
}
