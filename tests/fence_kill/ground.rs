//! A sandbox to run commands in, one test at a time, and a look at the system's table of processes
//! that does not trust the program's own.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use offshoot::sandbox::{Ended, Ground as Places, Job, Sandbox, SandboxError, SandboxSettings};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

/// Far more than any of it needs; only so that a hang is told as one.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The variable whose value tells whose a process is.
pub const MARK: &str = "FENCE_KILL_MARK";
/// The variable that names the helper, where it is not the built one.
pub const HELPER: &str = "FENCE_KILL_HELPER";

/// One test at a time: they count what the whole process has, a waiting test's runtime included.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs a test alone.
pub fn alone(test: impl AsyncFnOnce(Ground)) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { test(Ground::new()).await });
}

/// The same with a clock that stands still and jumps as soon as nothing else is to be done.
pub fn alone_with_a_paused_clock(test: impl AsyncFnOnce(Ground)) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let runtime = Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async { test(Ground::new()).await });
}

/// A sandbox and a folder.
pub struct Ground {
    pub sandbox: Arc<Sandbox>,
    pub folder: TempDir,
}

/// A command that runs.
pub struct Running {
    pub mark: String,
    pub cancel: CancellationToken,
    pub task: JoinHandle<Result<Ended, SandboxError>>,
    ready: oneshot::Receiver<()>,
}

impl Ground {
    fn new() -> Self {
        offshoot::sandbox::harden();
        let sandbox = Arc::new(Sandbox::new(SandboxSettings::bare(helper())));
        Self { sandbox, folder: TempDir::new().unwrap() }
    }

    /// A shell script, and the mark that all its processes bear.
    pub fn job(&self, script: &str) -> (Job, String) {
        let mark = Uuid::now_v7().to_string();
        let job = Job {
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            folder: self.folder.path().to_owned(),
            ground: Places { writable: vec![self.folder.path().to_owned()], readable: Vec::new() },
            environment: vec![
                ("PATH".to_owned(), std::env::var("PATH").unwrap()),
                (MARK.to_owned(), mark.clone()),
            ],
            network: false,
            time_limit: Duration::from_mins(2),
        };
        (job, mark)
    }

    /// Runs a script to its end and gives what it wrote.
    pub async fn run(&self, script: &str) -> (Ended, String) {
        let (job, mark) = self.job(script);
        let mut text = Vec::new();
        let cancel = CancellationToken::new();
        let ended = self.sandbox.run(job, |piece| text.extend_from_slice(piece), &cancel);
        let ended = tokio::time::timeout(PATIENCE, ended).await.expect("it hangs").unwrap();
        assert_eq!(marked(&mark), [] as [String; 0]);
        (ended, String::from_utf8_lossy(&text).into_owned())
    }

    /// Starts a script.
    pub fn start(&self, script: &str) -> Running {
        let (job, mark) = self.job(script);
        let (sandbox, cancel) = (Arc::clone(&self.sandbox), CancellationToken::new());
        let (tell, ready) = oneshot::channel();
        let (mut tell, token) = (Some(tell), cancel.clone());
        let task = tokio::spawn(async move {
            let hear = move |piece: &[u8]| {
                if piece.windows(5).any(|window| window == b"ready")
                    && let Some(tell) = tell.take()
                {
                    let _ = tell.send(());
                }
            };
            sandbox.run(job, hear, &token).await
        });
        Running { mark, cancel, task, ready }
    }
}

impl Running {
    /// Waits until the script has written `ready`.
    pub async fn ready(&mut self) {
        let ready = tokio::time::timeout(PATIENCE, &mut self.ready).await;
        ready.expect("never ready").expect("ended before it was ready");
    }

    /// Waits for its end, then looks whether anything of it is left.
    pub async fn end(self) -> Result<Ended, SandboxError> {
        let ended = tokio::time::timeout(PATIENCE, self.task).await.expect("it hangs").unwrap();
        assert_eq!(marked(&self.mark), [] as [String; 0], "left of it, though {ended:?}");
        ended
    }
}

pub fn helper() -> PathBuf {
    std::env::var_os(HELPER).map_or_else(|| env!("CARGO_BIN_EXE_offshoot").into(), PathBuf::from)
}

/// The processes that bear a mark, zombies left out: those have no environment any more.
pub fn marked(mark: &str) -> Vec<String> {
    let bears = |number: &i32| {
        let environment = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        let mark = format!("{MARK}={mark}");
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    };
    let is_helper = |number: &i32| {
        fs::read(format!("/proc/{number}/cmdline"))
            .is_ok_and(|line| line.starts_with(b"offshoot\0"))
    };
    let found = numbers().into_iter().filter(bears).filter(|number| !is_helper(number));
    found.map(describe).collect()
}

fn describe(number: i32) -> String {
    let line = fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
    format!("{number} {}", String::from_utf8_lossy(&line).replace('\0', " "))
}

/// Waits until nothing bears the mark.
pub async fn gone(mark: &str) -> Duration {
    let began = Instant::now();
    while !marked(mark).is_empty() {
        assert!(began.elapsed() < PATIENCE, "still there: {:?}", marked(mark));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    began.elapsed()
}

/// The children of this process by their number, with their state.
pub fn children() -> BTreeMap<i32, char> {
    let own = std::process::id().to_string();
    let state = |number: i32| {
        let line = fs::read(format!("/proc/{number}/stat")).ok()?;
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut rest = line.rsplit_once(')')?.1.split_whitespace();
        let state = rest.next()?.chars().next()?;
        (rest.next() == Some(own.as_str())).then_some((number, state))
    };
    numbers().into_iter().filter_map(state).collect()
}

/// The only child there is: the helper of the only command that runs.
pub fn only_helper() -> rustix::process::Pid {
    let children = children();
    assert_eq!(children.len(), 1, "{children:?}");
    rustix::process::Pid::from_raw(*children.first_key_value().unwrap().0).unwrap()
}

pub fn open_files() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Waits until as many files are open as before: folders that were left by killed programs are
/// looked for beside everything else.
pub async fn closed_again(before: usize) {
    let began = Instant::now();
    while open_files() != before {
        assert!(began.elapsed() < PATIENCE, "{} open files, {before} before", open_files());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

fn numbers() -> Vec<i32> {
    let entries = fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}
