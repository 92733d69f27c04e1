//! What a command may do, as one line for the helper that holds it to it. It names places and rights;
//! it knows nothing of how a kernel is told to keep them.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::fence::FenceLevel;
use crate::sandbox::{Job, SandboxSettings, places};

/// What one command may do. Everything that is not named is refused as far as the system can.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Files and folders that it may read and change, absolute and canonical. They are opened without
    /// following any link, so that one that was swapped for a link meanwhile grants nothing.
    #[serde(with = "paths")]
    pub writable: Vec<PathBuf>,
    /// The same for what it may read only.
    #[serde(with = "paths")]
    pub readable: Vec<PathBuf>,
    /// The system's own places, to read and run; links are followed. See [`places::system`].
    #[serde(with = "paths")]
    pub system: Vec<PathBuf>,
    /// True if it may reach the network. It then gets no network of its own.
    pub network: bool,
    /// True if namespaces are to be tried.
    pub namespaces: bool,
    /// Processes that it must not disturb where the kernel cannot hold signals back by itself. The
    /// helper is added by itself.
    pub protected: Vec<i32>,
    /// What was promised to whoever allowed the command. If less than this can be had, it does not run.
    pub promised: FenceLevel,
}

impl Policy {
    /// The system's places and namespaces; no ground, no network, no promise.
    pub fn new() -> Self {
        Self {
            writable: Vec::new(),
            readable: Vec::new(),
            system: places::system(),
            network: false,
            namespaces: true,
            protected: Vec::new(),
            promised: FenceLevel::Unfenced,
        }
    }

    /// What this job may do in a session with these settings, and with these private folders. Looks
    /// where links in the settings lead to; a job's own grounds are taken as they are. Blocks.
    pub fn for_job(job: &Job, settings: &SandboxSettings, private: &[PathBuf]) -> Self {
        let mut writable = job.ground.writable.clone();
        writable.extend(private.iter().chain(&settings.writable).filter_map(|it| resolved(it)));
        let mut readable = job.ground.readable.clone();
        readable.extend(settings.readable.iter().filter_map(|it| resolved(it)));
        Self {
            writable,
            readable,
            network: job.network,
            protected: i32::try_from(std::process::id()).into_iter().collect(),
            ..Self::new()
        }
    }

    /// True if one of its grounds lies in this folder, or is it.
    pub fn has_ground_below(&self, folder: &Path) -> bool {
        self.writable.iter().chain(&self.readable).any(|ground| ground.starts_with(folder))
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::new()
    }
}

/// Where a place that a person named really is; none if it does not exist.
fn resolved(place: &Path) -> Option<PathBuf> {
    place.canonicalize().ok()
}

/// Paths as text where they are text, and as their bytes where they are not.
mod paths {
    use super::{
        Deserialize, Deserializer, OsStrExt, OsString, OsStringExt, PathBuf, Serialize, Serializer,
    };

    #[derive(Serialize, Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Bytes(Vec<u8>),
    }

    pub fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| match path.to_str() {
            Some(text) => Written::Text(text.to_owned()),
            None => Written::Bytes(path.as_os_str().as_bytes().to_vec()),
        }))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        let written = Vec::<Written>::deserialize(from)?;
        Ok(written
            .into_iter()
            .map(|path| match path {
                Written::Text(text) => PathBuf::from(text),
                Written::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes)),
            })
            .collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_policy_survives_the_way_to_the_helper_whatever_its_paths_are() {
        let odd = PathBuf::from(OsString::from_vec(b"/w/\xff\n\"x".to_vec()));
        let policy = Policy {
            writable: vec![odd, PathBuf::from("/tmp/子")],
            promised: FenceLevel::Partial,
            protected: vec![7],
            ..Policy::new()
        };
        let line = serde_json::to_string(&policy).unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<Policy>(&line).unwrap(), policy);
    }

    #[test]
    fn grounds_are_compared_by_whole_names() {
        let policy = Policy { readable: vec!["/dev/shm/w".into()], ..Policy::new() };
        assert!(policy.has_ground_below(Path::new("/dev/shm")));
        assert!(!policy.has_ground_below(Path::new("/dev/sh")));
    }
}
