//! A policy of one stage, read from plain numbers: for hosts that count every byte.
//!
//! Names, words, texts, chains and presets are most of what a host of [`PolicyBuilder::set`](super::PolicyBuilder::set)
//! loads, and powers most of what it loads to decide. Here a field is a place, its value a number, and the backoffs are
//! those that need no power. The rules are the builder's; the tests hold both against each other.

use crate::decide::backoff::Flat;
use crate::decide::policy::{CLIP, FOREVER, Policy, UNLIMITED};
use crate::decide::{backoff, jitter};
use crate::error::ErrorCode;
use crate::field::Field;
use crate::time::Span;

/// Nanoseconds in the unit of times.
const MILLISECOND: f64 = 1e6;

/// What is given of a plain policy: each field's value at the place of its number, from 0 to 14.
///
/// NaN is not given. A time is in milliseconds, a word its place among [`Field::words`] from 0, and infinity says "none"
/// of a limit and "forever" of `attempts`. Places of fields that no plain policy has are not read.
pub type PlainFields = [f64; 15];

/// A valid policy of one stage, for a [`PlainCall`](crate::PlainCall): constant, linear, exponential or
/// decorrelated; no jitter, full or equal; any limits; hints as floors, and too long ones
/// as its end.
///
/// Memory that another program has written reads as some policy and never panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct PlainPolicy(pub(crate) Policy);

/// The number given for a field.
fn number(fields: &PlainFields, field: Field) -> f64 {
    fields.get(usize::from(field.code())).copied().unwrap_or(f64::NAN)
}

/// A time in nanoseconds: `longest` for an infinite one unless that is 0. Where it is none, `wrong` is set to its field's number.
#[inline(never)]
fn read_time(wrong: &mut u8, number: f64, field: Field, default: u64, longest: u64) -> u64 {
    match Span::from_float(number, MILLISECOND) {
        Some(span) => span.as_nanos(),
        None if number.is_nan() => default,
        None if number == f64::INFINITY && longest != 0 => longest,
        None => {
            *wrong = field.code();
            0
        }
    }
}

impl PlainPolicy {
    /// The fields that a plain policy has.
    pub const FIELDS: [Field; 12] = [
        Field::BackoffKind,
        Field::BackoffInitial,
        Field::BackoffFactor,
        Field::BackoffIncrement,
        Field::BackoffMax,
        Field::JitterKind,
        Field::Attempts,
        Field::Deadline,
        Field::MinAttempt,
        Field::OnDeadline,
        Field::AttemptTimeout,
        Field::HintMax,
    ];

    /// Those of them that may be infinite.
    pub const LIMITS: [Field; 5] =
        [Field::BackoffMax, Field::Attempts, Field::Deadline, Field::AttemptTimeout, Field::HintMax];

