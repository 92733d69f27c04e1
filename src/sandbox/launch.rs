//! Running a command from the async side: its output is handed on as it comes, and a cancel is
//! passed on. The work is done by a thread of its own; a call that is dropped ends its command too.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::io::Errno;
use tokio::net::unix::pipe::Receiver;
use tokio_util::sync::CancellationToken;

use super::environment;
use super::job::{Ended, Job, Outcome, SandboxError};
use super::keep::{self, Run};
use super::private::{Private, PrivatePlace};
use super::wire::Order;
use super::{Sandbox, SandboxSettings};
use crate::domain::fence::FenceLevel;
use crate::sandbox::confine::ConfineError;
use crate::sandbox::policy::Policy;

/// Bytes that are read at once: what a pipe holds.
const PIECE: usize = 64 * 1024;
/// Pieces that are still read once everything has ended: what the largest pipe holds.
const LAST_PIECES: usize = 16;

impl Sandbox {
    /// Runs a command until it has ended, its time is up, or `cancel` fires, and then ends all that
    /// it left running. What it writes to standard output and standard error is handed to `output`
    /// in the order of its arrival, piece by piece and never kept; what comes after the cancel too.
    ///
    /// It is over at most about two seconds after the cancel, and usually within milliseconds. A
    /// future that is dropped cancels the command as well. An error means that it did not run, or
    /// that its helper was lost, which ends it too.
    pub async fn run(
        &self,
        job: Job,
        mut output: impl FnMut(&[u8]) + Send,
        cancel: &CancellationToken,
    ) -> Result<Ended, SandboxError> {
        if cancel.is_cancelled() {
            return Ok(never_started(self.promised()));
        }
        let namespaces = self.namespaces.load(Ordering::Relaxed);
        let ended = self.attempt(job.clone(), namespaces, &mut output, cancel).await;
        // Some systems give namespaces and then nothing to furnish them with. Without them it is
        // still a fence, and the command has not been started. Another command may have found the
        // same meanwhile, so what counts is what this attempt was made with.
        let got_stuck = matches!(ended, Err(SandboxError::NotHeld(ConfineError::HalfWay(_))));
        if !(got_stuck && namespaces) {
            return ended;
        }
        self.namespaces.store(false, Ordering::Relaxed);
        self.attempt(job, false, &mut output, cancel).await
    }

    /// What whoever allows a command has been told.
    fn promised(&self) -> FenceLevel {
        self.found.get().map_or(FenceLevel::Unfenced, |fence| fence.level)
    }

    async fn attempt(
        &self,
        job: Job,
        namespaces: bool,
        output: &mut (impl FnMut(&[u8]) + Send),
        cancel: &CancellationToken,
    ) -> Result<Ended, SandboxError> {
        let wish = (namespaces, self.promised());
        let (pieces, writer) = pipe()?;
        let (wanted, want) = pipe()?;
        let pieces = receiver(pieces)?;
        let (settings, private) = (Arc::clone(&self.settings), Arc::clone(&self.private));
        let mut kept = tokio::task::spawn_blocking(move || {
            keep::run(prepare(&settings, &private, job, wish, writer, wanted)?)
        });
        let mut want = Some(want);
        let mut open = true;
        let mut buffer = vec![0; PIECE];
        let ended = loop {
            tokio::select! {
                biased;
                ended = &mut kept => break ended,
                () = cancel.cancelled(), if want.is_some() => want = None,
                more = read(&pieces, &mut buffer, output), if open => open = more,
            }
        };
        read_rest(&pieces, &mut buffer, output);
        ended.map_err(|error| SandboxError::Helper(format!("its keeper broke down: {error}")))?
    }
}

/// Completes a job with what is the same for all of them. Blocks.
fn prepare(
    settings: &SandboxSettings,
    private: &PrivatePlace,
    job: Job,
    (namespaces, promised): (bool, FenceLevel),
    output: PipeWriter,
    wanted: PipeReader,
) -> Result<Run, SandboxError> {
    let private = private.get(settings.home.as_deref()).map_err(|error| {
        SandboxError::Helper(format!(
            "cannot make a private folder in {}: {error}",
            std::env::temp_dir().display()
        ))
    })?;
    let environment = variables(settings, &private, &job);
    let mut policy = Policy::for_job(&job, settings, &[private.home(), private.temporary()]);
    policy.namespaces = namespaces;
    policy.promised = promised;
    Ok(Run {
        helper: settings.helper.clone(),
        order: Order { program: job.program, arguments: job.arguments, policy },
        folder: job.folder,
        environment,
        time_limit: job.time_limit,
        output,
        wanted,
        private,
    })
}

/// The session's variables, the private places, the job's variables; later ones win. What the system
/// could not take as a variable is left out.
fn variables(
    settings: &SandboxSettings,
    private: &Private,
    job: &Job,
) -> BTreeMap<OsString, OsString> {
    let of_session =
        settings.environment.iter().filter(|(name, _)| job.network || !environment::is_proxy(name));
    let owned = |(name, value): &(String, String)| (name.into(), value.into());
    let mut all: BTreeMap<OsString, OsString> = of_session.map(owned).collect();
    all.insert("HOME".into(), private.home().into());
    for name in ["TMPDIR", "TMP", "TEMP"] {
        all.insert(name.into(), private.temporary().into());
    }
    all.insert("PWD".into(), job.folder.clone().into());
    all.extend(job.environment.iter().map(owned));
    all.retain(|name, value| {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        !name.is_empty() && !name.contains(&b'=') && !name.contains(&0) && !value.contains(&0)
    });
    all
}

fn never_started(fence: FenceLevel) -> Ended {
    Ended { outcome: Outcome::Cancelled, processes_ended: 0, not_ended: Vec::new(), fence }
}

fn pipe() -> Result<(PipeReader, PipeWriter), SandboxError> {
    io::pipe().map_err(|error| SandboxError::Helper(format!("cannot make a pipe: {error}")))
}

fn receiver(pieces: PipeReader) -> Result<Receiver, SandboxError> {
    Receiver::from_owned_fd(pieces.into())
        .map_err(|error| SandboxError::Helper(format!("cannot watch its output: {error}")))
}

/// Waits for a piece and hands it on. False at the end of it.
async fn read(pieces: &Receiver, buffer: &mut [u8], output: &mut impl FnMut(&[u8])) -> bool {
    if pieces.readable().await.is_err() {
        return false;
    }
    match pieces.try_read(buffer) {
        Ok(0) => false,
        Ok(count) => {
            output(&buffer[..count]);
            true
        }
        Err(error) => {
            matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
        }
    }
}

/// Hands on what is still in the pipe, without waiting for more.
fn read_rest(pieces: &Receiver, buffer: &mut [u8], output: &mut impl FnMut(&[u8])) {
    for _ in 0..LAST_PIECES {
        match rustix::io::read(pieces, &mut *buffer) {
            Ok(0) => break,
            Ok(count) => output(&buffer[..count]),
            Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
}
