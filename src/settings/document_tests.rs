#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use super::file::{Entry, entries};
use super::table::ROWS;
use super::value::Value;

const DOCUMENT: &str = include_str!("../../assets/config.toml");

/// The settings of a text, by name.
fn read(text: &str) -> Vec<(&'static str, Value)> {
    let entries = entries(text, Path::new("config.toml")).unwrap();
    let known = entries.into_iter().map(|entry| match entry {
        Entry::Known { row, value, place } => {
            (row.name, value.unwrap_or_else(|| panic!("{place}: {} does not fit", row.name)))
        }
        Entry::Unknown { name, place } => panic!("{place}: there is no {name}"),
    });
    known.collect()
}

#[test]
fn what_the_document_sets_is_the_default() {
    let mut set = read(DOCUMENT);
    let defaults = ROWS.iter().filter_map(|row| Some((row.name, row.fallback.value()?)));
    for (name, default) in defaults {
        let place = set.iter().position(|(other, _)| *other == name);
        let (_, value) = set.remove(place.unwrap_or_else(|| panic!("{name} is not set")));
        assert_eq!(value, default, "{name}");
    }
    assert!(set.is_empty(), "these have no default: {set:?}");
}

#[test]
fn the_document_has_every_setting_and_an_example_that_fits() {
    // The examples become settings: lines of a name, an equals sign and a value.
    let uncommented: Vec<&str> = DOCUMENT
        .lines()
        .map(|line| {
            let example = line.strip_prefix("# ").filter(|rest| {
                rest.split_once(" = ").is_some_and(|(name, _)| {
                    name.chars().all(|c| c.is_ascii_lowercase() || c == '_')
                })
            });
            example.unwrap_or(line)
        })
        .collect();
    let mut names: Vec<&str> = read(&uncommented.join("\n")).into_iter().map(|(n, _)| n).collect();
    let mut all: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
    names.sort_unstable();
    all.sort_unstable();
    assert_eq!(names, all);
}

#[test]
fn the_document_says_what_a_project_may_do() {
    use super::table::Project;
    let mut about = String::new();
    let mut table = String::new();
    for line in DOCUMENT.lines() {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            table = format!("{name}.");
        }
        let text = line.strip_prefix("# ").unwrap_or(line);
        let name = text.split_once(" = ").map(|(name, _)| format!("{table}{name}"));
        let row = name.and_then(|name| ROWS.iter().find(|row| row.name == name));
        match row {
            Some(row) => {
                let says = ["(lower)", "(add)", "(free)"].map(|mark| about.contains(mark));
                let may = [Project::Lower, Project::Add, Project::Freely];
                let expected = may.map(|project| row.project == project);
                assert_eq!(says, expected, "{}: {about}", row.name);
                about.clear();
            }
            None if line.is_empty() => about.clear(),
            None => about.push_str(line),
        }
    }
}
