//! A provider that was asked for and cannot answer: every request is told why. It keeps a session
//! usable, so that its user can read the reason and choose another one.

use futures_util::stream;

use super::{ChunkStream, Identity, Provider, ProviderError, Request};
use crate::domain::usage::Prices;

/// Nobody.
#[derive(Debug)]
pub struct Nobody {
    identity: Identity,
    why: String,
}

impl Nobody {
    /// Stands for this provider, and says why it does not answer and what to do.
    pub fn new(provider: &str, why: String) -> Self {
        let identity = Identity {
            provider: provider.to_owned(),
            model: "no model".to_owned(),
            host: None,
            local: true,
            // What does not answer costs nothing.
            prices: Some(Prices::FREE),
            max_output_tokens: 8_192,
            context_window: None,
            is_language_model: false,
        };
        Self { identity, why }
    }
}

impl Provider for Nobody {
    fn identity(&self) -> &Identity {
        &self.identity
    }

    fn stream(&self, _request: Request) -> ChunkStream {
        let error = ProviderError::Setup(self.why.clone());
        Box::pin(stream::once(std::future::ready(Err(error))))
    }
}
