//! What a model request cost, and money as integers.

use std::fmt;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount of money in millionths of a US dollar. Written to files as dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// From dollars, rounded up to a micro-dollar; `None` unless finite and not negative.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked first"
    )]
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let exact = dollars * 1e6;
        // 1.1 dollars are 1,100,000 micro-dollars, not one more for the noise of the product.
        let near = (exact - exact.round()).abs() < 1e-4;
        let micro = if near && exact.round() > 0.0 { exact.round() } else { exact.ceil() };
        (0.0..1e18).contains(&micro).then_some(Self(micro as u64))
    }

    /// As dollars, for files and people.
    #[expect(clippy::cast_precision_loss, reason = "exact below a billion dollars")]
    pub fn dollars(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.0 > 0 && self.0 < 10_000 { 4 } else { 2 };
        write!(f, "${:.digits$}", self.dollars())
    }
}

impl Add for MicroUsd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Serialize for MicroUsd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.dollars())
    }
}

impl<'de> Deserialize<'de> for MicroUsd {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range is checked first"
    )]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let micro = (f64::deserialize(deserializer)? * 1e6).round();
        if (0.0..1e18).contains(&micro) {
            Ok(Self(micro as u64))
        } else {
            Err(serde::de::Error::custom("a cost is a number of dollars from 0"))
        }
    }
}

/// Tokens and money of one or more model requests.
///
/// `input_tokens` counts all prompt tokens: uncached, cache reads and cache writes together.
/// `output_tokens` includes reasoning.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// All prompt tokens.
    pub input_tokens: u64,
    /// All generated tokens, reasoning included.
    pub output_tokens: u64,
    /// The part of the prompt that was read from the provider's cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// The part of the prompt that was written to the provider's cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// The part of the output that was reasoning.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// What it cost; `None` while the model's price is unknown.
    pub cost_usd: Option<MicroUsd>,
    /// True if any of it was estimated here rather than told by the provider.
    #[serde(default)]
    pub estimated: bool,
}

impl Usage {
    /// Nothing used, at a known cost of zero: the neutral element of `+=` for priced models.
    pub fn none() -> Self {
        Self { cost_usd: Some(MicroUsd(0)), ..Self::default() }
    }
}

impl Usage {
    /// The figures of an answer that broke off: what was told so far may be no more than a
    /// placeholder, so the output is at least what came in by estimate.
    #[must_use]
    pub fn at_least(self, came_in: &Self) -> Self {
        if came_in.output_tokens <= self.output_tokens {
            return self;
        }
        Self {
            output_tokens: came_in.output_tokens,
            // A cost that was told belongs to the smaller figure.
            cost_usd: None,
            estimated: true,
            ..self
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(other.cache_read_tokens);
        self.cache_write_tokens = self.cache_write_tokens.saturating_add(other.cache_write_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(a), Some(b)) => Some(a + b),
            (None, _) | (_, None) => None,
        };
        self.estimated |= other.estimated;
    }
}

/// What a model charges, in micro-dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    /// Per million uncached prompt tokens.
    pub input: u64,
    /// Per million generated tokens.
    pub output: u64,
    /// Per million prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Per million prompt tokens written to the provider's cache.
    pub cache_write: u64,
}

impl Prices {
    /// A model that costs nothing, such as the embedded one.
    pub const FREE: Self = Self::uncached(0, 0);

    /// The prices of a provider without a cache, in micro-dollars per million tokens.
    pub const fn uncached(input: u64, output: u64) -> Self {
        Self { input, output, cache_read: input, cache_write: input }
    }

    /// What a request cost, rounded up to a micro-dollar.
    pub fn cost_of(&self, usage: &Usage) -> MicroUsd {
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        Self::sum([
            (self.input, usage.input_tokens.saturating_sub(cached)),
            (self.cache_read, usage.cache_read_tokens),
            (self.cache_write, usage.cache_write_tokens),
            (self.output, usage.output_tokens),
        ])
    }

    /// The most that this many tokens can cost, whatever of the prompt is cached, rounded up to a
    /// micro-dollar.
    pub fn cost(&self, input_tokens: u64, output_tokens: u64) -> MicroUsd {
        self.cost_after(0, input_tokens, output_tokens)
    }

    /// The same for a prompt whose first `prefix` tokens are in the provider's cache.
    pub fn cost_after(&self, prefix: u64, input_tokens: u64, output_tokens: u64) -> MicroUsd {
        let prefix = prefix.min(input_tokens);
        Self::sum([
            (self.cache_read.min(self.prompt()), prefix),
            (self.prompt(), input_tokens - prefix),
            (self.output, output_tokens),
        ])
    }

    /// The most that a million prompt tokens can cost, in micro-dollars.
    pub fn prompt(&self) -> u64 {
        self.input.max(self.cache_write)
    }

    fn sum<const N: usize>(parts: [(u64, u64); N]) -> MicroUsd {
        let total = parts.into_iter().fold(0_u128, |total, (price, tokens)| {
            total.saturating_add(u128::from(price) * u128::from(tokens))
        });
        MicroUsd(u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

/// A guess at the number of tokens in a text: a quarter of its ASCII characters plus each other
/// character, rounded up. Close enough to reserve by; usage told by the provider replaces it.
pub fn estimate_tokens(text: &str) -> u64 {
    let (mut ascii, mut wide) = (0_u64, 0_u64);
    for byte in text.bytes() {
        ascii += u64::from(byte < 0x80);
        // The first byte of a longer character; the others lie between 0x80 and 0xBF.
        wide += u64::from(byte >= 0xC0);
    }
    ascii.div_ceil(4) + wide
}
