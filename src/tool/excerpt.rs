//! Text within bounds: everything that a result shows is cut here, on line and character
//! boundaries.

use super::MAX_RESULT_CHARS;

/// Characters that the lines of a result may have; the rest of [`MAX_RESULT_CHARS`] is for what is
/// said about them.
pub const MAX_BODY_CHARS: usize = MAX_RESULT_CHARS - 2_000;

/// Whole lines up to a number of characters.
#[derive(Debug, Default)]
pub struct Excerpt {
    text: String,
    chars: usize,
}

impl Excerpt {
    /// Adds a line. False, and nothing added, if it does not fit any more.
    pub fn line(&mut self, line: &str) -> bool {
        let chars = line.chars().count() + 1;
        if self.chars + chars > MAX_BODY_CHARS {
            return false;
        }
        self.text.push_str(line);
        self.text.push('\n');
        self.chars += chars;
        true
    }

    /// The lines, each with its end.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// The first `count` characters.
pub fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| text.get(..end).unwrap_or(text))
}

/// The whole text, or as much of it as a result may have, saying that the rest is missing.
pub fn whole_or_cut(text: String) -> String {
    const MARK: &str = "\n... (cut)";
    if text.chars().nth(MAX_RESULT_CHARS).is_none() {
        return text;
    }
    format!("{}{MARK}", first_chars(&text, MAX_RESULT_CHARS - MARK.len()))
}

/// A size for a reader: `812 B`, `2.1 KB`, `5.0 MB`; a kilobyte is 1,000 bytes.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KB", "MB", "GB", "TB", "PB"];
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    let mut tenths = bytes / 100;
    let mut unit = 0;
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        tenths /= 1_000;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS.get(unit).unwrap_or(&"PB"))
}

/// `1 file`, `2 files`.
pub fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// What is said of files whose content a rule keeps from being shown: `1 file left out by a rule`.
pub fn by_a_rule(files: u64) -> String {
    format!("{} left out by a rule", count(files, "file", "files"))
}

/// Bytes of a file as text: undecodable ones become U+FFFD, NUL becomes U+2400 (a NUL breaks some
/// providers' JSON). True if anything was replaced.
pub fn decode(bytes: &[u8]) -> (String, bool) {
    let text = String::from_utf8_lossy(bytes);
    let lossy = matches!(text, std::borrow::Cow::Owned(_));
    if text.contains('\0') {
        return (text.replace('\0', "\u{2400}"), true);
    }
    (text.into_owned(), lossy)
}

/// The bytes without a character that is cut at their end.
pub fn without_partial_char(bytes: &[u8]) -> &[u8] {
    let tail = bytes.len().saturating_sub(3);
    let lead =
        (tail..bytes.len()).rev().find(|&at| bytes.get(at).is_some_and(|b| b & 0xC0 != 0x80));
    let whole = |at: usize| match bytes.get(at) {
        Some(0xC2..=0xDF) => at + 2,
        Some(0xE0..=0xEF) => at + 3,
        Some(0xF0..=0xF4) => at + 4,
        Some(_) | None => at,
    };
    match lead {
        Some(at) if whole(at) > bytes.len() => bytes.get(..at).unwrap_or(bytes),
        Some(_) | None => bytes,
    }
}

/// The text on one line, at most `chars` characters long, for titles and lists.
pub fn one_line(text: &str, chars: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().take(chars).collect();
    let line = words.join(" ");
    if line.chars().count() <= chars {
        return line;
    }
    format!("{}…", first_chars(&line, chars.saturating_sub(1)))
}

/// The text cut to about this many tokens by estimate, on a character boundary, ending in a line
/// that says why.
pub fn cut_to_tokens(text: &str, tokens: u64, why: &str) -> String {
    let mut taken = 0_u64;
    // A quarter of a token for an ASCII character, a whole one for any other.
    let fits = |character: char| {
        taken += if character.is_ascii() { 1 } else { 4 };
        taken <= tokens.saturating_mul(4)
    };
    let kept: usize = text
        .chars()
        .take_while({
            let mut fits = fits;
            move |character| fits(*character)
        })
        .map(char::len_utf8)
        .sum();
    format!("{}\n… ({why})", &text[..kept])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_cut_in_two_is_left_out() {
        for text in ["", "abc", "é", "子", "a🦀", "ab子"] {
            let bytes = text.as_bytes();
            assert_eq!(without_partial_char(bytes), bytes);
            for end in 0..bytes.len() {
                let kept = without_partial_char(&bytes[..end]);
                assert!(std::str::from_utf8(kept).is_ok(), "{text} to {end}");
                assert!(end - kept.len() < 4);
            }
        }
        assert_eq!(without_partial_char(b"a\x80\x80\x80\x80"), b"a\x80\x80\x80\x80");
    }

    #[test]
    fn lines_are_added_while_they_fit() {
        let mut excerpt = Excerpt::default();
        let line = "é".repeat(999);
        let fitted = std::iter::from_fn(|| excerpt.line(&line).then_some(())).count();
        assert_eq!(fitted, MAX_BODY_CHARS / 1_000);
        assert_eq!(excerpt.as_str().chars().count(), MAX_BODY_CHARS);
        assert!(!excerpt.line(""));
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(first_chars("añb", 2), "añ");
        assert_eq!(first_chars("añb", 9), "añb");
        let cut = whole_or_cut("子".repeat(MAX_RESULT_CHARS + 1));
        assert_eq!(cut.chars().count(), MAX_RESULT_CHARS);
        assert!(cut.ends_with("子\n... (cut)"));
        assert_eq!(whole_or_cut("子".to_owned()), "子");
    }

    #[test]
    fn sizes_have_one_digit_behind_the_point() {
        let table = [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 KB"),
            (2_149, "2.1 KB"),
            (999_999, "999.9 KB"),
            (5_000_000, "5.0 MB"),
            (2_147_483_648, "2.1 GB"),
            (u64::MAX, "18446.7 PB"),
        ];
        for (bytes, right) in table {
            assert_eq!(size(bytes), right);
        }
    }
}
