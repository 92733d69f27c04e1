//! Two seeds, a pinned secret and a key, in every place that a model, a server, a file, a command or a
//! person can put them: in nothing that is kept, printed or shown.

use std::io::Write;
use std::sync::{Arc, Mutex};

use offshoot::domain::approval::{Answer, Mode};
use offshoot::domain::command::{Command, Steer, Target};
use offshoot::domain::event::Fact;
use offshoot::domain::ids::{CallId, RunId, TaskId};
use offshoot::domain::message::Message;
use offshoot::domain::role::Permission;
use offshoot::headless::{self, Format, Headless};
use offshoot::provider::openai::{Config, OpenAi};
use offshoot::story::Story;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::common::raw_server::{RawServer, Reply};
use super::common::{Live, Played, Stage, task_call};
use super::leaks::{call, found, secret};

const SECRET: &str = "secret-c2d9-crimson-tapir";
const KEY: &str = "key-417e-lilac-gannet";
const SEEDS: [&str; 2] = [SECRET, KEY];

const HANDS: [Permission; 5] = [
    Permission::Read,
    Permission::Write,
    Permission::Test,
    Permission::Execute,
    Permission::Delegate,
];

fn stage(script: &Value) -> Stage {
    with_secrets(Stage::new(script).permissions(&HANDS))
}

fn with_secrets(mut stage: Stage) -> Stage {
    stage.pins.push(secret("token", SECRET));
    stage.secrets = vec![KEY.to_owned()];
    stage
}

/// Everything that a person or a later session can come to see.
async fn places(played: &Played) -> Vec<(&'static str, String)> {
    let mut places: Vec<(&'static str, String)> = played
        .files()
        .into_iter()
        .flat_map(|(path, text)| [("a file", text), ("a path", path)])
        .collect();
    let mut story = Story::default();
    for event in &played.events {
        story.apply(event);
        places.push(("an event", serde_json::to_string(&**event).unwrap()));
    }
    places.push(("the story", format!("{story:?}")));
    for format in [Format::Text, Format::Json, Format::StreamJson] {
        places.extend(printed(played, format).await);
    }
    places
}

async fn clean(played: &Played, what: &str) {
    assert_eq!(found(&SEEDS, places(played).await), Vec::<String>::new(), "{what}");
}

/// What came from the runtime, a tool or a child, as a model reads it.
fn clean_results(played: &Played, what: &str) {
    let mut texts = Vec::new();
    for request in &played.requests {
        texts.push(("a system prompt", request.system.to_string()));
        for message in &request.messages {
            match &**message {
                Message::Results { results } => {
                    texts.extend(results.iter().map(|result| ("a result", result.output.clone())));
                }
                Message::User { .. } | Message::Assistant(_) => {}
            }
        }
    }
    assert_eq!(found(&SEEDS, texts), Vec::<String>::new(), "{what}");
}

/// What standard output and standard error get.
async fn printed(played: &Played, format: Format) -> Vec<(&'static str, String)> {
    let (tell, events) = mpsc::channel(played.events.len() + 1);
    let (commands, _taken) = mpsc::channel(8);
    for event in &played.events {
        tell.send(Arc::clone(event)).await.unwrap();
    }
    drop(tell);
    let (out, err) = (Kept::default(), Kept::default());
    headless::run(Headless {
        events,
        commands,
        format,
        quiet: false,
        no_children: false,
        prompt: "go".to_owned(),
        trace_dir: None,
        out_is_terminal: false,
        out: out.clone(),
        err: err.clone(),
    })
    .await;
    vec![("standard output", out.text()), ("standard error", err.text())]
}

/// Bytes that two can see.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Kept {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn both() -> String {
    format!("{SECRET} and {KEY}")
}

