//! `git_diff` in a repository that tries to run something: a marker file must never appear.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::bench::Bench;
use super::git::{git, has_git};

/// A repository that runs a program wherever git would let it.
struct Trap {
    bench: Bench,
    marker: PathBuf,
    program: String,
}

impl Trap {
    /// A repository with a committed and changed file, and a program that leaves a marker.
    fn set() -> Self {
        let bench = Bench::new();
        let root = bench.root();
        let marker = root.join("MARKER");
        let program = root.join("evil.sh");
        let text = format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display());
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        bench.file("a.txt", "one\ntwo\n");
        git(&root, &["init", "-q"]);
        git(&root, &["add", "."]);
        git(&root, &["commit", "-qm", "first"]);
        bench.file("a.txt", "one\nchanged\n");
        Self { program: program.display().to_string(), bench, marker }
    }

    fn set_key(&self, key: &str, value: &str) {
        git(&self.bench.root(), &["config", key, value]);
    }

    /// True if plain git falls into the trap: otherwise the test proves nothing.
    fn works_on_plain_git(&self) -> bool {
        for arguments in [&["diff"][..], &["status"], &["diff", "--cached"]] {
            let _ = std::process::Command::new("git")
                .current_dir(self.bench.root())
                .args(arguments)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output();
        }
        let worked = self.marker.exists();
        let _ = std::fs::remove_file(&self.marker);
        worked
    }

    /// Diffs in every way, and checks that nothing ran and that the change is seen all the same.
    async fn is_not_sprung(&self, name: &str) {
        // What was compared once is not compared again: make the file new.
        self.bench.file("a.txt", "one\nchanged\n");
        for arguments in [json!({}), json!({"staged": true}), json!({"path": "a.txt"})] {
            let output = self.bench.call("git_diff", arguments.clone()).await;
            assert!(!self.marker.exists(), "{name}: {arguments} ran something");
            assert!(output.ok, "{name}: {}", output.text);
            if arguments != json!({"staged": true}) {
                assert!(output.text.contains("+changed"), "{name}: {}", output.text);
            }
        }
    }
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[tokio::test]
async fn nothing_that_a_repository_configures_is_run() {
    if !has_git() {
        return;
    }
    let table: &[(&str, &[(&str, &str)], &[(&str, &str)])] = &[
        ("external diff", &[("diff.external", "P")], &[]),
        ("diff driver, in tree", &[("diff.d.command", "P")], &[(".gitattributes", "* diff=d\n")]),
        (
            "diff driver, info",
            &[("diff.d.command", "P")],
            &[(".git/info/attributes", "* diff=d\n")],
        ),
        ("textconv, in tree", &[("diff.d.textconv", "P")], &[(".gitattributes", "* diff=d\n")]),
        ("textconv, info", &[("diff.d.textconv", "P")], &[(".git/info/attributes", "* diff=d\n")]),
        (
            "clean filter, in tree",
            &[("filter.f.clean", "P")],
            &[(".gitattributes", "* filter=f\n")],
        ),
        (
            "clean filter, info",
            &[("filter.f.clean", "P")],
            &[(".git/info/attributes", "* filter=f\n")],
        ),
        (
            "process filter",
            &[("filter.f.process", "P"), ("filter.f.required", "false")],
            &[(".git/info/attributes", "* filter=f\n")],
        ),
        ("file-system monitor", &[("core.fsmonitor", "P")], &[]),
        ("pager", &[("core.pager", "P"), ("pager.diff", "P"), ("pager.ls-files", "P")], &[]),
        (
            "alias and shell helpers",
            &[
                ("alias.diff", "!P"),
                ("core.sshCommand", "P"),
                ("core.editor", "P"),
                ("core.askPass", "P"),
                ("credential.helper", "!P"),
                ("gpg.program", "P"),
                ("interactive.diffFilter", "P"),
                ("core.gitProxy", "P"),
                ("core.alternateRefsCommand", "P"),
                ("uploadpack.packObjectsHook", "P"),
            ],
            &[],
        ),
    ];
    let mut worked = Vec::new();
    for (name, keys, files) in table {
        let trap = Trap::set();
        for (key, value) in *keys {
            trap.set_key(key, &value.replace('P', &trap.program));
        }
        for (path, text) in *files {
            write(&trap.bench.root(), path, text);
        }
        if trap.works_on_plain_git() {
            worked.push(*name);
        }
        trap.is_not_sprung(name).await;
    }
    // The traps that plain git is known to fall into; the others it does not reach from here.
    for name in ["external diff", "textconv, in tree", "clean filter, info", "file-system monitor"]
    {
        assert!(worked.contains(&name), "the trap `{name}` does not work: {worked:?}");
    }
}

