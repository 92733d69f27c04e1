//! The fields of a report that a role has for itself, brought into their form: what is nearly right
//! is put right and said, what is not is dropped and said. It refuses to know whether any of it is
//! true.

use serde_json::{Map, Value, json};

use super::cited::{Line, split_line};
use crate::domain::role::Form;

/// Items that a field may have.
const MOST_ITEMS: usize = 200;
/// Different remarks that are made about one field.
const MOST_REMARKS: usize = 20;
/// The words for how grave a finding is, the gravest first.
const SEVERITIES: [&str; 3] = ["high", "medium", "low"];
/// What the text of a finding is called; the first is ours.
const TEXTS: [&str; 5] = ["text", "reason", "message", "description", "finding"];

/// What a field came to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Taken {
    /// Its items in their form; none if nothing of it was usable, which is as if it were missing.
    pub items: Option<Vec<Value>>,
    /// What was coerced or dropped, as the end of a sentence about the field.
    pub remarks: Vec<String>,
}

/// Reads a field. A single value is taken as a list of one.
pub(super) fn take(form: Form, value: Value) -> Taken {
    let mut taken = Taken::default();
    let written = match value {
        Value::Null => {
            taken.remark("is null");
            return taken;
        }
        Value::Array(items) => items,
        single => {
            taken.remark("was no list and was taken as a list of one");
            vec![single]
        }
    };
    let was_empty = written.is_empty();
    if written.len() > MOST_ITEMS {
        taken.remark(&format!("has more than {MOST_ITEMS} items; the rest is left out"));
    }
    let items: Vec<Value> =
        written.into_iter().take(MOST_ITEMS).filter_map(|item| taken.item(form, item)).collect();
    taken.items = (was_empty || !items.is_empty()).then_some(items);
    taken
}

impl Taken {
    /// The same remark about many items is made once, and not endlessly many are.
    fn remark(&mut self, words: &str) {
        if self.remarks.len() < MOST_REMARKS && !self.remarks.iter().any(|other| other == words) {
            self.remarks.push(words.to_owned());
        }
    }

    fn item(&mut self, form: Form, item: Value) -> Option<Value> {
        match form {
            Form::Runs if item.is_object() => self.command(&item),
            Form::Texts | Form::Runs => self.text(item),
            Form::Commands => self.command(&item),
            Form::Findings => self.finding(item),
        }
    }

    fn text(&mut self, item: Value) -> Option<Value> {
        match item {
            Value::String(text) if !text.trim().is_empty() => Some(Value::String(text)),
            Value::String(_) | Value::Null => {
                self.remark("has an empty item, which is left out");
                None
            }
            other => {
                self.remark("has an item that is no text and was written out as one");
                Some(Value::String(other.to_string()))
            }
        }
    }

    /// `{command, exit_code}`. Without its exit code a command says nothing.
    fn command(&mut self, item: &Value) -> Option<Value> {
        let command = item.get("command").and_then(Value::as_str).map(str::trim);
        let code = item.get("exit_code").and_then(|code| self.exit_code(code));
        let (Some(command), Some(code)) = (command.filter(|command| !command.is_empty()), code)
        else {
            self.remark("has an item without a `command` and its `exit_code`, which is left out");
            return None;
        };
        self.name_unknown(item, &["command", "exit_code"]);
        Some(json!({ "command": command, "exit_code": code }))
    }

    fn exit_code(&mut self, code: &Value) -> Option<i64> {
        match code {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => {
                let number = text.trim().parse().ok()?;
                self.remark("has an `exit_code` that is a text and was read as a number");
                Some(number)
            }
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// `{path, line?, severity, text}`, or a text that begins with `path:line`.
    fn finding(&mut self, item: Value) -> Option<Value> {
        let fields = match item {
            Value::Object(fields) => fields,
            Value::String(text) => {
                self.remark("has an item that is a text and was taken apart");
                from_words(&text)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Map::new(),
        };
        let path = fields.get("path").and_then(Value::as_str).map(str::trim);
        let Some(path) = path.filter(|path| !path.is_empty()) else {
            self.remark("has an item without a `path`, which is left out");
            return None;
        };
        let (path, line_in_path) = split_line(path);
        let line = self.line(fields.get("line"), line_in_path);
        let severity = self.severity(fields.get("severity"));
        let words = self.words(&fields);
        let known: Vec<&str> = ["path", "line", "severity"].into_iter().chain(TEXTS).collect();
        let mut finding = json!({ "path": path, "severity": severity, "text": words });
        if let Some(line) = line {
            finding["line"] = line;
        }
        self.name_unknown(&Value::Object(fields), &known);
        Some(finding)
    }

    /// The line of a finding; null for one that is no line, so that it does not read as a finding
    /// about the whole file.
    fn line(&mut self, own: Option<&Value>, in_path: Option<u64>) -> Option<Value> {
        match Line::read(own) {
            Line::Absent => in_path.map(|line| json!(line)),
            Line::Number(line) => Some(json!(line)),
            Line::Written(line) => {
                self.remark("has a `line` that is a text and was read as a number");
                Some(json!(line))
            }
            Line::Unreadable => {
                self.remark("has a `line` that is no line number");
                Some(Value::Null)
            }
        }
    }

    /// What is wrong, under whichever name.
    fn words(&mut self, fields: &Map<String, Value>) -> String {
        match TEXTS.into_iter().find_map(|name| fields.get(name)) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => {
                self.remark("has a `text` that is no text and was written out as one");
                other.to_string()
            }
        }
    }

    fn severity(&mut self, severity: Option<&Value>) -> &'static str {
        let word = severity.and_then(Value::as_str).map(|word| word.trim().to_lowercase());
        let known = SEVERITIES.into_iter().find(|known| word.as_deref() == Some(known));
        known.unwrap_or_else(|| {
            self.remark("has a `severity` other than high, medium or low, which reads as medium");
            "medium"
        })
    }

    /// Fields of an item that are not part of it are dropped.
    fn name_unknown(&mut self, item: &Value, known: &[&str]) {
        let Value::Object(fields) = item else { return };
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let name: String = name.chars().take(40).collect();
            self.remark(&format!("has items with `{name}`, which is not part of them"));
        }
    }
}

