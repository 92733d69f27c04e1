//! One line of a command's output made fit for a reader: decoded, what was written over left out,
//! controls shown as visible stand-ins, too long a middle cut out. It knows bytes and text only.

/// Characters of a long line's beginning that are kept.
const LINE_HEAD: usize = 2_000;
/// Characters of a long line's end that are kept.
const LINE_TAIL: usize = 500;
/// Controls from which on a line counts as binary, if they are also a twentieth of it.
const BINARY_CONTROLS: usize = 4;

/// What a carriage return inside of a line means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carriage {
    /// What stood before it was written over, as progress bars do.
    Overwrites,
    /// It is a part of the text, as in the diff of a file.
    Counts,
}

/// What a line is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    Text,
    /// Text with a few odd bytes; beside binary lines it is one of them.
    Odd,
    /// No text at all.
    Binary,
}

/// A line for a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// Its text, without a line end.
    pub text: String,
    /// Its length in characters.
    pub chars: usize,
    /// Bytes it came from, with its line end.
    pub bytes: usize,
    /// What it is like.
    pub kind: Kind,
    /// Bytes that were no UTF-8.
    pub undecodable: usize,
    /// True if a part of it was written over.
    pub overwritten: bool,
    /// True if its middle was cut out.
    pub cut: bool,
}

impl Line {
    /// Reads one line, its `\n` included if it has one.
    pub fn read(raw: &[u8], carriage: Carriage) -> Self {
        let content = raw.strip_suffix(b"\n").unwrap_or(raw);
        let (visible, overwritten) = match carriage {
            Carriage::Overwrites => last_state(content),
            Carriage::Counts => (content, false),
        };
        let (text, undecodable) = decode(visible);
        let (text, cut) = without_middle(text);
        let controls = content.iter().filter(|byte| is_binary(**byte)).count();
        let kind = match controls {
            0 if undecodable == 0 => Kind::Text,
            many if many >= BINARY_CONTROLS && many * 20 > content.len() => Kind::Binary,
            _ => Kind::Odd,
        };
        let chars = text.chars().count();
        Self { text, chars, bytes: raw.len(), kind, undecodable, overwritten, cut }
    }
}

/// What stands on a line after all carriage returns; true if something was written over.
fn last_state(content: &[u8]) -> (&[u8], bool) {
    let end = content.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1);
    let content = content.get(..end).unwrap_or(content);
    match content.iter().rposition(|byte| *byte == b'\r') {
        Some(at) => (content.get(at + 1..).unwrap_or_default(), true),
        None => (content, false),
    }
}

/// The text, and how many bytes of it were none.
fn decode(bytes: &[u8]) -> (String, usize) {
    let mut text = String::with_capacity(bytes.len());
    let mut undecodable = 0;
    for chunk in bytes.utf8_chunks() {
        if chunk.valid().chars().all(is_harmless) {
            text.push_str(chunk.valid());
        } else {
            chunk.valid().chars().for_each(|c| push_harmless(&mut text, c));
        }
        if !chunk.invalid().is_empty() {
            undecodable += chunk.invalid().len();
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    (text, undecodable)
}

fn is_harmless(c: char) -> bool {
    c == '\t'
        || !(c.is_control()
            || matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}'))
}

/// A control becomes something that can be seen and that no terminal obeys.
fn push_harmless(text: &mut String, c: char) {
    match c {
        c if is_harmless(c) => text.push(c),
        '\u{7F}' => text.push('␡'),
        // The control pictures are in the order of the controls.
        c if c < ' ' => text.extend(char::from_u32(0x2400 + u32::from(c))),
        c => text.extend(c.escape_unicode()),
    }
}

/// Controls that texts do not have: all but bell, backspace, tab, line ends, form feed, escape.
fn is_binary(byte: u8) -> bool {
    byte == 0x7F || byte < b' ' && !matches!(byte, 0x07..=0x0A | 0x0C | 0x0D | 0x1B)
}

fn without_middle(text: String) -> (String, bool) {
    let count = text.chars().count();
    if count <= LINE_HEAD + LINE_TAIL {
        return (text, false);
    }
    let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (at(LINE_HEAD), at(count - LINE_TAIL));
    let missing = count - LINE_HEAD - LINE_TAIL;
    let (head, tail) = (text.get(..head).unwrap_or(""), text.get(tail..).unwrap_or(""));
    (format!("{head} … ({missing} characters of this line left out) … {tail}"), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(raw: &[u8]) -> Line {
        Line::read(raw, Carriage::Overwrites)
    }

    #[test]
    fn controls_can_be_seen_and_tabs_stay() {
        let table: &[(&[u8], &str)] = &[
            (b"a\tb\n", "a\tb"),
            (b"a\x1b[2J\x1b[Hb\x1b]0;pwn\x07c\n", "a␛[2J␛[Hb␛]0;pwn␇c"),
            (b"x\x08y\x00z\x7f", "x␈y␀z␡"),
            ("\u{9b}31m".as_bytes(), "\\u{9b}31m"),
            ("a\u{202e}b\u{2028}c".as_bytes(), "a\\u{202e}b\\u{2028}c"),
            ("子\u{301}👩‍💻".as_bytes(), "子\u{301}👩‍💻"),
            (b"caf\xe9 \xff\xfe\n", "caf\u{FFFD} \u{FFFD}\u{FFFD}"),
            (b"", ""),
        ];
        for (raw, text) in table {
            assert_eq!(&read(raw).text, text);
        }
        assert_eq!(read(b"caf\xe9 \xff\xfe\n").undecodable, 3);
        assert_eq!(read("a \u{FFFD} of the program's own".as_bytes()).undecodable, 0);
    }

    #[test]
    fn a_progress_bar_is_its_last_state() {
        let table: &[(&[u8], &str, bool)] = &[
            (b"10%\r50%\r100%\n", "100%", true),
            (b"10%\r50%\r", "50%", true),
            (b"windows\r\n", "windows", false),
            (b"\r\r\n", "", false),
            (b"\rstart", "start", true),
        ];
        for (raw, text, overwritten) in table {
            let line = read(raw);
            assert_eq!((line.text.as_str(), line.overwritten), (*text, *overwritten));
        }
        assert_eq!(Line::read(b"a\rb\r\n", Carriage::Counts).text, "a␍b␍");
    }

    #[test]
    fn a_long_line_loses_its_middle_and_says_so() {
        let line = read("子".repeat(22_000).as_bytes());
        assert!(line.cut && line.chars < 2_600);
        assert!(line.text.contains("(19500 characters of this line left out)"));
        assert!(!line.text.contains('\u{FFFD}'));
        let whole = read("x".repeat(2_500).as_bytes());
        assert!(!whole.cut && whole.chars == 2_500);
    }

    #[test]
    fn binary_is_told_from_text_in_another_encoding() {
        assert_eq!(read(&[0; 64]).kind, Kind::Binary);
        assert_eq!(read(b"\x7fELF\x02\x01\x01\x00\x00\x00\x00").kind, Kind::Binary);
        assert_eq!(read(b"d\x00e\n").kind, Kind::Odd);
        // Russian in KOI8-R, Chinese in GBK.
        assert_eq!(read(b"\xf0\xd2\xc9\xd7\xc5\xd4 \xcd\xc9\xd2").kind, Kind::Odd);
        assert_eq!(read(b"\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7").kind, Kind::Odd);
        assert_eq!(read(b"\x1b[31mred\x1b[0m").kind, Kind::Text);
    }
}
