//! The chat-completions wire against a server that trickles, lies, breaks off and hangs.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::time::Duration;

use futures_util::StreamExt;
use offshoot::domain::message::{Message, StopReason};
use offshoot::domain::usage::Usage;
use offshoot::provider::openai::{Config, OpenAi};
use offshoot::provider::{Chunk, Provider, ProviderError, Request};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use common::raw_server::{Asked, End, RawServer, Reply, Seen};
use common::{strict, wire};

const KEY: &str = "sk-test-0123456789";

/// A server that gives every connection the same answer.
async fn serve(reply: Reply) -> RawServer {
    RawServer::start(vec![reply], strict::openai).await
}

fn provider(server: &str) -> OpenAi {
    OpenAi::new(Config {
        base_url: format!("{server}/v1"),
        api_key: Some(KEY.into()),
        model: "test-model".to_owned(),
        ..Config::default()
    })
    .unwrap()
}

fn request() -> Request {
    let user = Message::User { text: "go 子".to_owned() };
    Request { tools: [wire::schema("search")].into(), ..wire::request(vec![user]) }
}

/// The chunks of an answer, neighbouring texts joined, and the error that ended it.
async fn ask(server: &RawServer) -> (Vec<Chunk>, Option<ProviderError>) {
    wire::ask(&provider(&server.url), request()).await
}

fn event(value: &Value) -> String {
    format!("data: {value}\n\n")
}

fn delta(delta: &Value) -> String {
    event(&json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]}))
}

