//! What models a server offers: one bounded GET, in any of the forms in which servers answer it.

use std::time::Duration;

use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::provider::http::{self, LazyClient};
use crate::provider::{ListedModel, ProviderError};

/// Time for the whole list.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Asks for the list, sorted by name.
pub async fn ask(
    client: &LazyClient,
    headers: &HeaderMap,
) -> Result<Vec<ListedModel>, ProviderError> {
    let body = tokio::time::timeout(TIME_LIMIT, client.get_json(headers)).await;
    let body = body.unwrap_or_else(|_| {
        let seconds = TIME_LIMIT.as_secs();
        Err(client.broken(format!("it sent no list of models within {seconds} s")))
    })?;
    models(&body).ok_or_else(|| {
        let words = http::server_words(body.to_string().as_bytes());
        client.broken(format!("what should be its list of models says \"{words}\""))
    })
}

/// Asks for the names alone.
pub async fn names(client: &LazyClient, headers: &HeaderMap) -> Result<Vec<String>, ProviderError> {
    Ok(ask(client, headers).await?.into_iter().map(|model| model.name).collect())
}

/// The models of a list; `None` if it is none.
fn models(body: &Value) -> Option<Vec<ListedModel>> {
    let list = body.get("data").or_else(|| body.get("models")).unwrap_or(body).as_array()?;
    let mut models: Vec<ListedModel> = list.iter().filter_map(model).collect();
    models.sort_by(|a, b| a.name.cmp(&b.name));
    models.dedup_by(|a, b| a.name == b.name);
    Some(models)
}

fn model(entry: &Value) -> Option<ListedModel> {
    let name = ["id", "name", "model"].into_iter().find_map(|key| entry.get(key)?.as_str());
    let name = http::one_line(name.or(entry.as_str())?, 200);
    let windows = [
        "/context_length",
        "/context_window",
        "/max_model_len",
        "/max_context_length",
        "/meta/n_ctx",
        "/meta/n_ctx_train",
    ];
    let window = windows.into_iter().find_map(|place| entry.pointer(place)?.as_u64());
    (!name.is_empty()).then_some(ListedModel { name, context_window: window.filter(|n| *n > 0) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_usual_forms_of_a_list_are_read() {
        let listed =
            |name: &str, context_window| ListedModel { name: name.to_owned(), context_window };
        for (body, expected) in [
            (
                json!({"object": "list", "data": [{"id": "b", "max_model_len": 8}, {"id": "a"}, {"id": "a"}]}),
                vec![listed("a", None), listed("b", Some(8))],
            ),
            (json!([{"id": "t", "context_length": 4096}, 7]), vec![listed("t", Some(4_096))]),
            (json!({"models": [{"name": "n"}, "m"]}), vec![listed("m", None), listed("n", None)]),
            (
                json!({"data": [{"id": "q", "meta": {"n_ctx_train": 32768}}]}),
                vec![listed("q", Some(32_768))],
            ),
            (json!({"data": []}), Vec::new()),
        ] {
            assert_eq!(models(&body), Some(expected), "{body}");
        }
        assert_eq!(models(&json!({"detail": "no"})), None);
    }
}
