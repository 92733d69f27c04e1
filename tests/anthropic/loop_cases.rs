//! Public faults of this wire, played through the real loop.

use std::sync::Arc;

use offshoot::domain::event::Fact;
use offshoot::domain::role::Permission;
use serde_json::{Value, json};

use super::bench::*;
use super::growing::assert_grows;
use crate::common::raw_server::{RawServer, Reply};
use crate::common::stand_in::WriteFile;
use crate::common::{Played, Stage};

fn recovered() -> Reply {
    Reply::events(whole(&[text_block(0, &["recovered"])], "end_turn"))
}

fn stage(server: &RawServer) -> Stage {
    Stage::with_provider(Arc::new(provider(server))).file("a.txt", "AAA")
}

/// Plays `first`, then an answer that ends the run.
async fn play(first: Reply) -> (RawServer, Played, Vec<String>) {
    let server = serve(vec![first, recovered()]).await;
    let tool = WriteFile::new();
    let written = Arc::clone(&tool.written);
    let stage = stage(&server).tool(tool);
    let stage = stage.permissions(&[Permission::Read, Permission::Delegate, Permission::Write]);
    let played = stage.play("go").await;
    let written = written.lock().unwrap().clone();
    (server, played, written)
}

/// Public case B008: thinking blocks came back in another order or without their seal.
#[tokio::test]
async fn interleaved_thinking_goes_back_in_the_same_order_and_with_the_same_bytes() {
    let stream = fixture("B008-thinking-roundtrip.sse").replace("list_dir", "list_files");
    for split in [usize::MAX, 1, 2, 3, 5, 7] {
        let (server, played, _) = play(Reply::events(stream.clone()).split(split)).await;
        let bodies = server.bodies();
        assert_eq!(bodies.len(), 2);
        let expected = json!([
            {"type": "thinking", "thinking": "First 子step. ", "signature": "QUJDREVG"},
            {"type": "text", "text": "I will read."},
            {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a.txt"}},
            {"type": "thinking", "thinking": "second", "signature": "R0hJ"},
            {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"},
            {"type": "tool_use", "id": "toolu_2", "name": "list_files", "input": {}},
        ]);
        assert_eq!(bodies[1]["messages"][1]["content"], expected);
        assert_eq!(played.reply(), "recovered");
        assert!(played.result("toolu_1").contains("AAA"));
    }
}

/// Public case B016: characters were broken where the network split them.
#[tokio::test]
async fn characters_survive_any_split_in_words_and_arguments() {
    for split in [1, 2, 3, 5, 7] {
        let stream = fixture("B016-utf8-split.sse");
        let (server, played, written) = play(Reply::events(stream).split(split)).await;
        let content = &server.bodies()[1]["messages"][1]["content"];
        assert_eq!(content[0]["text"], "子代理 🧪 naïve 👩‍👩‍👧 done");
        assert_eq!(content[1]["input"], json!({"path": "o.txt", "content": "子🧪é"}));
        assert_eq!(written, ["\"o.txt\""], "{}", played.result("toolu_1"));
        assert!(!played.files().iter().any(|(_, text)| text.contains('\u{FFFD}')));
    }
}

/// Public case B029: half a file was written when the output limit cut the call.
#[tokio::test]
async fn a_call_that_the_output_limit_cut_is_never_run() {
    let (server, played, written) = play(Reply::events(fixture("B029-cut-in-call.sse"))).await;
    assert_eq!(written, Vec::<String>::new());
    assert!(played.result("toolu_w").contains("output limit"), "{}", played.result("toolu_w"));
    assert_eq!(server.bodies().len(), 2);
}

/// Public case B010 in this wire's form: arguments that do not parse, then a correct call.
#[tokio::test]
async fn arguments_that_do_not_parse_are_answered_and_replayed_as_an_object() {
    let bad = call_block(0, "toolu_1", "read_file", &["{\"path\": \"a.txt\"}}"]);
    let good = call_block(0, "toolu_2", "read_file", &["{\"path\": \"a.txt\"}"]);
    let replies = [whole(&[bad], "tool_use"), whole(&[good], "tool_use")].map(Reply::events);
    let server = serve([replies.as_slice(), &[recovered()]].concat()).await;
    let played = stage(&server).play("go").await;
    assert!(played.result("toolu_1").contains("JSON"), "{}", played.result("toolu_1"));
    assert!(played.result("toolu_2").contains("AAA"));
    assert_eq!(played.reply(), "recovered");
    assert!(server.bodies()[1]["messages"][1]["content"][0]["input"].is_object());
}

/// Public case B022, the half of it that comes after words: they are kept, marked, and charged.
#[tokio::test]
async fn words_before_an_error_event_are_kept_and_not_shown_as_an_answer() {
    let case: Value = serde_json::from_str(&fixture("B022-error-after-200.wire.json")).unwrap();
    let stream = case["variants"]["b"][0]["chunks"][0]["text"].as_str().unwrap();
    let (_server, played, _) = play(Reply::events(stream)).await;
    let end = &played.parent_ends()[0];
    assert_eq!(serde_json::to_value(end).unwrap()["status"], "failed");
    assert!(end.usage.input_tokens >= 50, "{:?}", end.usage);
    let interrupted = played.facts().any(|fact| {
        matches!(fact, Fact::Message(message) if message.interrupted
            && message.text.contains("The three causes are"))
    });
    assert!(interrupted, "the words are kept and marked");
}

/// Thirty turns of the loop against one server.
#[tokio::test]
async fn a_long_run_pays_for_what_is_new() {
    let turn = |number: usize| {
        let id = format!("toolu_{number}");
        let path = format!("{{\"path\": \"a.txt\", \"offset\": {}}}", number + 1);
        let blocks = [
            thinking_block(0, &["hm"], &["c2ln"]),
            text_block(1, &["next "]),
            call_block(2, &id, "read_file", &[&path]),
        ];
        Reply::events(whole(&blocks, "tool_use"))
    };
    let mut replies: Vec<Reply> = (0..19).map(turn).collect();
    replies.push(recovered());
    replies.extend((19..29).map(turn));
    replies.push(recovered());
    let server = serve(replies).await;
    let many: Vec<String> = (0..40).map(|number| format!("line {number}")).collect();
    let mut live = stage(&server).file("a.txt", &many.join("\n")).start();
    live.ask("read it", &[]).await;
    live.ask("and again", &[]).await;
    live.quit().await;
    let bodies = server.bodies();
    assert!(bodies.len() >= 30, "{}", bodies.len());
    assert_grows(&bodies);
}
