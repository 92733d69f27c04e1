//! What `search` finds, shows and leaves out.

use offshoot::domain::rules::Rules;
use offshoot::tool::{Shown, ToolOutput};
use serde_json::json;

use crate::ground::Ground;

fn lines(path: &str, from: u64, to: u64) -> Shown {
    Shown::Lines { path: path.to_owned(), from, to }
}

/// The places that the text really shows: `path:line:` and `path-line-` of names without `:` or `-`.
fn places(output: &ToolOutput) -> Vec<(String, u64)> {
    let place = |line: &str| {
        let mut parts = line.splitn(3, [':', '-']);
        Some((parts.next()?.to_owned(), parts.next()?.parse().ok()?))
    };
    output.text.lines().filter_map(place).collect()
}

fn recorded(output: &ToolOutput) -> Vec<(String, u64)> {
    let each = |shown: &Shown| match shown {
        Shown::Lines { path, from, to } => {
            (*from..=*to).map(|line| (path.clone(), line)).collect::<Vec<_>>()
        }
        Shown::Folder { path } => panic!("a search shows no folder: {path}"),
    };
    output.shown.iter().flat_map(each).collect()
}

fn project() -> Ground {
    let ground = Ground::new();
    ground
        .file("README.md", "# Tests\nRun `pytest`.\n")
        .file("src/a.py", "import pytest\n\n\ndef test_a():\n    pytest.skip()\n")
        .file("src/b.rs", "// pytest is not used here\n")
        .file(".github/workflows/ci.yml", "run: pytest -q\n")
        .file(".gitignore", "build/\n")
        .file("build/log.txt", "pytest ran\n")
        .file("data.bin", b"pytest\0\0")
        .file(".git/config", "pytest\n");
    ground
}

#[test]
fn matches_are_shown_with_path_and_line_and_what_was_not_searched() {
    let ground = project();
    let output = ground.call("search", json!({"pattern": "pytest"}));
    assert_eq!(
        output.text,
        "5 matches in 4 files, 5 files of the workspace searched\n\
         README.md:2:Run `pytest`.\n\
         .github/workflows/ci.yml:1:run: pytest -q\n\
         src/a.py:1:import pytest\n\
         src/a.py:5:    pytest.skip()\n\
         src/b.rs:1:// pytest is not used here\n\
         not searched: 1 git-ignored entry, 1 binary file"
    );
    let right = [
        lines("README.md", 2, 2),
        lines(".github/workflows/ci.yml", 1, 1),
        lines("src/a.py", 1, 1),
        lines("src/a.py", 5, 5),
        lines("src/b.rs", 1, 1),
    ];
    assert_eq!(output.shown, right);
    assert!(output.ok && !output.truncated);
}

#[test]
fn lines_around_a_match_are_shown_and_recorded() {
    let ground = project();
    let arguments = json!({"pattern": "import|skip|Run", "context": 1, "glob": "*.{py,md}"});
    let output = ground.call("search", arguments);
    assert_eq!(
        output.text,
        "3 matches in 2 files, 2 files of the workspace searched\n\
         README.md-1-# Tests\n\
         README.md:2:Run `pytest`.\n\
         --\n\
         src/a.py:1:import pytest\n\
         src/a.py-2-\n\
         --\n\
         src/a.py-4-def test_a():\n\
         src/a.py:5:    pytest.skip()\n\
         not searched: 1 git-ignored entry"
    );
    let right = [lines("README.md", 1, 2), lines("src/a.py", 1, 2), lines("src/a.py", 4, 5)];
    assert_eq!(output.shown, right);
    assert_eq!(places(&output), recorded(&output));
}

