//! `--pin NAME=TEXT|@FILE`, `--pin-local` of the same form, and `--pin-secret NAME=@FILE`: texts that
//! tasks can choose as context, that stay on this machine, or that are kept from everyone. A secret's
//! text is never on the command line, where other programs and a shell's history could read it, and
//! no error repeats it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::SettingsError;
use crate::domain::context_store::{Sensitivity, key_problem};
use crate::domain::secret_value;

/// A pinned text has to fit into a child's prompt.
const MOST_BYTES: u64 = 1024 * 1024;

/// A text with a name.
#[derive(Clone, PartialEq, Eq)]
pub struct Pin {
    /// The key that tasks choose it by.
    pub name: String,
    /// Where it came from, in words.
    pub source: String,
    /// The text.
    pub text: String,
    /// Who may see it.
    pub sensitivity: Sensitivity,
}

impl std::fmt::Debug for Pin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pin({}, {} bytes, {:?})", self.name, self.text.len(), self.sensitivity)
    }
}

/// What was typed for each of the three flags.
#[derive(Debug, Clone, Copy)]
pub(super) struct Typed<'a> {
    pub(super) plain: &'a [String],
    pub(super) local: &'a [String],
    pub(super) secret: &'a [String],
}

/// All pins, by flag and in the order they were typed. Files are relative to `dir`.
pub(super) fn read_all(typed: Typed<'_>, dir: &Path) -> Result<Vec<Pin>, SettingsError> {
    let kinds = [
        (typed.plain, Sensitivity::Normal),
        (typed.local, Sensitivity::LocalOnly),
        (typed.secret, Sensitivity::Secret),
    ];
    let mut pins: Vec<Pin> = Vec::new();
    for (typed, sensitivity) in kinds {
        for typed in typed {
            let pin = read(typed, sensitivity, dir)?;
            if pins.iter().any(|other| other.name == pin.name) {
                let words = "is given twice; choose another name";
                return Err(usage(sensitivity, &pin.name, words));
            }
            pins.push(pin);
        }
    }
    Ok(pins)
}

fn read(typed: &str, sensitivity: Sensitivity, dir: &Path) -> Result<Pin, SettingsError> {
    let is_secret = sensitivity == Sensitivity::Secret;
    let Some((name, value)) = typed.split_once('=') else {
        let (shown, forms) =
            if is_secret { ("", "NAME=@FILE") } else { (typed, "NAME=TEXT or NAME=@FILE") };
        return Err(usage(sensitivity, shown, &format!("has no `=`; write {forms}")));
    };
    if is_secret && !value.starts_with('@') {
        // Not even the name is repeated: a key with a `=` in it may have been typed for both.
        let words = "takes a file alone, so that nobody reads the secret off the command line; \
                     write NAME=@FILE";
        return Err(usage(sensitivity, "", words));
    }
    if let Some(problem) = key_problem(name) {
        return Err(usage(sensitivity, name, problem));
    }
    let name = name.to_owned();
    let text = match value.strip_prefix('@') {
        Some(file) => contents(&dir.join(file)).map_err(|why| {
            usage(sensitivity, &name, &format!("cannot be read from {file}: {why}"))
        })?,
        None if value.trim().is_empty() => {
            return Err(usage(sensitivity, &name, "is blank; write NAME=TEXT"));
        }
        None => value.to_owned(),
    };
    if is_secret && secret_value::forms(&text).is_empty() {
        let words = "is too short: fewer than 8 characters cannot be told from ordinary words, and so \
                     not be kept secret";
        return Err(usage(sensitivity, &name, words));
    }
    let source = match value.strip_prefix('@') {
        Some(file) => format!("the user, from {file}"),
        None => "the user".to_owned(),
    };
    Ok(Pin { name, source, text, sensitivity })
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

fn usage(sensitivity: Sensitivity, name: &str, what: &str) -> SettingsError {
    let flag = match sensitivity {
        Sensitivity::Normal => "--pin",
        Sensitivity::LocalOnly => "--pin-local",
        Sensitivity::Secret => "--pin-secret",
    };
    let gap = if name.is_empty() { "" } else { " " };
    SettingsError::Usage(format!("{flag} {name}{gap}{what}"))
}
