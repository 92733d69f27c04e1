//! An event as one line of a file or stream, written without copying it. [`Line`] is the same line
//! as it is read.
//!
//! [`Line`]: super::event::Line

use serde::Serialize;

use super::event::{Event, VERSION};
use super::ids::SessionId;

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    seq: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    #[serde(flatten)]
    event: &'a Event,
}

/// Adds the event and its line feed to `out`. `seq` is the sink's own counter, from 1 without gaps.
/// An error leaves `out` as it was.
pub fn write(out: &mut Vec<u8>, seq: u64, event: &Event) -> serde_json::Result<()> {
    write_in(out, seq, None, event)
}

/// The same for a file that does not say by itself which session it belongs to. Only an event that
/// names no session may be given one.
pub fn write_in(
    out: &mut Vec<u8>,
    seq: u64,
    session: Option<SessionId>,
    event: &Event,
) -> serde_json::Result<()> {
    let before = out.len();
    let written = serde_json::to_writer(&mut *out, &Written { v: VERSION, seq, session, event });
    match written {
        Ok(()) => out.push(b'\n'),
        Err(_) => out.truncate(before),
    }
    written
}
