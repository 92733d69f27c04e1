//! What is blotted out of every event before anyone reads it: the secrets that this program was
//! given, and words that have the shape of a key. It knows texts and shapes, and refuses to know
//! where an event goes.

use std::borrow::Cow;

use serde_json::Value;

use super::shapes;
use crate::domain::event::{Fact, Level};

/// What stands where a secret was.
pub const REDACTED: &str = "(redacted)";

/// Secrets of fewer bytes than this are not looked for: `local` or `ollama`, set where a server
/// wants some key, would blot out ordinary words.
pub const SHORTEST_SECRET: usize = 8;

/// Fields whose values are words of this program. A secret that is such a word is no secret.
const OWN_WORDS: [&str; 12] = [
    "type",
    "status",
    "code",
    "dimension",
    "by",
    "role",
    "level",
    "failure",
    "kind",
    "sensitivity",
    "stop_reason",
    "permissions",
];

/// Fields that hold sealed bytes, in which the shape of a key means nothing.
const SEALED: [&str; 2] = ["signature", "data"];

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
        let mut secrets: Vec<String> = secrets
            .iter()
            .map(|secret| secret.trim().to_owned())
            .filter(|secret| secret.len() >= SHORTEST_SECRET)
            .collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self { secrets }
    }

    /// The text without secrets; borrowed if there was none. Doing it twice changes nothing more.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let known = self.known(text);
        match shapes::blot(&known) {
            Some(blotted) => Cow::Owned(blotted),
            None => known,
        }
    }

    /// The fact with every text in it redacted, keys of arguments included.
    #[must_use]
    pub fn fact(&self, fact: Fact) -> Fact {
        let Ok(mut value) = serde_json::to_value(&fact) else { return withheld() };
        if !self.value(&mut value, "") {
            return fact;
        }
        serde_json::from_value(value).unwrap_or_else(|_| withheld())
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

    /// Redacts in place; true if anything changed.
    fn value(&self, value: &mut Value, field: &str) -> bool {
        match value {
            Value::String(text) => self.string(text, field),
            Value::Array(items) => {
                items.iter_mut().fold(false, |changed, item| self.value(item, field) | changed)
            }
            Value::Object(fields) => {
                let mut changed = false;
                for (name, item) in fields.iter_mut() {
                    changed |= self.value(item, name);
                }
                let dirty = fields.keys().any(|name| matches!(self.text(name), Cow::Owned(_)));
                if dirty {
                    let whole = std::mem::take(fields).into_iter();
                    *fields = whole.map(|(name, v)| (self.text(&name).into_owned(), v)).collect();
                }
                changed | dirty
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }

    fn string(&self, text: &mut String, field: &str) -> bool {
        let is_word = |c: char| c.is_ascii_alphabetic() || c == '_';
        if OWN_WORDS.contains(&field) && text.chars().all(is_word) {
            return false;
        }
        let redacted = if SEALED.contains(&field) { self.known(text) } else { self.text(text) };
        let Cow::Owned(redacted) = redacted else { return false };
        *text = redacted;
        true
    }
}

/// What stands for a fact that cannot be told without a secret.
fn withheld() -> Fact {
    Fact::notice(Level::Warning, "WITHHELD", "an event held a secret and is not shown")
}
