//! What a change does to a file's lines, as a unified diff. It takes bytes and knows no files.

use std::fmt::Write as _;
use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag};

use crate::domain::hash::Sha;
use crate::workspace::lines::is_binary;
use crate::workspace::path::on_one_line;

use super::excerpt::{count, size};

/// Lines around a change.
const CONTEXT: usize = 3;
/// Bytes of a diff that are shown.
pub const MAX_DIFF_BYTES: usize = 64 * 1024;
/// Lines, of both sides, that are compared one with another; of more the whole block is taken as
/// replaced, so that the same change gives the same diff in bounded time.
const MAX_COMPARED: usize = 5_000;

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
    let (before, after) = (lines(before), lines(new));
    let ops = compare(&before, &after);
    let mut diff = Diff { before, after, text: format!("--- {from}\n+++ b/{path}\n") };
    if let Some(hidden) = hidden {
        let _ = writeln!(diff.text, "(all of the old content goes: {hidden})");
    }
    let changed = |range: fn(&DiffOp) -> Range<usize>| {
        let changes = ops.iter().filter(|op| op.tag() != DiffTag::Equal);
        changes.map(|op| range(op).len()).sum()
    };
    let (removed, added) = (changed(DiffOp::old_range), changed(DiffOp::new_range));
    for hunk in similar::group_diff_ops(ops, CONTEXT) {
        diff.hunk(&hunk);
    }
    Unified { text: cut(diff.text), added, removed }
}

/// Each with its end.
fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

fn compare(before: &[&[u8]], after: &[&[u8]]) -> Vec<DiffOp> {
    let head = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let (old, new) =
        (before.get(head..).unwrap_or_default(), after.get(head..).unwrap_or_default());
    let pairs = old.iter().rev().zip(new.iter().rev());
    let tail = pairs.take_while(|(old, new)| old == new).count();
    let old = old.get(..old.len() - tail).unwrap_or_default();
    let new = new.get(..new.len() - tail).unwrap_or_default();
    let mut ops = Vec::new();
    if head > 0 {
        ops.push(DiffOp::Equal { old_index: 0, new_index: 0, len: head });
    }
    if old.len() + new.len() <= MAX_COMPARED {
        let inner = similar::capture_diff_slices(Algorithm::Myers, old, new);
        ops.extend(inner.into_iter().map(|op| further_down(op, head)));
    } else {
        let (old_len, new_len) = (old.len(), new.len());
        ops.push(DiffOp::Replace { old_index: head, old_len, new_index: head, new_len });
    }
    if tail > 0 {
        let (old_index, new_index) = (before.len() - tail, after.len() - tail);
        ops.push(DiffOp::Equal { old_index, new_index, len: tail });
    }
    ops
}

fn further_down(op: DiffOp, by: usize) -> DiffOp {
    match op {
        DiffOp::Equal { old_index, new_index, len } => {
            DiffOp::Equal { old_index: old_index + by, new_index: new_index + by, len }
        }
        DiffOp::Delete { old_index, old_len, new_index } => {
            DiffOp::Delete { old_index: old_index + by, old_len, new_index: new_index + by }
        }
        DiffOp::Insert { old_index, new_index, new_len } => {
            DiffOp::Insert { old_index: old_index + by, new_index: new_index + by, new_len }
        }
        DiffOp::Replace { old_index, old_len, new_index, new_len } => DiffOp::Replace {
            old_index: old_index + by,
            old_len,
            new_index: new_index + by,
            new_len,
        },
    }
}

struct Diff<'a> {
    before: Vec<&'a [u8]>,
    after: Vec<&'a [u8]>,
    text: String,
}

impl Diff<'_> {
    fn hunk(&mut self, ops: &[DiffOp]) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        let _ = writeln!(self.text, "@@ -{} +{} @@", place(&old), place(&new));
        for op in ops {
            match op.tag() {
                DiffTag::Equal => self.side(' ', Side::Before, op.old_range()),
                DiffTag::Delete => self.side('-', Side::Before, op.old_range()),
                DiffTag::Insert => self.side('+', Side::After, op.new_range()),
                DiffTag::Replace => {
                    self.side('-', Side::Before, op.old_range());
                    self.side('+', Side::After, op.new_range());
                }
            }
        }
    }

    fn side(&mut self, mark: char, side: Side, range: Range<usize>) {
        let all = match side {
            Side::Before => &self.before,
            Side::After => &self.after,
        };
        for line in all.get(range).unwrap_or_default() {
            self.text.push(mark);
            self.text.push_str(&String::from_utf8_lossy(line));
            if !line.ends_with(b"\n") {
                self.text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

/// Where a hunk lies: its first line from 1 and how many there are.
fn place(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        lines => format!("{},{lines}", range.start + 1),
    }
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
