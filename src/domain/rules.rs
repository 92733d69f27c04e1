//! Rules of the configuration about calls: which may be made without asking, which are always asked
//! about, which are never made. It reads them and says what they name; how rules, mode and earlier
//! answers come to one verdict is decided elsewhere.
//!
//! A rule is `tool` or `tool(pattern)`. For `bash` and `run_tests` the pattern is the first words of
//! a command (`git push`, `cargo test *`); for `read_file`, `write_file` and `edit_file` it is a
//! file or a folder (`.env`, `src`, `docs/**`); the other tools are named as a whole.
//!
//! What denies or asks reaches further than what allows. A path for one of `write_file` and
//! `edit_file` is about the other too; reading that is denied is denied to all tools that show
//! content, and an edit of what may not be read is none either ([`super::hidden`] has the rest).

use std::fmt;

use super::scope::{PathScope, ScopeError};

/// The tools that rules can name, and what their patterns are: all that there are, but for `task`. A
/// test of the toolbox holds the two to each other.
const TOOLS: &[(&str, PatternKind)] = &[
    ("list_files", PatternKind::None),
    ("read_file", PatternKind::Path),
    ("search", PatternKind::None),
    ("write_file", PatternKind::Path),
    ("edit_file", PatternKind::Path),
    ("bash", PatternKind::Words),
    ("run_tests", PatternKind::Words),
    ("git_diff", PatternKind::None),
    ("note", PatternKind::None),
    ("todo", PatternKind::None),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatternKind {
    None,
    Path,
    Words,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Neither `tool` nor `tool(pattern)`.
    #[error("`{0}` is no rule; write `tool` or `tool(pattern)`, such as `bash(git push)`")]
    Form(String),
    /// No tool of that name.
    #[error("the rule `{rule}` names the tool `{tool}`; there are {}", tool_names())]
    Tool {
        /// The rule.
        rule: String,
        /// What it names.
        tool: String,
    },
    /// `task`.
    #[error(
        "the rule `{0}` is about delegations; those are bounded by --max-delegations and \
         --max-depth, and each child asks for itself"
    )]
    Task(String),
    /// A pattern for a tool that has none.
    #[error("the rule `{rule}` has a pattern, but {tool} can only be named as a whole: `{tool}`")]
    NoPattern {
        /// The rule.
        rule: String,
        /// Its tool.
        tool: String,
    },
    /// A pattern that is not the first words of a command.
    #[error(
        "the rule `{0}`: its pattern must be the plain first words of one command, such as `git \
         push`, with ` *` at the end if you like; no quotes, variables, other `*` or `;|&<>`"
    )]
    Words(String),
    /// A pattern that is no path.
    #[error("the rule `{rule}`: {error}")]
    Path {
        /// The rule.
        rule: String,
        /// What is wrong.
        error: ScopeError,
    },
}

fn tool_names() -> String {
    named_tools().collect::<Vec<_>>().join(", ")
}

/// The tools that a rule can name.
pub fn named_tools() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name)
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rule {
    tool: String,
    pattern: Pattern,
}

/// What of a tool's calls a rule, or an earlier answer, is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Pattern {
    /// All.
    Any,
    /// Those on this file, or on something in this folder.
    Path(PathScope),
    /// Those of commands that begin with these words.
    Words(Vec<String>),
}

impl Rule {
    /// Reads `tool` or `tool(pattern)`.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let rule = || text.trim().to_owned();
        let (tool, pattern) = match text.trim().split_once('(') {
            None => (text.trim(), None),
            Some((tool, rest)) => {
                let inner = rest.strip_suffix(')').ok_or_else(|| RuleError::Form(rule()))?;
                (tool.trim_end(), Some(inner.trim()))
            }
        };
        if tool.is_empty() || tool.contains(char::is_whitespace) || pattern == Some("") {
            return Err(RuleError::Form(rule()));
        }
        if tool == "task" {
            return Err(RuleError::Task(rule()));
        }
        let Some((_, kind)) = TOOLS.iter().find(|(name, _)| *name == tool) else {
            return Err(RuleError::Tool { rule: rule(), tool: tool.to_owned() });
        };
        let pattern = match (pattern, kind) {
            (None | Some("*" | ":*"), _) => Pattern::Any,
            (Some(_), PatternKind::None) => {
                return Err(RuleError::NoPattern { rule: rule(), tool: tool.to_owned() });
            }
            (Some(words), PatternKind::Words) => {
                Pattern::Words(first_words(words).ok_or_else(|| RuleError::Words(rule()))?)
            }
            (Some(path), PatternKind::Path) => {
                let scope = PathScope::parse(path);
                Pattern::Path(scope.map_err(|error| RuleError::Path { rule: rule(), error })?)
            }
        };
        Ok(Self { tool: tool.to_owned(), pattern })
    }

    /// The tool it is about.
    pub fn tool(&self) -> &str {
        &self.tool
    }

    /// True if a rule that asks is about this tool's calls, as far as its pattern goes.
    pub(super) fn asks_about(&self, tool: &str) -> bool {
        let named = matches!(self.pattern, Pattern::Path(_));
        let others: &[&str] = match self.tool.as_str() {
            "write_file" | "read_file" if named => &["edit_file"],
            "edit_file" if named => &["write_file"],
            _ => &[],
        };
        self.tool == tool || others.contains(&tool)
    }

    /// True if a rule that denies is about this tool's calls, as far as its pattern goes.
    pub(super) fn denies(&self, tool: &str) -> bool {
        let shows_content = matches!(tool, "search" | "git_diff" | "edit_file");
        self.asks_about(tool) || self.tool == "read_file" && shows_content
    }

    /// What of that tool's calls.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }
}