/// A child with hands that makes these calls, a turn each, and says this.
fn worker(calls: &[Value], says: &str) -> Value {
    let mut turns: Vec<Value> =
        calls.iter().map(|call| json!({ "text": both(), "tool_calls": [call] })).collect();
    turns.push(json!({ "text": says, "reasoning": both() }));
    let task = json!({ "task": "alpha", "expected_output": "x", "role": "worker" });
    json!({
        "turns": [{ "text": both(), "tool_calls": [call("c1", "task", task)] }, { "text": both() }],
        "children": [{ "match": "alpha", "turns": turns }],
    })
}

#[tokio::test]
async fn whatever_a_child_says_is_kept_without_them() {
    let say = both();
    let report = json!({
        "summary": say, "warnings": [say], "changed_paths": [say], "task_id": "t1", &say: say,
        "evidence": [{ "path": say, "line": 1, "reason": say }],
        "tests": [{ "command": say, "exit_code": 0 }],
    });
    for says in [say.clone(), report.to_string(), format!("```json\n{report}\n```")] {
        let calls = [
            call("k1", "read_file", json!({ "path": say })),
            call("k2", &say, json!({ &say: say })),
            call("k3", "read_file", json!({ &say: say })),
            call("k4", "search", json!({ "pattern": say })),
            call("k5", "note", json!({ "key": say, "text": say })),
        ];
        let played = stage(&worker(&calls, &says)).play(&say).await;
        clean(&played, &says[..3]).await;
        clean_results(&played, &says[..3]);
    }
}

#[tokio::test]
async fn whatever_a_child_does_is_kept_without_them() {
    let say = both();
    let long = format!("for i in $(seq 1 3000); do echo line $i {SECRET} {KEY}; done");
    let calls = [
        call("k1", "write_file", json!({ "path": "a.txt", "content": say })),
        call("k2", "read_file", json!({ "path": "a.txt" })),
        call("k3", "edit_file", json!({ "path": "a.txt", "old_text": "and", "new_text": say })),
        call("k4", "bash", json!({ "command": format!("echo {say}; echo {say} >&2; exit 3") })),
        call("k5", "bash", json!({ "command": long })),
        call(
            "k6",
            "bash",
            json!({ "command": format!("mkdir {SECRET}; echo x > {SECRET}/{KEY}") }),
        ),
        call("k7", "list_files", json!({ "path": SECRET })),
        call(
            "k8",
            "bash",
            json!({ "command": format!("printf '%s' {} | tr x-z X-Z; printf {}; sleep 0.1; printf '%s\\n' {}",
            &KEY[..9], &SECRET[..10], &SECRET[10..]) }),
        ),
        call("k9", "git_diff", json!({})),
        call("k10", "run_tests", json!({ "filter": KEY })),
    ];
    let played = stage(&worker(&calls, "did it")).file("old.txt", &say).play("go").await;
    clean(&played, "a worker").await;
    clean_results(&played, "a worker");
    let outputs = played.files().into_iter().filter(|(path, _)| path.contains("/outputs/"));
    assert!(outputs.count() >= 1, "the long output was kept");
}

#[tokio::test(start_paused = true)]
async fn what_a_parent_keeps_and_a_person_says_is_kept_without_them() {
    let say = both();
    let script = json!({
        "turns": [
            { "text": say, "tool_calls": [
                call("c1", "note", json!({ "key": "n", "text": say })),
                call("c2", "note", json!({ "key": SECRET, "text": "x" })),
                call("c3", "todo", json!({ "items": [{ "text": say, "state": "pending" }] })),
                task_call("c4", &say),
                call("c5", "task", json!({ "task": "alpha", "expected_output": "x", &say: 1 })),
                call("c6", "task", json!({ "task": "alpha", "expected_output": "x", "role": say, "allowed_tools": [say],
                    "context_keys": [say], "permissions": [say], "model": say })),
                task_call("c7", "alpha"),
            ]},
            { "text": say },
            { "text": say },
        ],
        "children": [{ "match": "alpha", "turns": [{ "text": "slow", "delay_ms": 5_000 }] }],
    });
    let steer = |target| Command::Steer { target, steer: Steer::Tell { text: both() } };
    let mut live = stage(&script).start();
    let pin = |name: &str| Command::Pin { name: name.to_owned(), text: both(), local_only: false };
    live.send(pin("mine")).await;
    live.send(pin(SECRET)).await;
    live.send(Command::Pin { name: "f".to_owned(), text: format!("@{SECRET}"), local_only: false })
        .await;
    let actions = [
        (1_000, steer(Target::Task(TaskId(1)))),
        (1_100, steer(Target::Parent)),
        (1_200, Command::CancelTask { task: TaskId(77) }),
        (1_300, Command::Submit { text: say.clone() }),
    ];
    live.ask(&say, &actions).await;
    let played = live.quit().await;
    clean(&played, "a parent").await;
    clean_results(&played, "a parent");
}

