//! Recognises a tool call that a small model wrote into its text, as JSON or between `<tool_call>`
//! tags. It lets plain text through as it comes and holds back only what may be a call; only the
//! names that were offered count. It knows no wire and runs nothing.

use serde_json::{Map, Value};

use crate::domain::ids::CallId;
use crate::domain::message::ToolCall;

use super::think::unfinished;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
const FENCE: &str = "```";
/// Bytes that are held back in hope of a call: more is shown as the text that it is.
const MAX_HELD: usize = 1024 * 1024;
/// Bytes in which a call has to show that it may be one.
const MAX_PROBE: usize = 128;
/// First keys of an object that may be a call.
const FIRST_KEYS: &[&str] = &[
    "name",
    "function",
    "tool",
    "tool_name",
    "tool_calls",
    "type",
    "id",
    "arguments",
    "parameters",
];
const NAME_KEYS: &[&str] = &["name", "tool", "tool_name"];
const ARGUMENT_KEYS: &[&str] = &["arguments", "parameters", "args", "input"];
const OTHER_KEYS: &[&str] = &["id", "call_id", "type", "function", "tool_calls", "index"];

/// A text that may hold calls.
#[derive(Debug)]
pub struct TextCalls {
    offered: Vec<String>,
    /// What is not shown yet.
    held: String,
    /// True once what is held looks like a call.
    holds_call: bool,
    /// True once too much was held: from there all is text.
    gave_up: bool,
    /// True if only blanks came since the last line break.
    at_line_start: bool,
}

/// A text that is over.
#[derive(Debug, Default, PartialEq)]
pub struct Spoken {
    /// What is left to be shown.
    pub text: String,
    /// The calls, with blank ids.
    pub calls: Vec<ToolCall>,
}

/// Whether a text may become a call.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Call,
    Maybe,
    Text,
}

impl TextCalls {
    /// For the tools of these names.
    pub fn new(offered: Vec<String>) -> Self {
        let gave_up = offered.is_empty();
        Self { offered, held: String::new(), holds_call: false, gave_up, at_line_start: true }
    }

    /// Takes a piece and gives what can be shown.
    pub fn push(&mut self, piece: &str) -> String {
        if self.gave_up {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        if self.held.len() > MAX_HELD {
            self.gave_up = true;
            return std::mem::take(&mut self.held);
        }
        if self.holds_call { String::new() } else { self.show_plain_text() }
    }

    /// What is left when the text is over; calls only if `counts`, which is for an answer that is
    /// whole and made no native call.
    pub fn finish(self, counts: bool) -> Spoken {
        let found = counts.then(|| self.calls_in(&self.held)).flatten();
        found.unwrap_or(Spoken { text: self.held, calls: Vec::new() })
    }

    /// Takes the text before the first thing that may be a call out of what is held.
    fn show_plain_text(&mut self) -> String {
        let mut start = self.held.len() - unfinished(&self.held, OPEN);
        let mut at_line_start = self.at_line_start;
        for (place, letter) in self.held.char_indices() {
            let rest = &self.held[place..];
            if may_begin(letter, at_line_start, rest) {
                match verdict(rest) {
                    Verdict::Text => {}
                    Verdict::Call => {
                        self.holds_call = true;
                        start = place;
                        break;
                    }
                    Verdict::Maybe => {
                        start = place;
                        break;
                    }
                }
            }
            at_line_start = letter == '\n' || at_line_start && letter.is_whitespace();
        }
        let rest = self.held.split_off(start);
        let shown = std::mem::replace(&mut self.held, rest);
        if let Some(last) = shown.rsplit('\n').next() {
            let blank = last.trim().is_empty();
            self.at_line_start = blank && (self.at_line_start || shown.contains('\n'));
        }
        shown
    }

    /// The calls of a text that began as one, and the text between and behind tags. `None` if it
    /// is no call after all.
    fn calls_in(&self, text: &str) -> Option<Spoken> {
        let mut spoken = Spoken::default();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            if let Some(inner) = rest.strip_prefix(OPEN) {
                let (inner, after) = inner.split_once(CLOSE).unwrap_or((inner, ""));
                spoken.calls.extend(self.tagged(inner)?);
                rest = after.trim_start();
            } else if let Some(fenced) = rest.strip_prefix(FENCE) {
                let (_, body) = fenced.split_once('\n')?;
                let (inner, after) = body.split_once(FENCE).unwrap_or((body, ""));
                spoken.calls.extend(self.calls_in(inner)?.calls);
                rest = after.trim_start();
            } else if rest.starts_with(['{', '[']) {
                let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
                spoken.calls.extend(self.calls_of(&values.next()?.ok()?)?);
                rest = rest[values.byte_offset()..].trim_start_matches([';', ',']).trim_start();
                // The opening tag is sometimes swallowed as a token of its own.
                rest = rest.strip_prefix(CLOSE).unwrap_or(rest).trim_start();
            } else if text.trim_start().starts_with(OPEN) {
                let end = rest.find(OPEN).unwrap_or(rest.len());
                spoken.text.push_str(&rest[..end]);
                rest = &rest[end..];
            } else {
                // Words behind bare JSON: it was an example, not a call.
                return None;
            }
        }
        (!spoken.calls.is_empty()).then_some(spoken)
    }

