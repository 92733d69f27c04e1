//! Answers that are made to break whoever reads them.

use offshoot::agent::claims::Claims;
use offshoot::domain::budget::Preset;
use offshoot::domain::report::{Report, Status};
use offshoot::domain::role::RoleTable;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::common::rounds;
use crate::stand::{call, play, read};

fn nested(levels: usize) -> String {
    format!("{}1{}", "[".repeat(levels), "]".repeat(levels))
}

#[tokio::test(start_paused = true)]
async fn no_answer_is_too_strange_for_a_report() {
    let deep = nested(120);
    let places: Vec<Value> =
        (0..25_000).map(|n| json!({ "path": format!("f{n}"), "line": n })).collect();
    let table = [
        ("deep", "planner", format!(r#"{{"summary":"s","steps":[{deep}]}}"#)),
        ("too deep", "researcher", format!(r#"{{"summary":"s","x":{}}}"#, nested(5_000))),
        (
            "twice",
            "researcher",
            r#"{"summary":"a","summary":"b","evidence":[],"evidence":7}"#.into(),
        ),
        ("many places", "researcher", json!({ "summary": "s", "evidence": places }).to_string()),
        (
            "more places",
            "researcher",
            json!({ "summary": "s", "evidence": vec!["f"; 100_000] }).to_string(),
        ),
        ("one long line", "researcher", json!({ "summary": "x".repeat(1_000_000) }).to_string()),
        ("half a pair", "researcher", r#"{"summary":"\ud800 \udc00"}"#.into()),
        (
            "many doubts",
            "researcher",
            json!({ "summary": "s", "warnings": vec!["w"; 100_000] }).to_string(),
        ),
        (
            "many claims",
            "worker",
            json!({ "summary": "s", "changed_paths": vec!["a/b"; 100_000] }).to_string(),
        ),
        ("braces", "researcher", "{\"a\":".repeat(200_000)),
    ];
    for (what, role, answer) in table {
        let played = play(role, json!({}), json!([read("k1", "a.txt")]), json!(answer)).await;
        assert!(played.result("t").len() <= Report::MAX_BYTES, "{what}");
        let report = played.task_result("t");
        assert_eq!(report.status, Status::Completed, "{what}: {report:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn strange_places_are_never_verified_and_stand_on_one_line() {
    let paths = [
        "/",
        "",
        "..",
        "a/../../etc",
        "a.txt\nsecond",
        "a\u{1b}[2J.txt",
        "\0",
        "a.txt/",
        "//",
        "~",
    ];
    let places: Vec<Value> = paths.iter().map(|path| json!({ "path": path })).collect();
    let answer = json!({ "summary": "s", "evidence": places });
    let played = play("researcher", json!({}), json!([read("k1", "src/b.txt")]), answer).await;
    let text = played.result("t");
    assert_eq!(text.lines().count(), 1);
    assert!(!text.contains('\u{1b}') && !text.contains('\0'), "{text}");
    let report = played.task_result("t");
    assert!(report.evidence.iter().all(|place| !place.verified), "{report:#?}");
    assert_eq!(report.evidence.len(), paths.len() - 1, "the empty one is left out");
}

/// What one reader takes, the reader of the trace must take with all that stands around it.
#[tokio::test(start_paused = true)]
async fn arguments_of_any_depth_leave_a_trace_that_can_be_read() {
    for levels in [99, 100, 120, 125, 126, 127, 128, 300] {
        let arguments = format!("{{\"path\":{}}}", nested(levels));
        let calls = json!([call("k1", "read_file", json!(arguments))]);
        let answer = json!({ "summary": "s" });
        let played = play("researcher", json!({}), calls, answer).await;
        for (name, text) in played.files() {
            for line in text.lines() {
                let read = serde_json::from_str::<Value>(line);
                assert!(read.is_ok(), "{levels} {name}: {read:?}");
            }
        }
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z./:0-9]{0,12}",
        any::<String>(),
        Just("a.txt:3".to_owned()),
        Just("```json\n{\"summary\":\"x\"}\n```".to_owned()),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("summary".to_owned()),
        Just("evidence".to_owned()),
        Just("warnings".to_owned()),
        Just("changed_paths".to_owned()),
        Just("task_id".to_owned()),
        Just("path".to_owned()),
        Just("line".to_owned()),
        Just("reason".to_owned()),
        Just("findings".to_owned()),
        Just("commands".to_owned()),
        Just("steps".to_owned()),
        Just("status".to_owned()),
        "[a-z]{1,6}",
    ];
    leaf.prop_recursive(5, 64, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(rounds(200, 20_000)))]

    /// Whatever stands in an answer, it is taken apart, in form, and told where it was not.
    #[test]
    fn any_answer_is_taken_apart(value in any_json(), before in "[ a-z{}\"`\n]{0,20}", in_words: bool) {
        let text = if in_words { format!("{before}{value}") } else { value.to_string() };
        for role in RoleTable::built_in(Preset::Normal).iter() {
            let claims = Claims::parse(&text, &role.report_fields);
            prop_assert!(!claims.summary.is_empty());
            prop_assert!(claims.evidence.iter().all(|place| !place.path.is_empty()));
            let unreadable = |place: &&offshoot::agent::cited::Cited| place.unreadable_line;
            prop_assert!(claims.evidence.iter().filter(unreadable).all(|place| place.line.is_none()));
            for (name, value) in &claims.fields {
                prop_assert!(role.report_fields.iter().any(|field| field.name == *name));
                prop_assert!(value.is_array());
            }
        }
    }
}
