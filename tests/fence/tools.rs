//! The tools of everyday work on small projects, inside the fence.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use offshoot::domain::fence::FenceLevel;
use offshoot::sandbox::{Outcome, Sandbox, explain};
use tempfile::TempDir;

use crate::aloud;
use crate::scene;

/// A project of these files.
fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = scene::folder();
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

/// False, and said aloud, if this tool does not even work outside.
fn works(tool: &[&str]) -> bool {
    let (program, arguments) = tool.split_first().unwrap();
    let outside = scene::folder();
    let ran = Command::new(program)
        .args(arguments)
        .current_dir(outside.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let works = ran.is_ok_and(|it| it.success());
    if !works {
        aloud::skipped(&format!("`{}` inside the fence: it is not here", tool.join(" ")));
    }
    works
}

async fn succeeds(sandbox: &Sandbox, folder: &Path, script: &str, says: &str) {
    let ran = scene::run(sandbox, scene::job(folder, &["sh", "-c", script])).await;
    assert_eq!(ran.outcome, Outcome::Exited(0), "{script}: {}", ran.text);
    assert!(ran.text.contains(says), "{script}: {}", ran.text);
}

#[tokio::test]
async fn cargo_tests_a_crate() {
    if works(&["cargo", "--version"]) {
        let manifest =
            "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[workspace]\n";
        let source = "#[test]\nfn two() { assert_eq!(1 + 1, 2); }\n";
        let crate_ = project(&[("Cargo.toml", manifest), ("src/lib.rs", source)]);
        succeeds(&scene::sandbox(), crate_.path(), "cargo test --offline", "1 passed").await;
    }
}

#[tokio::test]
async fn python_tests_a_package() {
    if works(&["python3", "--version"]) {
        let test = "import unittest, tempfile, subprocess\n\
            class T(unittest.TestCase):\n    \
            def test_it(self):\n        \
            with tempfile.TemporaryFile() as it: it.write(b'x')\n        \
            self.assertEqual(subprocess.check_output(['echo', 'hi']), b'hi\\n')\n";
        let package = project(&[("tests/test_it.py", test), ("tests/__init__.py", "")]);
        succeeds(&scene::sandbox(), package.path(), "python3 -m unittest -v", "OK").await;
    }
}

#[tokio::test]
async fn npm_tests_a_package() {
    if works(&["npm", "--version"]) {
        let manifest = r#"{"name":"tiny","version":"1.0.0","scripts":{"test":"node --test"}}"#;
        let test = "const test = require('node:test'); const cp = require('node:child_process');\n\
            const { Worker } = require('node:worker_threads'); const os = require('node:os');\n\
            test('it', async () => {\n\
            cp.execSync('true');\n\
            await new Promise((ok, no) => new Worker('1', { eval: true }).on('exit', ok).on('error', no));\n\
            });\n";
        let package = project(&[("package.json", manifest), ("it.test.js", test)]);
        succeeds(&scene::sandbox(), package.path(), "npm test", "pass 1").await;
    }
}

#[tokio::test]
async fn git_commits() {
    if works(&["git", "--version"]) {
        let repository = project(&[("a", "one\n")]);
        let script = "git init -q . && git add a && \
            git -c user.name=n -c user.email=e@example.org commit -qm first && echo two >> a && \
            git status --short && git log --oneline && git diff";
        let sandbox = scene::sandbox();
        succeeds(&sandbox, repository.path(), script, "+two").await;
    }
    scene::again_without_powers("tools::git_commits");
}

#[tokio::test]
async fn make_and_a_compiler_build_a_program() {
    if works(&["make", "--version"]) && works(&["cc", "--version"]) {
        let make = "all: a b\n\t./a && ./b\na: a.c\n\tcc -o a a.c\nb: b.c\n\tcc -o b b.c\n";
        let source = "int main(void) { return 0; }\n";
        let program = project(&[("Makefile", make), ("a.c", source), ("b.c", source)]);
        succeeds(&scene::sandbox(), program.path(), "make -j2 && echo built", "built").await;
    }
    scene::again_without_powers("tools::make_and_a_compiler_build_a_program");
}

#[tokio::test]
async fn a_leak_checker_finds_its_leak() {
    let build = "printf '#include <stdlib.h>\\nint main(void){ void *volatile p = malloc(7); p = 0; \
                 return p != 0; }' > leak.c && cc -fsanitize=address leak.c -o leak";
    if !works(&["sh", "-c", &format!("{build} && ! ./leak")]) {
        return;
    }
    let script = format!("{build} && ! ./leak");
    let found = "detected memory leaks";
    succeeds(&scene::sandbox(), project(&[]).path(), &script, found).await;
}

/// What a fence without namespaces breaks, and what the hint for it has to name.
const NEEDS_NAMESPACES: &[(&str, &str)] = &[
    (
        "python3 -c \"import http.server, threading, urllib.request\n\
         s = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)\n\
         threading.Thread(target=s.serve_forever, daemon=True).start()\n\
         print(urllib.request.urlopen('http://127.0.0.1:%d/' % s.server_port).status)\"",
        "fence.network",
    ),
    (
        "python3 -c \"import multiprocessing as m\n\
         q = m.get_context('fork').Queue(); q.put(200); print(q.get())\n\
         print(sum(m.get_context('fork').Pool(2).map(abs, [-1, -2])))\"",
        "fence.write",
    ),
];

#[tokio::test]
async fn servers_and_shared_memory_work_with_namespaces_and_are_explained_without() {
    if !works(&["python3", "-c", "import multiprocessing, http.server"]) {
        return;
    }
    let folder = project(&[]);
    let with = scene::sandbox();
    let without = scene::sandbox().without_namespaces();
    let (fence, lesser) = (with.fence().await, without.fence().await);
    for (script, setting) in NEEDS_NAMESPACES {
        if fence.loopback {
            succeeds(&with, folder.path(), script, "200").await;
        } else {
            aloud::skipped("servers inside the fence: this system gives no namespaces");
        }
        if lesser.level == FenceLevel::Fenced {
            let job = scene::job(folder.path(), &["sh", "-c", script]);
            let ran = scene::run(&without, job).await;
            let Outcome::Exited(code) = ran.outcome else { panic!("{}", ran.text) };
            let hint = explain::explain(&ran.text, code, &lesser, false).unwrap_or_default();
            assert!(hint.contains(setting), "{hint}, of {}", ran.text);
        }
    }
}

#[tokio::test]
async fn a_terminal_of_its_own_works_with_namespaces() {
    let sandbox = scene::sandbox();
    if !works(&["python3", "-c", "import pty"]) {
        return;
    }
    if !sandbox.fence().await.loopback {
        return aloud::skipped("terminals inside the fence: this system gives no namespaces");
    }
    let script = "python3 -c \"import pty; pty.spawn(['echo', 'on a terminal'])\"";
    succeeds(&sandbox, project(&[]).path(), script, "on a terminal").await;
}

#[tokio::test]
async fn the_network_opens_only_for_a_command_that_may_use_it() {
    if !works(&["python3", "--version"]) {
        return;
    }
    let sandbox = scene::sandbox();
    if sandbox.fence().await.level != FenceLevel::Fenced {
        return aloud::skipped("the network: commands are not fenced here");
    }
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let script = format!(
        "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port})); print('in')\""
    );
    let folder = project(&[]);
    for (network, is_let) in [(false, false), (true, true)] {
        let mut job = scene::job(folder.path(), &["sh", "-c", &script]);
        job.network = network;
        let ran = scene::run(&sandbox, job).await;
        assert_eq!(ran.text.contains("in\n"), is_let, "{}", ran.text);
    }
}

#[tokio::test]
async fn a_fence_inside_a_fence_holds_too() {
    let sandbox = scene::sandbox();
    if sandbox.fence().await.level != FenceLevel::Fenced {
        return aloud::skipped("a fence in a fence: commands are not fenced here");
    }
    let work = scene::folder();
    let program = scene::program().canonicalize().unwrap();
    let mut job = scene::job(work.path(), &[program.to_str().unwrap(), "doctor"]);
    job.ground.readable.push(program);
    let ran = scene::run(&sandbox, job).await;
    assert!(ran.text.contains("fenced"), "{}", ran.text);
    assert!(!ran.text.contains("unfenced"), "{}", ran.text);
    scene::again_without_powers("tools::a_fence_inside_a_fence_holds_too");
}
