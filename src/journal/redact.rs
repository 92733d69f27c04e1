//! What is blotted out of every event before anyone reads it: the secrets that this program was
//! given, and words that have the shape of a key. It knows texts and shapes, and refuses to know
//! where an event goes.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::own_words::{self, Place};
use super::shapes::{self, Part};
use crate::domain::event::{Fact, Level};
use crate::domain::report::Report;

/// What stands where a secret was.
pub const REDACTED: &str = "(redacted)";

/// Secrets of fewer bytes than this are not looked for: `local` or `ollama`, set where a server
/// wants some key, would blot out ordinary words.
pub const SHORTEST_SECRET: usize = 8;

/// Blots out secrets.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret inside another leaves no rest of the longer one.
    secrets: Vec<String>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

impl Redactor {
    /// A redactor for these secrets beside everything that has the shape of a key.
    pub fn new(secrets: Vec<String>) -> Self {
        let trimmed = secrets.into_iter().map(|secret| secret.trim().to_owned());
        let mut secrets: Vec<String> =
            trimmed.filter(|secret| secret.len() >= SHORTEST_SECRET).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// The text without secrets; borrowed if there was none. Doing it twice changes nothing more.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.known(text);
        match shapes::blot(Part { text: &known, inside_word: false }) {
            Some(blotted) => Cow::Owned(blotted),
            None => known,
        }
    }

    /// True if the content holds a secret that is looked for, or something in the shape of a key.
    pub fn finds(&self, content: &[u8]) -> bool {
        matches!(self.text(&String::from_utf8_lossy(content)), Cow::Owned(_))
    }

    /// The fact with every text in it redacted; of what a model wrote also names of fields and numbers.
    #[must_use]
    pub fn fact(&self, fact: Fact) -> Fact {
        let Ok(mut value) = serde_json::to_value(&fact) else { return withheld() };
        if !self.value(&mut value, Place::Own, "") {
            return fact;
        }
        serde_json::from_value(value).unwrap_or_else(|_| withheld())
    }

    /// The report with every text in it redacted; an empty one in words if that cannot be done.
    #[must_use]
    pub fn report(&self, mut report: Report) -> Report {
        let redacted = serde_json::to_value(&report).and_then(|mut value| {
            self.value(&mut value, Place::Report, "");
            serde_json::from_value(value)
        });
        redacted.unwrap_or_else(|_| {
            "(withheld: it could not be redacted)".clone_into(&mut report.summary);
            report.evidence.clear();
            report.fields.clear();
            report.warnings.clear();
            report
        })
    }

    /// The text without the secrets that were given, if it had any; what only has the shape of a key
    /// stays, since a file may be full of such words.
    pub fn without_given(&self, text: &str) -> Option<String> {
        match self.known(text) {
            Cow::Borrowed(_) => None,
            Cow::Owned(blotted) => Some(blotted),
        }
    }

