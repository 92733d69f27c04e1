//! Paths as models write them, read as text. What a path leads to is the jail's matter.

use std::borrow::Cow;
use std::path::{Component, Path};

/// Bytes that a path may have: what Linux takes, less the closing NUL.
pub const MAX_PATH_BYTES: usize = 4_095;

/// Why a text is no path of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// A NUL character.
    #[error("a path may not contain a NUL character")]
    Nul,
    /// Upwards.
    #[error("`{0}` contains `..`; write the path from the workspace's root instead")]
    Parent(String),
    /// An absolute path to somewhere else.
    #[error("`{0}` is outside of the workspace; paths are relative to the workspace's root")]
    Outside(String),
    /// More than any file system takes.
    #[error("the path has {0} bytes; no path has more than {MAX_PATH_BYTES}")]
    TooLong(usize),
}

/// Reads `text` as a path from the root; an absolute one is taken if it starts with one of `roots`,
/// compared by components.
pub(super) fn normalise(text: &str, roots: &[&Path]) -> Result<String, PathError> {
    if text.len() > MAX_PATH_BYTES {
        return Err(PathError::TooLong(text.len()));
    }
    if text.contains('\0') {
        return Err(PathError::Nul);
    }
    let path = Path::new(text);
    if path.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err(PathError::Parent(printable(text)));
    }
    let below = if path.is_absolute() {
        roots.iter().find_map(|root| path.strip_prefix(root).ok())
    } else {
        Some(path)
    };
    let below = below.ok_or_else(|| PathError::Outside(printable(text)))?;
    let mut names = Vec::new();
    for part in below.components() {
        match part {
            Component::Normal(name) => names.extend(name.to_str()),
            Component::CurDir => {}
            Component::ParentDir => return Err(PathError::Parent(printable(text))),
            Component::RootDir | Component::Prefix(_) => {
                return Err(PathError::Outside(printable(text)));
            }
        }
    }
    if names.is_empty() {
        return Ok(".".to_owned());
    }
    Ok(names.join("/"))
}

/// The names of a normalised path, from its root or from `/`; none for `.`.
pub fn components(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

/// `folder/name`, or `name` in the root; a name of `.` is the folder itself.
pub fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        (".", name) => name.to_owned(),
        (folder, ".") => folder.to_owned(),
        ("/", name) => format!("/{name}"),
        (folder, name) => format!("{folder}/{name}"),
    }
}

/// A name or path as it may stand in a line of text: control characters are escaped, so that a file
/// name cannot write lines of its own.
pub fn on_one_line(text: &str) -> Cow<'_, str> {
    let breaks = |character: char| character.is_control() || is_line_breaking(character);
    if !text.contains(breaks) {
        return Cow::Borrowed(text);
    }
    let mut line = String::new();
    for character in text.chars() {
        if breaks(character) {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    Cow::Owned(line)
}

/// A name or path as it may be quoted in a message: on one line, and cut after 200 characters.
pub fn printable(text: &str) -> String {
    const MAX_CHARS: usize = 200;
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", on_one_line(text.get(..end).unwrap_or_default())),
        None => on_one_line(text).into_owned(),
    }
}

/// Line and paragraph separators, and the marks that reorder what stands around them.
fn is_line_breaking(character: char) -> bool {
    matches!(character, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
