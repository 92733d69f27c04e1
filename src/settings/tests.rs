#![allow(clippy::unwrap_used, reason = "tests")]

use std::path::Path;

use super::*;
use crate::cli::{Parsed, parse};
use crate::domain::budget::{Dimension, Limit};
use crate::domain::context_store::Sensitivity;

struct World {
    dir: tempfile::TempDir,
    env: Vec<(&'static str, String)>,
    stdin: &'static [u8],
}

impl World {
    fn new(env: &[(&'static str, &str)]) -> Self {
        let env = env.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Self { dir: tempfile::tempdir().unwrap(), env, stdin: b"" }
    }

    fn settings(&self, arguments: &[&str]) -> Result<Settings, SettingsError> {
        let words = std::iter::once("offshoot").chain(arguments.iter().copied());
        let Parsed::Typed(typed) = parse(words).unwrap() else { panic!("{arguments:?} says help") };
        let surroundings = Surroundings {
            env: self.env.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
            current_dir: self.dir.path().to_owned(),
            stdin: Box::new(self.stdin),
        };
        Settings::new(*typed, surroundings)
    }

    fn refusal(&self, arguments: &[&str]) -> (u8, String) {
        match self.settings(arguments) {
            Err(error) => (error.exit().code(), error.to_string()),
            Ok(settings) => panic!("{arguments:?} was taken: {settings:?}"),
        }
    }
}

fn choice(env: &[(&'static str, &str)], arguments: &[&str]) -> (String, Vec<&'static str>) {
    let settings = World::new(env).settings(arguments).unwrap();
    let server = |name: &str, remote: &Remote| {
        let model = remote.model.as_deref().unwrap_or("-");
        format!("{name} {} {} {model}", remote.base_url, remote.key.is_some())
    };
    let shown = match &settings.provider {
        ProviderChoice::Offline => "offline".to_owned(),
        ProviderChoice::Script { path } => format!("script {}", path.display()),
        ProviderChoice::Detect(remote) => format!("detect {}", remote.base_url),
        ProviderChoice::Anthropic(remote) => server("anthropic", remote),
        ProviderChoice::OpenAi(remote) => server("openai", remote),
        ProviderChoice::Ollama(remote) => server("ollama", remote),
    };
    (shown, settings.remarks.iter().map(|remark| remark.code).collect())
}

const HOME: (&str, &str) = ("HOME", "/home/u");
const KEY: (&str, &str) = ("OPENAI_API_KEY", "sk-0123456789abcdef");

#[test]
fn who_answers_is_the_flag_then_a_key_then_a_local_server() {
    type Env = &'static [(&'static str, &'static str)];
    const ANTHROPIC: (&str, &str) = ("ANTHROPIC_API_KEY", "ak-0123456789");
    const DETECT: &str = "detect http://127.0.0.1:11434";
    const PUBLIC: &str = "openai https://api.openai.com/v1 true";
    let cases: &[(Env, &[&str], &str, &[&str])] = &[
        (&[HOME], &[], DETECT, &[]),
        (&[HOME, KEY], &[], &format!("{PUBLIC} -"), &[]),
        (&[HOME, KEY, ANTHROPIC], &[], "anthropic https://api.anthropic.com true -", &[]),
        (&[HOME, KEY, ANTHROPIC], &["--provider", "openai"], &format!("{PUBLIC} -"), &[]),
        (&[HOME, KEY], &["--provider", "offline"], "offline", &[]),
        (&[HOME, ("OPENAI_API_KEY", " ")], &[], DETECT, &[]),
        (&[HOME, KEY, ("MODEL_ID", "m1")], &[], &format!("{PUBLIC} m1"), &[]),
        (
            &[HOME, KEY, ("MODEL_ID", "m1"), ("OFFSHOOT_MODEL", "m2")],
            &[],
            &format!("{PUBLIC} m2"),
            &[],
        ),
        (
            &[HOME, KEY, ("MODEL_ID", "m1"), ("OFFSHOOT_MODEL", "m2")],
            &["--model", "m3"],
            &format!("{PUBLIC} m3"),
            &[],
        ),
        (
            &[HOME, KEY, ("OPENAI_BASE_URL", "http://localhost:8000/v1/")],
            &[],
            "openai http://localhost:8000/v1 true -",
            &[],
        ),
        (
            &[HOME, ANTHROPIC, ("ANTHROPIC_BASE_URL", "http://localhost:8000/v1/")],
            &[],
            "anthropic http://localhost:8000 true -",
            &[],
        ),
        (
            &[HOME],
            &["--provider", "openai", "--base-url", "http://127.0.0.1:11434/v1"],
            "openai http://127.0.0.1:11434/v1 false -",
            &[],
        ),
        (&[HOME], &["--base-url", "http://[::1]:1/v1"], "openai http://[::1]:1/v1 false -", &[]),
        (
            &[HOME, KEY],
            &["--base-url", "http://example.com/v1"],
            "openai http://example.com/v1 true -",
            &["PLAIN_HTTP"],
        ),
        (&[HOME, ("OPENAI_BASE_URL", "http://localhost/v1")], &[], DETECT, &["PROVIDER"]),
        (&[HOME], &["--provider", "ollama"], "ollama http://127.0.0.1:11434 false -", &[]),
        (
            &[HOME],
            &["--provider", "ollama", "--model", "q", "--base-url", "http://gpu:11434/v1"],
            "ollama http://gpu:11434 false q",
            &[],
        ),
    ];
    for (env, arguments, expected, remarks) in cases {
        let (shown, said) = choice(env, arguments);
        assert_eq!((shown.as_str(), said.as_slice()), (*expected, *remarks), "{arguments:?}");
    }
}

#[test]
fn an_ollama_is_looked_for_where_its_own_variable_says_and_only_on_this_machine() {
    for (host, found) in [
        ("127.0.0.1:9", "detect http://127.0.0.1:9"),
        ("localhost", "detect http://localhost:11434"),
        (":4000", "detect http://127.0.0.1:4000"),
        ("0.0.0.0", "detect http://127.0.0.1:11434"),
        ("http://0.0.0.0:4000", "detect http://127.0.0.1:4000"),
        ("http://localhost:4000/", "detect http://localhost:4000"),
        ("gpu.example:11434", "offline"),
        ("http://", "offline"),
    ] {
        assert_eq!(choice(&[HOME, ("OLLAMA_HOST", host)], &[]).0, found, "{host}");
    }
    let (asked_for, _) = choice(&[HOME, ("OLLAMA_HOST", "gpu")], &["--provider", "ollama"]);
    assert_eq!(asked_for, "ollama http://gpu:11434 false -");
}

#[test]
fn what_cannot_be_used_is_said_in_one_sentence() {
    let cases: [(&[&str], u8, &str); 41] = [
        (&["--provider", "openai"], 2, "OPENAI_API_KEY"),
        (&["--provider", "anthropic"], 2, "ANTHROPIC_API_KEY"),
        (&["--retries", "-1"], 2, "--retries is `-1`; it takes a whole number from 0 to 20"),
        (&["--retries", "many"], 2, "--retries is `many`"),
        (&["--provider", "openai", "--base-url", "http://10.0.0.1/v1"], 2, "no key for 10.0.0.1"),
        (&["--provider", "openai", "--base-url", "http://localhost.evil.example/v1"], 2, "no key"),
        (&["--base-url", "localhost:8000/v1"], 2, "--base-url is no http"),
        (&["--base-url", "nonsense"], 2, "--base-url is no URL"),
        (&["--base-url", "ftp://localhost/v1"], 2, "--base-url is no http"),
        (&["--base-url", "http://u:hunter22@localhost/v1"], 2, "holds a user or password"),
        (&["--base-url", "http://localhost/v1?key=hunter22"], 2, "`?`"),
        (&["--provider", "gemini"], 2, "no provider `gemini`"),
        (&["--provider", "script:"], 2, "script:FILE"),
        (&["--provider", "script:missing.json"], 2, "cannot read the script missing.json"),
        (&["--provider", "script:."], 2, "no file"),
        (&["--model", "m"], 2, "--model needs a server"),
        (&["--provider", "offline", "--base-url", "http://localhost"], 2, "--base-url needs"),
        (&["-C", "missing"], 1, "cannot work in"),
        (&["-C", "file"], 1, "it is no folder"),
        (&["--max-turns", "0"], 2, "INVALID_BUDGET: --max-turns is `0`"),
        (&["--max-turns", "-1"], 2, "INVALID_BUDGET"),
        (&["--max-turns", "1.5"], 2, "INVALID_BUDGET"),
        (&["--max-cost", "0"], 2, "INVALID_BUDGET: --max-cost"),
        (&["--max-cost", "nan"], 2, "INVALID_BUDGET"),
        (&["--max-cost", "inf"], 2, "INVALID_BUDGET"),
        (&["--max-active", "0"], 2, "--max-delegations 0"),
        (&["--timeout", "0"], 2, "--timeout is `0`"),
        (&["--timeout", "nan"], 2, "--timeout"),
        (&["--timeout", "1e300"], 2, "--timeout"),
        (&["--pin", "x"], 2, "has no `=`"),
        (&["--pin", "request=1"], 2, "uses itself"),
        (&["--pin", "a:b=1"], 2, "is no name"),
        (&["--pin", "a=1", "--pin", "a=2"], 2, "given twice"),
        (&["--pin", "a=@missing"], 2, "cannot be read from missing"),
        (&["--pin-local", "x"], 2, "--pin-local x has no `=`"),
        (&["--pin-secret", "hunter22"], 2, "write NAME=@FILE"),
        (&["--pin-secret", "hunter22=="], 2, "write NAME=@FILE"),
        (&["--pin-secret", "a=hunter22"], 2, "off the command line"),
        (&["--pin-secret", "a=@missing"], 2, "cannot be read from missing"),
        (&["--pin-secret", "a=@file"], 2, "too short"),
        (&["--pin", "a=1", "--pin-secret", "a=@long"], 2, "--pin-secret a is given twice"),
    ];
    let world = World::new(&[HOME]);
    std::fs::write(world.dir.path().join("file"), "x").unwrap();
    std::fs::write(world.dir.path().join("long"), "hunter22-and-more").unwrap();
    for (arguments, code, expected) in cases {
        // A value that begins with a dash is joined, as a shell user has to do as well.
        let joined: Vec<String> = match arguments {
            [flag, value] if value.starts_with('-') => vec![format!("{flag}={value}")],
            words => words.iter().map(|word| (*word).to_owned()).collect(),
        };
        let words: Vec<&str> = joined.iter().map(String::as_str).collect();
        let (exit, said) = world.refusal(&words);
        assert_eq!(exit, code, "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(!said.contains("hunter22"), "{arguments:?}: {said}");
        assert!(!said.contains('\n'), "{arguments:?}: {said}");
    }
}

#[test]
fn run_has_its_own_complaints() {
    let mut world = World::new(&[HOME]);
    assert_eq!(world.refusal(&["run", "  "]).0, 2);
    assert_eq!(world.refusal(&["run", "-"]).0, 2);
    assert!(world.refusal(&["run", "q", "--no-children"]).1.contains("stream-json"));
    world.stdin = b"\xff";
    assert!(world.refusal(&["run", "-"]).1.contains("UTF-8"));
    world.env.push(("OFFSHOOT_PACE", "soon".to_owned()));
    assert!(world.refusal(&["run", "q"]).1.contains("OFFSHOOT_PACE"));
}

#[test]
fn a_run_is_what_was_typed() {
    let mut world = World::new(&[HOME]);
    world.stdin = "from a pipe\n".as_bytes();
    let arguments = ["run", "-q", "--output-format", "stream-json", "--no-children", "-"];
    let settings = world.settings(&arguments).unwrap();
    let expected = Front::Run {
        prompt: "from a pipe\n".to_owned(),
        format: OutputFormat::StreamJson,
        quiet: true,
        no_children: true,
    };
    assert_eq!(settings.front, expected);
    assert_eq!(settings.pace, Duration::ZERO);
    assert_eq!(settings.workspace, world.dir.path().canonicalize().unwrap());
}

#[test]
fn the_screen_waits_so_that_a_person_can_watch() {
    assert_eq!(World::new(&[HOME]).settings(&[]).unwrap().pace, Duration::from_millis(400));
    let fast = World::new(&[HOME, ("OFFSHOOT_PACE", "0")]).settings(&["hello"]).unwrap();
    assert_eq!(fast.pace, Duration::ZERO);
    assert_eq!(fast.front, Front::Screen { prompt: Some("hello".to_owned()) });
    let blank = World::new(&[HOME]).settings(&[" "]).unwrap();
    assert_eq!(blank.front, Front::Screen { prompt: None });
}

#[test]
fn sessions_are_kept_where_the_system_keeps_state() {
    let kept = |env: &[(&'static str, &str)], arguments: &[&str]| {
        let settings = World::new(env).settings(arguments).unwrap();
        (settings.sessions, settings.remarks.len())
    };
    let at = |path: &str| Some(Path::new(path).to_owned());
    let state = ("XDG_STATE_HOME", "/state");
    assert_eq!(kept(&[HOME], &[]), (at("/home/u/.local/state/offshoot/sessions"), 0));
    assert_eq!(kept(&[HOME, state], &[]), (at("/state/offshoot/sessions"), 0));
    let relative = ("XDG_STATE_HOME", "state");
    assert_eq!(kept(&[HOME, relative], &[]), (at("/home/u/.local/state/offshoot/sessions"), 0));
    assert_eq!(kept(&[HOME, state], &["--session-dir", "/else"]), (at("/else"), 0));
    assert_eq!(kept(&[HOME], &["--no-session"]), (None, 0));
    assert_eq!(kept(&[], &[]), (None, 1));
    assert_eq!(kept(&[("HOME", "")], &["--session-dir", "/else"]), (at("/else"), 0));
}

#[test]
fn limits_come_from_the_preset_and_from_numbers() {
    let world = World::new(&[HOME]);
    let arguments =
        ["--budget", "tight", "--max-turns", "3", "--max-cost", "0.25", "--max-delegations", "0"];
    let limits = world.settings(&arguments).unwrap().limits;
    assert_eq!(limits.parent[Dimension::Turns], Limit::Of(3));
    assert_eq!(limits.parent[Dimension::CostUsd], Limit::Of(250_000));
    assert_eq!(limits.parent[Dimension::ToolCalls], Limit::Of(120));
    assert_eq!((limits.totals.delegations, limits.totals.active), (0, 2));
    assert_eq!(limits.depth, 1);
    assert_eq!(world.settings(&["--max-depth", "4"]).unwrap().limits.depth, 4);
    for typed in ["0", "5", "-1", "two", "unlimited"] {
        let refused = world.settings(&["--max-depth", typed]).unwrap_err().to_string();
        assert!(refused.contains("INVALID_BUDGET") && refused.contains("--max-depth"), "{refused}");
    }
    let lifted = world.settings(&["--max-turns", "unlimited"]).unwrap().limits;
    assert_eq!(lifted.parent[Dimension::Turns], Limit::Unlimited);
}

#[test]
fn a_cost_limit_needs_a_price() {
    let world = World::new(&[HOME]);
    let limits = world.settings(&["--max-cost", "1"]).unwrap().limits;
    let refused = limits.parent_for("mystery", false).unwrap_err();
    assert_eq!(refused.exit(), Exit::Usage);
    assert!(refused.to_string().starts_with("INVALID_BUDGET: --max-cost"));
    assert_eq!(limits.parent_for("known", true).unwrap()[Dimension::CostUsd], Limit::Of(1_000_000));
    let free = world.settings(&[]).unwrap().limits;
    assert_eq!(free.parent_for("mystery", false).unwrap()[Dimension::CostUsd], Limit::Off);
}

#[test]
fn pins_are_texts_or_files() {
    let world = World::new(&[HOME]);
    std::fs::write(world.dir.path().join("notes.md"), "from a file").unwrap();
    let pins = world.settings(&["--pin", "a=b=c", "--pin", "备注=@notes.md"]).unwrap().pins;
    let shown: Vec<_> = pins.iter().map(|pin| (pin.name.as_str(), pin.text.as_str())).collect();
    assert_eq!(shown, [("a", "b=c"), ("备注", "from a file")]);
    let flags = ["--pin-secret", "s=@notes.md", "--pin-local", "l=text", "--pin", "p=text"];
    let pins = world.settings(&flags).unwrap().pins;
    let shown: Vec<_> = pins.iter().map(|pin| (pin.name.as_str(), pin.sensitivity)).collect();
    let expected =
        [("p", Sensitivity::Normal), ("l", Sensitivity::LocalOnly), ("s", Sensitivity::Secret)];
    assert_eq!(shown, expected);
    assert!(!format!("{pins:?}").contains("from a file"));
    std::fs::write(world.dir.path().join("big"), vec![b'x'; 1024 * 1024 + 1]).unwrap();
    assert!(world.refusal(&["--pin", "a=@big"]).1.contains("1 MiB"));
    assert!(world.refusal(&["--pin", "a=@."]).1.contains("no regular file"));
}

#[test]
fn colours_and_language_follow_the_environment() {
    let look = |env: &[(&'static str, &str)], arguments: &[&str]| {
        let settings = World::new(env).settings(arguments).unwrap();
        (settings.lang, settings.color)
    };
    assert_eq!(look(&[HOME], &[]), (Language::En, true));
    assert_eq!(look(&[HOME, ("LANG", "zh_CN.UTF-8")], &[]), (Language::Zh, true));
    assert_eq!(look(&[HOME, ("LANG", "zh_CN"), ("LC_ALL", "C")], &[]), (Language::En, true));
    assert_eq!(look(&[HOME, ("NO_COLOR", "1")], &["--lang", "zh"]), (Language::Zh, false));
    assert_eq!(look(&[HOME, ("NO_COLOR", "")], &[]), (Language::En, true));
    assert_eq!(look(&[HOME], &["--no-color"]), (Language::En, false));
}

#[test]
fn keys_are_looked_for_and_never_shown() {
    let world = World::new(&[HOME, KEY, ("GH_TOKEN", "ghtoken123"), ("MY_API_KEY", "mykey456")]);
    let settings = world.settings(&[]).unwrap();
    let mut texts = settings.secret_texts();
    texts.sort();
    assert_eq!(texts, ["ghtoken123", "mykey456", KEY.1]);
    let shown = format!("{settings:?}");
    assert!(texts.iter().all(|secret| !shown.contains(secret.as_str())), "{shown}");
}