    /// The words of a field, by their places; none for what no plain policy has.
    pub fn words(field: Field) -> impl Iterator<Item = Option<&'static str>> {
        (0_u8..).zip(field.words()).map(move |(place, word)| {
            let has = match field {
                Field::BackoffKind => is_plain(place.saturating_add(1)),
                Field::JitterKind => is_plain_jitter(place),
                _ => true,
            };
            has.then_some(word)
        })
    }

    /// The policy that the fields describe; what is not given is the default policy's (spec 3.1).
    ///
    /// # Errors
    /// A rule that is broken, and the number of the field that does; `NotSupported` for a backoff that no plain policy has.
    #[inline]
    pub fn new(fields: &PlainFields) -> Result<Self, (ErrorCode, u8)> {
        let number = |field: Field| number(fields, field);
        let has = |field| !number(field).is_nan();
        let word = |field, default| if has(field) { number(field) as u32 as u8 } else { default };
        let mut wrong = 0;
        let mut time = |field: Field, default, longest| read_time(&mut wrong, number(field), field, default, longest);
        let broken = |code, field: Field| Err((code, field.code()));
        let (span, base) = (Span::MAX.as_nanos(), Policy::DEFAULT);

        let kind = word(Field::BackoffKind, backoff::EXPONENTIAL.wrapping_sub(1)).wrapping_add(1);
        if !is_plain(kind) {
            return broken(ErrorCode::NotSupported, Field::BackoffKind);
        }
        let random = kind == backoff::DECORRELATED;
        if has(Field::BackoffFactor) && !(random || kind == backoff::EXPONENTIAL) {
            return broken(ErrorCode::NotForKind, Field::BackoffFactor);
        }
        if has(Field::BackoffIncrement) && kind != backoff::LINEAR {
            return broken(ErrorCode::NotForKind, Field::BackoffIncrement);
        }
        if has(Field::BackoffMax) && kind == backoff::CONSTANT {
            return broken(ErrorCode::NotForKind, Field::BackoffMax);
        }
        let factor = match has(Field::BackoffFactor) {
            true => number(Field::BackoffFactor),
            false if random => 3.0,
            false => base.first.factor(),
        };
        if !(factor >= f64::from(u8::from(random)) && factor < f64::INFINITY) {
            return broken(ErrorCode::FactorRange, Field::BackoffFactor);
        }
        let initial = time(Field::BackoffInitial, base.first.initial, 0);
        let increment = time(Field::BackoffIncrement, initial, 0);
        let max = time(Field::BackoffMax, base.first.max, span);
        let (max, step) = match kind {
            backoff::CONSTANT => (span, 0),
            backoff::LINEAR => (max, increment),
            _ => (max, factor.to_bits()),
        };
        if max < initial {
            return broken(ErrorCode::MaxBelowInitial, Field::BackoffMax);
        }
        let default = if random { jitter::NONE } else { base.jitter };
        let jitter = word(Field::JitterKind, default);
        if random && jitter != jitter::NONE {
            return broken(ErrorCode::NotForKind, Field::JitterKind);
        }
        if !is_plain_jitter(jitter) {
            return broken(ErrorCode::NotSupported, Field::JitterKind);
        }
        let attempts = number(Field::Attempts);
        // The cast saturates, so that whatever is no whole number in range does not come back equal.
        let whole = attempts as u32;
        let attempts = match has(Field::Attempts) {
            false => base.attempts,
            true if attempts == f64::INFINITY => FOREVER,
            true if f64::from(whole) != attempts || whole == 0 || whole == FOREVER => {
                return broken(ErrorCode::AttemptsRange, Field::Attempts);
            }
            true => whole,
        };
        let policy = Policy {
            first: Flat { initial, step, max, kind, ..Flat::EMPTY },
            jitter,
            attempts,
            deadline: time(Field::Deadline, UNLIMITED, UNLIMITED),
            min_attempt: time(Field::MinAttempt, 0, 0),
            on_deadline: word(Field::OnDeadline, base.on_deadline),
            attempt_timeout: time(Field::AttemptTimeout, UNLIMITED, UNLIMITED),
            hint_max: time(Field::HintMax, base.hint_max, span),
            ..base
        };
        match () {
            () if wrong != 0 => Err((ErrorCode::NotADuration, wrong)),
            () if policy.deadline == 0 => broken(ErrorCode::ZeroLimit, Field::Deadline),
            () if policy.attempt_timeout == 0 => broken(ErrorCode::ZeroLimit, Field::AttemptTimeout),
            () if policy.min_attempt >= policy.deadline => broken(ErrorCode::MinAttemptRange, Field::MinAttempt),
            () if policy.on_deadline == CLIP && policy.min_attempt == 0 => {
                broken(ErrorCode::ClipNeedsMinAttempt, Field::OnDeadline)
            }
            () => Ok(Self(policy)),
        }
    }

    /// The same as a policy for the whole machine.
    #[must_use]
    pub const fn whole(&self) -> Policy {
        self.0.prepared()
    }

    /// How long the first attempt may take, see [`Policy::first_limit`].
    #[must_use]
    pub const fn first_limit(&self) -> Option<Span> {
        self.0.first_limit()
    }
}

/// Whether a plain policy may have a backoff of that kind.
const fn is_plain(kind: u8) -> bool {
    matches!(kind, backoff::CONSTANT | backoff::LINEAR | backoff::EXPONENTIAL | backoff::DECORRELATED)
}

/// Whether it may have a jitter of that kind.
const fn is_plain_jitter(kind: u8) -> bool {
    kind <= jitter::EQUAL
}