/// `src/a.rs:12 (high): what is wrong`.
fn from_words(text: &str) -> Map<String, Value> {
    let text = text.trim();
    let (place, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let severity = SEVERITIES.into_iter().find(|severity| {
        let mut words = rest.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        words.next().is_some_and(|word| word.eq_ignore_ascii_case(severity))
    });
    let place = place.trim_end_matches([':', ',']);
    let looks_like_one = place.contains(['.', '/', ':']);
    let mut fields = Map::new();
    fields.insert("path".to_owned(), json!(if looks_like_one { place } else { "" }));
    fields.insert("text".to_owned(), json!(rest));
    if let Some(severity) = severity {
        fields.insert("severity".to_owned(), json!(severity));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a field came to, and how many remarks were made.
    fn taken(form: Form, value: Value) -> (Option<Value>, usize) {
        let taken = take(form, value);
        (taken.items.map(Value::Array), taken.remarks.len())
    }

    #[test]
    fn what_is_right_stays_as_it_is() {
        for (form, value) in [
            (Form::Texts, json!(["one", "two"])),
            (Form::Texts, json!([])),
            (Form::Commands, json!([{ "command": "cargo test", "exit_code": 101 }])),
            (
                Form::Findings,
                json!([{ "path": "a.rs", "line": 3, "severity": "low", "text": "x" }]),
            ),
            (Form::Findings, json!([])),
            (Form::Runs, json!(["not run", { "command": "make", "exit_code": 0 }])),
        ] {
            assert_eq!(taken(form, value.clone()), (Some(value.clone()), 0), "{value}");
        }
    }

    #[test]
    fn what_is_nearly_right_is_put_right_and_said() {
        let finding =
            json!([{ "path": "a/b.rs", "line": 3, "severity": "high", "text": "high: x" }]);
        for (form, value, right) in [
            (Form::Texts, json!("one"), json!(["one"])),
            (Form::Texts, json!(["one", 2, null]), json!(["one", "2"])),
            (
                Form::Commands,
                json!([{ "command": "make", "exit_code": "2" }, "make test"]),
                json!([{ "command": "make", "exit_code": 2 }]),
            ),
            (Form::Findings, json!(["a/b.rs:3 high: x"]), finding),
            (
                Form::Findings,
                json!([{ "path": "a.rs:7", "severity": "CRITICAL", "message": "m", "cwe": 1 }]),
                json!([{ "path": "a.rs", "line": 7, "severity": "medium", "text": "m" }]),
            ),
            (
                Form::Findings,
                json!([{ "path": "a.rs", "line": "7", "severity": "low", "text": 7 }]),
                json!([{ "path": "a.rs", "line": 7, "severity": "low", "text": "7" }]),
            ),
            (
                Form::Findings,
                json!([{ "path": "a.rs:7", "line": -5, "severity": "low", "text": "x" }]),
                json!([{ "path": "a.rs", "line": null, "severity": "low", "text": "x" }]),
            ),
        ] {
            let (items, remarks) = taken(form, value.clone());
            assert_eq!(items, Some(right), "{value}");
            assert!(remarks > 0, "{value}");
        }
    }

    #[test]
    fn what_has_nothing_usable_is_as_if_it_were_missing() {
        for (form, value) in [
            (Form::Texts, json!(null)),
            (Form::Texts, json!([""])),
            (Form::Commands, json!("all tests pass")),
            (Form::Commands, json!([{ "command": "make" }, { "exit_code": 0 }, 7])),
            (Form::Commands, json!([{ "command": "make", "exit_code": true }])),
            (Form::Findings, json!([{ "severity": "high" }, 3, "nothing is wrong"])),
        ] {
            let (items, remarks) = taken(form, value.clone());
            assert_eq!(items, None, "{value}");
            assert!(remarks > 0, "{value}");
        }
    }

    #[test]
    fn a_flood_is_cut_and_a_remark_is_made_once() {
        let taken = take(Form::Texts, Value::Array(vec![json!(1); 5_000]));
        assert_eq!(taken.items.map(|items| items.len()), Some(MOST_ITEMS));
        assert_eq!(taken.remarks.len(), 2);
    }
}
