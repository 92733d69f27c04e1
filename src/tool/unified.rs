//! What a change does to a file's lines, as a unified diff. It takes bytes and knows no files.

use std::fmt::Write as _;

use crate::domain::hash::Sha;
use crate::domain::line_diff::{LineDiff, bounded};
use crate::workspace::lines::is_binary;
use crate::workspace::path::on_one_line;

use super::excerpt::{count, size};

/// Bytes of a diff that are shown.
pub const MAX_DIFF_BYTES: usize = 64 * 1024;

/// What was there before.
#[derive(Debug, Clone, Copy)]
pub enum Old<'a> {
    /// Nothing.
    None,
    /// This.
    Content(&'a [u8]),
    /// Something too large to be looked at, of so many bytes.
    TooLarge(u64),
}

/// A diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unified {
    /// Its text, at most about [`MAX_DIFF_BYTES`]. If it was cut, it ends in a line that says so and
    /// holds the hash of the whole, so that two changes with the same text are the same change.
    pub text: String,
    /// Lines that come.
    pub added: usize,
    /// Lines that go.
    pub removed: usize,
}

/// The difference between two contents of the file at `path`.
pub fn unified(path: &str, old: Old<'_>, new: &[u8]) -> Unified {
    let path = on_one_line(path);
    let (from, before, hidden) = match old {
        Old::None => ("/dev/null".to_owned(), &b""[..], None),
        Old::Content(old) if is_binary(old) => {
            let (bytes, sha) = (size(old.len() as u64), Sha::of(old));
            (format!("a/{path}"), &b""[..], Some(format!("binary, {bytes}, sha256 {sha}")))
        }
        Old::Content(old) => (format!("a/{path}"), old, None),
        Old::TooLarge(bytes) => {
            (format!("a/{path}"), &b""[..], Some(format!("too large to be shown, {}", size(bytes))))
        }
    };
    let mut text = format!("--- {from}\n+++ b/{path}\n");
    if let Some(hidden) = hidden {
        let _ = writeln!(text, "(all of the old content goes: {hidden})");
    }
    let diff = LineDiff::new(before, new, bounded);
    text.push_str(&diff.hunks());
    Unified { text: cut(text), added: diff.added(), removed: diff.removed() }
}

fn cut(mut text: String) -> String {
    if text.len() <= MAX_DIFF_BYTES {
        return text;
    }
    let sha = Sha::of(&text);
    let head = text.get(..text.floor_char_boundary(MAX_DIFF_BYTES)).unwrap_or_default();
    let end = head.rfind('\n').map_or(head.len(), |end| end + 1);
    // A single line longer than all there is room for is cut inside.
    let end = if end * 2 < head.len() { head.len() } else { end };
    let rest = text.get(end..).unwrap_or_default();
    let lines = count(rest.lines().count() as u64, "line", "lines");
    let note = format!("... (diff cut: {lines} more, sha256 of the whole {sha})\n");
    text.truncate(end);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text + &note
}

#[cfg(test)]
mod tests;
