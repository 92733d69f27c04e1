//! A command's output within bounds: the beginning and the end are kept while it is read, in memory
//! that does not grow with it, and become text once, when it has ended. It knows bytes, not where
//! they come from.

use std::collections::VecDeque;

use super::line::{Carriage, Kind, Line};
use crate::domain::event::RawOutput;
use crate::tool::excerpt::{count, size, without_partial_char};

/// Bytes of the beginning that are kept, and as many of the end.
const KEPT_BYTES: usize = 256 * 1024;
/// Characters of the beginning in a result that is cut.
const HEAD_CHARS: usize = 20_000;
/// Characters of the end.
const TAIL_CHARS: usize = 25_000;

/// How to get at what is missing, whichever tool ran it.
const THE_REST: &str = "for them ask for less (a filter, a path; in bash head, tail, grep), or let bash \
                        redirect into a file of the workspace and read that";

/// Bytes of text that random bytes easily happen to make.
const SCRAP_BYTES: usize = 32;

/// Takes output while it comes.
#[derive(Debug, Default)]
pub struct Collector {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// The beginning, as far as a session's files keep it.
    raw: Vec<u8>,
    total: u64,
}

/// Output as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collected {
    /// The text for a reader, at most about 47,000 characters; empty if there was none.
    pub text: String,
    /// What a reader has to know about it, each a sentence without a full stop.
    pub notes: Vec<String>,
    /// All bytes there were.
    pub bytes: u64,
    /// True if something was left out.
    pub truncated: bool,
    /// What there was before that, if something was.
    pub raw: Option<RawOutput>,
}

impl Collector {
    /// Takes the next bytes. What they are split into makes no difference.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let kept = RawOutput::MOST.saturating_sub(self.raw.len()).min(bytes.len());
        self.raw.extend_from_slice(bytes.get(..kept).unwrap_or(bytes));
        let room = KEPT_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let rest = rest.get(rest.len().saturating_sub(KEPT_BYTES)..).unwrap_or(rest);
        let over = (self.tail.len() + rest.len()).saturating_sub(KEPT_BYTES);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// The text of it.
    pub fn finish(self, carriage: Carriage) -> Collected {
        let Self { mut head, tail, raw, total } = self;
        let tail: Vec<u8> = tail.into();
        let raw = |collected: Collected| {
            let raw = collected.truncated.then(|| RawOutput(String::from_utf8_lossy(&raw).into()));
            Collected { raw, ..collected }
        };
        let missing = total - (head.len() + tail.len()) as u64;
        if missing == 0 {
            head.extend_from_slice(&tail);
            return raw(compose(&lines(&head, carriage), &[], total));
        }
        let head = lines(without_partial_char(&head), carriage);
        raw(compose(&head, &lines(without_continuation(&tail), carriage), total))
    }
}

/// The bytes without the rest of a character that began before them.
fn without_continuation(bytes: &[u8]) -> &[u8] {
    let rest = bytes.iter().take(3).take_while(|byte| **byte & 0xC0 == 0x80).count();
    bytes.get(rest..).unwrap_or(bytes)
}

fn lines(bytes: &[u8], carriage: Carriage) -> Vec<Line> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let mut lines: Vec<Line> = lines.map(|raw| Line::read(raw, carriage)).collect();
    absorb_odd(&mut lines);
    join_binary(lines)
}

/// What stands beside binary lines is a piece of the same flood if it has odd bytes too, or is a
/// scrap between two of them that happens to read as text.
fn absorb_odd(lines: &mut [Line]) {
    let mut beside = false;
    for line in lines.iter_mut() {
        beside = spread(line, beside);
    }
    beside = false;
    for line in lines.iter_mut().rev() {
        beside = spread(line, beside);
    }
    let floods: Vec<usize> = (0..lines.len()).filter(|at| is_flood(lines, *at)).collect();
    for pair in floods.windows(2) {
        let [from, to] = pair else { continue };
        let between = lines.get_mut(from + 1..*to).unwrap_or_default();
        if between.iter().map(|line| line.bytes).sum::<usize>() <= SCRAP_BYTES {
            for line in between {
                line.kind = Kind::Binary;
            }
        }
    }
}

/// Makes an odd line binary that stands beside a binary one; true if the next one does too.
fn spread(line: &mut Line, beside: bool) -> bool {
    if beside && line.kind == Kind::Odd {
        line.kind = Kind::Binary;
    }
    line.kind == Kind::Binary
}

fn is_flood(lines: &[Line], at: usize) -> bool {
    lines.get(at).is_some_and(|line| line.kind == Kind::Binary)
}

