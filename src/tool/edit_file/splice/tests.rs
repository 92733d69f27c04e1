//! Edits by table, and any edits against a naive model.
#![allow(clippy::unwrap_used, clippy::format_collect, clippy::naive_bytecount, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn edit(old_text: &str, new_text: &str, replace_all: bool) -> Edit {
    Edit { old_text: old_text.to_owned(), new_text: new_text.to_owned(), replace_all }
}

fn one(content: &[u8], old: &str, new: &str) -> Result<Vec<u8>, String> {
    apply(content.to_vec(), &[edit(old, new, false)], "f").map(|edited| edited.content)
}

fn all(content: &[u8], old: &str, new: &str) -> Edited {
    apply(content.to_vec(), &[edit(old, new, true)], "f").unwrap()
}

#[test]
fn what_an_edit_does_not_name_stays_as_it_is() {
    let table: &[(&[u8], &str, &str, &[u8])] = &[
        (
            b"a = 1\r\nb = 2\r\nc = 3\r\n",
            "b = 2\nc = 3",
            "b = 22\nc = 3",
            b"a = 1\r\nb = 22\r\nc = 3\r\n",
        ),
        (b"a\r\nb\r\n", "a\n", "a\nx\ny\n", b"a\r\nx\r\ny\r\nb\r\n"),
        (b"a\r\nb\r\n", "a\r\n", "a\r\nx\n", b"a\r\nx\r\nb\r\n"),
        (b"a\nb", "b", "b\r\nc", b"a\nb\nc"),
        (b"\xEF\xBB\xBFx = 1\ny = 2\n", "x = 1", "x = 9", b"\xEF\xBB\xBFx = 9\ny = 2\n"),
        (b"\xEF\xBB\xBFx\n", "\u{feff}x", "\u{feff}y", b"\xEF\xBB\xBFy\n"),
        (b"k = 1\nm = 2", "m = 2", "m = 3", b"k = 1\nm = 3"),
        (b"k = 1\nm = 2", "m = 2", "m = 2\n", b"k = 1\nm = 2\n"),
        (b"k\r\nm", "m", "m\nn", b"k\r\nm\r\nn"),
        (b"a\r\nb\nc\r\nd\n", "b\nc\n", "b\nx\nc\n", b"a\r\nb\nx\r\nc\r\nd\n"),
        (b"a\rb\r\r\nc", "b\r\r\n", "b\rx\r\n", b"a\rb\rx\r\nc"),
        ("nä\u{fffd}ive 1".as_bytes(), "ive 1", "ive 2", "nä\u{fffd}ive 2".as_bytes()),
        (b"x = 1\n// caf\xE9 note\n", "x = 1", "x = 2", b"x = 2\n// caf\xE9 note\n"),
        (b"x = 1\n\xD6\xD0\xCE\xC4\n", "x = 1\n", "", b"\xD6\xD0\xCE\xC4\n"),
        (b"caf\xE9 = 1", " = 1", " = 2", b"caf\xE9 = 2"),
        (b"one", "one", "", b""),
        (b"a\0b", "b", "c", b"a\0c"),
    ];
    for (content, old, new, right) in table {
        let edited = one(content, old, new);
        assert_eq!(edited.as_deref(), Ok(*right), "{old:?} -> {new:?}");
    }
}

#[test]
fn all_places_are_replaced_from_the_left_and_their_lines_told() {
    let edited = all(b"a\r\na b\r\nc\r\na", "a", "x\ny");
    assert_eq!(edited.content, b"x\r\ny\r\nx\r\ny b\r\nc\r\nx\r\ny");
    assert_eq!((edited.replacements, edited.lines), (3, vec![1, 3, 6]));
    assert_eq!(all(b"aaaa a", "aa", "b").content, b"bb a");
    assert_eq!(all(b"aaaa a", "aa", "b").lines, [1]);
}

