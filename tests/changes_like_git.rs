//! What a look at the workspace finds is what `git status` finds, whatever was done to the files.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{aloud, rounds};
use offshoot::domain::event::Change;
use offshoot::workspace::Workspace;
use offshoot::workspace::shadow::Shadow;
use offshoot::workspace::snapshot::Tracker;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Something done to a file; what cannot be done is passed over.
#[derive(Debug, Clone)]
enum Step {
    Put(PathBuf, u8),
    Remove(PathBuf),
    Rename(PathBuf, PathBuf),
    Executable(PathBuf),
    Link(PathBuf, u8),
    Touch(PathBuf),
}

impl Step {
    fn take(&self, root: &Path) {
        // A step that finds something else in its way does nothing, for both sides alike.
        let _ = self.attempt(root);
    }

    fn attempt(&self, root: &Path) -> std::io::Result<()> {
        match self {
            Self::Put(path, text) => put(&root.join(path), &text.to_string()),
            Self::Remove(path) if root.join(path).is_dir() => fs::remove_dir_all(root.join(path)),
            Self::Remove(path) => fs::remove_file(root.join(path)),
            Self::Rename(from, to) => {
                let to = root.join(to);
                fs::create_dir_all(to.parent().unwrap())?;
                fs::rename(root.join(from), to)
            }
            Self::Executable(path) => {
                let path = root.join(path);
                if path.is_symlink() || !path.is_file() {
                    return Ok(());
                }
                fs::set_permissions(path, fs::Permissions::from_mode(0o755))
            }
            Self::Link(path, target) => {
                let path = root.join(path);
                fs::create_dir_all(path.parent().unwrap())?;
                symlink(format!("target{target}"), path)
            }
            Self::Touch(path) if root.join(path).is_symlink() => Ok(()),
            Self::Touch(path) => {
                let path = root.join(path);
                fs::write(&path, fs::read(&path)?)
            }
        }
    }
}

fn put(path: &Path, text: &str) -> std::io::Result<()> {
    if path.is_symlink() {
        // Written through a link it would be another file.
        return Ok(());
    }
    fs::create_dir_all(path.parent().unwrap())?;
    fs::write(path, text)
}

fn paths() -> impl Strategy<Value = PathBuf> {
    let name = prop::sample::select(vec!["a", "b", "c.log", "out", ".d", "e f", "ü"]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.iter().collect())
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (paths(), 0_u8..3).prop_map(|(path, text)| Step::Put(path, text)),
        2 => paths().prop_map(Step::Remove),
        2 => (paths(), paths()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => paths().prop_map(Step::Executable),
        1 => (paths(), 0_u8..2).prop_map(|(path, target)| Step::Link(path, target)),
        1 => paths().prop_map(Step::Touch),
    ]
}

fn git(root: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .current_dir(root)
        .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.fileMode=true"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}");
    output.stdout
}

/// What git finds, by path.
fn status(root: &Path) -> BTreeMap<String, Change> {
    let lines = git(root, &["status", "--porcelain", "-z", "-uall", "--no-renames"]);
    let lines = String::from_utf8(lines).unwrap();
    lines
        .split('\0')
        .filter(|line| !line.is_empty())
        .map(|line| {
            let change = match &line[..2] {
                "??" => Change::Added,
                " D" => Change::Deleted,
                " M" | " T" => Change::Modified,
                other => panic!("git says {other:?}"),
            };
            (line[3..].to_owned(), change)
        })
        .collect()
}

fn found(tracker: &Tracker, workspace: &Workspace) -> BTreeMap<String, Change> {
    let refresh = tracker.refresh(workspace, &CancellationToken::new());
    assert!(refresh.complete && refresh.unseen.is_none());
    let differences = refresh.differences.into_iter();
    differences.map(|found| (found.path.clone(), found.change().unwrap())).collect()
}

fn compare(before: &[Step], after: &[Step]) {
    let folder = TempDir::new().unwrap();
    let root = folder.path();
    fs::write(root.join(".gitignore"), "*.log\n/out/\nb/out\n").unwrap();
    for step in before {
        step.take(root);
    }
    git(root, &["init", "-q"]);
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "-m", "start"]);
    let workspace = Workspace::open(root).unwrap();
    let tracker = Tracker::new(Shadow::in_memory());
    assert!(found(&tracker, &workspace).is_empty());
    for step in after {
        step.take(root);
    }
    assert_eq!(found(&tracker, &workspace), status(root));
    assert!(found(&tracker, &workspace).is_empty(), "a second look finds nothing");
}

#[test]
fn a_look_finds_what_git_finds() {
    if Command::new("git").arg("--version").stdout(Stdio::null()).status().is_err() {
        return aloud::skipped("there is no git to compare with");
    }
    let config = Config { cases: rounds(24, 2_000), ..Config::default() };
    let lists = (prop::collection::vec(steps(), 0..24), prop::collection::vec(steps(), 0..16));
    TestRunner::new(config)
        .run(&lists, |(before, after)| {
            compare(&before, &after);
            Ok(())
        })
        .unwrap();
}
