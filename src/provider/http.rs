//! What every wire over HTTP shares: where to, with which client, and what a failure is in words.
//! It knows nothing of any model's format.

use std::error::Error;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::{Client, Response, Url, redirect};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::ProviderError;

/// Time that a connection may take to come up, TLS included.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Bytes of an error body that are read, and the time that they may take.
const ERROR_BODY_BYTES: usize = 64 * 1024;
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// Characters of a server's words that are shown.
const ERROR_CHARS: usize = 300;

/// Where requests go.
#[derive(Debug, Clone)]
pub struct Endpoint {
    url: Url,
    host: String,
}

impl Endpoint {
    /// The address that `path` has below `base_url`.
    pub fn new(base_url: &str, path: &[&str]) -> Result<Self, ProviderError> {
        let refuse = |detail: &str| {
            let shown = one_line(base_url, 100);
            ProviderError::Setup(format!(
                "the base URL \"{shown}\" cannot be used: {detail}; it should look like \
                 https://api.openai.com/v1"
            ))
        };
        let mut url = Url::parse(base_url.trim()).map_err(|error| refuse(&error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse("it is neither http nor https"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            // Not quoted: what is written there is a secret.
            return Err(ProviderError::Setup(
                "the base URL holds a user name or password; give the key as API key instead"
                    .to_owned(),
            ));
        }
        let name = url.host_str().ok_or_else(|| refuse("it names no host"))?;
        let host = url.port().map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
        url.path_segments_mut()
            .map_err(|()| refuse("it cannot have a path"))?
            .pop_if_empty()
            .extend(path);
        Ok(Self { url, host })
    }

    /// The whole address.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The host, with the port where it is not the scheme's own.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// True if the host is this machine.
    pub fn is_loopback(&self) -> bool {
        let name = self.url.host_str().unwrap_or_default();
        let address = name.trim_start_matches('[').trim_end_matches(']');
        name == "localhost"
            || name.ends_with(".localhost")
            || address.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
    }
}

/// An HTTP client that is built at its first use: building one with TLS takes long enough to be
/// seen, and fails where a machine has no CA certificates.
#[derive(Debug)]
pub struct LazyClient {
    endpoint: Endpoint,
    client: OnceCell<Client>,
}

impl LazyClient {
    /// A client for one endpoint.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint, client: OnceCell::new() }
    }

    /// Where it sends to.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The client.
    pub async fn get(&self) -> Result<&Client, ProviderError> {
        self.client.get_or_try_init(|| build_off_the_runtime(self.endpoint.clone())).await
    }

    /// A failure to send or to connect, in words.
    pub fn unreachable(&self, error: reqwest::Error) -> ProviderError {
        ProviderError::Unreachable {
            host: self.endpoint.host.clone(),
            detail: network_words(error),
        }
    }

    /// An answer that makes no sense or broke off.
    pub fn broken(&self, detail: impl Into<String>) -> ProviderError {
        ProviderError::Broken { host: self.endpoint.host.clone(), detail: detail.into() }
    }

    /// A server's error answer, its body put into one clean line.
    pub async fn status_error(&self, response: Response) -> ProviderError {
        let status = response.status();
        let location = response.headers().get(reqwest::header::LOCATION).cloned();
        let body = read_some(response, ERROR_BODY_BYTES).await;
        let mut detail = server_words(&body);
        if detail.is_empty() {
            status.canonical_reason().unwrap_or("no explanation").clone_into(&mut detail);
        }
        if let Some(location) = location.as_ref().and_then(|place| place.to_str().ok()) {
            let place = one_line(location, 100);
            detail = format!("{detail}; it redirects to {place}, which is not followed with a key");
        }
        if status.as_u16() == 404 && self.endpoint.url.path().matches('/').count() <= 2 {
            detail.push_str("; is a /v1 missing at the end of the base URL?");
        }
        ProviderError::Status {
            host: self.endpoint.host.clone(),
            status: status.as_u16(),
            detail,
            retry_after: None,
        }
    }
}

/// The first bytes of a body; less if it is slow or breaks off.
pub async fn read_some(mut response: Response, limit: usize) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while body.len() < limit {
            let Ok(Some(bytes)) = response.chunk().await else { break };
            let room = limit - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    };
    // What came in time is worth showing, so a timeout is no error.
    let _ = tokio::time::timeout(ERROR_BODY_TIMEOUT, read).await;
    body
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

async fn build_off_the_runtime(endpoint: Endpoint) -> Result<Client, ProviderError> {
    // Reading the machine's certificates blocks for about 100 ms in a debug build.
    let built = tokio::task::spawn_blocking(move || build(&endpoint)).await;
    built.unwrap_or_else(|error| {
        Err(ProviderError::Setup(format!("the HTTP client could not be built: {error}")))
    })
}

fn build(endpoint: &Endpoint) -> Result<Client, ProviderError> {
    // Fails only if a provider is installed already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("offshoot/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        // A redirect could carry the conversation, or a key, to another host.
        .redirect(redirect::Policy::none());
    if endpoint.url.scheme() == "http" {
        builder = builder.tls_certs_only([]);
    }
    if endpoint.is_loopback() {
        // What is called local must not leave the machine through a proxy.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| {
        ProviderError::Setup(format!(
            "TLS connections cannot be made on this machine: {}; install the system's CA \
             certificates (often a package named ca-certificates)",
            network_words(error)
        ))
    })
}

