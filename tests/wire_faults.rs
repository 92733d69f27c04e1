//! Public faults of servers, played over a real connection through the real loop: what fails, what
//! is silent, what is too long.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use common::raw_server::{End, RawServer, Reply, Seen};
use common::{Played, Stage, strict};
use offshoot::domain::command::Command;
use offshoot::domain::event::Fact;
use offshoot::domain::report::Status;
use offshoot::domain::violation::Code;
use offshoot::provider::anthropic::{self, Anthropic};
use offshoot::provider::openai::{self, OpenAi};
use offshoot::provider::retry::Patience;
use secrecy::SecretString;
use serde_json::Value;

/// The wires that a case can be played over.
#[derive(Clone, Copy, PartialEq)]
enum Wire {
    Messages,
    Chat,
}

fn case(file: &str) -> Value {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn replies(list: &Value) -> Vec<Reply> {
    list.as_array().unwrap().iter().map(reply).collect()
}

fn reply(answer: &Value) -> Reply {
    let mut body = Vec::new();
    for chunk in answer["chunks"].as_array().into_iter().flatten() {
        body.extend_from_slice(chunk["text"].as_str().unwrap_or_default().as_bytes());
    }
    let status = answer["status"].as_u64().map_or(Reply::SILENT, |code| code.try_into().unwrap());
    let mut reply = Reply::new(status, "", body);
    for (name, value) in answer["headers"].as_object().into_iter().flatten() {
        let date = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3));
        let value = value.as_str().unwrap().replace("{{http_date+2}}", &date);
        reply = reply.header(&format!("{name}: {value}"));
    }
    match answer["end"].as_str() {
        Some("hang") => reply.ending(End::Hang),
        Some("reset") => reply.ending(End::Break),
        _ => reply,
    }
}

async fn serve(wire: Wire, replies: Vec<Reply>) -> RawServer {
    let check = match wire {
        Wire::Messages => strict::anthropic,
        Wire::Chat => strict::openai,
    };
    RawServer::start(replies, check).await
}

fn stage(wire: Wire, server: &RawServer) -> Stage {
    let key = Some(SecretString::from("sk-test-0123456789"));
    let mut stage = match wire {
        Wire::Messages => Stage::with_provider(Arc::new(
            Anthropic::new(anthropic::Config {
                base_url: server.url.clone(),
                api_key: key,
                model: "claude-test".to_owned(),
                ..anthropic::Config::default()
            })
            .unwrap(),
        )),
        Wire::Chat => Stage::with_provider(Arc::new(
            OpenAi::new(openai::Config {
                base_url: format!("{}/v1", server.url),
                api_key: key,
                model: "gpt-test".to_owned(),
                ..openai::Config::default()
            })
            .unwrap(),
        )),
    };
    let wait = Duration::from_secs(2);
    stage.patience = Patience { headers: wait, stall: wait, ..Patience::default() };
    stage
}

