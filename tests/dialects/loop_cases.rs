//! Public faults of this wire, played through the real loop.

use std::sync::Arc;

use offshoot::domain::event::Fact;
use offshoot::domain::role::Permission;
use serde_json::{Value, json};

use super::bench::*;
use crate::common::raw_server::{RawServer, Reply};
use crate::common::stand_in::WriteFile;
use crate::common::{Played, Stage};

fn stage(server: &RawServer) -> Stage {
    Stage::with_provider(Arc::new(provider(server))).file("a.txt", "AAA")
}

/// Plays replies, with a tool that notes what was to be written.
async fn play(replies: Vec<Reply>) -> (RawServer, Played, Vec<String>) {
    let server = serve(replies).await;
    let tool = WriteFile::new();
    let written = Arc::clone(&tool.written);
    let stage = stage(&server).tool(tool);
    let stage = stage.permissions(&[Permission::Read, Permission::Delegate, Permission::Write]);
    let played = stage.file("b.txt", "BBB").file("c.txt", "CCC").play("go").await;
    let written = written.lock().unwrap().clone();
    (server, played, written)
}

fn replies(file: &str) -> Vec<Reply> {
    let case: Value = serde_json::from_str(&fixture(file)).unwrap();
    let bodies = case["responses"].as_array().unwrap().iter();
    bodies.map(|body| Reply::events(body["chunks"][0]["text"].as_str().unwrap())).collect()
}

/// Public case B010: arguments that do not parse crashed the run or left the call unanswered.
#[tokio::test]
async fn arguments_that_do_not_parse_are_answered_and_replayed_as_an_object() {
    let (server, played, _) = play(replies("B010-bad-json-args.wire.json")).await;
    assert!(played.result("call_1").contains("JSON"), "{}", played.result("call_1"));
    assert!(played.result("call_2").contains("AAA"));
    assert_eq!(played.reply(), "ok");
    assert_eq!(server.bodies().len(), 3);
}

/// Public case B016 in this wire's form: characters were broken where the network split them.
#[tokio::test]
async fn characters_survive_any_split_in_words_and_arguments() {
    let words = "子代理 🧪 naïve 👩‍👩‍👧 done";
    let arguments = "{\"path\":\"o.txt\",\"content\":\"子🧪é\"}";
    let part = json!([{"index": 0, "id": "w", "function": {"name": "write_file", "arguments": arguments}}]);
    let body = [delta(&json!({ "content": words })), calls(&part), finish("tool_calls")].concat();
    for split in [1, 2, 3, 5, 7] {
        let (server, played, written) =
            play(vec![Reply::events(body.clone()).split(split), said("recovered")]).await;
        let sent = &server.bodies()[1]["messages"][2];
        assert_eq!(sent["content"], words);
        let replayed = sent["tool_calls"][0]["function"]["arguments"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(replayed).unwrap()["content"], "子🧪é");
        assert_eq!(written, ["\"o.txt\""], "{}", played.result("w"));
        assert!(!played.files().iter().any(|(_, text)| text.contains('\u{FFFD}')));
    }
}

/// Public case B017: comment lines were parsed as JSON or taken as the end.
#[tokio::test]
async fn comments_and_unknown_events_change_nothing() {
    for split in [usize::MAX, 1, 2, 3, 5, 7] {
        let reply = Reply::events(fixture("B017-sse-comments.sse")).split(split);
        let (_server, played, _) = play(vec![reply]).await;
        assert_eq!(played.reply(), "Hello");
        assert!(!played.facts().any(|fact| matches!(fact, Fact::Notice { .. })));
    }
}

/// Public case B022 in this wire's form: an error inside a stream was shown as a finished answer.
#[tokio::test]
async fn words_before_an_error_are_kept_and_not_shown_as_an_answer() {
    let body = [
        event(&json!({"choices": [], "usage": {"prompt_tokens": 50, "completion_tokens": 1}})),
        delta(&json!({"content": "The three causes are"})),
        event(&json!({"error": {"message": "Overloaded", "type": "overloaded_error"}})),
    ]
    .concat();
    let (_server, played, _) = play(vec![Reply::events(body)]).await;
    let end = &played.parent_ends()[0];
    assert_eq!(serde_json::to_value(end).unwrap()["status"], "failed");
    assert!(end.usage.input_tokens >= 50, "{:?}", end.usage);
    let interrupted = played.facts().any(|fact| {
        matches!(fact, Fact::Message(message) if message.interrupted
            && message.text.contains("The three causes are"))
    });
    assert!(interrupted, "the words are kept and marked");
}