/// The words of a pattern: plain ones, with a `*` of their own (or `:*`) at the end at most.
fn first_words(pattern: &str) -> Option<Vec<String>> {
    let shortened = pattern.strip_suffix(":*").or_else(|| pattern.strip_suffix(" *"));
    let plain = shortened.unwrap_or(pattern);
    let odd = |c: char| c.is_control() || "*?[]{}()<>|&;\"'`$\\#!".contains(c);
    let words: Vec<String> = plain.split_whitespace().map(str::to_owned).collect();
    (!words.is_empty() && !plain.contains(odd)).then_some(words)
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Pattern::Any => f.write_str(&self.tool),
            Pattern::Path(scope) => write!(f, "{}({scope})", self.tool),
            Pattern::Words(words) => write!(f, "{}({})", self.tool, words.join(" ")),
        }
    }
}

/// All rules that hold. Where several fit a call the strictest one wins, whatever their order and
/// wherever they come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// May be done without asking.
    pub allow: Vec<Rule>,
    /// Is asked about in every mode that does not deny it.
    pub ask: Vec<Rule>,
    /// Is never done.
    pub deny: Vec<Rule>,
}

impl Rules {
    /// Reads three lists as they are configured; the first rule that cannot be read is the error.
    pub fn parse<T: AsRef<str>>(allow: &[T], ask: &[T], deny: &[T]) -> Result<Self, RuleError> {
        let read = |list: &[T]| -> Result<Vec<Rule>, RuleError> {
            list.iter().map(|text| Rule::parse(text.as_ref())).collect()
        };
        Ok(Self { allow: read(allow)?, ask: read(ask)?, deny: read(deny)? })
    }

    /// True if any of them is about this tool.
    pub fn name(&self, tool: &str) -> bool {
        self.allow.iter().any(|rule| rule.tool() == tool)
            || self.ask.iter().any(|rule| rule.asks_about(tool))
            || self.deny.iter().any(|rule| rule.denies(tool))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn rules_are_read_as_they_are_written_back() {
        for (text, written) in [
            ("bash", "bash"),
            (" bash ( git push ) ", "bash(git push)"),
            ("bash(git push *)", "bash(git push)"),
            ("bash(git push:*)", "bash(git push)"),
            ("bash(*)", "bash"),
            ("run_tests(cargo test)", "run_tests(cargo test)"),
            ("write_file(docs/**)", "write_file(docs)"),
            ("edit_file(.env)", "edit_file(.env)"),
            ("read_file(./secrets/)", "read_file(secrets)"),
            ("search", "search"),
        ] {
            assert_eq!(Rule::parse(text).unwrap().to_string(), written, "{text}");
        }
    }

    #[test]
    fn what_is_no_rule_is_said_in_words_that_name_it() {
        for (text, words) in [
            ("", "`` is no rule"),
            ("bash(", "`bash(` is no rule"),
            ("bash()", "`bash()` is no rule"),
            ("(git)", "`(git)` is no rule"),
            ("Bash(git)", "names the tool `Bash`; there are list_files, read_file,"),
            ("no_such(git)", "names the tool `no_such`; there are list_files, read_file,"),
            ("task", "about delegations"),
            ("search(src)", "search can only be named as a whole"),
            ("bash(git push*)", "plain first words"),
            ("bash(a; b)", "plain first words"),
            ("bash(echo $HOME)", "plain first words"),
            ("bash(echo 'a b')", "plain first words"),
            ("write_file(../x)", "may not contain `..`"),
            ("write_file(*.rs)", "only `dir`, `dir/**`"),
        ] {
            let error = Rule::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
