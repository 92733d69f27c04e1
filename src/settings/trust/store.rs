//! What the user said of which folder's own files, kept in the program's state folder: for each
//! folder the answer and the files as they were then. Plain reading and writing; it decides nothing.

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::domain::hash::Sha;

/// A store larger than this was not written by this program.
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Folders that are remembered, the newest.
const MOST_FOLDERS: usize = 200;
/// Bytes of a file's text that are remembered for a later diff; of a longer one only the hash is.
const MOST_TEXT: usize = 64 * 1024;
const VERSION: u32 = 1;

/// Why an answer cannot be kept, or an earlier one cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum StoreError {
    /// It is there and cannot be read.
    #[error("the list of trusted folders {} cannot be read: {why}", path.display())]
    Unreadable { path: PathBuf, why: String },
    /// It cannot be written.
    #[error("the answer cannot be kept in {}: {why}", path.display())]
    Unwritable { path: PathBuf, why: String },
}

/// All folders, the newest last.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Store {
    v: u32,
    folders: Vec<Answered>,
}

/// What was said of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Answered {
    /// Absolute, without links.
    pub folder: String,
    /// The answer.
    pub trusted: bool,
    /// The files it was about.
    pub files: Vec<Remembered>,
}

/// A file as it was when the answer was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Remembered {
    pub path: String,
    pub sha256: Sha,
    /// What it held; none if that was too long to keep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl Remembered {
    pub fn new(path: &str, sha256: Sha, text: String) -> Self {
        let text = (text.len() <= MOST_TEXT).then_some(text);
        Self { path: path.to_owned(), sha256, text }
    }
}

impl Store {
    /// Reads it; an empty one if there is none.
    pub fn load(path: &Path) -> Result<Self, StoreError> {
        let failed = |why: String| StoreError::Unreadable { path: path.to_owned(), why };
        let meta = match fs::metadata(path) {
            Ok(meta) => meta,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(failed(error.to_string())),
        };
        if !meta.is_file() || meta.len() > MOST_BYTES {
            return Err(failed("it is no file that offshoot wrote".to_owned()));
        }
        let text = fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let store: Self = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        if store.v > VERSION {
            return Err(failed("a newer offshoot wrote it".to_owned()));
        }
        Ok(store)
    }

    /// What was said of this folder.
    pub fn answer(&self, folder: &str) -> Option<&Answered> {
        self.folders.iter().find(|answered| answered.folder == folder)
    }

    /// Adds an answer to what is on disk now. A store that cannot be read is moved aside, so that
    /// one bad byte does not ask about every folder for ever.
    pub fn remember(path: &Path, answered: Answered) -> Result<(), StoreError> {
        let failed = |error: io::Error| StoreError::Unwritable {
            path: path.to_owned(),
            why: error.to_string(),
        };
        let mut store = if let Ok(store) = Self::load(path) {
            store
        } else {
            fs::rename(path, path.with_extension("json.broken")).map_err(failed)?;
            Self::default()
        };
        store.v = VERSION;
        store.folders.retain(|other| other.folder != answered.folder);
        store.folders.push(answered);
        let surplus = store.folders.len().saturating_sub(MOST_FOLDERS);
        store.folders.drain(..surplus);
        store.write(path).map_err(failed)
    }

    /// All or nothing, for the user's eyes only.
    fn write(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("."));
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }
}
