//! The report inside of a child's final text, found whatever stands around it. It refuses to know
//! what the report says.

use serde_json::{Map, Value};

use crate::domain::role::ReportField;

/// Openings of an object that may come to nothing before the search ends: each of them can cost a
/// look at the whole text.
const MOST_FAILURES: usize = 32;

/// The report in a text: the whole text, or else the last object in it with a summary, or else the
/// last one with a field that was asked for. Whether it stands in a code fence does not matter. An
/// object without either is no report but something that the answer quotes.
pub(super) fn find_object(text: &str, asked: &[ReportField]) -> Option<Map<String, Value>> {
    let has_summary = |object: &Map<String, Value>| object.contains_key("summary");
    let is_report = |object: &Map<String, Value>| {
        has_summary(object) || asked.iter().any(|field| object.contains_key(&field.name))
    };
    let text = text.trim();
    if let Ok(whole) = serde_json::from_str(text) {
        return Some(whole).filter(is_report);
    }
    let mut found = objects(text);
    let last = found.iter().rposition(has_summary).or_else(|| found.iter().rposition(is_report))?;
    Some(found.swap_remove(last))
}

/// The objects of a text that stand in no other one, in order.
fn objects(text: &str) -> Vec<Map<String, Value>> {
    let (mut found, mut from, mut failures) = (Vec::new(), 0, 0);
    while failures < MOST_FAILURES
        && let Some(at) = next_opening(text, from)
    {
        let rest = text.get(at..).unwrap_or_default();
        let mut reader = serde_json::Deserializer::from_str(rest).into_iter::<Map<String, Value>>();
        if let Some(Ok(object)) = reader.next() {
            from = at + reader.byte_offset().max(1);
            found.push(object);
        } else {
            from = at + 1;
            failures += 1;
        }
    }
    found
}

/// The next brace that a key follows: the braces of program text seldom have one.
fn next_opening(text: &str, from: usize) -> Option<usize> {
    let rest = text.get(from..)?;
    let opens = |(at, _): &(usize, &str)| {
        let inside = rest.get(at + 1..).unwrap_or_default();
        inside.trim_start_matches([' ', '\t', '\r', '\n']).starts_with('"')
    };
    rest.match_indices('{').find(opens).map(|(at, _)| from + at)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::domain::role::Form;

    fn summary(text: &str) -> Option<String> {
        let object = find_object(text, &[])?;
        Some(object["summary"].as_str().unwrap().to_owned())
    }

    #[test]
    fn the_last_report_wins_wherever_it_stands() {
        let report = r#"{"summary":"right","evidence":[{"path":"a.rs"}]}"#;
        for text in [
            report.to_owned(),
            format!("```json\n{report}\n```"),
            format!(
                "```rust\nfn main() {{ println!(\"{{\\\"a\\\"}}\"); }}\n```\nso\n```json\n{report}\n```"
            ),
            format!("The file holds `{{\"name\": \"x\"}}`. My report:\n{report}\nDone {{really}}."),
            format!("First {{\"summary\":\"draft\"}}, but then\n{report}"),
            format!("{report}\nIt quotes {{\"name\":1}} and ```json\n{{\"b\":2}}\n```"),
            format!("an open {{\"one\": and then {report}"),
            format!("```{report}```"),
            format!("\u{feff}{report}"),
        ] {
            assert_eq!(summary(&text).as_deref(), Some("right"), "{text}");
        }
    }

    #[test]
    fn a_summary_counts_more_than_a_field_of_the_role() {
        let field = ReportField {
            name: "steps".into(),
            holds: "the steps".into(),
            form: Form::Texts,
            required: true,
        };
        let text = r#"{"summary":"s","steps":["a"]} like {"steps":["b"]}"#;
        assert_eq!(find_object(text, std::slice::from_ref(&field)).unwrap()["steps"][0], "a");
        let text = r#"{"steps":["a"]} or rather {"steps":["b"]}"#;
        assert_eq!(find_object(text, &[field]).unwrap()["steps"][0], "b");
    }

    #[test]
    fn what_is_no_report_is_none() {
        for text in [
            "",
            "{",
            "}{",
            "{}",
            "[1]",
            r#"{"name":"x"}"#,
            r#"[{"name":"x"}]"#,
            r#"{"summary":"cut off"#,
            r#"{"summary":"\ud800"}"#,
        ] {
            assert_eq!(find_object(text, &[]), None, "{text}");
        }
    }

    /// Openings that each fail late would cost the square of the length.
    #[test]
    fn a_text_of_openings_is_given_up() {
        for piece in ["{\"a\":", "{\"a\":[1,", "{", "{\"", "```\n{\"a\":1,"] {
            let text = piece.repeat(1024 * 1024 / piece.len());
            assert_eq!(find_object(&text, &[]), None, "{piece}");
        }
        let nested = format!("{}1{}", "{\"a\":".repeat(300), "}".repeat(300));
        assert_eq!(find_object(&nested, &[]), None);
    }
}
