//! Finds out how well commands are fenced here, by sending a canary through the real helper. It knows
//! what is tried and how long that may take, not what the findings are worth: see
//! [`judge`](crate::sandbox::judge).

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::domain::fence::Fence;
use crate::sandbox::canary::{self, Effects, Errand};
use crate::sandbox::judge::judge;
use crate::sandbox::{Ground, Job, Outcome, Sandbox, SandboxError};

/// How long the canary may take, helper and all.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bytes of the canary's song that are listened to.
const SONG_BYTES: usize = 4_096;

impl Sandbox {
    /// How well commands are fenced, found by trying: once, in at most about four seconds where the
    /// system is stuck and in milliseconds where it is not. Later calls answer at once.
    pub async fn fence(&self) -> Fence {
        self.found
            .get_or_init(|| async {
                match self.try_out().await {
                    Ok(effects) => judge(&effects),
                    Err(why) => Fence::none(format!("the fence could not be tried: {why}")),
                }
            })
            .await
            .clone()
    }

    /// What is laid out is looked after on a thread that may block.
    async fn try_out(&self) -> Result<Effects, String> {
        let helper = self.settings().helper.clone();
        let laying = tokio::task::spawn_blocking(move || {
            let bait = Bait::lay(&helper);
            job(&helper, &bait.errand()).map(|job| (job, bait))
        });
        let (job, bait) = laying.await.map_err(|fault| fault.to_string())??;
        let effects = self.send(job).await;
        // A panic of the thread has left nothing to be done.
        drop(tokio::task::spawn_blocking(move || drop(bait)).await);
        effects
    }

    async fn send(&self, job: Job) -> Result<Effects, String> {
        let mut song = Vec::new();
        let cancel = CancellationToken::new();
        let listen = |piece: &[u8]| {
            let room = SONG_BYTES.saturating_sub(song.len()).min(piece.len());
            song.extend_from_slice(&piece[..room]);
        };
        let sent = tokio::time::timeout(PATIENCE * 2, self.run(job, listen, &cancel)).await;
        let ended = sent
            .map_err(|_| "it took too long".to_owned())?
            .map_err(|error: SandboxError| error.to_string())?;
        let song = String::from_utf8_lossy(&song);
        if ended.outcome != Outcome::Exited(0) {
            return Err(format!("it ended as {:?}, saying `{}`", ended.outcome, song.trim()));
        }
        serde_json::from_str(song.trim())
            .map_err(|error| format!("it said `{}`: {error}", song.trim()))
    }
}

/// The canary's flight, by a helper at this place. Blocks.
fn job(helper: &Path, errand: &Errand) -> Result<Job, String> {
    let program =
        std::fs::canonicalize(helper).map_err(|error| format!("{}: {error}", helper.display()))?;
    Ok(Job {
        program: program.clone().into(),
        arguments: errand.arguments().into_iter().map(Into::into).collect(),
        folder: Path::new("/").to_owned(),
        ground: Ground { writable: Vec::new(), readable: vec![program] },
        environment: Vec::new(),
        network: false,
        time_limit: PATIENCE,
    })
}

fn port(server: &TcpListener) -> u16 {
    server.local_addr().map_or(0, |address| address.port())
}

/// What the canary must not be able to get at. Where it cannot be laid, the canary has less to try
/// and tries the rest. Laying it and dropping it block.
struct Bait {
    file: Option<tempfile::NamedTempFile>,
    server: Option<TcpListener>,
    bystander: Option<Child>,
}

impl Drop for Bait {
    fn drop(&mut self) {
        if let Some(bystander) = &mut self.bystander {
            // One that is gone already is what is wanted.
            let _ = bystander.kill();
            let _ = bystander.wait();
        }
    }
}

impl Bait {
    fn lay(program: &Path) -> Self {
        let file = tempfile::Builder::new().prefix("offshoot-outside-").tempfile().ok();
        let file = file.and_then(|mut file| file.write_all(b"outside").ok().map(|()| file));
        let bystander = Command::new(program)
            .args([canary::VERB, canary::PERCH])
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok();
        Self { file, server, bystander: bystander.ok() }
    }

    fn errand(&self) -> Errand {
        let file = self.file.as_ref();
        let bystander = self.bystander.as_ref();
        Errand {
            outside: file
                .map_or("/etc/shadow".to_owned(), |file| file.path().display().to_string()),
            sender: i32::try_from(std::process::id()).unwrap_or_default(),
            bystander: bystander.map_or(0, |it| i32::try_from(it.id()).unwrap_or(0)),
            port: self.server.as_ref().map_or(0, port),
        }
    }
}
