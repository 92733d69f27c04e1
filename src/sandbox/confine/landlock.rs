//! Holds the calling thread to the policy's files, and away from other programs' signals, abstract
//! sockets and ports, as far as this kernel's Landlock goes. Landlock has no rule for what is merely
//! known of a file (that it exists, its size, times, mode, owner), so none of that is held back.

use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, open, openat, openat2};
use rustix::io::Errno;

use super::namespaces::{SHARED_MEMORY, TERMINALS};
use super::{Entered, opens_inet};
use crate::sandbox::policy::Policy;

/// The newest version that this was written for; an older kernel leaves out what it does not know.
const NEWEST: ABI = ABI::V10;
/// Harmless devices that programs open for writing as a matter of course.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Restricts it. Returns the version that is effective. Grounds that could not be granted are named.
pub(super) fn restrict(
    policy: &Policy,
    entered: &Entered,
    notes: &mut Vec<String>,
) -> Result<u8, String> {
    let failed = |error: RulesetError| format!("files not fenced: Landlock: {error}");
    let mut rules = rules(policy, entered).map_err(failed)?;
    grant(&mut rules, policy, entered, notes);
    let status = rules.restrict_self().map_err(failed)?;
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => Ok(number(effective_abi)),
        LandlockStatus::NotEnabled => {
            Err("files not fenced: Landlock is not enabled in this kernel".to_owned())
        }
        LandlockStatus::NotImplemented => {
            Err("files not fenced: this kernel has no Landlock".to_owned())
        }
    }
}

/// Everything is refused that is not granted afterwards.
fn rules(policy: &Policy, entered: &Entered) -> Result<RulesetCreated, RulesetError> {
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?;
    if !opens_inet(policy, entered) {
        rules = rules.handle_access(AccessNet::from_all(NEWEST))?;
    }
    rules.create()
}

fn grant(rules: &mut RulesetCreated, policy: &Policy, entered: &Entered, notes: &mut Vec<String>) {
    let read = AccessFs::from_read(NEWEST);
    let change = change();
    let mut add = |place: &Path, opened: Result<OwnedFd, Errno>, rights| {
        if let Err(why) = grant_one(rules, opened, rights) {
            notes.push(format!("{} is left out: {why}", place.display()));
        }
    };
    for place in &policy.system {
        add(place, following(place), read);
    }
    for place in DEVICES.iter().map(Path::new) {
        add(place, following(place), AccessFs::ReadFile | AccessFs::WriteFile);
    }
    for place in &policy.readable {
        add(place, without_links(place), read);
    }
    for place in &policy.writable {
        add(place, without_links(place), change);
    }
    if entered.shared_memory {
        add(Path::new(SHARED_MEMORY), following(Path::new(SHARED_MEMORY)), change);
    }
    if entered.terminals {
        for place in TERMINALS.iter().map(Path::new) {
            let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
            add(place, following(place), device | AccessFs::ReadDir);
        }
    }
}

/// What may be done in a folder that may be changed: everything but making and driving devices, and
/// connecting to sockets.
fn change() -> BitFlags<AccessFs> {
    let devices = AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev;
    AccessFs::from_all(NEWEST) & !(devices | AccessFs::ResolveUnix)
}

/// What does not exist is passed over: it grants nothing, and a later one of that name gets nothing.
fn grant_one(
    rules: &mut RulesetCreated,
    opened: Result<OwnedFd, Errno>,
    rights: BitFlags<AccessFs>,
) -> Result<(), String> {
    let place = match opened {
        Ok(place) => place,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(()),
        Err(Errno::LOOP) => return Err("it is reached through a link now".to_owned()),
        Err(error) => return Err(error.to_string()),
    };
    // What has no meaning for a file, or for this kernel, is dropped by the best effort.
    rules.add_rule(PathBeneath::new(place, rights)).map(|_| ()).map_err(|error| error.to_string())
}

fn following(place: &Path) -> Result<OwnedFd, Errno> {
    open(place, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// Opens it if no part of its path is a link.
fn without_links(place: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, place, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Some containers refuse the call itself.
        Err(Errno::NOSYS | Errno::PERM) => part_by_part(place, flags | OFlags::NOFOLLOW),
        opened => opened,
    }
}

fn part_by_part(place: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut parts = place.components();
    let root = parts.next().ok_or(Errno::NOENT)?;
    let mut reached = open(root.as_os_str(), flags, Mode::empty())?;
    for part in parts {
        reached = openat(&reached, part.as_os_str(), flags, Mode::empty())?;
        let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&reached)?.st_mode);
        // A link itself can be opened this way, and would be granted as itself.
        if kind == rustix::fs::FileType::Symlink {
            return Err(Errno::LOOP);
        }
    }
    Ok(reached)
}

fn number(version: ABI) -> u8 {
    // The numbers are the versions, and a version that this does not know is not effective.
    u8::try_from(version as i32).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    type Way<'a> = &'a dyn Fn(&Path) -> Result<OwnedFd, Errno>;

    #[test]
    fn a_ground_behind_a_link_is_not_opened_by_either_way() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(folder.join("real/deep")).unwrap();
        symlink(folder.join("real"), folder.join("link")).unwrap();
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let by_hand = |place: &Path| part_by_part(place, flags);
        let ways: [Way; 2] = [&without_links, &by_hand];
        for open in ways {
            assert!(open(&folder.join("real/deep")).is_ok());
            assert_eq!(open(&folder.join("link")).unwrap_err(), Errno::LOOP);
            assert!(matches!(open(&folder.join("link/deep")), Err(Errno::LOOP | Errno::NOTDIR)));
            assert_eq!(open(&folder.join("gone")).unwrap_err(), Errno::NOENT);
        }
    }

    #[test]
    fn changing_a_folder_includes_no_device_and_no_socket_of_others() {
        let rights = change();
        for right in [AccessFs::MakeChar, AccessFs::MakeBlock, AccessFs::IoctlDev] {
            assert!(!rights.contains(right));
        }
        assert!(!rights.contains(AccessFs::ResolveUnix));
        assert!(rights.contains(AccessFs::Truncate | AccessFs::Refer | AccessFs::MakeSym));
    }
}
