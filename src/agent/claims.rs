//! What a child says about its work, read tolerantly. Nothing here is believed; it is only brought
//! into a form that [`super::conclude`] can check.

use serde_json::{Map, Value};

use super::fields::{self, Taken};
use crate::domain::report::{Warning, WarningCode};
use crate::domain::role::{Form, ReportField};

/// The size that a child's final text may have, in bytes.
pub const MAX_RAW_BYTES: usize = 1024 * 1024;

/// A cited place, as claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cited {
    /// As the child wrote it.
    pub path: String,
    /// From 1.
    pub line: Option<u64>,
    /// In the child's words.
    pub reason: String,
}

/// A child's final answer, taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Claims {
    /// The answer proper.
    pub summary: String,
    /// Cited places.
    pub evidence: Vec<Cited>,
    /// Its own doubts.
    pub doubts: Vec<String>,
    /// What it says it changed.
    pub changed_paths: Vec<String>,
    /// The task it says it worked on.
    pub task_id: Option<String>,
    /// Its role's own fields, in their form.
    pub fields: Map<String, Value>,
    /// The same as the child wrote them, for what they claim.
    pub as_written: Vec<Value>,
    /// What had to be dropped or coerced, and whether it was structured at all.
    pub warnings: Vec<Warning>,
}

impl Claims {
    /// Takes a final text apart. `asked` are the role's own report fields.
    pub fn parse(text: &str, asked: &[ReportField]) -> Self {
        if text.trim().is_empty() {
            return Self {
                summary: "(no summary)".to_owned(),
                warnings: vec![Warning::new(WarningCode::NoText, "the child said nothing")],
                ..Self::default()
            };
        }
        match find_object(text, asked) {
            Some(object) => Self::from_object(object, asked),
            None => Self {
                summary: text.trim().to_owned(),
                warnings: vec![Warning::new(
                    WarningCode::Unstructured,
                    "the answer was no JSON object; its whole text is the summary",
                )],
                ..Self::default()
            },
        }
    }

    /// The names of required fields that are missing or ill-typed.
    pub fn missing<'a>(&self, asked: &'a [ReportField]) -> Vec<&'a str> {
        asked
            .iter()
            .filter(|field| field.required && !self.fields.contains_key(&field.name))
            .map(|field| field.name.as_str())
            .collect()
    }

    fn from_object(object: Map<String, Value>, asked: &[ReportField]) -> Self {
        let mut claims = Self::default();
        for (key, value) in object {
            match key.as_str() {
                "summary" => claims.summary = claims.text(&key, value).unwrap_or_default(),
                "evidence" => claims.take_evidence(value),
                "warnings" => claims.doubts = claims.texts(&key, value),
                "changed_paths" => claims.changed_paths = claims.texts(&key, value),
                "task_id" => claims.task_id = claims.text(&key, value),
                _ => match asked.iter().find(|field| field.name == key) {
                    Some(field) => claims.take_field(field, value),
                    None => claims.drop_field(&key, "is not part of the report"),
                },
            }
        }
        if claims.summary.trim().is_empty() {
            "(no summary)".clone_into(&mut claims.summary);
            claims.warnings.push(Warning::new(WarningCode::NoText, "the report has no summary"));
        }
        claims
    }

    /// A role's own field, brought into its form. One of which nothing is left is missing.
    fn take_field(&mut self, field: &ReportField, value: Value) {
        self.as_written.push(value.clone());
        let Taken { items, remarks } = fields::take(field.form, value);
        for remark in remarks {
            self.drop_field(&field.name, &remark);
        }
        if let Some(items) = items {
            self.fields.insert(field.name.clone(), Value::Array(items));
        }
    }

    fn take_evidence(&mut self, value: Value) {
        let Value::Array(items) = value else {
            return self.drop_field("evidence", "is no list");
        };
        for item in items {
            match cited(&item) {
                Some(cited) => self.evidence.push(cited),
                None => self.drop_field("evidence", "has an item without a path"),
            }
        }
    }

    fn text(&mut self, key: &str, value: Value) -> Option<String> {
        match value {
            Value::String(text) => Some(text),
            Value::Null => None,
            other => {
                self.drop_field(key, "was no text and was written out as one");
                Some(other.to_string())
            }
        }
    }

    fn texts(&mut self, key: &str, value: Value) -> Vec<String> {
        match value {
            Value::Array(items) => items
                .into_iter()
                .filter_map(|item| match item {
                    Value::String(text) => Some(text),
                    Value::Null => None,
                    other => Some(other.to_string()),
                })
                .collect(),
            Value::String(text) if !text.trim().is_empty() => vec![text],
            Value::String(_) | Value::Null => Vec::new(),
            _ => {
                self.drop_field(key, "is no list of texts");
                Vec::new()
            }
        }
    }

    /// Findings are cited places too.
    pub fn findings<'a>(
        &'a self,
        asked: &'a [ReportField],
    ) -> impl Iterator<Item = (&'a str, Vec<Cited>)> {
        asked.iter().filter(|field| field.form == Form::Findings).filter_map(|field| {
            let items = self.fields.get(&field.name)?.as_array()?;
            Some((field.name.as_str(), items.iter().filter_map(cited).collect()))
        })
    }

    fn drop_field(&mut self, key: &str, why: &str) {
        let key: String = key.chars().take(40).collect();
        let text = format!("the field `{key}` {why}");
        self.warnings.push(Warning::new(WarningCode::FieldDropped, text));
    }
}

