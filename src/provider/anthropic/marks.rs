//! Where a request's prompt cache is to be written and read: at most four marks, which is what the
//! API takes. It knows the places, not what is said there.

use serde_json::{Map, Value, json};

/// Boundaries of the conversation that are marked. The older one is where the request before
/// ended, so what that one wrote is found however many blocks came since.
const BOUNDARIES: usize = 2;

/// Marks the last tool, the system prompt, and the last blocks of the last user messages.
pub fn place(body: &mut Map<String, Value>) {
    for part in ["tools", "system"] {
        if let Some(last) =
            body.get_mut(part).and_then(Value::as_array_mut).and_then(|l| l.last_mut())
        {
            mark(last);
        }
    }
    let messages = body.get_mut("messages").and_then(Value::as_array_mut);
    let told = messages.into_iter().flatten().rev().filter(|message| message["role"] == "user");
    for message in told.take(BOUNDARIES) {
        if let Some(last) = message["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
            mark(last);
        }
    }
}

/// True for a block of thinking.
pub fn is_reasoning(block: &Value) -> bool {
    let kind = block.get("type").and_then(Value::as_str);
    matches!(kind, Some("thinking" | "redacted_thinking"))
}

fn mark(block: &mut Value) {
    if let Value::Object(fields) = block {
        fields.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}
