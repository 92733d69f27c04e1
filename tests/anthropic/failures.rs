//! Servers that refuse, break off, hang, or are none.

use std::time::Duration;

use futures_util::StreamExt;
use offshoot::provider::anthropic::{Anthropic, Config};
use offshoot::provider::{Chunk, Provider, ProviderError};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::bench::*;
use crate::common::raw_server::{End, Reply, Seen};

fn error(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

#[tokio::test]
async fn an_error_answer_has_its_status_its_words_and_the_wait_it_asks_for() {
    let page = format!(
        "<!DOCTYPE html><html><head><title>502 Bad gateway</title></head><body>\u{1b}]0;x\u{7}{}",
        "<p>cf</p>".repeat(1_000)
    );
    let key = error("authentication_error", &format!("invalid x-api-key {KEY}\n."));
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    for (reply, status, words, wait) in [
        (Reply::new(502, "text/html", page), 502, "502 Bad gateway", None),
        (Reply::json(401, &key), 401, "invalid x-api-key [key] . (authentication_error)", None),
        (
            Reply::json(429, &error("rate_limit_error", "slow down")).header("Retry-After: 2"),
            429,
            "slow down (rate_limit_error)",
            seconds(2),
        ),
        (
            Reply::json(429, &json!({"error": {"message": "slow"}}))
                .header("retry-after: Sun, 06 Nov 1994 08:49:39 GMT")
                .header("date: Sun, 06 Nov 1994 08:49:37 GMT"),
            429,
            "slow",
            seconds(2),
        ),
        (
            Reply::json(529, &error("overloaded_error", "Overloaded")),
            529,
            "Overloaded (overloaded_error)",
            None,
        ),
        (
            Reply::json(400, &error("invalid_request_error", "temperature: range: 0..1")),
            400,
            "temperature: range: 0..1 (invalid_request_error)",
            None,
        ),
        (Reply::new(404, "", ""), 404, "Not Found", None),
    ] {
        let (chunks, error) = read(reply).await;
        let Some(ProviderError::Status { host, status: code, detail, retry_after }) = error else {
            panic!("{error:?}");
        };
        assert_eq!((code, detail.as_str(), retry_after), (status, words, wait));
        assert!(chunks.is_empty() && host.starts_with("127.0.0.1:"));
    }
}

#[tokio::test]
async fn a_prompt_that_does_not_fit_is_told_apart() {
    let long = "prompt is too long: 214676 tokens > 200000 maximum";
    let llama = json!({"error": {"code": 400, "type": "exceed_context_size_error",
        "message": "request (3030 tokens) exceeds the available context size (2048 tokens)"}});
    for reply in [
        Reply::json(400, &error("invalid_request_error", long)),
        Reply::json(413, &error("request_too_large", "Request exceeds the maximum size")),
        Reply::json(400, &llama),
        Reply::events(started(5) + &event(&error("invalid_request_error", long))),
        Reply::json(200, &error("invalid_request_error", long)),
    ] {
        let (_, error) = read(reply.clone()).await;
        assert!(
            matches!(error, Some(ProviderError::ContextExceeded { .. })),
            "{reply:?}: {error:?}"
        );
    }
}

#[tokio::test]
async fn an_error_event_ends_the_stream_after_what_came_before_it() {
    for (kind, status) in [
        ("overloaded_error", 529),
        ("api_error", 500),
        ("rate_limit_error", 429),
        ("timeout_error", 504),
    ] {
        let body = started(50)
            + &text_block(0, &["The three causes are"])
            + &call_block(1, "a", "search", &["{}"])
            + &text_block(2, &["and more"])
            + &event(&error(kind, "Sorry"));
        let (chunks, error) = read(Reply::events(body)).await;
        assert_eq!(
            without_usage(chunks.clone()),
            [text_chunk("The three causes areand more")],
            "words that waited for the end survive, the call does not"
        );
        assert!(matches!(chunks.first(), Some(Chunk::Usage(used)) if used.input_tokens == 50));
        let Some(ProviderError::Status { status: told, detail, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(told, status);
        assert!(detail.contains("Sorry"), "{detail}");
    }
    let (_, unknown) = read(Reply::events(event(&error("new_error", "Hm")))).await;
    assert!(matches!(unknown, Some(ProviderError::Broken { .. })), "{unknown:?}");
}

#[tokio::test]
async fn a_stream_without_its_end_is_broken_and_none_of_its_calls_come_through() {
    let blocks = [
        thinking_block(0, &["hm"], &["s"]),
        text_block(1, &["found"]),
        call_block(2, "a", "search", &["{}"]),
    ];
    let whole = whole(&blocks, "tool_use");
    let cuts = [
        "event: message_stop",
        "event: message_delta",
        "content_block_stop\",\"index\":2",
        "found",
    ];
    for cut in cuts.map(|mark| whole.find(mark).unwrap()) {
        for end in [End::Close, End::Break] {
            let reply = Reply::events(&whole.as_bytes()[..cut]).ending(end);
            let (chunks, error) = read(reply).await;
            assert!(matches!(error, Some(ProviderError::Broken { .. })), "{error:?}");
            assert!(!chunks.iter().any(|c| matches!(c, Chunk::ToolCall(_) | Chunk::Stop(_))));
            assert!(chunks.contains(&Chunk::Reasoning("hm".to_owned())), "{chunks:?}");
        }
    }
}

#[tokio::test]
async fn a_200_that_is_no_answer_says_what_it_is() {
    let html = "<html><head><title>Sign in</title></head></html>";
    for (kind, body, words) in [
        ("text/html", html, "Sign in"),
        ("application/json", r#"{"error":{"message":"model not loaded"}}"#, "model not loaded"),
        ("application/json", "{}", "no content"),
        ("application/json", "{", "no JSON"),
        ("", "", "no content"),
        ("text/event-stream", "data: <html>\n\n", "no JSON"),
        ("text/event-stream", "data: {\"choices\":[]}\n\n", "no content"),
    ] {
        let (chunks, error) = read(Reply::new(200, kind, body)).await;
        let Some(ProviderError::Broken { detail, .. }) = error else { panic!("{error:?}") };
        assert!(detail.contains(words), "{kind} {body}: {detail}");
        assert!(chunks.is_empty());
    }
}

#[tokio::test]
async fn an_endless_event_fails_instead_of_filling_the_memory() {
    let body = [b"data: ".to_vec(), vec![b'x'; 9 * 1024 * 1024]].concat();
    let (_, error) = read(Reply::events(body)).await;
    assert!(error.unwrap().to_string().contains("one event"));
    let body = vec![b' '; 17 * 1024 * 1024];
    let (_, error) = read(Reply::new(200, "application/json", body)).await;
    assert!(error.unwrap().to_string().contains("more than"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable_in_words() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let provider = Anthropic::new(config(&url)).unwrap();
    let (_, error) = ask(&provider, request(vec![user("go")])).await;
    let Some(ProviderError::Unreachable { detail, .. }) = error else { panic!("{error:?}") };
    assert!(detail.contains("refused"), "{detail}");
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection_before_and_in_the_middle_of_an_answer() {
    for body in ["", ": ping\n\n"] {
        let mut server = serve(vec![Reply::events(body).ending(End::Hang)]).await;
        let mut stream = provider(&server).stream(request(vec![user("go")]));
        let seen = loop {
            tokio::select! {
                item = stream.next() => assert_eq!(item, Some(Ok(Chunk::Alive))),
                seen = server.seen.recv() => break seen,
            }
        };
        assert_eq!(seen, Some(Seen::Request));
        drop(stream);
        let closed = tokio::time::timeout(Duration::from_secs(30), server.seen.recv()).await;
        assert_eq!(closed, Ok(Some(Seen::Closed)));
    }
}

#[test]
fn settings_that_cannot_work_are_refused_and_secrets_never_shown() {
    let mut shown = config("http://localhost:1/v1/");
    shown.headers = vec![("x-gateway".to_owned(), SecretString::from("gate-secret"))];
    assert!(!format!("{shown:?}").contains(KEY) && !format!("{shown:?}").contains("gate-secret"));
    let provider = Anthropic::new(shown).unwrap();
    let debug = format!("{provider:?}");
    assert!(!debug.contains(KEY) && !debug.contains("gate-secret"), "{debug}");
    let identity = provider.identity();
    assert_eq!((identity.host.as_deref(), identity.local), (Some("localhost:1"), true));
    assert_eq!((identity.max_output_tokens, identity.context_window), (4_096, Some(200_000)));
    let plain =
        Config { api_key: None, max_output_tokens: None, ..config("https://api.anthropic.com") };
    let remote = Anthropic::new(plain).unwrap();
    assert!(!remote.identity().local);
    assert_eq!(remote.identity().max_output_tokens, 8_192);
    let header = |name: &str, value: &str| vec![(name.to_owned(), SecretString::from(value))];
    for broken in [
        config("ftp://x"),
        Config { model: " ".to_owned(), ..config("http://localhost") },
        Config { api_key: Some("sk-te\nst".into()), ..config("http://localhost") },
        Config { headers: header("a b", "v"), ..config("http://localhost") },
        Config { headers: header("a", "sk-te\nst"), ..config("http://localhost") },
    ] {
        let error = Anthropic::new(broken).unwrap_err();
        assert!(
            matches!(&error, ProviderError::Setup(words) if !words.contains("sk-te")),
            "{error}"
        );
    }
}
