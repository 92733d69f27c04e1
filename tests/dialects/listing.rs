//! The list of models, from servers that have one, are slow, or are something else.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;
use offshoot::provider::ProviderError;
use offshoot::provider::openai::{Config, OpenAi};

use super::bench::KEY;

async fn provider(router: Router) -> OpenAi {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    let model = "m".to_owned();
    OpenAi::new(Config { base_url, model, api_key: Some(KEY.into()), ..Config::default() }).unwrap()
}

#[tokio::test]
async fn the_models_of_a_server_are_listed_by_name() {
    let body = r#"{"data":[{"id":"qwen3","max_model_len":40960},{"id":"a"}]}"#;
    let provider =
        provider(Router::new().route("/v1/models", get(move || async move { body }))).await;
    let models = provider.list_models().await.unwrap();
    let listed: Vec<_> = models.iter().map(|m| (m.name.as_str(), m.context_window)).collect();
    assert_eq!(listed, [("a", None), ("qwen3", Some(40_960))]);
}

#[tokio::test]
async fn a_list_that_cannot_be_had_is_a_failure_in_words() {
    let refused = || async {
        (StatusCode::UNAUTHORIZED, format!("{{\"error\":{{\"message\":\"bad key {KEY}\"}}}}"))
    };
    let page = || async { "<title>Sign in</title>" };
    for (router, words) in [
        (Router::new().route("/v1/models", get(refused)), "answered 401: bad key [key]"),
        (Router::new().route("/v1/models", get(page)), "Sign in"),
        (
            Router::new().route("/v1/models", get(|| async { "{\"object\":\"x\"}" })),
            "list of models",
        ),
        (Router::new(), "404"),
    ] {
        let error = provider(router).await.list_models().await.unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_waited_for_ten_seconds() {
    let hang = || std::future::pending::<&'static str>();
    let provider = provider(Router::new().route("/v1/models", get(hang))).await;
    let error = provider.list_models().await.unwrap_err();
    assert!(
        matches!(&error, ProviderError::Broken { detail, .. } if detail.contains("10 s")),
        "{error}"
    );
}
