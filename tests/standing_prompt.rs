//! What every request repeats, the system prompt and the tool schemas, stays small: of a parent that
//! holds every tool, and of a child of each role. A project's rules for agents come on top of it.
//!
//! `cargo test --test standing_prompt -- --nocapture` shows the figures.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests; the figures are shown")]

mod common;

use common::{Played, Stage, one_batch};
use offshoot::domain::role::Permission;
use offshoot::provider::Request;
use serde_json::{Value, json};

/// Tokens that a parent's requests may repeat.
const PARENT: usize = 2_500;
/// Tokens that a child's requests may repeat.
const CHILD: usize = 1_600;

/// Four characters for a token.
fn tokens(text: &str) -> usize {
    text.chars().count().div_ceil(4)
}

/// The system prompt and the tools in the form of the chat-completions wire.
fn standing(request: &Request) -> usize {
    let tools: Vec<Value> = request
        .tools
        .iter()
        .map(|tool| {
            json!({ "type": "function", "function": {
                "name": tool.name, "description": tool.description, "parameters": tool.parameters,
            }})
        })
        .collect();
    tokens(&request.system) + tokens(&serde_json::to_string(&tools).unwrap())
}

/// One delegation to this role that reads a file and reports.
async fn delegate_to(role: &str) -> Played {
    let task = json!({ "task": "find the sum", "expected_output": "a sentence", "role": role });
    let calls = json!([{ "id": "c1", "name": "task", "arguments": task }]);
    let report = json!({
        "summary": "The sum is in sums.py.",
        "evidence": [{ "path": "sums.py", "line": 1, "reason": "adds" }],
        "warnings": [],
        "steps": ["read it"],
        "commands": [],
        "findings": [],
    });
    let read = json!({ "id": "k1", "name": "read_file", "arguments": { "path": "sums.py" } });
    let children = json!([{ "match": "", "turns": [
        { "tool_calls": [read] },
        { "text": report.to_string() },
    ]}]);
    let stage = Stage::new(&one_batch(&calls, "done", &children)).file("sums.py", "a + b\n");
    let granted = Permission::ALL.into_iter().filter(|held| *held != Permission::Network);
    let granted: Vec<Permission> = granted.collect();
    stage.permissions(&granted).play("where is the sum?").await
}

#[tokio::test(start_paused = true)]
async fn the_standing_prompts_are_small_for_every_role() {
    for role in ["researcher", "planner", "tester", "reviewer", "worker"] {
        let played = delegate_to(role).await;
        let (parent, child) = (played.parent_requests(), played.child_requests());
        assert_eq!((parent.len(), child.len()), (2, 2));
        for (requests, limit) in [(parent, PARENT), (child, CHILD)] {
            for request in requests {
                let used = standing(request);
                assert!(!request.tools.is_empty() && !request.system.is_empty());
                assert!(used < limit, "{} of {role}: {used} tokens of {limit}", request.run);
                eprintln!("{} of {role}: {used} of {limit} tokens stand", request.run);
            }
        }
    }
}
