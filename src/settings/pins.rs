//! `--pin NAME=TEXT` and `--pin NAME=@FILE`: texts that tasks can choose as context.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::SettingsError;

/// A pinned text has to fit into a child's prompt.
const MOST_BYTES: u64 = 1024 * 1024;
const LONGEST_NAME: usize = 64;

/// A text with a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// The key that tasks choose it by.
    pub name: String,
    /// Where it came from, in words.
    pub source: String,
    /// The text.
    pub text: String,
}

/// All pins, in the order they were typed. Files are relative to `dir`.
pub(super) fn read_all(typed: &[String], dir: &Path) -> Result<Vec<Pin>, SettingsError> {
    let mut pins: Vec<Pin> = Vec::new();
    for typed in typed {
        let pin = read(typed, dir)?;
        if pins.iter().any(|other| other.name == pin.name) {
            return Err(usage(&pin.name, "is given twice; choose another name"));
        }
        pins.push(pin);
    }
    Ok(pins)
}

fn read(typed: &str, dir: &Path) -> Result<Pin, SettingsError> {
    let Some((name, value)) = typed.split_once('=') else {
        return Err(usage(typed, "has no `=`; write NAME=TEXT or NAME=@FILE"));
    };
    check_name(name)?;
    let name = name.to_owned();
    match value.strip_prefix('@') {
        Some(file) => {
            let text = contents(&dir.join(file))
                .map_err(|why| usage(&name, &format!("cannot be read from {file}: {why}")))?;
            Ok(Pin { source: format!("the user, from {file}"), name, text })
        }
        None if value.trim().is_empty() => Err(usage(&name, "is blank; write NAME=TEXT")),
        None => Ok(Pin { name, source: "the user".to_owned(), text: value.to_owned() }),
    }
}

/// The runtime's own keys are `request`, `request:1`, `rules` and `report:1`.
fn check_name(name: &str) -> Result<(), SettingsError> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.chars().count() > LONGEST_NAME || !name.chars().all(plain) {
        return Err(usage(
            name,
            "is no name: it takes 1 to 64 letters, digits, `_`, `-` and `.` before the `=`",
        ));
    }
    if matches!(name, "request" | "rules") {
        return Err(usage(name, "is a name that offshoot uses itself; choose another"));
    }
    Ok(())
}

fn contents(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let meta = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !meta.is_file() {
        return Err("it is no regular file".to_owned());
    }
    let file = File::open(path).map_err(|error| error.to_string())?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err("it is larger than 1 MiB".to_owned());
    }
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text".to_owned())?;
    if text.trim().is_empty() { Err("it is blank".to_owned()) } else { Ok(text) }
}

fn usage(name: &str, what: &str) -> SettingsError {
    SettingsError::Usage(format!("--pin {name} {what}"))
}
