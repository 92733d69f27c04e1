//! `offshoot doctor` as a person runs it: what it says of a server that answers, refuses, hangs or
//! is not there; and that it never shows a key.
#![allow(clippy::unwrap_used, reason = "tests")]

#[path = "common/program.rs"]
mod program;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{self, Receiver};
use std::thread;

use program::{Ended, Ground, finish};

const SECRET: &str = "key-0a1b2c3d4e5f";

/// A server that answers every request alike, and tells each request's head.
struct Server {
    url: String,
    heads: Receiver<String>,
}

impl Server {
    /// `answer` is what follows `HTTP/1.1 `; none hangs.
    fn start(answer: Option<(&'static str, &'static str)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (told, heads) = mpsc::channel();
        thread::spawn(move || {
            let mut open = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut head = Vec::new();
                let mut byte = [0];
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
                    head.push(byte[0]);
                }
                if told.send(String::from_utf8_lossy(&head).into_owned()).is_err() {
                    return;
                }
                if let Some((status, body)) = answer {
                    let length = body.len();
                    let text = format!(
                        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n\
                         content-length: {length}\r\nconnection: close\r\n\r\n{body}"
                    );
                    // Who asked may be gone by now.
                    let _ = stream.write_all(text.as_bytes());
                } else {
                    open.push(stream);
                }
            }
        });
        Self { url, heads }
    }
}

fn doctor(ground: &Ground, env: &[(&str, &str)], arguments: &[&str]) -> Ended {
    let words: Vec<&str> = std::iter::once("doctor").chain(arguments.iter().copied()).collect();
    let mut command = ground.command(&words);
    command.envs(env.iter().copied());
    let ended = finish(command, b"");
    assert_eq!(ended.err, "");
    for text in [&ended.out, &ended.err] {
        assert!(!text.contains(SECRET), "the key is shown");
        assert!(!text.contains('\u{1b}'), "an escape sequence is shown");
    }
    ended
}

/// The lines of one section.
fn section<'a>(ended: &'a Ended, title: &str) -> Vec<&'a str> {
    let lines = ended.out.lines().skip_while(|line| *line != title).skip(1);
    lines.take_while(|line| !line.is_empty()).map(str::trim).collect()
}

#[test]
fn with_nothing_configured_all_is_well_and_it_says_how_to_get_a_model() {
    let ended = doctor(&Ground::project(), &[], &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.out);
    let provider = section(&ended, "provider").join("\n");
    assert!(provider.contains("offline") && provider.contains("ANTHROPIC_API_KEY"), "{provider}");
    assert!(
        section(&ended, "fence")[0].contains("fenced")
            || section(&ended, "fence")[0].contains("partial")
    );
    assert!(section(&ended, "terminal").join(" ").contains("256 colours"));
    assert!(ended.out.ends_with("offshoot can be used.\n"));
}

#[test]
fn a_server_that_answers_is_asked_for_its_models_with_the_key() {
    let list = r#"{"data":[{"id":"claude-haiku-4-5"},{"id":"evil\u001b]0;x\u0007"}]}"#;
    let server = Server::start(Some(("200 OK", list)));
    let env = [("ANTHROPIC_API_KEY", SECRET), ("ANTHROPIC_BASE_URL", server.url.as_str())];
    let ended = doctor(&Ground::project(), &env, &["--model", "claude-haiku-4-5-20251001"]);
    assert_eq!(ended.code, Some(0), "{}", ended.out);
    let head = server.heads.recv().unwrap().to_ascii_lowercase();
    assert!(head.starts_with("get /v1/models "), "{head}");
    assert!(head.contains(&format!("x-api-key: {SECRET}")), "the key was not sent");
    let provider = section(&ended, "provider").join("\n");
    assert!(provider.contains("from ANTHROPIC_API_KEY (not shown)"), "{provider}");
    assert!(provider.contains("offers 2 models"), "{provider}");
    let model = section(&ended, "model").join("\n");
    assert!(model.contains("is known as claude-haiku-4-5"), "{model}");
    assert!(model.contains("does not have claude-haiku-4-5-20251001"), "{model}");
    assert!(model.contains("window 200000 tokens"), "{model}");
    assert!(model.contains("price is not known"), "it is not the vendor's own host: {model}");
}

#[test]
fn each_wire_is_asked_in_its_own_way() {
    let list = r#"{"data":[{"id":"m"}],"models":[{"name":"m"}]}"#;
    for (provider, path) in
        [("openai", "/models"), ("ollama", "/api/tags"), ("anthropic", "/v1/models")]
    {
        let server = Server::start(Some(("200 OK", list)));
        let arguments = ["--provider", provider, "--base-url", &server.url, "--model", "m"];
        let ended = doctor(&Ground::project(), &[], &arguments);
        assert_eq!(ended.code, Some(0), "{}", ended.out);
        let head = server.heads.recv().unwrap();
        assert!(head.starts_with(&format!("GET {path} ")), "{head}");
        assert!(section(&ended, "provider").join(" ").contains("offers 1 models"), "{}", ended.out);
    }
}

