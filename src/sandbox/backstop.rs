//! What this program does when a helper cannot do its work: it ends the helper and, since it adopts
//! what the helper leaves behind, everything that was below it. It tells orphans from helpers by a
//! list of those, and from other processes of this program by their session: a helper starts one of
//! its own, and nobody below it can get back into this program's.

use std::collections::BTreeSet;
use std::io;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The helpers that are there.
static LIVE: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// A helper, from its start until it was waited for.
#[derive(Debug)]
pub(super) struct Helper(Child);

/// What was found below a helper that could do nothing about it.
#[derive(Debug, Default)]
pub(super) struct Swept {
    /// How many were ended.
    pub ended: u32,
    /// Who is left, in words.
    pub not_ended: Vec<String>,
}

impl Helper {
    /// Starts it. Nobody looks for orphans before it is on the list.
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let mut live = live();
        let child = command.spawn()?;
        live.insert(child.id());
        Ok(Self(child))
    }

    /// Wakes it, should a command have stopped it.
    pub(super) fn wake(&self) {
        if let Some(pid) = self.pid() {
            // One that has ended is a zombie until it is waited for, so nobody else has its number.
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::CONT);
        }
    }

    /// Sees it off: ends it if it has not ended, and waits for it, which takes no time.
    pub(super) fn see_off(mut self) {
        self.finish();
    }

    /// Ends it and everything that was below it.
    pub(super) fn sweep(mut self) -> Swept {
        sweep::all(&mut self)
    }

    fn pid(&self) -> Option<rustix::process::Pid> {
        i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw)
    }

    fn finish(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        live().remove(&self.0.id());
    }
}

fn live() -> MutexGuard<'static, BTreeSet<u32>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(target_os = "linux")]
mod sweep {
    use std::thread;
    use std::time::Instant;

    use rustix::process::{WaitOptions, waitpid};

    use super::super::harden::adopts;
    use super::super::kill::{self, GIVE_UP, Met, ROUND};
    use super::super::processes::{self, Process};
    use super::{Helper, Swept, live};

    /// Rounds in a row that must find nothing: one may miss a process whose parent just ended.
    const EMPTY_ROUNDS: u32 = 2;

    pub(super) fn all(helper: &mut Helper) -> Swept {
        let mut met = Met::default();
        if let Some(pid) = helper.pid() {
            let below = processes::below(&processes::all(), pid.as_raw_nonzero().get());
            kill::kill(&below, &mut met);
        }
        helper.finish();
        let until = Instant::now() + GIVE_UP;
        let mut empty = 0;
        loop {
            let left = orphans();
            if left.is_empty() {
                empty += 1;
            } else {
                empty = 0;
                kill::kill(&left, &mut met);
            }
            if empty == EMPTY_ROUNDS {
                return Swept { ended: met.ended(&[]), not_ended: Vec::new() };
            }
            if Instant::now() >= until {
                let not_ended = left.iter().map(Process::words).collect();
                return Swept { ended: met.ended(&left), not_ended };
            }
            thread::sleep(ROUND);
        }
    }

    /// What came to this process from helpers that are gone, and all below it; what of it has ended
    /// is waited for.
    fn orphans() -> Vec<Process> {
        let (Some(own), true) = (processes::own(), adopts()) else { return Vec::new() };
        let helpers = live();
        let all = processes::all();
        let adopted = all.iter().filter(|process| {
            let is_helper = u32::try_from(process.number()).is_ok_and(|it| helpers.contains(&it));
            let is_ours = process.session == own.session;
            process.parent == own.number() && !is_helper && !is_ours
        });
        let mut found = Vec::new();
        for orphan in adopted {
            found.extend(processes::below(&all, orphan.number()));
            if orphan.ended {
                let _ = waitpid(Some(orphan.pid), WaitOptions::NOHANG);
            } else {
                found.push(orphan.clone());
            }
        }
        found.retain(|process| !process.ended);
        found
    }
}

#[cfg(not(target_os = "linux"))]
mod sweep {
    use super::{Helper, Swept};

    /// Nothing is adopted here, and nobody can tell who was below the helper.
    pub(super) fn all(helper: &mut Helper) -> Swept {
        helper.finish();
        Swept::default()
    }
}
