//! What the attempts are made on: a workspace, a folder outside with things worth having, servers to
//! reach, processes to disturb. And a second user, if the tests run as root.

use std::fs::{self, File};
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use offshoot::sandbox::{Ground, Job, Outcome, Sandbox, SandboxSettings};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::{aloud, powers};

/// Set in a test that runs again as somebody else: where the program is that this user can read.
const PROGRAM_OF_OTHER_USER: &str = "OFFSHOOT_TEST_PROGRAM";
/// `nobody`, on every system.
const NOBODY: &str = "65534";

/// The program.
pub fn program() -> PathBuf {
    std::env::var_os(PROGRAM_OF_OTHER_USER)
        .map_or_else(|| env!("CARGO_BIN_EXE_offshoot").into(), PathBuf::from)
}

/// The user's own variables and toolchains.
pub fn sandbox() -> Sandbox {
    // As the program itself does first thing.
    offshoot::sandbox::harden();
    Sandbox::new(SandboxSettings::of_user(program(), std::env::vars(), &[]))
}

/// Runs the test of this name again as a user without powers. Says aloud if it cannot.
pub fn again_without_powers(test: &str) {
    if std::env::var_os(PROGRAM_OF_OTHER_USER).is_some() || !rustix::process::geteuid().is_root() {
        return;
    }
    let Some(shelf) = shelf() else {
        let why = "there is no setpriv, or nobody can be made somebody else";
        aloud::skipped(&format!("{test} as a user without powers: {why}"));
        return;
    };
    let ran = Command::new("setpriv")
        .args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"])
        .arg(shelf.path().join("tests"))
        .args(["--exact", test, "--nocapture"])
        .env(PROGRAM_OF_OTHER_USER, shelf.path().join("offshoot"))
        .env("HOME", shelf.path().join("home"))
        .env("TMPDIR", "/tmp")
        .env_remove("CARGO_HOME")
        .env_remove("RUSTUP_HOME")
        .current_dir("/")
        .status()
        .unwrap();
    assert!(ran.success(), "{test} as a user without powers");
}

/// Copies of the program and of these tests that everybody can read and run.
fn shelf() -> Option<&'static TempDir> {
    static SHELF: OnceLock<Option<TempDir>> = OnceLock::new();
    let make = || {
        Command::new("setpriv").arg("--version").stdout(Stdio::null()).status().ok()?;
        powers::can_become_others().then_some(())?;
        let shelf = tempfile::Builder::new().prefix("offshoot-shelf-").tempdir_in("/tmp").unwrap();
        open(shelf.path(), 0o755);
        fs::copy(std::env::current_exe().unwrap(), shelf.path().join("tests")).unwrap();
        fs::copy(env!("CARGO_BIN_EXE_offshoot"), shelf.path().join("offshoot")).unwrap();
        fs::create_dir(shelf.path().join("home")).unwrap();
        open(&shelf.path().join("home"), 0o777);
        Some(shelf)
    };
    SHELF.get_or_init(make).as_ref()
}

/// What a command wrote and how it ended.
pub struct Ran {
    pub text: String,
    pub outcome: Outcome,
}

/// Runs it, and fails if it could not be run.
pub async fn run(sandbox: &Sandbox, job: Job) -> Ran {
    let mut text = Vec::new();
    let hear = |piece: &[u8]| text.extend_from_slice(piece);
    let ended = sandbox.run(job, hear, &CancellationToken::new()).await.unwrap();
    assert_eq!(ended.not_ended, [] as [String; 0]);
    Ran { text: String::from_utf8_lossy(&text).into_owned(), outcome: ended.outcome }
}

/// A command in this folder, which it may change.
pub fn job(folder: &Path, command: &[&str]) -> Job {
    let (program, arguments) = command.split_first().unwrap();
    Job {
        program: program.into(),
        arguments: arguments.iter().map(Into::into).collect(),
        folder: folder.to_owned(),
        ground: Ground { writable: vec![folder.to_owned()], readable: Vec::new() },
        environment: Vec::new(),
        network: false,
        time_limit: Duration::from_mins(2),
    }
}

