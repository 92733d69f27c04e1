//! The one choke point: every text from a model, a tool, a file, a server or a paste becomes
//! harmless here before it is measured or painted. It knows nothing of where a text comes from.
//!
//! What could drive a terminal or deceive a reader is shown as a visible stand-in of known width,
//! or dropped where it is invisible anyway. Applying it twice changes nothing more.

use std::borrow::Cow;
use std::fmt::Write as _;

/// A tab becomes this; tab stops would need the column, which wrapping changes.
pub const TAB: &str = "    ";
/// Stands for what reorders or hides text, and for C1 controls.
const STAND_IN: char = '\u{FFFD}';
/// Stands for a line separator inside a line.
const LINE_MARK: char = '↵';
/// More zero-width marks than this on one character are dropped: no script needs them, and a
/// terminal would have to store them all in one cell.
const MAX_MARKS: usize = 8;

/// A text of several lines: `\n` and CRLF stay line ends.
pub fn block(source: &str) -> Cow<'_, str> {
    if is_clean(source, true) {
        return Cow::Borrowed(source);
    }
    let mut clean = String::with_capacity(source.len());
    append(&mut clean, source);
    Cow::Owned(clean)
}

/// A text that has to stay on one line: its line ends become marks.
pub fn line(source: &str) -> Cow<'_, str> {
    if is_clean(source, false) {
        return Cow::Borrowed(source);
    }
    let mut clean = String::with_capacity(source.len());
    append(&mut clean, source);
    Cow::Owned(clean.replace('\n', "↵"))
}

/// A text that somebody is to agree to: what cannot be seen is spelled out, so that nothing in it
/// goes unnoticed. What is left is for [`block`] or [`line`].
pub fn reveal(source: &str) -> Cow<'_, str> {
    let unseen = |c: char| match kind(c) {
        Kind::Hidden | Kind::Joiner => true,
        // Those of ASCII have pictures.
        Kind::Control => !c.is_ascii(),
        Kind::Plain | Kind::Tab | Kind::Mark => false,
    };
    if !source.chars().any(unseen) {
        return Cow::Borrowed(source);
    }
    let mut shown = String::with_capacity(source.len() + 64);
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        let next_is_wide = rest.peek().is_some_and(|next| !next.is_ascii());
        let joins = kind(c) == Kind::Joiner
            && next_is_wide
            && shown.chars().next_back().is_some_and(|before| !before.is_ascii());
        if unseen(c) && !joins {
            // A text takes whatever is written to it.
            let _ = write!(shown, "<U+{:04X}>", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// JSON text with the same meaning and with every character that this module would replace or drop
/// written as an escape: there are none outside of strings.
pub fn json(source: &str) -> Cow<'_, str> {
    let harmful = |c: char| matches!(kind(c), Kind::Control | Kind::Hidden);
    if !source.chars().any(harmful) {
        return Cow::Borrowed(source);
    }
    let mut clean = String::with_capacity(source.len() + 64);
    for c in source.chars() {
        if harmful(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let digit = |shift: u16| char::from_digit(u32::from(*unit >> shift & 0xf), 16);
                clean.push_str("\\u");
                clean.extend([12, 8, 4, 0].into_iter().filter_map(digit));
            }
        } else {
            clean.push(c);
        }
    }
    Cow::Owned(clean)
}

/// Adds a piece to a clean text, as if both had been cleaned together, except that a CRLF must not
/// be split between them.
pub fn append(clean: &mut String, piece: &str) {
    let mut marks = trailing_marks(clean);
    let mut rest = piece.chars().peekable();
    while let Some(c) = rest.next() {
        if c == '\r' && rest.peek() == Some(&'\n') {
            continue;
        }
        match kind(c) {
            Kind::Plain => {
                clean.push(c);
                marks = 0;
            }
            Kind::Tab => {
                clean.push_str(TAB);
                marks = 0;
            }
            Kind::Control => {
                clean.push(stand_in(c));
                marks = 0;
            }
            Kind::Hidden => {}
            Kind::Joiner => {
                let before = clean.chars().next_back();
                let joins = before.is_some_and(|before| !before.is_ascii());
                if joins && rest.peek().is_some_and(|next| !next.is_ascii()) && marks < MAX_MARKS {
                    clean.push(c);
                    marks += 1;
                }
            }
            Kind::Mark => {
                if marks < MAX_MARKS {
                    clean.push(c);
                    marks += 1;
                }
            }
        }
    }
}

/// True for what an input may hold: line ends, tabs and everything that can be seen or that shapes
/// what can be seen.
pub fn may_be_typed(c: char) -> bool {
    match kind(c) {
        Kind::Plain | Kind::Tab | Kind::Joiner | Kind::Mark => true,
        Kind::Control | Kind::Hidden => false,
    }
}

/// True if a text may not be cut right before its last characters, because what follows could
/// change what they become.
pub fn is_provisional(c: char) -> bool {
    c == '\r' || matches!(kind(c), Kind::Joiner | Kind::Mark)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Tab,
    /// Shown as a stand-in.
    Control,
    /// Invisible, and dropped.
    Hidden,
    /// Joins emoji; invisible elsewhere.
    Joiner,
    /// A combining mark: no width of its own.
    Mark,
}

