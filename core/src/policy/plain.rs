//! A policy of one stage, read from plain numbers: for hosts that count every byte.
//!
//! Names, words, texts, chains and presets are most of what a host of [`PolicyBuilder::set`](super::PolicyBuilder::set)
//! loads, and powers most of what it loads to decide. Here a field is a place, its value a number, and the backoffs are
//! those that need no power. The rules are the builder's.

use super::builder::Said;
use super::draft::{Broken, Draft};
use super::field::Field;
use super::{FOREVER, Policy, UNLIMITED};
use crate::backoff::Flat;
use crate::error::ErrorCode;
use crate::time::Span;
use crate::{backoff, jitter};

/// Nanoseconds in the unit of times.
const MILLISECOND: f64 = 1e6;

/// What is given of a plain policy: each field's value at the place of its number, from 0 to 22.
///
/// NaN is not given. A time is in milliseconds, a word its place among [`Field::words`] from 0, and infinity says "none"
/// of a limit and "forever" of `attempts`. Places of fields that no plain policy has are not read.
pub type PlainFields = [f64; 23];

/// A valid policy of one stage, for a [`PlainCall`](crate::PlainCall): constant, linear, exponential, Fibonacci or
/// decorrelated, with any jitter, cap, limits and hints.
///
/// Memory that another program has written reads as some policy and never panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct PlainPolicy(pub(crate) Policy);

/// The number given for a field.
fn number(fields: &PlainFields, field: Field) -> f64 {
    fields.get(usize::from(field.code())).copied().unwrap_or(f64::NAN)
}

/// Reads those that are times.
struct Times<'f> {
    fields: &'f PlainFields,
    /// The number of a field whose value is no time; 0 for none.
    wrong: u8,
}

impl Times<'_> {
    /// A time in nanoseconds; `longest` for an infinite one, unless it is 0.
    #[inline(never)]
    fn read(&mut self, field: Field, default: u64, longest: u64) -> u64 {
        let number = number(self.fields, field);
        match Span::from_float(number, MILLISECOND) {
            Some(span) => span.as_nanos(),
            None if number.is_nan() => default,
            None if number == f64::INFINITY && longest != 0 => longest,
            None => {
                self.wrong = field.code();
                0
            }
        }
    }
}

impl PlainPolicy {
    /// The policy that the fields describe; what is not given is the default policy's (spec 3.1).
    ///
    /// # Errors
    /// A rule that is broken, and the number of the field that does; `NotSupported` for a backoff that no plain policy has.
    pub fn new(fields: &PlainFields) -> Result<Self, (ErrorCode, u8)> {
        let given = fields.iter().rev().fold(0_u64, |given, number| given << 1 | u64::from(!number.is_nan()));
        let has = |field: Field| given & field.bit() != 0;
        let word = |field, default| if has(field) { number(fields, field) as u32 as u8 } else { default };
        let mut times = Times { fields, wrong: 0 };
        let (longest, base) = (Span::MAX.as_nanos(), Policy::DEFAULT);

        let kind = word(Field::BackoffKind, backoff::EXPONENTIAL.wrapping_sub(1)).wrapping_add(1);
        if !is_plain(kind) {
            return Err((ErrorCode::NotSupported, Field::BackoffKind.code()));
        }
        let factor = number(fields, Field::BackoffFactor);
        let stage = Draft::plain(
            given,
            Flat {
                initial: times.read(Field::BackoffInitial, base.first.initial, 0),
                step: times.read(Field::BackoffIncrement, 0, 0),
                max: times.read(Field::BackoffMax, base.first.max, longest),
                kind,
                ..Flat::EMPTY
            },
            if factor.is_nan() { base.first.factor() } else { factor },
        );
        let cap = word(Field::Cap, base.cap);
        let first = stage.frozen(cap == jitter::CAP_CLIP).map_err(|Broken(code, field)| (code, field.code()))?;

        let jitter = word(Field::JitterKind, base.jitter);
        if first.is_random() && has(Field::JitterKind) && jitter != jitter::NONE {
            return Err((ErrorCode::NotForKind, Field::JitterKind.code()));
        }
        let attempts = number(fields, Field::Attempts);
        // The cast saturates, so that whatever is no whole number in range does not come back equal.
        let whole = attempts as u32;
        let policy = Policy {
            first,
            jitter: if first.is_random() { jitter::NONE } else { jitter },
            jitter_by: times.read(Field::JitterBound, number(fields, Field::JitterFactor).to_bits(), 0),
            cap,
            attempts: match () {
                () if attempts.is_nan() => base.attempts,
                () if attempts == f64::INFINITY => FOREVER,
                () if f64::from(whole) == attempts && whole != FOREVER => whole,
                () => 0,
            },
            deadline: times.read(Field::Deadline, UNLIMITED, UNLIMITED),
            min_attempt: times.read(Field::MinAttempt, 0, 0),
            on_deadline: word(Field::OnDeadline, base.on_deadline),
            attempt_timeout: times.read(Field::AttemptTimeout, UNLIMITED, UNLIMITED),
            hint_mode: word(Field::HintMode, base.hint_mode),
            hint_max: times.read(Field::HintMax, base.hint_max, longest),
            hint_over: word(Field::HintOver, base.hint_over),
            hint_reach: times.read(Field::HintReach, UNLIMITED, UNLIMITED),
            ..base
        };
        if times.wrong != 0 {
            return Err((ErrorCode::NotADuration, times.wrong));
        }
        let said = Said { given, jitter_by: policy.jitter_by, preset: false };
        match said.broken_rule(&policy) {
            Some(Broken(code, field)) => Err((code, field.code())),
            None => Ok(Self(policy)),
        }
    }

    /// The same as a policy for the whole machine.
    #[must_use]
    pub const fn whole(&self) -> Policy {
        let mut policy = self.0;
        if !jitter::has_factor(policy.jitter) && policy.jitter != jitter::BOUNDED {
            policy.jitter_by = 0;
        }
        policy.prepared()
    }

    /// How long the first attempt may take, see [`Policy::first_limit`].
    #[must_use]
    pub const fn first_limit(&self) -> Option<Span> {
        self.0.first_limit()
    }
}

/// Whether a plain policy may have a backoff of that kind.
const fn is_plain(kind: u8) -> bool {
    matches!(
        kind,
        backoff::CONSTANT | backoff::LINEAR | backoff::EXPONENTIAL | backoff::FIBONACCI | backoff::DECORRELATED
    )
}