fn notices(played: &Played) -> String {
    let told = played.facts().filter_map(|fact| match fact {
        Fact::Notice { text, .. } => Some(text.clone()),
        Fact::RetryScheduled { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    told.collect::<Vec<_>>().join("\n")
}

/// B019: a stream that sent one event and then nothing stayed open without an error.
#[tokio::test]
async fn a_stream_that_stalls_is_given_up_and_asked_again() {
    let replies = replies(&case("B019-stall-mid-stream.wire.json")["responses"]);
    let server = serve(Wire::Messages, replies).await;
    let played = stage(Wire::Messages, &server).play("go").await;
    assert_eq!(server.asked().len(), 2);
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
    assert!(notices(&played).contains("said nothing"), "{}", notices(&played));
}

/// B020: a server that never sent its head was waited for without end.
#[tokio::test]
async fn a_server_without_an_answer_is_asked_again_on_a_new_connection() {
    let replies = replies(&case("B020-no-headers.wire.json")["responses"]);
    let server = serve(Wire::Messages, replies).await;
    let played = stage(Wire::Messages, &server).play("go").await;
    assert_eq!(server.asked().len(), 2);
    assert!(played.reply().contains("recovered"));
}

/// B022: an error inside a good answer was ignored, or replayed in silence.
#[tokio::test]
async fn an_error_inside_a_stream_is_retried_only_before_any_word() {
    let case = case("B022-error-after-200.wire.json");
    let server = serve(Wire::Messages, replies(&case["variants"]["a"])).await;
    let played = stage(Wire::Messages, &server).play("go").await;
    assert_eq!((server.asked().len(), played.reply().as_str()), (2, "recovered"));

    let server = serve(Wire::Messages, replies(&case["variants"]["b"])).await;
    let played = stage(Wire::Messages, &server).play("go").await;
    assert_eq!(server.asked().len(), 1);
    let end = &played.parent_ends()[0];
    assert_eq!(end.status, Status::Failed);
    assert!(end.usage.input_tokens >= 50);
    assert!(played.facts().any(|fact| matches!(fact, Fact::Message(m) if m.interrupted)));
}

/// B024: a limit's own waiting time was ignored.
#[tokio::test]
async fn the_wait_that_a_server_asks_for_is_kept_in_both_forms() {
    let replies = replies(&case("B024-retry-after.wire.json")["responses"]);
    let server = serve(Wire::Messages, replies).await;
    let began = Instant::now();
    let played = stage(Wire::Messages, &server).play("go").await;
    assert_eq!(server.asked().len(), 3);
    assert_eq!(played.parent_ends()[0].status, Status::Completed);
    let told: Vec<u64> = played
        .facts()
        .filter_map(|fact| match fact {
            Fact::RetryScheduled { delay_ms, http_status: Some(429), .. } => Some(*delay_ms),
            _ => None,
        })
        .collect();
    assert_eq!(told.len(), 2);
    assert!(told[0] >= 2_000, "{told:?}");
    assert!(began.elapsed() >= Duration::from_millis(told.iter().sum()), "it really waited");
}

/// B026: a prompt that was too long was sent again and again.
#[tokio::test]
async fn a_prompt_that_is_too_long_ends_in_words_on_both_wires() {
    for wire in [Wire::Messages, Wire::Chat] {
        let case = case("B026-context-exceeded-loop.wire.json");
        let list = if wire == Wire::Chat && case["also_openai"].is_array() {
            &case["also_openai"]
        } else {
            &case["responses"]
        };
        let server = serve(wire, replies(list)).await;
        let played = stage(wire, &server).play("go").await;
        assert!(server.asked().len() <= 2);
        let end = &played.parent_ends()[0];
        assert_eq!((end.status, end.code), (Status::Failed, Some(Code::ContextExceeded)));
        assert!(notices(&played).contains("larger context window"), "{}", notices(&played));
    }
}

/// B027: a gateway's page was dumped raw into the terminal.
#[tokio::test]
async fn a_page_instead_of_an_answer_is_one_line_in_words() {
    let case = case("B027-html-error.wire.json");
    for wire in [Wire::Messages, Wire::Chat] {
        let mut bad = replies(&case["variants"]["bad_gateway"]);
        bad.truncate(1);
        let again = Reply::new(401, "application/json", "{}");
        let server = serve(wire, vec![bad.remove(0), again]).await;
        stage(wire, &server).play("go").await;
        assert_eq!(server.asked().len(), 2, "a bad gateway may pass");

        let server = serve(wire, replies(&case["variants"]["unauthorized"])).await;
        let played = stage(wire, &server).play("go").await;
        assert_eq!(server.asked().len(), 1, "a wrong key does not");
        let told = notices(&played);
        assert!(told.contains("401") && !told.contains("<html") && !told.contains('\u{1b}'));
        assert!(told.lines().all(|line| line.len() < 400), "{told}");
    }
}

/// B106: the tokens of a failed try were dropped when the next one succeeded.
#[tokio::test]
async fn what_every_try_used_is_counted() {
    let replies = replies(&case("B106-retry-usage.wire.json")["responses"]);
    let server = serve(Wire::Messages, replies).await;
    let played = stage(Wire::Messages, &server).play("go").await;
    assert_eq!((server.asked().len(), played.reply().as_str()), (2, "fine"));
    let usage = played.parent_ends()[0].usage;
    assert_eq!(usage.input_tokens, 2_000);
    assert!(usage.output_tokens >= 51, "{}", usage.output_tokens);
}

/// An answer that was cut off was charged the placeholder that its server began with.
#[tokio::test]
async fn an_answer_that_breaks_off_is_charged_for_what_came_in() {
    let case = case("B022-error-after-200.wire.json");
    let server = serve(Wire::Messages, replies(&case["variants"]["b"])).await;
    let played = stage(Wire::Messages, &server).play("go").await;
    let end = &played.parent_ends()[0];
    let words = end.reply.as_deref().unwrap_or_default();
    assert!(!words.is_empty());
    let least = offshoot::domain::usage::estimate_tokens(words);
    assert!(end.usage.output_tokens >= least, "{} < {least}", end.usage.output_tokens);
    assert!(end.usage.estimated);
}

/// A cancel closes the connection, whatever the server is at; the server sees it.
#[tokio::test]
async fn a_stop_closes_the_connection_in_each_state() {
    let stalled = &case("B019-stall-mid-stream.wire.json")["responses"][0];
    let states =
        [Reply::new(Reply::SILENT, "", "").ending(End::Hang), reply(stalled).ending(End::Hang)];
    for state in states {
        let mut server = serve(Wire::Messages, vec![state]).await;
        let mut stage = stage(Wire::Messages, &server);
        stage.patience = Patience::default();
        let mut live = stage.start();
        live.send(Command::Submit { text: "go".to_owned() }).await;
        assert_eq!(server.seen.recv().await, Some(Seen::Request));
        live.send(Command::Stop).await;
        let end = live.follow(&[]).await;
        assert_eq!(end.status, Status::Cancelled);
        assert_eq!(server.seen.recv().await, Some(Seen::Closed));
        live.quit().await;
    }
}
