//! A call's arguments against its schema: what a tool gets has the right shape, and what a model
//! reads when it had not names the field and the expected type. The schema is the one source: it is
//! what the model was shown and what is checked. Understood of it is what our schemas use: `type`,
//! `properties`, `required`, `items`, `minimum`.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Arguments that do not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct ArgumentError {
    /// The field at fault, like `budget.turns`; empty where it is the whole.
    pub field: String,
    /// What was wrong, what is expected, and which fields there are.
    pub text: String,
}

impl ArgumentError {
    fn new(field: &str, text: String) -> Self {
        Self { field: field.to_owned(), text }
    }
}

/// The arguments as the schema has them: `""` and null are `{}`, an object inside a JSON string is
/// taken out once, whole numbers lose their `.0`, and a null for an optional field is dropped.
pub fn fit(schema: &Value, arguments: &Value) -> Result<Value, ArgumentError> {
    let object = unwrap(arguments)?;
    fit_object(schema, &object, "")
}

/// The arguments as a type whose fields are the schema's.
pub fn read<T: DeserializeOwned>(schema: &Value, arguments: &Value) -> Result<T, ArgumentError> {
    let fitted = fit(schema, arguments)?;
    serde_json::from_value(fitted)
        .map_err(|error| ArgumentError::new("", format!("the arguments do not fit: {error}")))
}

fn unwrap(arguments: &Value) -> Result<Map<String, Value>, ArgumentError> {
    let inner;
    let value = match arguments {
        Value::String(text) if text.trim().is_empty() => return Ok(Map::new()),
        Value::String(text) => {
            inner = serde_json::from_str(text).map_err(|error| {
                ArgumentError::new("", format!("the arguments are not valid JSON: {error}"))
            })?;
            &inner
        }
        other => other,
    };
    match value {
        Value::Null => Ok(Map::new()),
        Value::Object(object) => Ok(object.clone()),
        other => Err(ArgumentError::new(
            "",
            format!("the arguments must be a JSON object, not {}", in_words(other)),
        )),
    }
}

fn fit_object(
    schema: &Value,
    object: &Map<String, Value>,
    at: &str,
) -> Result<Value, ArgumentError> {
    let empty = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let required = |name: &str| {
        let names = schema.get("required").and_then(Value::as_array);
        names.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let mut fitted = Map::new();
    for (name, value) in object {
        let path = path_of(at, name);
        let Some(field) = fields.get(name) else {
            return Err(unknown(&path, fields));
        };
        if !value.is_null() || required(name) {
            fitted.insert(name.clone(), fit_value(field, value, &path)?);
        }
    }
    for (name, field) in fields {
        if required(name) && !fitted.contains_key(name) {
            let path = path_of(at, name);
            let text = format!("`{path}` is missing: {} is required", expected(field));
            return Err(ArgumentError::new(&path, text));
        }
    }
    Ok(Value::Object(fitted))
}

fn fit_value(schema: &Value, value: &Value, at: &str) -> Result<Value, ArgumentError> {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    match (kind, value) {
        ("object", Value::Object(object)) => fit_object(schema, object, at),
        ("array", Value::Array(items)) => fit_items(schema, items, at),
        ("integer", Value::Number(number)) => {
            let whole = whole(number).ok_or_else(|| no_integer(schema, number, at))?;
            at_least(schema, whole, at)?;
            Ok(whole.into())
        }
        ("number", Value::Number(_))
        | ("string", Value::String(_))
        | ("boolean", Value::Bool(_))
        | ("", _) => Ok(value.clone()),
        _ => Err(mismatch(schema, value, at)),
    }
}

fn fit_items(schema: &Value, items: &[Value], at: &str) -> Result<Value, ArgumentError> {
    let item_schema = schema.get("items").unwrap_or(&Value::Null);
    let fitted = items
        .iter()
        .enumerate()
        .map(|(index, item)| fit_value(item_schema, item, &format!("{at}[{index}]")));
    fitted.collect::<Result<Vec<_>, _>>().map(Value::Array)
}

/// An integer, also one that was written as `3.0`.
fn whole(number: &serde_json::Number) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT)?;
        #[expect(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        Some(float as i64)
    })
}

fn at_least(schema: &Value, number: i64, at: &str) -> Result<(), ArgumentError> {
    match schema.get("minimum").and_then(Value::as_i64) {
        Some(least) if number < least => {
            Err(ArgumentError::new(at, format!("`{at}` must be at least {least}, not {number}")))
        }
        Some(_) | None => Ok(()),
    }
}

/// Why a number is no integer that can be used: it has a fraction, or is too large.
fn no_integer(schema: &Value, number: &serde_json::Number, at: &str) -> ArgumentError {
    if number.as_f64().is_some_and(|float| float.fract() != 0.0) {
        return mismatch(schema, &Value::Number(number.clone()), at);
    }
    let least = schema.get("minimum").and_then(Value::as_i64).unwrap_or(i64::MIN);
    let text = format!("`{at}` must be an integer from {least} to {}, not {number}", i64::MAX);
    ArgumentError::new(at, text)
}

