//! What every wire over HTTP shares: where to, with which client, and what a failure is in words.
//! It knows nothing of any model's format.

use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use reqwest::header::{
    CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use tokio::sync::OnceCell;

use super::ProviderError;
pub use super::network::Network;
pub use super::words::{is_too_long, json_words, network_words, one_line, server_words};

/// Bytes of an error body that are read, and the time that they may take.
const ERROR_BODY_BYTES: usize = 64 * 1024;
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of an answer that is not streamed.
const WHOLE_BODY_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of a secret from which on it is looked for in a server's words: a shorter one would be
/// found everywhere.
const SHORTEST_HIDDEN: usize = 6;
/// The longest wait that is taken from a server: a day.
const LONGEST_WAIT: Duration = Duration::from_hours(24);

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
                "the base URL \"{shown}\" cannot be used: {detail}; it should begin with https:// \
                 or http:// and name a host"
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

    /// The same address with one more pair in its query.
    #[must_use]
    pub fn with_query(mut self, key: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(key, value);
        self
    }

    /// The whole address.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The host, with the port where it is not the scheme's own.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The variable that names a proxy for this address, if one is set. The proxy's own address
    /// may hold a password and is not repeated.
    fn proxy_variable(&self) -> Option<&'static str> {
        let names: &[&str] = match self.url.scheme() {
            "https" => &["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"],
            _ => &["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"],
        };
        let is_set = |name: &&&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if self.is_loopback() { None } else { names.iter().find(is_set).copied() }
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

/// An HTTP client for one endpoint, built at its first use: building one with TLS takes long
/// enough to be seen, and fails where a machine has no CA certificates. Its errors never repeat
/// the secrets that it was told to hide, as some servers do.
#[derive(Debug)]
pub struct LazyClient {
    endpoint: Endpoint,
    network: Network,
    client: OnceCell<Client>,
    hidden: Vec<SecretString>,
}

impl LazyClient {
    /// A client for one endpoint.
    pub fn new(endpoint: Endpoint) -> Self {
        let network = Network::default();
        Self { endpoint, network, client: OnceCell::new(), hidden: Vec::new() }
    }

    /// The same client over another network.
    #[must_use]
    pub fn over(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// The same client, whose errors do not repeat any of `secrets`.
    #[must_use]
    pub fn hiding(mut self, secrets: impl IntoIterator<Item = SecretString>) -> Self {
        self.hidden.extend(secrets);
        self
    }

    /// Where it sends to.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The client.
    pub async fn get(&self) -> Result<&Client, ProviderError> {
        self.client.get_or_try_init(|| self.network.client(&self.endpoint)).await
    }

    /// Sends `body` and waits for the head of the answer, which is one of success.
    pub async fn post(&self, headers: &HeaderMap, body: &Value) -> Result<Response, ProviderError> {
        let client = self.get().await?;
        let post = client.post(self.endpoint.url.clone()).headers(headers.clone()).json(body);
        let response = post.send().await.map_err(|error| self.unreachable(error))?;
        if response.status().is_success() {
            Ok(response)
        } else {
            Err(self.status_error(response).await)
        }
    }

    /// Asks for one JSON value.
    pub async fn get_json(&self, headers: &HeaderMap) -> Result<Value, ProviderError> {
        let get = self.get().await?.get(self.endpoint.url.clone()).headers(headers.clone());
        let response = get.send().await.map_err(|error| self.unreachable(error))?;
        if response.status().is_success() {
            self.read_json(response).await
        } else {
            Err(self.status_error(response).await)
        }
    }

    /// The whole body as one JSON value.
    pub async fn read_json(&self, response: Response) -> Result<Value, ProviderError> {
        let body = self.read_whole(response).await?;
        serde_json::from_str(&body).map_err(|_| {
            let words = server_words(body.as_bytes());
            self.broken(format!("it is no JSON but says \"{words}\""))
        })
    }

    /// The whole body of an answer that is not streamed.
    pub async fn read_whole(&self, mut response: Response) -> Result<String, ProviderError> {
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(bytes)) if body.len() + bytes.len() <= WHOLE_BODY_BYTES => {
                    body.extend_from_slice(&bytes);
                }
                Ok(Some(_)) => {
                    return Err(self.broken(format!("it has more than {WHOLE_BODY_BYTES} bytes")));
                }
                Ok(None) => break,
                Err(error) => return Err(self.broken(network_words(error))),
            }
        }
        String::from_utf8(body).map_err(|_| self.broken("it is no UTF-8"))
    }

    /// A failure to send or to connect, in words.
    pub fn unreachable(&self, error: reqwest::Error) -> ProviderError {
        let mut detail = self.hide(network_words(error));
        if let Some(variable) = self.endpoint.proxy_variable() {
            detail = format!("{detail} ({variable} is set, so a proxy may stand between)");
        }
        ProviderError::Unreachable { host: self.endpoint.host.clone(), detail }
    }

    /// An answer that makes no sense or broke off.
    pub fn broken(&self, detail: impl Into<String>) -> ProviderError {
        self.failure(None, detail.into(), None)
    }

    /// A failure that a server reports, by the HTTP status that it gives or stands for and by its
    /// words. A prompt that does not fit is told apart by those.
    pub fn failure(
        &self,
        status: Option<u16>,
        detail: String,
        retry_after: Option<Duration>,
    ) -> ProviderError {
        let host = self.endpoint.host.clone();
        let too_long = is_too_long(status, &detail);
        let detail = self.hide(detail);
        match status {
            _ if too_long => ProviderError::ContextExceeded { host, detail },
            Some(status) => ProviderError::Status { host, status, detail, retry_after },
            None => ProviderError::Broken { host, detail },
        }
    }

    /// A server's error answer, its body put into one clean line.
    pub async fn status_error(&self, response: Response) -> ProviderError {
        let status = response.status();
        let location = response.headers().get(LOCATION).cloned();
        let wait = retry_after(response.headers(), SystemTime::now());
        let body = read_some(response, ERROR_BODY_BYTES).await;
        let mut detail = server_words(&body);
        if detail.is_empty() {
            status.canonical_reason().unwrap_or("no explanation").clone_into(&mut detail);
        }
        if let Some(location) = location.as_ref().and_then(|place| place.to_str().ok()) {
            let place = one_line(location, 100);
            detail = format!("{detail}; it redirects to {place}, which is not followed with a key");
        }
        if status.as_u16() == 404 && self.lacks_version() {
            detail.push_str("; is a /v1 missing at the end of the base URL?");
        }
        self.failure(Some(status.as_u16()), detail, wait)
    }

    /// `text` without the secrets that it repeats.
    pub fn hide(&self, text: String) -> String {
        let secrets = self.hidden.iter().map(|secret| secret.expose_secret().trim());
        secrets
            .filter(|secret| secret.len() >= SHORTEST_HIDDEN)
            .fold(text, |text, secret| text.replace(secret, "[key]"))
    }

    fn lacks_version(&self) -> bool {
        let path = self.endpoint.url.path();
        path.matches('/').count() <= 2 && !path.starts_with("/v1/") && !path.starts_with("/api/")
    }
}

