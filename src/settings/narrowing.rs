//! What a project's file may do: lower a number or a word, make calls harder, choose how things look.
//! Whatever it says beyond that is ignored with a warning, since a folder that somebody opens must
//! neither widen anything nor keep the program from starting.

use std::path::Path;

use super::file::{self, Entry};
use super::layers::{Layers, Origin, unknown, warning};
use super::limits;
use super::table::{Key, Project, Row};
use super::value::{Kind, Value};
use super::{Remark, SettingsError};

impl Layers {
    /// Reads the text of a project's file. What only changes how things look holds if the user
    /// trusts the project's files; what narrows holds in any case.
    pub fn project_file(
        &mut self,
        path: &Path,
        text: &str,
        trusted: bool,
        remarks: &mut Vec<Remark>,
    ) -> Result<(), SettingsError> {
        let mut entries = file::entries(text, path)?;
        // The preset decides what the numbers are compared with.
        entries.sort_by_key(
            |entry| !matches!(entry, Entry::Known { row, .. } if row.key == Key::BudgetPreset),
        );
        for entry in entries {
            match entry {
                Entry::Known { row, value, place } => match self.taken(row, value, trusted) {
                    Ok(value) => self.set(row.key, value, Origin::ProjectFile(place)),
                    Err(why) => remarks.push(warning(format!("{place}: {why}"))),
                },
                Entry::Unknown { name, place } => remarks.push(unknown(&name, &place)),
            }
        }
        Ok(())
    }

    /// The value, if the project may set it; else why not, in words.
    fn taken(&self, row: &Row, value: Option<Value>, trusted: bool) -> Result<Value, String> {
        let name = row.name;
        let Some(value) = value else {
            return match row.project {
                Project::Never => Err(not_for_projects(name)),
                Project::Freely | Project::Lower | Project::Add => {
                    Err(format!("{name} takes {}, so it is ignored", row.kind.takes()))
                }
            };
        };
        match row.project {
            Project::Never => Err(not_for_projects(name)),
            Project::Freely if !trusted => {
                Err(format!("{name} is ignored as long as this project's files are not trusted"))
            }
            Project::Lower if !self.is_narrower(row, &value) => Err(format!(
                "{name} = {} would not narrow what holds without it; a project's file can only \
                 narrow, so it is ignored",
                value.shown()
            )),
            Project::Freely | Project::Lower | Project::Add => Ok(value),
        }
    }

    fn is_narrower(&self, row: &Row, value: &Value) -> bool {
        match (row.kind, value, self.value(row.key)) {
            (Kind::Choice(words), Value::Text(wanted), Some(Value::Text(held))) => {
                let rank = |word: &String| words.iter().position(|other| other == word);
                rank(wanted) <= rank(held)
            }
            (_, wanted, held) => {
                let preset = || limits::of_preset(self.text(Key::BudgetPreset), row.key);
                let held = held.and_then(Value::size).or_else(preset).unwrap_or(f64::INFINITY);
                wanted.size().is_some_and(|wanted| wanted <= held)
            }
        }
    }
}

fn not_for_projects(name: &str) -> String {
    format!("a project's file cannot set {name}, so it is ignored; set it in your own config.toml")
}
