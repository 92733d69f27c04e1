//! Tool calls from their fragments, as servers really send them: without index, with one index for
//! all, without id, with the name again and again. It knows no streams and runs nothing.

use serde_json::Value;

use crate::domain::ids::CallId;
use crate::domain::message::ToolCall;

/// What one answer may hold back: more is no answer but an attack on the memory.
pub const MAX_CALLS: usize = 1_024;
const MAX_ARGUMENT_BYTES: usize = 8 * 1024 * 1024;

/// The calls of one answer while they come in.
#[derive(Debug, Default)]
pub struct Fragments {
    calls: Vec<Parts>,
    argument_bytes: usize,
}

/// The calls of an answer that is over.
#[derive(Debug, Default)]
pub struct Whole {
    /// In the order in which they began.
    pub calls: Vec<ToolCall>,
    /// What came with each call and has to go back with it, `null` for nothing. As long as
    /// `calls`.
    pub extras: Vec<Value>,
}

#[derive(Debug, Default)]
struct Parts {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra: Value,
}

/// One fragment, borrowed from its event.
struct Piece<'a> {
    index: Option<u64>,
    id: &'a str,
    name: &'a str,
    arguments: &'a Value,
    extra: &'a Value,
}

impl Fragments {
    /// True if no call has begun.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// True if there are more calls, or longer ones, than can be held.
    pub fn is_too_much(&self) -> bool {
        self.calls.len() > MAX_CALLS || self.argument_bytes > MAX_ARGUMENT_BYTES
    }

    /// Bytes of the arguments so far.
    pub fn bytes(&self) -> usize {
        self.argument_bytes
    }

    /// Takes the fragments of one event.
    pub fn take(&mut self, parts: &[Value]) {
        for (place, part) in parts.iter().enumerate() {
            self.take_one(&Piece::of(part), (parts.len() > 1).then_some(place));
        }
    }

    /// The calls. `is_cut` says that the output limit ended the answer: then the last call counts
    /// as half, whatever its text looks like, and keeps its arguments as that text.
    pub fn finish(self, is_cut: bool) -> Whole {
        let mut whole = Whole::default();
        let calls: Vec<Parts> = self.calls.into_iter().filter(|call| !call.is_ghost()).collect();
        let last = calls.len();
        for (place, parts) in calls.into_iter().enumerate() {
            let call = CallId(parts.id);
            whole.extras.push(parts.extra);
            whole.calls.push(if is_cut && place + 1 == last {
                ToolCall { call, name: parts.name, arguments: Value::String(parts.arguments) }
            } else {
                ToolCall::parse(call, parts.name, &parts.arguments)
            });
        }
        whole
    }

    /// Takes a fragment. `place` is its place among several that came at once.
    fn take_one(&mut self, piece: &Piece<'_>, place: Option<usize>) {
        let known = place.filter(|place| piece.is_bare() && *place < self.calls.len());
        let position =
            known.or_else(|| self.calls.iter().rposition(|call| call.is_continued_by(piece)));
        let position = position.unwrap_or_else(|| {
            self.calls.push(Parts { index: piece.index, ..Parts::default() });
            self.calls.len() - 1
        });
        self.argument_bytes += self.calls[position].take(piece);
    }
}

impl<'a> Piece<'a> {
    fn of(part: &'a Value) -> Self {
        let function = part.get("function").unwrap_or(&Value::Null);
        let text = |value: Option<&'a Value>| value.and_then(Value::as_str).unwrap_or("");
        Self {
            index: part.get("index").and_then(Value::as_u64),
            id: text(part.get("id")),
            name: text(function.get("name")),
            arguments: function.get("arguments").unwrap_or(&Value::Null),
            extra: part.get("extra_content").unwrap_or(&Value::Null),
        }
    }

    /// True if it says nothing of which call it belongs to.
    fn is_bare(&self) -> bool {
        self.index.is_none() && self.id.is_empty() && self.name.is_empty()
    }

    /// True if its arguments are the beginning of an object.
    fn begins_object(&self) -> bool {
        match self.arguments {
            Value::String(text) => text.trim_start().starts_with('{'),
            Value::Object(_) => true,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
        }
    }
}