fn finish(reason: &str) -> String {
    event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

fn part(index: u64, id: Option<&str>, name: Option<&str>, arguments: &str) -> String {
    delta(&json!({"tool_calls": [{"index": index, "id": id, "type": "function",
        "function": {"name": name, "arguments": arguments}}]}))
}

/// Text and two calls, with comments, keep-alives and foreign events in between.
fn whole_answer() -> String {
    [
        ": connected\n\n".to_owned(),
        delta(&json!({"role": "assistant", "content": ""})),
        delta(&json!({"content": "found 子 "})),
        ":keep-alive\r\n\r\n".to_owned(),
        "event: ping\ndata: {}\n\n".to_owned(),
        delta(&json!({"content": "and 🦀"})),
        part(0, Some("call_a"), Some("search"), ""),
        part(0, None, None, "{\"pattern\":"),
        part(1, Some("call_b"), Some("read_file"), "{\"path\":\"子.md\"}"),
        part(0, None, None, "\"x\"}"),
        finish("tool_calls"),
        event(&json!({"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 7}})),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

fn whole_chunks() -> Vec<Chunk> {
    vec![
        Chunk::Text("found 子 and 🦀".to_owned()),
        Chunk::Usage(Usage { input_tokens: 12, output_tokens: 7, ..Usage::default() }),
        wire::call_chunk("call_a", "search", json!({"pattern": "x"})),
        wire::call_chunk("call_b", "read_file", json!({"path": "子.md"})),
        Chunk::Stop(StopReason::ToolUse),
    ]
}

#[tokio::test]
async fn an_answer_is_the_same_in_whatever_pieces_it_comes() {
    for split in [usize::MAX, 1, 2, 3, 4, 5, 6, 7] {
        let server = serve(Reply::events(whole_answer()).split(split)).await;
        assert_eq!(ask(&server).await, (whole_chunks(), None), "pieces of {split}");
    }
}

#[tokio::test]
async fn the_request_has_its_key_its_body_and_nothing_of_the_run() {
    let server = serve(Reply::events(whole_answer())).await;
    ask(&server).await;
    let Asked { head, body } = server.asked().remove(0);
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}")), "{head}");
    let expected = json!({
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "go 子"}
        ],
        "tools": [{"type": "function", "function":
            {"name": "search", "description": "does search", "parameters": {"type": "object"}}}],
        "tool_choice": "auto",
        "max_tokens": 256,
        "stream": true,
        "stream_options": {"include_usage": true}
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    let mut server = serve(Reply::events(whole_answer())).await;
    let provider = provider(&server.url);
    drop(provider.stream(request()));
    wire::ask(&provider, request()).await;
    assert_eq!(server.seen.recv().await, Some(Seen::Request));
    assert!(server.seen.try_recv().is_err(), "there was one request only");
}

#[tokio::test]
async fn a_cut_stream_is_an_error_and_none_of_its_calls_come_through() {
    let whole = whole_answer();
    let end = whole.find("\"finish_reason\":\"tool_calls\"").unwrap();
    for cut in [end, whole.find("call_b").unwrap(), whole.find("🦀").unwrap() + 2] {
        let server = serve(Reply::events(&whole.as_bytes()[..cut])).await;
        let (chunks, error) = ask(&server).await;
        assert!(matches!(error, Some(ProviderError::Broken { .. })), "{error:?}");
        assert!(chunks.iter().all(|chunk| matches!(chunk, Chunk::Text(_))), "{chunks:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_off_is_an_error_after_the_text_before_it() {
    let half = Reply::events(delta(&json!({"content": "half"})));
    let server = serve(half.ending(End::Break)).await;
    let (chunks, error) = ask(&server).await;
    assert_eq!(chunks, [Chunk::Text("half".to_owned())]);
    assert!(matches!(error, Some(ProviderError::Broken { .. })), "{error:?}");
    assert!(!error.unwrap().to_string().contains("http://"), "it does not show the URL");
}

#[tokio::test]
async fn a_stream_without_done_is_whole_once_it_said_why_it_stopped() {
    let whole = whole_answer();
    let body = whole.trim_end().strip_suffix("data: [DONE]").unwrap().trim_end();
    let server = serve(Reply::events(body)).await;
    assert_eq!(ask(&server).await, (whole_chunks(), None));
}

#[tokio::test]
async fn an_error_status_is_one_clean_line_without_the_key() {
    let page = format!(
        "<!DOCTYPE html><html><head><title>502 Bad gateway</title></head><body>\u{1b}]0;x\u{7}{}",
        "<p>cf</p>".repeat(1_000)
    );
    let refusal = json!({"error": {"message": format!("Incorrect API key: {KEY}\n."), "code": "invalid_api_key"}});
    for (status, kind, body, words) in [
        (502, "text/html", page, "502 Bad gateway"),
        (
            401,
            "application/json",
            refusal.to_string(),
            "Incorrect API key: [key] . (invalid_api_key)",
        ),
        (429, "", String::new(), "Too Many Requests"),
        (500, "text/plain", "\u{1b}[31mboom\r\n".to_owned(), "[31mboom"),
    ] {
        let server = serve(Reply::new(status, kind, body)).await;
        let (chunks, error) = ask(&server).await;
        let Some(ProviderError::Status { host, status: code, detail, .. }) = error else {
            panic!("{error:?}");
        };
        assert!(chunks.is_empty());
        assert_eq!((code, detail.as_str()), (status, words));
        assert!(server.url.contains(&host));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let answer = Reply::new(307, "", "").header("location: http://127.0.0.1:1/");
    let server = serve(answer).await;
    let (_, error) = ask(&server).await;
    let words = error.unwrap().to_string();
    assert!(words.contains("307") && words.contains("http://127.0.0.1:1/"), "{words}");
}

#[tokio::test]
async fn a_200_that_is_no_event_stream_says_what_it_is() {
    let html = "<html><head><title>Sign in</title></head></html>";
    for (kind, body, words) in [
        ("text/html", html, "Sign in"),
        ("application/json", r#"{"error":{"message":"model not loaded"}}"#, "model not loaded"),
        ("", "", "no content"),
        ("text/plain", "hello", "no content"),
        ("text/event-stream", "data: <html>\n\n", "no JSON"),
    ] {
        let server = serve(Reply::new(200, kind, body)).await;
        let (chunks, error) = ask(&server).await;
        let Some(ProviderError::Broken { detail, .. }) = error else { panic!("{error:?}") };
        assert!(detail.contains(words), "{detail}");
        assert!(chunks.is_empty());
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_ends_it_after_the_text_before_it() {
    let body = delta(&json!({"content": "half"}))
        + &event(&json!({"error": {"message": "Overloaded", "code": 503}}));
    let server = serve(Reply::events(body)).await;
    let (chunks, error) = ask(&server).await;
    assert_eq!(chunks, [Chunk::Text("half".to_owned())]);
    assert!(matches!(error, Some(ProviderError::Status { status: 503, .. })), "{error:?}");
}

#[tokio::test]
async fn an_endless_event_fails_instead_of_filling_the_memory() {
    let body = [b"data: ".to_vec(), vec![b'x'; 9 * 1024 * 1024]].concat();
    let server = serve(Reply::events(body)).await;
    let (_, error) = ask(&server).await;
    assert!(error.unwrap().to_string().contains("one event"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable_in_words() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (_, error) = wire::ask(&provider(&base_url), request()).await;
    let Some(ProviderError::Unreachable { host, detail }) = error else { panic!("{error:?}") };
    assert!(host.starts_with("127.0.0.1:") && detail.contains("refused"), "{host}: {detail}");
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let body = delta(&json!({"content": "first"}));
    for answer in [Reply::events(body), Reply::events(""), Reply::new(500, "text/plain", "x")] {
        let says_something = answer.body.starts_with(b"data");
        let mut server = serve(answer.ending(End::Hang)).await;
        let mut stream = provider(&server.url).stream(request());
        if says_something {
            assert_eq!(stream.next().await, Some(Ok(Chunk::Text("first".to_owned()))));
        }
        // Until the server has the request, with the stream waiting for more.
        let seen = tokio::select! {
            item = stream.next() => panic!("{item:?} came"),
            seen = server.seen.recv() => seen,
        };
        assert!(matches!(seen, Some(Seen::Request)));
        drop(stream);
        let closed = tokio::time::timeout(Duration::from_secs(30), server.seen.recv()).await;
        assert_eq!(closed, Ok(Some(Seen::Closed)));
    }
}

#[test]
fn settings_that_cannot_work_are_refused_and_keys_never_shown() {
    let config = |base_url: &str, model: &str, key: &str| Config {
        base_url: base_url.to_owned(),
        api_key: Some(key.into()),
        model: model.to_owned(),
        ..Config::default()
    };
    let shown = config("http://localhost/v1", "m", KEY);
    assert!(!format!("{shown:?}").contains(KEY));
    let provider = OpenAi::new(shown).unwrap();
    assert!(!format!("{provider:?}").contains(KEY));
    let identity = provider.identity();
    assert_eq!((identity.host.as_deref(), identity.local), (Some("localhost"), true));
    assert_eq!((identity.prices, identity.max_output_tokens), (None, 8_192));
    let remote = OpenAi::new(config("https://api.example.com/v1", "m", "")).unwrap();
    assert!(!remote.identity().local);
    for broken in [
        config("ftp://x", "m", KEY),
        config("http://localhost", " ", KEY),
        config("http://localhost", "m", "sk-te\nst"),
    ] {
        let error = OpenAi::new(broken).unwrap_err();
        assert!(
            matches!(&error, ProviderError::Setup(words) if !words.contains("sk-te")),
            "{error}"
        );
    }
}
