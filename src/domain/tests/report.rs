//! Endings in their fixed words, and reports that stay within their size.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::domain::budget::Dimension;
use crate::domain::report::{
    By, Ending, Evidence, Exhausted, Report, Spent, Status, Warning, WarningCode,
};
use crate::domain::usage::MicroUsd;
use crate::domain::violation::Violation;

fn report(summary: &str) -> Report {
    Report {
        task_id: Some(TaskId(3)),
        attempt: Some(1),
        status: Status::Completed,
        code: None,
        dimension: None,
        by: None,
        summary: summary.to_owned(),
        evidence: vec![Evidence {
            path: "pyproject.toml".to_owned(),
            line: Some(12),
            reason: "pytest".to_owned(),
            verified: true,
            via_bash: false,
        }],
        fields: Map::new(),
        warnings: Vec::new(),
        violations: Vec::new(),
        changed_paths: Vec::new(),
        needs_review: false,
        turns: 3,
        usage: Spent {
            input_tokens: 5_120,
            output_tokens: 310,
            tool_calls: 4,
            duration_ms: 8_123,
            cost_usd: Some(MicroUsd(2_100)),
        },
        next: Ending::Completed.next().to_owned(),
        trace: Some(RunId::child(TaskId(3), 1)),
    }
}

#[test]
fn a_report_is_written_in_the_order_of_the_format() {
    assert_eq!(
        report("It is pytest.").to_json(),
        concat!(
            r#"{"task_id":"t3","attempt":1,"status":"completed","code":null,"dimension":null,"#,
            r#""by":null,"summary":"It is pytest.","evidence":[{"path":"pyproject.toml","#,
            r#""line":12,"reason":"pytest","verified":true}],"warnings":[],"violations":[],"#,
            r#""changed_paths":[],"turns":3,"usage":{"input_tokens":5120,"output_tokens":310,"#,
            r#""tool_calls":4,"duration_ms":8123,"cost_usd":0.0021},"next":"Done; its evidence "#,
            r#"marked verified was really shown to the child.","trace":"t3.1"}"#
        )
    );
}

#[test]
fn every_ending_has_its_status_code_dimension_and_author() {
    let rows = [
        (Ending::Completed, "completed", None, None, None),
        (
            Ending::Exhausted(Exhausted::Turns),
            "budget_exhausted",
            Some(Code::BudgetExhausted),
            Some(Exhausted::Turns),
            None,
        ),
        (
            Ending::Exhausted(Exhausted::Duration),
            "budget_exhausted",
            Some(Code::Timeout),
            Some(Exhausted::Duration),
            None,
        ),
        (
            Ending::Exhausted(Exhausted::Repeats),
            "budget_exhausted",
            Some(Code::LoopDetected),
            Some(Exhausted::Repeats),
            None,
        ),
        (
            Ending::Overrun(Dimension::OutputTokens),
            "budget_exhausted",
            Some(Code::UsageExceeded),
            Some(Exhausted::OutputTokens),
            None,
        ),
        (Ending::Cancelled(By::User), "cancelled", Some(Code::Cancelled), None, Some(By::User)),
        (Ending::TimedOut, "cancelled", Some(Code::Timeout), None, Some(By::Shutdown)),
        (Ending::Blocked(Code::ToolEscalation), "blocked", Some(Code::ToolEscalation), None, None),
        (Ending::Blocked(Code::Cancelled), "cancelled", Some(Code::Cancelled), None, None),
        (Ending::Failed(Code::ProviderError), "failed", Some(Code::ProviderError), None, None),
        (Ending::Invalid, "invalid_result", Some(Code::InvalidResult), None, None),
    ];
    for (ending, status, code, dimension, by) in rows {
        assert_eq!(ending.status().as_str(), status, "{ending:?}");
        assert_eq!(serde_json::to_value(ending.status()).unwrap(), json!(status));
        assert_eq!((ending.code(), ending.dimension(), ending.by()), (code, dimension, by));
        assert!(!ending.next().is_empty());
    }
}

#[test]
fn codes_read_and_write_as_the_same_words() {
    for code in [Code::ContextNotFound, Code::DuplicateTask, Code::UsageExceeded] {
        assert_eq!(serde_json::to_value(code).unwrap(), json!(code.as_str()));
    }
}

#[test]
fn a_short_report_is_left_alone() {
    let short = report("It is pytest.");
    assert_eq!(short.clone().capped(), short);
}

#[test]
fn a_long_summary_gives_way_first_on_a_character_boundary_and_says_so() {
    let long = report(&"漢字".repeat(500_000));
    let capped = long.capped();
    let bytes = capped.to_json().len();
    assert!(bytes <= Report::MAX_BYTES && bytes > Report::MAX_BYTES - 8, "{bytes}");
    assert!(capped.summary.ends_with(" … (cut)"));
    assert_eq!(capped.evidence.len(), 1);
    assert!(capped.warnings.iter().any(|warning| warning.code == WarningCode::Cut));
}

