#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;

fn typed(arguments: &[&str]) -> Result<Parsed, CliError> {
    parse(std::iter::once("offshoot").chain(arguments.iter().copied()))
}

fn accepted(arguments: &[&str]) -> Typed {
    match typed(arguments) {
        Ok(Parsed::Typed(typed)) => *typed,
        other => panic!("{arguments:?} gave {other:?}"),
    }
}

fn refused(arguments: &[&str]) -> String {
    match typed(arguments) {
        Err(error) => error.to_string(),
        Ok(parsed) => panic!("{arguments:?} was taken: {parsed:?}"),
    }
}

#[test]
fn the_grammar_of_clap_is_sound() {
    Typed::command().debug_assert();
}

#[test]
fn everything_that_is_not_built_is_refused_by_its_name() {
    let cases: [(&[&str], &str); 9] = [
        (&["resume"], "`offshoot resume`"),
        (&["resume", "0198", "--any", "thing"], "`offshoot resume`"),
        (&["sessions"], "`offshoot sessions`"),
        (&["replay", "x.jsonl", "--speed", "2", "--check"], "`offshoot replay`"),
        (&["export", "0198", "--format", "md"], "`offshoot export`"),
        (&["eval", "tasks.toml"], "`offshoot eval`"),
        (&["--continue"], "`--continue`"),
        (&["-v"], "`--verbose`"),
        (&["run", "-vv", "q"], "`--verbose`"),
    ];
    for (arguments, name) in cases {
        let said = refused(arguments);
        assert!(said.starts_with(&format!("{name} is not built yet; ")), "{arguments:?}: {said}");
        assert!(said.contains("today"), "{arguments:?}: {said}");
        assert!(!said.contains('\n'), "{arguments:?}: {said}");
    }
}

#[test]
fn options_stand_before_or_after_the_command() {
    for arguments in [
        ["-C", "dir", "--budget", "tight", "run", "q"],
        ["run", "-C", "dir", "--budget", "tight", "q"],
        ["run", "q", "-C", "dir", "--budget", "tight"],
    ] {
        let typed = accepted(&arguments);
        assert_eq!(typed.options.workspace.as_deref(), Some(std::path::Path::new("dir")));
        assert_eq!(typed.options.budget, Some(BudgetName::Tight));
        assert!(matches!(typed.verb, Some(Verb::Run { prompt }) if prompt == "q"));
    }
}

#[test]
fn what_may_be_done_is_typed_before_or_after_the_command() {
    let words = ["run", "q", "--approve", "edits", "--permission-mode", "auto-edit"];
    let typed = accepted(&[&words[..], &["--add-dir", "a", "--add-dir", "b"]].concat());
    assert_eq!(typed.options.approve, Some(Approve::Edits));
    assert_eq!(typed.options.permission_mode, Some(PermissionMode::AutoEdit));
    assert_eq!(typed.options.add_dir, [PathBuf::from("a"), PathBuf::from("b")]);
}

#[test]
fn a_prompt_that_is_a_command_or_a_flag_goes_after_two_dashes() {
    for word in ["run", "doctor", "--help", "-x", "resume"] {
        let typed = accepted(&["--", word]);
        assert!(typed.verb.is_none());
        assert_eq!(typed.prompt.as_deref(), Some(word));
        let typed = accepted(&["run", "--", word]);
        assert!(matches!(typed.verb, Some(Verb::Run { prompt }) if prompt == word));
    }
    assert_eq!(accepted(&["run the tests"]).prompt.as_deref(), Some("run the tests"));
}

#[test]
fn a_dash_stands_for_standard_input() {
    assert!(matches!(accepted(&["run", "-"]).verb, Some(Verb::Run { prompt }) if prompt == "-"));
}

#[test]
fn help_and_version_are_no_errors() {
    for arguments in [["--help"], ["-h"]] {
        let Ok(Parsed::Say(text)) = typed(&arguments) else { panic!("{arguments:?}") };
        assert!(text.contains("--workspace"), "{text}");
        for hidden in ["resume", "--continue", "replay"] {
            assert!(!text.contains(hidden), "{hidden} works not, and is offered: {text}");
        }
    }
    let Ok(Parsed::Say(text)) = typed(&["--version"]) else { panic!("no version") };
    assert_eq!(text.trim(), format!("offshoot {}", env!("CARGO_PKG_VERSION")));
    assert!(matches!(typed(&["run", "--help"]), Ok(Parsed::Say(_))));
}

#[test]
fn words_that_do_not_fit_say_what_to_do() {
    let cases: [(&[&str], &str); 12] = [
        (&["--approve", "all", "hello"], "--approve is for `offshoot run`"),
        (&["run", "--approve", "most", "q"], "edits"),
        (&["--permission-mode", "yolo"], "read-only"),
        (&["which", "tests"], "goes into quotes"),
        (&["run", "which", "tests"], "goes into quotes"),
        (&["run"], "PROMPT"),
        (&["--frobnicate"], "--frobnicate"),
        (&["--budget", "huge"], "tight"),
        (&["hello", "run", "q"], "stands before the command"),
        (&["--session-dir", "x", "--no-session"], "--no-session"),
        (&["--output-format", "json"], "`offshoot run`"),
        (&["-q", "hello"], "`offshoot run`"),
    ];
    for (arguments, expected) in cases {
        let said = refused(arguments);
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(!said.starts_with("error"), "{arguments:?}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn words_that_are_not_unicode_are_an_error_and_no_panic() {
    use std::os::unix::ffi::OsStringExt;
    let bad = OsString::from_vec(vec![0xff, 0xfe]);
    assert!(parse([OsString::from("offshoot"), bad.clone()]).is_err());
    let folder = parse([OsString::from("offshoot"), OsString::from("-C"), bad]);
    assert!(matches!(folder, Ok(Parsed::Typed(_))));
}

#[test]
fn the_wanted_format_is_read_from_lines_that_fit_nothing() {
    let cases: [(&[&str], OutputFormat); 9] = [
        (&[], OutputFormat::Text),
        (&["run", "--output-format", "json"], OutputFormat::Json),
        (&["--output-format=stream-json", "x", "y"], OutputFormat::StreamJson),
        (&["--output-format", "json", "--output-format", "text"], OutputFormat::Text),
        (&["--output-format", "yaml"], OutputFormat::Text),
        (&["--output-format"], OutputFormat::Text),
        (&["--output-formats=json"], OutputFormat::Text),
        (&["--", "--output-format=json"], OutputFormat::Text),
        (&["--frobnicate", "--output-format=json", "--", "x"], OutputFormat::Json),
    ];
    for (arguments, expected) in cases {
        let words = arguments.iter().map(OsString::from);
        assert_eq!(wanted_format(words), expected, "{arguments:?}");
    }
}
