//! The rule by which a tree of processes is ended: first asked, a moment later killed, round by round,
//! because a process can have a child between being seen and being killed. It knows neither whose
//! tree it is nor how one learns that nothing is left.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use nix::unistd::getpgrp;
use rustix::process::{Pid, Signal, kill_process_group};

use super::processes::{self, Process};

/// How long processes have between being asked to end and being killed.
pub(super) const GRACE: Duration = Duration::from_millis(200);
/// Between two rounds of killing.
pub(super) const ROUND: Duration = Duration::from_millis(5);
/// How long killing goes on before what is left is named instead.
pub(super) const GIVE_UP: Duration = Duration::from_millis(1_400);

/// Who was met in a tree that is being ended.
#[derive(Debug, Default)]
pub(super) struct Met(BTreeMap<(i32, u64), String>);

impl Met {
    fn remember(&mut self, tree: &[Process]) {
        for process in tree.iter().filter(|process| !process.ended) {
            self.0.entry((process.number(), process.started)).or_insert_with(|| process.words());
        }
    }

    /// How many of them are not among those that are left.
    pub(super) fn ended(&self, left: &[Process]) -> u32 {
        let left: BTreeSet<(i32, u64)> =
            left.iter().map(|process| (process.number(), process.started)).collect();
        let ended = self.0.keys().filter(|key| !left.contains(key)).count();
        u32::try_from(ended).unwrap_or(u32::MAX)
    }
}

/// How many of a tree have not ended.
pub(super) fn alive(tree: &[Process]) -> u32 {
    u32::try_from(tree.iter().filter(|process| !process.ended).count()).unwrap_or(u32::MAX)
}

/// Asks all of a tree to end, and wakes what was stopped so that it can.
pub(super) fn ask(tree: &[Process], met: &mut Met) {
    met.remember(tree);
    let (groups, alone) = groups(tree);
    for signal in [Signal::TERM, Signal::CONT] {
        for group in &groups {
            // A group that has gone needs no signal.
            let _ = kill_process_group(*group, signal);
        }
        for process in &alone {
            processes::signal(process, signal);
        }
    }
}

/// One round of killing: each group at once, so that no member can flee into a child, and each
/// process.
pub(super) fn kill(tree: &[Process], met: &mut Met) {
    met.remember(tree);
    let (groups, _) = groups(tree);
    for group in groups {
        // A group that has gone needs no signal.
        let _ = kill_process_group(group, Signal::KILL);
    }
    for process in tree.iter().filter(|process| !process.ended) {
        processes::signal(process, Signal::KILL);
    }
}

/// The groups of a tree, and the processes that no group signal may reach because they stand in
/// this process's own group.
fn groups(tree: &[Process]) -> (Vec<Pid>, Vec<&Process>) {
    let own = getpgrp().as_raw();
    let alive = tree.iter().filter(|process| !process.ended);
    // Group 0 is the sender's own, and the first process has no group that is below anybody.
    let (alone, others): (Vec<_>, Vec<_>) =
        alive.partition(|process| process.group == own || process.group <= 1);
    let groups: BTreeSet<i32> = others.iter().map(|process| process.group).collect();
    (groups.into_iter().filter_map(Pid::from_raw).collect(), alone)
}
