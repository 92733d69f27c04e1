//! Which command runs the tests of a project, told from the files that such projects have, and how
//! a filter is passed to it. It reads what it is shown and looks for nothing itself.

use serde_json::Value;

use super::execute::Invocation;
use super::python_tests::{self, Runner};

/// The files at the top of a project.
pub trait Manifests {
    /// A small text file's text; `None` if it is missing, large, or no text.
    fn text(&self, name: &str) -> Option<String>;

    /// True if there is anything of that name.
    fn exists(&self, name: &str) -> bool;

    /// The names of what is in a folder, sorted; `.` is the project itself.
    fn names(&self, folder: &str) -> Vec<String>;
}

/// How a filter reaches the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Filtering {
    /// Behind these words, as one more argument.
    Append(&'static [&'static str]),
    /// Before the last argument, behind this word.
    Before(&'static str),
    /// In place of `{filter}`, quoted for the shell.
    Placeholder,
    /// Not at all.
    Nohow,
}

/// The command that runs a project's tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestCommand {
    words: Vec<String>,
    filtering: Filtering,
}

/// Stands for the filter in a configured command.
const PLACEHOLDER: &str = "{filter}";
/// What `npm init` writes where there are no tests.
const NO_TESTS: &str = "no test specified";

impl TestCommand {
    /// The command that the user configured, a text for the shell.
    pub fn configured(command: &str) -> Self {
        let has_place = command.contains(PLACEHOLDER);
        let filtering = if has_place { Filtering::Placeholder } else { Filtering::Nohow };
        Self { words: vec![command.trim().to_owned()], filtering }
    }

    /// The command of a project with these files; `None` if nothing is known about it.
    pub fn detect(files: &dyn Manifests) -> Option<Self> {
        cargo(files)
            .or_else(|| go(files))
            .or_else(|| python_tests::declared(files).map(|runner| python(files, runner)))
            .or_else(|| node(files))
            .or_else(|| make(files))
            .or_else(|| python_tests::by_files(files).map(|runner| python(files, runner)))
    }

    /// The command as a person reads it, and as it runs.
    pub fn with_filter(&self, filter: Option<&str>) -> Result<(String, Invocation), String> {
        let filter = filter.map(str::trim).filter(|filter| !filter.is_empty());
        if filter.is_some_and(|filter| filter.starts_with('-')) {
            return Err("`filter` is a part of a test's name and cannot start with `-`".to_owned());
        }
        if filter.is_some_and(|filter| filter.contains(char::is_control)) {
            return Err("`filter` cannot hold control characters".to_owned());
        }
        if self.filtering == Filtering::Placeholder || self.words.len() == 1 && !self.is_plain() {
            return self.shell(filter);
        }
        let mut words = self.words.clone();
        if let Some(filter) = filter {
            match self.filtering {
                Filtering::Append(before) => {
                    words.extend(before.iter().copied().chain([filter]).map(str::to_owned));
                }
                Filtering::Before(option) => {
                    let at = words.len().saturating_sub(1);
                    words.splice(at..at, [option.to_owned(), filter.to_owned()]);
                }
                Filtering::Placeholder | Filtering::Nohow => return Err(self.no_filter()),
            }
        }
        let shown: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let program = words.remove(0);
        Ok((shown.join(" "), Invocation { program, arguments: words }))
    }

    fn is_plain(&self) -> bool {
        matches!(self.filtering, Filtering::Append(_) | Filtering::Before(_))
    }

    fn shell(&self, filter: Option<&str>) -> Result<(String, Invocation), String> {
        let command = self.words.join(" ");
        let command = match (self.filtering, filter) {
            (Filtering::Placeholder, filter) => {
                let filter = filter.map(quoted).unwrap_or_default();
                command.replace(PLACEHOLDER, &filter).trim().to_owned()
            }
            (_, Some(_)) => return Err(self.no_filter()),
            (_, None) => command,
        };
        Ok((command.clone(), Invocation::shell(&command)))
    }

    fn no_filter(&self) -> String {
        format!(
            "a filter cannot be passed to `{}`; call again without `filter`",
            self.words.join(" ")
        )
    }
}

fn command(words: &[&str], filtering: Filtering) -> TestCommand {
    TestCommand { words: words.iter().map(|&word| word.to_owned()).collect(), filtering }
}

fn cargo(files: &dyn Manifests) -> Option<TestCommand> {
    files.exists("Cargo.toml").then(|| command(&["cargo", "test"], Filtering::Append(&[])))
}

fn go(files: &dyn Manifests) -> Option<TestCommand> {
    files.exists("go.mod").then(|| command(&["go", "test", "./..."], Filtering::Before("-run")))
}