/// The innermost cause, which is the one that says something, without the URL.
pub fn network_words(error: reqwest::Error) -> String {
    let error = error.without_url();
    if error.is_timeout() && error.is_connect() {
        return format!("no connection within {} s", CONNECT_TIMEOUT.as_secs());
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn an_endpoint_is_below_its_base_with_or_without_a_slash() {
        for (base, url, host, loopback) in [
            ("https://api.openai.com/v1", "https://api.openai.com/v1/x/y", "api.openai.com", false),
            ("http://127.0.0.1:8080/v1/", "http://127.0.0.1:8080/v1/x/y", "127.0.0.1:8080", true),
            (" http://localhost ", "http://localhost/x/y", "localhost", true),
            ("http://[::1]:1/?k=v", "http://[::1]:1/x/y?k=v", "[::1]:1", true),
            (
                "http://localhost.evil.com",
                "http://localhost.evil.com/x/y",
                "localhost.evil.com",
                false,
            ),
        ] {
            let endpoint = Endpoint::new(base, &["x", "y"]).unwrap();
            assert_eq!(endpoint.url().as_str(), url);
            assert_eq!((endpoint.host(), endpoint.is_loopback()), (host, loopback));
        }
    }

    #[test]
    fn unusable_bases_are_refused_and_a_password_in_one_is_not_repeated() {
        for base in ["", "api.openai.com/v1", "ftp://x/", "http://", "data:x", "https://u:pw@x/v1"]
        {
            let error = Endpoint::new(base, &["x"]).unwrap_err();
            assert!(matches!(error, ProviderError::Setup(_)), "{base}");
            assert!(!error.to_string().contains("pw"), "{error}");
        }
    }

    #[test]
    fn a_servers_words_are_one_clean_line() {
        let page = "<!DOCTYPE html><html><head><TITLE>502\n Bad gateway</title></head><body>\u{1b}]0;x\u{7}";
        for (body, words) in [
            (page, "502 Bad gateway"),
            ("<html>", "an HTML page"),
            (
                r#"{"error":{"message":"no\u001b[2J key","code":"invalid_key"}}"#,
                "no [2J key (invalid_key)",
            ),
            (r#"{"error":"model not found"}"#, "model not found"),
            (r#"[{"error":{"message":"quota","code":429}}]"#, "quota"),
            (
                r#"{"message":"Invalid model","type":"invalid_model"}"#,
                "Invalid model (invalid_model)",
            ),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            ("plain\r\n\twords \u{202e}x", "plain words x"),
            ("", ""),
        ] {
            assert_eq!(server_words(body.as_bytes()), words);
        }
        assert_eq!(server_words(&[b'x'; 1_000]).chars().count(), ERROR_CHARS + 1);
    }
}
