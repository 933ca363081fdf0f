//! The generic cell rate algorithm: one instant says all that a limiter needs to know (ITU-T I.371, ATM Forum TM 4.0).
//!
//! Each call moves the *theoretical arrival time* on by one interval, from `now` on if it lies before. A call passes while
//! that instant is at most a burst's worth of intervals ahead of `now`. So calls pass evenly, and a burst of them at once.

use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;
use crate::time::{Span, Timestamp};
use crate::value::checked;

/// A length of time that limits divide: whole nanoseconds and `rest / limit` of one more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Interval {
    pub(super) nanos: u64,
    pub(super) rest: u32,
}

impl Interval {
    /// `count * per / limit`, whole nanoseconds at most 2^64-1.
    pub(super) fn of(count: u32, per: u64, limit: u32) -> Self {
        let product = u128::from(count).saturating_mul(u128::from(per));
        let nanos = product.checked_div(u128::from(limit)).unwrap_or(0);
        let rest = product.checked_rem(u128::from(limit)).unwrap_or(0);
        u64::try_from(nanos).map_or(Self { nanos: u64::MAX, rest: 0 }, |nanos| Self { nanos, rest: rest as u32 })
    }

    /// The sum, whole nanoseconds at most 2^64-1.
    #[inline(always)]
    pub(super) const fn plus(self, other: Self, limit: u32) -> Self {
        let rest = (self.rest as u64).saturating_add(other.rest as u64);
        let carry = rest >= limit as u64;
        let nanos = self.nanos.saturating_add(other.nanos).saturating_add(carry as u64);
        Self { nanos, rest: (if carry { rest.wrapping_sub(limit as u64) } else { rest }) as u32 }
    }

    /// The difference, at least nothing.
    pub(super) const fn minus(self, other: Self, limit: u32) -> Self {
        let borrow = self.rest < other.rest;
        let Some(nanos) = self.nanos.checked_sub(other.nanos) else { return Self { nanos: 0, rest: 0 } };
        let Some(nanos) = nanos.checked_sub(borrow as u64) else { return Self { nanos: 0, rest: 0 } };
        let rest = self.rest.wrapping_sub(other.rest);
        Self { nanos, rest: if borrow { rest.wrapping_add(limit) } else { rest } }
    }
}

/// How far apart calls are and how many pass at once: 16 bytes, `Copy`, plain numbers; every bit pattern is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct GcraConfig {
    pub(super) interval: u64,
    pub(super) capacity: u64,
}

impl GcraConfig {
    /// `limit` calls each `per`, `burst` of them at once. The interval is `per / limit` rounded up to a whole nanosecond, so
    /// that never more pass than the limit says.
    ///
    /// # Errors
    /// [`ErrorCode::CountRange`] for a `limit` or `burst` of 0, [`ErrorCode::ZeroLimit`] for a `per` of zero.
    pub fn new(limit: u32, per: Span, burst: u32) -> Result<Self, Error> {
        check(limit, per, burst)?;
        let Interval { nanos, rest } = Interval::of(1, per.as_nanos(), limit);
        let interval = nanos.saturating_add(u64::from(rest > 0));
        Ok(Self { interval, capacity: interval.saturating_mul(u64::from(burst)) })
    }

    /// The time between two calls at the limit.
    pub const fn interval(&self) -> Span {
        Span::from_nanos(self.interval)
    }

    /// The arrival time after `count` calls at `now`, or when they may be made.
    #[inline(always)]
    pub(super) fn arrival(&self, arrival: u64, count: u32, now: u64) -> Result<u64, Timestamp> {
        let cost = self.interval.saturating_mul(u64::from(count));
        let base = if arrival > now { arrival } else { now };
        // Both are at most 2^64-1 and the sum of three such fits, so that nothing is lost before the comparison.
        let next = base.saturating_add(cost);
        if next.saturating_sub(now) > self.capacity { Err(self.opens(next, cost)) } else { Ok(next) }
    }

    #[cold]
    fn opens(&self, next: u64, cost: u64) -> Timestamp {
        if cost > self.capacity {
            return Timestamp::NEVER;
        }
        Timestamp::from_nanos(next.saturating_sub(self.capacity)).as_now()
    }

    /// The arrival time without `count` calls.
    pub(super) const fn without(&self, arrival: u64, count: u32) -> u64 {
        arrival.saturating_sub(self.interval.saturating_mul(count as u64))
    }
}

pub(super) fn check(limit: u32, per: Span, burst: u32) -> Result<(), Error> {
    if limit == 0 {
        return Err(Error::new(ErrorCode::CountRange, Field::LimiterLimit, Quantity::Number(0.0)));
    }
    checked!(LimiterPer.span(per))?;
    checked!(LimiterBurst.count(burst)).map(|_| ())
}

/// The smallest limiter, for a state a key: 8 bytes, `Copy`. Zeroes are a limiter that was never used.
///
/// # Contract
/// [`Gcra::take`] either takes and answers `Ok`, or changes nothing and says when to come back. Every bit pattern of the
/// state is valid and no input panics. It keeps no latest time: a clock that runs backwards makes it stricter, never laxer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(transparent)]
pub struct Gcra {
    arrival: u64,
}

impl Gcra {
    /// A limiter that was never used.
    pub const fn new() -> Self {
        Self { arrival: 0 }
    }

    /// Takes `count` calls at `now`, or says when they may be made: [`Timestamp::NEVER`] for more than a burst.
    ///
    /// # Errors
    /// The earliest time at which it would let them through if nobody else came before.
    #[inline(always)]
    pub fn take(&mut self, config: &GcraConfig, count: u32, now: Timestamp) -> Result<(), Timestamp> {
        self.arrival = config.arrival(self.arrival, count, now.as_now().as_nanos())?;
        Ok(())
    }

    /// Gives back `count` calls that were taken and not made.
    pub const fn give_back(&mut self, config: &GcraConfig, count: u32) {
        self.arrival = config.without(self.arrival, count);
    }

    /// The theoretical arrival time, which is all there is.
    pub const fn arrival(&self) -> Timestamp {
        Timestamp::from_nanos(self.arrival)
    }

    /// The limiter with that arrival time.
    pub const fn from_arrival(arrival: Timestamp) -> Self {
        Self { arrival: arrival.as_nanos() }
    }
}
