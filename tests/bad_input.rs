//! What a person can get wrong, or find broken around the program: each ends with one clear text on
//! standard error, the exit code of the manual, and no panic.
#![allow(clippy::unwrap_used, reason = "tests; a skipped one says so")]

#[path = "common/aloud.rs"]
mod aloud;
#[path = "common/powers.rs"]
mod powers;
#[path = "common/program.rs"]
mod program;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use program::{Ended, Ground, QUESTION, finish, wait};
use serde_json::Value;

/// Checks a run that failed: its code, what it said, and that it said nothing else anywhere.
fn refused(ended: &Ended, code: i32, expected: &[&str]) {
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert!(ended.err.starts_with("offshoot: "), "{ended:?}");
    assert!(!ended.err.contains("panicked"), "{ended:?}");
    for words in expected {
        assert!(ended.err.contains(words), "no `{words}` in {ended:?}");
    }
    assert_eq!(ended.out, "", "{ended:?}");
}

/// As [`refused`], in one line.
fn refused_in_a_sentence(ended: &Ended, code: i32, expected: &[&str]) {
    refused(ended, code, expected);
    assert_eq!(ended.err.trim_end().lines().count(), 1, "{ended:?}");
}

#[test]
fn a_command_line_that_fits_nothing_is_explained() {
    let ground = Ground::project();
    let cases: [(&[&str], &str); 11] = [
        (&["run", "--max-cost", "0", "q"], "INVALID_BUDGET"),
        (&["run", "--max-turns", "-1", "q"], "--max-turns is `-1`; it takes a number above 0"),
        (&["run", "--max-active", "-1", "q"], "-1 is not in 0.."),
        (&["run", "--timeout", "-2.5", "q"], "a number of seconds above 0"),
        (&["run", "--provider", "gemini", "q"], "no provider `gemini`"),
        (&["--frobnicate"], "--frobnicate"),
        (&["run", "--frobnicate", "q"], "--frobnicate"),
        (&["run"], "PROMPT"),
        (&["run", "which", "tests"], "quotes"),
        (&["run", "--output-format", "yaml", "q"], "yaml"),
        (&["run", "--max-active", "many", "q"], "many"),
    ];
    for (arguments, expected) in cases {
        refused(&ground.run(arguments), 2, &[expected]);
    }
    assert_eq!(std::fs::read_dir(ground.home.path()).unwrap().count(), 0, "nothing was saved");
}

#[test]
fn words_that_are_not_text_are_answered_with_what_to_do() {
    use std::os::unix::ffi::OsStrExt;
    let ground = Ground::project();
    let mut command = ground.command(&["run"]);
    command.arg(std::ffi::OsStr::from_bytes(b"caf\xe9?"));
    refused(&finish(command, b""), 2, &["UTF-8", "offshoot run -"]);
}

