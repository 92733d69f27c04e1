//! The helper, started as `offshoot __fence` once for each command: it stands outside of the fence,
//! has one short-lived thread fence itself and start the command, and ends everything below it when
//! it is told to, when the command has ended, or when the program that started it goes away. It
//! knows nothing of time limits, output or tools.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::kill::{self, GIVE_UP, GRACE, Met, ROUND};
use super::processes::Process;
use super::reap;
use super::wire::{self, How, Order, Report};
use crate::sandbox::confine::{self, Applied, ConfineError, Entered};

/// The word that makes this program a helper.
pub const VERB: &str = "__fence";

/// How long nothing may be left of a command that has ended before the table of processes is
/// walked: the walk alone takes longer.
const QUIET: Duration = Duration::from_millis(2);

/// How many happenings there can be: one of each kind, so that nobody ever waits to tell one.
const HAPPENINGS: usize = 3;

/// What happens to a helper.
pub(super) enum Happening {
    /// It is to end everything.
    Told,
    /// The command has ended.
    Ended(How),
    /// Nothing is below the helper any more.
    Gone,
}

/// Runs as the helper: standard input is the line to the program that started it, standard output
/// and error are the command's.
pub fn main() -> ExitCode {
    super::harden();
    close_strays();
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Whoever typed this by hand reads it; otherwise it is part of the command's output.
            let _ = writeln!(
                io::stderr(),
                "offshoot: this helper is not to be started by hand: {error}"
            );
            ExitCode::from(2)
        }
    }
}

/// Closes what the programs above left open: the fence does not look at open files. Nothing of this
/// process's own is open yet.
#[cfg(target_os = "linux")]
fn close_strays() {
    const LAST_STANDARD: i32 = 2;
    /// Where the folder of open files cannot be read, more than most limits let a program open.
    const BLIND: i32 = 4_096;
    let open: Vec<i32> = match std::fs::read_dir("/proc/self/fd") {
        Ok(entries) => {
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
        }
        Err(_) => (LAST_STANDARD + 1..BLIND).collect(),
    };
    for file in open.into_iter().filter(|file| *file > LAST_STANDARD) {
        // The folder's own handle is in the list and closed already.
        let _ = nix::unistd::close(file);
    }
}

#[cfg(not(target_os = "linux"))]
fn close_strays() {}

fn serve() -> io::Result<()> {
    let mut control = take_control()?;
    let mut lines = BufReader::new(control.try_clone()?);
    let Some(order) = wire::read::<Order>(&mut lines)? else {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "nothing was ordered"));
    };
    let report = carry_out(order, lines, &mut control)
        .unwrap_or_else(|error| Report::Failed { detail: error.to_string() });
    // If nobody listens any more, nobody needs to know.
    let _ = control.write_all(&wire::line(&report)?);
    Ok(())
}

/// Takes the line from standard input, where the command would find it.
fn take_control() -> io::Result<File> {
    let control = io::stdin().as_fd().try_clone_to_owned()?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(File::from(control))
}

fn carry_out(order: Order, lines: BufReader<File>, control: &mut File) -> io::Result<Report> {
    // It fails only for the first of a group, which has a session of its own already.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    {
        rustix::thread::set_no_new_privs(true)?;
        // A helper that was stopped would never see the end of the line: if offshoot goes away, the
        // system wakes it.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::CONT))?;
    }
    // Before the first thread: it is the process as a whole that enters.
    let entered = confine::enter_namespaces(&order.policy);
    let (tell, happenings) = mpsc::sync_channel(HAPPENINGS);
    let told = tell.clone();
    thread::Builder::new().name("control".to_owned()).spawn(move || watch(lines, &told))?;
    let (command, fence) = match start(order, entered)? {
        Ok(started) => started,
        Err(NotStarted::NotHeld(why)) => return Ok(Report::NotHeld { why }),
        Err(NotStarted::System(error)) => {
            return Ok(Report::NotStarted { detail: error.to_string() });
        }
    };
    leave_output()?;
    thread::Builder::new().name("reaper".to_owned()).spawn(move || reap::all(command, &tell))?;
    Ok(follow(&happenings, command, fence, control))
}

