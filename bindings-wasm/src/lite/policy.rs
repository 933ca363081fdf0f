//! A policy of one stage, read from plain numbers.
//!
//! Names, words, texts, chains and presets are most of what a host of the core's policies loads. Here a field is a place, its
//! value a number, and the backoffs need no powers. The rules are the core's: `tests/tests/lite.rs` holds this
//! reader against the core's.

use holdoff_core::{ErrorCode, Field, Span};

/// Nanoseconds in the unit of times.
const MILLISECOND: f64 = 1e6;

/// "No limit" for a deadline or a timeout.
const UNLIMITED: u64 = u64::MAX;
/// "Retry for ever".
const FOREVER: u32 = u32::MAX;

/// The fields of a policy, each at the place of its number, from 0 to 14.
///
/// NaN is a field that is left out. A time is in milliseconds, a word its place among [`Field::words`] from 0, and infinity is
/// "none" of a limit and "forever" of `attempts`. Places of fields that are not in `holdoff/lite` are not read.
pub type Fields = [f64; 15];

/// A valid policy of one stage: constant, linear, exponential or decorrelated; no jitter, full or equal; any limits; hints as
/// floors, and too long ones as the end.
///
/// Memory that another program has written reads as some policy and never panics.
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct Policy {
    /// The first delay in nanoseconds, as all times here.
    pub initial: u64,
    /// The growth of a linear delay.
    pub increment: u64,
    /// The factor of an exponential or decorrelated delay.
    pub factor: f64,
    /// The longest delay.
    pub max: u64,
    /// How long the whole call may take.
    pub deadline: u64,
    /// How much time an attempt must have left before the deadline.
    pub min_attempt: u64,
    /// How long one attempt may take.
    pub attempt_timeout: u64,
    /// The longest hint that is obeyed.
    pub hint_max: u64,
    /// How many attempts there may be.
    pub attempts: u32,
    /// The kind of the backoff, by the core's number.
    pub kind: u8,
    /// The kind of the jitter, by the core's number.
    pub jitter: u8,
    /// The core's number for an attempt that would not fit before the deadline: stop or clip.
    pub on_deadline: u8,
    /// No padding: the policy is its bytes.
    pub unused: u8,
}

/// The number of a field.
fn number(fields: &Fields, field: Field) -> f64 {
    fields.get(usize::from(field.code())).copied().unwrap_or(f64::NAN)
}

/// A time in nanoseconds: `longest` for an infinite one unless that is 0. `wrong` becomes the field's number where it is no time.
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

impl Policy {
    /// The same delay after every failure.
    pub const CONSTANT: u8 = 1;
    /// A delay that grows by a step.
    pub const LINEAR: u8 = 2;
    /// A delay that grows by a factor.
    pub const EXPONENTIAL: u8 = 3;
    /// A delay between the first one and a multiple of the previous one.
    pub const DECORRELATED: u8 = 7;
    /// No jitter.
    pub const NONE: u8 = 0;
    /// Anywhere between nothing and the delay.
    pub const FULL: u8 = 1;
    /// Half of the delay, and anywhere in the other half.
    pub const EQUAL: u8 = 2;
    /// Sleep less, so that one last attempt has its time.
    pub const CLIP: u8 = 1;

    /// The default policy (spec 3.1).
    pub const DEFAULT: Self = Self {
        initial: 100_000_000,
        increment: 0,
        factor: 2.0,
        max: 5_000_000_000,
        deadline: UNLIMITED,
        min_attempt: 0,
        attempt_timeout: UNLIMITED,
        hint_max: 60_000_000_000,
        attempts: 3,
        kind: Self::EXPONENTIAL,
        jitter: Self::FULL,
        on_deadline: 0,
        unused: 0,
    };

    /// True if there is a backoff of that kind.
    #[must_use]
    pub const fn has_backoff(kind: u8) -> bool {
        matches!(kind, Self::CONSTANT | Self::LINEAR | Self::EXPONENTIAL | Self::DECORRELATED)
    }

    /// True if there is a jitter of that kind.
    #[must_use]
    pub const fn has_jitter(kind: u8) -> bool {
        kind <= Self::EQUAL
    }

