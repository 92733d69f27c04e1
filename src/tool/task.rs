//! The schema of `task`. What a call of it does is the agent's matter; here is only what a model
//! reads. It is constant, so that a provider's prompt cache lives: roles and context keys are told
//! elsewhere.

use serde_json::{Value, json};

use crate::domain::message::ToolSchema;

/// The tool's name.
pub const NAME: &str = "task";

/// The tool as a model sees it.
pub fn schema() -> ToolSchema {
    ToolSchema {
        name: NAME.to_owned(),
        description: include_str!("../../assets/tools/task.md").trim().to_owned(),
        parameters: parameters(),
    }
}

/// The fields of a request to delegate.
pub fn parameters() -> Value {
    let text = |description: &str| json!({"type": "string", "description": description});
    let texts = |description: &str| json!({"type": "array", "items": {"type": "string"}, "description": description});
    json!({
        "type": "object",
        "properties": {
            "task": text("What to do, complete: the child knows nothing else"),
            "expected_output": text("What the report must contain"),
            "description": text("A few words for the user's screen"),
            "role": text("A role's name; default researcher"),
            "context_keys": texts("Snippets to hand over, by key"),
            "permissions": texts("Fewer than the role's"),
            "allowed_paths": texts("Folders or files, such as src or docs/a.md; default all of yours"),
            "allowed_tools": texts("Fewer than the role's"),
            "budget": budget(),
            "done_when": text("How the child knows that it is done"),
            "must_not": text("What it must leave alone"),
            "model": text("One of the role's models"),
        },
        "required": ["task", "expected_output"],
        "additionalProperties": false,
    })
}

fn budget() -> Value {
    let number = json!({"type": "number"});
    json!({
        "type": "object",
        "description": "Limits, each below what you have left; default the role's",
        "properties": {
            "turns": number,
            "input_tokens": number,
            "output_tokens": number,
            "tool_calls": number,
            "duration_s": number,
            "cost_usd": number,
        },
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::domain::request::TaskRequest;
    use crate::tool::arguments;

    #[test]
    fn the_schema_has_the_fields_of_the_request_and_no_others() {
        let every_field = json!({
            "task": "t", "expected_output": "e", "description": "d", "role": "r",
            "context_keys": ["k"], "permissions": ["read"], "allowed_paths": ["src"],
            "allowed_tools": ["search"],
            "budget": {
                "turns": 1.0, "input_tokens": 2.0, "output_tokens": 3.0, "tool_calls": 4.0,
                "duration_s": 5.5, "cost_usd": 0.1,
            },
            "done_when": "w", "must_not": "n", "model": "m",
        });
        let request: TaskRequest = arguments::read(&parameters(), &every_field).unwrap();
        assert_eq!(serde_json::to_value(&request).unwrap(), every_field);
        let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(&parameters()["properties"]), keys(&every_field));
    }
}
