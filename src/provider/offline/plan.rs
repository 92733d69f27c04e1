//! What to look at next: list, then search and open the likeliest file, then open what the search
//! found, then fall back to what every project has. At most [`MAX_CALLS`] calls, at least three
//! where the tools allow it.

use serde_json::{Value, json};

use super::Call;
use super::findings::{best, holds, is_noise};
use super::frameworks;
use super::observed::Observed;
use super::question::Question;
use super::topics::{CI_FILES, MANIFESTS, Topic, is_manifest};

/// Calls of one task at most.
const MAX_CALLS: usize = 8;
/// Calls of one task at least, so that a person sees what a delegation is.
const MIN_CALLS: usize = 3;
const STAGES: usize = 4;

/// Lines of a file that are read from its beginning, and around a hit.
pub const WHOLE_LINES: u64 = 300;
const AROUND_LINES: u64 = 40;
const BEFORE_LINES: u64 = 8;

/// The next calls; none if it is time to report. `offered` says which tools there are.
pub fn next(question: &Question, observed: &Observed, offered: impl Fn(&str) -> bool) -> Vec<Call> {
    let room = MAX_CALLS.saturating_sub(observed.calls.len());
    let made = |call: &Call| {
        observed.calls.iter().any(|(tool, args)| tool == call.tool && *args == call.arguments)
    };
    for stage in observed.turns..STAGES {
        let mut calls = stage_calls(stage, question, observed);
        calls.retain(|call| offered(call.tool) && !made(call));
        calls.truncate(room);
        if !calls.is_empty() {
            return calls;
        }
    }
    Vec::new()
}

fn stage_calls(stage: usize, question: &Question, observed: &Observed) -> Vec<Call> {
    match stage {
        0 => vec![list(2)],
        1 => {
            let likely =
                likely_files(question, observed).into_iter().take(1).map(|path| read(&path));
            [search(&pattern(question, observed))].into_iter().chain(likely).collect()
        }
        2 => {
            let mut calls: Vec<Call> = promising(question, observed, 2);
            if observed.calls.len() + calls.len() < MIN_CALLS {
                calls.push(list(5));
            }
            calls
        }
        _ => fallback(question, observed),
    }
}

fn list(depth: u64) -> Call {
    Call { tool: "list_files", arguments: json!({ "path": ".", "depth": depth, "hidden": true }) }
}

fn search(pattern: &str) -> Call {
    Call { tool: "search", arguments: json!({ "pattern": pattern, "path": "." }) }
}

fn read(path: &str) -> Call {
    Call { tool: "read_file", arguments: json!({ "path": path, "limit": WHOLE_LINES }) }
}

fn read_around(path: &str, line: u64) -> Call {
    let offset = line.saturating_sub(BEFORE_LINES).max(1);
    let arguments: Value = json!({ "path": path, "offset": offset, "limit": AROUND_LINES });
    Call { tool: "read_file", arguments }
}

/// A regular expression for what is asked.
fn pattern(question: &Question, observed: &Observed) -> String {
    if question.is_about_test_frameworks() {
        return frameworks::code_pattern(&frameworks::languages(observed));
    }
    let matters = question.topics.iter().flat_map(|topic| topic.patterns);
    let matters = matters.map(|pattern| (*pattern).to_owned());
    let words = question.telling.iter().map(|word| {
        let escaped = frameworks::escape(word);
        // Short words are found inside too many others.
        match word.len() {
            0..=2 if word.is_ascii() => format!("(?:\\b|_){escaped}(?:\\b|_)"),
            3 if word.is_ascii() => format!("(?:\\b|_){escaped}"),
            _ => escaped,
        }
    });
    let mut parts: Vec<String> = Vec::new();
    for part in words.chain(matters) {
        if !parts.contains(&part) {
            parts.push(part);
        }
    }
    if parts.is_empty() {
        parts.extend(["^# ", "description", "name ="].map(str::to_owned));
    }
    format!("(?i){}", parts.join("|"))
}

/// Listed files whose name says that they settle the matter, the likeliest first.
fn likely_files(question: &Question, observed: &Observed) -> Vec<String> {
    let unread: Vec<&str> = unread_files(observed).collect();
    let mut likely: Vec<String> = Vec::new();
    let mut add = |paths: Vec<&str>| {
        for path in paths {
            if !likely.iter().any(|other| other == path) {
                likely.push(path.to_owned());
            }
        }
    };
    add(settling(question, &unread));
    let named = |path: &&str| question.telling.iter().any(|word| holds(path, word));
    let mut by_name: Vec<&str> = unread.iter().copied().filter(named).collect();
    by_name.sort_by_key(|path| path.matches('/').count());
    add(by_name);
    likely
}

