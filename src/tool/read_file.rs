//! `read_file`: the lines of one text file, numbered, so that a reader can cite them.

use std::fmt::Write as _;
use std::fs::File;
use std::io;

use cap_std::fs::Metadata;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::role::Permission;
use crate::workspace::jail::Opened;
use crate::workspace::lines::{Line, Lines, is_binary};
use crate::workspace::path::printable;
use crate::workspace::seen::FileStamp;

use super::blocking::{self, Outcome};
use super::excerpt::{Excerpt, decode, first_chars, size, without_partial_char};
use super::{Shown, Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments};

/// Lines that are shown where no limit is given.
pub const DEFAULT_LINES: u64 = 2_000;
/// Characters of one line that are shown.
pub const MAX_LINE_CHARS: usize = 2_000;
/// Bytes from the start within which a line can be reached.
const MAX_REACHED_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes after the shown part in which lines are still counted.
const MAX_COUNTED_BYTES: u64 = 16 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The tool.
pub struct ReadFile {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
}

impl ReadFile {
    /// The tool.
    #[expect(clippy::new_without_default, reason = "a tool has no default state")]
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: "read_file",
            description: include_str!("../../assets/tools/read_file.md").trim_ascii(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "From the workspace's root"},
                    "offset": {
                        "type": "integer", "minimum": 1,
                        "description": "First line, from 1",
                    },
                    "limit": {"type": "integer", "minimum": 1, "description": "How many lines"},
                },
                "required": ["path"],
                "additionalProperties": false,
            }),
            permission: Permission::Read,
            read_only: true,
        };
        Self { spec }
    }
}

impl Tool for ReadFile {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        let arguments = arguments::read(&self.spec.parameters, &arguments);
        blocking::run(context, move |context| {
            read(context, &arguments.map_err(|error| error.text)?)
        })
    }
}

fn read(context: &ToolContext, arguments: &Arguments) -> Outcome {
    let path = context.workspace.normalise(&arguments.path).map_err(|error| error.to_string())?;
    let opened =
        context.workspace.open_within(&context.scopes, &path).map_err(|error| error.to_string())?;
    match opened {
        Opened::File { file, bytes } => {
            // Taken before the first byte is read: what changes from here on is not what was shown.
            let stamp = Metadata::from_file(&file).map(|found| FileStamp::of(&found));
            let real = context.workspace.real_path(&context.scopes, &path);
            let shown = Reading::new(path, file, bytes, context)
                .show(arguments.offset.unwrap_or(1), arguments.limit.unwrap_or(DEFAULT_LINES))?;
            if let Ok(stamp) = stamp {
                context.seen.note(&real, stamp);
            }
            Ok(shown)
        }
        Opened::Folder(_) => {
            Err(format!("`{}` is a folder; list_files shows what is in it", printable(&path)))
        }
        Opened::Special(kind) => {
            Err(format!("`{}` is a {}; it is not read", printable(&path), kind.name()))
        }
    }
}

/// A file while its lines are shown.
struct Reading {
    path: String,
    bytes: u64,
    lines: Lines<File>,
    excerpt: Excerpt,
    /// What is unusual about the text, for the first line of the result.
    traits: Traits,
    line_cut: bool,
}

#[derive(Default)]
struct Traits {
    byte_order_mark: bool,
    carriage_returns: bool,
    undecodable: bool,
}

/// Where the shown part ended.
struct End {
    /// The last line that is shown; one less than the first if there is none.
    last: u64,
    /// Lines after it that were seen.
    after: u64,
    /// True if there are still more after those.
    and_more: bool,
}

impl Reading {
    fn new(path: String, file: File, bytes: u64, context: &ToolContext) -> Self {
        Self {
            path,
            bytes,
            lines: Lines::new(file, MAX_REACHED_BYTES, context.cancel.clone()),
            excerpt: Excerpt::default(),
            traits: Traits::default(),
            line_cut: false,
        }
    }

    fn show(mut self, first: u64, limit: u64) -> Outcome {
        if let Some(described) = self.describe().map_err(|error| self.failed(&error))? {
            return Ok(described);
        }
        let before = self.reach(first).map_err(|error| self.failed(&error))?;
        if before + 1 < first {
            return Err(self.beyond(first, before));
        }
        let end = self.take_lines(first, limit).map_err(|error| self.failed(&error))?;
        if end.last < first && end.after == 0 {
            return Err(self.beyond(first, before));
        }
        Ok(self.output(first, &end))
    }