    /// The policy that the fields describe; a field that is left out is the default policy's (spec 3.1).
    ///
    /// # Errors
    /// A rule that is broken, and the number of the field that breaks it; `NotSupported` for a backoff or a jitter that is not here.
    #[inline]
    pub fn new(fields: &Fields) -> Result<Self, (ErrorCode, u8)> {
        let number = |field: Field| number(fields, field);
        let has = |field| !number(field).is_nan();
        let word = |field, default| if has(field) { number(field) as u32 as u8 } else { default };
        let mut wrong = 0;
        let mut time = |field: Field, default, longest| read_time(&mut wrong, number(field), field, default, longest);
        let broken = |code, field: Field| Err((code, field.code()));
        let (span, default) = (Span::MAX.as_nanos(), Self::DEFAULT);

        let kind = word(Field::BackoffKind, default.kind.wrapping_sub(1)).wrapping_add(1);
        if !Self::has_backoff(kind) {
            return broken(ErrorCode::NotSupported, Field::BackoffKind);
        }
        let random = kind == Self::DECORRELATED;
        if has(Field::BackoffFactor) && !(random || kind == Self::EXPONENTIAL) {
            return broken(ErrorCode::NotForKind, Field::BackoffFactor);
        }
        if has(Field::BackoffIncrement) && kind != Self::LINEAR {
            return broken(ErrorCode::NotForKind, Field::BackoffIncrement);
        }
        if has(Field::BackoffMax) && kind == Self::CONSTANT {
            return broken(ErrorCode::NotForKind, Field::BackoffMax);
        }
        let factor = match has(Field::BackoffFactor) {
            true => number(Field::BackoffFactor),
            false if random => 3.0,
            false => default.factor,
        };
        if !(factor >= f64::from(u8::from(random)) && factor < f64::INFINITY) {
            return broken(ErrorCode::FactorRange, Field::BackoffFactor);
        }
        let initial = time(Field::BackoffInitial, default.initial, 0);
        let increment = time(Field::BackoffIncrement, initial, 0);
        let max = time(Field::BackoffMax, default.max, span);
        let max = if kind == Self::CONSTANT { span } else { max };
        if max < initial {
            return broken(ErrorCode::MaxBelowInitial, Field::BackoffMax);
        }
        let jitter = word(Field::JitterKind, if random { Self::NONE } else { default.jitter });
        if random && jitter != Self::NONE {
            return broken(ErrorCode::NotForKind, Field::JitterKind);
        }
        if !Self::has_jitter(jitter) {
            return broken(ErrorCode::NotSupported, Field::JitterKind);
        }
        let attempts = number(Field::Attempts);
        // The cast saturates, so that only a whole number in range comes back equal.
        let whole = attempts as u32;
        let attempts = match has(Field::Attempts) {
            false => default.attempts,
            true if attempts == f64::INFINITY => FOREVER,
            true if f64::from(whole) != attempts || whole == 0 || whole == FOREVER => {
                return broken(ErrorCode::AttemptsRange, Field::Attempts);
            }
            true => whole,
        };
        let policy = Self {
            initial,
            increment,
            factor,
            max,
            kind,
            jitter,
            attempts,
            deadline: time(Field::Deadline, UNLIMITED, UNLIMITED),
            min_attempt: time(Field::MinAttempt, 0, 0),
            on_deadline: word(Field::OnDeadline, default.on_deadline),
            attempt_timeout: time(Field::AttemptTimeout, UNLIMITED, UNLIMITED),
            hint_max: time(Field::HintMax, default.hint_max, span),
            unused: 0,
        };
        match () {
            () if wrong != 0 => Err((ErrorCode::NotADuration, wrong)),
            () if policy.deadline == 0 => broken(ErrorCode::ZeroLimit, Field::Deadline),
            () if policy.attempt_timeout == 0 => broken(ErrorCode::ZeroLimit, Field::AttemptTimeout),
            () if policy.min_attempt >= policy.deadline => broken(ErrorCode::MinAttemptRange, Field::MinAttempt),
            () if policy.clips() && policy.min_attempt == 0 => {
                broken(ErrorCode::ClipNeedsMinAttempt, Field::OnDeadline)
            }
            () => Ok(policy),
        }
    }

    /// How long the first attempt may take: the smaller of deadline and attempt timeout.
    #[must_use]
    pub fn first_limit(&self) -> u64 {
        self.deadline.min(self.attempt_timeout)
    }

    /// True if the last sleep before the deadline may be shorter than its delay.
    #[must_use]
    pub const fn clips(&self) -> bool {
        self.on_deadline == Self::CLIP
    }
}
