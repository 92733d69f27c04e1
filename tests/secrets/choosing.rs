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
async fn keys_are_listed_in_the_newest_message_and_only_when_they_changed() {
    let look = |id: &str| call(id, "list_files", json!({ "path": "." }));
    let script = json!({
        "turns": [
            { "text": "", "tool_calls": [look("c1")] },
            { "text": "", "tool_calls": [task_call("c2", "alpha")] },
            { "text": "", "tool_calls": [look("c3")] },
            { "text": "", "tool_calls": [call("c4", "note", json!({ "key": "plan", "text": "x" }))] },
            { "text": "", "tool_calls": [call("c5", "note", json!({ "key": "plan", "text": "yy" }))] },
            { "text": "done" },
        ],
        "children": [{ "match": "alpha", "turns": [{ "text": "ok" }] }],
    });
    let played = Stage::new(&script).play("go").await;
    let requests = played.parent_requests();
    let counts: Vec<usize> = requests.iter().map(|request| listings(request).len()).collect();
    assert_eq!(counts, [1, 1, 2, 2, 3, 3]);
    for (request, count) in requests.iter().zip(&counts).skip(1) {
        let earlier = listings(requests[0]);
        assert_eq!(listings(request)[..1], earlier[..], "a list stays where and what it was");
        assert!(*count >= 1);
    }
    let newest = |index: usize| requests[index].messages.last().cloned().unwrap();
    for (index, key) in [(2, "report:1"), (4, "plan")] {
        let text = match &*newest(index) {
            Message::User { text } => text.clone(),
            other => panic!("{other:?}"),
        };
        assert!(text.starts_with(MARK) && text.contains(key), "{text}");
    }
    let tools = |request: &Request| format!("{:?}{:?}", request.system, request.tools);
    assert!(requests.iter().all(|request| tools(request) == tools(requests[0])));
}
