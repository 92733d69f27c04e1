//! A place that a child cites, brought into form: what is nearly right is put right and said, what is
//! not is dropped and said. It refuses to know whether the place was ever seen.

use serde_json::Value;

/// A cited place, as claimed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cited {
    /// As the child wrote it.
    pub path: String,
    /// From 1.
    pub line: Option<u64>,
    /// True if a line was given that is none: it names no place that could be checked.
    pub unreadable_line: bool,
    /// In the child's words.
    pub reason: String,
}

/// What was given as a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// Nothing.
    Absent,
    /// A number.
    Number(u64),
    /// A text that holds a number.
    Written(u64),
    /// Anything else.
    Unreadable,
}

impl Line {
    /// Reads the value of a `line`.
    pub(super) fn read(value: Option<&Value>) -> Self {
        match value {
            None | Some(Value::Null) => Self::Absent,
            Some(Value::Number(number)) => number.as_u64().map_or(Self::Unreadable, Self::Number),
            Some(Value::String(text)) => {
                text.trim().parse().map_or(Self::Unreadable, Self::Written)
            }
            Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => Self::Unreadable,
        }
    }

    /// The line, if it is one.
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Self::Number(line) | Self::Written(line) => Some(line),
            Self::Absent | Self::Unreadable => None,
        }
    }
}

/// Reads one item of an `evidence` list. `remark` is told what was coerced or dropped, as the end
/// of a sentence about the list; without a path nothing is left of the item.
pub(super) fn read(item: Value, remark: &mut impl FnMut(&str)) -> Option<Cited> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::String(path) if !path.trim().is_empty() => {
            remark("has an item that is a text and was taken as its path");
            let (path, line) = split_line(&path);
            return Some(Cited { path, line, ..Cited::default() });
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            remark("has an item without a path, which is left out");
            return None;
        }
    };
    for name in fields.keys().filter(|name| !["path", "line", "reason"].contains(&name.as_str())) {
        let name: String = name.chars().take(40).collect();
        remark(&format!("has items with `{name}`, which is not part of them"));
    }
    let path = fields.get("path").and_then(Value::as_str).filter(|path| !path.trim().is_empty());
    let Some(path) = path else {
        remark("has an item without a path, which is left out");
        return None;
    };
    let (path, line_in_path) = split_line(path);
    let line = Line::read(fields.get("line"));
    match line {
        Line::Written(_) => remark("has a `line` that is a text and was read as a number"),
        Line::Unreadable => remark("has a `line` that is no line number"),
        Line::Absent | Line::Number(_) => {}
    }
    let reason = match fields.get("reason") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => {
            remark("has a `reason` that is no text and was written out as one");
            other.to_string()
        }
    };
    let unreadable_line = line == Line::Unreadable;
    let line_in_path = line_in_path.filter(|_| !unreadable_line);
    Some(Cited { path, line: line.number().or(line_in_path), unreadable_line, reason })
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use serde_json::json;

    use super::*;

    fn taken(item: Value) -> (Option<Cited>, usize) {
        let mut remarks = Vec::new();
        let cited = read(item, &mut |words: &str| remarks.push(words.to_owned()));
        (cited, remarks.len())
    }

    #[test]
    fn a_line_is_a_number_a_written_number_nothing_or_no_line_at_all() {
        for (line, right, unreadable, remarks) in [
            (json!(null), None, false, 0),
            (json!(12), Some(12), false, 0),
            (json!(0), Some(0), false, 0),
            (json!("12"), Some(12), false, 1),
            (json!(-5), None, true, 1),
            (json!(1.5), None, true, 1),
            (json!(1e30), None, true, 1),
            (json!(true), None, true, 1),
            (json!("x"), None, true, 1),
            (json!("12-20"), None, true, 1),
            (json!([1, 2]), None, true, 1),
            (json!({ "from": 1 }), None, true, 1),
        ] {
            let (cited, said) = taken(json!({ "path": "a.rs", "line": line, "reason": "r" }));
            let cited = cited.unwrap();
            assert_eq!((cited.line, cited.unreadable_line), (right, unreadable), "{line}");
            assert_eq!(said, remarks, "{line}");
        }
        let (cited, said) = taken(json!({ "path": "a.rs:7", "line": "x" }));
        assert_eq!((cited.unwrap().line, said), (None, 1), "the path's own line does not help");
        let (cited, said) = taken(json!({ "path": "a.rs:7" }));
        assert_eq!((cited.unwrap().line, said), (Some(7), 0));
    }

    #[test]
    fn what_is_not_as_asked_is_said() {
        for (item, path, reason, remarks) in [
            (json!("a.rs:3"), Some("a.rs"), "", 1),
            (json!({ "path": "a.rs", "reason": 7 }), Some("a.rs"), "7", 1),
            (json!({ "path": "a.rs", "reason": null }), Some("a.rs"), "", 0),
            (json!({ "path": "a.rs", "verified": true, "x": 1 }), Some("a.rs"), "", 2),
            (json!({ "path": 7 }), None, "", 1),
            (json!({ "path": " " }), None, "", 1),
            (json!({}), None, "", 1),
            (json!(""), None, "", 1),
            (json!(3), None, "", 1),
            (json!([]), None, "", 1),
            (json!(null), None, "", 1),
        ] {
            let (cited, said) = taken(item.clone());
            assert_eq!(cited.as_ref().map(|cited| cited.path.as_str()), path, "{item}");
            assert_eq!(cited.map(|cited| cited.reason).unwrap_or_default(), reason, "{item}");
            assert_eq!(said, remarks, "{item}");
        }
    }
}
