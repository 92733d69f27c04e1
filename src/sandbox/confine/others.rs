//! Whom a command must not send signals to where the kernel cannot tell its own processes from others:
//! offshoot and the helper, by every number that means them. It protects nobody else.

use std::collections::BTreeSet;
use std::fs;

use nix::unistd::{Pid, getpgid, getpid};

/// Numbers that a filter has room for.
pub(super) const MOST: usize = 40;

/// Numbers that a signal can be addressed to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Others {
    /// Processes and their threads as they are now: a signal to a thread's number reaches its process.
    /// No more than [`MOST`], the processes first.
    pub(super) ids: Vec<i32>,
    /// Their process groups.
    pub(super) groups: BTreeSet<i32>,
}

impl Others {
    /// The calling process and these.
    pub(super) fn of(protected: &[i32]) -> Self {
        let processes: BTreeSet<i32> =
            protected.iter().copied().chain([getpid().as_raw()]).collect();
        let groups = processes
            .iter()
            .filter_map(|process| getpgid(Some(Pid::from_raw(*process))).ok())
            .map(Pid::as_raw)
            // A group made outside this container has no number that a signal could be sent to.
            .filter(|group| *group > 0)
            .collect();
        let threads = processes.iter().flat_map(|process| threads(*process));
        let threads = threads.filter(|thread| !processes.contains(thread));
        let ids = processes.iter().copied().chain(threads).take(MOST).collect();
        Self { ids, groups }
    }
}

/// A process's threads, itself among them.
fn threads(process: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task"));
    let listed = tasks.into_iter().flatten().filter_map(Result::ok);
    listed.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}
