//! How long a server may take and how often it is asked again.

use std::time::Duration;

/// The limits of waiting for a model's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// For a connection, TLS included.
    pub connect: Duration,
    /// From the request to the first sign of an answer.
    pub headers: Duration,
    /// Between two signs of life in an answer.
    pub stall: Duration,
    /// How often a request that failed is made again; 0 for never.
    pub retries: u32,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            headers: Duration::from_secs(60),
            stall: Duration::from_secs(60),
            retries: 4,
        }
    }
}
