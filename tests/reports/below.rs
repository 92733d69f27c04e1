//! Tasks of tasks: what did not finish or is not confirmed reaches the reader at every depth.

use offshoot::domain::event::Fact;
use offshoot::domain::report::{Report, Status, WarningCode};
use serde_json::{Value, json};

use crate::common::Played;
use crate::stand::{read, stage, task, warnings, write};

/// The words of the notices with this code.
pub fn notices(played: &Played, wanted: &str) -> Vec<String> {
    let words = |fact: &Fact| match fact {
        Fact::Notice { code, text, .. } if code == wanted => Some(text.clone()),
        _ => None,
    };
    played.facts().filter_map(words).collect()
}

/// alpha gives beta, beta gives gamma; gamma does this.
async fn chain(budget: Value, gamma: Value) -> Played {
    let gives = |id: &str, words: &str, more: Value| {
        json!([
            { "text": "", "tool_calls": [task(id, words, "worker", more)] },
            { "text": json!({ "summary": "all is well" }).to_string() },
        ])
    };
    let script = json!({
        "turns": [
            { "text": "", "tool_calls": [task("t", "alpha", "worker", json!({}))] },
            { "text": "all is well" },
        ],
        "children": [
            { "match": "alpha", "turns": gives("u", "beta", json!({ "budget": { "turns": 9 } })) },
            { "match": "beta", "turns": gives("v", "gamma", budget) },
            { "match": "gamma", "turns": gamma },
        ],
    });
    let mut stage = stage(&script);
    stage.max_depth = 3;
    stage.play("go").await
}

fn of_task(played: &Played, number: u32) -> Report {
    let reports = played.reports();
    reports.into_iter().find(|report| report.task_id.unwrap().0 == number).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_task_deep_down_that_did_not_finish_is_named_all_the_way_up() {
    let gamma = json!([
        { "text": "", "tool_calls": [read("k1", "a.txt")] },
        { "text": json!({ "summary": "half" }).to_string() },
    ]);
    let played = chain(json!({ "budget": { "turns": 2 } }), gamma).await;
    assert_eq!(of_task(&played, 3).status, Status::BudgetExhausted);
    for number in [1, 2] {
        let report = of_task(&played, number);
        assert_eq!(report.status, Status::Completed, "{report:#?}");
        let told = warnings(&report, WarningCode::Unfinished);
        assert_eq!(told, ["tasks below it did not finish: #3 (budget exhausted)"], "{report:#?}");
    }
    let told = notices(&played, "UNFINISHED_CHILD");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("task #3 did not finish (budget exhausted)"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_task_deep_down_that_says_what_was_not_seen_is_named_all_the_way_up() {
    let gamma = json!([
        { "text": "", "tool_calls": [read("k1", "a.txt")] },
        { "text": json!({ "summary": "All tests pass.", "changed_paths": ["a.txt"] }).to_string() },
    ]);
    let played = chain(json!({ "budget": { "turns": 5 } }), gamma).await;
    for number in [1, 2] {
        let told = warnings(&of_task(&played, number), WarningCode::Unconfirmed);
        assert!(told.len() == 1 && told[0].contains("#3 says that it changed a.txt"), "{told:?}");
    }
    let told = notices(&played, "UNCONFIRMED_CHILD");
    assert!(told.len() == 1 && told[0].starts_with("task #3 says"), "{told:?}");
    assert!(notices(&played, "UNFINISHED_CHILD").is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_honest_chain_is_told_of_nowhere() {
    let answer = json!({ "summary": "made it", "changed_paths": ["new.txt"] });
    let gamma = json!([
        { "text": "", "tool_calls": [write("k1", "new.txt")] },
        { "text": answer.to_string() },
    ]);
    let played = chain(json!({ "budget": { "turns": 5 } }), gamma).await;
    for number in [1, 2, 3] {
        let report = of_task(&played, number);
        assert!(warnings(&report, WarningCode::Unfinished).is_empty(), "{report:#?}");
        assert!(warnings(&report, WarningCode::Unconfirmed).is_empty(), "{report:#?}");
    }
    assert!(notices(&played, "UNFINISHED_CHILD").is_empty());
    assert!(notices(&played, "UNCONFIRMED_CHILD").is_empty());
}
