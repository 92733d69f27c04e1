//! The house as its crate doc draws it: who may import whom, and how long a file may be.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Lines that a source file may have without its tests.
const LONGEST_FILE: usize = 500;

/// For each module what it may import. `domain` is open to all and left out.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("sanitize", &[]),
    ("cli", &[]),
    ("story", &[]),
    ("workspace", &[]),
    ("provider", &[]),
    ("sandbox", &[]),
    ("tool", &["workspace", "sandbox"]),
    ("journal", &["story"]),
    ("agent", &["provider", "tool", "journal::hub", "journal::redact", "workspace", "sandbox"]),
    ("settings", &["cli"]),
    ("headless", &["story", "sanitize"]),
    ("ui", &["story", "sanitize"]),
    ("doctor", &["session", "settings", "provider", "workspace", "sandbox", "sanitize"]),
    ("session", &["settings", "agent", "journal", "provider", "tool", "workspace", "sandbox"]),
];

#[test]
fn every_import_follows_the_drawing() {
    let mut wrong = Vec::new();
    for file in sources() {
        let Some(module) = module_of(&file) else { continue };
        let (_, allowed) = MAY_IMPORT
            .iter()
            .find(|(name, _)| *name == module)
            .unwrap_or_else(|| panic!("the module {module} is not in the drawing"));
        for import in imports(&fs::read_to_string(&file).unwrap()) {
            let top = import.split("::").next().unwrap();
            let fits = top == module
                || top == "domain"
                || allowed.iter().any(|allowed| under(&import, allowed));
            if !fits {
                wrong.push(format!("{} imports {import}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_crate_doc_draws_the_same_house() {
    let doc = fs::read_to_string(src().join("lib.rs")).unwrap();
    let drawn: BTreeMap<&str, BTreeSet<&str>> = doc
        .lines()
        .filter_map(|line| line.strip_prefix("//! ")?.split_once(" ->"))
        .map(|(name, imports)| (name.trim(), imports.split_whitespace().collect()))
        .collect();
    let allowed: BTreeMap<&str, BTreeSet<&str>> = MAY_IMPORT
        .iter()
        .map(|(name, imports)| (*name, imports.iter().copied().collect()))
        .collect();
    assert_eq!(drawn, allowed);
}

#[test]
fn the_drawing_has_no_module_that_is_gone() {
    let there: BTreeSet<String> = sources().iter().filter_map(|file| module_of(file)).collect();
    for (name, _) in MAY_IMPORT {
        assert!(there.contains(*name), "{name} is drawn and not there");
    }
}

#[test]
fn no_file_is_longer_than_a_person_reads_at_once() {
    let mut long = Vec::new();
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
        let is_tests =
            file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"))
                || file.strip_prefix(src()).unwrap().components().any(|p| p.as_os_str() == "tests");
        if lines > LONGEST_FILE && !is_tests {
            long.push(format!("{}: {lines} lines", file.display()));
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_file_says_what_it_is_for() {
    for file in sources() {
        let text = fs::read_to_string(&file).unwrap();
        let is_tests =
            file.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
        assert!(text.starts_with("//! ") || is_tests, "{} opens with no word", file.display());
    }
}

#[test]
fn the_import_reader_unfolds_groups_and_leaves_comments_out() {
    let source = "// use crate::hidden;\nuse crate::{a::b, c::{d, e}};\nlet x = crate::f::g();\n\
                  //! [`crate::doc`]\nuse crate::h::{self, i};";
    let found = imports(source);
    let expected = ["a::b", "c::d", "c::e", "f::g", "h::i", "h::self"];
    assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
}

fn under(import: &str, allowed: &str) -> bool {
    import == allowed || import.strip_prefix(allowed).is_some_and(|rest| rest.starts_with("::"))
}

/// The top module a file belongs to; none for the two roots of the crate.
fn module_of(file: &Path) -> Option<String> {
    let inside = file.strip_prefix(src()).unwrap();
    let first = inside.components().next().unwrap().as_os_str().to_string_lossy().into_owned();
    let name = first.strip_suffix(".rs").unwrap_or(&first);
    let name = name.strip_suffix("_tests").unwrap_or(name);
    (!matches!(name, "main" | "lib")).then(|| name.to_owned())
}

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

fn sources() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![src()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Every `crate::` path of a source text, groups unfolded, comments left out.
fn imports(source: &str) -> BTreeSet<String> {
    let code: String = source
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n");
    let mut found = BTreeSet::new();
    for (at, _) in code.match_indices("crate::") {
        let before = code[..at].chars().next_back();
        if before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '$') {
            unfold("", &code[at + "crate::".len()..], &mut found);
        }
    }
    found
}

/// Reads one path or group; returns how many bytes it took.
fn unfold(prefix: &str, text: &str, found: &mut BTreeSet<String>) -> usize {
    let mut path = String::from(prefix);
    let mut at = 0;
    loop {
        let rest = &text[at..];
        let skipped = rest.len() - rest.trim_start().len();
        let rest = rest.trim_start();
        if rest.starts_with('{') {
            at += skipped + 1;
            loop {
                at += unfold(&path, &text[at..], found);
                let next = text[at..].trim_start();
                at = text.len() - next.len();
                match next.chars().next() {
                    Some(',') => at += 1,
                    Some('}') => return at + 1,
                    _ => return at,
                }
            }
        }
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        path.push_str(&word);
        at += skipped + word.len();
        if word.is_empty() || !text[at..].starts_with("::") {
            if !word.is_empty() {
                found.insert(path);
            }
            return at;
        }
        path.push_str("::");
        at += 2;
    }
}