fn cited(item: &Value) -> Option<Cited> {
    if let Value::String(path) = item {
        let (path, line) = split_line(path);
        return Some(Cited { path, line, reason: String::new() });
    }
    let path = item.get("path")?.as_str()?;
    let (path, line_in_path) = split_line(path);
    let line = match item.get("line") {
        Some(Value::Number(number)) => number.as_u64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    let reason = item.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
    Some(Cited { path, line: line.or(line_in_path), reason })
}

/// `src/a.rs:12` names a line too.
pub(super) fn split_line(path: &str) -> (String, Option<u64>) {
    if let Some((file, line)) = path.rsplit_once(':')
        && let Ok(line) = line.parse()
    {
        return (file.to_owned(), Some(line));
    }
    (path.to_owned(), None)
}

/// The report in a text: the whole text, the inside of a code fence, or what stands between the
/// first opening and the last closing brace. An object without a summary and without a field that
/// was asked for is no report but something that the answer quotes.
fn find_object(text: &str, asked: &[ReportField]) -> Option<Map<String, Value>> {
    let is_report = |object: &Map<String, Value>| {
        object.contains_key("summary") || asked.iter().any(|field| object.contains_key(&field.name))
    };
    let trimmed = text.trim();
    let braces = trimmed.find('{').zip(trimmed.rfind('}'));
    let between = braces.and_then(|(from, to)| trimmed.get(from..=to));
    [Some(trimmed), fenced(trimmed), between]
        .into_iter()
        .flatten()
        .filter_map(|candidate| serde_json::from_str(candidate).ok())
        .find(is_report)
}

fn fenced(text: &str) -> Option<&str> {
    let start = text.find("```")?;
    let body = text.get(start + 3..)?;
    let body = body.get(body.find('\n')? + 1..)?;
    body.get(..body.find("```")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(claims: &Claims) -> Vec<WarningCode> {
        claims.warnings.iter().map(|warning| warning.code).collect()
    }

    #[test]
    fn a_whole_object_a_fenced_one_and_one_among_words_read_the_same() {
        let object = r#"{"summary":"pytest","evidence":[{"path":"a.toml","line":3,"reason":"r"}]}"#;
        let forms = [
            object.to_owned(),
            format!("```json\n{object}\n```"),
            format!("Here it is:\n{object}\nDone."),
        ];
        for form in forms {
            let claims = Claims::parse(&form, &[]);
            assert_eq!(claims.summary, "pytest", "{form}");
            assert_eq!(claims.evidence[0].line, Some(3), "{form}");
            assert!(claims.warnings.is_empty(), "{form}");
        }
    }

    #[test]
    fn plain_words_become_the_summary_with_a_warning() {
        let claims = Claims::parse("It uses pytest.", &[]);
        assert_eq!(claims.summary, "It uses pytest.");
        assert_eq!(codes(&claims), [WarningCode::Unstructured]);
    }

    #[test]
    fn json_that_an_answer_quotes_is_no_report() {
        for text in
            ["It says:\n```json\n{\"name\": \"x\"}\n```\nSo it is x.", r#"{"answer":"pytest"}"#]
        {
            let claims = Claims::parse(text, &[]);
            assert_eq!(claims.summary, text);
            assert_eq!(codes(&claims), [WarningCode::Unstructured]);
        }
    }

    #[test]
    fn no_text_at_all_is_said() {
        for text in ["", "  \n", r#"{"summary":" "}"#] {
            let claims = Claims::parse(text, &[]);
            assert_eq!(claims.summary, "(no summary)", "{text}");
            assert!(codes(&claims).contains(&WarningCode::NoText), "{text}");
        }
    }

    #[test]
    fn wrong_types_are_coerced_or_dropped_with_a_warning() {
        let text = r#"{"summary":["a"],"evidence":"x","warnings":{"a":1},"extra":1,"task_id":7}"#;
        let claims = Claims::parse(text, &[]);
        assert_eq!(claims.summary, r#"["a"]"#);
        assert_eq!(claims.task_id.as_deref(), Some("7"));
        assert!(claims.evidence.is_empty() && claims.doubts.is_empty());
        assert_eq!(codes(&claims), [WarningCode::FieldDropped; 5]);
    }

    #[test]
    fn a_required_field_is_missed_until_it_is_there() {
        let field = ReportField {
            name: "steps".into(),
            holds: "the steps".into(),
            form: Form::Texts,
            required: true,
        };
        let fields = [field];
        assert_eq!(Claims::parse(r#"{"summary":"s"}"#, &fields).missing(&fields), ["steps"]);
        let text = r#"{"summary":"s","steps":["one"]}"#;
        assert!(Claims::parse(text, &fields).missing(&fields).is_empty());
        let text = r#"{"summary":"s","steps":[null, ""]}"#;
        assert_eq!(Claims::parse(text, &fields).missing(&fields), ["steps"], "nothing was left");
    }

    #[test]
    fn evidence_may_be_a_path_with_a_line() {
        let claims = Claims::parse(r#"{"summary":"s","evidence":["a/b.rs:12","c"]}"#, &[]);
        assert_eq!(claims.evidence[0].line, Some(12));
        assert_eq!(claims.evidence[0].path, "a/b.rs");
        assert_eq!(claims.evidence[1].line, None);
    }
}
