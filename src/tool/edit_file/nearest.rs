//! What to say about a text that is not there: where something like it is, so that the next try
//! finds it.

use std::fmt::Write as _;

use crate::tool::excerpt::{decode, first_chars};

use super::view::View;

/// Lines that are compared.
const MAX_LINES: usize = 200_000;
/// Lines that are shown.
const MAX_SHOWN: usize = 3;
/// Lines of one place that are shown.
const MAX_BLOCK: usize = 12;
/// Characters of a line that are shown.
const MAX_CHARS: usize = 200;
/// Bytes of a line that are compared.
const MAX_COMPARED: usize = 400;
/// How much two lines must have in common to be named, in percent.
const ALIKE: u32 = 50;

/// Why the text was not found, and what is like it.
pub(super) fn not_found(view: &View, old: &str, name: &str, is_utf8: bool) -> String {
    let mut text = format!("`old_text` is not in `{name}`");
    if let Some(bare) = without_numbers(old)
        && memchr::memmem::find(&view.text, bare.as_bytes()).is_some()
    {
        text.push_str(
            " with the line numbers that read_file puts before the lines; leave them out",
        );
        return text;
    }
    if !is_utf8 && !old.is_ascii() {
        text.push_str(
            ", which is not UTF-8: characters that read_file shows as \u{FFFD} and others beyond \
             ASCII cannot be matched there; choose ASCII text",
        );
    }
    let lines: Vec<&[u8]> = view.text.split(|byte| *byte == b'\n').take(MAX_LINES).collect();
    let wanted: Vec<&str> = old.strip_suffix('\n').unwrap_or(old).split('\n').collect();
    if let Some(first) = other_blanks(&lines, &wanted) {
        text.push_str("; with other blanks it is there, as\n");
        show(&mut text, &lines, first, wanted.len().min(MAX_BLOCK));
        return text;
    }
    let near = nearest(&lines, &wanted);
    if !near.is_empty() {
        text.push_str("; the nearest lines are\n");
        for line in near {
            show(&mut text, &lines, line, 1);
        }
    }
    text
}

/// The text without `12\t` before each of its lines, if that is what they have.
fn without_numbers(old: &str) -> Option<String> {
    let bare = |line: &str| {
        let (number, rest) = line.split_once('\t')?;
        let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| rest.to_owned())
    };
    let lines: Option<Vec<String>> =
        old.strip_suffix('\n').unwrap_or(old).split('\n').map(bare).collect();
    lines.map(|lines| lines.join("\n"))
}

/// Where all lines are there but for their blanks.
fn other_blanks(lines: &[&[u8]], wanted: &[&str]) -> Option<usize> {
    let wanted: Vec<Vec<u8>> = wanted.iter().map(|line| words(line.as_bytes())).collect();
    if wanted.iter().all(Vec::is_empty) {
        return None;
    }
    let have: Vec<Vec<u8>> = lines.iter().map(|line| words(line)).collect();
    have.windows(wanted.len()).position(|window| window == wanted)
}

fn words(line: &[u8]) -> Vec<u8> {
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(&b' ')
}

/// The lines most like the first line of the text that says anything, in their order.
fn nearest(lines: &[&[u8]], wanted: &[&str]) -> Vec<usize> {
    let Some(first) = wanted.iter().find(|line| !line.trim().is_empty()) else { return Vec::new() };
    let first = Pairs::of(first.as_bytes());
    let mut alike: Vec<(u32, usize)> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let common = first.in_common(&Pairs::of(line));
        if common >= ALIKE {
            alike.push((common, index));
            alike.sort_by_key(|(common, index)| (std::cmp::Reverse(*common), *index));
            alike.truncate(MAX_SHOWN);
        }
    }
    let mut near: Vec<usize> = alike.into_iter().map(|(_, index)| index).collect();
    near.sort_unstable();
    near
}

/// Which pairs of neighbouring bytes a line has, blanks at its ends left out.
struct Pairs {
    bits: [u64; 16],
    count: u32,
}

impl Pairs {
    fn of(line: &[u8]) -> Self {
        let line = line.trim_ascii();
        let line = line.get(..MAX_COMPARED).unwrap_or(line);
        let mut bits = [0_u64; 16];
        for pair in line.windows(2) {
            if let [one, other] = pair {
                let slot = (usize::from(*one) * 31 + usize::from(*other)) % 1_024;
                if let Some(word) = bits.get_mut(slot / 64) {
                    *word |= 1 << (slot % 64);
                }
            }
        }
        let count = bits.iter().map(|word| word.count_ones()).sum();
        Self { bits, count }
    }

    /// Twice what both have, of all that they have, in percent.
    fn in_common(&self, other: &Self) -> u32 {
        let both: u32 =
            self.bits.iter().zip(&other.bits).map(|(one, other)| (one & other).count_ones()).sum();
        (both * 200).checked_div(self.count + other.count).unwrap_or(0)
    }
}

fn show(text: &mut String, lines: &[&[u8]], first: usize, count: usize) {
    for (index, line) in lines.iter().enumerate().skip(first).take(count) {
        let (line, _) = decode(line);
        let cut = if line.chars().nth(MAX_CHARS).is_some() { "…" } else { "" };
        let _ = writeln!(text, "{}\t{}{cut}", index + 1, first_chars(&line, MAX_CHARS));
    }
    text.truncate(text.trim_end_matches('\n').len());
    text.push('\n');
}
