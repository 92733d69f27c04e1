//! A server that answers each request with prepared bytes, in whatever pieces, and remembers what
//! it was asked.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

/// What it sends after it has read a request.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    /// Lines of the head, without line ends.
    pub headers: Vec<String>,
    pub body: Vec<u8>,
    /// Bytes in one write.
    pub split: usize,
    pub end: End,
}

/// What it does after the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Close,
    /// It keeps the connection open and waits for the other end to close it.
    Hang,
    /// It closes the connection while the head promised more.
    Break,
}

impl Reply {
    /// The status of a server that reads the request and never answers.
    pub const SILENT: u16 = 0;

    pub fn new(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        let headers =
            if kind.is_empty() { Vec::new() } else { vec![format!("content-type: {kind}")] };
        Self { status, headers, body: body.into(), split: usize::MAX, end: End::Close }
    }

    pub fn events(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, "text/event-stream; charset=utf-8", body)
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    #[must_use]
    pub fn header(mut self, line: &str) -> Self {
        self.headers.push(line.to_owned());
        self
    }

    #[must_use]
    pub fn split(self, split: usize) -> Self {
        Self { split, ..self }
    }

    #[must_use]
    pub fn ending(self, end: End) -> Self {
        Self { end, ..self }
    }

    fn head(&self) -> String {
        let mut lines = vec![format!("HTTP/1.1 {} X", self.status)];
        lines.extend(self.headers.iter().cloned());
        if self.end == End::Break {
            lines.push(format!("content-length: {}", self.body.len() + 1_000));
        }
        lines.push("connection: close\r\n\r\n".to_owned());
        lines.join("\r\n")
    }
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    pub head: String,
    pub body: Value,
}

/// What a server saw.
#[derive(Debug, PartialEq)]
pub enum Seen {
    Request,
    Closed,
}

pub struct RawServer {
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    pub seen: mpsc::UnboundedReceiver<Seen>,
    asked: Arc<Mutex<Vec<Asked>>>,
    check: fn(&Value) -> Vec<String>,
}

impl RawServer {
    /// Gives the replies in order, the last one again and again. `check` finds what is wrong in a
    /// request.
    pub async fn start(replies: Vec<Reply>, check: fn(&Value) -> Vec<String>) -> Self {
        Self::start_at("127.0.0.1", replies, check).await
    }

    /// The same at another address of this machine.
    pub async fn start_at(
        address: &str,
        replies: Vec<Reply>,
        check: fn(&Value) -> Vec<String>,
    ) -> Self {
        let listener = TcpListener::bind((address, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (tell, seen) = mpsc::unbounded_channel();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut replies = replies.into_iter();
            let mut reply = replies.next().unwrap();
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(serve(connection, reply.clone(), Arc::clone(&noted), tell.clone()));
                reply = replies.next().unwrap_or(reply);
            }
        });
        Self { url, seen, asked, check }
    }

    /// Where it listens.
    pub fn port(&self) -> &str {
        self.url.rsplit(':').next().unwrap()
    }

    /// The requests so far; none of them may break a rule.
    pub fn asked(&self) -> Vec<Asked> {
        let asked = self.asked.lock().unwrap().clone();
        for (index, request) in asked.iter().enumerate() {
            let found = (self.check)(&request.body);
            assert!(found.is_empty(), "request {index}: {found:?}\n{:#}", request.body);
        }
        asked
    }

    /// The last request, unchecked.
    pub fn last(&self) -> Value {
        self.asked.lock().unwrap().last().unwrap().body.clone()
    }

    pub fn bodies(&self) -> Vec<Value> {
        self.asked().into_iter().map(|asked| asked.body).collect()
    }
}

impl Drop for RawServer {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.asked();
        }
    }
}

async fn serve(
    mut connection: TcpStream,
    reply: Reply,
    asked: Arc<Mutex<Vec<Asked>>>,
    tell: mpsc::UnboundedSender<Seen>,
) {
    connection.set_nodelay(true).unwrap();
    let Some(request) = read_request(&mut connection).await else { return };
    asked.lock().unwrap().push(request);
    let _ = tell.send(Seen::Request);
    if reply.status != Reply::SILENT {
        let _ = connection.write_all(reply.head().as_bytes()).await;
    }
    for piece in reply.body.chunks(reply.split) {
        if connection.write_all(piece).await.is_err() {
            return;
        }
        if reply.split < reply.body.len() {
            // Gives the reader a chance to see the piece by itself.
            tokio::task::yield_now().await;
        }
    }
    if reply.end == End::Hang {
        let mut rest = [0; 64];
        while !matches!(connection.read(&mut rest).await, Ok(0) | Err(_)) {}
        let _ = tell.send(Seen::Closed);
    }
}

async fn read_request(connection: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let mut piece = [0; 4_096];
        let count = connection.read(&mut piece).await.ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&piece[..count]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.trim().parse::<usize>().unwrap())
        });
        let body = &bytes[end + 4..];
        if body.len() >= length.unwrap() {
            return Some(Asked { head, body: serde_json::from_slice(body).unwrap() });
        }
    }
}
