//! Ollama's own wire against a server that answers as one does: questions about models, and
//! answers line by line in whatever pieces.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use offshoot::domain::ids::CallId;
use offshoot::domain::message::{
    AssistantMessage, Block, Message, StopReason, ToolCall, ToolResult,
};
use offshoot::domain::usage::{Prices, Usage};
use offshoot::provider::ollama::{self, Config, Found, Ollama};
use offshoot::provider::{Chunk, Provider, ProviderError, Request};
use serde_json::{Value, json};

use common::Stage;
use common::wire::{self, ask, user};

/// A server with models, and answers that are given in order, the last one again and again.
#[derive(Clone)]
struct Fake {
    /// `(name, answer to /api/show)`.
    models: Arc<Vec<(&'static str, Value)>>,
    answers: Arc<Mutex<Vec<(StatusCode, String)>>>,
    /// Bytes in one piece of an answer.
    split: usize,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

struct Server {
    url: String,
    fake: Fake,
}

impl Server {
    async fn start(models: Vec<(&'static str, Value)>, answers: Vec<String>) -> Self {
        let answers = answers.into_iter().map(|body| (StatusCode::OK, body)).collect();
        Self::with(models, answers, usize::MAX).await
    }

    async fn with(
        models: Vec<(&'static str, Value)>,
        answers: Vec<(StatusCode, String)>,
        split: usize,
    ) -> Self {
        let fake = Fake {
            models: Arc::new(models),
            answers: Arc::new(Mutex::new(answers)),
            split,
            asked: Arc::default(),
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new().fallback(answer).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, fake }
    }

    fn provider(&self, model: &str) -> Ollama {
        Ollama::new(Config { model: model.to_owned(), ..self.config() }).unwrap()
    }

    fn config(&self) -> Config {
        Config { host: self.url.clone(), model: "qwen3".to_owned(), ..Config::default() }
    }

    /// The bodies of the requests at this place.
    fn asked(&self, path: &str) -> Vec<Value> {
        let asked = self.fake.asked.lock().unwrap();
        asked.iter().filter(|(at, _)| at == path).map(|(_, body)| body.clone()).collect()
    }
}

async fn answer(State(fake): State<Fake>, uri: Uri, body: Bytes) -> Response {
    let asked: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    fake.asked.lock().unwrap().push((uri.path().to_owned(), asked.clone()));
    match uri.path() {
        "/api/tags" => {
            let models: Vec<Value> =
                fake.models.iter().map(|(name, _)| json!({"name": name, "model": name})).collect();
            json!({ "models": models }).to_string().into_response()
        }
        "/api/show" => {
            let shown = fake.models.iter().find(|(name, _)| asked["model"] == *name);
            if let Some((_, shown)) = shown {
                return shown.to_string().into_response();
            }
            let words = format!("model {} not found", asked["model"]);
            (StatusCode::NOT_FOUND, json!({ "error": words }).to_string()).into_response()
        }
        "/api/chat" => {
            let mut answers = fake.answers.lock().unwrap();
            let (status, body) =
                if answers.len() > 1 { answers.remove(0) } else { answers[0].clone() };
            let pieces: Vec<Result<Vec<u8>, Infallible>> =
                body.as_bytes().chunks(fake.split).map(|piece| Ok(piece.to_vec())).collect();
            (status, Body::from_stream(stream::iter(pieces))).into_response()
        }
        _ => StatusCode::NOT_FOUND.into_response(),
    }
}

fn qwen() -> Value {
    json!({
        "capabilities": ["completion", "tools", "thinking"],
        "model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960}
    })
}

fn small() -> Value {
    json!({
        "capabilities": ["completion", "tools"],
        "model_info": {"general.architecture": "llama", "llama.context_length": 8192}
    })
}

fn line(message: &Value) -> String {
    format!("{}\n", json!({"model": "qwen3", "message": message, "done": false}))
}

fn done(reason: &str) -> String {
    let last = json!({"model": "qwen3", "message": {"role": "assistant", "content": ""},
        "done": true, "done_reason": reason, "total_duration": 5, "prompt_eval_count": 12,
        "eval_count": 7});
    format!("{last}\n")
}

fn call(name: &str, arguments: &Value) -> String {
    line(&json!({"role": "assistant", "content": "",
        "tool_calls": [{"function": {"name": name, "arguments": arguments}}]}))
}

fn said(text: &str) -> String {
    line(&json!({"role": "assistant", "content": text})) + &done("stop")
}

fn request(messages: Vec<Message>) -> Request {
    let tools = [wire::schema("search")].into();
    Request { tools, temperature: Some(0.5), ..wire::request(messages) }
}

async fn ask_go(provider: &Ollama) -> (Vec<Chunk>, Option<ProviderError>) {
    ask(provider, request(vec![user("go")])).await
}

#[tokio::test]
async fn an_answer_is_the_same_in_whatever_pieces_it_comes() {
    let body = [
        line(&json!({"role": "assistant", "content": "", "thinking": "hm 子"})),
        line(&json!({"role": "assistant", "content": "I look 🦀"})),
        call("search", &json!({"pattern": "子"})),
        call("search", &json!("{\"pattern\":\"b\"}")),
        done("stop"),
    ]
    .concat();
    let made = |id: &str, pattern: &str| {
        Chunk::ToolCall(ToolCall {
            call: CallId::from(id),
            name: "search".to_owned(),
            arguments: json!({ "pattern": pattern }),
        })
    };
    let expected = vec![
        Chunk::Reasoning("hm 子".to_owned()),
        Chunk::Text("I look 🦀".to_owned()),
        Chunk::Usage(Usage { input_tokens: 12, output_tokens: 7, ..Usage::default() }),
        made("call_1", "子"),
        made("call_2", "b"),
        Chunk::Stop(StopReason::ToolUse),
    ];
    for split in [usize::MAX, 1, 2, 3, 5, 7] {
        // The last line end is not always sent.
        for body in [body.clone(), body.trim_end().to_owned()] {
            let answers = vec![(StatusCode::OK, body)];
            let server = Server::with(vec![("qwen3", qwen())], answers, split).await;
            let read = ask_go(&server.provider("qwen3")).await;
            assert_eq!(read, (expected.clone(), None), "pieces of {split}");
        }
    }
}

#[tokio::test]
async fn a_request_says_the_window_of_its_model_up_to_the_cap() {
    for (model, shown, cap, num_ctx, think) in [
        ("qwen3", qwen(), 32_768, 32_768, Some(true)),
        ("qwen3", qwen(), 65_536, 40_960, Some(true)),
        ("small", small(), 32_768, 8_192, None),
        ("old", json!({"template": "{{ .Tools }}"}), 4_096, 4_096, None),
    ] {
        let server = Server::start(vec![(model, shown)], vec![said("ok")]).await;
        let config = Config { model: model.to_owned(), num_ctx_cap: cap, ..server.config() };
        let provider = Ollama::new(config).unwrap();
        assert_eq!(provider.identity().context_window, Some(cap), "before anything is known");
        ask_go(&provider).await;
        ask_go(&provider).await;
        assert_eq!(provider.identity().context_window, Some(num_ctx), "{model}");
        assert_eq!(server.asked("/api/show").len(), 1, "it asks once");
        let body = &server.asked("/api/chat")[0];
        let options = json!({"num_ctx": num_ctx, "num_predict": 256, "temperature": 0.5});
        assert_eq!(body["options"], options, "{model}");
        assert_eq!(body.get("think").and_then(Value::as_bool), think, "{model}");
        assert_eq!((&body["model"], &body["stream"]), (&json!(model), &json!(true)));
        assert_eq!(body["tools"][0]["function"]["name"], "search");
    }
    let server = Server::start(vec![("qwen3", qwen())], vec![said("ok")]).await;
    let provider = Ollama::new(Config { think: false, ..server.config() }).unwrap();
    ask_go(&provider).await;
    assert_eq!(server.asked("/api/chat")[0]["think"], false);
}

#[tokio::test]
async fn a_conversation_is_sent_in_the_servers_own_form() {
    let server = Server::start(vec![("qwen3", qwen())], vec![said("ok")]).await;
    let result = ToolResult {
        call: CallId::from("a"),
        name: "search".to_owned(),
        ok: true,
        output: "found".to_owned(),
    };
    let blocks = vec![
        Block::Reasoning { text: "hm".to_owned(), signature: None },
        Block::ToolCall(ToolCall::parse(CallId::from("a"), "search", "{\"pa")),
    ];
    let said = AssistantMessage {
        blocks,
        provider: "ollama".to_owned(),
        model: "qwen3".to_owned(),
        stop_reason: None,
        interrupted: false,
    };
    let messages = vec![
        user("go"),
        Message::Assistant(said),
        Message::Results { results: vec![result] },
        user("and"),
    ];
    ask(&server.provider("qwen3"), request(messages)).await;
    let expected = json!([
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [
            {"id": "a", "function": {"name": "search", "arguments": {"_raw": "{\"pa"}}}]},
        {"role": "tool", "tool_name": "search", "tool_call_id": "a", "content": "found"},
        {"role": "user", "content": "and"}
    ]);
    assert_eq!(server.asked("/api/chat")[0]["messages"], expected);
}

/// The server would cut the beginning of the prompt without a word.
#[tokio::test]
async fn a_prompt_that_does_not_fit_is_refused_before_it_is_sent() {
    let server = Server::start(vec![("small", small())], vec![said("ok")]).await;
    let long = "word ".repeat(8_192);
    let (_, error) = ask(&server.provider("small"), request(vec![user(&long)])).await;
    let Some(ProviderError::ContextExceeded { detail, .. }) = error else { panic!("{error:?}") };
    assert!(detail.contains("num_ctx is 8192"), "{detail}");
    assert_eq!(server.asked("/api/chat").len(), 0);
}

#[tokio::test]
async fn an_answer_that_the_limit_cut_or_that_broke_off_has_no_whole_call() {
    let begun = line(&json!({"content": "half"})) + &call("search", &json!({"pattern": "a"}));
    let cut = begun.clone() + &done("length");
    let server = Server::start(vec![("qwen3", qwen())], vec![cut]).await;
    let (chunks, error) = ask_go(&server.provider("qwen3")).await;
    assert_eq!((error, chunks.last()), (None, Some(&Chunk::Stop(StopReason::MaxTokens))));
    let calls = chunks.iter().filter_map(|chunk| match chunk {
        Chunk::ToolCall(call) => Some(call.arguments.is_object()),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), [false]);
    for end in ["{\"error\":\"model runner has unexpectedly stopped\"}\n", "", "{\"done\":fal"] {
        let server = Server::start(vec![("qwen3", qwen())], vec![begun.clone() + end]).await;
        let (chunks, error) = ask_go(&server.provider("qwen3")).await;
        assert_eq!(chunks, [Chunk::Text("half".to_owned())]);
        let Some(ProviderError::Broken { detail, .. }) = error else { panic!("{error:?}") };
        assert!(!end.contains("error") || detail.contains("unexpectedly stopped"), "{detail}");
    }
}

#[tokio::test]
async fn errors_say_what_to_do() {
    let server = Server::start(vec![("qwen3", qwen())], vec![said("ok")]).await;
    let (_, missing) = ask_go(&server.provider("absent")).await;
    let words = missing.unwrap().to_string();
    assert!(words.contains("not found") && words.contains("ollama pull absent"), "{words}");
    assert!(!words.contains("/v1"), "{words}");
    let refusal = (StatusCode::BAD_REQUEST, json!({"error": "qwen3 does not support tools"}));
    let answers = vec![(refusal.0, refusal.1.to_string())];
    let server = Server::with(vec![("qwen3", qwen())], answers, usize::MAX).await;
    let (_, error) = ask_go(&server.provider("qwen3")).await;
    assert!(error.unwrap().to_string().ends_with("answered 400: qwen3 does not support tools"));
    for host in ["ftp://x", "http://", "http://user:pw@x"] {
        let config = Config { host: host.to_owned(), ..server.config() };
        assert!(matches!(Ollama::new(config), Err(ProviderError::Setup(_))), "{host}");
    }
}

#[tokio::test]
async fn a_model_on_this_machine_is_local_and_free_and_one_in_the_cloud_is_neither() {
    let remote = json!({"capabilities": ["tools"], "remote_host": "https://ollama.com"});
    let models = vec![("qwen3", qwen()), ("renamed", remote)];
    let server = Server::start(models, vec![said("ok")]).await;
    let here = server.provider("qwen3");
    assert_eq!((here.identity().local, here.identity().prices), (true, Some(Prices::FREE)));
    let cloud = server.provider("gpt-oss:120b-cloud");
    assert_eq!((cloud.identity().local, cloud.identity().prices), (false, None));
    let renamed = server.provider("renamed");
    // The first request finds out.
    assert_eq!(ask_go(&renamed).await.1, None);
    assert_eq!((renamed.identity().local, renamed.identity().prices), (false, None));
}

#[tokio::test]
async fn looking_for_a_server_finds_its_first_model_with_tools_on_this_machine() {
    let embedder = json!({"capabilities": ["embedding"]});
    let remote = json!({"capabilities": ["tools"], "remote_host": "https://ollama.com"});
    let models = vec![
        ("embed", embedder.clone()),
        ("big:cloud", qwen()),
        ("renamed", remote),
        ("small", small()),
        ("qwen3", qwen()),
    ];
    let server = Server::start(models, vec![said("ok")]).await;
    // Longer than a user waits: what is tested is what is found.
    let limit = Duration::from_secs(10);
    let found = Found { model: "small".to_owned(), context_length: Some(8_192) };
    assert_eq!(ollama::probe(&server.url, limit).await, Some(found));
    let none = Server::start(vec![("embed", embedder)], vec![said("ok")]).await;
    assert_eq!(ollama::probe(&none.url, limit).await, None);
    assert_eq!(ollama::probe("http://127.0.0.1:9", limit).await, None);
    assert_eq!(ollama::probe("ftp://x", limit).await, None);
}

#[tokio::test(start_paused = true)]
async fn looking_for_a_server_takes_no_longer_than_it_may() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let began = tokio::time::Instant::now();
    assert_eq!(ollama::probe(&url, ollama::PROBE_LIMIT).await, None);
    assert!(began.elapsed() < 2 * ollama::PROBE_LIMIT, "on the paused clock");
    drop(listener);
}

#[tokio::test]
async fn installed_models_are_listed_by_name() {
    let models = vec![("qwen3", qwen()), ("a", small())];
    let server = Server::start(models, vec![said("ok")]).await;
    let listed = server.provider("qwen3").list_models().await.unwrap();
    let names: Vec<&str> = listed.iter().map(|model| model.name.as_str()).collect();
    assert_eq!(names, ["a", "qwen3"]);
}

/// The loop over this wire: a call, its result, an answer.
#[tokio::test]
async fn a_run_reads_a_file_and_answers() {
    let answers = vec![
        call("read_file", &json!({"path": "a.txt"})) + &done("stop"),
        call("read_file", &json!({"path": "a.txt"})) + &done("stop"),
        said("It says AAA."),
    ];
    let server = Server::start(vec![("qwen3", qwen())], answers).await;
    let stage = Stage::with_provider(Arc::new(server.provider("qwen3"))).file("a.txt", "AAA");
    let played = stage.play("what does a.txt say?").await;
    assert_eq!(played.reply(), "It says AAA.");
    let bodies = server.asked("/api/chat");
    let messages = bodies[2]["messages"].as_array().unwrap();
    let ids: Vec<&Value> = messages.iter().filter_map(|m| m.get("tool_call_id")).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1], "ids that were made up are unique in the conversation");
}
