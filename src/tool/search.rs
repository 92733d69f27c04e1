//! `search`: the lines of the workspace's files that match a pattern. Here are the parameters and
//! the words of the result; `tree` finds the files, `hits` gathers the lines.

mod hits;
mod tree;

use std::fmt::Write as _;

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::role::Permission;
use crate::workspace::path::printable;

use self::hits::Hits;
use self::tree::{LeftOut, Tree};
use super::blocking::{self, Outcome};
use super::excerpt::count;
use super::target::Target;
use super::{Tool, ToolContext, ToolFuture, ToolOutput, ToolSpec, arguments};

/// Lines around a match that can be asked for.
pub const MAX_CONTEXT: usize = 10;
/// Characters that a pattern may have.
const MAX_PATTERN_CHARS: usize = 2_000;
/// Bytes that a compiled pattern may take.
const MAX_PATTERN_BYTES: usize = 4 * 1024 * 1024;

/// The tool.
pub struct Search {
    spec: ToolSpec,
}

#[derive(Debug, Deserialize)]
struct Arguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    context: Option<u64>,
}

impl Search {
    /// The tool.
    #[expect(clippy::new_without_default, reason = "a tool has no default state")]
    pub fn new() -> Self {
        let spec = ToolSpec {
            name: "search",
            description: include_str!("../../assets/tools/search.md").trim_ascii(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "pattern": {"type": "string", "description": "Regex"},
                    "path": {
                        "type": "string",
                        "description": "Folder or file; default the whole workspace",
                    },
                    "glob": {"type": "string", "description": "Only such files: *.rs, !docs/**"},
                    "context": {
                        "type": "integer", "minimum": 0,
                        "description": "Lines around a match, up to 10",
                    },
                },
                "required": ["pattern"],
                "additionalProperties": false,
            }),
            permission: Permission::Read,
            read_only: true,
        };
        Self { spec }
    }
}

impl Tool for Search {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run(&self, arguments: Value, context: ToolContext) -> ToolFuture {
        let arguments = arguments::read(&self.spec.parameters, &arguments);
        blocking::run(context, move |context| {
            search(context, &arguments.map_err(|error| error.text)?)
        })
    }
}

fn search(context: &ToolContext, arguments: &Arguments) -> Outcome {
    let matcher = compile(&arguments.pattern)?;
    let glob = arguments.glob.as_deref().map(Glob::parse).transpose()?;
    let target = Target::of(&context.workspace, &context.scopes, arguments.path.as_deref())
        .map_err(|error| error.to_string())?;
    let lines = arguments.context.unwrap_or(0).min(MAX_CONTEXT as u64);
    let hits = Hits::new(&matcher, usize::try_from(lines).unwrap_or(MAX_CONTEXT));
    let mut tree = Tree::new(context, glob, hits);
    for path in target.paths() {
        match (tree.search(path), &target) {
            (Ok(()), _) => {}
            (Err(error), Target::Place(_)) => return Err(error),
            // One scope of several may be gone; the others still count.
            (Err(_), Target::Scopes(_)) => tree.left_out.unreadable += 1,
        }
    }
    let (hits, left_out) = tree.into_parts();
    Ok(output(&arguments.pattern, &target, hits, &left_out))
}

fn compile(pattern: &str) -> Result<RegexMatcher, String> {
    if pattern.is_empty() {
        return Err("`pattern` is empty; it would match every line".to_owned());
    }
    if pattern.chars().nth(MAX_PATTERN_CHARS).is_some() {
        return Err(format!("`pattern` has more than {MAX_PATTERN_CHARS} characters"));
    }
    RegexMatcherBuilder::new()
        // `^` and `$` are about lines, also where a whole buffer is searched at once.
        .multi_line(true)
        .line_terminator(Some(b'\n'))
        .crlf(true)
        .size_limit(MAX_PATTERN_BYTES)
        .dfa_size_limit(MAX_PATTERN_BYTES)
        .build(pattern)
        .map_err(|error| match error.kind() {
            grep_regex::ErrorKind::NotAllowed(_) | grep_regex::ErrorKind::Banned(_) => {
                "`pattern` may not contain a line break: lines are searched one by one".to_owned()
            }
            _ => format!(
                "`pattern` is not a regex that this tool understands (to search for a character \
                 such as ( or [ itself, put a backslash before it): {error}"
            ),
        })
}

