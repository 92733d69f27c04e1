//! What must not be in a request's words, and how a refusal quotes without telling.

use std::borrow::Cow;

use super::context_store::{ContextStore, Entry, Sensitivity, Snippet};
use super::grant::Grant;
use super::request::TaskRequest;
use super::secret_value::{self, is_long_enough};
use super::violation::{Code, Violation};

/// Bytes above which an item is not quoted at all, so that no part of a value can show.
const MAX_QUOTE_BYTES: usize = 200;

/// What words for a child hold that it may not get, each named by its key or by what it is, never by
/// its value. `local` is whether the child's model is on this machine.
pub fn withheld_from(
    words: &str,
    store: &ContextStore,
    secrets: &[String],
    local: bool,
) -> Vec<String> {
    let secrecy = Secrecy::of(store, secrets, local);
    secrecy.found_in(words).into_iter().map(str::to_owned).collect()
}

/// A value that must not reach the child.
struct Guarded<'a> {
    value: Cow<'a, str>,
    why: String,
}

/// The values that this grant keeps from this child.
pub(super) struct Secrecy<'a> {
    guarded: Vec<Guarded<'a>>,
    /// Every text that no refusal may repeat: the guarded ones and all snippets.
    unspoken: Vec<Cow<'a, str>>,
}

impl<'a> Secrecy<'a> {
    pub(super) fn new(grant: &Grant<'a>) -> Self {
        Self::of(grant.store, grant.secrets, grant.endpoint.local)
    }

    fn of(store: &'a ContextStore, secrets: &'a [String], local: bool) -> Self {
        let mut guarded: Vec<Guarded<'a>> =
            store.iter().flat_map(|entry| guarded_snippet(entry, local)).collect();
        let known = secrets.iter().map(|value| Guarded {
            value: Cow::Borrowed(value.trim()),
            why: "a known secret such as an API key".to_owned(),
        });
        guarded.extend(known.filter(|known| is_long_enough(&known.value)));
        let texts = store.iter().map(|entry| entry.snippet.text.trim());
        let texts = texts.filter(|text| is_long_enough(text)).map(Cow::Borrowed);
        let mut unspoken: Vec<Cow<'a, str>> =
            guarded.iter().map(|guarded| guarded.value.clone()).chain(texts).collect();
        // Longest first: a value inside another one must not break the longer one up.
        unspoken.sort_by_key(|value| std::cmp::Reverse(value.len()));
        Self { guarded, unspoken }
    }

    /// Finds guarded values in the free texts and in the chosen snippets.
    pub(super) fn require_clean(
        &self,
        request: &TaskRequest,
        context: &[&Entry],
        violations: &mut Vec<Violation>,
    ) {
        for (field, text) in free_texts(request) {
            for why in self.found_in(text) {
                let message = format!("{field} contains the value of {why}; say it without");
                violations.push(Violation::new(Code::ContextForbidden, field, message));
            }
        }
        for snippet in context.iter().map(|entry| &entry.snippet) {
            let Snippet { card, text, .. } = snippet;
            let found = [text, &card.key, &card.source].map(|text| self.found_in(text));
            for why in found.into_iter().find(|found| !found.is_empty()).unwrap_or_default() {
                let key = self.quote(&snippet.card.key);
                let message = format!("context {key} contains the value of {why}");
                violations.push(Violation::new(Code::ContextForbidden, "context_keys", message));
            }
        }
    }

    /// Whose values a text contains, each secret once, however many of its forms are there.
    fn found_in(&self, text: &str) -> Vec<&str> {
        let found = self.guarded.iter().filter(|guarded| text.contains(guarded.value.as_ref()));
        let mut whose: Vec<&str> = Vec::new();
        let mut values: Vec<&str> = Vec::new();
        for Guarded { value, why } in found {
            // A secret snippet is a known secret as well; it is named by its key alone.
            if !whose.contains(&why.as_str()) && !values.contains(&value.as_ref()) {
                whose.push(why);
            }
            values.push(value);
        }
        whose
    }

    /// An item of the request for a message: on one line, without any value that stays unspoken.
    pub(super) fn quote(&self, item: &str) -> String {
        if item.len() > MAX_QUOTE_BYTES {
            return format!("(an item of {} bytes)", item.len());
        }
        let mut shown = item.to_owned();
        for value in &self.unspoken {
            if shown.contains(value.as_ref()) {
                shown = shown.replace(value.as_ref(), "[redacted]");
            }
        }
        format!("`{}`", shown.replace(char::is_control, " "))
    }
}

/// The values of a snippet that this child may not get; none if it may have the snippet.
fn guarded_snippet(entry: &Entry, local_child: bool) -> Vec<Guarded<'_>> {
    let (key, text) = (&entry.snippet.card.key, entry.snippet.text.trim());
    match entry.sensitivity {
        // It may be a long document with lines that stand anywhere: the whole of it counts.
        Sensitivity::LocalOnly if !local_child && is_long_enough(text) => {
            let why = format!("`{key}`, which may not leave this machine");
            vec![Guarded { value: Cow::Borrowed(text), why }]
        }
        Sensitivity::Normal | Sensitivity::LocalOnly => Vec::new(),
        Sensitivity::Secret => secret_value::forms(text)
            .into_iter()
            .map(|form| Guarded { value: Cow::Owned(form), why: format!("the secret `{key}`") })
            .collect(),
    }
}

/// Every text of a request that reaches the child as written.
fn free_texts(request: &TaskRequest) -> Vec<(&'static str, &str)> {
    let mut texts = vec![
        ("task", request.task.as_str()),
        ("expected_output", request.expected_output.as_str()),
    ];
    let optional = [
        ("description", &request.description),
        ("done_when", &request.done_when),
        ("must_not", &request.must_not),
    ];
    texts.extend(optional.into_iter().filter_map(|(f, text)| Some((f, text.as_deref()?))));
    let paths = request.allowed_paths.iter().flatten();
    texts.extend(paths.map(|path| ("allowed_paths", path.as_str())));
    texts
}