#[test]
fn a_path_narrows_and_names_what_is_otherwise_passed_over() {
    let ground = project();
    let found = |path: &str| {
        let output = ground.call("search", json!({"pattern": "pytest", "path": path}));
        places(&output).into_iter().map(|(path, _)| path).collect::<Vec<_>>()
    };
    assert_eq!(found("src"), ["src/a.py", "src/a.py", "src/b.rs"]);
    assert_eq!(found("src/b.rs"), ["src/b.rs"]);
    assert_eq!(found("build"), ["build/log.txt"]);
    assert_eq!(found("build/log.txt"), ["build/log.txt"]);
    assert_eq!(found(".github"), [".github/workflows/ci.yml"]);
}

#[test]
fn globs_are_about_names_or_about_paths() {
    let ground = project();
    let found = |path: &str, glob: &str| {
        let arguments = json!({"pattern": "pytest", "path": path, "glob": glob});
        let output = ground.call("search", arguments);
        let mut paths: Vec<_> = places(&output).into_iter().map(|(path, _)| path).collect();
        paths.dedup();
        paths.join(" ")
    };
    assert_eq!(found(".", "*.py"), "src/a.py");
    assert_eq!(found(".", "src/*"), "src/a.py src/b.rs");
    assert_eq!(found(".", "/src/*"), "src/a.py src/b.rs");
    assert_eq!(found(".", "./src/*.rs"), "src/b.rs");
    assert_eq!(found(".", "**/*.yml"), ".github/workflows/ci.yml");
    assert_eq!(found(".github", "workflows/*"), ".github/workflows/ci.yml");
    assert_eq!(found(".", "!*.{py,yml}"), "README.md src/b.rs");
    assert_eq!(found(".", "!src/**"), "README.md .github/workflows/ci.yml");
}

#[test]
fn patterns_know_anchors_case_and_line_ends() {
    let ground = Ground::new();
    ground.file("crlf.txt", b"\xEF\xBB\xBFFirst\r\nsecond\r\n").file("z.txt", b"caf\xE9 first\n");
    let found = |pattern: &str| ground.call("search", json!({"pattern": pattern})).text;
    assert!(found("^First$").contains("\ncrlf.txt:1:First"), "{}", found("^First$"));
    assert!(found("second$").contains("\ncrlf.txt:2:second"));
    assert!(found("first").contains("\nz.txt:1:caf\u{FFFD} first"));
    ground.file("lf.txt", "one end\ntwo\nthree end");
    assert!(found(" end$").contains("\nlf.txt:1:one end\nlf.txt:3:three end"));
    assert!(found("^t").contains("\nlf.txt:2:two\nlf.txt:3:three end"));
    assert!(found("(?i)FIRST").starts_with("2 matches in 2 files"));
    assert!(found("^nothing$").starts_with("no match for `^nothing$` in 3 files of the workspace"));
}

#[test]
fn bad_patterns_are_answered_in_words() {
    let ground = Ground::new();
    ground.file("a.txt", "x");
    let long = "x".repeat(3_000);
    let table = [
        (json!({"pattern": "foo("}), "`pattern` is not a regex that this tool understands"),
        (
            json!({"pattern": "a{9999}{9999}"}),
            "`pattern` is not a regex that this tool understands",
        ),
        (json!({"pattern": "a\nb"}), "`pattern` may not contain a line break"),
        (json!({"pattern": ""}), "`pattern` is empty"),
        (json!({"pattern": long}), "`pattern` has more than 2000 characters"),
        (json!({"pattern": "a", "glob": "{a"}), "`glob` is not a file pattern"),
        (json!({"pattern": "a", "path": "none"}), "there is no `none`"),
        (json!({"pattern": "a", "context": -1}), "`context` must be at least 0, not -1"),
        (json!({"query": "a"}), "there is no field `query`; the fields are `pattern`, `path`"),
        (json!({}), "`pattern` is missing: a string is required"),
    ];
    for (arguments, right) in table {
        let output = ground.call("search", arguments);
        assert!(!output.ok && output.text.starts_with(right), "{}", output.text);
    }
}