/// Command lines that fit nothing, with the format of a failure somewhere in them.
fn unfit<'a>(format: &'a [&'a str]) -> Vec<Vec<&'a str>> {
    let run = |before: &[&'a str], after: &[&'a str]| [before, format, after].concat();
    vec![
        run(&["run"], &["which", "tests"]),
        run(&["run", "--frobnicate"], &["q"]),
        run(&["run", "q", "--budget", "huge"], &[]),
        run(&[], &["run"]),
        run(&[], &["q"]),
        run(&["run", "q", "--approve", "some"], &[]),
        run(&["run", "--provider", "gemini"], &["q"]),
    ]
}

#[test]
fn a_command_line_that_fits_nothing_is_an_object_where_json_was_wanted() {
    let ground = Ground::project();
    for format in [&["--output-format", "json"][..], &["--output-format=json"]] {
        for arguments in unfit(format) {
            let ended = ground.run(&arguments);
            assert_eq!(ended.code, Some(2), "{ended:?}");
            assert!(ended.err.starts_with("offshoot: "), "{ended:?}");
            assert_eq!(ended.out.lines().count(), 1, "{ended:?}");
            let object: Value = serde_json::from_str(&ended.out).unwrap();
            assert_eq!((&object["status"], &object["code"]), (&"failed".into(), &"USAGE".into()));
            let told = object["warnings"][0]["text"].as_str().unwrap();
            assert!(ended.err.contains(told.lines().next().unwrap()), "{ended:?}");
        }
    }
    let prompt = ground.run(&["run", "--frobnicate", "--", "--output-format=json"]);
    refused(&prompt, 2, &["--frobnicate"]);
}

#[test]
fn a_stream_of_a_session_that_never_began_says_why_and_ends() {
    let ground = Ground::project();
    let mut cases = unfit(&["--output-format", "stream-json"]);
    cases.push(vec!["run", "--output-format", "stream-json", "-C", "nowhere", "q"]);
    for arguments in cases {
        let ended = ground.run(&arguments);
        assert!(matches!(ended.code, Some(1 | 2)), "{ended:?}");
        let lines: Vec<Value> =
            ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [notice, end] = lines.as_slice() else { panic!("{ended:?}") };
        assert_eq!((&notice["type"], &notice["level"]), (&"notice".into(), &"error".into()));
        assert_eq!(end["type"], "session_finished");
        assert_eq!((&notice["seq"], &end["seq"]), (&1.into(), &2.into()));
    }
}

#[test]
fn what_is_planned_and_not_built_is_refused_by_name() {
    let ground = Ground::project();
    let cases: [(&[&str], &str); 8] = [
        (&["resume"], "`offshoot resume`"),
        (&["resume", "latest"], "`offshoot resume`"),
        (&["sessions"], "`offshoot sessions`"),
        (&["replay", "x.jsonl", "--speed", "2", "--check"], "`offshoot replay`"),
        (&["export", "x", "--format", "md"], "`offshoot export`"),
        (&["eval", "tasks.json"], "`offshoot eval`"),
        (&["--continue"], "`--continue`"),
        (&["run", "-v", "q"], "`--verbose`"),
    ];
    for (arguments, name) in cases {
        let ended = ground.run(arguments);
        refused_in_a_sentence(&ended, 2, &[name, "not built yet", "today"]);
    }
}

#[test]
fn a_workspace_that_cannot_be_used_is_named() {
    let ground = Ground::project();
    let file = ground.file("notes.txt", "x");
    let missing = ground.run(&["run", "-C", "nowhere", "q"]);
    refused_in_a_sentence(&missing, 1, &["nowhere", "-C DIR"]);
    let file = ground.run(&["run", "-C", file.to_str().unwrap(), "q"]);
    refused_in_a_sentence(&file, 1, &["notes.txt", "no folder"]);
}

#[test]
fn a_workspace_that_cannot_be_read_is_named() {
    if powers::ignores_permissions() {
        aloud::skipped("to the superuser every folder can be read");
        return;
    }
    let ground = Ground::project();
    let locked = ground.workspace.path().join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o000)).unwrap();
    let ended = ground.run(&["run", "-C", "locked", "q"]);
    std::fs::set_permissions(&locked, PermissionsExt::from_mode(0o700)).unwrap();
    refused_in_a_sentence(&ended, 1, &["locked", "-C DIR"]);
}

#[test]
fn a_script_that_cannot_be_played_is_named_with_the_place_of_the_fault() {
    let ground = Ground::project();
    ground.file("cut.json", "{\n  \"turns\": [ {\"text\": \"a\"\n");
    ground.file("typed.json", "{\n  \"turns\": [ {\"text\": 7} ] }\n");
    ground.file("prices.json", "{\"turns\": [], \"prices\": {\"input\": -1, \"output\": 0}}");
    let cases: [(&str, &[&str]); 4] = [
        ("cut.json", &["cut.json", "line 3", "column"]),
        ("typed.json", &["typed.json", "line 2, column 23"]),
        ("prices.json", &["prices.json", "prices"]),
        ("none.json", &["none.json", "script:FILE"]),
    ];
    for (file, expected) in cases {
        let ended = ground.run(&["run", "--provider", &format!("script:{file}"), "q"]);
        refused_in_a_sentence(&ended, 2, expected);
    }
}

#[test]
fn a_script_that_runs_out_fails_the_run_and_says_why() {
    let ground = Ground::project();
    ground.file("short.json", "{\"turns\": []}");
    let ended = ground.run(&["run", "--provider", "script:short.json", "q"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("script has no more turns"), "{ended:?}");
}

/// An address that nobody listens on.
fn dead_server() -> String {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    format!("127.0.0.1:{port}")
}

#[test]
fn a_server_that_cannot_be_reached_is_named() {
    let ground = Ground::project();
    let host = dead_server();
    let url = format!("http://{host}/v1");
    let ended = ground.run(&["run", "--base-url", &url, "--model", "m", "q"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains(&host), "{ended:?}");
    assert!(!ended.err.contains("panicked"), "{ended:?}");
}

#[test]
fn a_remote_server_without_a_key_is_refused_before_anything_is_sent() {
    let url = "https://models.example.com/v1";
    let ended = Ground::project().run(&["run", "--provider", "openai", "--base-url", url, "q"]);
    refused_in_a_sentence(&ended, 2, &["models.example.com", "OPENAI_API_KEY"]);
}

#[test]
fn without_a_terminal_the_other_way_is_told() {
    let ground = Ground::project();
    refused_in_a_sentence(&ground.run(&[]), 2, &["offshoot run"]);
    refused_in_a_sentence(&ground.run(&[QUESTION]), 2, &["offshoot run"]);
    let mut command = ground.command(&[]);
    command.env("TERM", "dumb");
    refused_in_a_sentence(&finish(command, b""), 2, &["offshoot run"]);
}

#[test]
fn a_prompt_that_asks_nothing_is_refused() {
    let ground = Ground::project();
    refused_in_a_sentence(&ground.run(&["run", ""]), 2, &["blank"]);
    refused_in_a_sentence(&ground.run(&["run", " \t\n"]), 2, &["blank"]);
    let piped = |input| finish(ground.command(&["run", "-"]), input);
    refused_in_a_sentence(&piped(b""), 2, &["blank"]);
    refused_in_a_sentence(&piped(b" \n"), 2, &["blank"]);
    refused_in_a_sentence(&piped(b"\x7fELF\x02\x01\x00\xff\xfe\x80"), 2, &["UTF-8"]);
}

#[test]
fn a_prompt_from_standard_input_is_asked() {
    let ground = Ground::project();
    let ended = finish(ground.command(&["run", "-"]), QUESTION.as_bytes());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("pytest"), "{ended:?}");
}

#[test]
fn a_cost_limit_without_a_price_is_refused() {
    let ground = Ground::project();
    ground.file("free.json", "{\"turns\": [{\"text\": \"hello\"}]}");
    let server = format!("http://{}/v1", dead_server());
    let cases: [&[&str]; 2] = [
        &["run", "--base-url", &server, "--model", "m", "--max-cost", "1", "q"],
        &["run", "--provider", "script:free.json", "--max-cost", "1", "q"],
    ];
    for arguments in cases {
        refused_in_a_sentence(&ground.run(arguments), 2, &["INVALID_BUDGET", "--max-cost"]);
    }
}

/// Runs the question and expects its answer, whatever else is wrong.
fn answers_and_warns(command: Command, warning: &[&str]) {
    let ended = finish(command, b"");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.out.contains("pytest"), "{ended:?}");
    for words in warning {
        assert!(ended.err.contains(words), "no `{words}` in {ended:?}");
    }
    assert!(!ended.err.contains("panicked"), "{ended:?}");
}

