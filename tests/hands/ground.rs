//! A workspace in a temporary folder, with a forbidden folder beside it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use offshoot::domain::approval::Preview;
use offshoot::domain::hidden::Hidden;
use offshoot::domain::rules::Rules;
use offshoot::domain::scope::PathScope;
use offshoot::tool::toolbox::Toolbox;
use offshoot::tool::{ToolContext, ToolOutput};
use offshoot::workspace::Workspace;
use offshoot::workspace::seen::Seen;
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Where the folders lie.
enum Base {
    Own(TempDir),
    Other(PathBuf),
}

impl Base {
    fn path(&self) -> &Path {
        match self {
            Self::Own(folder) => folder.path(),
            Self::Other(path) => path,
        }
    }
}

pub struct Ground {
    base: Base,
    workspace: Arc<Workspace>,
    toolbox: Toolbox,
    runtime: tokio::runtime::Runtime,
}

impl Ground {
    pub fn new() -> Self {
        let base = TempDir::new().unwrap();
        fs::create_dir(base.path().join("ws")).unwrap();
        fs::create_dir(base.path().join("outside")).unwrap();
        Self::on(Base::Own(base))
    }

    /// One that another process made.
    pub fn at(base: &Path) -> Self {
        Self::on(Base::Other(base.to_owned()))
    }

    fn on(base: Base) -> Self {
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
    pub fn call_and_cancel(&self, tool: &str, arguments: &Value) -> ToolOutput {
        let tool = Arc::clone(self.toolbox.get(tool).unwrap());
        self.runtime.block_on(async {
            loop {
                let cancel = CancellationToken::new();
                let context = self.context(&["."], cancel.clone());
                let mut call = tool.run(arguments.clone(), context);
                // One that ended within its first moment was not there to be cancelled.
                if futures_util::poll!(&mut call).is_pending() {
                    cancel.cancel();
                    return call.await;
                }
            }
        })
    }

    /// One run: what it was shown is remembered from call to call.
    pub fn run(&self, scopes: &[&str]) -> Run<'_> {
        Run { ground: self, context: self.context(scopes, CancellationToken::new()) }
    }

    /// A run of the whole workspace under these rules.
    pub fn run_under(&self, rules: &Rules) -> Run<'_> {
        let hidden = Arc::new(Hidden::by(rules));
        let context = ToolContext { hidden, ..self.context(&["."], CancellationToken::new()) };
        Run { ground: self, context }
    }

    /// The same with folders beside the workspace, given from the base folder.
    pub fn with_added(mut self, added: &[&str]) -> Self {
        let added: Vec<PathBuf> = added.iter().map(|path| self.base.path().join(path)).collect();
        self.workspace = Arc::new(Workspace::open_with(&self.root(), &added).unwrap());
        self
    }

    /// The folder that holds the workspace and the outside, links resolved.
    pub fn base(&self) -> PathBuf {
        self.base.path().canonicalize().unwrap()
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.root().join(path)).unwrap()
    }

    fn context(&self, scopes: &[&str], cancel: CancellationToken) -> ToolContext {
        let scopes = scopes.iter().map(|scope| PathScope::parse(scope).unwrap());
        let scopes = scopes.collect::<Vec<_>>().into();
        ToolContext::looking(Arc::clone(&self.workspace), scopes, cancel)
    }
}

/// The calls of one run.
pub struct Run<'a> {
    ground: &'a Ground,
    context: ToolContext,
}

impl Run<'_> {
    pub fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.call_with(tool, arguments, self.context.clone())
    }

    /// Reads a file, so that the run knows it.
    pub fn read(&self, path: &str) -> &Self {
        let output = self.call("read_file", serde_json::json!({"path": path}));
        assert!(output.ok, "{}", output.text);
        self
    }

    /// What a person would be shown.
    pub fn preview(&self, tool: &str, arguments: &Value) -> Result<Preview, String> {
        let tool = Arc::clone(self.ground.toolbox.get(tool).unwrap());
        let shown = self.ground.runtime.block_on(tool.preview(arguments, &self.context))?;
        Ok(shown.expect("a tool that writes shows what it would do"))
    }

    /// Makes the call as it was shown.
    pub fn call_approved(&self, tool: &str, arguments: Value, shown: Preview) -> ToolOutput {
        let context = ToolContext { approved: Some(Arc::new(shown)), ..self.context.clone() };
        self.call_with(tool, arguments, context)
    }

    pub fn seen(&self) -> &Seen {
        &self.context.seen
    }

    fn call_with(&self, tool: &str, arguments: Value, context: ToolContext) -> ToolOutput {
        let tool = Arc::clone(self.ground.toolbox.get(tool).unwrap());
        let output = self.ground.runtime.block_on(tool.run(arguments, context));
        check_bounds(&output);
        output
    }
}

/// Everything in a folder that a write could change: names, kinds, modes, link targets, bytes.
pub fn inventory(folder: &Path) -> String {
    use std::os::unix::fs::MetadataExt as _;
    let mut lines = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let found = path.symlink_metadata().unwrap();
            let content = if found.is_dir() {
                folders.push(path.clone());
                String::new()
            } else if found.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string()
            } else if found.is_file() {
                offshoot::domain::hash::Sha::of(fs::read(&path).unwrap()).to_string()
            } else {
                "special".to_owned()
            };
            let (mode, owner) = (found.mode(), found.uid());
            lines.push(format!("{} {mode:o} {owner} {content}", path.display()));
        }
    }
    lines.sort();
    lines.join("\n")
}

/// The temporary files that are left somewhere below.
pub fn temporaries(folder: &Path) -> Vec<String> {
    let temporary = |line: &&str| {
        let path = line.split(' ').next().unwrap_or_default();
        let name = path.rsplit('/').next().unwrap_or_default();
        offshoot::workspace::write::is_temporary(name.as_bytes())
    };
    inventory(folder).lines().filter(temporary).map(str::to_owned).collect()
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
