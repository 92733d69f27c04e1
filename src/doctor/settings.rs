//! Which files were read, and where each value comes from.

use super::finding::{Finding, Section};
use crate::domain::event::Level;
use crate::settings::{ConfigFile, Origin, Settings, Told};

/// Columns that a name and a value take before the next column begins.
const NAME_CELLS: usize = 22;
const VALUE_CELLS: usize = 30;

pub(super) fn examine(settings: &Settings) -> Section {
    let files = settings.files.iter().map(file);
    let remarks = settings.remarks.iter().map(|remark| match remark.level {
        Level::Info | Level::Warning => Finding::note(&remark.text),
        Level::Error => Finding::broken(&remark.text),
    });
    let set = settings.told.iter().filter(|told| told.value.is_some());
    let (chosen, usual): (Vec<&Told>, Vec<&Told>) =
        set.partition(|told| told.origin != Origin::Default);
    let rows = chosen.into_iter().chain(usual).map(row);
    Section::new("settings", files.chain(remarks).chain(rows).collect())
}

fn file(file: &ConfigFile) -> Finding {
    let path = file.path.display();
    match (file.found, file.of_project) {
        (true, false) => Finding::fine(format!("{path}: read")),
        (true, true) => Finding::fine(format!("{path}: read; a project's file can only narrow")),
        (false, false) => Finding::note(format!("{path}: not there, which is fine")),
        (false, true) => Finding::note(format!("{path}: not there")),
    }
}

fn row(told: &Told) -> Finding {
    let (name, value) = (told.key.name(), told.value.as_deref().unwrap_or_default());
    Finding::row(format!("{name:NAME_CELLS$} {value:VALUE_CELLS$} {}", told.origin))
}
