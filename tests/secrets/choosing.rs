//! The parent's model is told what a task can choose: at the end of the newest message, and only when
//! that has changed. The tools it is offered stay the same, byte for byte.

use offshoot::domain::message::Message;
use offshoot::provider::Request;
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
