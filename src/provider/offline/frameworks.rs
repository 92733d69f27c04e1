//! What projects are tested with: a table of test frameworks, the marks they leave, and which of
//! them the shown lines speak for.

use std::cmp::Reverse;

use super::observed::{Line, Observed};

/// A test framework and the marks it leaves.
#[derive(Debug, PartialEq, Eq)]
pub struct Framework {
    /// Its name, with how it is run where that says more.
    pub name: &'static str,
    /// The language that it is for.
    pub language: &'static str,
    /// Endings of files that `code` is looked for in.
    code_in: &'static [&'static str],
    /// What its users write in code.
    code: &'static [&'static str],
    /// What its users write in manifests and build files.
    declared: &'static [&'static str],
    /// True if it only helps another framework.
    pub helper: bool,
}

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
    let marked = observed.lines.iter().filter_map(|line| Some((framework.weight(line)?, line)));
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

const RUST: &[&str] = &[".rs"];
const PYTHON: &[&str] = &[".py"];
const SCRIPT: &[&str] = &[".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts"];
const GO: &[&str] = &[".go"];
const JVM: &[&str] = &[".java", ".kt", ".groovy", ".scala"];
const RUBY: &[&str] = &[".rb"];
const PHP: &[&str] = &[".php"];
const DOTNET: &[&str] = &[".cs", ".fs", ".vb"];
const C: &[&str] = &[".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"];

/// Endings of file names, with the language that they stand for.
const LANGUAGES: &[(&str, &str)] = &[
    ("cargo.toml", "Rust"),
    (".rs", "Rust"),
    (".py", "Python"),
    ("pyproject.toml", "Python"),
    ("setup.cfg", "Python"),
    ("requirements.txt", "Python"),
    ("package.json", "JavaScript"),
    (".js", "JavaScript"),
    (".mjs", "JavaScript"),
    (".ts", "JavaScript"),
    (".tsx", "JavaScript"),
    ("go.mod", "Go"),
    (".go", "Go"),
    ("pom.xml", "Java"),
    (".gradle", "Java"),
    (".gradle.kts", "Java"),
    (".java", "Java"),
    (".kt", "Java"),
    ("gemfile", "Ruby"),
    (".rb", "Ruby"),
    ("composer.json", "PHP"),
    (".php", "PHP"),
    (".csproj", ".NET"),
    (".sln", ".NET"),
    (".cs", ".NET"),
    ("cmakelists.txt", "C and C++"),
    ("meson.build", "C and C++"),
    (".cpp", "C and C++"),
    (".cc", "C and C++"),
    (".c", "C and C++"),
    ("mix.exs", "Elixir"),
    ("package.swift", "Swift"),
    ("pubspec.yaml", "Dart"),
    (".bats", "shell"),
    (".cabal", "Haskell"),
    ("build.sbt", "Scala"),
    (".zig", "Zig"),
    (".jl", "Julia"),
    (".lua", "Lua"),
    (".clj", "Clojure"),
    (".pl", "Perl"),
];

const fn framework(
    name: &'static str,
    language: &'static str,
    code_in: &'static [&'static str],
    code: &'static [&'static str],
    declared: &'static [&'static str],
) -> Framework {
    Framework { name, language, code_in, code, declared, helper: false }
}

const fn helper(
    name: &'static str,
    language: &'static str,
    declared: &'static [&'static str],
) -> Framework {
    Framework { name, language, code_in: &[], code: &[], declared, helper: true }
}

