//! The configuration of a budget: its kind and its size, checked once.

use crate::decide::backoff::{real, truncated};
use crate::decide::failure::FailureKind;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;
use crate::time::Span;

/// How a budget counts. The default is a retry for every ten calls of the last ten seconds, and one every ten seconds in any
/// case.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum BudgetKind {
    /// A purse of tokens: a retry costs some, and the call that succeeds gives them back. The retry quota of the AWS SDKs
    /// (smithy-rs `token_bucket.rs`, botocore `retries/quota.py`).
    Token {
        /// The most tokens there are, and how many there are at first: 0 to 1,000,000.
        capacity: u32,
        /// The cost of a retry after a transient failure: 0 to 1,000,000 tokens.
        cost: u32,
        /// The cost of a retry after a timeout: 0 to 1,000,000 tokens.
        timeout_cost: u32,
        /// The cost of a retry after throttling: 0 to 1,000,000 tokens.
        throttled_cost: u32,
        /// The reward for a call that succeeds without a retry: finite, from 0 on, cut to thousandths of a token.
        reward: f64,
        /// Tokens that come back by themselves each second: finite, from 0 on.
        refill: f64,
    },
    /// A purse that each failure takes a token from and each success adds to: retries while it is more than half full. gRPC's
    /// `retryThrottling` (gRFC A6).
    Throttle {
        /// The most tokens there are, and how many there are at first: 1 to 1,000,000.
        capacity: u32,
        /// The reward for a success: finite, from 0 on, cut to thousandths of a token.
        reward: f64,
    },
    /// So many retries for each call of the recent past, and some in any case. Finagle's `RetryBudget`, tower's `TpsBudget`.
    Ratio {
        /// Retries for each call: finite, from 0 on.
        ratio: f64,
        /// How far back calls and retries count, in ten slots.
        window: Span,
        /// Retries a second that there are in any case: finite, from 0 on.
        min_per_second: f64,
    },
    /// So many retries at once for each call that is under way. Envoy's `retry_budget`.
    Share {
        /// Retries at once for each active call: finite, from 0 on.
        ratio: f64,
        /// Retries at once that there are in any case.
        min_concurrency: u32,
    },
    /// Attempts are let through with the probability that the recent ones were answered with: client-side throttling (Beyer
    /// and others, "Site Reliability Engineering", 2016, chapter 21). First attempts are refused too.
    Requests {
        /// Attempts that are let through for each that succeeds: finite, from 0 on.
        k: f64,
        /// How far back attempts count, in ten slots.
        window: Span,
    },
    /// So many retries in each window of time, one window after the other.
    Window {
        /// Retries in a window.
        limit: u32,
        /// How long a window is.
        window: Span,
    },
}

impl Default for BudgetKind {
    fn default() -> Self {
        Self::Ratio { ratio: 0.1, window: Span::from_secs(10), min_per_second: 0.1 }
    }
}

pub(super) const TOKEN: u32 = 1;
pub(super) const THROTTLE: u32 = 2;
pub(super) const RATIO: u32 = 3;
pub(super) const SHARE: u32 = 4;
pub(super) const REQUESTS: u32 = 5;
pub(super) const WINDOW: u32 = 6;

/// Into how many slots the recent past is cut.
pub(super) const SLOTS: usize = 10;

/// A checked [`BudgetKind`]: 64 bytes, `Copy`, plain numbers; every bit pattern is valid. A kind that is none
/// allows no retries.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct BudgetConfig {
    pub(super) kind: u32,
    /// Token: thousandths.
    pub(super) cost: u32,
    pub(super) timeout_cost: u32,
    pub(super) throttled_cost: u32,
    /// Token, throttle: thousandths. Share, window: retries.
    pub(super) capacity: u64,
    /// Token, throttle: thousandths. Ratio: what a call deposits.
    pub(super) reward: u64,
    /// Ratio: what a retry takes.
    pub(super) withdrawal: u64,
    /// Ratio: what there is in any case.
    pub(super) reserve: u64,
    /// Token: thousandths a second. Share: the ratio. Requests: k.
    pub(super) rate: f64,
    /// Ratio, requests, window: nanoseconds.
    pub(super) slot: u64,
}

