//! Content hashes: a name for bytes that cannot lie about them.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A SHA-256 in lower-case hexadecimal, 64 characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sha(String);

impl Sha {
    /// The hash of these bytes.
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        let digest = Sha256::digest(bytes.as_ref());
        let mut text = String::with_capacity(64);
        for byte in digest {
            for nibble in [byte >> 4, byte & 0xf] {
                text.push(char::from_digit(u32::from(nibble), 16).unwrap_or('0'));
            }
        }
        Self(text)
    }

    /// All 64 characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The first half, 128 bits: enough that nobody finds a text that holds its own.
    pub fn fence(&self) -> &str {
        self.0.get(..32).unwrap_or(&self.0)
    }

    /// The first eight characters, for people.
    pub fn short(&self) -> &str {
        self.0.get(..8).unwrap_or(&self.0)
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
