//! Asks for every process that ends below the helper, so that none stays as a zombie and the system
//! can tell that nothing is left. It ends nothing itself.

use std::sync::mpsc::SyncSender;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

use super::helper::Happening;
use super::wire::How;

/// Waits until nothing is below this process. Only to be started once the command is there: before
/// that the system would say that there is nothing.
///
/// It waits for any child whatever its group, since what left its session is to be found as well.
pub(super) fn all(command: Pid, tell: &SyncSender<Happening>) {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == command => {
                // A helper that is done listens no more.
                let _ = tell.send(Happening::Ended(how(status)));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    let _ = tell.send(Happening::Gone);
}

fn how(status: WaitStatus) -> How {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => How::Exited(code),
        (None, Some(signal)) => How::Signalled(signal),
        (None, None) => How::Told,
    }
}
