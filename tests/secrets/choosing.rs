//! The parent's model is told what a task can choose: at the end of the newest message, and only when
//! that has changed. The tools it is offered stay the same, byte for byte.

use offshoot::domain::command::Command;
use offshoot::domain::message::Message;
use offshoot::provider::Request;
use offshoot::session::Pin;
use serde_json::json;

use super::common::{Stage, task_call};
use super::leaks::call;

const MARK: &str = "[context keys for `task`: ";

fn listings(request: &Request) -> Vec<String> {
    let texts = request.messages.iter().filter_map(|message| match &**message {
        Message::User { text } => Some(text.clone()),
        Message::Assistant(_) | Message::Results { .. } => None,
    });
    texts.filter_map(|text| text.find(MARK).map(|at| text[at..].to_owned())).collect()
}

#[tokio::test(start_paused = true)]
async fn keys_are_listed_in_the_newest_message_of_a_person_and_only_when_they_changed() {
    let look = |id: &str| call(id, "list_files", json!({ "path": "." }));
    let note = call("c3", "note", json!({ "key": "plan", "text": "x" }));
    let script = json!({
        "turns": [
            { "text": "", "tool_calls": [look("c1")] },
            { "text": "", "tool_calls": [task_call("c2", "alpha"), note] },
            { "text": "first" },
            { "text": "second" },
        ],
        "children": [{ "match": "alpha", "turns": [{ "text": "ok" }] }],
    });
    let mut live = Stage::new(&script).start();
    live.ask("go", &[]).await;
    live.ask("and?", &[]).await;
    let played = live.quit().await;
    for (id, key) in [("c2", "`report:1`"), ("c3", "`plan`")] {
        assert!(played.result(id).contains(key), "the result tells the key that it made");
    }
    let requests = played.parent_requests();
    let counts: Vec<usize> = requests.iter().map(|request| listings(request).len()).collect();
    assert_eq!(counts, [1, 1, 1, 2]);
    let (first, last) = (listings(requests[0]), listings(requests[3]));
    assert_eq!(first[0], last[0], "a list stays where and what it was");
    for key in ["request (", "request:1 (", "report:1 (", "plan ("] {
        assert!(last[1].contains(key), "{key} in {}", last[1]);
    }
    assert!(last[1].ends_with(']'), "it ends the message");
    let tools = |request: &Request| format!("{:?}{:?}", request.system, request.tools);
    assert!(requests.iter().all(|request| tools(request) == tools(requests[0])));
}

/// Several questions with notes, pins and reports in between: each request holds every earlier list
/// byte for byte and where it was, at most one new one, and that in its newest message of a person; no
/// schema ever changes, and what is secret is in none.
#[tokio::test(start_paused = true)]
async fn lists_are_only_ever_appended_and_only_when_the_keys_changed() {
    let note =
        |id: &str, key: &str, text: &str| call(id, "note", json!({ "key": key, "text": text }));
    let script = json!({
        "turns": [
            // The first question: nothing happens to the keys.
            { "text": "one" },
            // The second: a note, again with another text, and a child.
            { "text": "", "delay_ms": 1_000, "tool_calls": [note("c1", "plan", "x")] },
            { "text": "", "tool_calls": [note("c2", "plan", "longer now"), task_call("c3", "alpha")] },
            { "text": "two" },
            // The third and fourth: no key is new.
            { "text": "", "tool_calls": [note("c4", "plan", "y")] },
            { "text": "three" },
            { "text": "four" },
        ],
        "children": [{ "match": "alpha", "turns": [{ "text": "ok" }] }],
    });
    let mut stage = Stage::new(&script);
    stage.pins.push(super::leaks::secret("token", "a-secret-of-the-user"));
    stage.pins.push(Pin::normal("spec", "the words"));
    let mut live = stage.start();
    let pin = |name: &str, text: &str| Command::Pin {
        name: name.to_owned(),
        text: text.to_owned(),
        local_only: false,
    };
    live.ask("first", &[]).await;
    live.send(pin("between", "x")).await;
    live.ask("second", &[(500, pin("meanwhile", "x"))]).await;
    live.ask("third", &[]).await;
    live.send(pin("between", "another text, of another size")).await;
    live.ask("fourth", &[]).await;
    let played = live.quit().await;
    let requests = played.parent_requests();
    let mut before: Vec<(usize, String)> = Vec::new();
    for request in &requests {
        let found = placed(request);
        assert_eq!(found[..before.len()], before, "a list stays where and what it was");
        assert!(found.len() <= before.len() + 1);
        if found.len() > before.len() {
            let last_of_person = request
                .messages
                .iter()
                .rposition(|message| matches!(&**message, Message::User { .. }));
            assert_eq!(found.last().map(|(at, _)| *at), last_of_person);
        }
        before = found;
    }
    for (_, list) in &before {
        assert!(!list.contains("token") && list.ends_with(']'), "{list}");
    }
    let keys: Vec<Vec<&str>> = before.iter().map(|(_, list)| keys_of(list)).collect();
    assert!(keys.windows(2).all(|pair| pair[0] != pair[1]), "{keys:?}");
    assert!(keys[0].contains(&"spec") && !keys[0].contains(&"plan"));
    assert!(keys[1].contains(&"between") && keys[1].contains(&"request:1"));
    let last = keys.last().unwrap();
    for key in ["spec", "plan", "between", "meanwhile", "report:1", "request"] {
        assert!(last.contains(&key), "{key} in {last:?}");
    }
    let fixed = |request: &Request| format!("{:?}{:?}", request.system, request.tools);
    assert!(requests.iter().all(|request| fixed(request) == fixed(requests[0])));
    let schema = fixed(requests[0]);
    assert!(!schema.contains("between") && !schema.contains("report:1 ("));
}

/// Each list with the place of its message.
fn placed(request: &Request) -> Vec<(usize, String)> {
    let texts = request.messages.iter().enumerate().filter_map(|(at, message)| match &**message {
        Message::User { text } => Some((at, text.clone())),
        Message::Assistant(_) | Message::Results { .. } => None,
    });
    texts
        .filter_map(|(at, text)| text.find(MARK).map(|from| (at, text[from..].to_owned())))
        .collect()
}

fn keys_of(list: &str) -> Vec<&str> {
    let inside = list.trim_start_matches(MARK).trim_end_matches(']');
    inside.split(", ").map(|item| item.split(" (").next().unwrap()).collect()
}
