//! The configuration of a budget: its kind and its size, checked once.

use crate::decide::backoff::{real, truncated};
use crate::decide::failure::FailureKind;
use crate::decide::guards::guard::GuardFields;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::{Field, Takes};
use crate::time::Span;
use crate::value::checked;

pub(super) const TOKEN: u32 = 1;
pub(super) const THROTTLE: u32 = 2;
pub(super) const RATIO: u32 = 3;
pub(super) const SHARE: u32 = 4;
pub(super) const REQUESTS: u32 = 5;
pub(super) const WINDOW: u32 = 6;

/// The cost of a retry that sleeps for a hint is that of its failure.
const BY_KIND: u64 = u64::MAX;

/// Into how many slots the recent past is cut.
pub(super) const SLOTS: usize = 10;

/// How a budget counts, checked: 64 bytes, `Copy`, plain numbers; every bit pattern is valid. A kind that is none allows no
/// retries. The default is the budget that loops bring, [`BudgetConfig::of_loops`].
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
    /// Ratio: what a retry takes. Token: thousandths for a retry that sleeps for a hint, [`BY_KIND`] for those of its failure.
    pub(super) withdrawal: u64,
    /// Ratio: what there is in any case. Token: 1 if a success returns all that its call took.
    pub(super) reserve: u64,
    /// Token: thousandths a second. Share: the ratio. Requests: k.
    pub(super) rate: f64,
    /// Ratio, requests, window: nanoseconds. Token: those of the grace.
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
            withdrawal: BY_KIND,
            rate: checked!(BudgetRefill.number(refill))? * 1000.0,
            ..Self::NONE
        })
    }

    /// A token budget that refuses no retry for so long after it was full: the retry takes what tokens are left. No time unless
    /// given.
    #[must_use]
    pub const fn with_grace(mut self, grace: Span) -> Self {
        if self.kind == TOKEN {
            self.slot = grace.as_nanos();
        }
        self
    }

    /// A token budget to which a success returns the sum of its call's withdrawals, and adds the reward. Unless given, a success
    /// returns the latest withdrawal, or adds the reward if there was none.
    #[must_use]
    pub const fn with_all_returned(mut self) -> Self {
        if self.kind == TOKEN {
            self.reserve = 1;
        }
        self
    }

    /// A token budget in which a retry that sleeps for a server's hint costs so many tokens, 0 to 1,000,000. Unless given, it costs
    /// what its failure costs.
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`] for another number.
    pub fn with_hinted_cost(mut self, cost: u32) -> Result<Self, Error> {
        let cost = tokens(Field::BudgetHintedCost, cost)?;
        if self.kind == TOKEN {
            self.withdrawal = cost.into();
        }
        Ok(self)
    }

    /// The budget of a loop whose policy names none. When calls begin to fail, every one may retry for a second. After that they
    /// share 20 tokens: a retry costs 1, after a timeout or throttling 10; a success returns what its call took and adds 1; a
    /// retry that sleeps for a server's hint is free. 0.03 tokens come back by themselves each second. docs/storm.md shows why.
    pub const fn of_loops() -> Self {
        let (cost, timeout_cost, throttled_cost) = (1000, 10_000, 10_000);
        Self {
            kind: TOKEN,
            cost,
            timeout_cost,
            throttled_cost,
            capacity: 20_000,
            reward: 1000,
            withdrawal: 0,
            reserve: 1,
            rate: 30.0,
            slot: 1_000_000_000,
        }
    }

    /// The budget of loops with another capacity, 0 to 1,000,000 tokens: what `budget: 1000` in a document means.
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`] for another number.
    pub fn of_loops_with(capacity: u32) -> Result<Self, Error> {
        Ok(Self::of_loops_checked(checked!(BudgetCapacity.count(capacity))?))
    }

    /// The same for a capacity that was checked before: a larger one than 4,294,967 tokens is cut.
    pub const fn of_loops_checked(capacity: u32) -> Self {
        Self { capacity: capacity.saturating_mul(1000) as u64, ..Self::of_loops() }
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
        Ok(Self { kind: THROTTLE, withdrawal: 0, ..Self::token(capacity, [0; 3], reward, 0.0)? })
    }

    /// `ratio` retries for each call of the last `window`, which is cut into ten slots, and `min_per_second` in any case.
    /// Finagle's `RetryBudget`, tower's `TpsBudget`.
    ///
    /// # Errors
    /// [`ErrorCode::RateRange`] for a number that is negative or not finite, [`ErrorCode::ZeroLimit`] for no time.
    pub fn ratio(ratio: f64, window: Span, min_per_second: f64) -> Result<Self, Error> {
        let ratio = checked!(BudgetRatio.number(ratio))?;
        let slot = slot(window, SLOTS as u64)?;
        // As Finagle's RetryBudget, but cut in favour of the server: never more retries than `ratio` times the calls.
        let (reward, withdrawal) = (cut(ratio, 1_000_000), 1_000_000);
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

    /// The cost of a retry that sleeps for a hint, in thousandths; `None` for that of its failure.
    pub(super) const fn hinted_cost(&self) -> Option<u32> {
        if self.withdrawal > u32::MAX as u64 { None } else { Some(self.withdrawal as u32) }
    }

    /// True for a token budget that is not asked about a retry that sleeps for a server's hint.
    pub const fn is_free_for_hints(&self) -> bool {
        self.kind == TOKEN && self.withdrawal == 0
    }

    /// True for a token budget to which a success returns the sum of its call's withdrawals: then a call holds that sum, less what was
    /// refunded.
    pub const fn returns_all(&self) -> bool {
        self.kind == TOKEN && self.reserve == 1
    }

    /// Token: nanoseconds after the budget was full in which it refuses no retry.
    pub(super) const fn grace(&self) -> u64 {
        self.slot
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
        Self::of_loops()
    }
}

/// A count of whole tokens in thousandths.
fn tokens(field: Field, count: u32) -> Result<u32, Error> {
    const TAKES: Takes = Field::BudgetCapacity.takes();
    Ok(field.count_of(TAKES, count)?.saturating_mul(1000))
}

/// The nanoseconds of one of the window's slots, at least one.
fn slot(window: Span, slots: u64) -> Result<u64, Error> {
    Ok(checked!(BudgetWindow.span(window))?.checked_div(slots).unwrap_or(0).max(1))
}

/// The digits of a number up to the third after its point.
pub(super) fn thousandths(number: f64) -> u64 {
    cut(number, 1000)
}

/// A number in that many parts of one: the most that are not above it. A product alone would lose one where the double of the
/// digits is below them.
fn cut(number: f64, parts: u64) -> u64 {
    let near = truncated(number * real(parts) + 0.5);
    if real(near) / real(parts) <= number { near } else { near.saturating_sub(1) }
}

pub(super) fn token_budget(fields: &dyn GuardFields, capacity: u32, reward: f64) -> Result<BudgetConfig, Error> {
    let mut config = BudgetConfig::token(capacity, retry_costs(fields), reward, fields.real(Field::BudgetRefill))?
        .with_grace(fields.span(Field::BudgetGrace));
    config.reserve = fields.or_default(Field::BudgetReturns);
    match fields.number(Field::BudgetHintedCost) {
        Some(cost) => config.with_hinted_cost(cost as u32),
        None => Ok(config),
    }
}

/// The tokens that a retry costs after a transient failure, a timeout and throttling.
pub(crate) fn retry_costs(fields: &dyn GuardFields) -> [u32; 3] {
    [Field::BudgetCost, Field::BudgetTimeoutCost, Field::BudgetThrottledCost].map(|field| fields.count(field))
}
