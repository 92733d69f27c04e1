//! What a child says about its work, read tolerantly. Nothing here is believed; it is only brought
//! into a form that [`super::conclude`] can check.

use serde_json::{Map, Value};

use super::answer::find_object;
use super::cited::{self, Cited};
use super::fields::{self, Taken};
use crate::domain::report::{Warning, WarningCode};
use crate::domain::role::{Form, ReportField};

/// The size that a child's final text may have, in bytes.
pub const MAX_RAW_BYTES: usize = 1024 * 1024;

/// Different remarks on the form of one answer that are kept; more are counted.
const MOST_REMARKS: usize = 32;
/// Places, paths and doubts that are read of one list.
const MOST_ITEMS: usize = 1_000;

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
    /// Remarks beyond those that are kept.
    pub more_remarks: usize,
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
        claims.count_remarks();
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

    /// A single place is taken as a list of one; a text alone is words, not a list.
    fn take_evidence(&mut self, value: Value) {
        let mut items = match value {
            Value::Array(items) => items,
            single @ Value::Object(_) => {
                self.drop_field("evidence", "was no list and was taken as a list of one");
                vec![single]
            }
            Value::Null => return,
            Value::String(_) | Value::Bool(_) | Value::Number(_) => {
                return self.drop_field("evidence", "is no list");
            }
        };
        self.shorten("evidence", &mut items);
        for item in items {
            let read = cited::read(item, &mut |words: &str| self.drop_field("evidence", words));
            self.evidence.extend(read);
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
        let mut items = match value {
            Value::Array(items) => items,
            Value::Null => return Vec::new(),
            single @ Value::String(_) => {
                self.drop_field(key, "was no list and was taken as a list of one");
                vec![single]
            }
            Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
                self.drop_field(key, "is no list of texts");
                return Vec::new();
            }
        };
        self.shorten(key, &mut items);
        items.into_iter().filter_map(|item| self.text_of_list(key, item)).collect()
    }

    fn text_of_list(&mut self, key: &str, item: Value) -> Option<String> {
        match item {
            Value::String(text) if !text.trim().is_empty() => Some(text),
            Value::String(_) | Value::Null => {
                self.drop_field(key, "has an empty item, which is left out");
                None
            }
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                self.drop_field(key, "has an item that is no text and was written out as one");
                Some(other.to_string())
            }
        }
    }

    fn shorten(&mut self, key: &str, items: &mut Vec<Value>) {
        if items.len() > MOST_ITEMS {
            let words = format!("has {} items; the first {MOST_ITEMS} were read", items.len());
            self.drop_field(key, &words);
            items.truncate(MOST_ITEMS);
        }
    }

    /// Findings are cited places too.
    pub fn findings<'a>(
        &'a self,
        asked: &'a [ReportField],
    ) -> impl Iterator<Item = (&'a str, Vec<Cited>)> {
        asked.iter().filter(|field| field.form == Form::Findings).filter_map(|field| {
            let items = self.fields.get(&field.name)?.as_array()?;
            Some((field.name.as_str(), items.iter().map(found).collect()))
        })
    }

    /// Says what became of a field: the same words once, and not endlessly many.
    fn drop_field(&mut self, key: &str, why: &str) {
        let key: String = key.chars().take(40).collect();
        let warning = Warning::new(WarningCode::FieldDropped, format!("the field `{key}` {why}"));
        if self.warnings.len() >= MOST_REMARKS {
            self.more_remarks += 1;
        } else if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn count_remarks(&mut self) {
        if self.more_remarks > 0 {
            let text = format!("{} more remarks on its form", self.more_remarks);
            self.warnings.push(Warning::new(WarningCode::FieldDropped, text));
        }
    }
}

/// A finding in its form: [`fields::take`] has said what was not, and left null for a line that is
/// none.
fn found(item: &Value) -> Cited {
    let line = item.get("line");
    Cited {
        path: item.get("path").and_then(Value::as_str).unwrap_or_default().to_owned(),
        line: line.and_then(Value::as_u64),
        unreadable_line: line.is_some_and(Value::is_null),
        reason: String::new(),
    }
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
        let text = r#"{"summary":"s","evidence":{"path":"a","line":"3"},"warnings":"one",
            "changed_paths":["a",7,null]}"#;
        let claims = Claims::parse(text, &[]);
        assert_eq!(claims.evidence[0].line, Some(3));
        assert_eq!(claims.doubts, ["one"]);
        assert_eq!(claims.changed_paths, ["a", "7"]);
        assert_eq!(codes(&claims), [WarningCode::FieldDropped; 5], "{:?}", claims.warnings);
    }

    #[test]
    fn what_is_left_out_by_right_is_no_fault() {
        let text = r#"{"summary":"s","evidence":null,"warnings":[],"changed_paths":null}"#;
        assert!(Claims::parse(text, &[]).warnings.is_empty());
    }

    #[test]
    fn a_flood_of_faults_is_counted() {
        let keys: Vec<String> = (0..50_000).map(|n| format!("\"k{n}\":{{\"x{n}\":1}}")).collect();
        let claims = Claims::parse(&format!("{{\"summary\":\"s\",{}}}", keys.join(",")), &[]);
        assert_eq!(claims.warnings.len(), MOST_REMARKS + 1);
        let items: Vec<String> = (0..50_000).map(|n| format!("{{\"x{n}\":1}}")).collect();
        let text = format!("{{\"summary\":\"s\",\"evidence\":[{}]}}", items.join(","));
        let claims = Claims::parse(&text, &[]);
        assert!(claims.evidence.is_empty() && claims.warnings.len() <= MOST_REMARKS + 1);
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