fn kind(c: char) -> Kind {
    match c {
        '\n' | ' '..='~' => Kind::Plain,
        '\t' => Kind::Tab,
        '\u{200D}' => Kind::Joiner,
        // Zero-width space and non-joiner, marks of direction, soft hyphen, word joiner and the
        // invisible operators after it, byte order mark, Hangul and Khmer fillers, the tag
        // characters (ASCII in disguise).
        '\u{AD}'
        | '\u{200B}'
        | '\u{200C}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{2060}'..='\u{2064}'
        | '\u{206A}'..='\u{206F}'
        | '\u{FEFF}'
        | '\u{61C}'
        | '\u{115F}'
        | '\u{17B4}'
        | '\u{17B5}'
        | '\u{180E}'
        | '\u{3164}'
        | '\u{FFA0}'
        | '\u{FFF9}'..='\u{FFFB}'
        | '\u{E0000}'..='\u{E0FFF}' => Kind::Hidden,
        // Overrides, embeddings and isolates reorder what is around them; the separators break
        // lines in some terminals.
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' => {
            Kind::Control
        }
        c if c.is_control() => Kind::Control,
        c if unicode_width::UnicodeWidthChar::width(c) == Some(0) => Kind::Mark,
        _ => Kind::Plain,
    }
}

fn stand_in(c: char) -> char {
    match c {
        '\u{2028}' | '\u{2029}' => LINE_MARK,
        '\u{7F}' => '␡',
        // The control pictures are in the order of the controls.
        c if c < ' ' => char::from_u32(0x2400 + u32::from(c)).unwrap_or(STAND_IN),
        _ => STAND_IN,
    }
}

fn trailing_marks(clean: &str) -> usize {
    let is_mark = |c: &char| matches!(kind(*c), Kind::Mark | Kind::Joiner);
    clean.chars().rev().take(MAX_MARKS).take_while(is_mark).count()
}

/// The quick answer for almost every text: printable ASCII or plain wide characters.
fn is_clean(source: &str, lines: bool) -> bool {
    source.chars().all(|c| kind(c) == Kind::Plain && (lines || c != '\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn controls_become_pictures_and_line_ends_stay() {
        let table = [
            ("\u{1b}[2J", "␛[2J"),
            ("\u{1b}]0;pwn\u{7}", "␛]0;pwn␇"),
            ("real\rfake", "real␍fake"),
            ("a\r\nb\nc", "a\nb\nc"),
            ("a\u{0}b\u{7f}", "a␀b␡"),
            ("\u{9b}2J", "\u{FFFD}2J"),
            ("a\u{202e}b\u{2066}c", "a\u{FFFD}b\u{FFFD}c"),
            ("ad\u{200b}min\u{200d}", "admin"),
            ("a\tb", "a    b"),
            ("a\u{2028}b", "a↵b"),
            ("👨‍👩‍👧‍👦 ❤️ 👍🏽", "👨‍👩‍👧‍👦 ❤️ 👍🏽"),
            ("子代理", "子代理"),
        ];
        for (source, clean) in table {
            assert_eq!(block(source), clean, "{source:?}");
        }
        assert_eq!(line("a\r\nb\nc"), "a↵b↵c");
    }

    #[test]
    fn what_cannot_be_seen_is_spelled_out_where_somebody_is_to_agree() {
        assert_eq!(reveal("rm\u{200b} -rf \u{202e}x"), "rm<U+200B> -rf <U+202E>x");
        assert_eq!(reveal("cargo test 子\t\u{1b}"), "cargo test 子\t\u{1b}");
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({ "text": "a\u{9b}31m\u{202e}b\u{e0041}词" });
        let written = value.to_string();
        let escaped = json(&written);
        assert_eq!(escaped, r#"{"text":"a\u009b31m\u202eb\udb40\udc41词"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&escaped).ok(), Some(value));
    }

    #[test]
    fn a_pile_of_combining_marks_is_cut() {
        let pile = format!("e{}", "\u{301}".repeat(1_000));
        assert_eq!(block(&pile).chars().count(), 1 + MAX_MARKS);
    }

    proptest! {
        #[test]
        fn nothing_dangerous_is_left_and_twice_is_once(source in ".{0,60}", control in "[\\x00-\\x1f\\x7f-\\x9f\u{202a}-\u{202e}\u{2066}-\u{2069}]{0,4}") {
            let source = format!("{source}{control}{source}");
            let once = block(&source).into_owned();
            prop_assert!(once.chars().all(|c| c == '\n' || !matches!(kind(c), Kind::Control | Kind::Hidden | Kind::Tab)));
            prop_assert_eq!(block(&once).into_owned(), once.clone());
            prop_assert!(!line(&source).contains('\n'));
        }

        #[test]
        fn cleaning_in_pieces_is_cleaning_the_whole(pieces in proptest::collection::vec("[a\u{301}\n子👩\u{200d}\u{1b}\t]{0,6}", 0..6)) {
            // Pieces are held back while their end is provisional, as a streaming layout does.
            let whole: String = pieces.concat();
            let mut clean = String::new();
            let mut done = 0;
            let mut seen = String::new();
            for piece in &pieces {
                seen.push_str(piece);
                let held = seen.trim_end_matches(is_provisional).len().max(done);
                append(&mut clean, &seen[done..held]);
                done = held;
            }
            append(&mut clean, &seen[done..]);
            prop_assert_eq!(clean, block(&whole).into_owned());
        }
    }
}
