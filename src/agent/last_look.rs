//! The last looks at files that a run's end has to tell of, on a thread of their own and with a bound:
//! a file system may hang, and no run waits for it. It refuses to know what is looked for.

use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::cancel::CancelScope;

/// How long a look may take that can stop between two files.
const CHECK_TIME: Duration = Duration::from_secs(1);
/// How long one file may be looked at beyond that: a file system may hang.
const HANGS: Duration = Duration::from_secs(1);

/// What `look` found, which blocks and should begin with no further file after the moment that it is
/// given. `None` if it hangs: two seconds long, or until the last looks of a cancelled run are over,
/// in which case `what` is told among what was left behind.
pub(super) async fn look<T: Send + 'static>(
    scope: &CancelScope,
    what: &str,
    look: impl FnOnce(Instant) -> T + Send + 'static,
) -> Option<T> {
    let until = Instant::now() + CHECK_TIME;
    let looking = timeout(CHECK_TIME + HANGS, spawn_blocking(move || look(until)));
    scope.last_look(what, looking).await?.ok()?.ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::mpsc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_look_that_hangs_is_waited_for_two_seconds_and_one_that_ends_is_told() {
        let scope = CancelScope::root();
        assert_eq!(look(&scope, "a look", |_| 7).await, Some(7));
        let (release, hangs) = mpsc::channel::<()>();
        let hung = look(&scope, "a look", move |_| hangs.recv().is_ok());
        let (found, ()) = tokio::join!(hung, tokio::time::advance(CHECK_TIME + HANGS));
        assert_eq!(found, None);
        drop(release);
    }
}
