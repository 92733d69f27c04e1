//! One configuration file: read, bounded, with the place of every setting in it. It knows which
//! names there are and what they take; it refuses to know which file may say what.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::SettingsError;
use super::table::{self, Row};
use super::value::Value;

/// A person writes no longer one.
const MOST_BYTES: u64 = 256 * 1024;

/// Where something stands in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// A name in a file.
#[derive(Debug)]
pub(super) enum Entry {
    /// A setting; no value if it holds something that does not fit.
    Known { row: &'static Row, value: Option<Value>, place: Place },
    /// No setting's name.
    Unknown { name: String, place: Place },
}

/// The text of a file; `None` if there is no such file.
pub(super) fn text_of(path: &Path) -> Result<Option<String>, String> {
    let meta = match std::fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if is_absence(error.kind()) => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if !meta.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("it is larger than 256 KiB".to_owned());
    }
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".to_owned())
}

fn is_absence(kind: std::io::ErrorKind) -> bool {
    matches!(kind, std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

/// All names in the text of a file, in its order.
pub(super) fn entries(text: &str, path: &Path) -> Result<Vec<Entry>, SettingsError> {
    let table = DeTable::parse(text).map_err(|error| {
        let place = place(text, path, error.span().unwrap_or_default());
        let what = error.message().replace('\n', "; ");
        SettingsError::Usage(format!("{place}: this is no TOML: {what}"))
    })?;
    let mut found = Vec::new();
    collect(table.get_ref(), "", &mut |name, span, value| {
        let place = place(text, path, span);
        found.push(match table::named(&name) {
            Some(row) => Entry::Known { row, value: row.kind.of_toml(value), place },
            None => Entry::Unknown { name, place },
        });
    });
    found.sort_by_key(|entry| match entry {
        Entry::Known { place, .. } | Entry::Unknown { place, .. } => (place.line, place.column),
    });
    Ok(found)
}

/// Walks through tables down to what is a setting or is no table.
fn collect(
    table: &DeTable<'_>,
    prefix: &str,
    found: &mut impl FnMut(String, Range<usize>, &DeValue<'_>),
) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) if table::has_table(&name) => {
                collect(inner, &format!("{name}."), found);
            }
            value => found(name, key.span(), value),
        }
    }
}

fn place(text: &str, path: &Path, span: Range<usize>) -> Place {
    let before = text.get(..span.start).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    Place {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}
