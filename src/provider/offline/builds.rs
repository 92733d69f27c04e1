//! What the shown build files are built with. Mostly a table.

use std::cmp::Reverse;

use super::findings::is_noise;
use super::observed::{Line, Observed};

/// A kind of build file.
#[derive(Debug, PartialEq, Eq)]
pub struct Build {
    /// The file's name in lower case.
    file: &'static str,
    /// What reads it.
    pub tool: &'static str,
    /// The usual command.
    pub command: &'static str,
    /// Lower-case beginnings of the line that says so, the best first.
    marks: &'static [&'static str],
    /// True if a file without such a line builds nothing.
    needs_mark: bool,
}

const fn build(
    file: &'static str,
    tool: &'static str,
    command: &'static str,
    marks: &'static [&'static str],
    needs_mark: bool,
) -> Build {
    Build { file, tool, command, marks, needs_mark }
}

const BUILDS: &[Build] = &[
    build("cargo.toml", "Cargo", "cargo build", &["[package]", "[workspace]"], true),
    build("go.mod", "Go", "go build ./...", &["module "], true),
    build("package.json", "npm", "npm run build", &["\"build\""], true),
    build(
        "pyproject.toml",
        "Python packaging",
        "python -m build",
        &["build-backend", "[build-system]"],
        true,
    ),
    build("setup.py", "setuptools", "python -m build", &["setup("], true),
    build("pom.xml", "Maven", "mvn package", &["<packaging>", "<project"], false),
    build("build.gradle", "Gradle", "gradle build", &["plugins"], false),
    build("build.gradle.kts", "Gradle", "gradle build", &["plugins"], false),
    build("cmakelists.txt", "CMake", "cmake -B build && cmake --build build", &["project("], false),
    build(
        "meson.build",
        "Meson",
        "meson setup build && meson compile -C build",
        &["project("],
        false,
    ),
    build("build.zig", "Zig", "zig build", &["pub fn build"], false),
    build("package.swift", "Swift", "swift build", &["let package"], false),
    build("makefile", "make", "make", &["build:", "all:"], false),
    build("justfile", "just", "just build", &["build"], true),
    build("dockerfile", "Docker", "docker build .", &["from "], true),
];

/// The builds that the shown lines speak for, each with its line, those near the root first.
pub fn found(observed: &Observed) -> Vec<(&'static Build, Line)> {
    let mut found: Vec<(&'static Build, Line)> =
        BUILDS.iter().filter_map(|build| Some((build, line_of(build, observed)?))).collect();
    // Stable: at the same depth the order of the table stays.
    found.sort_by_key(|(_, line)| line.path.matches('/').count());
    found
}

fn line_of(build: &Build, observed: &Observed) -> Option<Line> {
    let named = |line: &&Line| {
        let name = line.path.rsplit('/').next().unwrap_or(&line.path);
        name.eq_ignore_ascii_case(build.file) && !is_noise(&line.path)
    };
    let ranked = observed.lines.iter().filter(named).filter_map(|line| {
        let text = line.text.trim().to_ascii_lowercase();
        let mark = build.marks.iter().position(|mark| text.starts_with(mark));
        let plain = !build.needs_mark && !text.is_empty();
        let rank = mark.or_else(|| plain.then_some(build.marks.len()))?;
        Some((line.path.matches('/').count(), rank, line.number, line))
    });
    let best = ranked.max_by_key(|(depth, rank, number, _)| Reverse((*depth, *rank, *number)));
    best.map(|(_, _, _, line)| line.clone())
}