#[test]
fn several_edits_are_made_in_order_on_what_the_ones_before_left() {
    let edits =
        [edit("three", "3", false), edit("one\n", "", false), edit("two", "two\n2.5", false)];
    let edited = apply(b"one\ntwo\nthree\n".to_vec(), &edits, "f").unwrap();
    assert_eq!(edited.content, b"two\n2.5\n3\n");
    // The one that was deleted is where the file begins now.
    assert_eq!((edited.replacements, edited.lines), (3, vec![1, 3]));
    let edits = [edit("one", "two", false), edit("two", "x", true)];
    assert_eq!(apply(b"one two".to_vec(), &edits, "f").unwrap().content, b"x x");
}

#[test]
fn a_failing_edit_fails_all_and_says_which_and_why() {
    let error = |edits: &[Edit]| apply(b"a\nb\nb\n".to_vec(), edits, "f.txt").unwrap_err();
    let second = [edit("a", "A", false), edit("nope", "N", false), edit("b", "B", true)];
    let right = "edit 2 of 3: `old_text` is not in `f.txt`; none of the edits was made";
    assert_eq!(error(&second), right);
    let right = "`old_text` is there 2 times in `f.txt` (lines 2 and 3); add lines around the one \
                 that is meant, or set replace_all; nothing was changed";
    assert_eq!(error(&[edit("b", "B", false)]), right);
    assert!(error(&[edit("", "B", false)]).starts_with("`old_text` is empty; write_file"));
    assert!(error(&[edit("a", "a", false)]).starts_with("`old_text` and `new_text` are the same"));
    assert!(error(&[edit("a\r\n", "a\n", false)]).contains("differ in their line ends only"));
    let error = one(b"aaa", "aa", "b").unwrap_err();
    assert!(error.contains("2 times in `f` (lines 1 and 1)"), "{error}");
}

#[test]
fn a_file_that_is_no_utf_8_gets_nothing_that_it_could_not_hold() {
    let latin: &[u8] = b"// caf\xE9x = 1\ny = 2\n";
    let error = one(latin, "y = 2", "y = \u{e9}").unwrap_err();
    assert!(error.contains("is not UTF-8, so only ASCII text can be put into it"), "{error}");
    let error = one(latin, "x = 1", "x = 2").unwrap_err();
    assert!(error.contains("may be half of a character"), "{error}");
    let error = one(latin, "caf\u{fffd}x", "c").unwrap_err();
    assert!(error.contains("which is not UTF-8: characters that read_file shows"), "{error}");
}

#[test]
fn an_edit_that_would_make_a_giant_is_refused_before_it_is_made() {
    let content = b"a".repeat(90_000);
    let giant = edit("a", &"b".repeat(1_000), true);
    let error = apply(content, &[giant], "f").unwrap_err();
    assert!(error.starts_with("the file would have more than 10.4 MB"), "{error}");
    let often = apply(b"a".repeat(200_000), &[edit("a", "b", true)], "f").unwrap_err();
    assert!(often.contains("more than 100000 times"), "{often}");
    let often = apply(b"a".repeat(200_000), &[edit("a", "b", false)], "f").unwrap_err();
    assert!(often.contains("more than 100000 times in `f` (lines 1, 1"), "{often}");
}

#[test]
fn what_is_like_the_missing_text_is_shown() {
    let content = b"fn add(a: u32) -> u32 {\n\tlet sum = a + 1;\n\tsum\n}\n";
    let error = one(content, "    let sum = a + 1;\n    sum\n", "x").unwrap_err();
    let right = "`old_text` is not in `f`; with other blanks it is there, as\n\
                 2\t\tlet sum = a + 1;\n3\t\tsum\n; nothing was changed";
    assert_eq!(error, right);
    let error = one(content, "fn add(b: u32) -> u64 {\n", "x").unwrap_err();
    assert!(error.contains("; the nearest lines are\n1\tfn add(a: u32) -> u32 {\n;"), "{error}");
    let error = one(content, "2\t\tlet sum = a + 1;\n3\t\tsum\n", "x").unwrap_err();
    assert!(error.contains("with the line numbers that read_file puts"), "{error}");
    assert_eq!(
        one(content, "zzzz", "x").unwrap_err(),
        "`old_text` is not in `f`; nothing was changed"
    );
}

/// The same on text as a person thinks of it: lines and their ends, apart from each other.
fn naive(content: &str, old: &str, new: &str) -> String {
    content.replacen(old, new, 1)
}

