//! Path scopes: which part of the workspace, or of a folder that was added to it, a run may touch,
//! compared by path components.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a text is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScopeError {
    /// Blank.
    #[error("a path scope may not be blank; the whole workspace is written `.`")]
    Blank,
    /// Absolute, and nothing that could lie in an added folder.
    #[error("a path scope is relative to the workspace, `{0}` is absolute")]
    Absolute(String),
    /// Upwards.
    #[error("a path scope may not contain `..`: `{0}`")]
    Parent(String),
    /// A pattern that is not understood.
    #[error("only `dir`, `dir/**` and a file's path are understood as scopes, not `{0}`")]
    Pattern(String),
    /// A byte that no path holds.
    #[error("a path scope may not contain control characters")]
    Control,
}

impl ScopeError {
    /// What is wrong, without the text itself.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Blank => "is blank; the whole workspace is written `.`",
            Self::Absolute(_) => "is absolute, scopes are relative to the workspace",
            Self::Parent(_) => "contains `..`",
            Self::Pattern(_) => "is a pattern; only `dir`, `dir/**` and a file's path are scopes",
            Self::Control => "contains control characters",
        }
    }
}

/// Scopes as a list for prompts and refusals: `src, docs/a.md`.
pub fn in_words(scopes: &[PathScope]) -> String {
    if scopes.is_empty() {
        return "(nothing)".to_owned();
    }
    scopes.iter().map(PathScope::to_string).collect::<Vec<_>>().join(", ")
}

/// A subtree of the workspace, or one file: `src` and `src/**` are the same scope, `.` is all of the
/// workspace. An absolute one, `/abs/dir`, lies in a folder that was added to the workspace; whether
/// that is so is known to whoever holds the scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PathScope {
    absolute: bool,
    components: Vec<String>,
}

impl PathScope {
    /// The whole workspace.
    pub fn all() -> Self {
        Self { absolute: false, components: Vec::new() }
    }

    /// Reads `src`, `src/**`, `a/b.txt`, `.`, `**`, or `/abs/dir`.
    pub fn parse(text: &str) -> Result<Self, ScopeError> {
        if text.trim().is_empty() {
            return Err(ScopeError::Blank);
        }
        if text.chars().any(char::is_control) {
            return Err(ScopeError::Control);
        }
        let absolute = text.starts_with('/');
        if text.starts_with('\\') {
            return Err(ScopeError::Absolute(text.to_owned()));
        }
        let tree = text.strip_suffix("**").filter(|rest| rest.is_empty() || rest.ends_with('/'));
        let mut components = Vec::new();
        for part in tree.unwrap_or(text).split('/') {
            match part {
                "" | "." => {}
                ".." => return Err(ScopeError::Parent(text.to_owned())),
                part if part.contains(['*', '?', '[', '{']) => {
                    return Err(ScopeError::Pattern(text.to_owned()));
                }
                part => components.push(part.to_owned()),
            }
        }
        if absolute && components.is_empty() {
            // The whole file system is never added.
            return Err(ScopeError::Absolute(text.to_owned()));
        }
        Ok(Self { absolute, components })
    }

    /// True if it lies in an added folder and not in the workspace.
    pub fn is_absolute(&self) -> bool {
        self.absolute
    }

    /// The names from the workspace's root down, or from `/` if it is absolute; empty for the whole
    /// workspace.
    pub fn components(&self) -> &[String] {
        &self.components
    }

    /// True if everything in `other` is also in this scope.
    pub fn contains(&self, other: &Self) -> bool {
        other.absolute == self.absolute && other.components.starts_with(&self.components)
    }
}

impl fmt::Display for PathScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.components.is_empty() {
            return f.write_str(".");
        }
        let root = if self.absolute { "/" } else { "" };
        write!(f, "{root}{}", self.components.join("/"))
    }
}

impl TryFrom<String> for PathScope {
    type Error = ScopeError;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<PathScope> for String {
    fn from(scope: PathScope) -> Self {
        scope.to_string()
    }
}
