//! Diffs by table, and any diff put on again.
#![allow(clippy::unwrap_used, clippy::format_collect, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn text(old: &str, new: &str) -> String {
    unified("f", Old::Content(old.as_bytes()), new.as_bytes()).text
}

#[test]
fn a_change_is_shown_with_three_lines_around_it() {
    let old: String = (1..=20).map(|line| format!("{line}\n")).collect();
    let new = old.replace("10\n", "ten\n").replace("20\n", "20");
    let diff = unified("src/a.rs", Old::Content(old.as_bytes()), new.as_bytes());
    let right = "--- a/src/a.rs\n+++ b/src/a.rs\n\
                 @@ -7,7 +7,7 @@\n 7\n 8\n 9\n-10\n+ten\n 11\n 12\n 13\n\
                 @@ -17,4 +17,4 @@\n 17\n 18\n 19\n-20\n+20\n\\ No newline at end of file\n";
    assert_eq!(diff.text, right);
    assert_eq!((diff.added, diff.removed), (2, 2));
}

#[test]
fn new_emptied_and_equal_files_have_the_usual_forms() {
    let new = unified("a\nb", Old::None, b"x\ny");
    let right =
        "--- /dev/null\n+++ b/a\\nb\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n";
    assert_eq!((new.text.as_str(), new.added, new.removed), (right, 2, 0));
    assert_eq!(text("x\n", ""), "--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-x\n");
    assert_eq!(text("", "x\n"), "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+x\n");
    assert_eq!(text("x\n", "x\n"), "--- a/f\n+++ b/f\n");
}

#[test]
fn what_cannot_be_shown_is_named_so_that_another_content_is_another_diff() {
    let binary = |old: &[u8]| unified("f", Old::Content(old), b"x\n");
    let diff = binary(b"a\0b");
    assert!(diff.text.contains("(all of the old content goes: binary, 3 B, sha256 "));
    assert!(diff.text.ends_with("@@ -0,0 +1 @@\n+x\n"), "{}", diff.text);
    assert_ne!(diff, binary(b"a\0c"));
    let large = unified("f", Old::TooLarge(20_000_000), b"x\n").text;
    assert!(large.contains("too large to be shown, 20.0 MB"), "{large}");
}

#[test]
fn a_long_diff_is_cut_and_says_what_the_whole_was() {
    let content = |last: &str| format!("{}{last}\n", "line of text\n".repeat(20_000));
    let diff = |last: &str| unified("f", Old::None, content(last).as_bytes());
    let one = diff("one");
    assert!(one.text.len() < MAX_DIFF_BYTES + 200);
    let note = one.text.lines().last().unwrap();
    assert!(
        note.starts_with("... (diff cut: 1") && note.contains(" lines more, sha256 "),
        "{note}"
    );
    assert_eq!((one.added, one.removed), (20_001, 0));
    assert_ne!(one.text, diff("two").text, "they differ beyond the cut");
    let wide = unified("f", Old::None, "子".repeat(100_000).as_bytes()).text;
    assert!(wide.len() > MAX_DIFF_BYTES - 100 && wide.len() < MAX_DIFF_BYTES + 200);
}

#[test]
fn huge_changes_are_told_in_bounded_time() {
    let many = |from: u32| (from..from + 200_000).map(|n| format!("{n}\n")).collect::<String>();
    let diff = unified("f", Old::Content(many(0).as_bytes()), many(1_000_000).as_bytes());
    assert_eq!((diff.added, diff.removed), (200_000, 200_000));
    let (old, new) = (many(0), many(0).replace("\n777\n", "\nchanged\n"));
    let diff = unified("f", Old::Content(old.as_bytes()), new.as_bytes());
    assert_eq!((diff.added, diff.removed), (1, 1));
}

/// Puts a diff on a text, as `patch` does.
fn patched(old: &str, diff: &str) -> String {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let (mut new, mut at) = (String::new(), 0);
    let mut lines = diff.split_inclusive('\n').skip(2).peekable();
    while let Some(line) = lines.next() {
        if let Some(place) = line.strip_prefix("@@ -") {
            let (start, rest) = place.split_once([',', ' ']).unwrap();
            let start: usize = start.parse().unwrap();
            let start = if rest.starts_with("0 ") { start } else { start - 1 };
            new.extend(old[at..start].iter().copied());
            at = start;
            continue;
        }
        let ends = !lines.peek().is_some_and(|next| next.starts_with('\\'));
        let body = if ends { &line[1..] } else { line[1..].trim_end_matches('\n') };
        match line.chars().next().unwrap() {
            ' ' | '-' => {
                assert_eq!(body, old[at]);
                at += 1;
                if line.starts_with(' ') {
                    new.push_str(body);
                }
            }
            '+' => new.push_str(body),
            _ => assert!(line.starts_with("\\ No newline")),
        }
    }
    new.extend(old[at..].iter().copied());
    new
}

fn any_text() -> impl Strategy<Value = String> {
    let line = prop::sample::select(vec!["a", "b", "c", "", "子", "\\ x"]);
    (prop::collection::vec(line, 0..30), any::<bool>())
        .prop_map(|(lines, end)| lines.join("\n") + if end { "\n" } else { "" })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("OFFSHOOT_SOAK").is_some_and(|value| value == "1") { 20_000 } else { 300 },
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_diff_put_on_the_old_text_gives_the_new_one(old in any_text(), new in any_text()) {
        prop_assert_eq!(patched(&old, &text(&old, &new)), new);
    }
}