fn open(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A folder whose path has no link in it.
pub fn folder() -> TempDir {
    let place = std::env::temp_dir().canonicalize().unwrap();
    tempfile::tempdir_in(place).unwrap()
}

/// Everything that the attempts are made on.
pub struct Scene {
    root: TempDir,
    victims: [Child; 3],
    _open: File,
    given: Value,
    _servers: Vec<Server>,
}

#[expect(dead_code, reason = "they are kept open, and never asked")]
enum Server {
    Tcp(TcpListener),
    Udp(UdpSocket),
    Local(UnixListener),
    Datagrams(UnixDatagram),
    Packets(OwnedFd),
}

impl Scene {
    pub fn set() -> Self {
        let root = folder();
        let (work, outside) = (root.path().join("work"), root.path().join("outside"));
        fs::create_dir(&work).unwrap();
        fs::create_dir(&outside).unwrap();
        furnish(&work, &outside);
        let sleep = || Command::new("sleep").arg("600").process_group(0).spawn().unwrap();
        let victims = [sleep(), sleep(), sleep()];
        let (servers, addresses) = serve(&work, &outside);
        let open = File::open(outside.join("secret")).unwrap();
        let mut given = json!({
            "workspace": work, "outside": outside,
            "offshoot": std::process::id(),
            "shell": named_here(rustix::process::Pid::as_raw(rustix::process::getppid()), &victims[0]),
            "group": named_here(nix::unistd::getpgrp().as_raw(), &victims[0]),
            "victim": victims[0].id(), "second_victim": victims[1].id(),
            "stranger": victims[2].id(),
            "address": address_in(&victims[2]),
            "devices": devices(),
            "secret_descriptor": open.as_raw_fd(),
            "segment": 0, "own_shared_memory": false, "control": false,
        });
        given.as_object_mut().unwrap().extend(addresses);
        Self { root, victims, _open: open, given, _servers: servers }
    }

    /// Tells the attempts something.
    pub fn tell(&mut self, name: &str, value: impl Into<Value>) {
        self.given[name] = value.into();
    }

    pub fn given(&self) -> String {
        self.given.to_string()
    }

    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub fn outside(&self) -> PathBuf {
        self.root.path().join("outside")
    }

    /// Fails if something outside is not as it was.
    pub fn assert_untouched(&mut self) {
        let mut names: Vec<String> = fs::read_dir(self.outside())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let there = [
            "datagrams",
            "empty",
            "movable",
            "packets",
            "program",
            "removable",
            "renamable",
            "secret",
            "socket",
        ];
        assert_eq!(names, there);
        assert_eq!(fs::read_to_string(self.outside().join("secret")).unwrap(), SECRET);
        for victim in &mut self.victims {
            assert!(victim.try_wait().unwrap().is_none(), "a process outside was ended");
        }
        let litter = format!("offshoot-escape-{}", self.victims[0].id());
        for folder in ["/tmp", "/dev/shm"] {
            assert!(!Path::new(folder).join(&litter).exists(), "{folder} was changed");
        }
        assert!(!Path::new("/etc/offshoot-escape").exists());
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for victim in &mut self.victims {
            let _ = victim.kill();
            let _ = victim.wait();
        }
    }
}

/// What must not be read.
pub const SECRET: &str = "the secret of this scene";

fn furnish(work: &Path, outside: &Path) {
    fs::write(outside.join("secret"), SECRET).unwrap();
    for name in ["removable", "renamable", "movable"] {
        fs::write(outside.join(name), "x").unwrap();
    }
    fs::write(outside.join("program"), "#!/bin/sh\nexit 0\n").unwrap();
    open(&outside.join("program"), 0o755);
    fs::create_dir(outside.join("empty")).unwrap();
    fs::write(work.join("mine"), "x").unwrap();
    fs::write(work.join("mine-too"), "x").unwrap();
    symlink(outside.join("secret"), work.join("link-to-secret")).unwrap();
    symlink("link-to-secret", work.join("chain")).unwrap();
    symlink(outside, work.join("link-to-outside")).unwrap();
}

fn serve(work: &Path, outside: &Path) -> (Vec<Server>, serde_json::Map<String, Value>) {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp6 = TcpListener::bind("[::1]:0").ok();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let name = format!("offshoot-fence-{}-{}", std::process::id(), work.display());
    let name: String = name.chars().rev().take(90).collect();
    let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
    let addresses = json!({
        "tcp": tcp.local_addr().unwrap().port(),
        "tcp6": tcp6.as_ref().map(|it| it.local_addr().unwrap().port()),
        "udp": udp.local_addr().unwrap().port(),
        "abstract": name,
    });
    let mut servers = vec![
        Server::Tcp(tcp),
        Server::Udp(udp),
        Server::Local(UnixListener::bind_addr(&abstract_name).unwrap()),
        Server::Local(UnixListener::bind(outside.join("socket")).unwrap()),
        Server::Local(UnixListener::bind(work.join("socket")).unwrap()),
        Server::Packets(packets(&outside.join("packets"))),
        Server::Datagrams(UnixDatagram::bind(outside.join("datagrams")).unwrap()),
    ];
    servers.extend(tcp6.map(Server::Tcp));
    let Value::Object(addresses) = addresses else { unreachable!("it is written above") };
    (servers, addresses)
}

fn packets(path: &Path) -> OwnedFd {
    let socket = socket(AddressFamily::UNIX, SocketType::SEQPACKET, None).unwrap();
    bind(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    listen(&socket, 1).unwrap();
    socket
}

/// This number, or, if it is 0 because whatever it names is outside this container, a stand-in's: nobody
/// here can address what has no number, and a signal to 0 is one to oneself.
fn named_here(number: i32, instead: &Child) -> i32 {
    if number > 0 { number } else { instead.id().cast_signed() }
}

/// An address at which a process has readable memory.
fn address_in(process: &Child) -> String {
    let maps = fs::read_to_string(format!("/proc/{}/maps", process.id())).unwrap();
    maps.split('-').next().unwrap().to_owned()
}

fn devices() -> Vec<String> {
    let names = fs::read_dir("/dev").unwrap();
    names.filter_map(|entry| entry.unwrap().file_name().into_string().ok()).collect()
}
