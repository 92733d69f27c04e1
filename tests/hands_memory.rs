//! Reading and searching huge files takes no memory that grows with them. Alone in its binary, so
//! that the process's peak is its own.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;

use offshoot::domain::scope::PathScope;
use offshoot::tool::ToolContext;
use offshoot::tool::toolbox::Toolbox;
use offshoot::workspace::Workspace;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The most memory that this process has had, in kB.
fn peak_kilobytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn build(root: &Path) {
    File::create(root.join("sparse.bin")).unwrap().set_len(2 << 30).unwrap();
    let mut hole = File::create(root.join("hole.txt")).unwrap();
    hole.write_all(&b"a line\n".repeat(2_000)).unwrap();
    hole.set_len(2 << 30).unwrap();
    fs::write(root.join("oneline.js"), vec![b'a'; 5_000_000]).unwrap();
    let mut lines = BufWriter::new(File::create(root.join("lines.txt")).unwrap());
    for number in 0..1_000_000 {
        writeln!(lines, "line {number} of a long log").unwrap();
    }
    lines.flush().unwrap();
}

#[tokio::test]
async fn huge_files_take_little_memory() {
    let folder = tempfile::TempDir::new().unwrap();
    build(folder.path());
    let workspace = Arc::new(Workspace::open(folder.path()).unwrap());
    let toolbox = Toolbox::standard();
    let call = |tool: &str, arguments: Value| {
        let scopes = Arc::from([PathScope::all()]);
        let context =
            ToolContext::looking(Arc::clone(&workspace), scopes, CancellationToken::new());
        toolbox.get(tool).unwrap().run(arguments, context)
    };
    let before = peak_kilobytes();
    for (tool, arguments, right) in [
        ("read_file", json!({"path": "sparse.bin"}), "binary"),
        ("read_file", json!({"path": "oneline.js"}), "line cut, 4998000 bytes more"),
        ("read_file", json!({"path": "hole.txt", "limit": 1}), "more than"),
        ("read_file", json!({"path": "lines.txt", "offset": 999_999}), "lines 999999-1000000 of"),
        ("search", json!({"pattern": "a+b"}), "1 binary file"),
        ("search", json!({"pattern": "line \\d+99999 of"}), "lines.txt:200000:line 199999"),
    ] {
        let output = call(tool, arguments).await;
        assert!(output.ok && output.text.contains(right), "{}", output.text);
    }
    let grown = peak_kilobytes().saturating_sub(before);
    assert!(grown < 32 * 1024, "the peak grew by {grown} kB");
}