#[test]
fn many_matches_are_cut_counted_and_recorded_as_shown() {
    let ground = Ground::new();
    ground.file("a.txt", "hit\nmiss\n".repeat(150)).file("b.txt", "hit\n".repeat(150));
    let output = ground.call("search", json!({"pattern": "hit", "context": 1}));
    assert!(output.text.starts_with("300 matches in 2 files, 2 files"));
    let ending = "\n... (100 more) narrow the pattern, path or glob to see them";
    assert!(output.text.ends_with(ending), "{}", &output.text[output.text.len() - 200..]);
    assert!(output.truncated);
    assert_eq!(places(&output), recorded(&output));
    assert_eq!(output.text.lines().filter(|line| line.contains(":hit")).count(), 200);
}

#[test]
fn wide_lines_are_cut_around_the_match_and_room_is_kept() {
    let ground = Ground::new();
    let line = format!("{}needle{}\n", "子".repeat(2_000), "月".repeat(2_000));
    ground.file("wide.txt", line.repeat(190));
    let output = ground.call("search", json!({"pattern": "needle"}));
    assert!(output.text.starts_with("190 matches in 1 file"));
    let first = output.text.lines().nth(1).unwrap();
    assert!(first.starts_with("wide.txt:1:…子"), "{first}");
    assert!(first.contains("子needle月") && first.contains("月… (line cut, 12006 bytes in all)"));
    let shown = places(&output).len() as u64;
    assert!(shown > 80 && shown < 130, "{shown}");
    assert!(output.text.contains(&format!("... ({} more)", 190 - shown)));
    assert_eq!(output.shown, [lines("wide.txt", 1, shown)]);
}

#[test]
fn counting_stops_somewhere_and_says_so() {
    let ground = Ground::new();
    ground.file("a.txt", "hit\n".repeat(30_000)).file("b.txt", "hit\n");
    let output = ground.call("search", json!({"pattern": "hit"}));
    assert!(output.text.starts_with("at least 20000 matches in 1 file, 1 file of"));
    let ending = "... (more than 19800 more) narrow the pattern, path or glob to see them\n\
                  stopped after 20,000 matches";
    assert!(output.text.ends_with(ending), "{}", &output.text[output.text.len() - 200..]);
}

#[test]
fn what_a_rule_hides_is_left_out_under_every_name_and_counted() {
    let ground = Ground::new();
    ground
        .file(".env", "TOKEN=x\n")
        .file("keys/a/b", "TOKEN=y\n")
        .file("keys/c", "TOKEN=z\n")
        .file("open", "TOKEN=o\n");
    std::os::unix::fs::symlink("keys", ground.root().join("link")).unwrap();
    std::os::unix::fs::symlink(".env", ground.root().join("also")).unwrap();
    let rules = Rules::parse::<&str>(&[], &["read_file(.env)"], &["read_file(keys)"]).unwrap();
    let run = ground.run_under(&rules);
    let all = run.call("search", json!({"pattern": "."}));
    assert_eq!(places(&all), [("open".to_owned(), 1)], "{}", all.text);
    assert!(all.text.ends_with("\n3 files left out by a rule"), "{}", all.text);
    for (path, left_out) in
        [(".env", "1 file"), ("also", "1 file"), ("link", "2 files"), ("link/a", "1 file")]
    {
        let found = run.call("search", json!({"pattern": "TOKEN", "path": path, "context": 2}));
        assert!(!found.text.contains('='), "{path}: {}", found.text);
        assert!(found.text.ends_with(&format!("{left_out} left out by a rule")), "{}", found.text);
    }
    let listed = run.call("list_files", json!({"path": "keys", "depth": 3}));
    assert!(listed.text.contains('c'), "{}", listed.text);
    let near = json!({"path": ".env", "old_text": "TOKEN=y", "new_text": "n"});
    let edit = run.call("edit_file", near);
    assert!(
        edit.text.contains("a rule keeps the file") && !edit.text.contains("=x"),
        "{}",
        edit.text
    );
}
