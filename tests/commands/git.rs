//! `git_diff` in repositories that mean no harm.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use offshoot::domain::hidden::Hidden;
use offshoot::domain::rules::Rules;
use offshoot::domain::scope::PathScope;
use serde_json::json;

use super::bench::{Bench, has};

/// Runs git as a person would, with no configuration but the repository's.
pub fn git(folder: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .current_dir(folder)
        .args(["-c", "user.name=n", "-c", "user.email=e@example.com"])
        .args(["-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

pub fn has_git() -> bool {
    has("git", &["--version"])
}

/// A repository with a commit of `a.txt`, `src/b.txt`, `docs/c.txt`, each changed since.
fn changed() -> Bench {
    let bench = Bench::new();
    for file in ["a.txt", "src/b.txt", "docs/c.txt"] {
        bench.file(file, "one\ntwo\n");
    }
    let root = bench.root();
    git(&root, &["init", "-q"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "first"]);
    for file in ["a.txt", "src/b.txt", "docs/c.txt"] {
        bench.file(file, &format!("one\nchanged {file}\n"));
    }
    bench.file("new file.txt", "new\n");
    bench
}

#[tokio::test]
async fn the_work_tree_is_compared_with_the_index_and_untracked_files_are_named() {
    if !has_git() {
        return;
    }
    let bench = changed();
    let output = bench.call("git_diff", json!({})).await;
    assert!(output.ok, "{}", output.text);
    for right in ["-two\n+changed a.txt", "+++ b/src/b.txt", "+++ b/docs/c.txt", "\n  new file.txt"]
    {
        assert!(output.text.contains(right), "{}", output.text);
    }
    let staged = bench.call("git_diff", json!({"staged": true})).await;
    assert_eq!(staged.text, "(no changes in the workspace, the index against the last commit)");
    git(&bench.root(), &["add", "a.txt"]);
    let staged = bench.call("git_diff", json!({"staged": true})).await;
    assert!(staged.text.contains("+changed a.txt") && !staged.text.contains("src/b.txt"));
    let before = std::fs::read(bench.root().join(".git/index")).unwrap();
    let rest = bench.call("git_diff", json!({})).await;
    assert!(!rest.text.contains("a.txt\n+++"), "{}", rest.text);
    assert_eq!(std::fs::read(bench.root().join(".git/index")).unwrap(), before);
}

#[tokio::test]
async fn only_what_the_run_may_see_is_shown() {
    if !has_git() {
        return;
    }
    let mut bench = changed();
    let one = bench.call("git_diff", json!({"path": "src"})).await;
    assert!(one.text.contains("src/b.txt") && !one.text.contains("docs"), "{}", one.text);
    bench.scopes = vec![PathScope::parse("src").unwrap()];
    let all = bench.call("git_diff", json!({})).await;
    assert!(all.ok && all.text.contains("src/b.txt"), "{}", all.text);
    assert!(!all.text.contains("docs") && !all.text.contains("a.txt"), "{}", all.text);
    let outside = bench.call("git_diff", json!({"path": "docs"})).await;
    assert!(!outside.ok && outside.text.contains("outside of what this run may see"));
    // A path is never an option or a pattern.
    bench.scopes = vec![PathScope::all()];
    for path in ["--output=x", ":(top)", "*.txt", "-p"] {
        let output = bench.call("git_diff", json!({"path": path})).await;
        assert!(!output.text.contains("diff --git"), "{path}: {}", output.text);
        assert!(!bench.root().join("x").exists());
    }
}

#[tokio::test]
async fn where_there_is_no_repository_it_says_so() {
    let bench = Bench::new();
    let output = bench.call("git_diff", json!({})).await;
    assert!(!output.ok && output.text.contains("not in a git repository"), "{}", output.text);
}

#[tokio::test]
async fn a_repository_without_a_commit_has_a_diff_too() {
    if !has_git() {
        return;
    }
    let bench = Bench::new();
    git(&bench.root(), &["init", "-q"]);
    bench.file("a.txt", "one\n");
    let output = bench.call("git_diff", json!({})).await;
    assert!(output.ok && output.text.contains("\n  a.txt"), "{}", output.text);
    git(&bench.root(), &["add", "a.txt"]);
    let staged = bench.call("git_diff", json!({"staged": true})).await;
    assert!(staged.text.contains("+one"), "{}", staged.text);
}

#[tokio::test]
async fn line_ends_and_odd_names_can_be_told_apart() {
    if !has_git() {
        return;
    }
    let bench = Bench::new();
    let root = bench.root();
    git(&root, &["init", "-q"]);
    bench.file("crlf.txt", "one\r\n");
    bench.file("词 x.txt", "one\n");
    git(&root, &["add", "."]);
    git(&root, &["commit", "-qm", "first"]);
    bench.file("crlf.txt", "one\n");
    bench.file("词 x.txt", "\u{1b}[2J\n");
    let output = bench.call("git_diff", json!({})).await;
    assert!(output.text.contains("-one␍\n+one\n"), "{}", output.text);
    assert!(output.text.contains("词 x.txt") && output.text.contains("+␛[2J"), "{}", output.text);
}

#[tokio::test]
async fn a_folder_below_the_top_of_a_repository_sees_its_own_part() {
    if !has_git() {
        return;
    }
    let outer = changed();
    let bench = Bench::at(&outer.root().join("src"));
    let output = bench.call("git_diff", json!({})).await;
    assert!(output.ok && output.text.contains("+++ b/b.txt"), "{}", output.text);
    assert!(!output.text.contains("a.txt") && !output.text.contains("docs"), "{}", output.text);
}

#[tokio::test]
async fn a_linked_worktree_is_a_repository_and_another_one_s_folder_is_not() {
    if !has_git() {
        return;
    }
    let main = changed();
    let beside = tempfile::TempDir::new().unwrap();
    let tree = beside.path().join("tree");
    git(&main.root(), &["worktree", "add", "-q", tree.to_str().unwrap(), "-b", "other"]);
    std::fs::write(tree.join("a.txt"), "in the worktree\n").unwrap();
    let output = Bench::at(&tree).call("git_diff", json!({})).await;
    assert!(output.ok && output.text.contains("+in the worktree"), "{}", output.text);
    assert!(!output.text.contains("changed a.txt"), "{}", output.text);

    // A `.git` that a workspace brings along cannot open a repository somewhere else.
    for how in ["file", "link"] {
        let thief = Bench::new();
        thief.file("a.txt", "");
        let target = main.root().join(".git");
        if how == "file" {
            thief.file(".git", &format!("gitdir: {}\n", target.display()));
        } else {
            std::os::unix::fs::symlink(&target, thief.root().join(".git")).unwrap();
        }
        let output = thief.call("git_diff", json!({"staged": false})).await;
        assert!(!output.ok && output.text.contains("outside of the workspace"), "{}", output.text);
        assert!(!output.text.contains("two"), "{}", output.text);
    }
}

#[tokio::test]
async fn what_a_rule_hides_is_left_out_and_counted() {
    if !has_git() {
        return;
    }
    let mut bench = changed();
    let rules = ["read_file(src)", "read_file(a.txt)", "read_file(gone)"];
    let rules = Rules::parse::<&str>(&[], &[], &rules).unwrap();
    bench.hidden = Arc::new(Hidden::by(&rules));
    for (path, shown, left_out) in [
        (".", Some("changed docs/c.txt"), "2 files left out by a rule"),
        ("src", None, "1 file left out by a rule"),
        ("src/b.txt", None, "1 file left out by a rule"),
        ("docs", Some("changed docs/c.txt"), ""),
    ] {
        let output = bench.call("git_diff", json!({ "path": path })).await;
        assert!(output.ok, "{}", output.text);
        for file in ["a.txt", "src/b.txt", "docs/c.txt"] {
            let right = shown == Some(&format!("changed {file}"));
            assert_eq!(output.text.contains(&format!("changed {file}")), right, "{}", output.text);
        }
        assert!(output.text.contains(left_out), "{}", output.text);
        assert_eq!(output.text.contains("left out"), !left_out.is_empty(), "{}", output.text);
    }
    git(&bench.root(), &["add", "."]);
    let output = bench.call("git_diff", json!({ "staged": true })).await;
    assert!(output.text.contains("2 files left out by a rule"), "{}", output.text);
    assert!(!output.text.contains("changed a.txt"), "{}", output.text);
}
