#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;

fn parts(command: &str) -> Vec<String> {
    command_words(command).parts.iter().map(|words| words.join("·")).collect()
}

#[test]
fn words_parts_and_quotes_are_taken_apart() {
    let table: &[(&str, &[&str])] = &[
        ("", &[]),
        ("  \n ", &[]),
        ("cargo test", &["cargo·test"]),
        ("a 'b c' \"d e\" f\\ g ''", &["a·b c·d e·f g·"]),
        ("a;b && c || d | e & f\ng", &["a", "b", "c", "d", "e", "f", "g"]),
        ("(cd x && make) ; ls", &["cd·x", "make", "ls"]),
        ("echo a#b #c; rm x\nls", &["echo·a#b", "ls"]),
        ("FOO=1 cargo test", &["FOO=1·cargo·test"]),
        ("echo \"a\\\"b\\$c\\d\"", &["echo·a\"b$c\\d"]),
        ("l\\s -\\\nla", &["ls·-la"]),
        ("! grep x y", &["grep·x·y"]),
        ("echo $HOME \"$X\"", &["echo·$HOME·$X"]),
        ("a |& b", &["a", "b"]),
    ];
    for (command, right) in table {
        assert_eq!(&parts(command), right, "{command}");
        assert!(command_words(command).complete, "{command}");
    }
}

#[test]
fn redirections_are_no_words() {
    let table: &[(&str, &str, &[&str])] = &[
        ("make > out.txt 2>&1", "make", &["out.txt"]),
        ("make >>out 2>/dev/null <in", "make", &["out", "/dev/null"]),
        ("make &>all &>>more", "make", &["all", "more"]),
        ("make >|x <>y >&z 2>&- 3>&1-", "make", &["x", "y", "z"]),
        ("> 'a b' make 12", "make·12", &["a b"]),
        ("cat <<< 'x > y' ", "cat", &[]),
        ("echo 2 >x", "echo·2", &["x"]),
        ("echo a2>x", "echo·a2", &["x"]),
    ];
    for (command, words, writes) in table {
        let parsed = command_words(command);
        assert_eq!(parts(command), [*words], "{command}");
        assert_eq!(&parsed.writes, writes, "{command}");
        assert!(parsed.complete, "{command}");
    }
}

#[test]
fn what_is_more_than_words_is_said_not_to_be_whole() {
    let table: &[(&str, &[&str])] = &[
        ("echo $(rm x; ls)", &["rm·x", "ls", "echo·"]),
        ("echo \"a $(date +'%H)') b\"", &["date·+%H)", "echo·a  b"]),
        ("echo `rm x`", &["rm·x", "echo·"]),
        ("diff <(sort a) b", &["sort·a", "diff··b"]),
        ("tee >(wc)", &["wc", "tee·"]),
        ("if true; then rm x; fi", &["true", "rm·x"]),
        ("for i in a b; do rm $i; done", &["for·i·in·a·b", "rm·$i"]),
        ("f() { rm x; }", &["f", "rm·x"]),
        ("x=(a b)", &["x=", "a·b"]),
        ("cat <<EOF > f\nsudo x\nEOF\nls", &["cat", "ls"]),
        ("cat <<-'E F'\n\tsudo x\n\tE F\nls", &["cat", "ls"]),
        ("cat <<EOF\nnever ends", &["cat"]),
        ("echo 'open", &["echo·open"]),
        ("echo \"open", &["echo·open"]),
        ("echo ${A:-$(rm x)}", &["rm·x", "echo·${A:-}"]),
        ("echo $'a\\'b'", &["echo·a\\'b"]),
        ("echo \\", &["echo"]),
        ("echo >", &["echo"]),
        ("[[ a == b ]]", &["[[·a·==·b·]]"]),
        ("case x in a) rm y;; esac", &["case·x·in·a", "rm·y"]),
    ];
    for (command, right) in table {
        assert_eq!(&parts(command), right, "{command}");
        assert!(!command_words(command).complete, "{command}");
    }
}

#[test]
fn deep_nesting_ends() {
    let deep = format!("{}x{}", "$(".repeat(10_000), ")".repeat(10_000));
    assert!(!command_words(&deep).complete);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("OFFSHOOT_SOAK").is_some_and(|value| value == "1") { 20_000 } else { 256 }))]

    #[test]
    fn no_text_is_too_odd(command in "[ab '\"\\\\$(){}<>|&;#`\\n!0-9/-]{0,60}") {
        let parsed = command_words(&command);
        prop_assert!(parsed.parts.iter().all(|words| !words.is_empty()));
    }

    #[test]
    fn quoted_words_come_back_as_they_were(words in proptest::collection::vec("[^']{0,12}", 1..6)) {
        let command: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let parsed = command_words(&format!("run {}", command.join(" ")));
        prop_assert!(parsed.complete);
        prop_assert_eq!(&parsed.parts[0][1..], &words[..]);
    }
}
