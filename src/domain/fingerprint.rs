//! What makes two tasks the same task: what is asked, of whom, about what and where. Limits and
//! the words for the screen do not count.

use std::collections::BTreeSet;

use super::hash::Sha;
use super::scope::PathScope;

/// The fingerprint of a task. White space in the texts and the order of context and scopes make no
/// difference.
pub fn fingerprint<'a>(
    task: &str,
    expected_output: &str,
    role: &str,
    context: impl IntoIterator<Item = &'a Sha>,
    paths: &[PathScope],
) -> Sha {
    let context: BTreeSet<&str> = context.into_iter().map(Sha::as_str).collect();
    let paths: BTreeSet<String> = paths.iter().map(PathScope::to_string).collect();
    // As JSON, so that no text can pretend to be the next field.
    let parts = serde_json::json!([
        "task/1",
        one_spaced(task),
        one_spaced(expected_output),
        role,
        context,
        paths
    ]);
    Sha::of(parts.to_string())
}

fn one_spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
