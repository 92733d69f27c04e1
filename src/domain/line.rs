//! An event as one line of a file or stream, written without copying it. [`Line`] is the same line
//! as it is read.
//!
//! [`Line`]: super::event::Line

use serde::Serialize;

use super::event::{Event, VERSION};

#[derive(Serialize)]
struct Written<'a> {
    v: u32,
    seq: u64,
    #[serde(flatten)]
    event: &'a Event,
}

/// Adds the event and its line feed to `out`. `seq` is the sink's own counter, from 1 without gaps.
/// An error leaves `out` as it was.
pub fn write(out: &mut Vec<u8>, seq: u64, event: &Event) -> serde_json::Result<()> {
    let before = out.len();
    let written = serde_json::to_writer(&mut *out, &Written { v: VERSION, seq, event });
    match written {
        Ok(()) => out.push(b'\n'),
        Err(_) => out.truncate(before),
    }
    written
}