impl Parts {
    /// True if the fragment belongs to this call. Servers leave out the index, or all but the
    /// first id, or send one index for two calls, or repeat the name in every fragment.
    fn is_continued_by(&self, piece: &Piece<'_>) -> bool {
        let same_place = piece.index.is_none() || self.index.is_none() || piece.index == self.index;
        let same_id = piece.id.is_empty() || self.id.is_empty() || piece.id == self.id;
        let nameless = piece.name.is_empty() || self.name.is_empty();
        let begins = !nameless && piece.index.is_none() && piece.id.is_empty();
        same_place && same_id && !begins && (nameless || !self.is_followed_by(piece))
    }

    /// True if a named fragment is the beginning of the next call: this one is complete, and the
    /// fragment begins an object of its own.
    fn is_followed_by(&self, piece: &Piece<'_>) -> bool {
        let same_call = !piece.id.is_empty() && piece.id == self.id && piece.name == self.name;
        !same_call && piece.begins_object() && self.is_complete()
    }

    fn is_complete(&self) -> bool {
        self.arguments.trim_end().ends_with('}')
            && serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }

    /// Adds a fragment; returns the bytes of arguments that it brought.
    fn take(&mut self, piece: &Piece<'_>) -> usize {
        if self.id.is_empty() {
            piece.id.clone_into(&mut self.id);
        }
        if self.name.is_empty() {
            piece.name.clone_into(&mut self.name);
        }
        if !piece.extra.is_null() {
            self.extra = piece.extra.clone();
        }
        match piece.arguments {
            Value::String(text) => {
                // `{}` or `null` stands for "nothing yet" where an object follows.
                if matches!(self.arguments.as_str(), "{}" | "null") && piece.begins_object() {
                    self.arguments.clear();
                }
                self.arguments.push_str(text);
                text.len()
            }
            whole @ Value::Object(_) => {
                self.arguments = whole.to_string();
                self.arguments.len()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => 0,
        }
    }

    /// True for a fragment that was never followed by anything that makes a call.
    fn is_ghost(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.arguments.trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `(id, name, arguments)` of each call.
    fn read(events: &[Value]) -> Vec<(String, String, Value)> {
        let mut fragments = Fragments::default();
        for event in events {
            fragments.take(event.as_array().map_or(&[][..], Vec::as_slice));
        }
        let calls = fragments.finish(false).calls.into_iter();
        calls.map(|call| (call.call.0, call.name, call.arguments)).collect()
    }

    fn call(id: &str, name: &str, arguments: Value) -> (String, String, Value) {
        (id.to_owned(), name.to_owned(), arguments)
    }

    #[test]
    fn fragments_come_together_by_index_with_or_without_ids() {
        let calls = read(&[
            json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": ""}}]),
            json!([{"index": 1, "id": "b", "function": {"name": "y", "arguments": "{\"k\""}}]),
            json!([{"index": 0, "id": null, "function": {"arguments": "{}"}}]),
            json!([{"index": 1, "id": "", "function": {"name": "", "arguments": ":1}"}}]),
        ]);
        assert_eq!(calls, [call("a", "x", json!({})), call("b", "y", json!({"k": 1}))]);
    }

    #[test]
    fn calls_without_index_are_told_apart_by_id_or_else_by_name() {
        let by_id = read(&[
            json!([{"id": "a", "function": {"name": "x", "arguments": "{"}}]),
            json!([{"function": {"arguments": "}"}}]),
            json!([{"id": "b", "function": {"name": "x", "arguments": {"k": 2}}}]),
        ]);
        assert_eq!(by_id, [call("a", "x", json!({})), call("b", "x", json!({"k": 2}))]);
        let by_name = read(&[
            json!([{"function": {"name": "x", "arguments": "{}"}}]),
            json!([{"function": {"name": "y", "arguments": ""}}]),
        ]);
        assert_eq!(by_name, [call("", "x", json!({})), call("", "y", json!({}))]);
    }

    #[test]
    fn bare_fragments_that_come_at_once_belong_to_the_calls_in_their_order() {
        let begin = |id: &str| json!({"id": id, "function": {"name": "x", "arguments": "{\"k\":"}});
        let end = |value: &str| json!({"function": {"arguments": value}});
        let calls = read(&[json!([begin("a"), begin("b")]), json!([end("1}"), end("2}")])]);
        assert_eq!(calls, [call("a", "x", json!({"k": 1})), call("b", "x", json!({"k": 2}))]);
    }

    #[test]
    fn one_index_with_two_ids_is_two_calls() {
        let part = |id: &str| json!([{"index": 0, "id": id, "function": {"name": "x", "arguments": "{}"}}]);
        let calls = read(&[part("a"), part("b")]);
        assert_eq!(calls, [call("a", "x", json!({})), call("b", "x", json!({}))]);
    }

    #[test]
    fn one_index_without_ids_is_two_calls_when_each_comes_whole() {
        let part = |id: Value, path: &str| {
            let arguments = json!({ "path": path }).to_string();
            json!([{"index": 0, "id": id, "function": {"name": "x", "arguments": arguments}}])
        };
        for id in [json!(""), json!(null)] {
            let calls = read(&[part(id.clone(), "a"), part(id, "b")]);
            let expected =
                [call("", "x", json!({"path": "a"})), call("", "x", json!({"path": "b"}))];
            assert_eq!(calls, expected);
        }
    }

    #[test]
    fn an_id_and_a_name_that_come_with_every_piece_are_taken_once() {
        let part = |arguments: &str| json!([{"index": 3, "id": "0", "function": {"name": "x", "arguments": arguments}}]);
        let calls = read(&[part(""), part("{\"k\":"), part("{\"l\":1}"), part("}")]);
        assert_eq!(calls, [call("0", "x", json!({"k": {"l": 1}}))]);
    }

    #[test]
    fn a_name_may_come_late_and_arguments_never_or_as_null() {
        let late = read(&[
            json!([{"index": 0, "id": "a", "function": {"arguments": ""}}]),
            json!([{"index": 0, "function": {"name": "x", "arguments": "{}"}}]),
            json!([{"index": 1, "id": "b", "function": {"name": "y", "arguments": "null"}}]),
            json!([{"index": 2, "id": "c", "function": {"name": "z", "arguments": null}}]),
            json!([{"index": 3, "id": "d", "function": {"name": "w"}}]),
        ]);
        let names: Vec<&str> = late.iter().map(|(_, name, _)| name.as_str()).collect();
        assert_eq!(names, ["x", "y", "z", "w"]);
        assert!(late.iter().all(|(_, _, arguments)| *arguments == json!({})), "{late:?}");
    }

    #[test]
    fn an_empty_object_before_the_real_arguments_is_no_part_of_them() {
        let calls = read(&[
            json!([{"index": 0, "id": "a", "function": {"name": "x", "arguments": "{}"}}]),
            json!([{"index": 0, "function": {"arguments": "{\"k\":"}}]),
            json!([{"index": 0, "function": {"arguments": "1}"}}]),
        ]);
        assert_eq!(calls, [call("a", "x", json!({"k": 1}))]);
    }

    #[test]
    fn the_last_call_of_a_cut_answer_keeps_its_text_even_if_it_looks_whole() {
        let mut fragments = Fragments::default();
        for (id, arguments) in [("a", "{\"k\":1}"), ("b", "{\"k\":1}")] {
            let part = json!({"id": id, "function": {"name": "x", "arguments": arguments}});
            fragments.take(&[part]);
        }
        let calls = fragments.finish(true).calls;
        assert_eq!(calls[0].arguments, json!({"k": 1}));
        assert_eq!(calls[1].arguments, json!("{\"k\":1}"));
        assert!(calls[1].arguments_object().is_object());
    }

    #[test]
    fn what_comes_with_a_call_stays_with_it() {
        let mut fragments = Fragments::default();
        let seal = json!({"google": {"thought_signature": "s"}});
        fragments.take(&[
            json!({"index": 0, "id": "a", "function": {"name": "x"}, "extra_content": seal}),
            json!({"index": 1, "id": "b", "function": {"name": "y"}}),
        ]);
        assert_eq!(fragments.finish(false).extras, [seal, Value::Null]);
    }

    #[test]
    fn strange_shapes_never_panic_and_make_no_call() {
        assert_eq!(read(&[json!([1, null, "x", [], {}, {"function": 7}])]), []);
    }

    #[test]
    fn endless_calls_are_noticed() {
        let mut fragments = Fragments::default();
        for id in 0..=MAX_CALLS {
            fragments.take(&[json!({"id": id.to_string(), "function": {"name": "x"}})]);
        }
        assert!(fragments.is_too_much());
    }
}