#[test]
fn what_is_broken_is_said_with_what_to_do_and_exits_with_1() {
    let repeats = r#"{"error":{"message":"invalid key key-0a1b2c3d4e5f"}}"#;
    let cases: [(Option<(&str, &str)>, &str); 4] = [
        (Some(("401 Unauthorized", repeats)), "is the key right"),
        (Some(("500 Internal Server Error", "oops")), "answered 500"),
        (Some(("200 OK", "<html><title>Sign in</title></html>")), "Sign in"),
        (None, "does not answer within 3 s"),
    ];
    for (answer, words) in cases {
        let server = Server::start(answer);
        let url = format!("{}/v1", server.url);
        let env = [("OPENAI_API_KEY", SECRET), ("OPENAI_BASE_URL", url.as_str())];
        let ended = doctor(&Ground::project(), &env, &[]);
        assert_eq!(ended.code, Some(1), "{}", ended.out);
        let broken = section(&ended, "provider").into_iter().find(|line| line.starts_with("FAIL"));
        assert!(broken.is_some_and(|line| line.contains(words)), "{words}: {}", ended.out);
    }
    let gone = [("OPENAI_API_KEY", SECRET), ("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")];
    let ended = doctor(&Ground::project(), &gone, &[]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.out.contains("cannot reach 127.0.0.1:1"), "{}", ended.out);
}

#[test]
fn a_server_without_a_list_can_be_used() {
    let server = Server::start(Some(("404 Not Found", "{}")));
    let url = format!("{}/v1", server.url);
    let ended = doctor(&Ground::project(), &[], &["--base-url", &url]);
    assert_eq!(ended.code, Some(0), "{}", ended.out);
    assert!(section(&ended, "provider").join(" ").contains("lists no models"), "{}", ended.out);
    let model = section(&ended, "model").join("\n");
    assert!(model.contains("no model is named") && model.contains("32768"), "{model}");
}

#[test]
fn every_value_is_told_with_its_file_and_line() {
    let ground = Ground::project();
    let folder = ground.home.path().join(".config/offshoot");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "\nretries = 2\nmodle = \"x\"\n").unwrap();
    ground.file(".offshoot/config.toml", "base_url = \"http://evil.example\"\n");
    let ended = doctor(&ground, &[], &["--budget", "tight"]);
    assert_eq!(ended.code, Some(0), "{}", ended.out);
    let lines = section(&ended, "settings");
    let row = |name: &str| {
        let line = lines.iter().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(row("retries")[2].ends_with(".config/offshoot/config.toml:2"), "{lines:?}");
    assert_eq!(row("budget.preset")[1..], ["tight", "--budget"]);
    assert_eq!(row("compact_at")[1..], ["0.8", "default"]);
    let page = lines.join("\n");
    assert!(page.contains("did you mean model?"), "{page}");
    assert!(page.contains("cannot set base_url"), "{page}");
}

#[test]
fn settings_that_cannot_be_read_are_a_finding() {
    let ground = Ground::project();
    let folder = ground.home.path().join(".config/offshoot");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), "retries = \n").unwrap();
    let ended = doctor(&ground, &[], &[]);
    assert_eq!(ended.code, Some(1));
    assert!(section(&ended, "settings")[0].contains("config.toml:1:"), "{}", ended.out);
    assert!(!section(&ended, "terminal").is_empty(), "the rest is told all the same");
    let run = ground.run(&["run", "q"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("config.toml:1:"), "{}", run.err);
}

#[test]
fn the_table_of_roles_has_every_column_for_every_role() {
    let ended = doctor(&Ground::project(), &[], &["--roles", "--budget", "tight"]);
    assert_eq!(ended.code, Some(0));
    for role in ["researcher (default)", "planner", "tester", "reviewer", "worker"] {
        assert!(ended.out.contains(&format!("\n{role}: ")), "{}", ended.out);
    }
    for column in ["input", "permissions", "tools", "budget", "output", "cancel", "failure"] {
        assert_eq!(ended.out.matches(&format!("\n  {column} ")).count(), 5, "{column}");
    }
    assert!(ended.out.contains("6 turns") && ended.out.contains("steps (required)"));
    assert!(ended.out.contains("8 turns") && ended.out.contains("findings (required)"));
    assert!(ended.out.contains("permissions  read, write, test, execute"), "{}", ended.out);
}

