//! The hashes that the end of a child is told with, computed again from what everybody can see.

use offshoot::domain::contract::Contract;
use offshoot::domain::event::Fact;
use offshoot::domain::fingerprint::fingerprint;
use offshoot::domain::hash::Sha;
use offshoot::domain::role::OUTPUT_PER_REQUEST;
use serde_json::{Value, json};

use crate::stand::{play, read};

#[tokio::test(start_paused = true)]
async fn the_hashes_are_those_of_the_issued_contract_and_of_what_the_parent_read() {
    let more = json!({ "allowed_paths": ["a.txt"], "must_not": "change a.txt" });
    let answer = json!({ "summary": "s" });
    let played = play("researcher", more, json!([read("k1", "a.txt")]), answer).await;
    let issued = issued(&played);
    let contract = Contract::from_json(&issued.to_string()).unwrap();
    let end = played.facts().find_map(|fact| match fact {
        Fact::RunFinished(end) if end.report.is_some() => Some((**end).clone()),
        _ => None,
    });
    let end = end.unwrap();
    assert_eq!(end.contract_sha256, contract.sha256(), "{issued:#}");
    assert_eq!(end.report_sha256, Some(Sha::of(played.result("t"))));
    for (field, value) in [("prompt", json!("beta")), ("must_not", json!(null))] {
        let mut other = issued.clone();
        other[field] = value;
        let other = Contract::from_json(&other.to_string()).unwrap();
        assert_ne!(end.contract_sha256, other.sha256(), "{field}");
    }
}

/// The contract of the only child, put together from what the stream tells and what was asked for.
fn issued(played: &crate::common::Played) -> Value {
    let started = played.events.iter().find_map(|event| match &event.fact {
        Fact::RunStarted { contract, description: Some(description), .. } => {
            Some((event, contract.clone(), description.clone()))
        }
        _ => None,
    });
    let (event, view, description) = started.unwrap();
    let mark = fingerprint(&view.prompt, &view.expected_output, "researcher", [], &view.paths);
    json!({
        "task_id": event.origin.task, "attempt": 1, "parent_run": "r1", "run": "t1.1", "depth": 1,
        "role": "researcher", "description": description, "prompt": view.prompt,
        "expected_output": view.expected_output, "done_when": null, "must_not": "change a.txt",
        "context": [], "permissions": view.permissions, "paths": view.paths, "tools": view.tools,
        "budget": view.budget, "share": view.share, "output_per_request": OUTPUT_PER_REQUEST,
        "provider": view.provider, "model": view.model, "temperature": null, "fingerprint": mark,
        "issued_at": event.ts,
    })
}
