//! When an event happened and where it comes from. Moments are numbers that are told to this module;
//! it reads no clock.

use std::time::{Duration, SystemTime};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ids::{RunId, TaskId};

/// The last ms of the year 9999, beyond which the written form has no room.
const LAST_MILLIS: u64 = 253_402_300_799_999;

/// A moment, in ms since 1970 UTC. Written as RFC 3339 with milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// How long after `earlier` this is, in ms; zero if it is not.
    pub fn millis_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = SystemTime::UNIX_EPOCH + Duration::from_millis(self.0.min(LAST_MILLIS));
        serializer.collect_str(&humantime::format_rfc3339_millis(time))
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        humantime::parse_rfc3339_weak(&text).map(Self::from).map_err(serde::de::Error::custom)
    }
}

/// Where an event comes from; all empty for a session event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// The run that delegated to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_run: Option<RunId>,
    /// The task it works on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Which try at the task, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
}

impl Origin {
    /// A session event.
    pub fn session() -> Self {
        Self::default()
    }

    /// A parent run.
    pub fn parent(run: RunId) -> Self {
        Self { run: Some(run), ..Self::default() }
    }

    /// A child run.
    pub fn child(run: RunId, parent_run: RunId, task: TaskId, attempt: u32) -> Self {
        Self {
            run: Some(run),
            parent_run: Some(parent_run),
            task: Some(task),
            attempt: Some(attempt),
        }
    }
}