/// `name: value` headers of a user's own. Their values may be secrets, so they are never shown.
pub fn header_map(headers: &[(String, SecretString)]) -> Result<HeaderMap, ProviderError> {
    let mut map = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let refuse = |what: &str| {
            let shown = one_line(name, 60);
            ProviderError::Setup(format!(
                "the header \"{shown}\" cannot be sent: its {what} holds a character that headers \
                 cannot have"
            ))
        };
        let key = HeaderName::try_from(name.trim()).map_err(|_| refuse("name"))?;
        let value = secret_value("", value).ok_or_else(|| refuse("value"))?;
        map.insert(key, value);
    }
    Ok(map)
}

/// A key as a header's value after `prefix`.
pub fn key_header(prefix: &str, key: &SecretString) -> Result<HeaderValue, ProviderError> {
    secret_value(prefix, key).ok_or_else(|| {
        ProviderError::Setup(
            "the API key holds a character that cannot be sent (a line break?); check where it \
             comes from"
                .to_owned(),
        )
    })
}

fn secret_value(prefix: &str, secret: &SecretString) -> Option<HeaderValue> {
    let text = format!("{prefix}{}", secret.expose_secret().trim());
    let mut value = HeaderValue::from_str(&text).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// True unless the server says that it sends something else; some say nothing, or `text/plain`.
pub fn is_event_stream(response: &Response) -> bool {
    content_type(response)
        .is_none_or(|kind| kind.starts_with("text/event-stream") || kind.starts_with("text/plain"))
}

/// True if the server says that it sends one JSON value.
pub fn is_json(response: &Response) -> bool {
    content_type(response).is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind == "application/json" || kind.ends_with("+json")
    })
}

