//! One harness: a workspace, a sandbox with the real helper, and the tools in it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use offshoot::domain::hidden::Hidden;
use offshoot::domain::scope::PathScope;
use offshoot::sandbox::{Sandbox, SandboxSettings};
use offshoot::tool::toolbox::Toolbox;
use offshoot::tool::{Progress, ToolContext, ToolOutput};
use offshoot::workspace::Workspace;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::aloud;

/// A workspace with its tools.
pub struct Bench {
    pub folder: TempDir,
    pub tools: Toolbox,
    pub cancel: CancellationToken,
    pub scopes: Vec<PathScope>,
    pub hidden: Arc<Hidden>,
    pub progress: Progress,
    pub workspace: Arc<Workspace>,
    pub sandbox: Arc<Sandbox>,
}

impl Bench {
    /// With the variables of whoever runs the tests.
    pub fn new() -> Self {
        Self::with_variables(std::env::vars())
    }

    /// In a folder that something else owns.
    pub fn at(path: &Path) -> Self {
        let workspace = Arc::new(Workspace::open(path).unwrap());
        Self { workspace, ..Self::new() }
    }

    pub fn with_variables(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let folder = TempDir::new().unwrap();
        let helper = env!("CARGO_BIN_EXE_offshoot");
        let settings = SandboxSettings::of_user(helper, variables, &[]);
        Self {
            tools: Toolbox::standard(),
            cancel: CancellationToken::new(),
            scopes: vec![PathScope::all()],
            hidden: Arc::default(),
            progress: Progress::default(),
            workspace: Arc::new(Workspace::open(folder.path()).unwrap()),
            sandbox: Arc::new(Sandbox::new(settings)),
            folder,
        }
    }

    /// The workspace's root, without links.
    pub fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    /// A file of the workspace.
    pub fn file(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub fn context(&self) -> ToolContext {
        let scopes: Arc<[PathScope]> = self.scopes.clone().into();
        ToolContext {
            sandbox: Arc::clone(&self.sandbox),
            hidden: Arc::clone(&self.hidden),
            progress: self.progress.clone(),
            ..ToolContext::looking(Arc::clone(&self.workspace), scopes, self.cancel.clone())
        }
    }

    pub async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let output = self.tools.get(tool).unwrap().run(arguments, self.context()).await;
        assert!(output.text.chars().count() <= offshoot::tool::MAX_RESULT_CHARS);
        output
    }

    pub async fn bash(&self, command: &str) -> ToolOutput {
        self.call("bash", json!({ "command": command })).await
    }
}

/// A command of a public case.
pub struct Case {
    pub command: String,
    pub timeout_s: u64,
    pub at_most: Duration,
    pub right: Option<String>,
    pub marker: Option<String>,
}

/// The commands of a public case, from the inputs that come with the tests.
pub fn cases(file: &str) -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let read: Value = serde_json::from_str(&text).unwrap();
    let commands = read["commands"].as_array().unwrap();
    let text = |case: &Value, key: &str| case[key].as_str().map(str::to_owned);
    let mut cases = Vec::new();
    for case in commands.iter().filter(|case| case.get("cwd").is_none()) {
        cases.push(Case {
            command: text(case, "cmd").unwrap(),
            timeout_s: case["timeout_ms"].as_u64().unwrap().div_ceil(1_000),
            // What is slow here is the machine: the bound only catches what waits for ever.
            at_most: Duration::from_millis(case["max_ms"].as_u64().unwrap_or(5_000)) * 4,
            right: text(case, "out"),
            marker: text(case, "marker"),
        });
    }
    cases
}

impl Case {
    pub async fn run(&self, bench: &Bench) -> ToolOutput {
        let began = Instant::now();
        let arguments = json!({ "command": self.command, "timeout_s": self.timeout_s });
        let output = bench.call("bash", arguments).await;
        assert!(began.elapsed() < self.at_most, "{} took {:?}", self.command, began.elapsed());
        if let Some(right) = &self.right {
            assert!(output.text.contains(right), "{}: {}", self.command, output.text);
        }
        output
    }
}

/// The command lines of all processes that started in this folder or run this text.
pub fn processes_with(marker: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if line.contains(marker) {
            found.push(line);
        }
    }
    found
}

/// True if a program is there; says aloud that a test is skipped if it is not.
pub fn has(program: &str, arguments: &[&str]) -> bool {
    let there = std::process::Command::new(program)
        .args(arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !there {
        aloud::skipped(&format!("`{program} {}` does not work here", arguments.join(" ")));
    }
    there
}
