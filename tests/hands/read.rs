//! What `read_file` shows of a text file.

use offshoot::tool::Shown;
use serde_json::json;

use crate::ground::Ground;

fn lines(path: &str, from: u64, to: u64) -> Vec<Shown> {
    vec![Shown::Lines { path: path.to_owned(), from, to }]
}

/// The line numbers that a text really has before its tabs.
fn numbers(text: &str) -> Vec<u64> {
    let number = |line: &str| line.split_once('\t').and_then(|(number, _)| number.parse().ok());
    text.lines().filter_map(number).collect()
}

#[test]
fn a_small_file_is_shown_whole_with_numbers() {
    let ground = Ground::new();
    ground.file("src/a.rs", "fn a() {}\n\n\tlast");
    let output = ground.call("read_file", json!({"path": "./src//a.rs"}));
    assert_eq!(output.text, "src/a.rs, 3 lines\n1\tfn a() {}\n2\t\n3\t\tlast");
    assert_eq!(output.shown, lines("src/a.rs", 1, 3));
    assert_eq!((output.ok, output.truncated), (true, false));
    assert_eq!(output.bytes, output.text.len() as u64);
    let one = ground.file("one", "x\n").call("read_file", json!({"path": "one"}));
    assert_eq!(one.text, "one, 1 line\n1\tx");
}

#[test]
fn a_part_says_where_it_lies_and_how_to_read_on() {
    let ground = Ground::new();
    let numbers: Vec<String> = (1..=200_000).map(|number| number.to_string()).collect();
    let content = numbers.join("\n") + "\n";
    ground.file("lines.txt", &content);
    let part = json!({"path": "lines.txt", "offset": 150_000, "limit": 3});
    let output = ground.call("read_file", part);
    assert_eq!(
        output.text,
        "lines.txt, lines 150000-150002 of 200000\n\
         150000\t150000\n150001\t150001\n150002\t150002\n\
         ... (49998 more) offset 150003 reads on"
    );
    assert_eq!(output.shown, lines("lines.txt", 150_000, 150_002));
    assert_eq!((output.truncated, output.bytes), (true, content.len() as u64));
    let end = ground.call("read_file", json!({"path": "lines.txt", "offset": 200_000}));
    assert_eq!(end.text, "lines.txt, lines 200000-200000 of 200000\n200000\t200000");
    assert!(!end.truncated);
}

#[test]
fn without_a_limit_two_thousand_lines_are_shown() {
    let ground = Ground::new();
    ground.file("a.txt", "x\n".repeat(2_001));
    let output = ground.call("read_file", json!({"path": "a.txt"}));
    assert!(output.text.ends_with("\n2000\tx\n... (1 more) offset 2001 reads on"));
    assert_eq!(output.shown, lines("a.txt", 1, 2_000));
}

#[test]
fn what_has_no_room_is_cut_at_a_line_and_shown_says_what_is_there() {
    let ground = Ground::new();
    ground.file("wide.txt", format!("{}\n", "子".repeat(150)).repeat(1_000));
    let output = ground.call("read_file", json!({"path": "wide.txt"}));
    let there = numbers(&output.text);
    let last = *there.last().unwrap();
    assert!(last > 300 && last < 330, "{last}");
    assert_eq!(there, (1..=last).collect::<Vec<_>>());
    assert_eq!(output.shown, lines("wide.txt", 1, last));
    let ending = format!("子\n... ({} more) offset {} reads on", 1_000 - last, last + 1);
    assert!(output.text.ends_with(&ending));
    let next = json!({"path": "wide.txt", "offset": last + 1});
    assert_eq!(numbers(&ground.call("read_file", next).text).first(), Some(&(last + 1)));
}

#[test]
fn line_ends_marks_and_bad_bytes_are_tolerated_and_told() {
    let ground = Ground::new();
    ground
        .file("crlf.txt", b"\xEF\xBB\xBFone\r\ntwo\r\n")
        .file("latin.txt", b"caf\xE9\nx = 1\n")
        .file("late-nul.txt", [b"a\n".repeat(5_000), b"\0".to_vec()].concat());
    let text = |arguments| ground.call("read_file", arguments).text;
    assert_eq!(
        text(json!({"path": "crlf.txt"})),
        "crlf.txt, 2 lines, starts with a UTF-8 byte order mark, CRLF line ends\n1\tone\n2\ttwo"
    );
    assert_eq!(
        text(json!({"path": "latin.txt"})),
        "latin.txt, 2 lines, not all UTF-8: undecodable bytes are shown as \u{FFFD} or \u{2400}\n\
         1\tcaf\u{FFFD}\n2\tx = 1"
    );
    assert!(text(json!({"path": "late-nul.txt", "offset": 5_001})).ends_with("\n5001\t\u{2400}"));
}

#[test]
fn a_long_line_is_cut_between_characters() {
    let ground = Ground::new();
    ground.file("long.txt", format!("a{}\nnext\n", "子".repeat(3_000)));
    let output = ground.call("read_file", json!({"path": "long.txt"}));
    let right = format!(
        "long.txt, 2 lines\n1\ta{}… (line cut, {} bytes more; search shows other parts)\n2\tnext",
        "子".repeat(1_999),
        1_001 * 3
    );
    assert_eq!(output.text, right);
    assert!(output.truncated);
}

#[test]
fn what_cannot_be_shown_is_answered_in_words() {
    let ground = Ground::new();
    ground.file("src/a.rs", "1\n2\n");
    let table = [
        (json!({"path": "src"}), "`src` is a folder; list_files shows what is in it"),
        (json!({"path": "no.rs"}), "there is no `no.rs`; list_files shows what there is"),
        (json!({"path": "src/a.rs/b"}), "`src/a.rs/b` goes through something that is not a folder"),
        (json!({"path": "src/a.rs", "offset": 3}), "there is no line 3: `src/a.rs` has 2 lines"),
        (json!({"path": "src/a.rs", "offset": 99}), "there is no line 99: `src/a.rs` has 2 lines"),
        (json!({"path": "src/a.rs", "limit": 0}), "`limit` must be at least 1, not 0"),
        (json!({}), "`path` is missing: a string is required"),
        (json!(""), "`path` is missing: a string is required"),
        (json!({"path": ""}), "`.` is a folder; list_files shows what is in it"),
    ];
    for (arguments, right) in table {
        let output = ground.call("read_file", arguments);
        assert_eq!((output.ok, output.text.as_str()), (false, right));
    }
}

#[test]
fn an_unreadable_file_is_answered_in_words() {
    use std::os::unix::fs::PermissionsExt as _;
    let ground = Ground::new();
    ground.file("locked/a.txt", "needle");
    let locked = ground.root().join("locked");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read_dir(&locked).is_ok() {
        crate::aloud::skipped("this user may read everything");
        return;
    }
    let text = |tool, arguments| ground.call(tool, arguments).text;
    let denied = "permission to read `locked/a.txt` is denied by the system";
    assert_eq!(text("read_file", json!({"path": "locked/a.txt"})), denied);
    let denied = "permission to read `locked` is denied by the system";
    assert_eq!(text("list_files", json!({"path": "locked"})), denied);
    let listed = text("list_files", json!({"depth": 2}));
    assert!(listed.ends_with("(left out: 1 that could not be read: locked/)"), "{listed}");
    let found = text("search", json!({"pattern": "needle"}));
    assert!(found.ends_with("not searched: 1 unreadable entry"), "{found}");
    std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o700)).unwrap();
}
