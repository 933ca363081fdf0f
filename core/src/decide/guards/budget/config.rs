//! The configuration of a budget: its kind and its size, checked once.

use crate::decide::backoff::{real, truncated};
use crate::decide::failure::FailureKind;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;
use crate::time::Span;
use crate::value::checked;

pub(super) const TOKEN: u32 = 1;
pub(super) const THROTTLE: u32 = 2;
pub(super) const RATIO: u32 = 3;
pub(super) const SHARE: u32 = 4;
pub(super) const REQUESTS: u32 = 5;
pub(super) const WINDOW: u32 = 6;

/// Into how many slots the recent past is cut.
pub(super) const SLOTS: usize = 10;

/// How a budget counts, checked: 64 bytes, `Copy`, plain numbers; every bit pattern is valid. A kind that is none allows no
/// retries. The default is a retry for every ten calls of the last ten seconds, and one every ten seconds in any case.
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
    const NONE: Self = Self {
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

    /// A purse of tokens: a retry costs some, and the call that succeeds gives them back. The retry quota of the AWS SDKs
    /// (smithy-rs `token_bucket.rs`, botocore `retries/quota.py`).
    ///
    /// `capacity` is the most tokens there are, and how many there are at first; `costs` are those of a retry after a
    /// transient failure, a timeout and throttling: all 0 to 1,000,000. `reward` is for a call that succeeds without a retry:
    /// finite, from 0 on, cut to thousandths of a token. `refill` tokens come back by themselves each second: finite, from 0
    /// on.
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`] for a number of tokens out of its range, [`ErrorCode::RateRange`] for the others.
    pub fn token(capacity: u32, costs: [u32; 3], reward: f64, refill: f64) -> Result<Self, Error> {
        let [cost, timeout_cost, throttled_cost] = costs;
        Ok(Self {
            kind: TOKEN,
            cost: tokens(Field::BudgetCost, cost)?,
            timeout_cost: tokens(Field::BudgetTimeoutCost, timeout_cost)?,
            throttled_cost: tokens(Field::BudgetThrottledCost, throttled_cost)?,
            capacity: tokens(Field::BudgetCapacity, capacity)?.into(),
            reward: thousandths(checked!(BudgetReward.number(reward))?),
            rate: checked!(BudgetRefill.number(refill))? * 1000.0,
            ..Self::NONE
        })
    }

    /// The budget of a loop whose policy names none: a purse of 60 tokens. A retry costs one, after a timeout five, because
    /// scripts fail fast and storms are made of timeouts. A success earns a tenth of a token, and so does a second.
    /// docs/storm.md shows why.
    pub const fn of_loops() -> Self {
        let (cost, timeout_cost, throttled_cost) = (1000, 5000, 1000);
        Self {
            kind: TOKEN,
            cost,
            timeout_cost,
            throttled_cost,
            capacity: 60_000,
            reward: 100,
            rate: 100.0,
            ..Self::NONE
        }
    }

    /// A purse of 1 to 1,000,000 tokens that each failure takes a token from and each success adds `reward` to (finite, from
    /// 0 on, cut to thousandths): retries while it is more than half full. gRPC's `retryThrottling` (gRFC A6).
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`] for the capacity, [`ErrorCode::RateRange`] for the reward.
    pub fn throttle(capacity: u32, reward: f64) -> Result<Self, Error> {
        if capacity == 0 {
            return Err(Error::new(ErrorCode::CountRange, Field::BudgetCapacity, Quantity::Number(0.0)));
        }
        Ok(Self { kind: THROTTLE, ..Self::token(capacity, [0; 3], reward, 0.0)? })
    }

    /// `ratio` retries for each call of the last `window`, which is cut into ten slots, and `min_per_second` in any case.
    /// Finagle's `RetryBudget`, tower's `TpsBudget`.
    ///
    /// # Errors
    /// [`ErrorCode::RateRange`] for a number that is negative or not finite, [`ErrorCode::ZeroLimit`] for no time.
    pub fn ratio(ratio: f64, window: Span, min_per_second: f64) -> Result<Self, Error> {
        let ratio = checked!(BudgetRatio.number(ratio))?;
        let slot = slot(window, SLOTS as u64)?;
        // The amounts of Finagle's RetryBudget.
        let (reward, withdrawal) = if ratio > 0.0 { (1000, truncated(1000.0 / ratio).max(1)) } else { (0, 1) };
        let least = checked!(BudgetMinPerSecond.number(min_per_second))? * (real(window.as_nanos()) / 1e9);
        Ok(Self { kind: RATIO, reward, withdrawal, reserve: truncated(least * real(withdrawal)), slot, ..Self::NONE })
    }

    /// `ratio` retries at once for each call that is under way, and `min_concurrency` in any case. Envoy's `retry_budget`.
    ///
    /// # Errors
    /// [`ErrorCode::RateRange`] for a ratio that is negative or not finite.
    pub fn share(ratio: f64, min_concurrency: u32) -> Result<Self, Error> {
        let rate = checked!(BudgetRatio.number(ratio))?;
        Ok(Self { kind: SHARE, capacity: min_concurrency.into(), rate, ..Self::NONE })
    }

    /// Attempts are let through with the probability that the recent ones were answered with: `k` attempts for each success
    /// of the last `window`, which is cut into ten slots. First attempts are refused too. Client-side throttling (Beyer and
    /// others, "Site Reliability Engineering", 2016, chapter 21).
    ///
    /// # Errors
    /// [`ErrorCode::RateRange`] for a `k` that is negative or not finite, [`ErrorCode::ZeroLimit`] for a window of no time.
    pub fn requests(k: f64, window: Span) -> Result<Self, Error> {
        let slot = slot(window, SLOTS as u64)?;
        Ok(Self { kind: REQUESTS, rate: checked!(BudgetK.number(k))?, slot, ..Self::NONE })
    }

    /// `limit` retries in each window of time, one window after the other.
    ///
    /// # Errors
    /// [`ErrorCode::ZeroLimit`] for a window of no time.
    pub fn window(limit: u32, window: Span) -> Result<Self, Error> {
        Ok(Self { kind: WINDOW, capacity: limit.into(), slot: slot(window, 1)?, ..Self::NONE })
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

    /// Token: how long until so many thousandths have come back by themselves, rounded up; [`Span::MAX`] if they never do.
    pub(super) fn refills_in(&self, thousandths: u64) -> Span {
        let nanos = real(thousandths) * 1e9 / self.rate;
        if nanos < real(Span::MAX.as_nanos()) {
            Span::from_nanos(truncated(nanos).saturating_add(1))
        } else {
            Span::MAX
        }
    }

    /// Token: how long until an empty budget is full by itself; [`Span::MAX`] if it never is.
    #[cfg(feature = "alloc")]
    pub(crate) fn fills_in(&self) -> Span {
        self.refills_in(self.capacity.saturating_add(1))
    }

    /// Tokens that have come back by themselves after so long, in thousandths.
    pub(super) fn refilled(&self, after: Span) -> u64 {
        truncated(self.rate * real(after.as_nanos()) / 1e9)
    }
}

impl Default for BudgetConfig {
    fn default() -> Self {
        let (reward, withdrawal, reserve, slot) = (1000, 10_000, 10_000, 1_000_000_000);
        Self { kind: RATIO, reward, withdrawal, reserve, slot, ..Self::NONE }
    }
}

/// A count of whole tokens in thousandths.
fn tokens(field: Field, count: u32) -> Result<u32, Error> {
    Ok(field.count(count)?.saturating_mul(1000))
}

/// The nanoseconds of one of the window's slots, at least one.
fn slot(window: Span, slots: u64) -> Result<u64, Error> {
    Ok(checked!(BudgetWindow.span(window))?.checked_div(slots).unwrap_or(0).max(1))
}

/// The digits of a number up to the third after its point: the most thousandths that are not above it. A product alone
/// would lose one where the double of the digits is below them.
pub(super) fn thousandths(number: f64) -> u64 {
    let near = truncated(number * 1000.0 + 0.5);
    if real(near) / 1000.0 <= number { near } else { near.saturating_sub(1) }
}
