//! What never gets into the record: secrets, and texts that belong elsewhere.

use std::fs;
use std::sync::Arc;

use offshoot::domain::context_store::Sensitivity;
use offshoot::domain::event::{Event, Fact, Level, MessageFact, Origin, RawOutput};
use offshoot::domain::hash::Sha;
use serde_json::{Value, json};

use crate::ground::{
    SECRET, SESSION, call, child, delta, everything, finished, parent, run_finished, run_started,
    save, snippet,
};

fn as_json(told: &[Arc<Event>]) -> String {
    told.iter().map(|event| serde_json::to_string(event.as_ref()).unwrap()).collect()
}

fn holds(bytes: &[u8], text: &str) -> bool {
    String::from_utf8_lossy(bytes).contains(text)
}

#[tokio::test(start_paused = true)]
async fn a_snippets_text_is_in_the_session_file_alone_and_a_secrets_text_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let facts = vec![
        (Origin::session(), snippet("notes", Sensitivity::Normal, "plain words")),
        (Origin::session(), snippet("local", Sensitivity::LocalOnly, "local words")),
        (Origin::session(), snippet("token", Sensitivity::Secret, "secret words")),
        (child(1), snippet("odd", Sensitivity::Normal, "childish words")),
    ];
    let told = save(dir.path(), facts).await;
    let files = everything(dir.path());
    let session = &files[&dir.path().join(SESSION.to_string()).join("session.jsonl")];
    assert!(holds(session, "plain words") && holds(session, "local words"));
    for (path, bytes) in &files {
        assert!(!holds(bytes, "secret words"), "{}", path.display());
        assert!(!holds(bytes, "childish words"), "{}", path.display());
        assert!(!path.to_string_lossy().contains("traces") || !holds(bytes, "plain words"));
    }
    let shown = as_json(&told);
    assert!(!shown.contains("words"), "{shown}");
    assert!(holds(session, Sha::of("secret words").as_str()), "its hash is told");
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_nowhere() {
    let dir = tempfile::tempdir().unwrap();
    let shaped = "sk-proj-0123456789abcdefABCDEF";
    let text = format!("found {SECRET} and {shaped} here");
    let mut arguments = serde_json::Map::new();
    arguments.insert(SECRET.to_owned(), json!([{ "deep": text }]));
    let mut facts = vec![
        (Origin::session(), snippet("request", Sensitivity::Normal, &text)),
        (parent(), run_started("parent", 0, &text)),
        (parent(), Fact::Message(MessageFact::user(text.clone()))),
        (child(1), run_started("researcher", 1, &text)),
        (
            child(1),
            Fact::ToolStarted {
                call: call(SECRET),
                name: SECRET.to_owned(),
                arguments: Value::Object(arguments),
            },
        ),
        (child(1), finished(&text)),
        (child(1), Fact::notice(Level::Warning, "X", text.clone())),
    ];
    for piece in text.chars() {
        facts.push((child(1), delta(&piece.to_string())));
        facts.push((parent(), Fact::ReasoningDelta { text: piece.to_string() }));
    }
    facts.push((child(1), run_finished(Some(&text))));
    facts.push((parent(), run_finished(Some(&text))));
    let told = save(dir.path(), facts).await;

    let mut streamed = String::new();
    for event in &told {
        if let Fact::TextDelta { text } = &event.fact {
            streamed.push_str(text);
        }
    }
    assert_eq!(streamed, "found (redacted) and sk-(redacted) here");
    let shown = as_json(&told);
    let files = everything(dir.path());
    assert_eq!(files.len(), 2);
    let read = files.into_values().chain([shown.into_bytes(), streamed.into_bytes()]);
    for bytes in read {
        // Not asserted with the text itself, so that a failure does not print it.
        assert!(!holds(&bytes, SECRET), "the given secret is in it");
        assert!(!holds(&bytes, &shaped[8..]), "the key is in it");
        assert!(holds(&bytes, "(redacted)"));
    }
}

#[tokio::test]
async fn what_was_cut_from_an_output_is_kept_beside_the_record_without_its_secrets() {
    let dir = tempfile::tempdir().unwrap();
    let mut long = finished("the beginning ... the end");
    if let Fact::ToolFinished { raw, truncated, .. } = &mut long {
        *raw = Some(RawOutput(format!("the beginning\n{SECRET}\nthe end\n").into()));
        *truncated = true;
    }
    let facts = vec![
        (child(1), run_started("worker", 1, "run it")),
        (child(1), finished("short")),
        (child(1), long),
        (child(1), run_finished(None)),
    ];
    let told = save(dir.path(), facts).await;
    let folder = dir.path().join(SESSION.to_string());
    let kept: Vec<String> = fs::read_dir(folder.join("outputs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let id = told.iter().rfind(|event| matches!(event.fact, Fact::ToolFinished { .. })).unwrap().id;
    assert_eq!(kept, [id.to_string()]);
    let text = fs::read_to_string(folder.join("outputs").join(&kept[0])).unwrap();
    assert!(text.starts_with("the beginning\n") && text.ends_with("\nthe end\n"), "{text}");
    assert!(!text.contains(SECRET));
    let trace = fs::read_to_string(folder.join("traces/t1.1.jsonl")).unwrap();
    assert!(!trace.contains("raw") && trace.contains("the beginning ... the end"));
}