fn python(files: &dyn Manifests, runner: Runner) -> TestCommand {
    let places = [".venv/bin/python", "venv/bin/python"];
    let own = places.into_iter().find(|place| files.exists(place)).unwrap_or("python3");
    let words: &[&str] = match runner {
        Runner::Pytest => &["-m", "pytest"],
        Runner::Unittest(".") => &["-m", "unittest", "discover"],
        // Tests of a package import it by its name, which counts from the top.
        Runner::Unittest(folder) if files.exists(&format!("{folder}/__init__.py")) => {
            &["-m", "unittest", "discover", "-s", folder, "-t", "."]
        }
        Runner::Unittest(folder) => &["-m", "unittest", "discover", "-s", folder],
    };
    command(&[&[own], words].concat(), Filtering::Append(&["-k"]))
}

fn node(files: &dyn Manifests) -> Option<TestCommand> {
    let package: Value = serde_json::from_str(&files.text("package.json")?).ok()?;
    let script = package.get("scripts")?.get("test")?.as_str()?;
    if script.trim().is_empty() || script.contains(NO_TESTS) {
        return None;
    }
    let tool = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn")]
        .into_iter()
        .find_map(|(lock, tool)| files.exists(lock).then_some(tool))
        .unwrap_or("npm");
    let runs = |name: &str| {
        script.split(|c: char| c != '-' && !c.is_alphanumeric()).any(|word| word == name)
    };
    // Yarn hands on what follows as it is, the others want a sign before it.
    let filtering = match (runs("jest") || runs("vitest"), runs("mocha"), tool) {
        (true, _, "yarn") => Filtering::Append(&["-t"]),
        (true, _, _) => Filtering::Append(&["--", "-t"]),
        (false, true, "yarn") => Filtering::Append(&["-g"]),
        (false, true, _) => Filtering::Append(&["--", "-g"]),
        // It takes options only in front of files.
        (false, false, "npm") if script.trim_end().ends_with("--test") => {
            Filtering::Append(&["--", "--test-name-pattern"])
        }
        (false, false, _) => Filtering::Nohow,
    };
    Some(command(&[tool, "test"], filtering))
}

