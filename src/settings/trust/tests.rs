#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn file(path: &str, text: &str) -> OwnFile {
    OwnFile { path: path.to_owned(), text: Ok(text.to_owned()) }
}

fn answered(trusted: bool, files: &[OwnFile]) -> Answered {
    let files = files.iter().map(|f| Remembered::new(&f.path, f.sha256(), f.shown())).collect();
    Answered { folder: "/p".to_owned(), trusted, files }
}

#[test]
fn a_file_that_cannot_be_read_is_no_file_that_says_so() {
    let unreadable = OwnFile { path: "a".to_owned(), text: Err("denied".to_owned()) };
    for text in ["denied", "(denied)\n", "\0denied"] {
        let same = unreadable.sha256() == file("a", text).sha256();
        assert_eq!(same, text.starts_with('\0'), "only a text that no such file holds");
    }
}

#[test]
fn what_was_too_long_to_keep_is_compared_by_hash() {
    let long = "x\n".repeat(100_000);
    let before = answered(true, &[file("a", &long)]);
    assert!(before.files[0].text.is_none());
    let now = [file("a", &format!("{long}y\n"))];
    let changes = changes(&now, Some(&before));
    assert_eq!(changes[0].state, FileState::Changed);
    assert!(changes[0].diff.starts_with("(what it held before was too long to keep)"));
    let same = [file("a", &long)];
    assert_eq!(super::changes(&same, Some(&before))[0].state, FileState::Same);
}

#[test]
fn a_long_difference_is_cut_on_a_character() {
    let text = diff(Some(""), &"中文\n".repeat(20_000));
    assert!(text.len() < MOST_DIFF + 100 && text.contains("(cut: about"), "{}", text.len());
}

#[test]
fn the_oldest_answers_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("deep/trust.json");
    for number in 0..230 {
        let folder = format!("/p{number}");
        Store::remember(&store, Answered { folder, ..answered(true, &[]) }).unwrap();
    }
    let kept = Store::load(&store).unwrap();
    assert!(kept.answer("/p0").is_none() && kept.answer("/p29").is_none());
    assert!(kept.answer("/p30").is_some() && kept.answer("/p229").is_some());
}
