//! The one choke point for text from outside on its way to a terminal. It knows characters and
//! escape sequences, and refuses to know who shows the text or where it came from.
//!
//! Escape sequences are taken out whole, so that coloured output stays readable. Every other
//! control character, and what reorders or hides text without being seen, becomes `U+FFFD`, so
//! that a reader can tell that something was there. Both functions take time linear in the text.

use std::borrow::Cow;

/// Spaces that stand for a tab.
const TAB: &str = "    ";

/// Text of several lines: line feeds stay (CR LF and a lone CR become one), tabs become four
/// spaces. Borrows what is clean already.
pub fn block(text: &str) -> Cow<'_, str> {
    clean(text, Shape::Block)
}

/// Text for one row: as [`block`], with each line feed and tab as one space.
pub fn line(text: &str) -> Cow<'_, str> {
    clean(text, Shape::Line)
}

/// JSON text with the same meaning and without a character that this module would touch: inside a
/// string they are written as escapes, and outside of strings there are none.
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.chars().any(needs_work) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if needs_work(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let digit = |shift: u16| char::from_digit(u32::from(*unit >> shift & 0xf), 16);
                escaped.push_str("\\u");
                escaped.extend([12, 8, 4, 0].into_iter().filter_map(digit));
            }
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Block,
    Line,
}

fn clean(text: &str, shape: Shape) -> Cow<'_, str> {
    let stays = |c: char| !needs_work(c) && (c != '\n' || shape == Shape::Block);
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut scanner = Scanner { rest: text, end_of_string: None };
    let mut cleaned = String::with_capacity(text.len());
    while let Some(c) = scanner.next() {
        match (c, shape) {
            ('\u{1b}', _) => scanner.skip_escape(),
            ('\u{9b}', _) => scanner.skip_parameters(),
            ('\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}', _) => scanner.skip_string(),
            ('\r', _) if scanner.rest.starts_with('\n') => {}
            ('\n' | '\r', Shape::Block) => cleaned.push('\n'),
            ('\t', Shape::Block) => cleaned.push_str(TAB),
            ('\n' | '\r' | '\t', Shape::Line) => cleaned.push(' '),
            (c, _) if needs_work(c) => cleaned.push(char::REPLACEMENT_CHARACTER),
            (c, _) => cleaned.push(c),
        }
    }
    Cow::Owned(cleaned)
}

/// Controls of both sets, and characters that reorder, split or hide text. The joiners inside
/// emoji and scripts (`U+200C`, `U+200D`) and variation selectors are none of these.
fn needs_work(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

struct Scanner<'a> {
    rest: &'a str,
    /// Bytes of text left where the next end of a control string begins: found once, so that many
    /// openings without an end cost no more than one.
    end_of_string: Option<usize>,
}

