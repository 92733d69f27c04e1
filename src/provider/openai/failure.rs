//! What a server reports as an error inside an answer that began well. It knows the places where
//! servers put it, and no host.

use serde_json::Value;

use crate::provider::http;
use crate::provider::reading::Failure;

/// The error that an event or a whole body reports, if it reports one.
pub fn reported(event: &Value) -> Option<Failure> {
    let in_choice = event.pointer("/choices/0/error");
    let error = event.get("error").or(in_choice).filter(|error| !error.is_null());
    let is_error = event.get("object").and_then(Value::as_str) == Some("error");
    let error = error.or(is_error.then_some(event))?;
    let words = http::json_words(error).unwrap_or_else(|| http::one_line(&error.to_string(), 300));
    Some(Failure {
        status: status(error),
        detail: format!("the server reported an error in its answer: {words}"),
    })
}

/// The status as a number, as a number in a string, or by the usual words for it.
fn status(error: &Value) -> Option<u16> {
    let fields = ["code", "status_code", "status", "type"].map(|key| error.get(key));
    let number = |field: &Value| match field {
        Value::Number(number) => number.as_u64(),
        Value::String(text) => text.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    let fields = || fields.iter().copied().flatten();
    let told = fields().filter_map(number).find(|status| (400..600).contains(status));
    let told = told.and_then(|status| u16::try_from(status).ok());
    told.or_else(|| fields().filter_map(Value::as_str).find_map(status_of_word))
}

fn status_of_word(word: &str) -> Option<u16> {
    let word = word.to_ascii_lowercase();
    let has = |part: &str| word.contains(part);
    if has("rate_limit") || has("too_many_requests") || has("resource_exhausted") {
        Some(429)
    } else if has("overloaded") || has("unavailable") {
        Some(503)
    } else if has("server_error") || has("internal_error") {
        Some(500)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_is_found_wherever_servers_put_it() {
        for (event, status, words) in [
            (json!({"error": {"code": 429, "message": "slow\ndown"}}), Some(429), "slow down"),
            (json!({"error": {"code": "502", "message": "bad"}}), Some(502), "bad (502)"),
            (
                json!({"error": {"type": "overloaded_error", "message": "full"}}),
                Some(503),
                "full (overloaded_error)",
            ),
            (
                json!({"error": {"status_code": 400, "code": "x", "message": "m"}}),
                Some(400),
                "m (x)",
            ),
            (json!({"error": "model crashed"}), None, "model crashed"),
            (json!({"error": {"odd": 1}}), None, "{\"odd\":1}"),
            (json!({"object": "error", "message": "too long", "code": 400}), Some(400), "too long"),
            (
                json!({"choices": [{"error": {"message": "upstream", "code": 502}}]}),
                Some(502),
                "upstream",
            ),
        ] {
            let found = reported(&event).map(|failure| (failure.status, failure.detail));
            let detail = format!("the server reported an error in its answer: {words}");
            assert_eq!(found, Some((status, detail)), "{event}");
        }
        assert_eq!(reported(&json!({"error": null, "choices": []})), None);
    }
}