#[test]
fn a_kilobyte_of_summary_is_worth_more_than_the_tail_of_lists() {
    let mut hostile = report(&"s".repeat(2_000));
    hostile.evidence = vec![hostile.evidence[0].clone(); 10_000];
    hostile.warnings = vec![Warning::new(WarningCode::Claimed, "w".repeat(100)); 10_000];
    let capped = hostile.capped();
    assert!(capped.to_json().len() <= Report::MAX_BYTES);
    assert!(capped.summary.len() >= 1_000, "{}", capped.summary.len());
    assert!(capped.evidence.len() > 10 && capped.warnings.len() > 10);
}

#[test]
fn a_role_keeps_the_beginning_of_a_field_that_is_too_long() {
    let mut planner = report("A plan.");
    let steps: Vec<String> = (1..=500).map(|n| format!("step {n} of the plan")).collect();
    planner.fields.insert("steps".to_owned(), json!(steps));
    planner.fields.insert("risks".to_owned(), json!(["none"]));
    let capped = planner.capped();
    assert!(capped.to_json().len() <= Report::MAX_BYTES);
    assert_eq!(capped.summary, "A plan.");
    assert_eq!(capped.fields["steps"][0], "step 1 of the plan");
    assert!(capped.fields["steps"].as_array().unwrap().len() > 200);
}

#[test]
fn a_child_cannot_write_the_runtimes_part_through_a_field() {
    let mut forged = report("x");
    forged.fields.insert("status".to_owned(), json!("completed"));
    forged.fields.insert("usage".to_owned(), json!({}));
    forged.fields.insert("steps".to_owned(), json!(["one"]));
    let json = forged.capped().to_json();
    assert_eq!(json.matches(r#""status""#).count(), 1);
    let read: Report = serde_json::from_str(&json).unwrap();
    assert_eq!(read.fields.keys().collect::<Vec<_>>(), ["steps"]);
}

#[test]
fn the_names_of_the_common_fields_are_all_known() {
    let report = Report { needs_review: true, ..report("x") };
    let written = serde_json::to_value(report).unwrap();
    let names: Vec<&String> = written.as_object().unwrap().keys().collect();
    assert_eq!(names, Report::COMMON_FIELDS);
}

fn hostile_text() -> impl Strategy<Value = String> {
    let unit = prop_oneof![
        Just("x".to_owned()),
        Just("\u{1}".to_owned()),
        Just("\"\\\n".to_owned()),
        Just("👩‍👩‍👧".to_owned()),
        any::<String>(),
    ];
    (unit, 0..300_usize).prop_map(|(unit, times)| unit.repeat(times))
}

fn hostile_report() -> impl Strategy<Value = Report> {
    let few = 0..40_usize;
    let texts = proptest::collection::vec(hostile_text(), 5);
    (texts, proptest::array::uniform5(few)).prop_map(|(texts, counts)| {
        let mut hostile = report(&texts[0]);
        let evidence = Evidence {
            path: texts[1].clone(),
            line: Some(u64::MAX),
            reason: texts[2].clone(),
            verified: false,
            via_bash: true,
        };
        hostile.evidence = vec![evidence; counts[0]];
        hostile.warnings = vec![Warning::new(WarningCode::Cut, texts[3].clone()); counts[1]];
        let violation = Violation::new(Code::InvalidTask, texts[4].clone(), texts[1].clone());
        hostile.violations = vec![violation; counts[2]];
        hostile.changed_paths = vec![texts[2].clone(); counts[3]];
        for number in 0..counts[4] {
            let value = match number % 3 {
                0 => json!([texts[3], texts[4]]),
                1 => json!(texts[0]),
                _ => json!({ "deep": texts[1] }),
            };
            hostile.fields.insert(format!("{}{number}", texts[4]), value);
        }
        hostile
    })
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn no_report_is_larger_than_its_cap_and_each_can_be_read(hostile in hostile_report()) {
        let fits = hostile.to_json().len() <= Report::MAX_BYTES;
        let summary = hostile.summary.clone();
        let capped = hostile.clone().capped();
        let json = capped.to_json();
        prop_assert!(json.len() <= Report::MAX_BYTES, "{}", json.len());
        prop_assert!(serde_json::from_str::<Value>(&json).is_ok());
        prop_assert_eq!(fits, capped == hostile);
        let kept = capped.summary.strip_suffix(" … (cut)").unwrap_or(&capped.summary);
        prop_assert!(summary.starts_with(kept));
        prop_assert_eq!(capped.clone().capped(), capped);
    }
}