    /// The secrets that are looked for literally.
    pub(super) fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// The text without the secrets that were given, whatever has the shape of a key left alone.
    pub(super) fn known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for secret in &self.secrets {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), REDACTED));
            }
        }
        text
    }

    /// The text without the beginning of a secret at its end, for words that break off there: most of
    /// a secret is as good as the whole.
    pub(super) fn cut_short<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let begun = self.secrets.iter().filter_map(|secret| {
            let from = shapes::partial_end(text, secret)?;
            (text.len() - from >= SHORTEST_SECRET.min(secret.len() / 2 + 1)).then_some(from)
        });
        match begun.min() {
            Some(from) => Cow::Owned(format!("{}{REDACTED}", &text[..from])),
            None => Cow::Borrowed(text),
        }
    }

    /// Redacts in place what a field of this name holds; true if anything changed.
    fn value(&self, value: &mut Value, place: Place, field: &str) -> bool {
        match value {
            Value::String(text) => self.string(text, place, field),
            Value::Array(items) => items
                .iter_mut()
                .fold(false, |changed, item| self.value(item, place, field) | changed),
            Value::Object(fields) => {
                let mut changed = false;
                for (name, item) in fields.iter_mut() {
                    changed |= self.value(item, place.of(name), name);
                }
                changed | (place.names_are_foreign() && self.names(fields, place))
            }
            Value::Number(number) if place.names_are_foreign() => {
                let dirty = matches!(self.known(&number.to_string()), Cow::Owned(_));
                if dirty {
                    *value = REDACTED.into();
                }
                dirty
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn names(&self, fields: &mut Map<String, Value>, place: Place) -> bool {
        let clean = |name: &str| match self.text(name) {
            Cow::Owned(blotted) if place.of(name).names_are_foreign() => Some(blotted),
            Cow::Owned(_) | Cow::Borrowed(_) => None,
        };
        let dirty = fields.keys().any(|name| clean(name).is_some());
        if dirty {
            let whole = std::mem::take(fields).into_iter();
            *fields = whole.map(|(name, v)| (clean(&name).unwrap_or(name), v)).collect();
        }
        dirty
    }

    fn string(&self, text: &mut String, place: Place, field: &str) -> bool {
        if own_words::is_own(place, field, text) {
            return false;
        }
        let redacted = match place {
            Place::Sealed => self.known(text),
            Place::Own | Place::Report | Place::Foreign => self.text(text),
        };
        let Cow::Owned(redacted) = redacted else { return false };
        *text = redacted;
        true
    }
}

/// What stands for a fact that cannot be told without a secret.
fn withheld() -> Fact {
    Fact::notice(Level::Warning, "WITHHELD", "an event held a secret and is not shown")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;

    use super::*;
    use crate::domain::budget::Preset;
    use crate::domain::event::Origin;
    use crate::domain::ids::{CallId, RunId};
    use crate::domain::report::By;
    use crate::journal::stream_redact::StreamRedactor;

    const SECRET: &str = "hush-9f8e7d6c";

    fn redactor() -> Redactor {
        Redactor::new(vec![SECRET.to_owned(), "short".to_owned(), " spaced-out-1 \n".to_owned()])
    }

    #[test]
    fn what_looks_like_a_key_goes_and_what_does_not_stays() {
        let gone = [
            "sk-proj-0123456789abcdefABCDEF",
            "sk-ant-api03-abcdefghij0123456789_-AA",
            "key=sk-0123456789abcdef0123",
            "ghp_0123456789abcdefghijABCDEFGHIJ0123",
            "Authorization: Bearer abc.DEF-123_456~789+/=",
            "AKIAIOSFODNN7EXAMPLE1234",
            "密钥sk-0123456789abcdef",
            "(xoxb-123456789012-abcdefghijkl)",
            "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP",
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN PRIVATE KEY-----\nMIIE cut",
        ];
        for text in gone {
            assert!(matches!(redactor().text(text), Cow::Owned(_)), "{text}");
        }
        let stays = [
            "task-force-number-1234567890",
            "a sk-learn estimator",
            "sk-this-is-only-a-long-word",
            "Bearer of bad news 1234567890123456",
            "a short text",
            "hf_hub_download_of_version_2",
            "https://example.com/sk-learn/v1.2.3/api",
            "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
            "3f786850e387550fdab836ed7e6dc881de23001b",
            "task-0123456789abcdef0123",
        ];
        for text in stays {
            assert_eq!(redactor().text(text), text);
        }
    }

    #[test]
    fn a_childs_own_field_is_no_sealed_block_whatever_its_name() {
        let key = "sk-proj-0123456789abcdefABCDEF";
        for name in ["data", "signature", "other"] {
            let mut place = serde_json::json!({ "report": { name: key } });
            assert!(redactor().value(&mut place, Place::Own, ""), "{name}");
            assert!(!place.to_string().contains(key), "{place}");
        }
        let mut sealed = serde_json::json!({ "signature": key });
        assert!(!redactor().value(&mut sealed, Place::Own, ""), "{sealed}");
    }

    #[test]
    fn the_words_around_a_secret_stay() {
        let text = format!("a {SECRET}, b sk-0123456789abcdef. c spaced-out-1");
        let expected = "a (redacted), b sk-(redacted). c (redacted)";
        assert_eq!(redactor().text(&text), expected);
        assert_eq!(redactor().text(expected), expected, "twice is as once");
    }

    #[test]
    fn a_secret_inside_another_leaves_no_rest() {
        let redactor = Redactor::new(vec!["12345678".to_owned(), "1234567890".to_owned()]);
        assert_eq!(redactor.text("x1234567890y"), "x(redacted)y");
    }

    #[test]
    fn a_word_of_the_program_is_no_secret() {
        let redactor = Redactor::new(vec!["completed".to_owned(), "cancelled".to_owned()]);
        let fact: Fact = serde_json::from_value(serde_json::json!({
            "type": "tool_finished", "call": "c1", "name": "x", "ok": false,
            "output": "it was cancelled", "bytes": 1, "truncated": false, "duration_ms": 1,
            "failure": "cancelled",
        }))
        .unwrap();
        let redacted = serde_json::to_value(redactor.fact(fact)).unwrap();
        assert_eq!(redacted["failure"], "cancelled");
        assert_eq!(redacted["output"], "it was (redacted)");
    }

    #[test]
    fn a_secret_of_letters_is_blotted_out_of_what_a_model_wrote_whatever_its_field_is_called() {
        let secret = "correcthorsebattery";
        let redactor = Redactor::new(vec![secret.to_owned(), "8675309123".to_owned()]);
        let words = serde_json::json!({
            "role": secret, "mode": secret, "code": secret, "type": secret, "status": secret,
            "kind": secret, "by": secret, "permissions": [secret], "data": secret,
            "signature": [{ "stop_reason": secret, secret: 1 }],
            "pin": 8_675_309_123_u64, "deep": { "level": [8_675_309_123_u64] }, "count": 3,
        });
        let call = serde_json::json!({ "call": "c1", "name": "x", "arguments": words });
        let mut report = serde_json::to_value(sample_report()).unwrap();
        report["findings"] = words.clone();
        report["summary"] = secret.into();
        let facts = [
            serde_json::json!({ "type": "tool_started", "call": "c1", "name": "x", "arguments": words }),
            serde_json::json!({ "type": "message", "role": "assistant", "text": secret,
                "tool_calls": [call], "blocks": [{ "type": "opaque", "data": words }],
                "stop_reason": secret }),
            serde_json::json!({ "type": "notice", "level": "info", "code": secret, "text": "" }),
        ];
        for json in facts {
            let fact: Fact = serde_json::from_value(json.clone()).unwrap();
            let told = serde_json::to_string(&redactor.fact(fact)).unwrap();
            assert!(!told.contains(secret) && !told.contains("8675309123"), "{told}");
            assert!(!told.contains("WITHHELD"), "{told}");
        }
        let report: Report = serde_json::from_value(report).unwrap();
        let told = redactor.report(report).to_json();
        assert!(!told.contains(secret) && !told.contains("8675309123"), "{told}");
        assert!(told.contains(r#""count":3"#), "{told}");
    }

    fn sample_report() -> Report {
        serde_json::from_value(serde_json::json!({
            "task_id": "t1", "attempt": 1, "status": "completed", "code": null, "dimension": null,
            "by": null, "summary": "", "evidence": [], "warnings": [], "violations": [],
            "changed_paths": [], "turns": 1, "next": "", "trace": "t1.1",
            "usage": { "input_tokens": 1, "output_tokens": 1, "tool_calls": 1, "duration_ms": 1,
                       "cost_usd": null },
        }))
        .unwrap()
    }

    #[test]
    fn sealed_bytes_keep_what_only_looks_like_a_key() {
        let fact: Fact = serde_json::from_value(serde_json::json!({
            "type": "message", "role": "assistant", "text": "", "tool_calls": [],
            "blocks": [{ "type": "reasoning", "text": "", "signature": "x/sk-0123456789abcdef" }],
        }))
        .unwrap();
        assert_eq!(redactor().fact(fact.clone()), fact);
    }

    /// What a person does to a run while its words come in.
    fn steering(number: usize) -> Fact {
        let (target, by) = ("r1".to_owned(), By::User);
        match number % 6 {
            0 => Fact::Paused { target, by },
            1 => Fact::Resumed { target, by },
            2 => Fact::WrapUpRequested { target, by },
            3 => Fact::CancelRequested { target, by },
            4 => Fact::ModelWriting,
            _ => Fact::BudgetExtended {
                target,
                by,
                text: String::new(),
                limits: Preset::Normal.child(),
            },
        }
    }

    /// What a reader of the stream gets of `pieces`, with something done to the run between them.
    fn streamed(pieces: &[&str]) -> String {
        let mut stream = StreamRedactor::new(redactor());
        let origin = Origin::parent(RunId::parent(1));
        let mut told = String::new();
        let last = Fact::notice(Level::Info, "END", "");
        let deltas = pieces.iter().map(|piece| Fact::TextDelta { text: (*piece).to_owned() });
        let between = deltas.enumerate().flat_map(|(at, delta)| [delta, steering(at)]);
        for fact in between.chain([last]) {
            for (_, fact) in stream.pass(origin.clone(), fact) {
                if let Fact::TextDelta { text } = fact {
                    told.push_str(&text);
                }
            }
        }
        told
    }

    #[test]
    fn words_without_a_secret_are_not_held_back() {
        let mut stream = StreamRedactor::new(redactor());
        let origin = Origin::parent(RunId::parent(1));
        for text in ["Words ", "come ", "in piece", " 词", "."] {
            let fact = Fact::TextDelta { text: text.to_owned() };
            assert_eq!(stream.pass(origin.clone(), fact.clone()), [(origin.clone(), fact)]);
        }
    }

    #[test]
    fn words_that_break_off_inside_of_a_secret_do_not_tell_most_of_it() {
        for (end, told) in [("hush-9f8e7d6", "a (redacted)"), ("hush-9f8", "a (redacted)")] {
            assert_eq!(streamed(&["a ", end]), told);
        }
        assert_eq!(streamed(&["a ", "hush"]), "a hush");
    }

    #[test]
    fn words_of_one_call_wait_though_another_call_is_told_of() {
        let mut stream = StreamRedactor::new(redactor());
        let origin = Origin::parent(RunId::parent(1));
        let progress =
            |text: &str| Fact::ToolProgress { call: CallId::from("c1"), text: text.to_owned() };
        assert_eq!(stream.pass(origin.clone(), progress("hush-9f")), []);
        let finished = |call: &str| -> Fact {
            serde_json::from_value(serde_json::json!({
                "type": "tool_finished", "call": call, "name": "x", "ok": true, "output": "",
                "bytes": 0, "truncated": false, "duration_ms": 1,
            }))
            .unwrap()
        };
        assert_eq!(stream.pass(origin.clone(), finished("c2")), [(origin.clone(), finished("c2"))]);
        let told = stream.pass(origin.clone(), progress("8e7d6c!"));
        assert_eq!(told, [(origin.clone(), progress("(redacted)!"))]);
        assert_eq!(stream.pass(origin.clone(), progress("hush")), []);
        let told = stream.pass(origin.clone(), finished("c1"));
        assert_eq!(told, [(origin.clone(), progress("hush")), (origin, finished("c1"))]);
    }

    #[test]
    fn held_words_come_before_what_follows_them() {
        let mut stream = StreamRedactor::new(redactor());
        let origin = Origin::parent(RunId::parent(1));
        let held = Fact::TextDelta { text: "hush".to_owned() };
        assert_eq!(stream.pass(origin.clone(), held.clone()), []);
        let other = Origin::parent(RunId::parent(2));
        let notice = Fact::notice(Level::Info, "X", "");
        assert_eq!(stream.pass(other.clone(), notice.clone()), [(other, notice.clone())]);
        let told = stream.pass(origin.clone(), notice.clone());
        assert_eq!(told, [(origin.clone(), held), (origin, notice)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(
            if std::env::var_os("OFFSHOOT_SOAK").is_some_and(|value| value == "1") { 20_000 } else { 256 }
        ))]
        #[test]
        fn however_words_are_cut_the_stream_says_the_same(
            parts in prop::collection::vec(
                prop_oneof![
                    Just(SECRET), Just("hush"), Just("-9f8e"), Just("sk-0123456789abcdef"),
                    Just("sk-"), Just("ta"), Just("Bearer "), Just("0123456789abcdefgh"), Just(" "), Just("词"),
                    Just("-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"),
                ],
                0..8,
            ),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let text = parts.concat();
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
            places.retain(|place| text.is_char_boundary(*place));
            places.sort_unstable();
            let mut pieces = Vec::new();
            let mut done = 0;
            for place in places.into_iter().chain([text.len()]) {
                pieces.push(&text[done..place]);
                done = place;
            }
            let told = streamed(&pieces);
            prop_assert!(!told.contains(SECRET));
            let whole = redactor().text(&text).into_owned();
            // Two marks beside each other say what one says.
            let once = |text: &str| text.replace("(redacted)(redacted)", "(redacted)");
            prop_assert_eq!(once(&told), once(&redactor().cut_short(&whole)));
        }
    }
}
