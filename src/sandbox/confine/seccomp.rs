//! Which system calls a command may not make, and with which arguments. They are what Landlock has no
//! rule for; where there is no Landlock, they also stand in for some of it. It opens no file.
//!
//! On x86-64 each rule is there a second time for the x32 numbers; calls of another architecture end
//! the command.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Length, SeccompCmpOp as Is, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use super::denied;
use super::{Entered, FIRST_WITH_SIGNALS, Namespaces, opens_inet};
use crate::sandbox::confine::others::Others;
use crate::sandbox::policy::Policy;

/// What is to be refused, told by what the rest of the fence does not hold.
#[derive(Debug, Clone)]
pub(super) struct Calls {
    /// Internet sockets are allowed.
    inet: bool,
    /// Interprocess communication is the command's own.
    own_communication: bool,
    /// Landlock is there.
    landlock: bool,
    /// Whom signals must not reach; none where Landlock holds them back.
    others: Option<Others>,
}

impl Calls {
    pub(super) fn new(policy: &Policy, entered: &Entered, landlock: u8) -> Self {
        let signals_held = landlock >= FIRST_WITH_SIGNALS;
        Self {
            inet: opens_inet(policy, entered),
            own_communication: entered.namespaces == Namespaces::Inside,
            landlock: landlock > 0,
            others: (!signals_held).then(|| Others::of(&policy.protected)),
        }
    }

    /// Filters the calling thread.
    pub(super) fn filter(&self) -> Result<(), String> {
        let failed = |why: String| format!("system calls not fenced: {why}");
        for program in self.programs().map_err(failed)? {
            seccompiler::apply_filter(&program).map_err(|error| failed(error.to_string()))?;
        }
        Ok(())
    }

    /// One program per error number, and one for signals, of which there can be many rules.
    fn programs(&self) -> Result<Vec<BpfProgram>, String> {
        let architecture = TargetArch::try_from(std::env::consts::ARCH)
            .map_err(|_| format!("not for the architecture {}", std::env::consts::ARCH))?;
        let signals = self.signals()?.map(|rules| (rules, libc::EPERM));
        [(self.refused()?, libc::EPERM), (self.absent(), libc::ENOSYS)]
            .into_iter()
            .chain(signals)
            .map(|(rules, number)| {
                let action = SeccompAction::Errno(number.unsigned_abs());
                SeccompFilter::new(rules.0, SeccompAction::Allow, action, architecture)
                    .and_then(BpfProgram::try_from)
                    .map_err(|error| error.to_string())
            })
            .collect()
    }

    /// Calls that programs have another way for, if they are told that there is no such call.
    fn absent(&self) -> Rules {
        let mut rules = Rules::default();
        rules.all(denied::ABSENT);
        if self.others.is_some() {
            // A folder in /proc is as good as a handle that `pidfd_open` gives.
            rules.always(libc::SYS_pidfd_send_signal);
        }
        rules
    }

    fn refused(&self) -> Result<Rules, String> {
        let mut rules = Rules::default();
        rules.all(denied::ALWAYS);
        if !self.landlock {
            rules.all(denied::WITHOUT_LANDLOCK);
        }
        if !self.own_communication {
            rules.all(denied::WITHOUT_NAMESPACES);
        }
        self.add(&mut rules).map_err(|error| error.to_string())?;
        Ok(rules)
    }

    fn add(&self, rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
        self.add_sockets(rules)?;
        add_devices(rules)?;
        add_namespaces(rules)?;
        // The limits of another process: one of no processor time is as good as a kill.
        rules.when(libc::SYS_prlimit64, &[(0, Is::Ne, 0), (2, Is::Ne, 0)])?;
        Ok(())
    }

    fn signals(&self) -> Result<Option<Rules>, String> {
        let Some(others) = &self.others else { return Ok(None) };
        let mut rules = Rules::default();
        add_signals(&mut rules, others).map_err(|error| error.to_string())?;
        Ok(Some(rules))
    }

    fn add_sockets(&self, rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
        let mut allowed = Vec::new();
        if self.inet {
            allowed.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
            // Which networks there are; every other use of netlink stays closed.
            let route = number(libc::NETLINK_ROUTE);
            let netlink = (0, Is::Eq, number(libc::AF_NETLINK));
            rules.when(libc::SYS_socket, &[netlink, (2, Is::Ne, route)])?;
        }
        let none_of: Vec<Condition> =
            allowed.iter().map(|family| (0, Is::Ne, number(*family))).collect();
        if none_of.is_empty() {
            rules.always(libc::SYS_socket);
        } else {
            rules.when(libc::SYS_socket, &none_of)?;
        }
        rules.when(libc::SYS_socketpair, &[(0, Is::Ne, number(libc::AF_UNIX))])?;
        // A pair of these can be sent or connected to any other socket. The kernel makes datagrams of
        // raw ones.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            let is = Is::MaskedEq(KIND_OF_SOCKET);
            rules.when(libc::SYS_socketpair, &[(1, is, number(kind))])?;
        }
        Ok(())
    }
}

/// The part of a socket's type that is not flags.
const KIND_OF_SOCKET: u64 = 0xf;

fn add_devices(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    let of_mode = Is::MaskedEq(u64::from(libc::S_IFMT));
    for kind in [libc::S_IFCHR, libc::S_IFBLK] {
        rules.when(libc::SYS_mknodat, &[(2, of_mode.clone(), u64::from(kind))])?;
        #[cfg(target_arch = "x86_64")]
        rules.when(libc::SYS_mknod, &[(1, of_mode.clone(), u64::from(kind))])?;
    }
    // Typing into a terminal, or pasting into it.
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        rules.ioctl(request)?;
    }
    Ok(())
}

