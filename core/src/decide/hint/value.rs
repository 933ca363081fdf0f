//! The values of the headers that tell when to retry.

use super::Hint;
use super::date::date;
use super::number::{self, Reset};
use crate::time::Span;

impl Hint {
    /// Reads the value of a `Retry-After` header without a clock: a number of seconds. An HTTP date is no hint, see
    /// [`Hint::retry_after_at`].
    pub fn retry_after(value: &[u8]) -> Self {
        Self::retry_after_at(value, u64::MAX)
    }

    /// Reads the value of a `Retry-After` header (RFC 9110 section 10.2.3): a number of seconds, or a date in one of the
    /// three forms of HTTP or in ISO 8601, which smithy's clients read as well. `wall` is now, in nanoseconds since the
    /// Unix epoch; without it (`u64::MAX`) a date is no hint.
    ///
    /// Seconds that a [`Span`] does not hold are [`Span::MAX`]; a date that is past is no time at all. Of a list with
    /// commas, which is what a proxy makes of the header sent twice, the last readable value counts. Everything else, a
    /// sign or a fraction included, is [`Hint::NONE`] (spec 7.6).
    pub fn retry_after_at(value: &[u8], wall: u64) -> Self {
        last(value, wall, retry_after_value)
    }

    /// Reads the value of gRPC's `grpc-retry-pushback-ms` (gRFC A6): whole milliseconds; [`Hint::NEVER`] for a negative
    /// number and for anything that is no number of 64 bits.
    pub fn pushback(value: &[u8]) -> Self {
        let value = value.trim_ascii();
        match number::integer(value.strip_prefix(b"+").unwrap_or(value)) {
            Some(millis) if millis <= i64::MAX as u64 => Self::after_millis(millis),
            _ => Self::NEVER,
        }
    }
}

/// Reads one value, at a time of the wall clock.
pub(super) type ReadValue = fn(&[u8], u64) -> Hint;

/// One value of `Retry-After`.
pub(super) fn retry_after_value(value: &[u8], wall: u64) -> Hint {
    match number::integer(value) {
        Some(seconds) => Hint::after(Span::from_secs(seconds)),
        None => date_value(value, wall),
    }
}

/// One value of a quota's reset: a number, a duration or a date.
pub(super) fn reset_value(value: &[u8], wall: u64) -> Hint {
    match number::reset(value) {
        Some(Reset::In(span)) => Hint::after(span),
        Some(Reset::At(_)) if wall == u64::MAX => Hint::NONE,
        Some(Reset::At(moment)) => Hint::after(moment.since(wall)),
        None => number::duration(value).map_or_else(|| date_value(value, wall), Hint::after),
    }
}

/// One value in milliseconds, perhaps with a fraction.
pub(super) fn millis_value(value: &[u8], _: u64) -> Hint {
    number::millis(value).map_or(Hint::NONE, Hint::after)
}

/// One value in whole milliseconds.
pub(super) fn whole_millis_value(value: &[u8], _: u64) -> Hint {
    number::integer(value).map_or(Hint::NONE, Hint::after_millis)
}

fn date_value(value: &[u8], wall: u64) -> Hint {
    if wall == u64::MAX {
        return Hint::NONE;
    }
    date(value, wall).map_or(Hint::NONE, |moment| Hint::after(moment.since(wall)))
}

/// The last readable one of the values between commas. A date may have a comma of its own.
pub(super) fn last(list: &[u8], wall: u64, read: ReadValue) -> Hint {
    let mut found = Hint::NONE;
    let (mut from, mut before): (usize, usize) = (0, 0);
    for value in list.split(|byte| *byte == b',') {
        let to = from.saturating_add(value.len());
        for start in [from, before] {
            let hint = read(list.get(start..to).unwrap_or_default().trim_ascii(), wall);
            if !hint.is_none() {
                found = hint;
                break;
            }
        }
        (before, from) = (from, to.saturating_add(1));
    }
    found
}