/// Binary lines that follow each other become one that says how much it was.
fn join_binary(lines: Vec<Line>) -> Vec<Line> {
    let mut joined: Vec<Line> = Vec::with_capacity(lines.len());
    for line in lines {
        match joined.last_mut() {
            Some(last) if last.kind == Kind::Binary && line.kind == Kind::Binary => {
                last.bytes += line.bytes;
            }
            Some(_) | None => joined.push(line),
        }
    }
    for line in joined.iter_mut().filter(|line| line.kind == Kind::Binary) {
        line.text = format!("(binary: {}, not shown)", size(line.bytes as u64));
        line.chars = line.text.chars().count();
        line.undecodable = 0;
        line.overwritten = false;
    }
    joined
}

/// Puts beginning and end together; `tail` is empty where nothing is missing between them.
fn compose(head: &[Line], tail: &[Line], total: u64) -> Collected {
    let mut all = head.iter().chain(tail);
    let is_binary = |line: &Line| line.kind == Kind::Binary || line.text.is_empty();
    if total > 0 && all.all(is_binary) && head.iter().any(|line| line.kind == Kind::Binary) {
        let text = format!("(binary output, {total} bytes, not shown)");
        return Collected { text, notes: Vec::new(), bytes: total, truncated: true, raw: None };
    }
    let (shown_head, shown_tail) = fit(head, tail);
    let shown = || shown_head.iter().chain(shown_tail);
    let shown_bytes: u64 = shown().map(|line| line.bytes as u64).sum();
    let missing = total.saturating_sub(shown_bytes);
    let mut text = joined(shown_head);
    if missing > 0 {
        text = format!("{text}\n... ({missing} of {total} bytes left out here; {THE_REST}) ...\n");
    } else if !shown_tail.is_empty() {
        text.push('\n');
    }
    text.push_str(&joined(shown_tail));
    let odd = shown().any(|line| line.cut || line.kind == Kind::Binary);
    let truncated = missing > 0 || odd;
    Collected { text, notes: notes(shown()), bytes: total, truncated, raw: None }
}

/// The lines that have room: all of them, or the first and the last ones.
fn fit<'a>(head: &'a [Line], tail: &'a [Line]) -> (&'a [Line], &'a [Line]) {
    let chars = |lines: &[Line]| lines.iter().map(|line| line.chars + 1).sum::<usize>();
    if tail.is_empty() && chars(head) <= HEAD_CHARS + TAIL_CHARS {
        return (head, tail);
    }
    let first = within(head.iter(), HEAD_CHARS);
    let (first, rest) = head.split_at(first);
    let end = if tail.is_empty() { rest } else { tail };
    let last = within(end.iter().rev(), TAIL_CHARS);
    (first, end.get(end.len() - last..).unwrap_or(end))
}

/// How many lines fit into so many characters.
fn within<'a>(lines: impl Iterator<Item = &'a Line>, mut room: usize) -> usize {
    let fits = |line: &&Line| {
        let fits = line.chars < room;
        room = room.saturating_sub(line.chars + 1);
        fits
    };
    lines.take_while(fits).count()
}

fn joined(lines: &[Line]) -> String {
    let lines: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    lines.join("\n")
}