fn mismatch(schema: &Value, value: &Value, at: &str) -> ArgumentError {
    ArgumentError::new(at, format!("`{at}` must be {}, not {}", expected(schema), in_words(value)))
}

fn unknown(path: &str, fields: &Map<String, Value>) -> ArgumentError {
    let path = crate::workspace::path::printable(path);
    let names: Vec<_> = fields.keys().map(|name| format!("`{name}`")).collect();
    ArgumentError::new(
        &path,
        format!("there is no field `{path}`; the fields are {}", names.join(", ")),
    )
}

fn path_of(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

fn expected(schema: &Value) -> String {
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => "an object".to_owned(),
        Some("array") => match schema.get("items") {
            Some(items) => format!("an array, each item {}", expected(items)),
            None => "an array".to_owned(),
        },
        Some("integer") => "an integer".to_owned(),
        Some(other) => format!("a {other}"),
        None => "a value".to_owned(),
    }
}

/// What a value is, with its text where that is short.
fn in_words(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => format!("the boolean {flag}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) if text.chars().count() <= 40 => {
            format!("the string {}", Value::String(text.clone()))
        }
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "offset": {"type": "integer", "minimum": 1},
                "hidden": {"type": "boolean"},
                "keys": {"type": "array", "items": {"type": "string"}},
                "budget": {"type": "object", "properties": {"turns": {"type": "number"}}},
            },
            "required": ["path"],
        })
    }

    #[test]
    fn what_fits_is_taken_and_brought_into_form() {
        let table = [
            (json!({"path": "a"}), json!({"path": "a"})),
            (json!({"path": "a", "offset": 3.0}), json!({"path": "a", "offset": 3})),
            (json!({"path": "a", "offset": null}), json!({"path": "a"})),
            (json!("{\"path\": \"a\"}"), json!({"path": "a"})),
            (
                json!({"path": "", "keys": [], "budget": {"turns": 2.5}}),
                json!({"path": "", "keys": [], "budget": {"turns": 2.5}}),
            ),
        ];
        for (given, right) in table {
            assert_eq!(fit(&schema(), &given), Ok(right), "{given}");
        }
    }

    #[test]
    fn nothing_is_an_empty_object() {
        for nothing in [json!(null), json!(""), json!("  "), json!("null"), json!({})] {
            assert_eq!(fit(&json!({"type": "object"}), &nothing), Ok(json!({})), "{nothing}");
        }
    }

    #[test]
    fn what_does_not_fit_is_answered_with_the_field_and_the_expected_type() {
        let table = [
            (json!({}), "path", "`path` is missing: a string is required"),
            (json!({"path": null}), "path", "`path` must be a string, not null"),
            (json!({"path": 3}), "path", "`path` must be a string, not the number 3"),
            (
                json!({"path": "a", "offset": "3"}),
                "offset",
                "`offset` must be an integer, not the string \"3\"",
            ),
            (
                json!({"path": "a", "offset": 3.5}),
                "offset",
                "`offset` must be an integer, not the number 3.5",
            ),
            (json!({"path": "a", "offset": 0}), "offset", "`offset` must be at least 1, not 0"),
            (
                json!({"path": "a", "hidden": "yes"}),
                "hidden",
                "`hidden` must be a boolean, not the string \"yes\"",
            ),
            (
                json!({"path": "a", "keys": "x"}),
                "keys",
                "`keys` must be an array, each item a string, not the string \"x\"",
            ),
            (
                json!({"path": "a", "keys": ["x", 1]}),
                "keys[1]",
                "`keys[1]` must be a string, not the number 1",
            ),
            (
                json!({"path": "a", "budget": {"turn": 1}}),
                "budget.turn",
                "there is no field `budget.turn`; the fields are `turns`",
            ),
            (
                json!({"file": "a"}),
                "file",
                "there is no field `file`; the fields are `path`, `offset`, `hidden`, `keys`, \
                 `budget`",
            ),
            (json!([1]), "", "the arguments must be a JSON object, not an array"),
            (json!("[1]"), "", "the arguments must be a JSON object, not an array"),
            (json!("\"{}\""), "", "the arguments must be a JSON object, not the string \"{}\""),
        ];
        for (given, field, text) in table {
            let error = fit(&schema(), &given).unwrap_err();
            assert_eq!((error.field.as_str(), error.text.as_str()), (field, text), "{given}");
        }
    }

    #[test]
    fn text_that_is_no_json_is_answered_with_the_parser_s_words() {
        let error = fit(&schema(), &json!("{\"path\": \"a")).unwrap_err();
        assert!(error.text.contains("not valid JSON: EOF while parsing a string"), "{error}");
    }

    #[test]
    fn numbers_beyond_what_an_integer_holds_are_refused() {
        for number in [json!(1e300), json!(-1e300), json!(u64::MAX)] {
            let given = json!({"path": "a", "offset": number});
            let error = fit(&schema(), &given).unwrap_err();
            let right = format!("`offset` must be an integer from 1 to {}, not {number}", i64::MAX);
            assert_eq!((error.field.as_str(), error.text), ("offset", right));
        }
    }
}
