//! Six kinds of limit, and the presets that fill them.

use std::fmt;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::usage::MicroUsd;

/// What a budget bounds. The unit of each is fixed: turns, tokens, calls, micro-USD, ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Model requests, each with the tool batch it asks for. Own to a run.
    Turns,
    /// Prompt tokens, summed over requests. Shared with the whole tree.
    InputTokens,
    /// Generated tokens, reasoning included. Shared with the whole tree.
    OutputTokens,
    /// Calls a model asks for, refused ones included. Shared with the whole tree.
    ToolCalls,
    /// Money, in micro-USD. Shared with the whole tree.
    CostUsd,
    /// Running time in ms. Own to a run.
    Duration,
}

impl Dimension {
    /// All six, in the order that files and screens list them.
    pub const ALL: [Self; 6] = [
        Self::Turns,
        Self::InputTokens,
        Self::OutputTokens,
        Self::ToolCalls,
        Self::CostUsd,
        Self::Duration,
    ];

    /// True where a child's share is taken out of its parent's remaining.
    pub fn is_shared(self) -> bool {
        match self {
            Self::InputTokens | Self::OutputTokens | Self::ToolCalls | Self::CostUsd => true,
            Self::Turns | Self::Duration => false,
        }
    }

    /// The word used in a `task` call's `budget` field and in messages about it.
    pub fn field(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::ToolCalls => "tool_calls",
            Self::CostUsd => "cost_usd",
            Self::Duration => "duration_s",
        }
    }
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Duration => "duration",
            other => other.field(),
        })
    }
}

/// One value for each dimension.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PerDimension<T>([T; 6]);

impl<T> PerDimension<T> {
    /// Fills every dimension by asking for its value.
    pub fn from_fn(mut value: impl FnMut(Dimension) -> T) -> Self {
        Self(Dimension::ALL.map(&mut value))
    }

    /// Each dimension with its value, in [`Dimension::ALL`] order.
    pub fn iter(&self) -> impl Iterator<Item = (Dimension, &T)> {
        Dimension::ALL.into_iter().zip(self.0.iter())
    }
}

impl<T> Index<Dimension> for PerDimension<T> {
    type Output = T;
    fn index(&self, dimension: Dimension) -> &T {
        &self.0[dimension as usize]
    }
}

impl<T> IndexMut<Dimension> for PerDimension<T> {
    fn index_mut(&mut self, dimension: Dimension) -> &mut T {
        &mut self.0[dimension as usize]
    }
}

/// A bound in one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// At most this much, in the dimension's unit.
    Of(u64),
    /// No bound. Only a user may give this, and only to a parent.
    Unlimited,
    /// Not measured, because the price is unknown. Only for money.
    Off,
}

impl Limit {
    /// The number, if there is one.
    pub fn finite(self) -> Option<u64> {
        match self {
            Self::Of(amount) => Some(amount),
            Self::Unlimited | Self::Off => None,
        }
    }
}

/// What a run may spend.
pub type Budget = PerDimension<Limit>;

impl Budget {
    /// The same budget with the money dimension off, for a model whose price is unknown.
    #[must_use]
    pub fn without_cost(mut self) -> Self {
        self[Dimension::CostUsd] = Limit::Off;
        self
    }
}

/// What all descendants of one parent run may use together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Turns of all descendants.
    pub turns: u64,
    /// Children started or queued.
    pub delegations: u32,
    /// Children that run at the same time.
    pub active: u32,
}

/// A named set of limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Small questions.
    Tight,
    /// The default.
    #[default]
    Normal,
    /// Long work.
    Generous,
}

impl Preset {
    /// All presets, smallest first.
    pub const ALL: [Self; 3] = [Self::Tight, Self::Normal, Self::Generous];

