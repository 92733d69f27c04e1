//! Whether a failed request is tried again, and when: decided from what went wrong, whether a person
//! has seen anything of the answer, and how often it was tried. It refuses to wait by itself.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};

use super::ProviderError;

/// The wait before the second try; each later one doubles it.
const FIRST_WAIT: Duration = Duration::from_millis(500);
/// The longest wait, also where a server asks for more: then the answer fails instead.
pub const LONGEST_WAIT: Duration = Duration::from_mins(2);
/// The longest wait that is chosen here rather than by the server.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);

/// How long to wait for a server, and how often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For the first sign of an answer.
    pub headers: Duration,
    /// Between two signs of life in an answer.
    pub stall: Duration,
    /// Tries after the first one.
    pub retries: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self { headers: Duration::from_mins(1), stall: Duration::from_mins(1), retries: 4 }
    }
}

impl Patience {
    /// How long to wait for the next sign of life of an answer.
    pub fn limit(&self, began: bool) -> Duration {
        if began { self.stall } else { self.headers }
    }
}

/// What to do about a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Try again after this long.
    Again(Duration),
    /// Let the answer fail.
    GiveUp,
}

/// Decides about try number `tries` (from 1), which failed with `error`. `shown` says that a part
/// of the answer was shown: then it is not replayed in silence.
pub fn decide(error: &ProviderError, shown: bool, tries: u32, patience: &Patience) -> Decision {
    if shown || tries > patience.retries || !is_passing(error) {
        return Decision::GiveUp;
    }
    match asked_wait(error) {
        Some(wait) if wait > LONGEST_WAIT => Decision::GiveUp,
        Some(wait) => Decision::Again(wait.max(backoff(tries))),
        None => Decision::Again(backoff(tries)),
    }
}

/// True for what may be different in a moment.
fn is_passing(error: &ProviderError) -> bool {
    match error {
        ProviderError::Unreachable { .. }
        | ProviderError::Stalled { .. }
        | ProviderError::Broken { .. } => true,
        ProviderError::Status { status, .. } => {
            matches!(status, 408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 | 520..=529)
        }
        ProviderError::ContextExceeded { .. }
        | ProviderError::Script(_)
        | ProviderError::Setup(_) => false,
    }
}

fn asked_wait(error: &ProviderError) -> Option<Duration> {
    match error {
        ProviderError::Status { retry_after, .. } => *retry_after,
        ProviderError::Unreachable { .. }
        | ProviderError::ContextExceeded { .. }
        | ProviderError::Stalled { .. }
        | ProviderError::Broken { .. }
        | ProviderError::Script(_)
        | ProviderError::Setup(_) => None,
    }
}

/// Half a second, doubled for each earlier try and spread at random, so that many clients do not
/// come back at the same moment.
fn backoff(tries: u32) -> Duration {
    let waits = ExponentialBuilder::new()
        .with_min_delay(FIRST_WAIT)
        .with_max_delay(LONGEST_BACKOFF)
        .with_jitter()
        .without_max_times()
        .build();
    let earlier = usize::try_from(tries.saturating_sub(1)).unwrap_or(usize::MAX).min(64);
    waits.into_iter().nth(earlier).unwrap_or(LONGEST_BACKOFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16, retry_after: Option<u64>) -> ProviderError {
        let retry_after = retry_after.map(Duration::from_secs);
        ProviderError::Status { host: "h".into(), status, detail: "d".into(), retry_after }
    }

    fn wait(error: &ProviderError, tries: u32) -> Option<Duration> {
        match decide(error, false, tries, &Patience::default()) {
            Decision::Again(wait) => Some(wait),
            Decision::GiveUp => None,
        }
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_cannot_is_not() {
        for code in [408, 429, 500, 502, 503, 504, 529] {
            assert!(wait(&status(code, None), 1).is_some(), "{code}");
        }
        for code in [400, 401, 403, 404, 413, 422] {
            assert_eq!(wait(&status(code, None), 1), None, "{code}");
        }
        let host = || "h".to_owned();
        let detail = || "d".to_owned();
        assert!(wait(&ProviderError::Unreachable { host: host(), detail: detail() }, 1).is_some());
        assert!(wait(&ProviderError::Broken { host: host(), detail: detail() }, 1).is_some());
        let too_long = ProviderError::ContextExceeded { host: host(), detail: detail() };
        assert_eq!(wait(&too_long, 1), None);
        assert_eq!(wait(&ProviderError::Setup(detail()), 1), None);
    }

    #[test]
    fn the_servers_wish_is_a_lower_bound_up_to_two_minutes() {
        assert!(wait(&status(429, Some(7)), 1) >= Some(Duration::from_secs(7)));
        assert_eq!(wait(&status(429, Some(3_600)), 1), None);
    }

    #[test]
    fn waits_grow_and_stay_bounded() {
        for tries in 1..=4 {
            let least = FIRST_WAIT * 2_u32.pow(tries - 1);
            let waited = wait(&status(500, None), tries).unwrap_or_default();
            assert!((least..=least * 2).contains(&waited), "try {tries}: {waited:?}");
        }
        let patience = Patience { retries: u32::MAX, ..Patience::default() };
        let late = decide(&status(500, None), false, 1_000_000, &patience);
        assert!(matches!(late, Decision::Again(wait) if wait <= LONGEST_BACKOFF * 2));
    }

    #[test]
    fn nothing_is_tried_again_after_it_was_shown_or_too_often() {
        let error = status(500, None);
        assert_eq!(decide(&error, true, 1, &Patience::default()), Decision::GiveUp);
        assert_eq!(wait(&error, 5), None);
    }
}
