//! What is sent: headers, addresses and bodies by profile, all of them clean by strict rules.

use offshoot::domain::message::{Block, Message};
use offshoot::provider::openai::{Config, OpenAi, profiles};
use offshoot::provider::{Provider, ProviderError, ToolChoice};
use serde_json::{Value, json};

use super::bench::*;

/// A conversation with everything in it that a strict server could refuse.
fn hard_conversation() -> Vec<Message> {
    let reasoning = Block::Reasoning { text: "hm".to_owned(), signature: None };
    let blank = Block::Text { text: " \n".to_owned() };
    let foreign = Block::Reasoning { text: "f".to_owned(), signature: Some("seal".to_owned()) };
    let sealed = Block::Opaque { data: json!({"type": "server_tool_use"}) };
    vec![
        user("go"),
        answer_of(
            "anthropic",
            "other",
            vec![
                foreign,
                sealed,
                tool_call("toolu_01.a:b/c", "search", json!({"pattern": "x"})),
                tool_call("toolu_01.a:b/c", "find it!", json!("{\"pa")),
            ],
        ),
        Message::Results { results: vec![result_of("toolu_01.a:b/c", "")] },
        answer(vec![reasoning, blank, tool_call(&"long".repeat(30), "search", json!({}))]),
        Message::Results { results: vec![result_of(&"long".repeat(30), "ok")] },
        user("and"),
    ]
}

#[tokio::test]
async fn every_profile_sends_what_a_strict_server_takes() {
    for profile in profiles::names() {
        let server = serve(vec![said("ok")]).await;
        for choice in [ToolChoice::Auto, ToolChoice::None, ToolChoice::Named("search".to_owned())] {
            let mut request = request(hard_conversation());
            request.tool_choice = choice;
            let (_, error) = ask(&speaking(&server, profile), request).await;
            assert_eq!(error, None);
        }
        // The rules are checked by the server.
        for body in server.bodies() {
            assert_no_foreign_fields(&body, profile);
        }
    }
}

fn assert_no_foreign_fields(body: &Value, profile: &str) {
    for message in body["messages"].as_array().unwrap() {
        let calls = message["tool_calls"].as_array();
        for call in calls.into_iter().flatten() {
            let id = call["id"].as_str().unwrap();
            let name = call["function"]["name"].as_str().unwrap();
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            assert!(id.len() <= 40 && id.chars().all(is_word), "{profile}: {id}");
            assert!(name.len() <= 64 && name.chars().all(is_word), "{profile}: {name}");
        }
    }
    let sent = body.to_string();
    assert!(!sent.contains("seal") && !sent.contains("server_tool_use"), "{profile}: {sent}");
}

#[tokio::test]
async fn the_key_and_own_headers_are_sent_and_never_shown() {
    let server = serve(vec![said("ok")]).await;
    let headers = vec![
        ("X-Team".to_owned(), "secret-team-0123".into()),
        ("user-agent".to_owned(), "mine/1".into()),
    ];
    let config = Config { headers, ..config(&server) };
    assert!(!format!("{config:?}").contains("secret-team") && !format!("{config:?}").contains(KEY));
    let provider = OpenAi::new(config).unwrap();
    ask_go(&provider).await;
    let head = server.asked()[0].head.to_ascii_lowercase();
    assert!(head.starts_with("post /v1/chat/completions http/1.1"), "{head}");
    for line in
        [&format!("authorization: bearer {KEY}"), "x-team: secret-team-0123", "user-agent: mine/1"]
    {
        assert!(head.contains(line), "{head}");
    }
    let shown = format!("{provider:?}");
    assert!(!shown.contains(KEY) && !shown.contains("secret-team"), "{shown}");
}

#[tokio::test]
async fn azure_gets_its_own_header_and_a_version() {
    for (path, version, line) in [
        (
            "/openai/deployments/gpt",
            None,
            "/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
        ),
        (
            "/openai/deployments/gpt",
            Some("v9"),
            "/openai/deployments/gpt/chat/completions?api-version=v9",
        ),
        (
            "/openai/deployments/gpt?api-version=v8",
            Some("v9"),
            "/openai/deployments/gpt/chat/completions?api-version=v8",
        ),
        ("/openai/v1/", None, "/openai/v1/chat/completions"),
        ("", None, "/openai/v1/chat/completions"),
    ] {
        let server = serve(vec![said("ok")]).await;
        let config = Config {
            base_url: format!("{}{path}", server.url),
            profile: Some("azure".to_owned()),
            api_version: version.map(str::to_owned),
            ..config(&server)
        };
        ask_go(&OpenAi::new(config).unwrap()).await;
        let head = server.asked()[0].head.clone();
        assert!(head.starts_with(&format!("POST {line} HTTP")), "{head}");
        assert!(head.contains(&format!("api-key: {KEY}")) && !head.contains("Bearer"), "{head}");
    }
}

#[tokio::test]
async fn what_is_known_of_the_model_is_told_and_used() {
    let server = serve(vec![said("ok")]).await;
    let config = Config {
        max_output_tokens: Some(100),
        context_window: Some(5_000),
        reasoning_effort: Some("none".to_owned()),
        temperature: Some(false),
        ..config(&server)
    };
    let provider = OpenAi::new(config).unwrap();
    let identity = provider.identity();
    assert_eq!((identity.max_output_tokens, identity.context_window), (100, Some(5_000)));
    assert_eq!((identity.provider.as_str(), provider.profile()), ("openai", "local"));
    let mut request = request(vec![user("go")]);
    request.temperature = Some(0.1);
    ask(&provider, request).await;
    let body = &server.bodies()[0];
    assert_eq!((&body["max_tokens"], &body["reasoning_effort"]), (&json!(100), &json!("none")));
    assert_eq!(body.get("temperature"), None);
}

#[test]
fn an_unknown_profile_is_refused_with_the_names_there_are() {
    let config = Config {
        base_url: "http://localhost/v1".to_owned(),
        model: "m".to_owned(),
        profile: Some("nobody".to_owned()),
        ..Config::default()
    };
    let error = OpenAi::new(config).unwrap_err();
    let ProviderError::Setup(words) = error else { panic!("{error}") };
    assert!(words.contains("nobody") && words.contains("openrouter, vercel"), "{words}");
}
