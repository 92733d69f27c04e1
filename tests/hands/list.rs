//! What `list_files` shows of a folder.

use offshoot::tool::Shown;
use serde_json::json;

use crate::ground::Ground;

fn folders(paths: &[&str]) -> Vec<Shown> {
    paths.iter().map(|path| Shown::Folder { path: (*path).to_owned() }).collect()
}

fn project() -> Ground {
    let ground = Ground::new();
    ground
        .file("Cargo.toml", "x".repeat(2_149))
        .file("src/main.rs", "fn main() {}\n")
        .file("src/deep/er/a.rs", "")
        .file("src-gen/a.rs", "")
        .file("target/debug/big", "")
        .file("target/.stamp", "")
        .file(".gitignore", "/target\n*.log\n!keep.log\n# a comment\n")
        .file("a.log", "")
        .file("keep.log", "")
        .file("src/.gitignore", "er/\n")
        .file(".github/workflows/ci.yml", "run: cargo test\n")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .folder("empty");
    ground
}

#[test]
fn a_folder_is_listed_with_sizes_and_what_is_left_out() {
    let ground = project();
    let output = ground.call("list_files", json!({}));
    assert_eq!(
        output.text,
        "(5 entries in the workspace)\n\
         Cargo.toml  2.1 KB\n\
         empty/\n\
         keep.log  0 B\n\
         src/\n\
         src-gen/\n\
         (left out: 2 hidden: .github/, .gitignore; hidden: true shows them)\n\
         (left out: 2 git-ignored: a.log, target/; name one as path to see into it)"
    );
    assert_eq!(output.shown, folders(&["."]));
    assert!(!output.truncated);
}

#[test]
fn depth_goes_down_and_rules_of_folders_below_hold() {
    let ground = project();
    let output = ground.call("list_files", json!({"path": "src", "depth": 3}));
    assert_eq!(
        output.text,
        "(2 entries in `src`)\n\
         src/deep/\n\
         src/main.rs  13 B\n\
         (left out: 1 hidden: src/.gitignore; hidden: true shows them)\n\
         (left out: 1 git-ignored: src/deep/er/; name one as path to see into it)"
    );
    assert_eq!(output.shown, folders(&["src", "src/deep"]));
    let output = ground.call("list_files", json!({"depth": 99}));
    assert!(output.text.contains("\nsrc/\nsrc/deep/\nsrc/main.rs  13 B\nsrc-gen/\nsrc-gen/a.rs"));
}

#[test]
fn hidden_entries_are_shown_when_asked_for_but_never_those_of_git() {
    let ground = project();
    let output = ground.call("list_files", json!({"hidden": true, "depth": 3}));
    assert!(output.text.contains("\n.github/workflows/ci.yml  16 B\n"), "{}", output.text);
    assert!(output.text.contains("\n.gitignore  "), "{}", output.text);
    assert!(!output.text.contains(".git/"), "{}", output.text);
    let output = ground.call("list_files", json!({"path": ".github", "depth": 2}));
    assert!(output.text.contains("\n.github/workflows/ci.yml  16 B"), "{}", output.text);
}

#[test]
fn an_ignored_folder_is_listed_when_it_is_named() {
    let ground = project();
    let output = ground.call("list_files", json!({"path": "target", "depth": 2}));
    assert!(output.text.contains("\ntarget/debug/\ntarget/debug/big  0 B\n"), "{}", output.text);
    let below = ground.call("list_files", json!({"path": "src/deep/er"}));
    assert!(below.text.ends_with("\nsrc/deep/er/a.rs  0 B"), "{}", below.text);
}

#[test]
fn rules_of_the_folders_above_a_scope_still_hide() {
    let ground = project();
    ground
        .file("src/b.log", "")
        .file(".git/info/exclude", "private*\n")
        .file("src/private.txt", "");
    let output = ground.call_within(&["src"], "list_files", json!({"path": "src"}));
    assert!(output.text.contains("2 git-ignored: src/b.log, src/private.txt;"), "{}", output.text);
}

#[test]
fn an_empty_folder_and_a_file_are_said_in_words() {
    let ground = project();
    let output = ground.call("list_files", json!({"path": "empty"}));
    assert_eq!((output.ok, output.text.as_str()), (true, "(`empty` is empty)"));
    assert_eq!(output.shown, folders(&["empty"]));
    let output = ground.call("list_files", json!({"path": "Cargo.toml"}));
    assert_eq!(output.text, "(1 entry in `Cargo.toml`)\nCargo.toml  2.1 KB");
    assert_eq!(output.shown, []);
    let output = ground.call("list_files", json!({"path": "nothing"}));
    assert_eq!(output.text, "there is no `nothing`; list_files shows what there is");
}

#[test]
fn a_folder_where_everything_is_left_out_is_not_called_empty() {
    let ground = Ground::new();
    ground.file("a/.hidden", "");
    let output = ground.call("list_files", json!({"path": "a"}));
    let right = "(`a` shows no entries)\n\
                 (left out: 1 hidden: a/.hidden; hidden: true shows them)";
    assert_eq!(output.text, right);
}

#[test]
fn links_say_where_they_lead() {
    let ground = Ground::new();
    ground
        .file("d/a.txt", "12345")
        .link("to-dir", "d")
        .link("to-file", "d/a.txt")
        .link("to-nothing", "d/none")
        .link("to-self", "to-self")
        .link("way-out", "../outside");
    let output = ground.call("list_files", json!({"depth": 3}));
    assert_eq!(
        output.text,
        "(7 entries in the workspace)\n\
         d/\n\
         d/a.txt  5 B\n\
         to-dir  (link to a folder)\n\
         to-file  (link to a file, 5 B)\n\
         to-nothing  (link to nothing)\n\
         to-self  (link that goes round in circles)\n\
         way-out  (link that leads out of what this run may see)"
    );
}

#[test]
fn many_entries_are_cut_deepest_first_and_counted() {
    let ground = Ground::new();
    for number in 0..1_500 {
        ground.file(&format!("many/deep/{number:04}"), "");
    }
    ground.file("many/near.txt", "").file("z.txt", "");
    let output = ground.call("list_files", json!({"depth": 8}));
    assert!(output.text.starts_with("(1000 entries in the workspace)\nmany/\nmany/deep/\n"));
    assert!(output.text.contains("\nmany/near.txt  0 B\n"));
    let ending =
        "\nz.txt  0 B\n... (504 more) ask for less depth or for a folder below to see them";
    assert!(output.text.ends_with(ending), "{}", &output.text[output.text.len() - 200..]);
    assert!(output.truncated);
}

#[test]
fn names_that_need_more_room_than_there_is_are_cut_too() {
    let ground = Ground::new();
    for number in 0..400 {
        ground.file(&format!("{}{number:03}", "子".repeat(80)), "");
        ground.file(&format!("{}/{number:03}", ["d".repeat(200), "e".repeat(200)].join("/")), "");
    }
    let output = ground.call("list_files", json!({"depth": 8}));
    let rows = output.text.lines().filter(|line| line.ends_with("0 B") || line.ends_with('/'));
    let rows = rows.count();
    assert!(rows > 100 && rows < 400, "{rows}");
    assert!(output.text.starts_with(&format!("({rows} entries")));
    assert!(output.text.contains(&format!("... ({} more)", 802 - rows)), "{rows}");
}