/// Public case B027: a gateway's error page was dumped raw into the terminal.
#[tokio::test]
async fn an_error_page_is_one_line_with_its_status_and_title() {
    let page = format!(
        "<!DOCTYPE html><html><head><title>401 Authorization Required</title></head><body>\u{1b}]0;owned\u{7}{}",
        "<p>cf</p>".repeat(200)
    );
    let (server, played, _) = play(vec![Reply::new(401, "text/html", page)]).await;
    assert_eq!(server.bodies().len(), 1);
    let shown: String = played.facts().map(|fact| serde_json::to_string(fact).unwrap()).collect();
    assert!(shown.contains("401 Authorization Required"), "{shown}");
    assert!(!shown.contains("<html") && !shown.contains("\\u001b]0"), "{shown}");
}

/// Public case B029 in this wire's form: half a file was written when the limit cut the call.
#[tokio::test]
async fn a_call_that_the_output_limit_cut_is_never_run() {
    for arguments in ["{\"path\":\"a.txt\",\"content\":\"line 1\\nhal", "{\"path\":\"a.txt\"}"] {
        let part = json!([{"index": 0, "id": "w", "function": {"name": "write_file", "arguments": arguments}}]);
        let body = [calls(&part), finish("length"), DONE.to_owned()].concat();
        let (server, played, written) = play(vec![Reply::events(body), said("recovered")]).await;
        assert_eq!(written, Vec::<String>::new());
        assert!(played.result("w").contains("output limit"), "{}", played.result("w"));
        assert_eq!(server.bodies().len(), 2);
    }
}

/// Public case B031: names and arguments of parallel calls were glued together.
#[tokio::test]
async fn calls_with_one_index_or_none_stay_apart() {
    for split in [usize::MAX, 1, 2, 3, 5, 7] {
        let reused = Reply::events(fixture("B031-index-reuse.sse")).split(split);
        let (_server, played, _) = play(vec![reused, said("ok")]).await;
        for (call, text) in [("call_1", "AAA"), ("call_2", "BBB"), ("call_3", "CCC")] {
            assert!(played.result(call).contains(text), "{call}");
        }
        let missing = Reply::events(fixture("B031-index-missing.sse")).split(split);
        let (_server, played, _) = play(vec![missing, said("ok")]).await;
        for (call, text) in [("call_1", "AAA"), ("call_2", "BBB")] {
            assert!(played.result(call).contains(text), "{call}");
        }
    }
}

/// Public case B032: children's requests were capped by a constant, and every real write was cut.
#[tokio::test]
async fn a_childs_request_asks_for_what_its_budget_leaves_and_a_cut_is_reported() {
    let task = json!({"task": "write it", "expected_output": "answer",
        "budget": {"output_tokens": 300}});
    let part = json!([{"index": 0, "id": "t", "function": {"name": "task", "arguments": task.to_string()}}]);
    let delegate = [calls(&part), finish("tool_calls"), DONE.to_owned()].concat();
    let cut = [
        delta(&json!({"content": "It goes like"})),
        finish("length"),
        event(&json!({"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": 200}})),
    ]
    .concat();
    let (server, played, _) =
        play(vec![Reply::events(delegate), Reply::events(cut), said("ok")]).await;
    let bodies = server.bodies();
    let asked = bodies[1]["max_tokens"].as_u64().unwrap();
    assert!((1..=300).contains(&asked), "{asked}");
    let report = serde_json::to_value(played.task_result("t")).unwrap();
    assert_eq!(
        (&report["status"], &report["dimension"]),
        (&json!("budget_exhausted"), &json!("output_tokens"))
    );
    assert!(report["summary"].as_str().unwrap().contains("It goes like"));
}