/// Those of `files` that usually settle what is asked: manifests, and the files of its topics.
fn settling<'a>(question: &Question, files: &[&'a str]) -> Vec<&'a str> {
    let manifests = if question.is_about_test_frameworks() { MANIFESTS } else { &[] };
    let mut settling = known(files, manifests);
    for topic in &question.topics {
        settling.extend(of_topic(files, topic));
    }
    settling
}

/// What to open after the search: where its best hits are, then what is likely by name.
fn promising(question: &Question, observed: &Observed, count: usize) -> Vec<Call> {
    let mut calls: Vec<(String, Call)> = Vec::new();
    let mut add = |path: &str, call: Call| {
        let known = observed.read.iter().any(|read| read == path);
        if calls.len() < count && !known && !calls.iter().any(|(other, _)| other == path) {
            calls.push((path.to_owned(), call));
        }
    };
    let likely = likely_files(question, observed);
    if question.is_about_test_frameworks() {
        for path in
            settling(question, &unread_files(observed).collect::<Vec<_>>()).into_iter().take(1)
        {
            add(path, read(path));
        }
        for found in frameworks::found(observed) {
            add(&found.line.path, read_around(&found.line.path, found.line.number));
        }
    } else {
        for line in best(question, observed, 4) {
            add(&line.path, read_around(&line.path, line.number));
        }
    }
    for path in &likely {
        add(path, read(path));
    }
    for path in common_files(observed) {
        add(&path, read(&path));
    }
    calls.into_iter().map(|(_, call)| call).collect()
}

/// Where to look if nothing was found.
fn fallback(question: &Question, observed: &Observed) -> Vec<Call> {
    let about_tests = question.is_about_test_frameworks();
    let found = if about_tests {
        !frameworks::found(observed).is_empty()
    } else {
        !best(question, observed, 1).is_empty()
    };
    if found {
        return Vec::new();
    }
    let mut calls = Vec::new();
    if about_tests {
        // Whatever the listing seemed to speak for, any language may be in deeper folders.
        calls.push(search(&frameworks::code_pattern(&[])));
    }
    calls.extend(common_files(observed).iter().take(2).map(|path| read(path)));
    calls
}

/// Unread files that every project has: README, manifests, automatic checks.
fn common_files(observed: &Observed) -> Vec<String> {
    let unread: Vec<&str> = unread_files(observed).collect();
    let mut files = known(&unread, &["readme"]);
    files.extend(known(&unread, MANIFESTS));
    files.extend(known(&unread, CI_FILES));
    if !observed.listed {
        files.push("README.md");
    }
    files.into_iter().map(str::to_owned).collect()
}

fn unread_files(observed: &Observed) -> impl Iterator<Item = &str> {
    let readable =
        |path: &&str| !is_noise(path) && !observed.read.iter().any(|read| read.as_str() == *path);
    observed.files().filter(readable)
}

/// The files of a topic in the topic's order; of equals those near the root first.
fn of_topic<'a>(files: &[&'a str], topic: &Topic) -> Vec<&'a str> {
    let fitting: Vec<&str> = files.iter().copied().filter(|path| topic.names(path)).collect();
    known(&fitting, topic.files)
}

/// Those of `files` that a list of names and beginnings of paths holds, in the order of the list;
/// of equals those near the root first.
fn known<'a>(files: &[&'a str], names: &[&str]) -> Vec<&'a str> {
    let rank = |path: &str| {
        let path = path.to_ascii_lowercase();
        let name = path.rsplit('/').next().unwrap_or(&path).to_owned();
        names.iter().position(|known| {
            path.starts_with(known) || (!known.contains('/') && name.starts_with(known))
        })
    };
    let mut ranked: Vec<(usize, usize, &str)> = files
        .iter()
        .filter_map(|path| Some((path.matches('/').count(), rank(path)?, *path)))
        .filter(|(_, _, path)| !is_manifest_lookalike(path))
        .collect();
    ranked.sort_unstable();
    ranked.into_iter().map(|(_, _, path)| path).collect()
}

/// True for files that begin like a manifest and are none, such as `setup.py.orig`.
fn is_manifest_lookalike(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let backup = [".orig", ".bak", ".rej", "~", ".lock"].iter().any(|end| name.ends_with(end));
    backup && !is_manifest(path)
}
