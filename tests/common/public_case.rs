//! Reads a public case and gives its placeholder names the program's own.

use std::path::Path;

use serde_json::{Value, json};

/// The case of this file name, ready to play.
pub fn load(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file);
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()));
    let mut case: Value = serde_json::from_str(&text).unwrap();
    items(&mut case, "turns").for_each(map_turn);
    for child in items(&mut case, "children") {
        items(child, "turns").for_each(map_turn);
    }
    case
}

/// The items of a list that may be missing.
fn items<'a>(value: &'a mut Value, key: &str) -> impl Iterator<Item = &'a mut Value> {
    value.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten()
}

fn map_turn(turn: &mut Value) {
    for call in items(turn, "tool_calls") {
        let arguments = call["arguments"].as_str().unwrap_or("{}");
        let mut arguments: Value = serde_json::from_str(arguments).unwrap_or(json!({}));
        let name = match call["name"].as_str() {
            Some("shell") => "bash",
            Some("list_dir") => "list_files",
            other => other.unwrap_or_default(),
        };
        if name == "task" {
            map_task(&mut arguments);
        }
        call["name"] = json!(name);
        call["arguments"] = arguments;
    }
}

fn map_task(arguments: &mut Value) {
    let Some(fields) = arguments.as_object_mut() else { return };
    for (from, to) in [("prompt", "task"), ("tools", "allowed_tools"), ("paths", "allowed_paths")] {
        if let Some(value) = fields.remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
    for tool in fields.get_mut("allowed_tools").and_then(Value::as_array_mut).into_iter().flatten()
    {
        match tool.as_str() {
            Some("shell") => *tool = json!("bash"),
            Some("list_dir") => *tool = json!("list_files"),
            _ => {}
        }
    }
    if let Some(budget) = fields.get_mut("budget").and_then(Value::as_object_mut)
        && let Some(seconds) = budget.remove("wall_s")
    {
        budget.insert("duration_s".to_owned(), seconds);
    }
    fields.entry("expected_output").or_insert(json!("answer"));
}

/// The same case with every `task` going to this role.
pub fn for_role(mut case: Value, role: &str) -> Value {
    for turn in items(&mut case, "turns") {
        for call in items(turn, "tool_calls") {
            if call["name"] == "task" {
                call["arguments"]["role"] = json!(role);
            }
        }
    }
    case
}
