//! Seeds in the parent's history, another pin, a secret pin, a sibling's report and another task's
//! words: in nothing that a child gets, sends or leaves behind.

use offshoot::domain::context_store::Sensitivity;
use offshoot::domain::event::Fact;
use offshoot::domain::hash::Sha;
use offshoot::domain::ids::TaskId;
use offshoot::domain::report::Status;
use offshoot::domain::violation::Code;
use offshoot::session::Pin;
use serde_json::{Value, json};

use super::common::{Played, Stage, task_call};

/// Where a seed was found, by its hash.
pub fn found<'a>(
    seeds: &[&str],
    places: impl IntoIterator<Item = (&'a str, String)>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (place, text) in places {
        for seed in seeds.iter().filter(|seed| text.contains(**seed)) {
            found.push(format!("{} in {place}", Sha::of(seed).short()));
        }
    }
    found
}

pub fn call(id: &str, name: &str, arguments: Value) -> Value {
    json!({ "id": id, "name": name, "arguments": arguments })
}

pub fn secret(name: &str, text: &str) -> Pin {
    Pin { sensitivity: Sensitivity::Secret, ..Pin::normal(name, text) }
}

/// All that is about one child: its requests, its events, its contract, its trace.
fn all_of(played: &Played, task: u32) -> Vec<(&'static str, String)> {
    let run = format!("t{task}.1");
    let mut places = Vec::new();
    for request in played.child_requests().into_iter().filter(|r| r.run.to_string() == run) {
        places.push(("a request", format!("{request:?}")));
    }
    for event in played.events.iter().filter(|event| event.origin.task == Some(TaskId(task))) {
        places.push(("an event", serde_json::to_string(&**event).unwrap()));
    }
    let trace = format!("{run}.jsonl");
    for (path, text) in played.files() {
        if path.ends_with(&trace) {
            places.push(("the trace", text));
        }
    }
    assert!(places.len() > 3, "the child really ran");
    places
}

const HISTORY: &str = "history-4fd1-amber-otter";
const PINNED: &str = "pinned-77c0-cobalt-lynx";
const SECRET: &str = "secret-b21e-violet-heron";
const SIBLING: &str = "sibling-903a-scarlet-newt";
const TASK: &str = "task-55d8-ochre-stoat";
const NOTE: &str = "note-1c6f-teal-marten";
const SEEDS: [&str; 6] = [HISTORY, PINNED, SECRET, SIBLING, TASK, NOTE];

#[tokio::test(start_paused = true)]
async fn a_seed_anywhere_in_the_parent_reaches_no_child_that_was_not_given_it() {
    let report = json!({ "summary": format!("found {SIBLING}") }).to_string();
    let beta = json!({
        "task": "beta", "expected_output": "answer", "context_keys": ["spec"],
    });
    let script = json!({
        "turns": [
            { "text": HISTORY, "tool_calls": [
                call("c1", "read_file", json!({ "path": "diary.txt" })),
                call("c2", "note", json!({ "key": "mine", "text": NOTE })),
                task_call("c3", &format!("alpha, about {TASK}")),
            ]},
            { "text": "", "tool_calls": [call("c4", "task", beta)] },
            { "text": "done" },
        ],
        "children": [
            { "match": "alpha", "turns": [{ "text": report }] },
            { "match": "beta", "turns": [
                { "tool_calls": [call("k1", "read_file", json!({ "path": "nowhere" }))] },
                { "tool_calls": [call("k2", "note", json!({ "key": "a", "text": "b" }))] },
                { "text": "found nothing" },
            ]},
        ],
    });
    let mut stage = Stage::new(&script).file("diary.txt", &format!("dear diary, {HISTORY}"));
    stage.pins.push(Pin::normal("spec", "the chosen words"));
    stage.pins.push(Pin::normal("other", PINNED));
    stage.pins.push(secret("token", SECRET));
    let played = stage.play(&format!("remember {HISTORY}")).await;
    assert_eq!(played.task_result("c4").status, Status::Completed);
    let places = all_of(&played, 2);
    assert!(places.iter().any(|(_, text)| text.contains("the chosen words")));
    assert_eq!(found(&SEEDS, places), Vec::<String>::new());
    assert!(played.result("k2").contains("refused"), "a child has no `note`");
    // They were really there, but for the secret, which is nowhere at all.
    let everything: Vec<_> = played.files().into_iter().map(|(_, text)| ("a file", text)).collect();
    for seed in [HISTORY, PINNED, SIBLING, TASK, NOTE] {
        assert!(!found(&[seed], everything.clone()).is_empty(), "{}", Sha::of(seed).short());
    }
    assert_eq!(found(&[SECRET], everything), Vec::<String>::new());
    assert_eq!(found(&[SECRET], requests(&played)), Vec::<String>::new());
}

