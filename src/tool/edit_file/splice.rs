//! Edits on bytes in memory: found exactly, cut in by place, so that every byte that no edit names
//! stays what it is. All of a call's edits, or none.

use memchr::memmem;

use super::Edit;
use super::nearest;
use super::view::View;
use crate::tool::change::MAX_BYTES;
use crate::tool::excerpt::size;

/// Places of one text that are named in an answer.
const MAX_NAMED: usize = 10;
/// Places that one edit may replace.
const MAX_HITS: usize = 100_000;

/// A content after its edits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    /// The bytes.
    pub(super) content: Vec<u8>,
    /// How many places were replaced.
    pub(super) replacements: usize,
    /// The lines, from 1, where they begin now, in order and each once.
    pub(super) lines: Vec<u64>,
}

/// Carries out the edits in their order. The error says which one failed, and why; `name` is the
/// file's, for it; of a hidden file's content the error says nothing.
pub(super) fn apply(
    content: Vec<u8>,
    edits: &[Edit],
    name: &str,
    hidden: bool,
) -> Result<Edited, String> {
    let is_utf8 = std::str::from_utf8(&content).is_ok();
    let mut state = State { content, is_utf8, name, hidden, places: Vec::new(), replacements: 0 };
    for (index, edit) in edits.iter().enumerate() {
        state.edit(edit).map_err(|why| match edits.len() {
            1 => format!("{why}; nothing was changed"),
            all => format!("edit {} of {all}: {why}; none of the edits was made", index + 1),
        })?;
    }
    let lines = state.lines();
    Ok(Edited { content: state.content, replacements: state.replacements, lines })
}

struct State<'a> {
    content: Vec<u8>,
    is_utf8: bool,
    name: &'a str,
    hidden: bool,
    /// Where in `content` something was put in, in order.
    places: Vec<usize>,
    replacements: usize,
}

/// Bytes of the file that go, and what comes.
struct Splice {
    start: usize,
    end: usize,
    new: Vec<u8>,
}

