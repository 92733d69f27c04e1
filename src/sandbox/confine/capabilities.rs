//! Takes every capability from the calling thread, for good. Root without them is a user that happens
//! to own the system's files; with some of them it can look past every other part of a fence.

use rustix::io::Errno;
use rustix::process::geteuid;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};

/// Drops them all, in every set, as far as what the thread starts is concerned. Works on a thread that
/// has none as well.
pub(super) fn drop_all() -> Result<(), String> {
    let failed = |error: Errno| format!("root's powers not dropped: {error}");
    let had = capabilities(None).map_err(failed)?;
    // Old kernels and some filters have no ambient set; an empty inheritable one empties it too.
    let _ = clear_ambient_capability_set();
    let bounded = if had.effective.contains(CapabilitySet::SETPCAP) {
        empty_bounding_set()
    } else {
        Err(Errno::PERM)
    };
    let none = CapabilitySet::empty();
    let sets = CapabilitySets { effective: none, permitted: none, inheritable: none };
    match set_capabilities(None, sets) {
        // What is started gets none through an empty bounding set, or if it is not root, unless it
        // inherits some.
        Err(_) if (bounded.is_ok() || !geteuid().is_root()) && had.inheritable.is_empty() => Ok(()),
        dropped => dropped.map_err(failed),
    }
}

/// Without it, running a program as root would give back what was dropped, were it not for
/// `no_new_privs`; both are done.
fn empty_bounding_set() -> Result<(), Errno> {
    for bit in 0..u64::BITS {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
            Ok(()) => {}
            // The first number that this kernel has no capability for.
            Err(Errno::INVAL) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