/// Which files a search looks into.
struct Glob {
    matcher: GlobMatcher,
    /// True for `!glob`: the files that do not match.
    negated: bool,
    /// True for a glob without a slash: it is about names, wherever they are.
    name_only: bool,
}

impl Glob {
    fn parse(text: &str) -> Result<Self, String> {
        let (negated, glob) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        let matcher = GlobBuilder::new(glob.trim_start_matches('/'))
            .literal_separator(true)
            .build()
            .map_err(|error| format!("`glob` is not a file pattern: {error}"))?
            .compile_matcher();
        Ok(Self { matcher, negated, name_only: !glob.contains('/') })
    }

    /// `path` from the workspace's root; a glob with a slash may also be meant from `start`, the
    /// folder that is searched.
    fn takes(&self, path: &str, start: &str) -> bool {
        let matches = if self.name_only {
            self.matcher.is_match(path.rsplit('/').next().unwrap_or(path))
        } else {
            let from_start = path.strip_prefix(start).and_then(|rest| rest.strip_prefix('/'));
            self.matcher.is_match(path)
                || from_start.is_some_and(|below| self.matcher.is_match(below))
        };
        matches != self.negated
    }
}

fn output(pattern: &str, target: &Target, hits: Hits<'_>, left_out: &LeftOut) -> ToolOutput {
    let searched = count(left_out.searched, "file", "files");
    let place = target.in_words();
    let mut text = if hits.matches == 0 {
        format!("no match for `{}` in {searched} of {place}\n", printable(pattern))
    } else {
        let more_than = if left_out.stopped.is_some() { "at least " } else { "" };
        let matches = count(hits.matches, "match", "matches");
        let files = count(hits.files, "file", "files");
        format!("{more_than}{matches} in {files}, {searched} of {place} searched\n")
    };
    text.push_str(hits.excerpt.as_str());
    let unshown = hits.matches - hits.shown_matches;
    let more = match (unshown, left_out.stopped) {
        (0, None) => None,
        (0, Some(_)) => Some("there may be more where it did not look".to_owned()),
        (_, None) => Some(format!("{unshown} more")),
        (_, Some(_)) => Some(format!("more than {unshown} more")),
    };
    if let Some(more) = more {
        let _ = writeln!(text, "... ({more}) narrow the pattern, path or glob to see them");
    }
    left_out.write(&mut text);
    let text = text.trim_end().to_owned();
    ToolOutput {
        bytes: text.len() as u64 + hits.unshown_bytes,
        truncated: unshown > 0 || hits.lines_cut || left_out.stopped.is_some(),
        shown: hits.shown,
        ..ToolOutput::whole(text)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// The last lines of a result with this many shown matches, stopped early or not.
    fn ending(matches: u64, shown: u64, stopped: Option<&'static str>) -> String {
        let pattern = compile("x").unwrap();
        let mut hits = Hits::new(&pattern, 0);
        (hits.matches, hits.shown_matches, hits.files) = (matches, shown, 1);
        let mut left_out = LeftOut::default();
        (left_out.searched, left_out.stopped) = (100_000, stopped);
        let output = output("x", &Target::Place(".".to_owned()), hits, &left_out);
        assert_eq!(output.truncated, matches > shown || stopped.is_some());
        output.text.split_once('\n').map_or("", |(_, rest)| rest).to_owned()
    }

    #[test]
    fn what_is_missing_is_told_and_no_more_than_is_known() {
        let hint = "narrow the pattern, path or glob to see them";
        let early = "stopped after 100,000 files; name a path or a glob";
        assert_eq!(ending(2, 2, None), "");
        assert_eq!(ending(9, 2, None), format!("... (7 more) {hint}"));
        assert_eq!(ending(9, 2, Some(early)), format!("... (more than 7 more) {hint}\n{early}"));
        for matches in [0, 2] {
            let may = format!("... (there may be more where it did not look) {hint}\n{early}");
            assert_eq!(ending(matches, matches, Some(early)), may);
        }
    }
}