    /// What stands between the tags: JSON, or `<function=NAME><parameter=KEY>VALUE`.
    fn tagged(&self, inner: &str) -> Option<Vec<ToolCall>> {
        let inner = inner.trim();
        if inner.starts_with(OPEN) {
            // Tags in tags are no call, and could be nested without end.
            return None;
        }
        if !inner.starts_with("<function=") {
            return Some(self.calls_in(inner)?.calls);
        }
        let (name, body) = inner.strip_prefix("<function=")?.split_once('>')?;
        let mut arguments = Map::new();
        for parameter in body.split("<parameter=").skip(1) {
            let (key, value) = parameter.split_once('>')?;
            let value = value.split_once("</parameter>").map_or(value, |(value, _)| value);
            let value = value.strip_prefix('\n').unwrap_or(value);
            let value = value.strip_suffix('\n').unwrap_or(value);
            arguments.insert(key.trim().to_owned(), plain_value(value));
        }
        Some(vec![self.call(name.trim(), Value::Object(arguments))?])
    }

    /// The calls that a JSON value is; `None` if any part of it is none.
    fn calls_of(&self, value: &Value) -> Option<Vec<ToolCall>> {
        match value {
            Value::Array(items) => {
                let calls: Option<Vec<_>> = items.iter().map(|item| self.calls_of(item)).collect();
                calls.map(|calls| calls.concat()).filter(|calls| !calls.is_empty())
            }
            Value::Object(fields) => self.calls_of_object(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
        }
    }

    fn calls_of_object(&self, fields: &Map<String, Value>) -> Option<Vec<ToolCall>> {
        let all = || NAME_KEYS.iter().chain(ARGUMENT_KEYS).chain(OTHER_KEYS);
        if fields.keys().any(|key| !all().any(|known| known == key)) {
            return None;
        }
        if let Some(list @ Value::Array(_)) = fields.get("tool_calls") {
            return self.calls_of(list);
        }
        if let Some(Value::Object(function)) = fields.get("function") {
            return self.calls_of_object(function);
        }
        let named =
            NAME_KEYS.iter().chain(&["function"]).find_map(|key| fields.get(*key)?.as_str());
        let arguments = ARGUMENT_KEYS.iter().find_map(|key| fields.get(*key))?;
        Some(vec![self.call(named?, arguments.clone())?])
    }

    fn call(&self, name: &str, arguments: Value) -> Option<ToolCall> {
        let offered = self.offered.iter().find(|offered| *offered == name)?;
        let call = CallId(String::new());
        match arguments {
            Value::String(text) => Some(ToolCall::parse(call, offered, &text)),
            Value::Null => Some(ToolCall::parse(call, offered, "")),
            Value::Object(_) => Some(ToolCall::new(call, offered, arguments)),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
        }
    }
}

/// A value between tags: what is JSON of another kind than text is taken as that.
fn plain_value(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::String(_)) | Err(_) => Value::String(text.to_owned()),
        Ok(value) => value,
    }
}

