//! The input box: what is being typed, where the caret is, and what was typed before. It wraps the
//! text editing of `tui-textarea` and adds what that leaves to its users: graphemes, pastes, wrapped
//! rows, prompt history. It knows nothing of keys or frames.

use tui_textarea::{CursorMove, TextArea};
use unicode_segmentation::UnicodeSegmentation;

use super::lang::Lang;
use super::wrap;
use crate::sanitize;

/// A paste with more characters or lines than this is shown as one marker.
const FOLDED_CHARS: usize = 1_000;
const FOLDED_LINES: usize = 10;

/// What is being typed.
#[derive(Debug, Default)]
pub struct Composer {
    /// Which language the stand-ins for long pastes speak.
    lang: Lang,
    area: TextArea<'static>,
    pastes: Vec<Paste>,
    history: Vec<String>,
    /// The prompt of the history that is shown, while it is unchanged.
    recalled: Option<usize>,
}

#[derive(Debug)]
struct Paste {
    marker: String,
    text: String,
}

/// What of the input can be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visible {
    /// The rows, not cleaned yet.
    pub rows: Vec<String>,
    /// The caret's row among them.
    pub caret_row: usize,
    /// The caret's distance from the row's start, in cells.
    pub caret_cells: usize,
}

/// One key's worth of editing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Edit {
    /// A new line.
    Newline,
    /// One grapheme to the left is deleted.
    Backspace,
    /// One grapheme to the right is deleted.
    Delete,
    /// The word to the left is deleted.
    DeleteWord,
    /// The line to the left is deleted.
    DeleteToStart,
    /// The line to the right is deleted.
    DeleteToEnd,
    /// One grapheme to the left.
    Left,
    /// One grapheme to the right.
    Right,
    /// To the line's start.
    Start,
    /// To the line's end.
    End,
    /// Takes the newest change back.
    Undo,
    /// Makes it again.
    Redo,
}

impl Composer {
    /// An empty input.
    pub fn new(lang: Lang) -> Self {
        Self { lang, ..Self::default() }
    }

    /// True if nothing has been typed.
    pub fn is_empty(&self) -> bool {
        self.area.lines().iter().all(String::is_empty)
    }

    /// The text as it would be sent, folded pastes in full.
    pub fn text(&self) -> String {
        let mut text = self.area.lines().join("\n");
        for paste in &self.pastes {
            text = text.replace(&paste.marker, &paste.text);
        }
        text
    }

    /// The lines as they are shown.
    pub fn lines(&self) -> &[String] {
        self.area.lines()
    }

    /// The caret's line and its place in it, in characters.
    pub fn caret(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        (cursor.0, cursor.1)
    }

    /// Takes the text out and remembers it; `None` if it is blank.
    pub fn take(&mut self) -> Option<String> {
        let text = self.text();
        if text.trim().is_empty() {
            return None;
        }
        if self.history.last() != Some(&text) {
            self.history.push(text.clone());
        }
        self.clear();
        Some(text)
    }

    /// Empties it.
    pub fn clear(&mut self) {
        self.area = TextArea::default();
        self.pastes.clear();
        self.recalled = None;
    }

    /// Replaces the text, the caret at its end.
    pub fn set(&mut self, text: &str) {
        self.clear();
        self.insert(text);
    }

    /// A typed character.
    pub fn type_char(&mut self, c: char) {
        self.recalled = None;
        if sanitize::may_be_typed(c) && c != '\n' {
            self.area.insert_char(c);
        }
    }

    /// A pasted text: line ends become `\n`, controls are dropped. A long one is folded into a
    /// marker that stands for it.
    pub fn paste(&mut self, text: &str) {
        self.recalled = None;
        let unified = text.replace("\r\n", "\n").replace('\r', "\n");
        let clean: String = unified.chars().filter(|c| sanitize::may_be_typed(*c)).collect();
        let is_short =
            clean.lines().count() <= FOLDED_LINES && clean.chars().count() <= FOLDED_CHARS;
        if is_short && !self.follows_paste() {
            self.insert(&clean);
            return;
        }
        self.fold(clean);
    }