fn content_type(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?.to_str().ok()?;
    Some(kind.trim().to_ascii_lowercase())
}

/// How long a server asks to wait: `retry-after-ms`, or `retry-after` as seconds or as a date. A
/// date is taken against the server's own clock where it tells it, else against `now`.
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0);
    let date = |text: &str| httpdate::parse_http_date(text).ok();
    let wait = |seconds: f64| Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_WAIT);
    let asked = || {
        let asked = text(RETRY_AFTER.as_str())?;
        number(asked).map(wait).or_else(|| {
            let now = text(DATE.as_str()).and_then(date).unwrap_or(now);
            Some(date(asked)?.duration_since(now).unwrap_or_default())
        })
    };
    let ms = text("retry-after-ms").and_then(number).map(|ms| wait(ms / 1_000.0));
    ms.or_else(asked).map(|wait| wait.min(LONGEST_WAIT))
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
        assert_eq!(
            server_words(&[b'x'; 1_000]).chars().count(),
            super::super::words::ERROR_CHARS + 1
        );
    }

    #[test]
    fn a_wait_is_read_as_seconds_milliseconds_or_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let date = "Sun, 06 Nov 1994 08:49:39 GMT";
        let skewed = "Sun, 06 Nov 1994 08:49:09 GMT";
        let wait = |ms: u64| Some(Duration::from_millis(ms));
        for (headers, expected) in [
            (&[("retry-after", "2")][..], wait(2_000)),
            (&[("retry-after", " 1.5 ")], wait(1_500)),
            (&[("retry-after", "0")], wait(0)),
            (&[("retry-after", "99999999999999999999")], Some(LONGEST_WAIT)),
            (&[("retry-after", "1e400")], Some(LONGEST_WAIT)),
            (&[("retry-after", date)], wait(2_000)),
            (&[("retry-after", date), ("date", skewed)], wait(30_000)),
            (&[("retry-after", skewed)], wait(0)),
            (&[("retry-after-ms", "250"), ("retry-after", "1")], wait(250)),
            (&[("retry-after", "-1")], None),
            (&[("retry-after", "NaN")], None),
            (&[("retry-after", "soon")], None),
            (&[], None),
        ] {
            let pairs = headers.iter().map(|(name, value)| {
                (HeaderName::from_static(name), HeaderValue::from_static(value))
            });
            assert_eq!(retry_after(&pairs.collect(), now), expected, "{headers:?}");
        }
    }

    #[test]
    fn a_prompt_that_does_not_fit_is_told_from_other_refusals() {
        for (status, words, expected) in [
            (400, "prompt is too long: 214676 tokens > 200000 maximum", true),
            (400, "input length and `max_tokens` exceed context limit: 190000 + 21333", true),
            (400, "This model's maximum context length is 8192 tokens", true),
            (400, "too big (context_length_exceeded)", true),
            (400, "Your input exceeds the context window of this model", true),
            (400, "request (3030 tokens) exceeds the available context size", true),
            (400, "prompt too long; exceeded max context length by 1119046 tokens", true),
            (400, "The input token count (9) exceeds the maximum number of tokens", true),
            (500, "the input length exceeds the context length", true),
            (413, "Request exceeds the maximum size (request_too_large)", true),
            (413, "request_too_large: Limit 6000 tokens per minute", false),
            (429, "maximum context length", false),
            (400, "temperature: range: 0..1", false),
            (400, "max_tokens: 9 > 8, which is the maximum allowed number", false),
        ] {
            assert_eq!(is_too_long(Some(status), words), expected, "{status} {words}");
        }
    }

    #[test]
    fn headers_of_a_users_own_are_checked_and_hidden() {
        let pair = |name: &str, value: &str| (name.to_owned(), SecretString::from(value));
        let map = header_map(&[pair("X-Team", " blue-secret "), pair("x-b", "")]).unwrap();
        assert_eq!(map.get("x-team").unwrap(), "blue-secret");
        assert!(!format!("{map:?}").contains("blue"), "{map:?}");
        for (name, value) in [("bad name", "v"), ("x", "line\nbreak-secret")] {
            let error = header_map(&[pair(name, value)]).unwrap_err().to_string();
            assert!(error.contains(name) && !error.contains("secret"), "{error}");
        }
    }
}