fn may_begin(letter: char, at_line_start: bool, rest: &str) -> bool {
    match letter {
        '{' | '[' => at_line_start,
        '`' => at_line_start && (rest.starts_with(FENCE) || FENCE.starts_with(rest)),
        '<' => rest.starts_with(OPEN),
        _ => false,
    }
}

/// Whether a text that begins like a call may be one, by as little of it as is there.
fn verdict(text: &str) -> Verdict {
    if text.starts_with(OPEN) {
        return Verdict::Call;
    }
    match probe(&text[..text.floor_char_boundary(MAX_PROBE)]) {
        Some(verdict) => verdict,
        None if text.len() < MAX_PROBE => Verdict::Maybe,
        None => Verdict::Text,
    }
}

/// `None` if there is not enough to tell.
fn probe(text: &str) -> Option<Verdict> {
    let mut rest = text;
    if rest.starts_with('`') {
        let Some(fenced) = rest.strip_prefix(FENCE) else {
            return (!FENCE.starts_with(rest)).then_some(Verdict::Text);
        };
        let Some((language, body)) = fenced.split_once('\n') else {
            let may = fenced.trim().chars().all(|c| c.is_ascii_alphabetic() || c == '_');
            return (!may).then_some(Verdict::Text);
        };
        let language = language.trim().to_ascii_lowercase();
        if !["", "json", "tool_call", "tool_calls", "tool", "xml"].contains(&language.as_str()) {
            return Some(Verdict::Text);
        }
        rest = body.trim_start();
        if rest.starts_with(OPEN) {
            return Some(Verdict::Call);
        }
        if OPEN.starts_with(rest) {
            return None;
        }
    }
    let rest = rest.trim_start_matches('[').trim_start();
    if rest.is_empty() {
        return None;
    }
    let Some(rest) = rest.strip_prefix('{') else { return Some(Verdict::Text) };
    let rest = rest.trim_start();
    if rest.is_empty() {
        return None;
    }
    let Some(rest) = rest.strip_prefix('"') else { return Some(Verdict::Text) };
    let (key, _) = rest.split_once('"')?;
    Some(if FIRST_KEYS.contains(&key) { Verdict::Call } else { Verdict::Text })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What was shown before the end, what at the end, and the calls as `(name, arguments)`.
    fn read(text: &str, size: usize, counts: bool) -> (String, String, Vec<(String, Value)>) {
        let mut calls = TextCalls::new(vec!["list_files".to_owned(), "task".to_owned()]);
        let letters: Vec<char> = text.chars().collect();
        let shown = letters.chunks(size).map(|piece| calls.push(&piece.iter().collect::<String>()));
        let shown: String = shown.collect();
        let spoken = calls.finish(counts);
        let calls = spoken.calls.into_iter().map(|call| (call.name, call.arguments));
        (shown, spoken.text, calls.collect())
    }

    fn sizes(text: &str) -> impl Iterator<Item = usize> {
        1..=text.chars().count().max(1)
    }

    #[test]
    fn a_call_in_any_of_the_usual_forms_is_recognised_however_it_is_cut() {
        let one = vec![("list_files".to_owned(), json!({"path": "子"}))];
        for text in [
            r#"{"name": "list_files", "arguments": {"path": "子"}}"#,
            r#" [ {"name":"list_files","parameters":{"path":"子"}} ] "#,
            r#"{"type":"function","function":{"name":"list_files","arguments":"{\"path\":\"子\"}"}}"#,
            r#"{"function": "list_files", "arguments": {"path": "子"}}"#,
            r#"{"tool_calls":[{"id":"1","function":{"name":"list_files","arguments":{"path":"子"}}}]}"#,
            "```json\n{\n  \"name\": \"list_files\",\n  \"arguments\": {\"path\": \"子\"}\n}\n```",
            "```\n{\"tool\": \"list_files\", \"args\": {\"path\": \"子\"}}\n```\n",
            "<tool_call>\n{\"name\": \"list_files\", \"arguments\": {\"path\": \"子\"}}\n</tool_call>",
            "<tool_call>{\"name\": \"list_files\", \"arguments\": {\"path\": \"子\"}}",
            "<tool_call>\n<function=list_files>\n<parameter=path>\n子\n</parameter>\n</function>\n</tool_call>",
            "{\"name\": \"list_files\", \"arguments\": {\"path\": \"子\"}}\n</tool_call>",
        ] {
            for size in sizes(text) {
                let (shown, left, calls) = read(text, size, true);
                assert_eq!(calls, one, "{text} in pieces of {size}");
                assert_eq!((shown.trim(), left.as_str()), ("", ""), "{text} in pieces of {size}");
            }
        }
    }

    #[test]
    fn words_before_a_call_are_shown_and_several_calls_keep_their_order() {
        let text = "I look:\n<tool_call>{\"name\":\"list_files\",\"arguments\":{}}</tool_call> and\n\
                    <tool_call>{\"name\":\"task\",\"arguments\":{\"task\":\"x\"}}</tool_call> done";
        for size in sizes(text) {
            let (shown, left, calls) = read(text, size, true);
            assert_eq!((shown.as_str(), left.as_str()), ("I look:\n", "and\ndone"));
            let expected =
                [("list_files".to_owned(), json!({})), ("task".to_owned(), json!({"task": "x"}))];
            assert_eq!(calls, expected);
        }
        let (shown, _, calls) = read("Sure.\n{\"name\":\"task\",\"arguments\":{}}", 3, true);
        assert_eq!((shown.as_str(), calls.len()), ("Sure.\n", 1));
    }

    #[test]
    fn what_is_no_call_is_text_to_the_last_letter() {
        for text in [
            r#"{"name": "rm", "arguments": {"path": "/"}}"#,
            r#"{"name": "list_files"}"#,
            r#"{"name": "list_files", "version": "1", "arguments": {}}"#,
            r#"{"summary": "found", "evidence": []}"#,
            r#"Use {"name": "list_files", "arguments": {}} for that"#,
            "For example:\n{\"name\": \"list_files\", \"arguments\": {}}\nlists the root.",
            "```rust\nlet a = [1];\n[2]\n```\n```json\n{\"a\": 1}\n```",
            "<tool_call>{\"name\": \"rm\", \"arguments\": {}}</tool_call>",
            "<tool_call>{\"name\": \"list_fi",
            "<tool_call><tool_call>{\"name\": \"task\", \"arguments\": {}}",
            "a < b and <tool",
            "{",
            "[",
            "``",
            "```",
            "```js",
            "[[[",
            "{\"na",
            "{}",
            "[]",
            "",
        ] {
            for size in sizes(text) {
                let (shown, left, calls) = read(text, size, true);
                assert_eq!(calls, [], "{text}");
                assert_eq!(shown + &left, text, "in pieces of {size}");
            }
        }
    }

    #[test]
    fn plain_text_and_other_json_are_shown_as_they_come() {
        for text in ["plain words\n- a [list]\n", "{\"summary\": \"found", "```rust\nfn main"] {
            assert_eq!(read(text, 1, true), (text.to_owned(), String::new(), Vec::new()));
        }
    }

    #[test]
    fn a_cut_answer_or_one_with_native_calls_has_no_spoken_ones() {
        let text = r#"{"name": "list_files", "arguments": {}}"#;
        assert_eq!(read(text, 4, false), (String::new(), text.to_owned(), Vec::new()));
    }

    #[test]
    fn what_is_held_is_bounded_and_without_tools_nothing_is_held() {
        let mut calls = TextCalls::new(vec!["task".to_owned()]);
        assert_eq!(calls.push("{\"name\": \""), "");
        let shown = calls.push(&"x".repeat(MAX_HELD));
        assert_eq!(shown.len(), MAX_HELD + 10);
        assert_eq!(calls.push("{\"name\""), "{\"name\"");
        let mut nested = TextCalls::new(vec!["task".to_owned()]);
        nested.push(&OPEN.repeat(50_000));
        assert_eq!(nested.finish(true).calls, []);
        assert_eq!(TextCalls::new(Vec::new()).push("{\"name\""), "{\"name\"");
    }
}
