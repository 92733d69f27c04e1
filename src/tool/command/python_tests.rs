//! Which runner the tests of a Python project are written for: pytest where the project says so or
//! its tests need it, else the unittest of the standard library, which is always there.

use super::test_command::Manifests;

/// Test files that are looked into.
const MAX_FILES: usize = 20;
/// Where tests are, in the order in which they are looked for.
const FOLDERS: [&str; 3] = ["tests", "test", "."];
/// Files that name what a project needs or how its tools are set up.
const DECLARATIONS: [&str; 8] = [
    "pyproject.toml",
    "setup.cfg",
    "setup.py",
    "tox.ini",
    "Pipfile",
    "requirements.txt",
    "requirements-dev.txt",
    "dev-requirements.txt",
];

/// Who runs the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Pytest,
    /// The tests are in this folder, one of [`FOLDERS`].
    Unittest(&'static str),
}

/// The runner of a project that declares itself as one of Python with tests.
pub(super) fn declared(files: &dyn Manifests) -> Option<Runner> {
    if names_pytest(files) {
        return Some(Runner::Pytest);
    }
    let python = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"];
    let is_python = python.iter().any(|name| files.exists(name));
    let has_tests = files.exists("tests") || files.exists("test");
    // An empty pytest.ini marks a root and says nothing about who runs the tests.
    let is_project = is_python && has_tests || files.exists("pytest.ini");
    is_project.then(|| by_files(files).unwrap_or(Runner::Pytest))
}

/// The runner that the test files themselves are written for; `None` if there are none.
pub(super) fn by_files(files: &dyn Manifests) -> Option<Runner> {
    let mut found = None;
    let paths = FOLDERS.into_iter().flat_map(|folder| {
        let names = files.names(folder).into_iter().filter(|name| is_test_file(name));
        names.map(move |name| (folder, name))
    });
    for (folder, name) in paths.take(MAX_FILES) {
        let path = if folder == "." { name } else { format!("{folder}/{name}") };
        let Some(text) = files.text(&path) else { continue };
        if needs_pytest(&text) {
            return Some(Runner::Pytest);
        }
        if text.contains("unittest") {
            found = found.or(Some(Runner::Unittest(folder)));
        }
    }
    found
}

/// True if the project sets pytest up or asks for it.
fn names_pytest(files: &dyn Manifests) -> bool {
    let says = |name: &str| files.text(name).is_some_and(|text| text.contains("pytest"));
    files.exists("conftest.py")
        || files.exists("tests/conftest.py")
        || files.text("pytest.ini").is_some_and(|text| !text.trim().is_empty())
        || DECLARATIONS.into_iter().any(says)
}

fn is_test_file(name: &str) -> bool {
    let stem = name.strip_suffix(".py");
    stem.is_some_and(|stem| stem.starts_with("test") || stem.ends_with("_test"))
}

/// True for what unittest would not find or could not import.
fn needs_pytest(text: &str) -> bool {
    let needs = ["import pytest", "from pytest", "def test_", "async def test_"];
    text.lines().any(|line| needs.iter().any(|start| line.starts_with(start)))
}