#[tokio::test]
async fn hooks_and_included_files_are_not_run_or_read() {
    if !has_git() {
        return;
    }
    let trap = Trap::set();
    let root = trap.bench.root();
    for hook in ["post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction"] {
        for folder in [".git/hooks", "hooks"] {
            write(
                &root,
                &format!("{folder}/{hook}"),
                &std::fs::read_to_string(&trap.program).unwrap(),
            );
            let path = root.join(folder).join(hook);
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    trap.set_key("core.hooksPath", "hooks");
    let text = format!("[diff]\n\texternal = {0}\n[core]\n\tfsmonitor = {0}\n", trap.program);
    write(&root, "included", &text);
    trap.set_key("include.path", "../included");
    trap.set_key("includeIf.gitdir:/**.path", "../included");
    trap.set_key("extensions.worktreeConfig", "true");
    write(&root, ".git/config.worktree", &text);
    assert!(trap.works_on_plain_git());
    trap.is_not_sprung("hooks and includes").await;
}

#[tokio::test]
async fn a_submodule_with_a_configuration_of_its_own_is_left_out() {
    if !has_git() {
        return;
    }
    let inner = Trap::set();
    let trap = Trap::set();
    let root = trap.bench.root();
    let from = inner.bench.root().display().to_string();
    git(&root, &["submodule", "--quiet", "add", &from, "sub"]);
    git(&root, &["commit", "-qm", "with a submodule"]);
    let sub = root.join("sub");
    git(&sub, &["config", "core.fsmonitor", &trap.program]);
    git(&sub, &["config", "diff.external", &trap.program]);
    std::fs::write(sub.join("a.txt"), "changed below\n").unwrap();
    assert!(trap.works_on_plain_git());
    trap.is_not_sprung("submodule").await;
}

#[tokio::test]
async fn missing_objects_are_not_fetched() {
    if !has_git() {
        return;
    }
    let trap = Trap::set();
    let root = trap.bench.root();
    // A remote that listens would keep plain git waiting.
    std::fs::write(&trap.program, format!("#!/bin/sh\ntouch '{}'\n", trap.marker.display()))
        .unwrap();
    trap.set_key("remote.origin.url", &format!("ext::{} %S", trap.program));
    trap.set_key("remote.origin.promisor", "true");
    trap.set_key("remote.origin.uploadpack", &trap.program);
    trap.set_key("extensions.partialClone", "origin");
    trap.set_key("protocol.ext.allow", "always");
    trap.set_key("core.repositoryFormatVersion", "1");
    let objects = root.join(".git/objects");
    for folder in std::fs::read_dir(&objects).unwrap().flatten() {
        if folder.file_name().len() == 2 {
            std::fs::remove_dir_all(folder.path()).unwrap();
        }
    }
    assert!(trap.works_on_plain_git(), "plain git does not fetch");
    trap.bench.file("a.txt", "one\nchanged\n");
    let output = trap.bench.call("git_diff", json!({})).await;
    assert!(!trap.marker.exists(), "something was fetched");
    assert!(!output.ok && output.text.contains("git diff failed"), "{}", output.text);
}

#[tokio::test]
async fn parts_of_another_repository_are_not_linked_in() {
    if !has_git() {
        return;
    }
    let secret = Trap::set();
    let thief = Bench::new();
    let root = thief.root();
    thief.file("a.txt", "mine\n");
    git(&root, &["init", "-q"]);
    for part in ["objects", "index"] {
        let own = root.join(".git").join(part);
        let _ = std::fs::remove_dir_all(&own);
        let _ = std::fs::remove_file(&own);
        std::os::unix::fs::symlink(secret.bench.root().join(".git").join(part), &own).unwrap();
    }
    for arguments in [json!({}), json!({"staged": true})] {
        let output = thief.call("git_diff", arguments).await;
        assert!(!output.text.contains("two"), "{}", output.text);
    }
}