    fn follows_paste(&self) -> bool {
        self.pastes.last().is_some_and(|last| self.before().ends_with(&last.marker))
    }

    /// A paste that comes in pieces grows the marker that it began.
    fn fold(&mut self, text: String) {
        let grows = self.follows_paste();
        let paste = match self.pastes.pop() {
            Some(last) if grows => {
                let chars = last.marker.chars().count();
                self.delete_before(|_| chars);
                last.text + &text
            }
            other => {
                self.pastes.extend(other);
                text
            }
        };
        let number = self.pastes.len() + 1;
        let lines = paste.lines().count();
        let bytes = paste.len();
        let marker = match self.lang {
            Lang::En => format!("[paste #{number}: {lines} lines, {bytes} bytes]"),
            Lang::Zh => format!("[粘贴 #{number}：{lines} 行，{bytes} 字节]"),
        };
        self.insert(&marker);
        self.pastes.push(Paste { marker, text: paste });
    }

    /// One editing key.
    pub fn edit(&mut self, edit: Edit) {
        if !matches!(edit, Edit::Left | Edit::Right | Edit::Start | Edit::End) {
            self.recalled = None;
        }
        match edit {
            Edit::Newline => self.area.insert_newline(),
            Edit::Backspace => self.backspace(),
            Edit::Delete => self.delete(),
            Edit::DeleteWord => self.delete_before(word_chars),
            Edit::DeleteToStart => self.delete_before(|before| before.chars().count()),
            Edit::DeleteToEnd => {
                let rest = self.after().chars().count();
                self.area.delete_str(rest);
            }
            Edit::Left => self.left(),
            Edit::Right => self.right(),
            Edit::Start => self.area.move_cursor(CursorMove::Head),
            Edit::End => self.area.move_cursor(CursorMove::End),
            Edit::Undo => drop(self.area.undo()),
            Edit::Redo => drop(self.area.redo()),
        }
    }

    /// True if the caret stands right behind a backslash, which asks for a new line.
    pub fn continues(&self) -> bool {
        self.before().ends_with('\\')
    }

    /// One wrapped row up, or from an empty or recalled input to an older prompt.
    pub fn up(&mut self, width: usize) {
        if self.is_empty() || self.recalled.is_some() {
            self.recall(self.recalled.unwrap_or(self.history.len()).checked_sub(1));
        } else {
            self.vertical(width, false);
        }
    }

    /// One wrapped row down, or from a recalled prompt to a newer one.
    pub fn down(&mut self, width: usize) {
        match self.recalled {
            Some(shown) if shown + 1 < self.history.len() => self.recall(Some(shown + 1)),
            Some(_) => self.clear(),
            None => self.vertical(width, true),
        }
    }

    /// How many rows the input takes at this width.
    pub fn height(&self, width: usize) -> usize {
        self.area.lines().iter().map(|line| wrap::input_rows(line, width).len()).sum()
    }

    /// The rows around the caret.
    pub fn visible(&self, width: usize, height: usize) -> Visible {
        let (caret_line, _) = self.caret();
        let mut rows = Vec::new();
        let (mut caret_row, mut caret_cells) = (0, 0);
        for (number, line) in self.area.lines().iter().enumerate() {
            let ranges = wrap::input_rows(line, width);
            if number == caret_line {
                let offset = self.before().len();
                let within = row_holding(&ranges, offset);
                caret_row = rows.len() + within;
                let end = offset.min(ranges[within].end);
                caret_cells = wrap::cells(&line[ranges[within].start..end]);
            }
            rows.extend(ranges.into_iter().map(|range| line[range].to_owned()));
        }
        let top = (caret_row + 1).saturating_sub(height.max(1));
        let rows = rows.into_iter().skip(top).take(height).collect();
        Visible { rows, caret_row: caret_row - top, caret_cells }
    }