/// The table. Marks are case-sensitive.
const FRAMEWORKS: &[Framework] = &[
    framework(
        "Rust's built-in test harness (cargo test)",
        "Rust",
        RUST,
        &["#[test]", "#[tokio::test", "#[cfg(test)]"],
        &["cargo test", "cargo nextest"],
    ),
    helper("proptest", "Rust", &["proptest"]),
    helper("insta", "Rust", &["insta"]),
    helper("rstest", "Rust", &["rstest"]),
    helper("quickcheck", "Rust", &["quickcheck"]),
    helper("trybuild", "Rust", &["trybuild"]),
    helper("cargo-nextest", "Rust", &["cargo nextest", "nextest"]),
    framework(
        "pytest",
        "Python",
        PYTHON,
        &["import pytest", "from pytest", "@pytest."],
        &["pytest", "[tool.pytest.ini_options]", "[pytest]"],
    ),
    framework(
        "unittest",
        "Python",
        PYTHON,
        &["import unittest", "unittest.TestCase", "from unittest import TestCase"],
        &["-m unittest", "unittest discover"],
    ),
    framework("nose2", "Python", PYTHON, &["import nose2", "import nose"], &["nose2", "nose"]),
    helper("Hypothesis", "Python", &["hypothesis"]),
    helper("tox", "Python", &["[tox]", "tox"]),
    framework("Vitest", "JavaScript", SCRIPT, &["\"vitest\"", "'vitest'"], &["vitest"]),
    framework(
        "Jest",
        "JavaScript",
        SCRIPT,
        &["@jest/globals", "jest.fn(", "jest.mock("],
        &["jest", "@jest/core"],
    ),
    framework("Mocha", "JavaScript", SCRIPT, &["\"mocha\"", "'mocha'"], &["mocha"]),
    framework(
        "node:test (node --test)",
        "JavaScript",
        SCRIPT,
        &["\"node:test\"", "'node:test'"],
        &["node --test"],
    ),
    framework("bun:test", "JavaScript", SCRIPT, &["\"bun:test\"", "'bun:test'"], &["bun test"]),
    framework("Deno.test", "JavaScript", SCRIPT, &["Deno.test("], &["deno test"]),
    framework("AVA", "JavaScript", SCRIPT, &["from 'ava'", "from \"ava\""], &["\"ava\""]),
    framework("Jasmine", "JavaScript", SCRIPT, &["jasmine.create"], &["jasmine", "jasmine-core"]),
    framework("node-tap", "JavaScript", SCRIPT, &["require('tap')", "from 'tap'"], &["\"tap\""]),
    framework("QUnit", "JavaScript", SCRIPT, &["QUnit.test("], &["qunit"]),
    framework(
        "Playwright",
        "JavaScript",
        SCRIPT,
        &["@playwright/test"],
        &["@playwright/test", "playwright test"],
    ),
    framework("Cypress", "JavaScript", SCRIPT, &["cy.visit("], &["cypress"]),
    helper("Testing Library", "JavaScript", &["@testing-library/react", "@testing-library/dom"]),
    framework(
        "Go's testing package (go test)",
        "Go",
        GO,
        &["*testing.T", "\"testing\""],
        &["go test"],
    ),
    framework(
        "Ginkgo",
        "Go",
        GO,
        &["github.com/onsi/ginkgo"],
        &["github.com/onsi/ginkgo", "github.com/onsi/ginkgo/v2"],
    ),
    helper("testify", "Go", &["github.com/stretchr/testify"]),
    framework(
        "JUnit 5 (Jupiter)",
        "Java",
        JVM,
        &["org.junit.jupiter"],
        &[
            "junit-jupiter",
            "junit-jupiter-api",
            "junit-jupiter-engine",
            "org.junit.jupiter",
            "useJUnitPlatform",
        ],
    ),
    framework(
        "JUnit 4",
        "Java",
        JVM,
        &["org.junit.Test", "org.junit.Assert", "org.junit.runner"],
        &["<artifactId>junit</artifactId>", "junit:junit:"],
    ),
    framework("TestNG", "Java", JVM, &["org.testng"], &["testng"]),
    framework("Spock", "Java", JVM, &["spock.lang"], &["spock-core"]),
    framework("Kotest", "Java", JVM, &["io.kotest"], &["kotest", "io.kotest"]),
    framework("ScalaTest", "Scala", JVM, &["org.scalatest"], &["scalatest"]),
    framework("MUnit", "Scala", JVM, &["munit.FunSuite"], &["munit"]),
    helper("Mockito", "Java", &["mockito-core", "mockito", "mockito-junit-jupiter"]),
    helper("AssertJ", "Java", &["assertj-core"]),
    framework(
        "RSpec",
        "Ruby",
        RUBY,
        &["RSpec.describe", "require 'rspec"],
        &["rspec", "rspec-rails"],
    ),
    framework("Minitest", "Ruby", RUBY, &["Minitest::Test", "minitest/autorun"], &["minitest"]),
    framework("test-unit", "Ruby", RUBY, &["Test::Unit::TestCase"], &["test-unit"]),
    framework("PHPUnit", "PHP", PHP, &["PHPUnit\\Framework"], &["phpunit/phpunit", "<phpunit"]),
    framework("Pest", "PHP", PHP, &[], &["pestphp/pest"]),
    framework("xUnit.net", ".NET", DOTNET, &["using Xunit"], &["xunit", "xunit.v3"]),
    framework("NUnit", ".NET", DOTNET, &["using NUnit"], &["NUnit"]),
    framework("MSTest", ".NET", DOTNET, &["[TestMethod]"], &["MSTest.TestFramework", "MSTest"]),
    framework(
        "GoogleTest",
        "C and C++",
        C,
        &["gtest/gtest.h"],
        &["googletest", "GTest", "GTest::gtest", "gtest", "gtest_main"],
    ),
    framework("Catch2", "C and C++", C, &["catch2/catch"], &["Catch2", "catch2", "Catch2::Catch2"]),
    framework("doctest", "C and C++", C, &["doctest.h"], &["doctest"]),
    framework("Boost.Test", "C and C++", C, &["boost/test/"], &["unit_test_framework"]),
    framework("cmocka", "C and C++", C, &["cmocka.h"], &["cmocka"]),
    framework("CTest", "C and C++", C, &[], &["enable_testing", "add_test("]),
    framework(
        "ExUnit (mix test)",
        "Elixir",
        &[".exs", ".ex"],
        &["use ExUnit.Case", "ExUnit.start"],
        &["mix test"],
    ),
    framework("XCTest", "Swift", &[".swift"], &["import XCTest"], &["swift test"]),
    framework("Swift Testing", "Swift", &[".swift"], &["import Testing"], &[]),
    framework("flutter_test", "Dart", &[".dart"], &["package:flutter_test/"], &["flutter_test"]),
    framework("package:test", "Dart", &[".dart"], &["package:test/"], &["dart test"]),
    framework("bats", "shell", &[".bats"], &["@test "], &["bats", "bats-core"]),
    framework("Hspec", "Haskell", &[".hs"], &["import Test.Hspec"], &["hspec"]),
    framework("Tasty", "Haskell", &[".hs"], &["import Test.Tasty"], &["tasty"]),
    framework(
        "Zig's built-in tests (zig build test)",
        "Zig",
        &[".zig"],
        &["std.testing"],
        &["zig build test"],
    ),
    framework("Julia's Test", "Julia", &[".jl"], &["using Test", "@testset"], &[]),
    framework("busted", "Lua", &[".lua"], &["require 'busted'", "require(\"busted"], &["busted"]),
    framework("clojure.test", "Clojure", &[".clj", ".cljc"], &["clojure.test"], &[]),
    framework(
        "Test::More (prove)",
        "Perl",
        &[".t", ".pl", ".pm"],
        &["use Test::More", "use Test2::V0"],
        &["Test::More"],
    ),
];
