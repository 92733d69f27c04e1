//! A file's bytes as they are matched: without a byte order mark, every line end one `\n`. Each
//! place of it is a place of the file, so that what is found here is cut there.

use std::borrow::Cow;

use memchr::memmem;

/// The mark that some editors put at the start of UTF-8 text.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The view of one state of a file.
pub(super) struct View {
    /// What is matched.
    pub(super) text: Vec<u8>,
    /// Bytes of the file before it.
    mark: usize,
    /// Where in `text` a line end stands that has two bytes in the file, in order.
    two_bytes: Vec<usize>,
}

impl View {
    pub(super) fn of(content: &[u8]) -> Self {
        let mark = if content.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        let body = content.get(mark..).unwrap_or_default();
        let mut text = Vec::with_capacity(body.len());
        let mut two_bytes = Vec::new();
        let mut from = 0;
        for at in memmem::find_iter(body, b"\r\n") {
            text.extend_from_slice(body.get(from..at).unwrap_or_default());
            two_bytes.push(text.len());
            text.push(b'\n');
            from = at + 2;
        }
        text.extend_from_slice(body.get(from..).unwrap_or_default());
        Self { text, mark, two_bytes }
    }

    /// The same for a text that is looked for or put in: a mark at its start means the file's own.
    pub(super) fn of_argument<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let text = if self.mark > 0 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        if text.contains("\r\n") { Cow::Owned(text.replace("\r\n", "\n")) } else { text.into() }
    }

    /// The place in the file of a place in the view: of a line end, where it begins.
    pub(super) fn in_file(&self, at: usize) -> usize {
        self.mark + at + self.two_bytes.partition_point(|end| *end < at)
    }

    /// The line end that a line put in at this place takes: that of the line there, else of the one
    /// before it, else a plain one.
    pub(super) fn line_end(&self, at: usize) -> &'static [u8] {
        let after = self.text.get(at..).unwrap_or_default();
        let before = self.text.get(..at).unwrap_or_default();
        let end = memchr::memchr(b'\n', after)
            .map(|below| at + below)
            .or_else(|| memchr::memrchr(b'\n', before));
        match end {
            Some(end) if self.two_bytes.binary_search(&end).is_ok() => b"\r\n",
            Some(_) | None => b"\n",
        }
    }

    /// The line, from 1, of a place.
    pub(super) fn line(&self, at: usize) -> u64 {
        let before = self.text.get(..at).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() as u64 + 1
    }
}