impl Scanner<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn skip_while(&mut self, takes: impl Fn(char) -> bool) {
        self.rest = self.rest.trim_start_matches(takes);
    }

    fn skip_one(&mut self, takes: impl Fn(char) -> bool) {
        if self.rest.starts_with(takes) {
            self.next();
        }
    }

    /// What follows an ESC.
    fn skip_escape(&mut self) {
        match self.rest.chars().next() {
            Some('[') => {
                self.next();
                self.skip_parameters();
            }
            Some(']' | 'P' | '_' | '^' | 'X') => {
                self.next();
                self.skip_string();
            }
            _ => {
                self.skip_while(|c| matches!(c, ' '..='/'));
                self.skip_one(|c| matches!(c, '0'..='~'));
            }
        }
    }

    /// What follows a CSI: parameters, intermediates, one final character.
    fn skip_parameters(&mut self) {
        self.skip_while(|c| matches!(c, '0'..='?'));
        self.skip_while(|c| matches!(c, ' '..='/'));
        self.skip_one(|c| matches!(c, '@'..='~'));
    }

    /// A title, link or device string up to its end on the same line. One that does not end there
    /// hides nothing: its words stay visible.
    fn skip_string(&mut self) {
        let known = self.end_of_string.filter(|left| *left <= self.rest.len());
        let left = known.unwrap_or_else(|| self.find_end_of_string());
        self.end_of_string = Some(left);
        let ending = &self.rest[self.rest.len() - left..];
        match ending.chars().next() {
            Some(c @ ('\u{7}' | '\u{9c}')) => self.rest = &ending[c.len_utf8()..],
            Some('\u{1b}') => self.rest = &ending[2..],
            Some(_) | None => {}
        }
    }

    fn find_end_of_string(&self) -> usize {
        let ends = |(at, c): (usize, char)| match c {
            '\u{7}' | '\u{9c}' | '\n' => Some(at),
            '\u{1b}' if self.rest[at + 1..].starts_with('\\') => Some(at),
            _ => None,
        };
        self.rest.len() - self.rest.char_indices().find_map(ends).unwrap_or(self.rest.len())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn clean_text_is_borrowed() {
        assert!(matches!(block("两行\nand an emoji 👩‍👩‍👧"), Cow::Borrowed(_)));
        assert!(matches!(line("one row"), Cow::Borrowed(_)));
    }

    #[test]
    fn sequences_go_and_their_words_stay() {
        let cases = [
            ("\u{1b}[1;31mred\u{1b}[0m", "red"),
            ("\u{9b}31mred", "red"),
            ("\u{1b}]0;title\u{7}after", "after"),
            ("\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}Pq#0;2;0\u{1b}\\after", "after"),
            ("\u{1b}(Bplain", "plain"),
            ("\u{1b}cplain", "plain"),
            ("cut\u{1b}", "cut"),
            ("cut\u{1b}[12", "cut"),
            ("\u{1b}[中", "中"),
        ];
        for (dirty, expected) in cases {
            assert_eq!(block(dirty), expected, "{dirty:?}");
        }
    }

    #[test]
    fn a_control_string_without_an_end_hides_nothing() {
        assert_eq!(block("\u{1b}]0;rm -rf /\nnext\u{7}"), "0;rm -rf /\nnext\u{fffd}");
        assert_eq!(block("\u{9d}a\u{9d}b\u{7}c"), "c");
    }

    #[test]
    fn breaks_and_tabs_keep_their_meaning() {
        assert_eq!(block("a\r\nb\rc\td"), "a\nb\nc    d");
        assert_eq!(line("a\r\nb\rc\td\n"), "a b c d ");
    }

    #[test]
    fn hidden_and_reordering_characters_are_seen() {
        assert_eq!(
            block("a\u{202e}b\u{0}c\u{200b}d\u{7f}"),
            "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}"
        );
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({ "text": "a\u{9b}31m\u{202e}b\u{e0041}" });
        let written = serde_json::to_string(&value).unwrap();
        let escaped = json(&written);
        assert!(escaped.is_ascii(), "{escaped}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).unwrap(), value);
    }

    #[test]
    fn many_openings_without_an_end_stay_linear() {
        let dirty = "\u{1b}]".repeat(200_000);
        assert_eq!(block(&dirty), "");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn nothing_that_steers_a_terminal_passes(
            pieces in prop::collection::vec(
                prop_oneof![
                    any::<char>().prop_map(String::from),
                    "[\\x00-\\x1f\\x7f-\\x9f\\]\\[P_;0-9m\\\\]{1,6}",
                ],
                0..40,
            )
        ) {
            let dirty = pieces.concat();
            for cleaned in [block(&dirty), line(&dirty)] {
                prop_assert!(!cleaned.chars().any(needs_work), "{dirty:?} gave {cleaned:?}");
                let again = block(&cleaned);
                prop_assert_eq!(again.as_ref(), cleaned.as_ref());
            }
            prop_assert!(!line(&dirty).contains('\n'));
        }
    }
}