#[test]
fn a_local_ollama_answers_where_nothing_is_configured() {
    // Its list and its description of a model in one body; other names in each are ignored.
    let both = r#"{"models":[{"name":"tiny"}],"capabilities":["completion","tools"],
                   "model_info":{"general.architecture":"x","x.context_length":4096}}"#;
    let server = Server::start(Some(("200 OK", both)));
    let host = server.url.trim_start_matches("http://");
    let ground = Ground::project();
    let ended = doctor(&ground, &[("OLLAMA_HOST", host)], &[]);
    assert_eq!(ended.code, Some(0), "{}", ended.out);
    let provider = section(&ended, "provider").join("\n");
    assert!(provider.contains("a local Ollama answers") && provider.contains("tiny"), "{provider}");
    let arguments = ["run", "--output-format", "stream-json", "--retries", "0", "hello"];
    let mut command = ground.command(&arguments);
    command.env("OLLAMA_HOST", host);
    let run = finish(command, b"");
    let first: serde_json::Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
    assert_eq!(first["type"], "session_started");
    assert_eq!(
        (first["provider"].as_str(), first["model"].as_str()),
        (Some("ollama"), Some("tiny"))
    );
}

#[test]
fn an_ollama_that_was_asked_for_and_has_no_model_says_what_to_install() {
    let ground = Ground::project();
    let ended = ground.run(&["run", "--provider", "ollama", "hello"]);
    assert_eq!(ended.code, Some(1), "{}", ended.err);
    assert!(ended.err.contains("ollama pull"), "{}", ended.err);
}

#[test]
fn a_project_that_is_not_trusted_is_told_by_doctor_and_by_a_run() {
    let ground = Ground::project();
    ground.file(".offshoot/config.toml", "lang = \"zh\"\n[permissions]\ndeny = [\"bash(rm)\"]\n");
    let ended = doctor(&ground, &[], &["--permission-mode", "auto-edit"]);
    assert_eq!(ended.code, Some(0), "{}", ended.out);
    let page = section(&ended, "settings").join("\n");
    assert!(page.contains("own files (.offshoot/config.toml) are not trusted yet"), "{page}");
    assert!(page.contains("lang is ignored"), "{page}");
    assert!(page.contains("permission_mode        auto-edit"), "{page}");
    assert!(page.contains("permissions.deny       bash(rm)"), "what narrows holds: {page}");
    let run = ground.run(&["run", "--provider", "offline", "hello"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert!(run.err.contains("are not trusted yet"), "{}", run.err);
}

#[test]
fn the_roles_are_told_with_where_they_come_from_and_what_is_wrong_with_files() {
    let ground = Ground::project();
    let agents = ground.home.path().join(".config/offshoot/agents");
    std::fs::create_dir_all(&agents).unwrap();
    let head = "---\nname: locksmith\ndescription: looks at locks\n";
    std::fs::write(agents.join("l.md"), format!("{head}tools: Read, Bash\n---\nLook.\n")).unwrap();
    std::fs::write(agents.join("w.md"), "---\nname: worker\ntools: Read, LS\n---\n").unwrap();
    std::fs::write(agents.join("bad.md"), "no head \u{1b}[31m").unwrap();
    ground.file(".offshoot/agents/p.md", "---\nname: p\ndescription: d\n---\nx\n");
    let ended = doctor(&ground, &[], &["--roles"]);
    assert_eq!(ended.code, Some(0), "{}", ended.out);
    for line in [
        "input",
        "permissions",
        "tools",
        "models",
        "budget",
        "output",
        "cancel",
        "failure",
        "source",
    ] {
        let lines = ended.out.lines().filter(|row| row.starts_with(&format!("  {line} "))).count();
        assert_eq!(lines, 6, "{line} of each role\n{}", ended.out);
    }
    let of = |name: &str| ended.out.split("\n\n").find(|part| part.starts_with(name)).unwrap();
    let own = of("locksmith: looks at locks");
    assert!(own.contains("read, execute") && own.contains("l.md (yours)"), "{own}");
    assert!(own.contains("read_file, bash"), "{own}");
    let worker = of("worker: ");
    assert!(worker.contains("list_files, read_file\n") && worker.contains("w.md"), "{worker}");
    assert!(of("planner: ").contains("steps (required), risks"));
    assert!(of("planner: ").contains("source       built in"));
    assert!(ended.out.contains("bad.md: it is passed over"), "{}", ended.out);
    assert!(ended.out.contains(".offshoot/agents/p.md) are not trusted yet"), "{}", ended.out);
    let page = doctor(&ground, &[], &[]);
    assert!(section(&page, "settings").join("\n").contains("bad.md: it is passed over"));
    let run = ground.run(&["run", "--provider", "offline", "hello"]);
    assert!(run.err.contains("bad.md: it is passed over"), "{}", run.err);
}