impl State<'_> {
    fn edit(&mut self, edit: &Edit) -> Result<(), String> {
        let view = View::of(&self.content);
        let (old, new) = (view.of_argument(&edit.old_text), view.of_argument(&edit.new_text));
        if old.is_empty() {
            return Err(
                "`old_text` is empty; write_file makes a file or replaces all of one".to_owned()
            );
        }
        if old == new {
            return Err(if edit.old_text == edit.new_text {
                "`old_text` and `new_text` are the same".to_owned()
            } else {
                "`old_text` and `new_text` differ in their line ends only, which edit_file keeps as \
                 the file has them; write_file writes them as they are given"
                    .to_owned()
            });
        }
        let hits = self.hits(&view, &old, edit.replace_all)?;
        self.check_encoding(&view, &hits, &new)?;
        let growth = new.len().saturating_sub(old.len()).saturating_mul(hits.len());
        if self.content.len().saturating_add(growth) as u64 > MAX_BYTES {
            return Err(format!("the file would have more than {}", size(MAX_BYTES)));
        }
        let each = |at: &usize| splice(&view, *at, old.as_bytes(), new.as_bytes());
        let splices: Vec<Splice> = hits.iter().map(each).collect();
        self.carry_out(&splices);
        Ok(())
    }

    /// Where the old text is: in one place, or wherever it is if all are meant.
    fn hits(&self, view: &View, old: &str, all: bool) -> Result<Vec<usize>, String> {
        let found = memmem::find_iter(&view.text, old.as_bytes());
        let hits: Vec<usize> = found.take(MAX_HITS + 1).collect();
        if self.hidden && (hits.is_empty() || hits.len() > 1 && !all) {
            return Err(format!(
                "`old_text` is not in `{}` exactly once; what is there is not shown, because a rule \
                 keeps the file from being read",
                self.name
            ));
        }
        let Some(&first) = hits.first() else {
            return Err(nearest::not_found(view, old, self.name, self.is_utf8));
        };
        if all && hits.len() > MAX_HITS {
            return Err(format!(
                "`old_text` is there more than {MAX_HITS} times in `{}`; that is too often for one edit",
                self.name
            ));
        }
        if all {
            return Ok(hits);
        }
        // Places that overlap are two, too: `aa` in `aaa`.
        let rest = view.text.get(first + 1..).unwrap_or_default();
        let second = memmem::find(rest, old.as_bytes()).map(|at| first + 1 + at);
        match second {
            None => Ok(hits),
            Some(second) if hits.len() < 2 => Err(self.not_unique(view, &[first, second])),
            Some(_) => Err(self.not_unique(view, &hits)),
        }
    }

    fn not_unique(&self, view: &View, hits: &[usize]) -> String {
        let lines: Vec<u64> = hits.iter().take(MAX_NAMED).map(|at| view.line(*at)).collect();
        let more = if hits.len() > MAX_NAMED { ", ..." } else { "" };
        let (more_than, times) = match hits.len() {
            times if times > MAX_HITS => ("more than ", MAX_HITS),
            times => ("", times),
        };
        format!(
            "`old_text` is there {more_than}{times} times in `{}` (lines {}{more}); add lines around \
             the one that is meant, or set replace_all",
            self.name,
            listed(&lines),
        )
    }

    /// In a file that is no UTF-8 only what is the same in every encoding is put in, and only where
    /// it cannot cut a character in two.
    fn check_encoding(&self, view: &View, hits: &[usize], new: &str) -> Result<(), String> {
        if self.is_utf8 {
            return Ok(());
        }
        let name = self.name;
        if !new.is_ascii() {
            return Err(format!(
                "`{name}` is not UTF-8, so only ASCII text can be put into it without making it \
                 unreadable, and `new_text` has other characters"
            ));
        }
        let half = |at: &usize| {
            let before = at.checked_sub(1).and_then(|before| view.text.get(before));
            before.is_some_and(|byte| *byte >= 0x80)
                && view.text.get(*at).is_some_and(|byte| (0x30..0x7f).contains(byte))
        };
        if hits.iter().any(half) {
            return Err(format!(
                "`{name}` is not UTF-8, and the first character of `old_text` may be half of a \
                 character there; let `old_text` begin at another place"
            ));
        }
        Ok(())
    }

    fn carry_out(&mut self, splices: &[Splice]) {
        let mut content = Vec::with_capacity(self.content.len());
        let mut places = Vec::with_capacity(self.places.len() + splices.len());
        let mut known = std::mem::take(&mut self.places).into_iter().peekable();
        let mut from = 0;
        for splice in splices {
            while let Some(place) = known.next_if(|place| *place < splice.start) {
                places.push(content.len() + (place - from));
            }
            content.extend_from_slice(self.content.get(from..splice.start).unwrap_or_default());
            places.push(content.len());
            content.extend_from_slice(&splice.new);
            from = splice.end;
            // What was put in before and goes now is this place.
            while known.next_if(|place| *place < splice.end).is_some() {}
        }
        places.extend(known.map(|place| content.len() + (place - from)));
        content.extend_from_slice(self.content.get(from..).unwrap_or_default());
        self.replacements += splices.len();
        (self.content, self.places) = (content, places);
    }

    fn lines(&self) -> Vec<u64> {
        let mut lines = Vec::new();
        let (mut line, mut from) = (1, 0);
        for place in &self.places {
            let between = self.content.get(from..*place).unwrap_or_default();
            line += memchr::memchr_iter(b'\n', between).count() as u64;
            from = *place;
            if lines.last() != Some(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

/// The place in the file, without what both texts begin and end with: those bytes stay.
fn splice(view: &View, at: usize, old: &[u8], new: &[u8]) -> Splice {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) =
        (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let pairs = old_rest.iter().rev().zip(new_rest.iter().rev());
    let tail = pairs.take_while(|(old, new)| old == new).count();
    let comes = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    let (start, end) = (at + head, at + old.len() - tail);
    let line_end = view.line_end(start);
    let mut bytes = Vec::with_capacity(comes.len());
    for (index, line) in comes.split(|byte| *byte == b'\n').enumerate() {
        if index > 0 {
            bytes.extend_from_slice(line_end);
        }
        bytes.extend_from_slice(line);
    }
    Splice { start: view.in_file(start), end: view.in_file(end), new: bytes }
}

/// Numbers for a sentence: `2 and 5`, `1, 2 and 3`.
fn listed(numbers: &[u64]) -> String {
    let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
    match words.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests;
