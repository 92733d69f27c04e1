//! Whether there is still a terminal. The library that reads keys takes the end of the terminal for
//! silence and reads on, without rest; so a thread of its own waits for that end. It reads nothing.

use std::io;
use std::thread;

use nix::unistd::getpgrp;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getppid};
use rustix::stdio::stdin;
use rustix::termios::tcgetpgrp;

/// How often it is asked whether the terminal still lets this process read: the kernel tells
/// nobody when that ends.
const LOOK: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

/// Calls `tell` once, when the terminal is gone. The thread ends then, or with the process.
pub fn watch(tell: impl FnOnce(io::Error) + Send + 'static) -> io::Result<()> {
    let parent = getppid();
    let wait = move || tell(wait(parent).into());
    thread::Builder::new().name("hangup".to_owned()).spawn(wait)?;
    Ok(())
}

/// True for an error of a terminal that is gone.
pub fn is_hangup(error: &io::Error) -> bool {
    let code = error.raw_os_error();
    [Errno::IO, Errno::NXIO, Errno::PIPE].iter().any(|gone| code == Some(gone.raw_os_error()))
}

fn wait(parent: Option<Pid>) -> Errno {
    loop {
        // The end of a terminal is always told; what can be read is not asked for.
        let mut terminal = [PollFd::from_borrowed_fd(stdin(), PollFlags::empty())];
        match poll(&mut terminal, Some(&LOOK)) {
            Ok(0) if is_left_behind(parent) => return Errno::IO,
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Errno::IO,
            Err(error) => return error,
        }
    }
}

/// True once whoever started this process is gone and the terminal went to somebody else: reading
/// it is an error from then on.
fn is_left_behind(parent: Option<Pid>) -> bool {
    let orphaned = getppid() != parent || parent.is_some_and(|pid| pid.as_raw_nonzero().get() == 1);
    orphaned
        && !tcgetpgrp(stdin()).is_ok_and(|group| Pid::as_raw(Some(group)) == getpgrp().as_raw())
}