fn any_content() -> impl Strategy<Value = Vec<(String, &'static str)>> {
    let line = prop::sample::select(vec!["a", "b", "ab", "", "é子", "x = 1", "c\rd"]);
    let end = prop::sample::select(vec!["\n", "\r\n"]);
    prop::collection::vec((line.prop_map(str::to_owned), end), 0..12)
}

fn cases() -> ProptestConfig {
    let soak = std::env::var_os("OFFSHOOT_SOAK").is_some_and(|value| value == "1");
    ProptestConfig { cases: if soak { 20_000 } else { 300 }, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn any_edit_is_the_naive_one_and_leaves_other_bytes_alone(
        lines in any_content(),
        uniform in any::<bool>(),
        mark in any::<bool>(),
        cut_end in any::<bool>(),
        from in 0_usize..12,
        count in 1_usize..4,
        new in prop::collection::vec(prop::sample::select(vec!["a", "Z", "é", "x = 2", ""]), 1..4),
    ) {
        let end_of = |end: &'static str| if uniform { "\r\n" } else { end };
        let mut raw: String = lines.iter().map(|(line, end)| format!("{line}{}", end_of(end))).collect();
        if cut_end {
            raw.truncate(raw.trim_end_matches(['\r', '\n']).len());
        }
        let body = raw.clone();
        if mark {
            raw.insert(0, '\u{feff}');
        }
        let plain = body.replace("\r\n", "\n");
        let chosen: Vec<&str> = plain.split('\n').skip(from).take(count).collect();
        let (old, new) = (chosen.join("\n"), new.join("\n"));
        let edited = apply(raw.clone().into_bytes(), &[edit(&old, &new, false)], "f");
        let places = if old.is_empty() { 0 } else {
            (0..plain.len()).filter(|at| plain.as_bytes()[*at..].starts_with(old.as_bytes())).count()
        };
        if places != 1 || old == new {
            prop_assert!(edited.is_err());
            return Ok(());
        }
        let content = String::from_utf8(edited.unwrap().content).unwrap();
        // The text is the naive one.
        let after = content.strip_prefix('\u{feff}').unwrap_or(&content);
        prop_assert_eq!(mark, content.starts_with('\u{feff}'));
        let right = naive(&plain, &old, &new).replace("\r\n", "\n");
        prop_assert_eq!(after.replace("\r\n", "\n"), right);
        // The bytes before and after the place are the same.
        let at = plain.find(&old).unwrap();
        let raw_at = |plain_at: usize| {
            let mut left = plain_at;
            let mut raw_at = 0;
            while left > 0 {
                raw_at += if body.as_bytes()[raw_at..].starts_with(b"\r\n") { 2 } else { 1 };
                left -= 1;
            }
            raw_at
        };
        let (head, tail) = (&body[..raw_at(at)], &body[raw_at(at + old.len())..]);
        prop_assert!(after.starts_with(head), "{:?} {:?}", after, head);
        prop_assert!(after.ends_with(tail), "{:?} {:?}", after, tail);
        // Where all lines end alike, the new ones do, too.
        if uniform && !after.is_empty() {
            let bare = after.replace("\r\n", "");
            prop_assert!(!bare.contains('\n') || !body.contains("\r\n"), "{:?}", after);
        }
    }

    #[test]
    fn any_bytes_and_any_edits_never_panic_and_keep_undecodable_bytes(
        content in prop::collection::vec(prop::sample::select(
            vec![b'a', b'b', b'\n', b'\r', 0xE9, 0xEF, 0xBB, 0xBF, 0xD6, 0]), 0..60),
        edits in prop::collection::vec(("[ab\r\né\u{feff}]{0,3}", "[abx\r\né]{0,3}", any::<bool>()), 1..4),
    ) {
        let edits: Vec<Edit> =
            edits.iter().map(|(old, new, all)| edit(old, new, *all)).collect();
        let count = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == 0xD6).count();
        if let Ok(edited) = apply(content.clone(), &edits, "f") {
            prop_assert_eq!(count(&edited.content), count(&content));
            prop_assert!(edited.lines.is_sorted() && edited.lines.len() <= edited.replacements);
        }
    }
}