    /// What there is to say instead of showing lines; looks at the start of the file only.
    fn describe(&mut self) -> io::Result<Option<ToolOutput>> {
        let start = self.lines.sniff()?;
        let is_utf16 = start.starts_with(b"\xFF\xFE") || start.starts_with(b"\xFE\xFF");
        let binary = is_binary(start);
        let has_mark = start.starts_with(BYTE_ORDER_MARK);
        let empty = start.is_empty() || start == BYTE_ORDER_MARK;
        let name = printable(&self.path);
        if empty {
            // A range without lines: it was read, and there is no line to cite.
            let shown = Shown::Lines { path: self.path.clone(), from: 1, to: 0 };
            return Ok(Some(described(format!("`{name}` is empty (0 lines)"), vec![shown])));
        }
        if binary {
            let kind = if is_utf16 { "UTF-16 text, binary for this tool" } else { "binary" };
            let text = format!("`{name}` is {kind}, {}; not shown", size(self.bytes));
            return Ok(Some(described(text, Vec::new())));
        }
        if has_mark {
            self.traits.byte_order_mark = true;
            self.lines.pass(BYTE_ORDER_MARK.len());
        }
        Ok(None)
    }

    /// Passes the lines before `first`; gives how many there were.
    fn reach(&mut self, first: u64) -> io::Result<u64> {
        let mut before = 0;
        while before + 1 < first && self.lines.skip()? {
            before += 1;
        }
        Ok(before)
    }

    fn take_lines(&mut self, first: u64, limit: u64) -> io::Result<End> {
        let mut last = first - 1;
        let mut after = 0;
        while last + 1 - first < limit {
            let Some(line) = self.lines.next(MAX_LINE_CHARS * 4)? else { break };
            let text = self.render(&line, last + 1);
            if !self.excerpt.line(&text) {
                after = 1;
                break;
            }
            last += 1;
        }
        self.lines.limit_to(MAX_COUNTED_BYTES);
        after += self.lines.count()?;
        Ok(End { last, after, and_more: self.lines.stopped() })
    }

    fn render(&mut self, line: &Line, number: u64) -> String {
        let kept =
            if line.dropped > 0 { without_partial_char(&line.kept) } else { line.kept.as_slice() };
        let (text, replaced) = decode(kept);
        self.traits.undecodable |= replaced;
        self.traits.carriage_returns |= line.carriage_return;
        let shown = first_chars(&text, MAX_LINE_CHARS);
        let missing = (text.len() - shown.len()) as u64
            + (line.kept.len() - kept.len()) as u64
            + line.dropped;
        if missing == 0 {
            return format!("{number}\t{text}");
        }
        self.line_cut = true;
        format!("{number}\t{shown}… (line cut, {missing} bytes more; search shows other parts)")
    }

    fn output(self, first: u64, end: &End) -> ToolOutput {
        let name = printable(&self.path);
        let total = end.last + end.after;
        let more_than = if end.and_more { "more than " } else { "" };
        let whole = first == 1 && end.after == 0 && !end.and_more;
        let range = if whole {
            super::excerpt::count(total, "line", "lines")
        } else {
            format!("lines {first}-{} of {more_than}{total}", end.last)
        };
        let mut text =
            format!("{name}, {range}{}\n{}", self.traits.in_words(), self.excerpt.as_str());
        if end.after > 0 || end.and_more {
            let (more, next) = (end.after, end.last + 1);
            let _ = write!(text, "... ({more_than}{more} more) offset {next} reads on");
        } else {
            // The last line's own end.
            text.pop();
        }
        let truncated = end.after > 0 || end.and_more || self.line_cut;
        let bytes = if truncated { self.bytes.max(text.len() as u64) } else { text.len() as u64 };
        let shown = vec![Shown::Lines { path: self.path, from: first, to: end.last }];
        ToolOutput { bytes, truncated, shown, ..ToolOutput::whole(text) }
    }

    fn beyond(&self, first: u64, lines: u64) -> String {
        let name = printable(&self.path);
        if self.lines.stopped() {
            return format!(
                "line {first} of `{name}` lies beyond the first {}, which is as far as lines are \
                 counted; use a smaller offset or search",
                size(MAX_REACHED_BYTES)
            );
        }
        let lines = super::excerpt::count(lines, "line", "lines");
        format!("there is no line {first}: `{name}` has {lines}")
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("reading `{}` failed: {error}", printable(&self.path))
    }
}

impl Traits {
    fn in_words(&self) -> String {
        let mut words = String::new();
        if self.byte_order_mark {
            words.push_str(", starts with a UTF-8 byte order mark");
        }
        if self.carriage_returns {
            words.push_str(", CRLF line ends");
        }
        if self.undecodable {
            words.push_str(", not all UTF-8: undecodable bytes are shown as \u{FFFD} or \u{2400}");
        }
        words
    }
}

fn described(text: String, shown: Vec<Shown>) -> ToolOutput {
    ToolOutput { shown, ..ToolOutput::whole(text) }
}
