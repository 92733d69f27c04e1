//! One thread's work while a command runs: it starts the helper, waits for what the helper reports,
//! tells it to end everything when the time is up or nobody wants the command any more, and does it
//! itself when the helper does not. All of it in real time, whatever the clock of the rest does.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufReader, PipeReader, PipeWriter, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::backstop::{Helper, Swept};
use super::job::{Ended, Outcome, SandboxError};
use super::kill::GRACE;
use super::private::Private;
use super::wire::{self, How, Order, Report};

/// How long a helper may take beyond the grace before it is given up.
const MARGIN: Duration = Duration::from_millis(200);
/// How long a helper may take to listen to its order.
const ORDER_TIME: Duration = Duration::from_secs(2);

/// A command that is about to run.
pub(super) struct Run {
    /// The helper's program.
    pub helper: PathBuf,
    /// What it is to start.
    pub order: Order,
    /// The folder to start in.
    pub folder: PathBuf,
    /// All variables.
    pub environment: BTreeMap<OsString, OsString>,
    /// After this long it is ended.
    pub time_limit: Duration,
    /// Where its output goes.
    pub output: PipeWriter,
    /// Comes to its end when nobody wants the command any more.
    pub wanted: PipeReader,
    /// Kept until the command is over.
    pub private: Arc<Private>,
}

/// Why a command was ended.
#[derive(Clone, Copy)]
enum Cause {
    TimeUp,
    Unwanted,
}

/// Runs a command to its end. Blocks, at most two seconds longer than it is allowed to.
pub(super) fn run(run: Run) -> Result<Ended, SandboxError> {
    let Run { helper, order, folder, environment, time_limit, output, wanted, private: _private } =
        run;
    let until = Instant::now().checked_add(time_limit);
    let (control, far_end) = UnixStream::pair().map_err(|error| failed("make its line", &error))?;
    let helper = start(&helper, &folder, environment, output, far_end)?;
    if let Err(error) = give(&control, &order) {
        let swept = helper.sweep();
        return Err(lost(&format!("it did not take its order: {error}"), &swept));
    }
    let cause = match wait(&control, Some(&wanted), until) {
        Woken::Heard => None,
        Woken::Unwanted => Some(Cause::Unwanted),
        Woken::TimeUp => Some(Cause::TimeUp),
    };
    if cause.is_some() {
        tell(&helper, &control);
    }
    let heard = cause.is_none() || is_heard(&control);
    let report = if heard { listen(&control) } else { None };
    conclude(helper, report, cause, &order)
}

/// Starts the helper in the command's folder and environment.
fn start(
    program: &Path,
    folder: &Path,
    environment: BTreeMap<OsString, OsString>,
    output: PipeWriter,
    control: UnixStream,
) -> Result<Helper, SandboxError> {
    let errors = output.try_clone().map_err(|error| failed("share its output", &error))?;
    let mut command = Command::new(program);
    command
        .arg(super::helper::VERB)
        .env_clear()
        .envs(environment)
        .current_dir(folder)
        .stdin(Stdio::from(OwnedFd::from(control)))
        .stdout(output)
        .stderr(errors);
    std::os::unix::process::CommandExt::arg0(&mut command, "offshoot");
    Helper::start(&mut command).map_err(|error| {
        if folder.is_dir() {
            failed(&format!("start `{}`", program.display()), &error)
        } else {
            SandboxError::FolderGone(folder.display().to_string())
        }
    })
    // With the command its ends of line and output are dropped, which is what makes an end visible.
}

fn give(mut control: &UnixStream, order: &Order) -> io::Result<()> {
    control.set_write_timeout(Some(ORDER_TIME))?;
    control.write_all(&wire::line(order)?)
}

/// Tells the helper to end everything, and wakes it.
fn tell(helper: &Helper, control: &UnixStream) {
    // A line that is broken already has told it.
    let _ = control.shutdown(Shutdown::Write);
    helper.wake();
}

/// True if the helper says something, or goes away, in the time it has.
fn is_heard(control: &UnixStream) -> bool {
    matches!(wait(control, None, Some(Instant::now() + GRACE + MARGIN)), Woken::Heard)
}

/// Reads the report that is there; none if the helper went away without one.
fn listen(control: &UnixStream) -> Option<Report> {
    // It was written at once, so nothing of it is still to come.
    control.set_read_timeout(Some(MARGIN)).ok()?;
    wire::read(&mut BufReader::new(control)).ok()?
}

fn conclude(
    helper: Helper,
    report: Option<Report>,
    cause: Option<Cause>,
    order: &Order,
) -> Result<Ended, SandboxError> {
    let told = match cause {
        Some(Cause::TimeUp) => Outcome::TimedOut,
        Some(Cause::Unwanted) | None => Outcome::Cancelled,
    };
    match report {
        Some(Report::Ended { how, ended, not_ended, fence }) => {
            let swept = if not_ended.is_empty() {
                helper.see_off();
                Swept::default()
            } else {
                helper.sweep()
            };
            let outcome = match how {
                How::Exited(code) => Outcome::Exited(code),
                How::Signalled(signal) => Outcome::Signalled(signal),
                How::Told => told,
            };
            let processes_ended = ended.saturating_add(swept.ended);
            let fence = fence.level();
            Ok(Ended { outcome, processes_ended, not_ended: swept.not_ended, fence })
        }
        Some(Report::NotStarted { detail }) => {
            helper.see_off();
            let program = order.program.to_string_lossy().into_owned();
            Err(SandboxError::NotStarted { program, detail })
        }
        Some(Report::NotHeld { why }) => {
            helper.see_off();
            Err(SandboxError::NotHeld(why))
        }
        Some(Report::Failed { detail }) => Err(lost(&detail, &helper.sweep())),
        None => {
            let swept = helper.sweep();
            if cause.is_none() {
                return Err(lost("it went away without a word", &swept));
            }
            Ok(Ended {
                outcome: told,
                processes_ended: swept.ended,
                not_ended: swept.not_ended,
                // With less than this it would not have been started.
                fence: order.policy.promised,
            })
        }
    }
}

fn failed(what: &str, error: &io::Error) -> SandboxError {
    SandboxError::Helper(format!("cannot {what}: {error}"))
}

fn lost(why: &str, swept: &Swept) -> SandboxError {
    let ended = match swept.ended {
        0 => String::new(),
        count => format!("; {count} processes of the command were ended"),
    };
    let left = match swept.not_ended.as_slice() {
        [] => String::new(),
        left => format!("; still running: {}", left.join(", ")),
    };
    SandboxError::Helper(format!("{why}{ended}{left}"))
}

/// What ended a wait.
enum Woken {
    Heard,
    Unwanted,
    TimeUp,
}

/// Waits for the helper's word, for nobody wanting it any more, or for a moment.
fn wait(control: &UnixStream, wanted: Option<&PipeReader>, until: Option<Instant>) -> Woken {
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        let mut files = vec![PollFd::from_borrowed_fd(control.as_fd(), PollFlags::IN)];
        files.extend(wanted.map(|it| PollFd::from_borrowed_fd(it.as_fd(), PollFlags::IN)));
        // An interrupted wait is waited again.
        let _ = poll(&mut files, timeout.as_ref());
        let is_awake = |at: usize| files.get(at).is_some_and(|file| !file.revents().is_empty());
        if is_awake(0) {
            return Woken::Heard;
        }
        if is_awake(1) {
            return Woken::Unwanted;
        }
        if left.is_some_and(|left| left.is_zero()) {
            return Woken::TimeUp;
        }
    }
}