fn requests(played: &Played) -> Vec<(&'static str, String)> {
    played.requests.iter().map(|request| ("a request", format!("{request:?}"))).collect()
}

fn events(played: &Played) -> Vec<(&'static str, String)> {
    played.facts().map(|fact| ("an event", serde_json::to_string(fact).unwrap())).collect()
}

fn files(played: &Played) -> Vec<(&'static str, String)> {
    played.files().into_iter().map(|(_, text)| ("a file", text)).collect()
}

/// Whatever field a model writes a secret into, and in whatever form: nothing starts, and neither
/// the refusal nor anything else repeats it.
#[tokio::test(start_paused = true)]
async fn a_task_that_has_a_secret_in_any_of_its_words_starts_nothing_and_repeats_nothing() {
    const VALUE: &str = "hunter2-in-the-middle";
    let text = format!("# for the deployment\nDEPLOY_TOKEN=\"{VALUE}\"\nsecond \"line\" of it\n");
    let seeds = [VALUE, "second \"line\" of it", "second \\\"line\\\" of it"];
    let plain = json!({ "task": "alpha", "expected_output": "answer" });
    let fields = ["task", "expected_output", "description", "done_when", "must_not"];
    for field in fields {
        for words in [format!("use {VALUE} for it"), "say second \"line\" of it".to_owned()] {
            let mut task = plain.clone();
            task[field] = json!(words);
            assert_refused(&text, &seeds, task, field).await;
        }
    }
    let mut task = plain.clone();
    task["allowed_paths"] = json!([format!("src/{VALUE}")]);
    assert_refused(&text, &seeds, task, "allowed_paths").await;
    let mut task = plain;
    task["context_keys"] = json!(["token"]);
    assert_refused(&text, &seeds, task, "context_keys").await;
}

async fn assert_refused(text: &str, seeds: &[&str], task: Value, field: &str) {
    let script = json!({
        "turns": [{ "text": "", "tool_calls": [call("c1", "task", task)] }, { "text": "done" }],
    });
    let mut stage = Stage::new(&script);
    stage.pins.push(secret("token", text));
    let played = stage.play("go").await;
    let report = played.task_result("c1");
    assert_eq!((report.status, report.code), (Status::Blocked, Some(Code::ContextForbidden)));
    assert_eq!(report.violations.len(), 1, "{field}: {:?}", report.violations);
    assert_eq!(report.violations[0].field, field);
    assert!(played.child_requests().is_empty());
    assert_eq!(found(seeds, [("the result", played.result("c1"))]), Vec::<String>::new());
    assert_eq!(found(seeds, events(&played)), Vec::<String>::new(), "{field}");
    assert_eq!(found(seeds, files(&played)), Vec::<String>::new(), "{field}");
}

/// The file of a secret may lie in the workspace: what it has is read by nobody.
#[tokio::test(start_paused = true)]
async fn a_secret_in_a_file_is_blotted_out_of_what_models_read() {
    let read = |id: &str| call(id, "read_file", json!({ "path": "settings.env" }));
    let find = |id: &str| call(id, "search", json!({ "pattern": "violet" }));
    let script = json!({
        "turns": [
            { "text": "", "tool_calls": [read("c1"), find("c2"), task_call("c3", "alpha")] },
            { "text": "done" },
        ],
        "children": [{ "match": "alpha", "turns": [
            { "tool_calls": [read("k1"), find("k2")] },
            { "text": "ok" },
        ]}],
    });
    let text = format!("A=1\nTOKEN={SECRET}\n");
    let mut stage = Stage::new(&script).file("settings.env", &text);
    stage.pins.push(secret("token", SECRET));
    let played = stage.play("go").await;
    for call in ["c1", "c2", "k1", "k2"] {
        assert!(played.result(call).contains("(redacted)"), "{call}");
        assert!(played.result(call).contains("Never write it back"), "{call}");
    }
    assert_eq!(found(&[SECRET], requests(&played)), Vec::<String>::new());
    assert_eq!(found(&[SECRET], events(&played)), Vec::<String>::new());
    assert_eq!(found(&[SECRET], files(&played)), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn of_a_secret_only_its_card_is_told() {
    let mut stage = Stage::new(&json!({ "turns": [{ "text": "done" }] }));
    stage.pins.push(secret("token", SECRET));
    let played = stage.play("go").await;
    let told = played.facts().find_map(|fact| match fact {
        Fact::ContextAdded { card, sensitivity: Sensitivity::Secret, text } => {
            Some((card.key.clone(), card.bytes, text.clone()))
        }
        _ => None,
    });
    assert_eq!(told, Some(("token".to_owned(), SECRET.len() as u64, None)));
    let first = format!("{:?}", played.requests[0].messages);
    assert!(!first.contains("token"), "it is no key that a task can choose");
}
