//! Lines of a file of any size in constant memory: what is kept of a line is bounded, and so is
//! what is read in all. It knows bytes and line ends, not what they mean.

use std::io::{self, BufRead, BufReader, Read};

use tokio_util::sync::CancellationToken;

/// Bytes at the start of a file that decide whether it is text.
pub const SNIFF_BYTES: usize = 8 * 1024;

/// A reader that ends early, after a number of bytes or when a token fires.
#[derive(Debug)]
pub struct Bounded<R> {
    inner: R,
    left: u64,
    stopped: bool,
    cancel: CancellationToken,
}

impl<R: Read> Bounded<R> {
    /// Lets `limit` bytes of `inner` through. Reading fails once `cancel` fires.
    pub fn new(inner: R, limit: u64, cancel: CancellationToken) -> Self {
        Self { inner, left: limit, stopped: false, cancel }
    }

    /// True if there was more than the limit.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    /// How much of the limit is left, in bytes.
    pub fn left(&self) -> u64 {
        self.left
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.cancel.is_cancelled() {
            return Err(io::Error::other("cancelled"));
        }
        if self.left == 0 {
            self.stopped |= !buffer.is_empty() && self.inner.read(&mut [0])? > 0;
            return Ok(0);
        }
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let count = self.inner.read(buffer.get_mut(..most).unwrap_or_default())?;
        self.left -= count as u64;
        Ok(count)
    }
}

/// One line without its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its first bytes.
    pub kept: Vec<u8>,
    /// How many bytes more it has.
    pub dropped: u64,
    /// True if it ended in CR LF.
    pub carriage_return: bool,
}

/// Reads line by line.
#[derive(Debug)]
pub struct Lines<R> {
    reader: BufReader<Bounded<R>>,
}

impl<R: Read> Lines<R> {
    /// Lines of the first `limit` bytes.
    pub fn new(inner: R, limit: u64, cancel: CancellationToken) -> Self {
        Self { reader: BufReader::with_capacity(64 * 1024, Bounded::new(inner, limit, cancel)) }
    }

    /// The first bytes, without passing them. Only at the start.
    pub fn sniff(&mut self) -> io::Result<&[u8]> {
        let start = self.reader.fill_buf()?;
        Ok(start.get(..SNIFF_BYTES).unwrap_or(start))
    }

    /// Passes `count` bytes that [`Self::sniff`] showed.
    pub fn pass(&mut self, count: usize) {
        self.reader.consume(count);
    }

    /// The next line with at most `keep` bytes of it; `None` at the end.
    pub fn next(&mut self, keep: usize) -> io::Result<Option<Line>> {
        let mut line = Line::default();
        let mut last = None;
        let mut any = false;
        loop {
            let available = self.reader.fill_buf()?;
            if available.is_empty() {
                return Ok(any.then_some(line));
            }
            any = true;
            let end = memchr::memchr(b'\n', available);
            let part = available.get(..end.unwrap_or(available.len())).unwrap_or(available);
            last = part.last().copied().or(last);
            line.take(part, keep);
            let passed = end.map_or(part.len(), |end| end + 1);
            self.reader.consume(passed);
            if end.is_some() {
                line.trim_carriage_return(last);
                return Ok(Some(line));
            }
        }
    }

    /// Passes one line; false at the end.
    pub fn skip(&mut self) -> io::Result<bool> {
        Ok(self.reader.skip_until(b'\n')? > 0)
    }

    /// How many lines there are from here on.
    pub fn count(&mut self) -> io::Result<u64> {
        let mut count = 0;
        while self.skip()? {
            count += 1;
        }
        Ok(count)
    }

    /// From here on at most `bytes` more are read, beside what is buffered.
    pub fn limit_to(&mut self, bytes: u64) {
        let bounded = self.reader.get_mut();
        bounded.left = bounded.left.min(bytes);
    }

    /// True if the limit ended it and not the file.
    pub fn stopped(&self) -> bool {
        self.reader.get_ref().stopped()
    }
}

impl Line {
    fn take(&mut self, part: &[u8], keep: usize) {
        let room = keep.saturating_sub(self.kept.len()).min(part.len());
        let (kept, dropped) = part.split_at(room);
        self.kept.extend_from_slice(kept);
        self.dropped += dropped.len() as u64;
    }

    fn trim_carriage_return(&mut self, last: Option<u8>) {
        if last != Some(b'\r') {
            return;
        }
        self.carriage_return = true;
        if self.dropped > 0 {
            self.dropped -= 1;
        } else {
            self.kept.pop();
        }
    }
}

/// True if the first bytes of a file say that it is no text.
pub fn is_binary(start: &[u8]) -> bool {
    memchr::memchr(0, start).is_some()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn lines(text: &[u8], keep: usize) -> Vec<Line> {
        let mut lines = Lines::new(text, 1_000_000, CancellationToken::new());
        std::iter::from_fn(|| lines.next(keep).unwrap()).collect()
    }

    fn line(kept: &str, dropped: u64, carriage_return: bool) -> Line {
        Line { kept: kept.as_bytes().to_vec(), dropped, carriage_return }
    }

    #[test]
    fn lines_end_at_lf_or_crlf_and_the_last_needs_no_end() {
        let all = lines(b"one\r\n\ntwo\rthree\nlast", 100);
        let right = ["one", "", "two\rthree", "last"];
        let kept: Vec<_> = all.iter().map(|line| line.kept.as_slice()).collect();
        assert_eq!(kept, right.map(str::as_bytes));
        let ends: Vec<_> = all.iter().map(|line| line.carriage_return).collect();
        assert_eq!(ends, [true, false, false, false]);
        assert_eq!(lines(b"", 100), []);
        assert_eq!(lines(b"\n", 100), [line("", 0, false)]);
    }

    #[test]
    fn a_long_line_is_kept_in_part_and_the_rest_counted() {
        assert_eq!(lines(b"abcdef\r\nx", 4), [line("abcd", 2, true), line("x", 0, false)]);
        assert_eq!(lines(b"abcd\r\n", 4), [line("abcd", 0, true)]);
        let long = vec![b'a'; 300_000];
        assert_eq!(lines(&long, 10), [line("aaaaaaaaaa", 299_990, false)]);
    }

    #[test]
    fn the_limit_is_told_from_the_end_of_the_file() {
        let mut exact = Lines::new(&b"a\nb\n"[..], 4, CancellationToken::new());
        assert_eq!((exact.count().unwrap(), exact.stopped()), (2, false));
        let mut cut = Lines::new(&b"a\nb\nc"[..], 4, CancellationToken::new());
        assert_eq!((cut.count().unwrap(), cut.stopped()), (2, true));
    }

    #[test]
    fn a_fired_token_ends_the_reading() {
        let cancel = CancellationToken::new();
        cancel.cancel();
        assert!(Lines::new(&b"a\n"[..], 10, cancel).next(10).is_err());
    }
}
