//! What went wrong, in words: one line out of whatever a server or the network said. It sends
//! nothing and knows no wire.

use std::error::Error;

use serde_json::Value;

/// Characters of a server's words that are shown.
pub(super) const ERROR_CHARS: usize = 300;

/// What servers say when a prompt, or a prompt and its answer, do not fit into the model. In lower
/// case; collected from the error bodies of the providers that this program speaks to.
const TOO_LONG: &[&str] = &[
    "context_length_exceeded",
    "exceed_context_size",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "exceed context limit",
    "maximum context length",
    "max context length",
    "maximum prompt length",
    "exceeds the context window",
    "exceeds the context length",
    "exceeds the available context size",
    "exceeds the maximum number of tokens",
    "request_too_large",
];

/// True if an error of this status and these words says that the prompt does not fit into the
/// model. A request that is too big for a rate limit is no such error: waiting helps there.
pub fn is_too_long(status: Option<u16>, words: &str) -> bool {
    let about_the_request = matches!(status, None | Some(400 | 413 | 422 | 500));
    let words = words.to_ascii_lowercase();
    about_the_request
        && TOO_LONG.iter().any(|phrase| words.contains(phrase))
        && !words.contains("per minute")
}

/// What a server says in an error body: its message, an HTML page's title, or its first words.
pub fn server_words(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    if let Ok(value) = serde_json::from_str::<Value>(&text)
        && let Some(words) = json_words(&value)
    {
        return words;
    }
    if text.trim_start().starts_with('<') {
        let title = html_title(&text).map(|title| one_line(title, ERROR_CHARS));
        return title.filter(|title| !title.is_empty()).unwrap_or("an HTML page".to_owned());
    }
    one_line(&text, ERROR_CHARS)
}

/// The message of an error object in any of the usual places, with its code where it has one.
pub fn json_words(value: &Value) -> Option<String> {
    let value = value.get(0).unwrap_or(value);
    let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(value);
    let message = [error.as_str(), str_at(error, "message"), str_at(error, "detail")];
    let message = message.into_iter().flatten().find(|words| !words.trim().is_empty())?;
    let code = str_at(error, "code").or_else(|| str_at(error, "type"));
    let words = match code.filter(|code| !code.is_empty() && !message.contains(code)) {
        Some(code) => format!("{message} ({code})"),
        None => message.to_owned(),
    };
    Some(one_line(&words, ERROR_CHARS))
}

/// `text` as one line without control or direction characters, at most `limit` characters long.
pub fn one_line(text: &str, limit: usize) -> String {
    let visible = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let visible: String = visible.filter(|c| !is_invisible(*c)).collect();
    let joined = visible.split_whitespace().collect::<Vec<_>>().join(" ");
    match joined.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &joined[..end]),
        None => joined,
    }
}

/// The innermost cause, which is the one that says something, without the URL.
pub fn network_words(error: reqwest::Error) -> String {
    let error = error.without_url();
    if error.is_timeout() && error.is_connect() {
        return "no connection came up in time".to_owned();
    }
    let mut cause: &dyn Error = &error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    let words = cause.to_string();
    one_line(words.strip_prefix("unexpected error: ").unwrap_or(&words), ERROR_CHARS)
}

fn str_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn html_title(page: &str) -> Option<&str> {
    // ASCII lowering keeps every byte position.
    let lower = page.to_ascii_lowercase();
    let tag = lower.find("<title")?;
    let start = tag + lower[tag..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    Some(&page[start..end])
}

fn is_invisible(c: char) -> bool {
    matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{2069}' | '\u{FEFF}')
}
