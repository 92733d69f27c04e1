//! A provider that remembers what it was asked.

use std::sync::{Arc, Mutex};

use offshoot::provider::{ChunkStream, Identity, Provider, Request};

pub struct Spy {
    inner: Arc<dyn Provider>,
    requests: Mutex<Vec<Request>>,
}

impl Spy {
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner, requests: Mutex::default() }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Provider for Spy {
    fn identity(&self) -> &Identity {
        self.inner.identity()
    }

    fn stream(&self, request: Request) -> ChunkStream {
        self.requests.lock().unwrap().push(request.clone());
        self.inner.stream(request)
    }
}