    fn insert(&mut self, text: &str) {
        self.area.insert_str(text);
    }

    fn line(&self) -> &str {
        let (row, _) = self.caret();
        self.area.lines().get(row).map_or("", String::as_str)
    }

    fn split(&self) -> (&str, &str) {
        let (_, column) = self.caret();
        let line = self.line();
        let at = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
        line.split_at(at)
    }

    fn before(&self) -> &str {
        self.split().0
    }

    fn after(&self) -> &str {
        self.split().1
    }

    fn backspace(&mut self) {
        if self.before().is_empty() {
            self.area.delete_newline();
            return;
        }
        let marker = self.pastes.iter().find(|paste| self.before().ends_with(&paste.marker));
        let marker = marker.map(|paste| paste.marker.chars().count());
        self.delete_before(|before| marker.unwrap_or_else(|| last_grapheme(before)));
    }

    fn delete(&mut self) {
        if self.after().is_empty() {
            self.area.delete_next_char();
        } else {
            let chars = first_grapheme(self.after());
            self.area.delete_str(chars);
        }
    }

    fn delete_before(&mut self, chars: impl FnOnce(&str) -> usize) {
        let chars = chars(self.before());
        self.step(CursorMove::Back, chars);
        self.area.delete_str(chars);
    }

    fn left(&mut self) {
        let chars = last_grapheme(self.before()).max(1);
        self.step(CursorMove::Back, chars);
    }

    fn right(&mut self) {
        let chars = first_grapheme(self.after()).max(1);
        self.step(CursorMove::Forward, chars);
    }

    fn step(&mut self, step: CursorMove, times: usize) {
        for _ in 0..times {
            self.area.move_cursor(step);
        }
    }

    fn recall(&mut self, index: Option<usize>) {
        let Some((index, text)) = index.and_then(|index| Some((index, self.history.get(index)?)))
        else {
            return;
        };
        let text = text.clone();
        self.set(&text);
        self.recalled = Some(index);
    }

    fn vertical(&mut self, width: usize, down: bool) {
        let (line, _) = self.caret();
        let ranges = wrap::input_rows(self.line(), width);
        let offset = self.before().len();
        let row = row_holding(&ranges, offset);
        let cells = wrap::cells(&self.line()[ranges[row].start..offset.min(ranges[row].end)]);
        let target = if down {
            if row + 1 < ranges.len() { Some((line, row + 1)) } else { Some((line + 1, 0)) }
        } else if row > 0 {
            Some((line, row - 1))
        } else {
            line.checked_sub(1).map(|line| (line, usize::MAX))
        };
        let Some((line, row)) = target else { return };
        let Some(text) = self.area.lines().get(line) else { return };
        let ranges = wrap::input_rows(text, width);
        let Some(range) = ranges.get(row.min(ranges.len() - 1)) else { return };
        let reached = range.start + wrap::fit(&text[range.clone()], cells).len();
        let column = text[..reached].chars().count();
        let clamp = |value: usize| u16::try_from(value).unwrap_or(u16::MAX);
        self.area.move_cursor(CursorMove::Jump(clamp(line), clamp(column)));
    }
}

fn row_holding(ranges: &[std::ops::Range<usize>], offset: usize) -> usize {
    ranges.partition_point(|range| range.start <= offset).saturating_sub(1)
}

fn last_grapheme(text: &str) -> usize {
    text.graphemes(true).next_back().map_or(0, |grapheme| grapheme.chars().count())
}

fn first_grapheme(text: &str) -> usize {
    text.graphemes(true).next().map_or(0, |grapheme| grapheme.chars().count())
}

/// The blanks before the caret and the word before them.
fn word_chars(before: &str) -> usize {
    let trimmed = before.trim_end();
    let word = trimmed.split_word_bounds().next_back().unwrap_or_default();
    before[trimmed.len() - word.len()..].chars().count()
}

#[cfg(test)]
#[path = "composer_tests.rs"]
mod tests;
