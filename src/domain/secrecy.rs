//! What must not be in a request's words, and how a refusal quotes without telling.

use super::context_store::{Entry, Sensitivity};
use super::grant::Grant;
use super::request::TaskRequest;
use super::violation::{Code, Violation};

/// Characters below which a value is not looked for: short values such as `true`, a year or a
/// first name turn up in honest texts, and to refuse those would hide nothing.
pub const LEAST_CHARS: usize = 8;

/// Bytes above which an item is not quoted at all, so that no part of a value can show.
const MAX_QUOTE_BYTES: usize = 200;

/// A value that must not reach the child.
struct Guarded<'a> {
    value: &'a str,
    why: String,
}

/// The values that this grant keeps from this child.
pub(super) struct Secrecy<'a> {
    guarded: Vec<Guarded<'a>>,
    /// Every text that no refusal may repeat: the guarded ones and all snippets.
    unspoken: Vec<&'a str>,
}

impl<'a> Secrecy<'a> {
    pub(super) fn new(grant: &Grant<'a>) -> Self {
        let known = grant.secrets.iter().map(|value| Guarded {
            value: value.trim(),
            why: "a known secret such as an API key".to_owned(),
        });
        let local = grant.endpoint.local;
        let snippets = grant.store.iter().filter_map(|entry| guarded_snippet(entry, local));
        let guarded: Vec<Guarded<'a>> =
            known.chain(snippets).filter(|guarded| long_enough(guarded.value)).collect();
        let texts = grant.store.iter().map(|entry| entry.snippet.text.trim());
        let mut unspoken: Vec<&str> =
            guarded.iter().map(|g| g.value).chain(texts.filter(|text| long_enough(text))).collect();
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
            for guarded in self.guarded.iter().filter(|guarded| text.contains(guarded.value)) {
                let why = &guarded.why;
                let message = format!("{field} contains the value of {why}; say it without");
                violations.push(Violation::new(Code::ContextForbidden, field, message));
            }
        }
        for snippet in context.iter().map(|entry| &entry.snippet) {
            let found = |guarded: &&Guarded<'_>| snippet.text.contains(guarded.value);
            for guarded in self.guarded.iter().filter(found) {
                let (key, why) = (self.quote(&snippet.card.key), &guarded.why);
                let message = format!("context {key} contains the value of {why}");
                violations.push(Violation::new(Code::ContextForbidden, "context_keys", message));
            }
        }
    }

    /// An item of the request for a message: on one line, without any value that stays unspoken.
    pub(super) fn quote(&self, item: &str) -> String {
        if item.len() > MAX_QUOTE_BYTES {
            return format!("(an item of {} bytes)", item.len());
        }
        let mut shown = item.to_owned();
        for value in &self.unspoken {
            if shown.contains(value) {
                shown = shown.replace(value, "[redacted]");
            }
        }
        format!("`{}`", shown.replace(char::is_control, " "))
    }
}

fn guarded_snippet(entry: &Entry, local_child: bool) -> Option<Guarded<'_>> {
    let key = &entry.snippet.card.key;
    let why = match entry.sensitivity {
        Sensitivity::Normal => return None,
        Sensitivity::LocalOnly if local_child => return None,
        Sensitivity::LocalOnly => format!("`{key}`, which may not leave this machine"),
        Sensitivity::Secret => format!("the secret `{key}`"),
    };
    Some(Guarded { value: entry.snippet.text.trim(), why })
}

fn long_enough(value: &str) -> bool {
    value.chars().take(LEAST_CHARS).count() == LEAST_CHARS
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
