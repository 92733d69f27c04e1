//! One call as one short line for people. It knows how arguments read best and refuses to know what
//! the call does.

use serde_json::Value;

use crate::sanitize;

/// Characters of one argument that are shown.
const ARGUMENT: usize = 80;
/// Characters of all arguments that are shown.
const ARGUMENTS: usize = 160;
/// Characters of a sentence that are shown; it may quote what a model or server wrote.
const SENTENCE: usize = 1_000;

/// `read_file path=src/lib.rs`, clean and on one row.
pub(super) fn call(name: &str, arguments: &Value) -> String {
    let said = match arguments {
        Value::Object(fields) if name == "task" => task(fields),
        Value::Object(fields) => {
            let pairs = fields.iter().map(|(key, value)| format!("{key}={}", shown(value)));
            pairs.collect::<Vec<_>>().join(" ")
        }
        Value::Null => String::new(),
        other => shown(other),
    };
    let name = cut(name, ARGUMENT);
    sanitize::line(&format!("{name} {}", cut(&said, ARGUMENTS))).trim_end().to_owned()
}

/// The name of a tool, clean and short: a model may write anything there.
pub(super) fn name(name: &str) -> String {
    sanitize::line(&cut(name, ARGUMENT)).into_owned()
}

/// A sentence of the runtime on one row, clean and not endless.
pub(super) fn sentence(text: &str) -> String {
    sanitize::line(&cut(text, SENTENCE)).into_owned()
}

/// The first line of a text that has words in it, clean and short.
pub(super) fn first(text: &str) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    sanitize::line(&cut(line.trim(), ARGUMENTS)).into_owned()
}

/// Who is to do what.
fn task(fields: &serde_json::Map<String, Value>) -> String {
    let text = |key: &str| fields.get(key).and_then(Value::as_str).unwrap_or_default();
    let what = if text("description").is_empty() { text("task") } else { text("description") };
    let quoted = format!("\"{}\"", cut(what, ARGUMENT));
    match text("role") {
        "" => quoted,
        role => format!("{role} {quoted}"),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if is_word(text) => cut(text, ARGUMENT),
        Value::String(text) => format!("\"{}\"", cut(text, ARGUMENT)),
        other => cut(&other.to_string(), ARGUMENT),
    }
}

/// True for names, paths and numbers, which read well without quotes.
fn is_word(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._/-+@:~".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