/// A question shows what would be done, and answers can have reasons.
#[tokio::test(start_paused = true)]
async fn a_question_and_its_answer_are_kept_without_them() {
    let say = both();
    let calls = [
        call("k1", "write_file", json!({ "path": "a.txt", "content": say })),
        call("k2", "bash", json!({ "command": format!("echo {say}") })),
    ];
    let mut stage = stage(&worker(&calls, "did it"));
    stage.mode = Mode::Ask;
    let deny = |call: &str| Command::Decide {
        run: RunId::child(TaskId(1), 1),
        call: CallId::from(call),
        answer: Answer::Deny { reason: Some(both()) },
    };
    let played = stage.play_with("go", &[(5_000, deny("k1")), (9_000, deny("k2"))]).await;
    let asked = played.facts().filter(|fact| matches!(fact, Fact::ApprovalRequested { .. }));
    assert_eq!(asked.count(), 2);
    clean(&played, "a question").await;
}

/// The person's own command reads the secret: the model is not to.
#[tokio::test]
async fn the_output_of_a_persons_own_command_is_without_them() {
    let script = json!({ "turns": [{ "text": "ok" }] });
    let mut live = stage(&script).file("settings.env", &both()).start();
    live.send(Command::Shell { command: "cat settings.env".to_owned() }).await;
    until_finished(&mut live).await;
    live.ask("what is it?", &[]).await;
    let played = live.quit().await;
    clean(&played, "a command of the person").await;
    let sent = played.requests.iter().map(|request| ("a request", format!("{request:?}")));
    assert_eq!(found(&SEEDS, sent), Vec::<String>::new());
}

async fn until_finished(live: &mut Live) {
    loop {
        let event = live.session.events.recv().await.expect("the session ended");
        live.events.push(Arc::clone(&event));
        if matches!(event.fact, Fact::ToolFinished { .. }) {
            return;
        }
    }
}

/// Servers that repeat what they were asked, in whatever form, the key among it.
#[tokio::test]
async fn what_a_server_repeats_is_kept_without_them() {
    let say = both();
    let echoes = [
        Reply::json(400, &json!({ "error": { "message": format!("bad request: {say}") } })),
        Reply::json(
            401,
            &json!({ "error": { "message": format!("wrong key: {KEY}"), "code": say } }),
        ),
        Reply::new(403, "text/plain", say.clone()),
        Reply::new(400, "text/html", format!("<html><h1>{say}</h1>")),
        Reply::new(302, "", "").header(&format!("location: http://x/{KEY}?{SECRET}")),
        Reply::events(format!("data: {}\n\n", json!({ "error": { "message": say } }))),
        Reply::events(format!("data: {say}\n\n")),
    ];
    for (number, echo) in echoes.into_iter().enumerate() {
        let server = RawServer::start(vec![echo], |_| Vec::new()).await;
        let config = Config {
            base_url: format!("{}/v1", server.url),
            model: "fake-o".to_owned(),
            api_key: Some(KEY.into()),
            ..Config::default()
        };
        let mut stage = Stage::with_provider(Arc::new(OpenAi::new(config).unwrap()));
        stage.patience.retries = 0;
        let played = with_secrets(stage).play("go").await;
        assert!(played.parent_ends()[0].code.is_some(), "{number}");
        clean(&played, &format!("echo {number}")).await;
    }
}
