//! What a process of ours does to itself first thing: it keeps its memory and environment from being
//! read, and takes in what the processes below it leave behind. Where the system has no such thing,
//! nothing is done.

/// Makes this program's memory and environment unreadable to commands, and lets it adopt what a
/// helper that was killed leaves behind. To be called first thing in `main`: each new program image
/// starts without. What the system refuses is left as it is, and shows in the fence's level.
#[cfg(target_os = "linux")]
pub fn harden() {
    use rustix::process::{DumpableBehavior, getpid, set_child_subreaper, set_dumpable_behavior};
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let _ = set_child_subreaper(Some(getpid()));
}

/// Does nothing here: the system has neither.
#[cfg(not(target_os = "linux"))]
pub fn harden() {}

/// True if what helpers leave behind comes to this process.
#[cfg(target_os = "linux")]
pub(super) fn adopts() -> bool {
    matches!(rustix::process::child_subreaper(), Ok(Some(_)))
}
