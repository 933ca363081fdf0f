//! Why a budget refused a retry, in words.

use super::config::BudgetConfig;
use crate::decide::backoff::{real, truncated};
use crate::decide::failure::FailureKind;
use crate::time::Span;
use core::fmt;

/// Why a token budget refused a retry: "59.4 of 60 tokens; a retry costs 1, there are enough again in 4s" (spec 22.15).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shortage {
    /// Thousandths of tokens, as the cost and the capacity.
    spent: u64,
    capacity: u64,
    cost: u32,
    enough_in: Span,
}

impl Shortage {
    pub(super) fn of(config: &BudgetConfig, tokens: u64, kind: FailureKind) -> Option<Self> {
        let cost = config.cost(kind);
        let missing = u64::from(cost).checked_sub(tokens).filter(|missing| *missing != 0)?;
        let enough_in = if u64::from(cost) > config.capacity { Span::MAX } else { config.refills_in(missing) };
        Some(Self { spent: config.capacity.saturating_sub(tokens), capacity: config.capacity, cost, enough_in })
    }

    /// How long until there are enough tokens for such a retry, if nothing else spends or earns any; [`Span::MAX`] for never.
    pub const fn enough_in(&self) -> Span {
        self.enough_in
    }

    /// The numbers in the order of the text, for other languages: the tokens that are spent, the capacity and the price in
    /// thousandths of a token, and the nanoseconds until there are enough.
    pub const fn as_raw(&self) -> [u64; 4] {
        [self.spent, self.capacity, self.cost as u64, self.enough_in.as_nanos()]
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = |thousandths: u64| real(thousandths.checked_div(100).unwrap_or(0)) / 10.0;
        let (spent, capacity) = (tokens(self.spent), tokens(self.capacity));
        write!(f, "{spent} of {capacity} tokens; a retry costs {}, ", tokens(self.cost.into()))?;
        if self.enough_in == Span::MAX {
            return f.write_str("only successes bring more");
        }
        // Seconds are rounded up, but for the nanosecond by which a wait is rounded up itself.
        let seconds = truncated(real(self.enough_in.as_nanos()) / 1e9 + 0.999_999);
        write!(f, "there are enough again in {}", Span::from_secs(seconds))
    }
}
