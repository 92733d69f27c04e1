//! What this program and its helper say to each other: one line of JSON each way. It knows the words
//! and neither who waits for them nor what is done about them.

use std::ffi::OsString;
use std::io::{self, BufRead, Read};

use serde::{Deserialize, Serialize};

use crate::sandbox::confine::{Applied, ConfineError};
use crate::sandbox::policy::Policy;

/// Bytes that an order may have: more than the system lets a program be started with.
const MAX_LINE_BYTES: u64 = 64 * 1024 * 1024;

/// What the helper is to start. The environment and the folder are the helper's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    /// The program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What it may do.
    pub policy: Policy,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "report", rename_all = "snake_case")]
pub(super) enum Report {
    /// The command ended, and so did everything below it but for what is named.
    Ended {
        /// How the command itself ended.
        how: How,
        /// Processes that had to be ended.
        ended: u32,
        /// Processes that are still there, in words.
        not_ended: Vec<String>,
        /// What it was held to.
        fence: Applied,
    },
    /// It could not be held to its policy, so it was not started.
    NotHeld {
        /// Why.
        why: ConfineError,
    },
    /// The program could not be started.
    NotStarted {
        /// What the system said.
        detail: String,
    },
    /// The helper itself could not do its work.
    Failed {
        /// What it tried, and what the system said.
        detail: String,
    },
}

/// How a command ended, as its helper saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum How {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It was running when the helper was told to end it.
    Told,
}

/// A message as a line, its end included.
pub(super) fn line<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}

/// Reads one message; none if the other side went away before it had said it all.
pub(super) fn read<T: for<'a> Deserialize<'a>>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    from.take(MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Ok(None);
    }
    Ok(Some(serde_json::from_slice(&line)?))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::os::unix::ffi::OsStringExt;

    use super::*;

    #[test]
    fn an_order_keeps_bytes_that_are_no_text() {
        let order = Order {
            program: "sh".into(),
            arguments: vec![OsString::from_vec(vec![0xff, b'\n', b'"']), "".into()],
            policy: Policy::new(),
        };
        let line = line(&order).unwrap();
        assert_eq!(line.iter().position(|byte| *byte == b'\n'), Some(line.len() - 1));
        assert_eq!(read::<Order>(&mut line.as_slice()).unwrap(), Some(order));
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_message() {
        let line = line(&Report::NotStarted { detail: "no such file".to_owned() }).unwrap();
        for length in 0..line.len() {
            assert_eq!(read::<Report>(&mut &line[..length]).unwrap(), None, "{length}");
        }
    }
}
