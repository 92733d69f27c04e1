//! What a path argument means for a run that may see only parts of the workspace.

use std::borrow::Cow;

use crate::domain::scope::PathScope;
use crate::workspace::Workspace;
use crate::workspace::jail::JailError;
use crate::workspace::scope::{self, Reach};

/// The places that a listing or a search starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// One place.
    Place(String),
    /// The run's own scopes, as far as they lie below the folder that was asked for: of the folder
    /// itself the run may see nothing else.
    Scopes(Vec<String>),
}

impl Target {
    /// Reads a path argument; none means the whole workspace.
    pub fn of(
        workspace: &Workspace,
        scopes: &[PathScope],
        path: Option<&str>,
    ) -> Result<Self, JailError> {
        let path = workspace.normalise(path.unwrap_or("."))?;
        match scope::reach(scopes, &path) {
            Reach::Inside(_) => Ok(Self::Place(path)),
            Reach::Above(below) => Ok(Self::Scopes(below)),
            Reach::Outside => {
                let path = crate::workspace::path::printable(&path);
                Err(JailError::OutOfScope { path, scopes: scope::in_words(scopes) })
            }
        }
    }

    /// The paths to start from.
    pub fn paths(&self) -> &[String] {
        match self {
            Self::Place(path) => std::slice::from_ref(path),
            Self::Scopes(paths) => paths,
        }
    }

    /// In words, for a result.
    pub fn in_words(&self) -> Cow<'static, str> {
        match self {
            Self::Place(path) if path == "." => Cow::Borrowed("the workspace"),
            Self::Place(path) => {
                Cow::Owned(format!("`{}`", crate::workspace::path::printable(path)))
            }
            Self::Scopes(_) => Cow::Borrowed("the parts of the workspace that this run may see"),
        }
    }
}