fn add_namespaces(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    for flag in denied::NEW_NAMESPACES {
        let flag = number(*flag);
        rules.when(libc::SYS_clone, &[(0, Is::MaskedEq(flag), flag)])?;
    }
    Ok(())
}

fn add_signals(rules: &mut Rules, others: &Others) -> Result<(), seccompiler::BackendError> {
    /// `kill` with it reaches everything that may be reached.
    const EVERYBODY: i32 = -1;
    let groups = others.groups.iter().map(|group| -group);
    for target in others.ids.iter().copied().chain(groups).chain([EVERYBODY]) {
        rules.when(libc::SYS_kill, &[(0, Is::Eq, number(target))])?;
    }
    for id in &others.ids {
        for call in denied::SIGNALS_BY_ID {
            rules.when(*call, &[(0, Is::Eq, number(*id))])?;
        }
    }
    // Another way to have a signal sent: as the owner of a descriptor.
    for command in denied::SIGNALS_BY_DESCRIPTOR {
        rules.when(libc::SYS_fcntl, &[(1, Is::Eq, number(*command))])?;
    }
    for request in denied::OWNERS_BY_REQUEST {
        rules.ioctl(*request)?;
    }
    Ok(())
}

/// An argument's place, the comparison, and with what; 32 bits wide, but for pointers.
type Condition = (u8, Is, u64);

/// Rules of one filter, each twice where there is a second set of numbers.
#[derive(Debug, Default)]
struct Rules(BTreeMap<i64, Vec<SeccompRule>>);

impl Rules {
    /// This call, whatever its arguments are.
    fn always(&mut self, call: i64) {
        // No rule at all means that every call matches.
        for number in numbers(call) {
            self.0.insert(number, Vec::new());
        }
    }

    fn all(&mut self, calls: &[i64]) {
        for call in calls {
            self.always(*call);
        }
    }

    /// This call where all of the conditions hold. Nothing is added to a call that is always meant.
    fn when(&mut self, call: i64, all: &[Condition]) -> Result<(), seccompiler::BackendError> {
        let conditions: Vec<SeccompCondition> = all
            .iter()
            .map(|(place, is, value)| {
                let pointer = call == libc::SYS_prlimit64 && *place == 2;
                let length = if pointer { Length::Qword } else { Length::Dword };
                SeccompCondition::new(*place, length, is.clone(), *value)
            })
            .collect::<Result<_, _>>()?;
        for number in numbers(call) {
            match self.0.get_mut(&number) {
                Some(rules) if rules.is_empty() => {}
                Some(rules) => rules.push(SeccompRule::new(conditions.clone())?),
                None => {
                    self.0.insert(number, vec![SeccompRule::new(conditions.clone())?]);
                }
            }
        }
        Ok(())
    }

    fn ioctl(&mut self, request: libc::Ioctl) -> Result<(), seccompiler::BackendError> {
        // The kernel looks at 32 bits of it, whatever the library calls its type.
        let request = u64::from(u32::try_from(request).unwrap_or(u32::MAX));
        self.when(libc::SYS_ioctl, &[(1, Is::Eq, request)])
    }
}

/// The numbers under which a call can be made.
fn numbers(call: i64) -> Vec<i64> {
    #[cfg(target_arch = "x86_64")]
    {
        const X32: i64 = 1 << 30;
        let own =
            denied::X32.iter().filter(|(number, _)| *number == call).map(|(_, own)| X32 | own);
        [call, call | X32].into_iter().chain(own).collect()
    }
    #[cfg(not(target_arch = "x86_64"))]
    vec![call]
}

/// A number as the filter compares it: its 32 bits.
fn number(value: i32) -> u64 {
    u64::from(value.cast_unsigned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::sandbox::confine::others::MOST;

    /// The kernel takes no longer program.
    const LONGEST: usize = 4_096;

    #[test]
    fn every_filter_that_can_be_needed_can_be_built() {
        let most = i32::try_from(MOST).unwrap();
        let others = Others { ids: (1..=most).collect(), groups: [1, 2].into() };
        for choice in 0..16_u8 {
            let is = |bit: u8| choice & (1 << bit) != 0;
            let calls = Calls {
                inet: is(0),
                own_communication: is(1),
                landlock: is(2),
                others: is(3).then(|| others.clone()),
            };
            let programs = calls.programs().unwrap();
            assert_eq!(programs.len(), if is(3) { 3 } else { 2 });
            for program in programs {
                assert!(!program.is_empty() && program.len() < LONGEST, "{}", program.len());
            }
        }
    }

    #[test]
    fn tracing_is_left_to_landlock_and_closed_without_it() {
        let calls =
            |landlock| Calls { inet: false, own_communication: true, landlock, others: None };
        let refused = |landlock| calls(landlock).refused().unwrap().0;
        assert!(!refused(true).contains_key(&libc::SYS_ptrace));
        assert!(refused(false).contains_key(&libc::SYS_ptrace));
        assert!(!refused(true).contains_key(&libc::SYS_kill), "Landlock holds signals");
    }

    #[test]
    fn a_call_that_is_always_meant_stays_so() {
        let mut rules = Rules::default();
        rules.always(libc::SYS_socket);
        rules.when(libc::SYS_socket, &[(0, Is::Eq, 1)]).unwrap();
        assert!(rules.0.values().all(Vec::is_empty));
        assert_eq!(rules.0.len(), numbers(libc::SYS_socket).len());
    }
}