    /// The word on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tight => "tight",
            Self::Normal => "normal",
            Self::Generous => "generous",
        }
    }

    /// What a parent run gets.
    pub fn parent(self) -> Budget {
        match self {
            Self::Tight => budget(10, 600, 120, 1_000_000, 64_000, 500_000),
            Self::Normal => budget(40, 1_800, 400, 8_000_000, 200_000, 5_000_000),
            Self::Generous => budget(100, 7_200, 2_000, 40_000_000, 1_000_000, 25_000_000),
        }
    }

    /// What a reading child gets where its task asks for nothing else.
    pub fn child(self) -> Budget {
        match self {
            Self::Tight => budget(6, 120, 20, 200_000, 8_000, 100_000),
            Self::Normal => budget(20, 300, 60, 1_000_000, 16_000, 500_000),
            Self::Generous => budget(60, 1_800, 200, 4_000_000, 64_000, 2_500_000),
        }
    }

    /// What a child that runs tests gets: a reading child's limits, and time for the tests.
    pub fn tester(self) -> Budget {
        let mut budget = self.child();
        budget[Dimension::Duration] = self.worker()[Dimension::Duration];
        budget
    }

    /// What a child that changes things gets.
    pub fn worker(self) -> Budget {
        match self {
            Self::Tight => budget(8, 300, 20, 200_000, 16_000, 100_000),
            Self::Normal => budget(30, 900, 60, 1_000_000, 64_000, 500_000),
            Self::Generous => budget(100, 3_600, 200, 4_000_000, 200_000, 2_500_000),
        }
    }

    /// What all descendants of one parent run get together.
    pub fn totals(self) -> Totals {
        match self {
            Self::Tight => Totals { turns: 40, delegations: 4, active: 2 },
            Self::Normal => Totals { turns: 200, delegations: 8, active: 4 },
            Self::Generous => Totals { turns: 800, delegations: 32, active: 8 },
        }
    }
}

fn budget(turns: u64, seconds: u64, calls: u64, input: u64, output: u64, micro_usd: u64) -> Budget {
    PerDimension::from_fn(|dimension| {
        Limit::Of(match dimension {
            Dimension::Turns => turns,
            Dimension::InputTokens => input,
            Dimension::OutputTokens => output,
            Dimension::ToolCalls => calls,
            Dimension::CostUsd => micro_usd,
            Dimension::Duration => seconds * 1_000,
        })
    })
}

/// A budget in files: `cost_usd` in dollars (`null` when off), `duration_ms` in ms, a bound that
/// the user lifted as the word `unlimited`.
#[derive(Serialize, Deserialize)]
struct Written {
    turns: WrittenLimit,
    input_tokens: WrittenLimit,
    output_tokens: WrittenLimit,
    tool_calls: WrittenLimit,
    cost_usd: WrittenCost,
    duration_ms: WrittenLimit,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenLimit {
    Number(u64),
    Word(Unlimited),
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenCost {
    Dollars(MicroUsd),
    Word(Unlimited),
    Off(()),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unlimited {
    Unlimited,
}

impl From<Limit> for WrittenLimit {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Of(amount) => Self::Number(amount),
            Limit::Unlimited | Limit::Off => Self::Word(Unlimited::Unlimited),
        }
    }
}

impl From<WrittenLimit> for Limit {
    fn from(written: WrittenLimit) -> Self {
        match written {
            WrittenLimit::Number(amount) => Self::Of(amount),
            WrittenLimit::Word(Unlimited::Unlimited) => Self::Unlimited,
        }
    }
}

impl Serialize for Budget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cost_usd = match self[Dimension::CostUsd] {
            Limit::Of(micro) => WrittenCost::Dollars(MicroUsd(micro)),
            Limit::Unlimited => WrittenCost::Word(Unlimited::Unlimited),
            Limit::Off => WrittenCost::Off(()),
        };
        Written {
            turns: self[Dimension::Turns].into(),
            input_tokens: self[Dimension::InputTokens].into(),
            output_tokens: self[Dimension::OutputTokens].into(),
            tool_calls: self[Dimension::ToolCalls].into(),
            cost_usd,
            duration_ms: self[Dimension::Duration].into(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::deserialize(deserializer)?;
        let cost = match written.cost_usd {
            WrittenCost::Dollars(MicroUsd(micro)) => Limit::Of(micro),
            WrittenCost::Word(Unlimited::Unlimited) => Limit::Unlimited,
            WrittenCost::Off(()) => Limit::Off,
        };
        Ok(Self([
            written.turns.into(),
            written.input_tokens.into(),
            written.output_tokens.into(),
            written.tool_calls.into(),
            cost,
            written.duration_ms.into(),
        ]))
    }
}

/// What is left in each dimension, as events show it: negative after an overrun, `null` where
/// nothing is measured or nothing bounds it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Remaining {
    /// Turns.
    pub turns: Option<i64>,
    /// Prompt tokens.
    pub input_tokens: Option<i64>,
    /// Generated tokens.
    pub output_tokens: Option<i64>,
    /// Tool calls.
    pub tool_calls: Option<i64>,
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Running time in ms.
    pub duration_ms: Option<i64>,
}
