//! Matching lines while they are gathered: which are shown, and how many more there are.

use std::io;

use grep_matcher::Matcher as _;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

use crate::tool::Shown;
use crate::tool::excerpt::{Excerpt, decode, first_chars, without_partial_char};
use crate::workspace::path::on_one_line;

/// Matching lines that one result shows at most.
pub const MAX_SHOWN: u64 = 200;
/// Matching lines after which a search stops counting.
pub const MAX_COUNTED: u64 = 20_000;
/// Characters of one line that are shown.
const MAX_LINE_CHARS: usize = 400;
/// Bytes before a match that are shown where a long line is cut.
const BYTES_BEFORE: usize = 100;

/// What was found so far.
pub struct Hits<'m> {
    matcher: &'m RegexMatcher,
    /// Lines around a match that are wanted.
    pub context: usize,
    /// The lines.
    pub excerpt: Excerpt,
    /// Where they stand.
    pub shown: Vec<Shown>,
    /// Matching lines that were found.
    pub matches: u64,
    /// Those of them that are shown.
    pub shown_matches: u64,
    /// Files with a match.
    pub files: u64,
    /// True if a long line was cut.
    pub lines_cut: bool,
    /// Bytes of the matching lines that had no room.
    pub unshown_bytes: u64,
    /// True once there is no room.
    full: bool,
    /// True if lines that are not neighbours come next.
    gap: bool,
}

impl<'m> Hits<'m> {
    /// Nothing found yet.
    pub fn new(matcher: &'m RegexMatcher, context: usize) -> Self {
        Self {
            matcher,
            context,
            excerpt: Excerpt::default(),
            shown: Vec::new(),
            matches: 0,
            shown_matches: 0,
            files: 0,
            lines_cut: false,
            unshown_bytes: 0,
            full: false,
            gap: false,
        }
    }

    /// Searches one file. False once there is enough.
    pub fn search(
        &mut self,
        searcher: &mut Searcher,
        path: &str,
        reader: impl io::Read,
    ) -> io::Result<bool> {
        let before = self.matches;
        self.gap = self.context > 0 && self.matches > 0;
        let matcher = self.matcher;
        let ended = searcher.search_reader(matcher, reader, InFile { hits: self, path });
        self.files += u64::from(self.matches > before);
        ended.map(|()| self.matches < MAX_COUNTED)
    }

    fn line(&mut self, path: &str, number: u64, mark: char, text: &str) -> bool {
        if self.full {
            return false;
        }
        let gap = if self.gap { "--\n" } else { "" };
        let line = format!("{gap}{}{mark}{number}{mark}{text}", on_one_line(path));
        if !self.excerpt.line(&line) {
            self.full = true;
            return false;
        }
        self.gap = false;
        self.record(path, number);
        true
    }

    fn record(&mut self, path: &str, number: u64) {
        if let Some(Shown::Lines { path: last, to, .. }) = self.shown.last_mut()
            && last == path
            && *to + 1 == number
        {
            *to = number;
            return;
        }
        self.shown.push(Shown::Lines { path: path.to_owned(), from: number, to: number });
    }

    /// A line as it is shown: without its end, and a long one only around its first match.
    fn text_of(&mut self, line: &[u8]) -> String {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let start = match self.matcher.find(line) {
            Ok(Some(found)) => window_start(line, found.start()),
            Ok(None) | Err(_) => 0,
        };
        let end = line.len().min(start + MAX_LINE_CHARS * 4);
        let window = line.get(start..end).unwrap_or_default();
        let window = if end < line.len() { without_partial_char(window) } else { window };
        let (text, _) = decode(window);
        let kept = first_chars(&text, MAX_LINE_CHARS);
        let cut_after = kept.len() < text.len() || end < line.len();
        if start == 0 && !cut_after {
            return text;
        }
        self.lines_cut = true;
        let before = if start > 0 { "…" } else { "" };
        let after = if cut_after { "…" } else { "" };
        format!("{before}{kept}{after} (line cut, {} bytes in all)", line.len())
    }
}

/// Where the shown part of a line starts: at its beginning, or shortly before the match.
fn window_start(line: &[u8], found: usize) -> usize {
    if line.len() <= MAX_LINE_CHARS || found <= MAX_LINE_CHARS / 2 {
        return 0;
    }
    let start = found.saturating_sub(BYTES_BEFORE);
    let is_inside_char = |at: &usize| line.get(*at).is_some_and(|byte| byte & 0xC0 == 0x80);
    start + (start..start + 3).take_while(is_inside_char).count()
}

/// The lines of one file on their way.
struct InFile<'a, 'm> {
    hits: &'a mut Hits<'m>,
    path: &'a str,
}

impl Sink for InFile<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.hits.matches += 1;
        if self.hits.full {
            self.hits.unshown_bytes += found.bytes().len() as u64;
        } else {
            let text = self.hits.text_of(found.bytes());
            let number = found.line_number().unwrap_or(0);
            self.hits.shown_matches += u64::from(self.hits.line(self.path, number, ':', &text));
            self.hits.full |= self.hits.shown_matches >= MAX_SHOWN;
        }
        Ok(self.hits.matches < MAX_COUNTED)
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        if !self.hits.full {
            let text = self.hits.text_of(around.bytes());
            self.hits.line(self.path, around.line_number().unwrap_or(0), '-', &text);
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.hits.gap = true;
        Ok(true)
    }
}
