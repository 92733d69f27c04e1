//! The system's table of processes, as far as it can be read: who is below whom. What it tells is a
//! moment's view that was not taken at one moment; nobody may conclude from it that nothing is left.

#[cfg(target_os = "linux")]
use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Pid, Signal};

/// A process as the table had it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    /// Its number.
    pub pid: Pid,
    /// The number of its parent.
    pub parent: i32,
    /// Its process group; 0 if it was made outside this container.
    pub group: i32,
    /// Its session; 0 as with the group.
    pub session: i32,
    /// When it started, in ticks since the machine did: with the number it makes a name that is not
    /// used twice.
    pub started: u64,
    /// What it is called, at most 15 bytes of it.
    pub name: String,
    /// True if it has ended and nobody has asked how.
    pub ended: bool,
}

impl Process {
    /// The number that the system uses.
    pub(super) fn number(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// For people: `4711 sleep`.
    pub(super) fn words(&self) -> String {
        let name: String =
            self.name.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        format!("{} {name}", self.number())
    }
}

/// All processes that can be seen.
#[cfg(target_os = "linux")]
pub(super) fn all() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter_map(one).collect()
}

/// One process, if it is there.
#[cfg(target_os = "linux")]
pub(super) fn one(number: i32) -> Option<Process> {
    parse(&std::fs::read(format!("/proc/{number}/stat")).ok()?)
}

/// This process. Its group and its session are 0 where whoever made them is outside this container: the
/// calls that ask the kernel for them take 0 for a fault.
#[cfg(target_os = "linux")]
pub(super) fn own() -> Option<Process> {
    one(rustix::process::getpid().as_raw_nonzero().get())
}

/// Reads a line of `/proc/N/stat` (`man 5 proc_pid_stat`). The name stands in brackets and may hold some
/// itself.
#[cfg(target_os = "linux")]
fn parse(line: &[u8]) -> Option<Process> {
    let open = line.iter().position(|byte| *byte == b'(')?;
    let close = line.iter().rposition(|byte| *byte == b')')?;
    let number = std::str::from_utf8(line.get(..open)?).ok()?.trim().parse().ok()?;
    let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let mut next = || fields.next()?.parse::<i32>().ok();
    let (parent, group, session) = (next()?, next()?, next()?);
    // From the terminal (field 7) to the value of the interval timer (field 21).
    let started = fields.nth(15)?.parse().ok()?;
    Some(Process {
        pid: Pid::from_raw(number)?,
        parent,
        group,
        session,
        started,
        name: String::from_utf8_lossy(line.get(open + 1..close)?).into_owned(),
        ended: matches!(state, "Z" | "X"),
    })
}

/// Everything below this process, itself left out.
#[cfg(target_os = "linux")]
pub(super) fn below(all: &[Process], root: i32) -> Vec<Process> {
    let mut children: BTreeMap<i32, Vec<&Process>> = BTreeMap::new();
    for process in all {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut seen = BTreeSet::from([root]);
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for process in children.get(&parent).into_iter().flatten() {
            // A number that was used again meanwhile could close a ring.
            if seen.insert(process.number()) {
                open.push(process.number());
                found.push((*process).clone());
            }
        }
    }
    found
}

/// Sends a signal to this very process; one that has its number by now gets none.
#[cfg(target_os = "linux")]
pub(super) fn signal(process: &Process, signal: Signal) {
    use rustix::process::{PidfdFlags, kill_process, pidfd_open, pidfd_send_signal};
    // A process that has gone needs no signal, and no other error can be mended here.
    match pidfd_open(process.pid, PidfdFlags::empty()) {
        Ok(handle) => {
            let now = one(process.number());
            if now.is_some_and(|now| now.started == process.started) {
                let _ = pidfd_send_signal(handle, signal);
            }
        }
        Err(rustix::io::Errno::NOSYS) => {
            let _ = kill_process(process.pid, signal);
        }
        Err(_) => {}
    }
}

/// Sends a signal to this process.
#[cfg(not(target_os = "linux"))]
pub(super) fn signal(process: &Process, signal: Signal) {
    // A process that has gone needs no signal.
    let _ = rustix::process::kill_process(process.pid, signal);
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn process(number: i32, parent: i32) -> Process {
        let line = format!("{number} (x) S {parent} 5 6 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 77 0 0");
        parse(line.as_bytes()).unwrap()
    }

    #[test]
    fn a_line_of_the_table_is_read_whatever_the_name_is() {
        for name in ["sleep", "a) S 1 (b", "((", "))", "", "\n \u{1b}[2J"] {
            let line =
                format!("12 ({name}) Z 3 4 5 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 8899 0 0 184467");
            let process = parse(line.as_bytes()).unwrap();
            assert_eq!(
                (process.number(), process.parent, process.group, process.session),
                (12, 3, 4, 5)
            );
            assert_eq!((process.started, process.ended), (8899, true));
            assert_eq!(process.name, name);
            assert!(!process.words().contains(char::is_control), "{:?}", process.words());
        }
        let named_in_latin = b"12 (\xe4) S 3 4 5 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 8899 0 0";
        assert_eq!(parse(named_in_latin).unwrap().name, "\u{fffd}");
    }

    #[test]
    fn a_line_that_is_cut_off_names_nobody() {
        let line = b"12 (sleep) S 3 4 5 0 -1 0 0 0 0 0 1 2 3 4 20 0 1 0 ";
        for length in 0..line.len() {
            assert_eq!(parse(&line[..length]), None, "{length}");
        }
    }

    #[test]
    fn a_tree_is_found_and_a_ring_ends() {
        let all = [(2, 1), (3, 2), (4, 3), (5, 1), (6, 9), (9, 6), (1, 4)];
        let all: Vec<Process> = all.iter().map(|(n, p)| process(*n, *p)).collect();
        let numbers = |root| {
            let mut numbers: Vec<i32> = below(&all, root).iter().map(Process::number).collect();
            numbers.sort_unstable();
            numbers
        };
        assert_eq!(numbers(2), [1, 3, 4, 5]);
        assert_eq!(numbers(6), [9]);
        assert_eq!(numbers(77), [] as [i32; 0]);
    }

    #[test]
    fn this_process_is_in_the_table() {
        let me = own().unwrap();
        assert_eq!(me.number().cast_unsigned(), std::process::id());
        assert_eq!(me.parent, Pid::as_raw(rustix::process::getppid()));
        assert!(!me.ended);
        assert!(all().contains(&me));
    }
}
