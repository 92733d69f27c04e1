//! Gets the helper into namespaces of its own: users, mounts, interprocess communication and, unless
//! the command may use the network, a network with nothing in it but a loopback. They make the common
//! things work that a bare fence breaks (servers on 127.0.0.1, shared memory) and void root's powers
//! outside. They restrict no file.

use std::fs;
use std::path::Path;

use nix::sched::{CloneFlags, unshare};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};

use super::{Entered, Namespaces};
use crate::sandbox::policy::Policy;

/// Where shared memory is by convention.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";
/// Where pseudo-terminals are, and what makes new ones.
pub(super) const TERMINALS: [&str; 2] = ["/dev/pts", "/dev/ptmx"];

/// Enters them, or says why not.
pub(super) fn enter(policy: &Policy) -> Entered {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut wanted = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC;
    if !policy.network {
        wanted |= CloneFlags::CLONE_NEWNET;
    }
    // One call for all: it gives everything or changes nothing.
    if let Err(error) = unshare(wanted) {
        let note = format!("no namespaces: unshare: {}", error.desc());
        return Entered::without(Namespaces::Refused, Some(note));
    }
    match furnish(policy, user, group) {
        Ok(entered) => entered,
        Err(why) => Entered::without(Namespaces::HalfWay, Some(why)),
    }
}

fn furnish(policy: &Policy, user: u32, group: u32) -> Result<Entered, String> {
    map_ids(user, group)?;
    // Nothing that is mounted here may show outside.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .map_err(|error| format!("namespaces: cannot make the mounts private: {error}"))?;
    let own_network = !policy.network;
    if own_network {
        loopback_up().map_err(|error| format!("namespaces: no loopback: {error}"))?;
    }
    let mut entered = Entered::without(Namespaces::Inside, None);
    entered.own_network = own_network;
    match private_shared_memory(policy) {
        Ok(()) => entered.shared_memory = true,
        Err(why) => entered.notes.push(why),
    }
    match private_terminals() {
        Ok(()) => entered.terminals = true,
        Err(why) => entered.notes.push(why),
    }
    Ok(entered)
}

/// Each id is mapped to itself, so that tools see their own user.
fn map_ids(user: u32, group: u32) -> Result<(), String> {
    // These files belong to root while a process is not dumpable. Getting new capabilities, as just
    // happened, makes it so as well.
    let dumpable = |behavior| {
        set_dumpable_behavior(behavior).map_err(|error| format!("namespaces: dumpable: {error}"))
    };
    dumpable(DumpableBehavior::Dumpable)?;
    let mapped = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ]
    .into_iter()
    .try_for_each(|(file, text)| {
        fs::write(file, text).map_err(|error| format!("namespaces: cannot write {file}: {error}"))
    });
    dumpable(DumpableBehavior::NotDumpable)?;
    mapped
}

/// A file system in memory that nobody else sees. One that hid a ground would do harm.
fn private_shared_memory(policy: &Policy) -> Result<(), String> {
    let place = Path::new(SHARED_MEMORY);
    if policy.has_ground_below(place) {
        return Err(format!("{SHARED_MEMORY} is not private: the command works in it"));
    }
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", place, "tmpfs", flags, c"mode=1777")
        .map_err(|error| format!("{SHARED_MEMORY} is not private: {error}"))
}

/// Pseudo-terminals of its own; the system's are those that the user types into.
fn private_terminals() -> Result<(), String> {
    let [terminals, _] = TERMINALS;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount("devpts", terminals, "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")
        .map_err(|error| format!("no private {terminals}: {error}"))
}

/// Asks the kernel, in the network that this process is in, to put its loopback up.
fn loopback_up() -> rustix::io::Result<()> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        None,
    )?;
    rustix::net::send(&socket, &set_loopback_up(), SendFlags::empty())?;
    let mut answer = [0_u8; 256];
    let (length, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    match acknowledged(&answer[..length.min(answer.len())]) {
        Some(0) => Ok(()),
        Some(error) => Err(rustix::io::Errno::from_raw_os_error(error.saturating_neg())),
        None => Err(rustix::io::Errno::BADMSG),
    }
}

/// The request, as rtnetlink(7) lays it out: a message header, then what it says of an interface.
fn set_loopback_up() -> Vec<u8> {
    const LENGTH: u32 = 32;
    const NEW_LINK: u16 = 16;
    const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;
    /// The first interface of a new network is its loopback.
    const LOOPBACK: i32 = 1;
    const UP: u32 = 1;
    let mut request = Vec::new();
    request.extend(LENGTH.to_ne_bytes());
    request.extend(NEW_LINK.to_ne_bytes());
    request.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // Sequence number and sender.
    request.extend([0; 8]);
    // Family and type, both unspecified.
    request.extend([0; 4]);
    request.extend(LOOPBACK.to_ne_bytes());
    request.extend(UP.to_ne_bytes());
    request.extend(UP.to_ne_bytes());
    request
}

/// The number in an acknowledgement: 0, or an error below it; none if it is no acknowledgement.
fn acknowledged(answer: &[u8]) -> Option<i32> {
    const ERROR: u16 = 2;
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let number = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (kind == ERROR).then_some(number)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_request_is_as_long_as_it_says() {
        let request = set_loopback_up();
        let said = u32::from_ne_bytes(request[..4].try_into().unwrap());
        assert_eq!(request.len(), usize::try_from(said).unwrap());
    }

    #[test]
    fn an_answer_that_is_no_acknowledgement_is_none() {
        for length in 0..24 {
            assert_eq!(acknowledged(&vec![0; length]), None);
        }
        let mut refused = vec![0; 36];
        refused[4..6].copy_from_slice(&2_u16.to_ne_bytes());
        refused[16..20].copy_from_slice(&(-1_i32).to_ne_bytes());
        assert_eq!(acknowledged(&refused), Some(-1));
    }
}
