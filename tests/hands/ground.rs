//! A workspace in a temporary folder, with a forbidden folder beside it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot::domain::scope::PathScope;
use offshoot::tool::toolbox::Toolbox;
use offshoot::tool::{ToolContext, ToolOutput};
use offshoot::workspace::Workspace;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub struct Ground {
    base: TempDir,
    workspace: Arc<Workspace>,
    toolbox: Toolbox,
    runtime: tokio::runtime::Runtime,
}

impl Ground {
    pub fn new() -> Self {
        let base = TempDir::new().unwrap();
        fs::create_dir(base.path().join("ws")).unwrap();
        fs::create_dir(base.path().join("outside")).unwrap();
        let workspace = Arc::new(Workspace::open(&base.path().join("ws")).unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        Self { base, workspace, toolbox: Toolbox::standard(), runtime }
    }

    pub fn root(&self) -> PathBuf {
        self.base.path().join("ws")
    }

    pub fn outside(&self) -> PathBuf {
        self.base.path().join("outside")
    }

    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub fn file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        write(&self.root().join(path), content.as_ref());
        self
    }

    pub fn outside_file(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        write(&self.outside().join(path), content.as_ref());
        self
    }

    pub fn folder(&self, path: &str) -> &Self {
        fs::create_dir_all(self.root().join(path)).unwrap();
        self
    }

    /// A symbolic link at `path` in the workspace.
    pub fn link(&self, path: &str, target: impl AsRef<Path>) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
        self
    }

    pub fn fifo(&self, path: &str) -> &Self {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let path = self.root().join(path);
        mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        self
    }

    pub fn socket(&self, path: &str) -> &Self {
        drop(std::os::unix::net::UnixListener::bind(self.root().join(path)).unwrap());
        self
    }

    /// Calls a tool as a run that may see the whole workspace.
    pub fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.call_within(&["."], tool, arguments)
    }

    /// Calls a tool as a run that may see these scopes.
    pub fn call_within(&self, scopes: &[&str], tool: &str, arguments: Value) -> ToolOutput {
        let context = self.context(scopes, CancellationToken::new());
        let tool = Arc::clone(self.toolbox.get(tool).unwrap());
        let output = self.runtime.block_on(tool.run(arguments, context));
        check_bounds(&output);
        output
    }

    /// Calls a tool with a token that fires after the call has started.
    pub fn call_and_cancel(&self, tool: &str, arguments: Value) -> ToolOutput {
        let cancel = CancellationToken::new();
        let context = self.context(&["."], cancel.clone());
        let tool = Arc::clone(self.toolbox.get(tool).unwrap());
        self.runtime.block_on(async {
            let call = tokio::spawn(tool.run(arguments, context));
            tokio::task::yield_now().await;
            cancel.cancel();
            call.await.unwrap()
        })
    }

    fn context(&self, scopes: &[&str], cancel: CancellationToken) -> ToolContext {
        let scopes = scopes.iter().map(|scope| PathScope::parse(scope).unwrap());
        let scopes = scopes.collect::<Vec<_>>().into();
        ToolContext::looking(Arc::clone(&self.workspace), scopes, cancel)
    }
}

pub fn scopes(texts: &[&str]) -> Vec<PathScope> {
    texts.iter().map(|text| PathScope::parse(text).unwrap()).collect()
}

/// What holds of every result.
fn check_bounds(output: &ToolOutput) {
    let chars = output.text.chars().count();
    assert!(chars <= offshoot::tool::MAX_RESULT_CHARS, "{chars} characters");
    assert!(!output.text.trim().is_empty(), "a result is never blank");
    assert!(!output.text.contains("the tool failed inside"), "{}", output.text);
    assert!(output.bytes >= output.text.len() as u64 || output.truncated);
    assert!(output.ok || output.shown.is_empty(), "an error shows nothing");
}

fn write(path: &Path, content: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}
