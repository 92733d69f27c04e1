//! What two contents differ in, line by line, and its form as the hunks of a unified diff. It knows
//! no files and no clock: whoever may look at one brings a comparison of their own.

use std::fmt::Write as _;
use std::ops::Range;

use similar::{Algorithm, DiffOp, DiffTag};

/// Lines around a change.
const CONTEXT: usize = 3;
/// Lines, of both sides, that [`bounded`] compares one with another.
const MAX_COMPARED: usize = 5_000;

/// Two contents as lines, and what leads from one to the other.
#[derive(Debug)]
pub struct LineDiff<'a> {
    before: Vec<&'a [u8]>,
    after: Vec<&'a [u8]>,
    steps: Vec<DiffOp>,
}

impl<'a> LineDiff<'a> {
    /// The difference as `compare` finds it. It gets the lines, with their ends, from the first that
    /// differs to the last.
    pub fn new(
        before: &'a [u8],
        after: &'a [u8],
        compare: impl FnOnce(&[&[u8]], &[&[u8]]) -> Vec<DiffOp>,
    ) -> Self {
        let (before, after) = (lines(before), lines(after));
        let steps = steps(&before, &after, compare);
        Self { before, after, steps }
    }

    /// Lines that go.
    pub fn removed(&self) -> usize {
        self.changes().map(|step| step.old_range().len()).sum()
    }

    /// Lines that come.
    pub fn added(&self) -> usize {
        self.changes().map(|step| step.new_range().len()).sum()
    }

    fn changes(&self) -> impl Iterator<Item = &DiffOp> {
        self.steps.iter().filter(|step| step.tag() != DiffTag::Equal)
    }

    /// All hunks, each with three lines around it, without the two lines that name the files; nothing
    /// where nothing differs.
    pub fn hunks(&self) -> String {
        let mut text = String::new();
        for steps in similar::group_diff_ops(self.steps.clone(), CONTEXT) {
            self.hunk(&mut text, &steps);
        }
        text
    }

    fn hunk(&self, text: &mut String, steps: &[DiffOp]) {
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else { return };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "@@ -{} +{} @@", place(&old), place(&new));
        for step in steps {
            let gone = self.before.get(step.old_range()).unwrap_or_default();
            let come = self.after.get(step.new_range()).unwrap_or_default();
            match step.tag() {
                DiffTag::Equal => marked(text, ' ', gone),
                DiffTag::Delete => marked(text, '-', gone),
                DiffTag::Insert => marked(text, '+', come),
                DiffTag::Replace => {
                    marked(text, '-', gone);
                    marked(text, '+', come);
                }
            }
        }
    }
}

/// Compares so many lines at most that the same contents give the same difference in bounded time; of
/// more the whole block is taken as replaced.
pub fn bounded(before: &[&[u8]], after: &[&[u8]]) -> Vec<DiffOp> {
    let (old_len, new_len) = (before.len(), after.len());
    if old_len + new_len <= MAX_COMPARED {
        return similar::capture_diff_slices(Algorithm::Myers, before, after);
    }
    vec![DiffOp::Replace { old_index: 0, old_len, new_index: 0, new_len }]
}

/// Each with its end.
fn lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

fn steps(
    before: &[&[u8]],
    after: &[&[u8]],
    compare: impl FnOnce(&[&[u8]], &[&[u8]]) -> Vec<DiffOp>,
) -> Vec<DiffOp> {
    let head = before.iter().zip(after).take_while(|(old, new)| old == new).count();
    let (old, new) =
        (before.get(head..).unwrap_or_default(), after.get(head..).unwrap_or_default());
    let pairs = old.iter().rev().zip(new.iter().rev());
    let tail = pairs.take_while(|(old, new)| old == new).count();
    let old = old.get(..old.len() - tail).unwrap_or_default();
    let new = new.get(..new.len() - tail).unwrap_or_default();
    let mut steps = Vec::new();
    if head > 0 {
        steps.push(DiffOp::Equal { old_index: 0, new_index: 0, len: head });
    }
    steps.extend(compare(old, new).into_iter().map(|step| further_down(step, head)));
    if tail > 0 {
        let (old_index, new_index) = (before.len() - tail, after.len() - tail);
        steps.push(DiffOp::Equal { old_index, new_index, len: tail });
    }
    steps
}

fn further_down(step: DiffOp, by: usize) -> DiffOp {
    match step {
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

/// Adds lines, each behind its mark.
fn marked(text: &mut String, mark: char, lines: &[&[u8]]) {
    for line in lines {
        text.push(mark);
        text.push_str(&String::from_utf8_lossy(line));
        if !line.ends_with(b"\n") {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Where a hunk lies: its first line from 1 and how many there are.
fn place(range: &Range<usize>) -> String {
    match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        lines => format!("{},{lines}", range.start + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_between_the_first_and_the_last_difference_is_compared() {
        let diff = LineDiff::new(b"a\nb\nc\nd", b"a\nx\nc\nd", |before, after| {
            assert_eq!((before, after), (&[&b"b\n"[..]][..], &[&b"x\n"[..]][..]));
            bounded(before, after)
        });
        assert_eq!((diff.removed(), diff.added()), (1, 1));
        let right = "@@ -1,4 +1,4 @@\n a\n-b\n+x\n c\n d\n\\ No newline at end of file\n";
        assert_eq!(diff.hunks(), right);
    }

    #[test]
    fn equal_contents_have_no_hunk() {
        assert_eq!(LineDiff::new(b"a\n", b"a\n", bounded).hunks(), "");
        assert_eq!(LineDiff::new(b"", b"", bounded).hunks(), "");
    }
}