impl BudgetConfig {
    /// The configuration of a budget of that kind.
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`] for a number of tokens out of its range, [`ErrorCode::RateRange`] for a rate, ratio, `k` or
    /// reward that is negative or not finite, [`ErrorCode::ZeroLimit`] for a window of no time.
    pub fn new(kind: BudgetKind) -> Result<Self, Error> {
        let none = Self {
            kind: 0,
            cost: 0,
            timeout_cost: 0,
            throttled_cost: 0,
            capacity: 0,
            reward: 0,
            withdrawal: 0,
            reserve: 0,
            rate: 0.0,
            slot: 0,
        };
        Ok(match kind {
            BudgetKind::Token { capacity, cost, timeout_cost, throttled_cost, reward, refill } => Self {
                kind: TOKEN,
                cost: tokens(Field::BudgetCost, cost)?,
                timeout_cost: tokens(Field::BudgetTimeoutCost, timeout_cost)?,
                throttled_cost: tokens(Field::BudgetThrottledCost, throttled_cost)?,
                capacity: u64::from(tokens(Field::BudgetCapacity, capacity)?),
                reward: thousandths(Field::BudgetReward.number(reward)?),
                rate: Field::BudgetRefill.number(refill)? * 1000.0,
                ..none
            },
            BudgetKind::Throttle { capacity: 0, .. } => {
                return Err(Error::new(ErrorCode::CountRange, Field::BudgetCapacity, Quantity::Number(0.0)));
            }
            BudgetKind::Throttle { capacity, reward } => Self {
                kind: THROTTLE,
                capacity: u64::from(tokens(Field::BudgetCapacity, capacity)?),
                reward: thousandths(Field::BudgetReward.number(reward)?),
                ..none
            },
            BudgetKind::Ratio { ratio, window, min_per_second } => {
                let ratio = Field::BudgetRatio.number(ratio)?;
                let slot = slot(window, SLOTS as u64)?;
                let least = Field::BudgetMinPerSecond.number(min_per_second)?;
                // The amounts of Finagle's RetryBudget.
                let withdrawal = if ratio > 0.0 { truncated(1000.0 / ratio).max(1) } else { 1 };
                let seconds = real(window.as_nanos()) / 1e9;
                Self {
                    kind: RATIO,
                    reward: if ratio > 0.0 { 1000 } else { 0 },
                    withdrawal,
                    reserve: truncated((least * seconds) * real(withdrawal)),
                    slot,
                    ..none
                }
            }
            BudgetKind::Share { ratio, min_concurrency } => Self {
                kind: SHARE,
                capacity: u64::from(min_concurrency),
                rate: Field::BudgetRatio.number(ratio)?,
                ..none
            },
            BudgetKind::Requests { k, window } => {
                Self { kind: REQUESTS, rate: Field::BudgetK.number(k)?, slot: slot(window, SLOTS as u64)?, ..none }
            }
            BudgetKind::Window { limit, window } => {
                Self { kind: WINDOW, capacity: u64::from(limit), slot: slot(window, 1)?, ..none }
            }
        })
    }

    /// The cost of a retry after such a failure, in thousandths.
    pub(super) const fn cost(&self, kind: FailureKind) -> u32 {
        match kind {
            FailureKind::Timeout => self.timeout_cost,
            FailureKind::Throttled => self.throttled_cost,
            FailureKind::Transient | FailureKind::Permanent => self.cost,
        }
    }

    /// How many retries at once that many active calls may have.
    pub(super) fn concurrency(&self, active: u32) -> u64 {
        truncated(self.rate * f64::from(active)).max(self.capacity)
    }

    /// Tokens that have come back by themselves after so long, in thousandths.
    pub(super) fn refilled(&self, after: Span) -> u64 {
        truncated(self.rate * real(after.as_nanos()) / 1e9)
    }
}

impl Default for BudgetConfig {
    fn default() -> Self {
        Self {
            kind: RATIO,
            cost: 0,
            timeout_cost: 0,
            throttled_cost: 0,
            capacity: 0,
            reward: 1000,
            withdrawal: 10_000,
            reserve: 10_000,
            rate: 0.0,
            slot: 1_000_000_000,
        }
    }
}

/// A count of whole tokens in thousandths.
fn tokens(field: Field, count: u32) -> Result<u32, Error> {
    Ok(field.whole(count)?.saturating_mul(1000))
}

/// The nanoseconds of one of the window's slots, at least one.
fn slot(window: Span, slots: u64) -> Result<u64, Error> {
    Ok(Field::BudgetWindow.span(window)?.checked_div(slots).unwrap_or(0).max(1))
}

/// The digits of a number up to the third after its point: the most thousandths that are not above it. A product alone
/// would lose one where the double of the digits is below them.
pub(super) fn thousandths(number: f64) -> u64 {
    let near = truncated(number * 1000.0 + 0.5);
    if real(near) / 1000.0 <= number { near } else { near.saturating_sub(1) }
}
