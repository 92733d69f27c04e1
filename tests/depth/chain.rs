//! Scripts in which every level delegates to one helper below it, down to the last.

use serde_json::{Value, json};

use crate::common::call;

/// What each level's task is called; none of them is a part of another.
pub const NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// A `task` call with more than its required fields.
pub fn task(id: &str, name: &str, more: &Value) -> Value {
    let mut arguments = json!({ "task": name, "expected_output": "answer" });
    let fields = arguments.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    call(id, "task", arguments)
}

/// A parent, and `levels` of children below it; the deepest one has these turns.
pub fn chain(levels: usize, more: &Value, deepest: Value) -> Value {
    let mut children = Vec::new();
    for level in 1..levels {
        let below = task(&format!("k{level}"), NAMES[level], more);
        let turns = json!([{ "tool_calls": [below] }, { "text": format!("level {level} done") }]);
        children.push(json!({ "match": format!("Task: {}", NAMES[level - 1]), "turns": turns }));
    }
    let last = format!("Task: {}", NAMES[levels - 1]);
    children.push(json!({ "match": last, "turns": deepest, "repeat_last": true }));
    json!({
        "turns": [{ "tool_calls": [task("k0", NAMES[0], more)] }, { "text": "parent done" }],
        "children": children,
    })
}