fn make(files: &dyn Manifests) -> Option<TestCommand> {
    let names = ["GNUmakefile", "makefile", "Makefile"];
    let text = names.iter().find_map(|name| files.text(name))?;
    let is_target = |line: &str| {
        line.strip_prefix("test").is_some_and(|rest| {
            let rest = rest.trim_start();
            rest.starts_with(':') && !rest.starts_with(":=") && !rest.starts_with("::=")
        })
    };
    text.lines().any(is_target).then(|| command(&["make", "test"], Filtering::Nohow))
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// Names and texts.
    type Texts = &'static [(&'static str, &'static str)];

    struct Files(Texts);

    impl Manifests for Files {
        fn text(&self, name: &str) -> Option<String> {
            self.0.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned())
        }

        fn exists(&self, name: &str) -> bool {
            let inside = format!("{name}/");
            self.0.iter().any(|(file, _)| *file == name || file.starts_with(&inside))
        }

        fn names(&self, folder: &str) -> Vec<String> {
            let inside = if folder == "." { String::new() } else { format!("{folder}/") };
            let names = self.0.iter().filter_map(|(file, _)| file.strip_prefix(&inside));
            names.filter(|name| !name.contains('/')).map(str::to_owned).collect()
        }
    }

    fn shown(files: Texts, filter: Option<&str>) -> String {
        match TestCommand::detect(&Files(files)) {
            Some(command) => match command.with_filter(filter) {
                Ok((shown, _)) => shown,
                Err(text) => text,
            },
            None => "nothing".to_owned(),
        }
    }

    #[test]
    fn the_command_is_told_from_the_files_and_takes_a_filter() {
        let table: &[(Texts, &str, &str)] = &[
            (&[("Cargo.toml", "")], "cargo test", "cargo test 'a b'"),
            (&[("go.mod", "")], "go test ./...", "go test -run 'a b' ./..."),
            (&[("pytest.ini", "")], "python3 -m pytest", "python3 -m pytest -k 'a b'"),
            (
                &[("pyproject.toml", "[tool.pytest.ini_options]"), (".venv/bin/python", "")],
                ".venv/bin/python -m pytest",
                ".venv/bin/python -m pytest -k 'a b'",
            ),
            (&[("setup.py", ""), ("tests", "")], "python3 -m pytest", "python3 -m pytest -k 'a b'"),
            (&[("setup.py", "")], "nothing", "nothing"),
            (
                &[("package.json", r#"{"scripts":{"test":"jest --ci"}}"#)],
                "npm test",
                "npm test -- -t 'a b'",
            ),
            (
                &[("package.json", r#"{"scripts":{"test":"node --test"}}"#)],
                "npm test",
                "npm test -- --test-name-pattern 'a b'",
            ),
            (
                &[("package.json", r#"{"scripts":{"test":"mocha"}}"#), ("yarn.lock", "")],
                "yarn test",
                "yarn test -g 'a b'",
            ),
            (
                &[(
                    "package.json",
                    r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
                )],
                "nothing",
                "nothing",
            ),
            (&[("package.json", "{")], "nothing", "nothing"),
            (&[("Makefile", "test := x\ntests: a\n")], "nothing", "nothing"),
            (
                &[("Makefile", "all:\n\ntest: all\n\t./run\n")],
                "make test",
                "a filter cannot be passed to `make test`; call again without `filter`",
            ),
            (&[("Makefile", "test:\n"), ("Cargo.toml", "")], "cargo test", "cargo test 'a b'"),
            (&[("README.md", "")], "nothing", "nothing"),
        ];
        for (files, plain, filtered) in table {
            assert_eq!(shown(files, None), *plain, "{files:?}");
            assert_eq!(shown(files, Some("  ")), *plain, "{files:?}");
            assert_eq!(shown(files, Some("a b")), *filtered, "{files:?}");
        }
    }

    #[test]
    fn python_tests_are_run_by_what_they_are_written_for() {
        const UNIT: &str =
            "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): 1\n";
        const PLAIN: &str = "def test_a():\n    assert True\n";
        let unittest = "python3 -m unittest discover";
        let table: &[(Texts, &str)] = &[
            (&[("tests/test_a.py", UNIT)], "python3 -m unittest discover -s tests"),
            (
                &[("tests/test_a.py", UNIT), ("tests/__init__.py", "")],
                "python3 -m unittest discover -s tests -t .",
            ),
            (&[("test_a.py", UNIT)], unittest),
            (&[("pytest.ini", "\n"), ("test_a.py", UNIT)], unittest),
            (
                &[("setup.py", ""), ("tests/test_a.py", UNIT)],
                "python3 -m unittest discover -s tests",
            ),
            (&[("pytest.ini", ""), ("test_a.py", PLAIN)], "python3 -m pytest"),
            (&[("pytest.ini", "")], "python3 -m pytest"),
            (&[("pytest.ini", "[pytest]\n"), ("test_a.py", UNIT)], "python3 -m pytest"),
            (&[("tests/test_a.py", UNIT), ("tests/test_b.py", PLAIN)], "python3 -m pytest"),
            (&[("requirements-dev.txt", "pytest>=8"), ("test_a.py", UNIT)], "python3 -m pytest"),
            (&[("tests/conftest.py", ""), ("tests/test_a.py", UNIT)], "python3 -m pytest"),
            (&[("test_a.py", UNIT), ("Makefile", "test:\n")], "make test"),
            (&[("test_a.py", "print()")], "nothing"),
        ];
        for (files, expected) in table {
            assert_eq!(shown(files, None), *expected, "{files:?}");
        }
        assert_eq!(shown(table[2].0, Some("a b")), format!("{unittest} -k 'a b'"));
    }

    #[test]
    fn a_filter_is_one_word_and_no_option() {
        let cargo = TestCommand::detect(&Files(&[("Cargo.toml", "")])).unwrap();
        let (shown, invocation) = cargo.with_filter(Some("x'; rm -rf /")).unwrap();
        assert_eq!(shown, "cargo test 'x'\\''; rm -rf /'");
        assert_eq!(invocation.arguments, ["test", "x'; rm -rf /"]);
        assert!(cargo.with_filter(Some("--config=x")).is_err());
        assert!(cargo.with_filter(Some("a\0b")).is_err());
    }

    #[test]
    fn a_configured_command_is_a_text_for_the_shell() {
        let plain = TestCommand::configured(" make check && ./more ");
        let (shown, invocation) = plain.with_filter(None).unwrap();
        assert_eq!(shown, "make check && ./more");
        assert_eq!(invocation.arguments.last().unwrap(), "make check && ./more");
        assert!(plain.with_filter(Some("x")).unwrap_err().contains("cannot be passed"));
        let placed = TestCommand::configured("tox -e py -- {filter}");
        assert_eq!(placed.with_filter(None).unwrap().0, "tox -e py --");
        assert_eq!(placed.with_filter(Some("a'b")).unwrap().0, "tox -e py -- 'a'\\''b'");
    }
}
