//! Which test frameworks the shown lines speak for.

use std::cmp::Reverse;

use super::findings::is_noise;
use super::framework_table::{FRAMEWORKS, Framework, LANGUAGES};
use super::observed::{Line, Observed};

/// A framework with the best line for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The framework.
    pub framework: &'static Framework,
    /// The line that says so best.
    pub line: Line,
    score: u32,
}

/// The frameworks that the shown lines speak for, the most likely first.
pub fn found(observed: &Observed) -> Vec<Found> {
    let mut found: Vec<Found> = FRAMEWORKS.iter().filter_map(|one| weigh(one, observed)).collect();
    found.sort_by_key(|found| (found.framework.helper, Reverse(found.score)));
    found
}

/// A regular expression for the code marks of these languages, or of all if there are none.
pub fn code_pattern(languages: &[&str]) -> String {
    let wanted =
        |framework: &&Framework| languages.is_empty() || languages.contains(&framework.language);
    let mut marks: Vec<String> = Vec::new();
    for mark in FRAMEWORKS.iter().filter(wanted).flat_map(|framework| framework.code) {
        let mark = escape(mark);
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    marks.join("|")
}

/// The languages that the listed files speak for.
pub fn languages(observed: &Observed) -> Vec<&'static str> {
    let mut languages = Vec::new();
    for file in observed.files() {
        let name = file.rsplit('/').next().unwrap_or(file).to_ascii_lowercase();
        let known = LANGUAGES.iter().find(|(ending, _)| name.ends_with(ending));
        if let Some((_, language)) = known
            && !languages.contains(language)
        {
            languages.push(language);
        }
    }
    languages
}

/// `text` as a regular expression that matches it alone.
pub fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn weigh(framework: &'static Framework, observed: &Observed) -> Option<Found> {
    let lines = observed.lines.iter().filter(|line| !is_noise(&line.path));
    let marked = lines.filter_map(|line| Some((framework.weight(line)?, line)));
    let mut marked: Vec<(Weight, &Line)> = marked.collect();
    // Stable: of equal lines the first shown stays first.
    marked.sort_by_key(|(weight, _)| Reverse(*weight));
    let (best, line) = *marked.first()?;
    let more = u32::try_from(marked.len().min(10)).unwrap_or(10);
    Some(Found { framework, line: line.clone(), score: best.0 * 4 + more })
}

/// How much a line speaks for a framework, and which of its marks it has: the first ones say most.
type Weight = (u32, Reverse<usize>);

impl Framework {
    fn weight(&self, line: &Line) -> Option<Weight> {
        let name = line.path.rsplit('/').next().unwrap_or(&line.path).to_ascii_lowercase();
        let mark = |marks: &[&str]| marks.iter().position(|mark| contains_mark(&line.text, mark));
        let is_manifest = is_declaring(&name) && !is_comment(&line.text);
        let is_code = self.code_in.iter().any(|ending| name.ends_with(ending));
        let declared = is_manifest.then(|| mark(self.declared)).flatten().map(|mark| (10, mark));
        let code = || is_code.then(|| mark(self.code)).flatten().map(|mark| (6, mark));
        let (weight, mark) = declared.or_else(code)?;
        let depth = u32::try_from(line.path.matches('/').count()).unwrap_or(u32::MAX);
        let weight = if is_aside(&line.path) { 1 } else { weight - depth.min(3) };
        Some((weight, Reverse(mark)))
    }
}

/// True for files that declare dependencies or run tests.
fn is_declaring(name: &str) -> bool {
    const ENDINGS: &[&str] = &[
        ".toml",
        ".json",
        ".cfg",
        ".ini",
        ".txt",
        ".mod",
        ".xml",
        ".gradle",
        ".gradle.kts",
        ".kts",
        ".csproj",
        ".props",
        ".exs",
        ".sbt",
        ".cabal",
        ".swift",
        ".yml",
        ".yaml",
        ".zon",
        ".py",
        ".cmake",
        ".rb",
        ".js",
        ".ts",
        ".mjs",
        ".cjs",
        ".gemspec",
        ".edn",
        ".clj",
        ".rockspec",
    ];
    const NAMES: &[&str] = &[
        "gemfile",
        "makefile",
        "justfile",
        "rakefile",
        "pipfile",
        "dockerfile",
        "meson.build",
        "description",
        "project.toml",
        "dune-project",
        "rebar.config",
        "cpanfile",
        ".rspec",
    ];
    const CODE: &[&str] = &[".py", ".rb", ".js", ".ts", ".mjs", ".cjs", ".swift", ".exs", ".clj"];
    const DECLARING_CODE: &[&str] = &[
        "setup.py",
        "noxfile.py",
        "conftest.py",
        "rakefile.rb",
        "package.swift",
        "mix.exs",
        "project.clj",
        "jest.config",
        "vitest.config",
        "vite.config",
        "karma.conf",
        "playwright.config",
        "cypress.config",
        ".mocharc",
    ];
    if CODE.iter().any(|ending| name.ends_with(ending)) {
        return DECLARING_CODE.iter().any(|known| name.starts_with(known));
    }
    NAMES.contains(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// True for places that show what others do: examples, fixtures, things copied in.
fn is_aside(path: &str) -> bool {
    const ASIDE: &[&str] =
        &["example", "fixture", "vendor", "third_party", "node_modules", "template", "sample"];
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_ascii_lowercase();
    ASIDE.iter().any(|aside| folder.contains(aside))
}

fn is_comment(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("# ") || text.starts_with("//") || text.starts_with("<!--")
}

/// True if `mark` stands in `text` as a word of its own: `jest` is not in `eslint-plugin-jest`.
fn contains_mark(text: &str, mark: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let word_start = mark.starts_with(inside);
    let word_end = mark.ends_with(inside);
    text.match_indices(mark).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + mark.len()..].chars().next();
        let joined_before = before.is_some_and(|c| inside(c) || matches!(c, '/' | '.'));
        let joined_after = after.is_some_and(|c| inside(c) || c == '.');
        let joined = (word_start && joined_before) || (word_end && joined_after);
        !joined
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_a_word_of_its_own() {
        for (text, mark, expected) in [
            ("\"jest\": \"^29\"", "jest", true),
            ("\"test\": \"jest --coverage\"", "jest", true),
            ("\"eslint-plugin-jest\": \"1\"", "jest", false),
            ("\"@types/jest\": \"1\"", "jest", false),
            ("\"ts-jest\": \"1\", \"jest\"", "jest", true),
            ("import unittest.mock", "import unittest", false),
            ("  \"pytest>=8\",", "pytest", true),
            ("pytest-cov", "pytest", false),
            ("use proptest::prelude", "#[test]", false),
        ] {
            assert_eq!(contains_mark(text, mark), expected, "{mark} in {text}");
        }
    }

    #[test]
    fn the_pattern_for_all_languages_is_short_enough_for_a_search() {
        assert!(code_pattern(&[]).chars().count() < 2_000);
        assert!(code_pattern(&["Rust"]).starts_with(r"#\[test\]|"));
    }
}
