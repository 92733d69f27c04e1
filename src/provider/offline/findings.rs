//! Which of the shown lines answer the question best, by its words alone.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::observed::{Line, Observed};
use super::question::Question;
use super::topics::MANIFESTS;

/// Lines of one file that are kept at most.
const PER_FILE: usize = 2;

/// A line with what speaks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The line.
    pub line: Line,
    /// The words of the question that it holds; empty where only the matter fits.
    pub words: Vec<String>,
}

/// The best lines, the best first, from as many files as there are.
pub fn best(question: &Question, observed: &Observed, count: usize) -> Vec<Finding> {
    let rarity = rarities(question, observed);
    let mut seen = HashSet::new();
    let mut scored: Vec<(i64, Finding)> = Vec::new();
    for line in &observed.lines {
        if is_noise(&line.path) || !seen.insert((&line.path, line.number)) {
            continue;
        }
        let (score, words) = score(question, &rarity, line);
        if score > 0 {
            scored.push((score, Finding { line: line.clone(), words }));
        }
    }
    // Stable: of equal lines the first shown stays first.
    scored.sort_by_key(|(score, _)| Reverse(*score));
    spread(scored, count)
}

/// True for files that nobody writes by hand.
pub fn is_noise(path: &str) -> bool {
    const NAMES: &[&str] = &[
        "cargo.lock",
        "package-lock.json",
        "yarn.lock",
        "pnpm-lock.yaml",
        "poetry.lock",
        "uv.lock",
        "go.sum",
        "composer.lock",
        "gemfile.lock",
        "pipfile.lock",
        "bun.lock",
        "flake.lock",
    ];
    const FOLDERS: &[&str] = &["node_modules", "vendor", "target", "dist", ".git", ".venv"];
    let path = path.to_ascii_lowercase();
    let name = path.rsplit('/').next().unwrap_or(&path);
    NAMES.contains(&name)
        || [".map", ".min.js", ".min.css", ".svg"].iter().any(|ending| name.ends_with(ending))
        || path.split('/').any(|part| FOLDERS.contains(&part))
}

/// True for files that say what a project is.
pub fn is_manifest(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    MANIFESTS.contains(&path.rsplit('/').next().unwrap_or(&path))
}

/// For each keyword what a line with it is worth: more if few lines have it.
fn rarities(question: &Question, observed: &Observed) -> Vec<i64> {
    let lines: Vec<String> = observed.lines.iter().map(|line| line.text.to_lowercase()).collect();
    let worth = |word: &String| {
        let having = lines.iter().filter(|line| line.contains(word.as_str())).count();
        24 / (1 + i64::from(having.checked_ilog2().unwrap_or(0)))
    };
    question.keywords.iter().map(worth).collect()
}

fn score(question: &Question, rarity: &[i64], line: &Line) -> (i64, Vec<String>) {
    let text = line.text.to_lowercase();
    let path = line.path.to_lowercase();
    let mut score = 0;
    let mut words = Vec::new();
    for (word, worth) in question.keywords.iter().zip(rarity) {
        if text.contains(word.as_str()) {
            score += worth;
            words.push(word.clone());
        }
    }
    for topic in &question.topics {
        score += if topic.marks.iter().any(|mark| text.contains(mark)) { 16 } else { 0 };
    }
    let named = question.keywords.iter().any(|word| path.contains(word.as_str()));
    if score == 0 && !(named && is_definition(&text)) {
        return (0, words);
    }
    for topic in &question.topics {
        score += if topic.names(&path) { 10 } else { 0 };
    }
    score += 6 * i64::from(named);
    score += 4 * i64::from(is_manifest(&path) || path.starts_with("readme"));
    score += 6 * i64::from(is_definition(&text));
    score -= 8 * i64::from(["test", "fixture", "example"].iter().any(|part| path.contains(part)));
    score -= 10 * i64::from(text.len() > 300);
    (score.max(1), words)
}

/// True for lines that begin something: a definition, a section, a heading.
fn is_definition(text: &str) -> bool {
    const STARTS: &[&str] = &[
        "fn ",
        "pub ",
        "def ",
        "class ",
        "func ",
        "function ",
        "export ",
        "struct ",
        "enum ",
        "trait ",
        "impl ",
        "interface ",
        "type ",
        "const ",
        "public ",
        "module ",
        "# ",
        "## ",
        "[",
        "async ",
    ];
    let text = text.trim_start();
    STARTS.iter().any(|start| text.starts_with(start))
}

/// The first `count`, with at most [`PER_FILE`] of a file, one of each file before a second one.
fn spread(scored: Vec<(i64, Finding)>, count: usize) -> Vec<Finding> {
    let mut chosen: Vec<Finding> = Vec::new();
    let mut second: Vec<Finding> = Vec::new();
    for (_, finding) in scored {
        let of_file = |list: &[Finding]| {
            list.iter().filter(|other| other.line.path == finding.line.path).count()
        };
        if of_file(&chosen) == 0 && chosen.len() < count {
            chosen.push(finding);
        } else if of_file(&second) + 1 < PER_FILE {
            second.push(finding);
        }
    }
    let room = count.saturating_sub(chosen.len());
    chosen.extend(second.into_iter().take(room));
    chosen
}