fn notes<'a>(shown: impl Iterator<Item = &'a Line> + Clone) -> Vec<String> {
    let undecodable: usize = shown.clone().map(|line| line.undecodable).sum();
    let overwritten = shown.filter(|line| line.overwritten).count() as u64;
    let mut notes = Vec::new();
    if undecodable > 0 {
        let bytes = count(undecodable as u64, "byte was", "bytes were");
        notes.push(format!("{bytes} no UTF-8 and stand as \u{FFFD}"));
    }
    if overwritten > 0 {
        let lines = count(overwritten, "line was", "lines were");
        notes.push(format!("{lines} written over by carriage returns; the last state is shown"));
    }
    notes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;
    use crate::tool::MAX_RESULT_CHARS;

    fn collect(bytes: &[u8]) -> Collected {
        let mut collector = Collector::default();
        collector.push(bytes);
        collector.finish(Carriage::Overwrites)
    }

    #[test]
    fn short_output_is_shown_as_it_is() {
        for (raw, text) in [("", ""), ("hi\n", "hi"), ("a\n\nb", "a\n\nb"), ("\n\n", "\n")] {
            let collected = collect(raw.as_bytes());
            assert_eq!(collected.text, text, "{raw:?}");
            assert!(!collected.truncated && collected.notes.is_empty());
            assert_eq!(collected.bytes, raw.len() as u64);
        }
    }

    #[test]
    fn long_output_keeps_both_ends_and_counts_what_is_missing() {
        let mut raw = String::new();
        for number in 0..2_000_000 {
            raw.push_str(&number.to_string());
            raw.push('\n');
        }
        let collected = collect(raw.as_bytes());
        assert!(collected.truncated);
        assert!(collected.text.starts_with("0\n1\n2\n"));
        assert!(collected.text.ends_with("\n1999998\n1999999"));
        let chars = collected.text.chars().count();
        assert!((40_000..MAX_RESULT_CHARS - 2_000).contains(&chars), "{chars}");
        let (shown_head, rest) = collected.text.split_once("\n... (").unwrap();
        let (missing, shown_tail) = rest.split_once(" of ").unwrap();
        let shown_tail = shown_tail.split_once(" ...\n").unwrap().1;
        let shown = shown_head.len() + shown_tail.len() + 2;
        assert_eq!(missing.parse::<usize>().unwrap(), raw.len() - shown);
        let how = collected.text.lines().find(|line| line.starts_with("... (")).unwrap();
        for word in ["head", "tail", "grep", "redirect", "file of the workspace"] {
            assert!(how.contains(word), "{how}");
        }
    }

    #[test]
    fn a_cut_never_goes_through_a_character() {
        for text in ["é", "子", "🦀", "a🦀"] {
            for shift in 0..4 {
                let raw = format!("{}{}", "x".repeat(shift), text.repeat(400_000));
                let collected = collect(raw.as_bytes());
                assert!(collected.truncated);
                assert!(!collected.text.contains('\u{FFFD}'), "{text} {shift}");
                assert!(collected.text.chars().count() < MAX_RESULT_CHARS - 2_000);
            }
        }
        let middle = "子".repeat(60_000);
        let collected = collect(middle.as_bytes());
        assert!(collected.text.starts_with('子') && collected.text.ends_with('子'));
        assert!(collected.text.contains("57500 characters of this line left out"));
        assert_eq!(collected.notes, Vec::<String>::new());
    }

    #[test]
    fn binary_floods_are_named_and_text_around_them_stays() {
        let flood = vec![0_u8; 3_000_000];
        let only = collect(&flood);
        assert_eq!(only.text, "(binary output, 3000000 bytes, not shown)");
        let mut noise = 0x1234_5678_u32;
        let random: Vec<u8> = std::iter::repeat_with(|| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 24) as u8
        })
        .take(20_000)
        .collect();
        let mixed = [b"before\n".as_slice(), &random, b"\nafter\n"].concat();
        let mixed = collect(&mixed);
        assert!(mixed.text.starts_with("before\n(binary: "), "{}", mixed.text);
        assert!(mixed.text.ends_with("not shown)\nafter"), "{}", mixed.text);
        assert!(mixed.text.chars().count() < 400, "{}", mixed.text);
        assert!(mixed.truncated);
        let scrap = [b"\x00\x01\x02\x03\x04\n".as_slice(), b"S%\n", b"\x00\x01\x02\x03\n"].concat();
        assert_eq!(collect(&scrap).text, "(binary output, 14 bytes, not shown)");
    }

    #[test]
    fn odd_bytes_and_overwritten_lines_are_noted_once() {
        let collected = collect(b"caf\xe9\n10%\r20%\nna\xefve\n");
        assert_eq!(collected.text, "caf\u{FFFD}\n20%\nna\u{FFFD}ve");
        assert_eq!(
            collected.notes,
            [
                "2 bytes were no UTF-8 and stand as \u{FFFD}",
                "1 line was written over by carriage returns; the last state is shown",
            ]
        );
    }

    #[test]
    fn memory_is_bounded() {
        let mut collector = Collector::default();
        let chunk = vec![b'y'; 65_536];
        for _ in 0..200 {
            collector.push(&chunk);
        }
        assert!(collector.head.capacity() <= 2 * KEPT_BYTES);
        assert!(collector.tail.capacity() <= 4 * KEPT_BYTES);
        assert_eq!(collector.total, 200 * 65_536);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("OFFSHOOT_SOAK").is_some_and(|value| value == "1") { 5_000 } else { 64 }))]

        #[test]
        fn splitting_makes_no_difference(raw in proptest::collection::vec(any::<u8>(), 0..400), at in 0_usize..400) {
            let at = at.min(raw.len());
            let mut collector = Collector::default();
            collector.push(&raw[..at]);
            raw[at..].iter().for_each(|byte| collector.push(&[*byte]));
            prop_assert_eq!(collector.finish(Carriage::Overwrites), collect(&raw));
        }

        #[test]
        fn no_control_is_left(raw in proptest::collection::vec(any::<u8>(), 0..600)) {
            let collected = collect(&raw);
            prop_assert!(collected.text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
        }
    }
}
