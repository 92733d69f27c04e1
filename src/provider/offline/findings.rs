//! Which of the shown lines answer the question best, by its words alone.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::observed::{Line, Observed};
use super::question::Question;
use super::topics::{Topic, is_manifest};

/// Lines of one file that are kept at most.
const PER_FILE: usize = 2;

/// The best lines, the best first, from as many files as there are. Where no line fits, the first
/// ones of files that settle the matter by being there.
pub fn best(question: &Question, observed: &Observed, count: usize) -> Vec<Line> {
    let rarity = rarities(question, observed);
    let mut seen = HashSet::new();
    let mut scored: Vec<(i64, &Line)> = Vec::new();
    for line in &observed.lines {
        if is_noise(&line.path) || !seen.insert((&line.path, line.number)) {
            continue;
        }
        let score = score(question, &rarity, line);
        if score > 0 {
            scored.push((score, line));
        }
    }
    if scored.is_empty() {
        scored = settling_files(question, observed);
    }
    // Stable: of equal lines the first shown stays first.
    scored.sort_by_key(|(score, _)| Reverse(*score));
    spread(scored, count)
}

/// What a project says about itself: the heading of its README and the sentence after it, and the
/// name and description in manifests.
pub fn about_project(observed: &Observed) -> Vec<Line> {
    let readme = |line: &&Line| line.path.to_ascii_lowercase().starts_with("readme");
    let has_words = |line: &&Line| line.text.contains(char::is_alphanumeric);
    let is_prose = |line: &&Line| line.text.starts_with(char::is_alphanumeric);
    let mut lines: Vec<&Line> = observed.lines.iter().filter(readme).collect();
    lines.sort_by_key(|line| line.number);
    let heading = lines.iter().copied().find(|line| has_words(line) && !line.text.contains("]("));
    let after = heading.map_or(0, |line| line.number);
    let prose = lines.iter().copied().find(|line| line.number > after && is_prose(line));
    let says = |line: &&Line| {
        let text = line.text.trim().trim_start_matches('"');
        let starts = ["description", "name", "module "];
        is_manifest(&line.path)
            && !is_noise(&line.path)
            && starts.iter().any(|s| text.starts_with(s))
    };
    let mut said: Vec<&Line> = observed.lines.iter().filter(says).collect();
    said.sort_by_key(|line| (line.path.matches('/').count(), &line.path, line.number));
    said.dedup();
    heading.into_iter().chain(prose).chain(said.into_iter().take(2)).cloned().collect()
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
        || [".map", ".min.js", ".min.css", ".svg", ".orig", ".bak"]
            .iter()
            .any(|ending| name.ends_with(ending))
        || path.split('/').any(|part| FOLDERS.contains(&part))
}

/// True if `text` holds `word`, a lower-case stem. Two letters count only as a word of their own
/// and up to four only at the beginning of one: they are inside too many others.
pub fn holds(text: &str, word: &str) -> bool {
    if !word.is_ascii() {
        return text.to_lowercase().contains(word);
    }
    let lower = text.to_ascii_lowercase();
    lower.match_indices(word).any(|(at, _)| {
        let begins = || begins_a_word(text, at);
        let ends = || !text[at + word.len()..].starts_with(char::is_alphanumeric);
        match word.len() {
            0..=2 => begins() && ends(),
            3..=4 => begins(),
            _ => true,
        }
    })
}

/// True if no word goes on at `at`; `parseFile` and `parse_file` are two words.
fn begins_a_word(text: &str, at: usize) -> bool {
    let Some(before) = text[..at].chars().next_back() else { return true };
    let humps = before.is_lowercase() && text[at..].starts_with(char::is_uppercase);
    !before.is_alphanumeric() || humps
}

/// For each telling word what a line with it is worth: more if few lines have it.
fn rarities(question: &Question, observed: &Observed) -> Vec<i64> {
    let worth = |word: &String| {
        let having = observed.lines.iter().filter(|line| holds(&line.text, word)).count();
        24 / (1 + i64::from(having.checked_ilog2().unwrap_or(0)))
    };
    question.telling.iter().map(worth).collect()
}

/// The first shown line of each file whose bare existence is an answer.
fn settling_files<'a>(question: &Question, observed: &'a Observed) -> Vec<(i64, &'a Line)> {
    let mut firsts: Vec<&Line> = Vec::new();
    for line in observed.lines.iter().filter(|line| !line.text.trim().is_empty()) {
        let settles = |topic: &&'static Topic| topic.files_settle && topic.names(&line.path);
        if is_noise(&line.path) || !question.topics.iter().any(settles) {
            continue;
        }
        match firsts.iter_mut().find(|first| first.path == line.path) {
            Some(first) if line.number < first.number => *first = line,
            Some(_) => {}
            None => firsts.push(line),
        }
    }
    let near = |line: &Line| -i64::try_from(line.path.matches('/').count()).unwrap_or(i64::MAX);
    firsts.into_iter().map(|line| (near(line), line)).collect()
}

fn score(question: &Question, rarity: &[i64], line: &Line) -> i64 {
    let path = line.path.to_lowercase();
    let mut score = 0;
    for (word, worth) in question.telling.iter().zip(rarity) {
        score += if holds(&line.text, word) { *worth } else { 0 };
    }
    for topic in &question.topics {
        // The first marks of a topic tell most.
        let mark = topic.mark(line).map(|mark| i64::try_from(mark).unwrap_or(i64::MAX));
        score += mark.map_or(0, |mark| 20 - mark.min(4));
    }
    let named = question.telling.iter().any(|word| holds(&line.path, word));
    let defines = is_definition(&line.text.to_lowercase());
    if score == 0 && !(named && defines) {
        return 0;
    }
    for topic in &question.topics {
        score += if topic.names(&path) { 10 } else { 0 };
    }
    score += 6 * i64::from(named);
    score += 4 * i64::from(is_manifest(&path) || path.starts_with("readme"));
    score += 6 * i64::from(defines);
    score -= 8 * i64::from(["test", "fixture", "example"].iter().any(|part| path.contains(part)));
    score -= 10 * i64::from(line.text.len() > 300);
    score.max(1)
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
fn spread(scored: Vec<(i64, &Line)>, count: usize) -> Vec<Line> {
    let mut chosen: Vec<Line> = Vec::new();
    let mut second: Vec<Line> = Vec::new();
    for (_, line) in scored {
        let of_file = |list: &[Line]| list.iter().filter(|other| other.path == line.path).count();
        if of_file(&chosen) == 0 && chosen.len() < count {
            chosen.push(line.clone());
        } else if of_file(&second) + 1 < PER_FILE && second.len() < count {
            second.push(line.clone());
        }
    }
    let room = count.saturating_sub(chosen.len());
    chosen.extend(second.into_iter().take(room));
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_words_are_not_found_inside_others() {
        for (text, word, expected) in [
            ("[dev-dependencies]", "ci", false),
            ("our CI runs", "ci", true),
            ("run_ci.sh", "ci", true),
            ("ci2", "ci", false),
            ("catalog", "log", false),
            ("openLog()", "log", true),
            ("read_log", "log", true),
            ("logging", "log", true),
            ("central", "entr", false),
            ("pytest", "pytest", true),
            ("subdependency", "dependenc", true),
            ("\u{130}x ci", "ci", true),
            ("用的测试框架", "测试", true),
            ("", "ci", false),
        ] {
            assert_eq!(holds(text, word), expected, "{word} in {text}");
        }
    }
}
