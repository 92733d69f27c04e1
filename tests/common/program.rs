//! The built program as a person starts it: in a folder, with a home of its own and an environment
//! that holds nothing else.
#![allow(dead_code, reason = "each test file uses its own part of the harness")]
#![allow(clippy::unwrap_used, clippy::missing_panics_doc, missing_docs, reason = "tests")]

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Far more than any of these runs needs; only so that a hang is told as one.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// The question of the first example in the manual.
pub const QUESTION: &str = "Which test framework does this project use?";

/// The program.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_offshoot");

/// A folder to ask about, and a home.
pub struct Ground {
    pub workspace: TempDir,
    pub home: TempDir,
}

impl Ground {
    /// Something that looks like a small project.
    pub fn project() -> Self {
        let ground = Self { workspace: TempDir::new().unwrap(), home: TempDir::new().unwrap() };
        let files = [
            ("README.md", "# sums\n\nAdds numbers. Run the tests with `pytest`.\n"),
            (
                "pyproject.toml",
                "[project]\nname = \"sums\"\n\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n",
            ),
            ("sums/__init__.py", "def add(a, b):\n    return a + b\n"),
            (
                "tests/test_sums.py",
                "import pytest\n\nfrom sums import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n",
            ),
        ];
        for (path, text) in files {
            ground.file(path, text);
        }
        ground
    }

    pub fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.workspace.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The environment that the program gets.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("HOME", self.home.path().display().to_string()),
            ("PATH", std::env::var("PATH").unwrap_or_default()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
            // Nothing listens there: an Ollama of this machine is not for tests.
            ("OLLAMA_HOST", "127.0.0.1:1".to_owned()),
        ]
    }

    /// The program in the folder, without a terminal.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).current_dir(self.workspace.path());
        command.env_clear().envs(self.environment());
        command
    }

    /// Runs it to its end with nothing on standard input.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        finish(self.command(arguments), b"")
    }

    /// The folder of the one session that was kept.
    pub fn session(&self) -> PathBuf {
        only_entry(&self.home.path().join(".local/state/offshoot/sessions"))
    }
}

/// How it went.
#[derive(Debug)]
pub struct Ended {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

/// Runs a command to its end. Panics if it does not come to one.
pub fn finish(mut command: Command, input: &'static [u8]) -> Ended {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // A program that does not read its input closes it; that is no failure of the test.
    let feeding = thread::spawn(move || stdin.write_all(input).ok());
    let out = collect(child.stdout.take().unwrap());
    let err = collect(child.stderr.take().unwrap());
    let code = wait(&mut child);
    feeding.join().unwrap();
    Ended { code, out: out.join().unwrap(), err: err.join().unwrap() }
}

/// The exit code once it has ended.
pub fn wait(child: &mut Child) -> Option<i32> {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if began.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("the program did not end within {PATIENCE:?}");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn collect(mut stream: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    })
}

/// The one thing in a folder.
pub fn only_entry(folder: &Path) -> PathBuf {
    let entries: Vec<_> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(entries.len(), 1, "{entries:?}");
    entries[0].clone()
}