/// Waits for the end of the line, which is the word to end everything.
fn watch(mut lines: BufReader<File>, told: &SyncSender<Happening>) {
    let mut rest = [0; 64];
    loop {
        match lines.read(&mut rest) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    // A helper that is done listens no more.
    let _ = told.send(Happening::Told);
}

/// Why there is no command.
enum NotStarted {
    NotHeld(ConfineError),
    System(io::Error),
}

/// Starts the command from a thread that fences itself and then ends; the helper stays outside.
fn start(order: Order, entered: Entered) -> io::Result<Result<(Pid, Applied), NotStarted>> {
    let fenced = thread::Builder::new().name("fenced".to_owned()).spawn(move || {
        let fence = confine::apply(&order.policy, &entered).map_err(NotStarted::NotHeld)?;
        // Its own group, so that a signal to it never reaches the helper.
        let child = Command::new(&order.program).args(&order.arguments).process_group(0).spawn();
        let child = child.map_err(NotStarted::System)?;
        let number = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let command = number.ok_or_else(|| {
            NotStarted::System(io::Error::other("the system gave no process number"))
        })?;
        Ok((command, fence))
    })?;
    fenced.join().map_err(|_| io::Error::other("the thread that starts commands broke down"))
}

/// Lets go of the command's output, so that its reader sees the end of it.
fn leave_output() -> io::Result<()> {
    let nowhere = File::options().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

fn follow(
    happenings: &Receiver<Happening>,
    command: Pid,
    fence: Applied,
    control: &mut File,
) -> Report {
    let how = match happenings.recv() {
        Ok(Happening::Ended(how)) if is_gone(happenings, QUIET, command) => {
            return Report::Ended { how, ended: 0, not_ended: Vec::new(), fence };
        }
        Ok(Happening::Ended(how)) => how,
        Ok(Happening::Told | Happening::Gone) | Err(mpsc::RecvError) => How::Told,
    };
    let found = tree(command);
    let ending = Report::Ending { how, met: kill::alive(&found), fence: fence.clone() };
    // What has to be ended has to be ended, whether anybody listens or not.
    let _ = wire::line(&ending).and_then(|line| control.write_all(&line));
    let (ended, not_ended) = end(happenings, command, &found);
    Report::Ended { how, ended, not_ended, fence }
}

/// Ends everything below the helper: how many there were, and what is left in spite of it.
fn end(happenings: &Receiver<Happening>, command: Pid, found: &[Process]) -> (u32, Vec<String>) {
    let mut met = Met::default();
    kill::ask(found, &mut met);
    if is_gone(happenings, GRACE, command) {
        return (met.ended(&[]), Vec::new());
    }
    let until = Instant::now() + GIVE_UP;
    loop {
        kill::kill(&tree(command), &mut met);
        if is_gone(happenings, ROUND, command) {
            return (met.ended(&[]), Vec::new());
        }
        if Instant::now() >= until {
            let left = tree(command);
            return (met.ended(&left), left.iter().map(Process::words).collect());
        }
    }
}

/// Waits at most this long for the system's word that nothing is below the helper any more.
fn is_gone(happenings: &Receiver<Happening>, patience: Duration, command: Pid) -> bool {
    let until = Instant::now() + patience;
    loop {
        match happenings.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(Happening::Gone) | Err(RecvTimeoutError::Disconnected) => {
                return all_gone(command, until);
            }
            Ok(Happening::Told | Happening::Ended(_)) => {}
            Err(RecvTimeoutError::Timeout) => return false,
        }
    }
}

/// Nothing can be below a process that adopts and has no children.
#[cfg(target_os = "linux")]
fn all_gone(_command: Pid, _until: Instant) -> bool {
    true
}

/// Without adoption there is only the command's group to ask for.
#[cfg(not(target_os = "linux"))]
fn all_gone(command: Pid, until: Instant) -> bool {
    while !tree(command).is_empty() {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

/// What is below the helper.
#[cfg(target_os = "linux")]
fn tree(_command: Pid) -> Vec<Process> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    super::processes::below(&super::processes::all(), own)
}

/// The command's group stands for all of it: the system has no other safe way to find the rest.
#[cfg(not(target_os = "linux"))]
fn tree(command: Pid) -> Vec<Process> {
    if rustix::process::test_kill_process_group(command).is_err() {
        return Vec::new();
    }
    let number = command.as_raw_nonzero().get();
    vec![Process {
        pid: command,
        parent: 0,
        group: number,
        session: 0,
        started: 0,
        name: "(the command's group)".to_owned(),
        ended: false,
    }]
}
