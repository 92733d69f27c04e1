//! The roles that people keep in Markdown files: the user's own, then the project's, which only count
//! while the user trusts them. A file that is of no use is named and passed over; it refuses to let
//! one bad file keep the program from starting.

use std::path::{Path, PathBuf};

use super::project::Project;
use super::{Remark, file};
use crate::domain::budget::Preset;
use crate::domain::event::Level;
use crate::domain::role::RoleTable;
use crate::domain::role_file::{RoleFile, RoleSource};

/// Where a project keeps its own.
const OF_PROJECT: &str = ".offshoot/agents/";
/// Files that are read in a folder.
const MOST_FILES: usize = 100;

/// All of them, in the order in which they count. `folder` is the user's own.
pub(super) fn read_all(
    folder: Option<&Path>,
    project: &Project<'_>,
    preset: Preset,
    remarks: &mut Vec<Remark>,
) -> Vec<RoleFile> {
    let mut roles = Vec::new();
    let mut found = folder.map(|folder| of_user(folder, remarks)).unwrap_or_default();
    if project.trusted {
        let own = project.files.iter().filter(|file| is_in(&file.path));
        found.extend(own.map(|own| (RoleSource::Project(own.path.clone()), own.text.clone())));
    }
    for (source, text) in found {
        let mut doubts = Vec::new();
        let parsed = text.and_then(|text| RoleFile::parse(&text, source.clone(), &mut doubts));
        remarks.extend(doubts.iter().map(|doubt| remark(&source, doubt)));
        match parsed.and_then(|role| new_among(&roles, role)) {
            Ok(role) => roles.push(role),
            Err(why) => remarks.push(remark(&source, &format!("it is passed over: {why}"))),
        }
    }
    let mut doubts = Vec::new();
    RoleTable::with_files(preset, &roles, &mut doubts);
    remarks.extend(doubts.iter().map(|(source, doubt)| remark(source, doubt)));
    roles
}

fn is_in(path: &str) -> bool {
    path.starts_with(OF_PROJECT) || path == OF_PROJECT.trim_end_matches('/')
}

type Found = (RoleSource, Result<String, String>);

/// The Markdown files of the user's folder, by name.
fn of_user(folder: &Path, remarks: &mut Vec<Remark>) -> Vec<Found> {
    let source = |path: &Path| RoleSource::User(path.display().to_string());
    // No folder is no roles; one that cannot be listed is said below by name where it matters.
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            remarks.push(remark(&source(folder), &error.to_string()));
            return Vec::new();
        }
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    paths.sort_unstable();
    if paths.len() > MOST_FILES {
        let more = format!("{} more files are there, which are not read", paths.len() - MOST_FILES);
        remarks.push(remark(&source(folder), &more));
        paths.truncate(MOST_FILES);
    }
    let read = |path: &PathBuf| {
        let text = file::text_of(path).transpose()?;
        Some((source(path), text))
    };
    paths.iter().filter_map(read).collect()
}

/// The role, unless another file of the same kind has its name already.
fn new_among(roles: &[RoleFile], role: RoleFile) -> Result<RoleFile, String> {
    let same = |other: &&RoleFile| {
        let kind = std::mem::discriminant(&other.source) == std::mem::discriminant(&role.source);
        kind && other.name == role.name
    };
    match roles.iter().find(same).and_then(|other| other.source.file()) {
        Some(file) => Err(format!("{file} already describes the role {}", role.name)),
        None => Ok(role),
    }
}

fn remark(source: &RoleSource, words: &str) -> Remark {
    let file = source.file().unwrap_or_default();
    Remark {
        level: Level::Warning,
        code: "ROLE_FILE",
        text: format!("the role file {file}: {words}"),
    }
}
