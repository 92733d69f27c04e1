//! The chat-completions wire against a server that trickles, lies, breaks off and hangs.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use offshoot::domain::ids::{CallId, RunId};
use offshoot::domain::message::{Message, StopReason, ToolCall, ToolSchema};
use offshoot::domain::usage::Usage;
use offshoot::provider::openai::{Config, OpenAi};
use offshoot::provider::{Chunk, Provider, ProviderError, Request, ToolChoice};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

const KEY: &str = "sk-test-0123456789";

/// What a server sends after it has read a request.
#[derive(Clone)]
struct Answer {
    head: String,
    body: Vec<u8>,
    /// Bytes in one write.
    split: usize,
    /// True: it keeps the connection open and waits for the other end to close it.
    hangs: bool,
}

impl Answer {
    fn new(status: &str, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let kind =
            if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
        let head = format!("HTTP/1.1 {status}\r\n{kind}connection: close\r\n\r\n");
        Self { head, body: body.into(), split: usize::MAX, hangs: false }
    }

    fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::new("200 OK", "text/event-stream; charset=utf-8", body)
    }
}

/// What a server saw.
#[derive(Debug, PartialEq)]
enum Seen {
    Request { head: String, body: Value },
    Closed,
}

struct Server {
    base_url: String,
    seen: mpsc::UnboundedReceiver<Seen>,
}

impl Server {
    /// Gives every connection the same answer.
    async fn start(answer: Answer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let (tell, seen) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, answer.clone(), tell.clone()));
            }
        });
        Self { base_url, seen }
    }

    fn provider(&self) -> OpenAi {
        OpenAi::new(Config {
            base_url: self.base_url.clone(),
            api_key: Some(KEY.into()),
            model: "test-model".to_owned(),
            ..Config::default()
        })
        .unwrap()
    }
}

async fn serve(mut connection: TcpStream, answer: Answer, tell: mpsc::UnboundedSender<Seen>) {
    let (head, body) = read_request(&mut connection).await;
    let _ = tell.send(Seen::Request { head, body });
    connection.write_all(answer.head.as_bytes()).await.unwrap();
    for piece in answer.body.chunks(answer.split) {
        if connection.write_all(piece).await.is_err() {
            break;
        }
        if answer.split < answer.body.len() {
            // Gives the reader a chance to see the piece by itself.
            tokio::task::yield_now().await;
        }
    }
    if answer.hangs {
        let mut rest = [0; 64];
        while !matches!(connection.read(&mut rest).await, Ok(0) | Err(_)) {}
        let _ = tell.send(Seen::Closed);
    }
}

async fn read_request(connection: &mut TcpStream) -> (String, Value) {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4_096];
        let count = connection.read(&mut piece).await.unwrap();
        bytes.extend_from_slice(&piece[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse::<usize>().unwrap())
        });
        let body = &bytes[end + 4..];
        if body.len() >= length.unwrap() {
            return (head, serde_json::from_slice(body).unwrap());
        }
    }
}

fn request() -> Request {
    let schema = ToolSchema {
        name: "search".to_owned(),
        description: "finds".to_owned(),
        parameters: json!({"type": "object"}),
    };
    Request {
        run: RunId::parent(1),
        depth: 0,
        system: "be brief".into(),
        tools: [schema].into(),
        tool_choice: ToolChoice::Auto,
        messages: vec![Arc::new(Message::User { text: "go 子".to_owned() })],
        max_tokens: 256,
        temperature: None,
    }
}

