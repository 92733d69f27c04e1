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
    /// Another process that has nothing to do with it; 0 if there is none.
    pub bystander: i32,
    /// A port of this machine that the sender listens at; 0 if there is none.
    pub port: u16,
}

impl Errand {
    /// The arguments that send it, the verb included.
    pub fn arguments(&self) -> Vec<String> {
        let numbers = [self.sender.to_string(), self.bystander.to_string(), self.port.to_string()];
        [VERB.to_owned(), self.outside.clone()].into_iter().chain(numbers).collect()
    }

    /// The errand in the arguments after the verb.
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Self> {
        let outside = arguments.next()?;
        let sender = arguments.next()?.parse().ok()?;
        let bystander = arguments.next()?.parse().ok()?;
        let port = arguments.next()?.parse().ok()?;
        Some(Self { outside, sender, bystander, port })
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
    /// It could have sent its sender, or the bystander, a signal.
    pub signalled: bool,
    /// It read its sender's environment.
    pub read_environment: bool,
    /// It opened a server on 127.0.0.1.
    pub bound_loopback: bool,
    /// It has capabilities.
    pub has_capabilities: bool,
}

/// The argument that makes a canary a bystander: it does nothing until its input ends.
pub const PERCH: &str = "perch";

/// Runs as the canary.
pub fn main() -> ExitCode {
    if std::env::args_os().nth(2).is_some_and(|word| word == PERCH) {
        // Whatever comes, and an error too, is as good as the end.
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        return ExitCode::SUCCESS;
    }
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
    Effects {
        read_outside: can_read(Path::new(&errand.outside)) || fs::read_dir("/").is_ok(),
        changed_outside: OpenOptions::new().append(true).open(&errand.outside).is_ok(),
        opened_inet: socket(AddressFamily::INET, SocketType::DGRAM, None).is_ok(),
        reached_network: reaches(errand.port),
        opened_local: socket(AddressFamily::UNIX, SocketType::STREAM, None).is_ok(),
        signalled: can_signal(errand.sender) || can_signal(errand.bystander),
        read_environment: can_read(Path::new(&format!("/proc/{}/environ", errand.sender))),
        bound_loopback: TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).is_ok(),
        has_capabilities: has_capabilities(),
    }
}

/// True if there is a byte to be had.
fn can_read(path: &Path) -> bool {
    fs::File::open(path).and_then(|mut file| file.read(&mut [0])).is_ok_and(|count| count > 0)
}

fn can_signal(process: i32) -> bool {
    Pid::from_raw(process).is_some_and(|process| test_kill_process(process).is_ok())
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
        let errand = Errand { outside: "/tmp/a b".to_owned(), sender: 7, bystander: 8, port: 80 };
        let mut sent = errand.arguments().into_iter();
        assert_eq!(sent.next().unwrap(), VERB);
        assert_eq!(Errand::read(sent), Some(errand));
        assert_eq!(Errand::read(["x", "7"].into_iter().map(str::to_owned)), None);
        assert_eq!(Errand::read(["x", "y", "1", "2"].into_iter().map(str::to_owned)), None);
    }

    #[test]
    fn without_a_fence_it_does_what_it_is_sent_to_try() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), "x").unwrap();
        let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let errand = Errand {
            outside: file.path().display().to_string(),
            sender: i32::try_from(std::process::id()).unwrap(),
            bystander: 0,
            port: server.local_addr().unwrap().port(),
        };
        let effects = attempt(&errand);
        assert!(effects.read_outside && effects.changed_outside && effects.reached_network);
        assert!(effects.opened_inet && effects.opened_local && effects.signalled);
    }
}
