//! A provider that remembers what it was asked.

use std::sync::{Arc, Mutex};

use offshoot::provider::{ChunkStream, Identity, LearnFuture, ModelsFuture, Provider, Request};

pub struct Spy {
    inner: Arc<dyn Provider>,
    identity: Option<Identity>,
    requests: Mutex<Vec<Request>>,
}

impl Spy {
    /// Watches a provider; `window` is what it says of its context window.
    pub fn new(inner: Arc<dyn Provider>, window: Option<u64>) -> Self {
        let identity = window.map(|window| {
            let identity = inner.identity().clone();
            Identity { context_window: Some(window), ..identity }
        });
        Self { inner, identity, requests: Mutex::default() }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Provider for Spy {
    fn identity(&self) -> &Identity {
        self.identity.as_ref().unwrap_or_else(|| self.inner.identity())
    }

    fn learn(&self) -> LearnFuture {
        self.inner.learn()
    }

    fn models(&self) -> ModelsFuture {
        self.inner.models()
    }

    fn stream(&self, request: Request) -> ChunkStream {
        self.requests.lock().unwrap().push(request.clone());
        self.inner.stream(request)
    }
}
