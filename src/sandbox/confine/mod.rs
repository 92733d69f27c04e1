//! Holds a process and a thread to a policy, with whatever the system has for it, and says what it
//! could not do. It starts nothing and ends nothing.
//!
//! [`enter_namespaces`] is for the helper as a whole, while it still has one thread. [`apply`] is for
//! the one short-lived thread that then starts the command: what it takes away it takes from that
//! thread and from what the thread starts, never from the helper, which has to stay out of reach.

#[cfg(target_os = "linux")]
mod capabilities;
#[cfg(target_os = "linux")]
mod denied;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod namespaces;
#[cfg(target_os = "linux")]
mod others;
#[cfg(target_os = "linux")]
mod seccomp;

use serde::{Deserialize, Serialize};

use crate::domain::fence::FenceLevel;
use crate::sandbox::policy::Policy;

/// How the namespaces turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Namespaces {
    /// They were not asked for.
    Unwanted,
    /// The system does not give them; nothing has changed.
    Refused,
    /// The helper is in namespaces of its own.
    Inside,
    /// The helper is in namespaces that could not be furnished, and there is no way back out of them.
    /// It must end, and another one be started without.
    HalfWay,
}

/// What the helper got into.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entered {
    /// How it turned out.
    pub namespaces: Namespaces,
    /// True if there is a network that belongs to the command alone, with a loopback that is up.
    pub own_network: bool,
    /// True if `/dev/shm` belongs to the command alone.
    pub shared_memory: bool,
    /// True if there are pseudo-terminals that belong to the command alone.
    pub terminals: bool,
    /// What could not be had, in words.
    pub notes: Vec<String>,
}

impl Entered {
    fn without(namespaces: Namespaces, note: Option<String>) -> Self {
        let notes = note.into_iter().collect();
        Self { namespaces, own_network: false, shared_memory: false, terminals: false, notes }
    }
}

/// What a thread was held to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applied {
    /// The version of Landlock that is effective; 0 if there is none.
    pub landlock: u8,
    /// True if system calls are filtered.
    pub system_calls: bool,
    /// True if no capability is left, nor can be had again.
    pub capabilities_dropped: bool,
    /// What the helper had got into.
    pub entered: Entered,
    /// What could not be had or was passed over, in words.
    pub notes: Vec<String>,
}

impl Applied {
    /// The step that this makes by what is known of its parts. What was found by trying is worth
    /// more: see [`probe`](crate::sandbox::probe).
    pub fn level(&self) -> FenceLevel {
        if self.landlock >= FIRST_WITH_SIGNALS && self.system_calls && self.capabilities_dropped {
            FenceLevel::Fenced
        } else if self.landlock > 0 || self.system_calls {
            FenceLevel::Partial
        } else {
            FenceLevel::Unfenced
        }
    }
}

/// The first version of Landlock that holds back signals and abstract sockets.
const FIRST_WITH_SIGNALS: u8 = 6;

/// Why a command must not be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum ConfineError {
    /// It could gain privileges by running a program that has them.
    #[error("cannot keep the command from gaining privileges: {0}")]
    NewPrivileges(String),
    /// See [`Namespaces::HalfWay`].
    #[error("got into namespaces that could not be furnished; run again without them: {0}")]
    HalfWay(String),
    /// Less could be had than whoever allowed the command was told.
    #[error("the command was allowed `{promised}` and could only be run `{had}`: {missing}")]
    LessThanPromised {
        /// What was told.
        promised: FenceLevel,
        /// What could be had.
        had: FenceLevel,
        /// Why, in words.
        missing: String,
    },
}

/// Gets this process into namespaces of its own as far as the policy wants them and the system gives
/// them. It must have one thread only. It is left non-dumpable.
pub fn enter_namespaces(policy: &Policy) -> Entered {
    if !policy.namespaces {
        return Entered::without(Namespaces::Unwanted, None);
    }
    #[cfg(target_os = "linux")]
    return namespaces::enter(policy);
    #[cfg(not(target_os = "linux"))]
    Entered::without(Namespaces::Refused, Some("this system has no namespaces".to_owned()))
}

/// Holds the calling thread, and what it starts from now on, to the policy. There is no way back.
///
/// What the system does not have is left out and named. It is an error, and nothing may be started
/// from this thread, if that makes less than the policy promises.
pub fn apply(policy: &Policy, entered: &Entered) -> Result<Applied, ConfineError> {
    if entered.namespaces == Namespaces::HalfWay {
        return Err(ConfineError::HalfWay(entered.notes.join("; ")));
    }
    let applied = hold(policy, entered)?;
    let had = applied.level();
    if had < policy.promised {
        let missing = applied.notes.join("; ");
        return Err(ConfineError::LessThanPromised { promised: policy.promised, had, missing });
    }
    Ok(applied)
}

#[cfg(target_os = "linux")]
fn hold(policy: &Policy, entered: &Entered) -> Result<Applied, ConfineError> {
    rustix::thread::set_no_new_privs(true)
        .map_err(|error| ConfineError::NewPrivileges(error.to_string()))?;
    let mut notes = Vec::new();
    let capabilities_dropped = noted(capabilities::drop_all(), &mut notes).is_some();
    let landlock = noted(landlock::restrict(policy, entered, &mut notes), &mut notes).unwrap_or(0);
    let calls = seccomp::Calls::new(policy, entered, landlock);
    let system_calls = noted(calls.filter(), &mut notes).is_some();
    Ok(Applied { landlock, system_calls, capabilities_dropped, entered: entered.clone(), notes })
}

#[cfg(not(target_os = "linux"))]
fn hold(_policy: &Policy, _entered: &Entered) -> Result<Applied, ConfineError> {
    Ok(Applied::nothing("this system has no fence"))
}

/// True if internet sockets may be opened: to anywhere, or in a network that leads nowhere.
#[cfg(target_os = "linux")]
fn opens_inet(policy: &Policy, entered: &Entered) -> bool {
    policy.network || entered.own_network
}

/// What came out of a step; what went wrong with it becomes a note.
#[cfg(target_os = "linux")]
fn noted<T>(step: Result<T, String>, notes: &mut Vec<String>) -> Option<T> {
    step.map_err(|why| notes.push(why)).ok()
}
