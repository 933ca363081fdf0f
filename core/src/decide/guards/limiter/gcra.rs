//! The generic cell rate algorithm: one instant says all that a limiter needs to know (ITU-T I.371, ATM Forum TM 4.0).
//!
//! Each call moves the *theoretical arrival time* on by one interval, from `now` on if it lies before. A call passes while
//! that instant is at most a burst's worth of intervals ahead of `now`. So calls pass evenly, and a burst of them at once.

use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::Field;
use crate::time::Span;
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

pub(super) fn check(limit: u32, per: Span, burst: u32) -> Result<(), Error> {
    if limit == 0 {
        return Err(Error::new(ErrorCode::CountRange, Field::LimiterLimit, Quantity::Number(0.0)));
    }
    checked!(LimiterPer.span(per))?;
    checked!(LimiterBurst.count(burst)).map(|_| ())
}