#[test]
fn a_session_that_cannot_be_saved_is_answered_all_the_same() {
    let ground = Ground::project();
    let mut homeless = ground.command(&["run", QUESTION]);
    homeless.env_remove("HOME");
    answers_and_warns(homeless, &["not saved", "--session-dir"]);

    ground.file("taken", "");
    let taken = ground.command(&["run", "--session-dir", "taken/sessions", QUESTION]);
    answers_and_warns(taken, &["not saved", "taken/sessions", "--session-dir"]);
    assert_eq!(std::fs::read_dir(ground.home.path()).unwrap().count(), 0, "nor anywhere else");
}

/// Starts a run whose standard output is read up to `lines` lines and then closed.
fn cut_off(ground: &Ground, arguments: &[&str], lines: usize) -> Ended {
    let mut command = ground.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let reader = BufReader::new(child.stdout.take().unwrap());
    let out: Vec<String> = reader.lines().take(lines).map(Result::unwrap).collect();
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    Ended { code: wait(&mut child), out: out.join("\n"), err }
}

#[test]
fn a_reader_that_has_seen_enough_may_go() {
    let ground = Ground::project();
    let text = cut_off(&ground, &["run", "-q", QUESTION], 0);
    assert_eq!((text.code, text.err.as_str()), (Some(0), ""), "{text:?}");
    let stream = cut_off(&ground, &["run", "--output-format", "stream-json", QUESTION], 1);
    // Nobody reads it, so no more is spent on it, unless it was already done.
    assert!(matches!(stream.code, Some(0 | 130)), "{stream:?}");
    assert_eq!(stream.err, "");
    let first: Value = serde_json::from_str(&stream.out).unwrap();
    assert_eq!(first["type"], "session_started");
}

#[test]
fn json_is_one_object_whatever_went_wrong() {
    let ground = Ground::project();
    ground.file("bad.json", "{");
    let url = format!("http://{}/v1", dead_server());
    let cases: [(&[&str], i32, &str, &str); 6] = [
        (&["-C", "nowhere", "q"], 1, "failed", "INTERNAL"),
        (&["--provider", "script:bad.json", "q"], 2, "failed", "USAGE"),
        (&["--provider", "openai", "q"], 2, "failed", "USAGE"),
        (&[" "], 2, "failed", "USAGE"),
        (&["--base-url", &url, "--model", "m", "q"], 1, "failed", "PROVIDER_ERROR"),
        (&["--max-turns", "2", QUESTION], 3, "budget_exhausted", "BUDGET_EXHAUSTED"),
    ];
    for (arguments, exit, status, code) in cases {
        let mut words = vec!["run", "--output-format", "json"];
        words.extend(arguments);
        let ended = ground.run(&words);
        assert_eq!(ended.code, Some(exit), "{ended:?}");
        assert_eq!(ended.out.trim_end().lines().count(), 1, "{ended:?}");
        let object: Value = serde_json::from_str(&ended.out).unwrap();
        assert_eq!(
            (&object["status"], &object["code"]),
            (&status.into(), &code.into()),
            "{object}"
        );
        for field in ["session", "reply", "usage", "context_kept_out", "children", "warnings"] {
            assert!(object.get(field).is_some(), "{field}: {object}");
        }
    }
}
