//! What projects are tested with, and the marks that each test framework leaves. A table only.

/// A test framework and the marks it leaves.
#[derive(Debug, PartialEq, Eq)]
pub struct Framework {
    /// Its name, with how it is run where that says more.
    pub name: &'static str,
    /// The language that it is for.
    pub language: &'static str,
    /// Endings of files that `code` is looked for in.
    pub code_in: &'static [&'static str],
    /// What its users write in code.
    pub code: &'static [&'static str],
    /// What its users write in manifests and build files.
    pub declared: &'static [&'static str],
    /// True if it only helps another framework.
    pub helper: bool,
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
pub const LANGUAGES: &[(&str, &str)] = &[
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
pub const FRAMEWORKS: &[Framework] = &[
    framework(
        "cargo test (built-in harness)",
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
        "node --test (node:test)",
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
    framework("go test (package testing)", "Go", GO, &["*testing.T", "\"testing\""], &["go test"]),
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
        "mix test (ExUnit)",
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
    framework("zig build test (built in)", "Zig", &[".zig"], &["std.testing"], &["zig build test"]),
    framework("Test (standard library)", "Julia", &[".jl"], &["using Test", "@testset"], &[]),
    framework("busted", "Lua", &[".lua"], &["require 'busted'", "require(\"busted"], &["busted"]),
    framework("clojure.test", "Clojure", &[".clj", ".cljc"], &["clojure.test"], &[]),
    framework(
        "Test::More",
        "Perl",
        &[".t", ".pl", ".pm"],
        &["use Test::More", "use Test2::V0"],
        &["Test::More"],
    ),
];
