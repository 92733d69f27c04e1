//! Used and limit of each dimension, the tightest first.

use crate::domain::budget::{Dimension, Limit};
use crate::domain::event::Timestamp;

use super::run::Run;

/// One dimension's standing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Used {
    /// Which.
    pub dimension: Dimension,
    /// How much, in the dimension's unit; `None` for money of an unknown price.
    pub used: Option<u64>,
    /// Out of how much.
    pub limit: Limit,
}

impl Used {
    /// The used part, from 0; more than 1 after an overrun. 0 where nothing bounds it.
    #[expect(clippy::cast_precision_loss, reason = "a gauge needs no more than two digits")]
    pub fn ratio(&self) -> f64 {
        match (self.used, self.limit.finite()) {
            (Some(used), Some(limit)) => used as f64 / limit.max(1) as f64,
            (None, _) | (_, None) => 0.0,
        }
    }
}

/// All dimensions of a run, the tightest first; equally tight ones in the order that files have.
#[derive(Debug, Clone, PartialEq)]
pub struct Gauge(pub [Used; 6]);

impl Gauge {
    /// The standing of a run at `now`.
    pub fn of(run: &Run, now: Timestamp) -> Self {
        let mut all = Dimension::ALL.map(|dimension| Used {
            dimension,
            used: used(run, dimension, now),
            limit: run.contract.budget[dimension],
        });
        all.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
        Self(all)
    }

    /// The one that will run out first.
    pub fn tightest(&self) -> &Used {
        &self.0[0]
    }

    /// The one asked for.
    pub fn get(&self, dimension: Dimension) -> Option<&Used> {
        self.0.iter().find(|used| used.dimension == dimension)
    }
}

/// What of a run, beside its turns, is used up to more than three quarters, the tightest first, as of
/// its newest request: at this rate it may run out before it reports.
pub(super) fn nearly_used(run: &Run) -> Option<Used> {
    let mut all: Vec<Used> = Dimension::ALL
        .into_iter()
        .filter(|dimension| *dimension != Dimension::Turns)
        .map(|dimension| {
            let limit = run.contract.budget[dimension];
            let used = match dimension {
                Dimension::Duration => {
                    let left = run.remaining.and_then(|remaining| remaining.duration_ms);
                    let left = left.map(|left| u64::try_from(left).unwrap_or(0));
                    limit.finite().zip(left).map(|(limit, left)| limit.saturating_sub(left))
                }
                Dimension::Turns
                | Dimension::InputTokens
                | Dimension::OutputTokens
                | Dimension::ToolCalls
                | Dimension::CostUsd => used(run, dimension, run.since),
            };
            Used { dimension, used, limit }
        })
        .filter(|used| used.ratio() > 0.75)
        .collect();
    all.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
    all.into_iter().next()
}

fn used(run: &Run, dimension: Dimension, now: Timestamp) -> Option<u64> {
    match dimension {
        Dimension::Turns => Some(u64::from(run.turn)),
        Dimension::InputTokens => Some(run.usage.input_tokens),
        Dimension::OutputTokens => Some(run.usage.output_tokens),
        Dimension::ToolCalls => Some(run.tool_calls),
        Dimension::CostUsd => run.usage.cost_usd.map(|cost| cost.0),
        Dimension::Duration => Some(run.elapsed_ms(now)),
    }
}
