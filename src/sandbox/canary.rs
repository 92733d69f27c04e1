//! A command that is sent into the fence to try what a command should not be able to do. It prints
//! what it could do and nothing else: it knows no kernel versions, and judges nothing.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType, socket};
use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};

/// The word that makes this program a canary.
pub const VERB: &str = "__canary";

/// How long a server of this machine may take to let it in.
const KNOCK: Duration = Duration::from_millis(300);

/// What it is sent to try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Errand {
    /// A file outside of every ground.
    pub outside: String,
    /// The process that sent it.
    pub sender: i32,
    /// A port of this machine that the sender listens at; 0 if there is none.
    pub port: u16,
}

impl Errand {
    /// The arguments that send it, the verb included.
    pub fn arguments(&self) -> Vec<String> {
        let (sender, port) = (self.sender.to_string(), self.port.to_string());
        vec![VERB.to_owned(), self.outside.clone(), sender, port]
    }

    /// The errand in the arguments after the verb.
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let outside = arguments.next()?;
        let sender = arguments.next()?.parse().ok()?;
        let port = arguments.next()?.parse().ok()?;
        Some(Self { outside, sender, port })
    }
}

/// What it could do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is an answer of its own")]
pub struct Effects {
    /// It read a file, or listed a folder, outside.
    pub read_outside: bool,
    /// It opened a file outside for writing.
    pub changed_outside: bool,
    /// It opened an internet socket.
    pub opened_inet: bool,
    /// It reached a server outside.
    pub reached_network: bool,
    /// It opened a local socket.
    pub opened_local: bool,
    /// It could have sent its sender a signal.
    pub signalled: bool,
    /// It read its sender's environment.
    pub read_environment: bool,
    /// It opened a server on 127.0.0.1.
    pub bound_loopback: bool,
    /// It has capabilities.
    pub has_capabilities: bool,
}

/// Runs as the canary.
pub fn main() -> ExitCode {
    let arguments = std::env::args_os().skip(2).filter_map(|word| word.into_string().ok());
    let Some(errand) = Errand::read(arguments) else {
        // Whoever typed this by hand reads it.
        let _ = writeln!(io::stderr(), "offshoot: {VERB} is not to be started by hand");
        return ExitCode::from(2);
    };
    let page = serde_json::to_string(&attempt(&errand)).unwrap_or_default();
    match writeln!(io::stdout(), "{page}") {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn attempt(errand: &Errand) -> Effects {
    let sender = Pid::from_raw(errand.sender);
    Effects {
        read_outside: can_read(Path::new(&errand.outside)) || fs::read_dir("/").is_ok(),
        changed_outside: OpenOptions::new().append(true).open(&errand.outside).is_ok(),
        opened_inet: socket(AddressFamily::INET, SocketType::DGRAM, None).is_ok(),
        reached_network: reaches(errand.port),
        opened_local: socket(AddressFamily::UNIX, SocketType::STREAM, None).is_ok(),
        signalled: sender.is_some_and(|sender| test_kill_process(sender).is_ok()),
        read_environment: can_read(Path::new(&format!("/proc/{}/environ", errand.sender))),
        bound_loopback: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_ok(),
        has_capabilities: has_capabilities(),
    }
}

/// True if there is a byte to be had.
fn can_read(path: &Path) -> bool {
    fs::File::open(path).and_then(|mut file| file.read(&mut [0])).is_ok_and(|count| count > 0)
}

fn reaches(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    port != 0 && TcpStream::connect_timeout(&address, KNOCK).is_ok()
}

#[cfg(target_os = "linux")]
fn has_capabilities() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| !sets.permitted.is_empty())
}

#[cfg(not(target_os = "linux"))]
fn has_capabilities() -> bool {
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn an_errand_is_read_as_it_was_sent() {
        let errand = Errand { outside: "/tmp/a b".to_owned(), sender: 7, port: 80 };
        let mut sent = errand.arguments().into_iter();
        assert_eq!(sent.next().unwrap(), VERB);
        assert_eq!(Errand::read(sent), Some(errand));
        assert_eq!(Errand::read(["x", "7"].into_iter().map(str::to_owned)), None);
        assert_eq!(Errand::read(["x", "y", "1"].into_iter().map(str::to_owned)), None);
    }

    #[test]
    fn without_a_fence_it_does_what_it_is_sent_to_try() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "x").unwrap();
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let errand = Errand {
            outside: file.path().display().to_string(),
            sender: i32::try_from(std::process::id()).unwrap(),
            port: server.local_addr().unwrap().port(),
        };
        let effects = attempt(&errand);
        assert!(effects.read_outside && effects.changed_outside && effects.reached_network);
        assert!(effects.opened_inet && effects.opened_local && effects.signalled);
    }
}