/// The chunks of an answer, neighbouring texts joined, and the error that ended it.
async fn ask(provider: &OpenAi) -> (Vec<Chunk>, Option<ProviderError>) {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut stream = provider.stream(request());
    while let Some(item) = stream.next().await {
        match (item, chunks.last_mut()) {
            (Ok(Chunk::Alive | Chunk::CallPart), _) => {}
            (Ok(Chunk::Text(piece)), Some(Chunk::Text(text))) => text.push_str(&piece),
            (Ok(chunk), _) => chunks.push(chunk),
            (Err(error), _) => {
                assert!(stream.next().await.is_none(), "an error is the last item");
                return (chunks, Some(error));
            }
        }
    }
    (chunks, None)
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
    let call = |id: &str, name: &str, arguments: Value| {
        Chunk::ToolCall(ToolCall { call: CallId::from(id), name: name.to_owned(), arguments })
    };
    vec![
        Chunk::Text("found 子 and 🦀".to_owned()),
        Chunk::Usage(Usage { input_tokens: 12, output_tokens: 7, ..Usage::default() }),
        call("call_a", "search", json!({"pattern": "x"})),
        call("call_b", "read_file", json!({"path": "子.md"})),
        Chunk::Stop(StopReason::ToolUse),
    ]
}

#[tokio::test]
async fn an_answer_is_the_same_in_whatever_pieces_it_comes() {
    for split in [usize::MAX, 1, 2, 3, 4, 5, 6, 7] {
        let server = Server::start(Answer { split, ..Answer::events(whole_answer()) }).await;
        assert_eq!(ask(&server.provider()).await, (whole_chunks(), None), "pieces of {split}");
    }
}

