//! Why a budget refused a retry, in words.

use super::config::BudgetConfig;
use crate::decide::backoff::{real, truncated};
use crate::decide::failure::FailureKind;
use crate::time::Span;
use core::fmt;

/// Why a token budget refused a retry: "19.4 of 20 tokens; a retry costs 1, there are enough again in 14s; a larger `budget` allows
/// more" (spec 22.15).
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

    /// The text with the key of the budget, unless that is empty.
    pub const fn of_key<'k>(&'k self, key: &'k str) -> impl fmt::Display + 'k {
        OfKey(self, key)
    }

    /// The numbers in the order of the text, for other languages: the tokens that are spent, the capacity and the price in
    /// thousandths of a token, and the nanoseconds until there are enough.
    pub const fn as_raw(&self) -> [u64; 4] {
        [self.spent, self.capacity, self.cost as u64, self.enough_in.as_nanos()]
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        OfKey(self, "").fmt(f)
    }
}

/// A shortage of the budget of a key.
struct OfKey<'k>(&'k Shortage, &'k str);

impl fmt::Display for OfKey<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(shortage, key) = *self;
        let tokens = |thousandths: u64| real(thousandths.checked_div(100).unwrap_or(0)) / 10.0;
        write!(f, "{} of {} tokens", tokens(shortage.spent), tokens(shortage.capacity))?;
        if !key.is_empty() {
            write!(f, " for \"{key}\"")?;
        }
        write!(f, "; a retry costs {}, ", tokens(shortage.cost.into()))?;
        if shortage.enough_in == Span::MAX {
            f.write_str("only successes bring more")?;
        } else {
            // Seconds are rounded up, but for the nanosecond by which a wait is rounded up itself.
            let seconds = truncated(real(shortage.enough_in.as_nanos()) / 1e9 + 0.999_999);
            write!(f, "there are enough again in {}", Span::from_secs(seconds))?;
        }
        f.write_str("; a larger `budget` allows more")
    }
}
