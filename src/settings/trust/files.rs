//! The files with which a project speaks for itself: settings, roles and commands of its own. It
//! finds and reads them, bounded; it refuses to know what they say.

use std::path::Path;

use super::super::file;
use crate::domain::hash::Sha;

/// Files that are looked at in each folder; nobody reads more before saying yes.
const MOST_FILES: usize = 100;

/// Why a file is passed over that is not the project's.
pub(in crate::settings) const LEADS_OUT: &str = "it leads out of the project";

/// Folders whose Markdown files count.
const FOLDERS: [&str; 2] = ["agents", "commands"];

/// A project's own file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::settings) struct OwnFile {
    /// From the project's root, such as `.offshoot/config.toml`.
    pub path: String,
    /// What it holds, or why it cannot be read.
    pub text: Result<String, String>,
}

impl OwnFile {
    /// The hash of what it holds. What cannot be read has none that a readable file could have.
    pub fn sha256(&self) -> Sha {
        match &self.text {
            Ok(text) => Sha::of(text),
            Err(why) => Sha::of(format!("\0{why}")),
        }
    }

    /// What is shown of it.
    pub fn shown(&self) -> String {
        match &self.text {
            Ok(text) => text.clone(),
            Err(why) => format!("({why})\n"),
        }
    }
}

/// The project's own files, by name.
pub(in crate::settings) fn find(workspace: &Path) -> Vec<OwnFile> {
    let mut found = Vec::new();
    found.extend(read(workspace, ".offshoot/config.toml"));
    for folder in FOLDERS {
        let path = format!(".offshoot/{folder}");
        let mut names = markdown_in(&workspace.join(&path));
        names.sort_unstable();
        let more = names.len().saturating_sub(MOST_FILES);
        names.truncate(MOST_FILES);
        found.extend(names.iter().filter_map(|name| read(workspace, &format!("{path}/{name}"))));
        if more > 0 {
            let why = format!("{more} more files are there, which are not looked at");
            found.push(OwnFile { path, text: Err(why) });
        }
    }
    found
}

/// Names of Markdown files, undecodable bytes replaced: such a file is then not found and not read.
fn markdown_in(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    // What vanishes while it is listed is not there.
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let is_markdown =
        |name: &String| Path::new(name).extension().is_some_and(|ending| ending == "md");
    names.filter(is_markdown).collect()
}

/// The file, if there is one. A link that leads out of the project is named and not followed.
fn read(workspace: &Path, path: &str) -> Option<OwnFile> {
    let full = workspace.join(path);
    let real = full.canonicalize().ok()?;
    let text = if real.starts_with(workspace) {
        file::text_of(&real).transpose()?
    } else {
        Err(LEADS_OUT.to_owned())
    };
    Some(OwnFile { path: path.to_owned(), text })
}