#[tokio::test]
async fn the_request_has_its_key_its_body_and_nothing_of_the_run() {
    let mut server = Server::start(Answer::events(whole_answer())).await;
    ask(&server.provider()).await;
    let Some(Seen::Request { head, body }) = server.seen.recv().await else {
        panic!("no request came");
    };
    assert!(head.starts_with("POST /v1/chat/completions HTTP/1.1"), "{head}");
    assert!(head.contains(&format!("authorization: Bearer {KEY}")), "{head}");
    let expected = json!({
        "model": "test-model",
        "messages": [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "go 子"}
        ],
        "tools": [{"type": "function", "function":
            {"name": "search", "description": "finds", "parameters": {"type": "object"}}}],
        "tool_choice": "auto",
        "max_tokens": 256,
        "stream": true,
        "stream_options": {"include_usage": true}
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn nothing_is_sent_before_the_stream_is_polled() {
    let mut server = Server::start(Answer::events(whole_answer())).await;
    let provider = server.provider();
    drop(provider.stream(request()));
    ask(&provider).await;
    assert!(matches!(server.seen.recv().await, Some(Seen::Request { .. })));
    assert!(server.seen.try_recv().is_err(), "there was one request only");
}

#[tokio::test]
async fn a_cut_stream_is_an_error_and_none_of_its_calls_come_through() {
    let whole = whole_answer();
    let end = whole.find("\"finish_reason\":\"tool_calls\"").unwrap();
    for cut in [end, whole.find("call_b").unwrap(), whole.find("🦀").unwrap() + 2] {
        let server = Server::start(Answer::events(&whole.as_bytes()[..cut])).await;
        let (chunks, error) = ask(&server.provider()).await;
        assert!(matches!(error, Some(ProviderError::Broken { .. })), "{error:?}");
        assert!(chunks.iter().all(|chunk| matches!(chunk, Chunk::Text(_))), "{chunks:?}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_off_is_an_error_after_the_text_before_it() {
    let mut answer = Answer::events(delta(&json!({"content": "half"})));
    answer.head = answer.head.replace("connection:", "content-length: 100000\r\nconnection:");
    let server = Server::start(answer).await;
    let (chunks, error) = ask(&server.provider()).await;
    assert_eq!(chunks, [Chunk::Text("half".to_owned())]);
    assert!(matches!(error, Some(ProviderError::Broken { .. })), "{error:?}");
    assert!(!error.unwrap().to_string().contains("http://"), "it does not show the URL");
}

#[tokio::test]
async fn a_stream_without_done_is_whole_once_it_said_why_it_stopped() {
    let whole = whole_answer();
    let body = whole.trim_end().strip_suffix("data: [DONE]").unwrap().trim_end();
    let server = Server::start(Answer::events(body)).await;
    assert_eq!(ask(&server.provider()).await, (whole_chunks(), None));
}

#[tokio::test]
async fn an_error_status_is_one_clean_line_without_the_key() {
    let page = format!(
        "<!DOCTYPE html><html><head><title>502 Bad gateway</title></head><body>\u{1b}]0;x\u{7}{}",
        "<p>cf</p>".repeat(1_000)
    );
    let refusal = json!({"error": {"message": format!("Incorrect API key: {KEY}\n."), "code": "invalid_api_key"}});
    for (status, kind, body, code, words) in [
        ("502 X", "text/html", page, 502, "502 Bad gateway"),
        (
            "401 X",
            "application/json",
            refusal.to_string(),
            401,
            "Incorrect API key: [key] . (invalid_api_key)",
        ),
        ("429 X", "", String::new(), 429, "Too Many Requests"),
        ("500 X", "text/plain", "\u{1b}[31mboom\r\n".to_owned(), 500, "[31mboom"),
    ] {
        let server = Server::start(Answer::new(status, kind, body)).await;
        let (chunks, error) = ask(&server.provider()).await;
        let Some(ProviderError::Status { host, status, detail, .. }) = error else {
            panic!("{error:?}");
        };
        assert!(chunks.is_empty());
        assert_eq!((status, detail.as_str()), (code, words));
        assert!(server.base_url.contains(&host));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let mut answer = Answer::new("307 X", "", "");
    answer.head =
        answer.head.replace("connection:", "location: http://127.0.0.1:1/\r\nconnection:");
    let server = Server::start(answer).await;
    let (_, error) = ask(&server.provider()).await;
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
        let server = Server::start(Answer::new("200 OK", kind, body)).await;
        let (chunks, error) = ask(&server.provider()).await;
        let Some(ProviderError::Broken { detail, .. }) = error else { panic!("{error:?}") };
        assert!(detail.contains(words), "{detail}");
        assert!(chunks.is_empty());
    }
}

#[tokio::test]
async fn an_error_inside_the_stream_ends_it_after_the_text_before_it() {
    let body = delta(&json!({"content": "half"}))
        + &event(&json!({"error": {"message": "Overloaded", "code": 503}}));
    let server = Server::start(Answer::events(body)).await;
    let (chunks, error) = ask(&server.provider()).await;
    assert_eq!(chunks, [Chunk::Text("half".to_owned())]);
    assert!(matches!(error, Some(ProviderError::Status { status: 503, .. })), "{error:?}");
}

#[tokio::test]
async fn an_endless_event_fails_instead_of_filling_the_memory() {
    let body = [b"data: ".to_vec(), vec![b'x'; 9 * 1024 * 1024]].concat();
    let server = Server::start(Answer::events(body)).await;
    let (_, error) = ask(&server.provider()).await;
    assert!(error.unwrap().to_string().contains("one event"));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unreachable_in_words() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let (_, error) = ask(&Server { base_url, seen: mpsc::unbounded_channel().1 }.provider()).await;
    let Some(ProviderError::Unreachable { host, detail }) = error else { panic!("{error:?}") };
    assert!(host.starts_with("127.0.0.1:") && detail.contains("refused"), "{host}: {detail}");
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection() {
    let body = delta(&json!({"content": "first"}));
    for answer in
        [Answer::events(body), Answer::events(""), Answer::new("500 X", "text/plain", "x")]
    {
        let says_something = answer.body.starts_with(b"data");
        let mut server = Server::start(Answer { hangs: true, ..answer }).await;
        let mut stream = server.provider().stream(request());
        if says_something {
            assert_eq!(stream.next().await, Some(Ok(Chunk::Text("first".to_owned()))));
        }
        // Until the server has the request, with the stream waiting for more.
        let seen = tokio::select! {
            item = stream.next() => panic!("{item:?} came"),
            seen = server.seen.recv() => seen,
        };
        assert!(matches!(seen, Some(Seen::Request { .. })));
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
