//! What a child has been shown so far, read back from the results in its own conversation. Results
//! are read tolerantly: a line that is not understood is left out, never guessed at.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use crate::domain::message::{Message, ToolCall, ToolResult};

/// A line of a file, as a result showed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// From the workspace's root.
    pub path: String,
    /// From 1.
    pub number: u64,
    /// Without its end.
    pub text: String,
}

/// Everything shown so far.
#[derive(Debug, Default)]
pub struct Observed {
    /// Files and folders (with a `/` at the end) that were listed, each once.
    pub entries: Vec<String>,
    /// Lines that a search found or a read showed, in the order shown; some twice.
    pub lines: Vec<Line>,
    /// Files of which some lines were read.
    pub read: Vec<String>,
    /// True if a listing worked.
    pub listed: bool,
    /// True if a search worked.
    pub searched: bool,
    /// What went wrong, one short line each.
    pub troubles: Vec<String>,
    /// Calls made: tool and arguments.
    pub calls: Vec<(String, Value)>,
    /// Answers given that made calls.
    pub turns: usize,
}

impl Observed {
    /// Reads a conversation back.
    pub fn new(messages: &[Arc<Message>]) -> Self {
        let mut observed = Self::default();
        let mut open: HashMap<&str, &ToolCall> = HashMap::new();
        for message in messages {
            match &**message {
                Message::User { .. } => {}
                Message::Assistant(answer) => {
                    open = answer.tool_calls().map(|call| (call.call.as_str(), call)).collect();
                    let made = answer.tool_calls();
                    let made = made.map(|call| (call.name.clone(), call.arguments.clone()));
                    observed.calls.extend(made);
                    observed.turns += usize::from(!open.is_empty());
                }
                Message::Results { results } => {
                    for result in results {
                        if let Some(call) = open.get(result.call.as_str()) {
                            observed.take(call, result);
                        }
                    }
                }
            }
        }
        observed
    }

    /// The listed files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(String::as_str).filter(|entry| !entry.ends_with('/'))
    }

    /// True if nothing but folders was ever shown.
    pub fn is_empty(&self) -> bool {
        self.files().next().is_none() && self.lines.is_empty()
    }

    fn take(&mut self, call: &ToolCall, result: &ToolResult) {
        if !result.ok {
            let words: String =
                result.output.lines().next().unwrap_or("").chars().take(200).collect();
            self.troubles.push(format!("{}: {words}", call.name));
            return;
        }
        let path = call.arguments.get("path").and_then(Value::as_str).unwrap_or(".");
        match call.name.as_str() {
            "list_files" => {
                self.listed = true;
                let known: HashSet<String> = self.entries.iter().cloned().collect();
                self.entries.extend(entries(&result.output).filter(|path| !known.contains(path)));
            }
            "search" => {
                self.searched = true;
                self.lines.extend(result.output.lines().filter_map(hit));
            }
            "read_file" => {
                self.read.push(path.to_owned());
                self.lines.extend(result.output.lines().filter_map(|text| numbered(path, text)));
            }
            _ => {}
        }
    }
}

/// The paths in a listing. A size or kind stands behind each, or a slash behind a folder; a line of
/// several words without either is a note about the listing.
fn entries(listing: &str) -> impl Iterator<Item = String> {
    let lines = listing.lines().map(str::trim_end);
    lines.filter(|line| is_marked(line) || !line.trim().contains(' ')).filter_map(entry)
}

fn is_marked(line: &str) -> bool {
    let line = line.trim_start();
    line.ends_with('/') || line.contains("  ") || line.contains('\t') || line.ends_with(')')
}

/// The path in a line of a listing: what comes before a size or kind. Only files that can be read
/// and folders count.
fn entry(line: &str) -> Option<String> {
    let line = line.trim();
    let (path, kind) = [line.find('\t'), line.find("  "), line.rfind(" (")]
        .into_iter()
        .flatten()
        .min()
        .map_or((line, ""), |end| (&line[..end], line[end..].trim()));
    let unreadable = kind.starts_with('(')
        && !kind.starts_with("(link to a file")
        && !kind.contains(|c: char| c.is_ascii_digit());
    let path = path.strip_prefix("./").unwrap_or(path);
    let is_note = path.is_empty() || path.starts_with(['…', '(', '[']) || path.starts_with("...");
    (!unreadable && !is_note).then(|| path.to_owned())
}

/// A search hit, `path:line:text`.
fn hit(line: &str) -> Option<Line> {
    let mut from = 0;
    loop {
        let colon = from + line[from..].find(':')?;
        let rest = &line[colon + 1..];
        if let Some((number, text)) = rest.split_once(':')
            && let Ok(number) = number.parse::<u64>()
        {
            let path = line[..colon].strip_prefix("./").unwrap_or(&line[..colon]);
            return (number > 0 && !path.is_empty() && !path.contains('\t')).then(|| Line {
                path: path.to_owned(),
                number,
                text: text.to_owned(),
            });
        }
        from = colon + 1;
    }
}

/// A line of a file that was read, `N<TAB>text`.
fn numbered(path: &str, line: &str) -> Option<Line> {
    let (number, text) = line.split_once('\t')?;
    let number = number.trim().parse().ok().filter(|number| *number > 0)?;
    let path = path.strip_prefix("./").unwrap_or(path);
    Some(Line { path: path.to_owned(), number, text: text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_with_or_without_size_and_kind() {
        let detailed = "7 entries in the workspace\nsrc/\nsrc/a b.rs  12 B\nCargo.toml\t2.1 KB\n\
                        notes.md (3 KB)\npipe  (fifo)\nlink  (link to a file, 3 B)\n./x/y.z  1 B\n\
                        left out: 2 hidden (.a, .b)\n... (12 more) ask for less depth";
        let expected = ["src/", "src/a b.rs", "Cargo.toml", "notes.md", "link", "x/y.z"];
        assert_eq!(entries(detailed).collect::<Vec<_>>(), expected);
        let plain = entries("Cargo.toml\nsrc\n... (3 more)\n").collect::<Vec<_>>();
        assert_eq!(plain, ["Cargo.toml", "src"]);
        for note in ["the workspace is empty", "(empty)\n\n", "... (12 more) ask for less depth"] {
            assert_eq!(entries(note).count(), 0, "{note}");
        }
    }

    #[test]
    fn hits_are_read_even_where_a_path_or_text_has_colons() {
        let line = |path: &str, number, text: &str| {
            Some(Line { path: path.to_owned(), number, text: text.to_owned() })
        };
        for (text, expected) in [
            ("src/a.rs:12:let x: u8 = 1;", line("src/a.rs", 12, "let x: u8 = 1;")),
            ("./a:b.txt:3:", line("a:b.txt", 3, "")),
            ("a.py:7:9:x", line("a.py", 7, "9:x")),
            ("a.rs:0:x", None),
            ("a.rs-11-context", None),
            ("2 matches in 1 file:", None),
            (":", None),
        ] {
            assert_eq!(hit(text), expected, "{text}");
        }
    }

    #[test]
    fn numbered_lines_are_read_and_notes_are_not() {
        assert_eq!(
            numbered("a", "  7\tx\ty").map(|line| (line.number, line.text)),
            Some((7, "x\ty".into()))
        );
        assert_eq!(numbered("a", "... (9 more)"), None);
        assert_eq!(numbered("a", "x\t1"), None);
    }
}
