//! What to do after a failure, as plain data that is valid by construction.
//!
//! Configuration is checked in one place, [`PolicyBuilder::build`], and never again: a machine that holds a [`Policy`]
//! has nothing left to refuse. The fields, their names and their rules are the same in every language, because every
//! language sets them through [`PolicyBuilder::set`].

use crate::backoff::{self, Backoff, Stage};
use crate::error::{ConfigError, ErrorCode, Given};
use crate::hint::{HintMode, HintOver};
use crate::jitter::{self, Jitter};
use crate::time::Span;
use core::time::Duration;

mod field;
pub use field::{Field, Value};

/// The flat value of "no limit" for a deadline or a timeout.
pub(crate) const UNLIMITED: u64 = u64::MAX;
/// The flat value of "retry for ever".
const FOREVER: u32 = u32::MAX;

/// A valid retry policy: 88 bytes of plain numbers, to be shared by any number of operations.
///
/// Built by [`Policy::builder`]; [`Policy::default`] is safe to use as it is (spec 3.1).
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct Policy {
    pub(crate) stage: Stage,
    pub(crate) jitter_factor: f64,
    pub(crate) deadline: u64,
    pub(crate) min_attempt: u64,
    pub(crate) attempt_timeout: u64,
    pub(crate) hint_max: u64,
    pub(crate) attempts: u32,
    pub(crate) backoff: u8,
    pub(crate) jitter: u8,
    pub(crate) on_deadline: u8,
    pub(crate) hint_mode: u8,
    pub(crate) hint_over: u8,
    /// [`Policy::plainness`], so that the hot path asks once.
    pub(crate) plain: u8,
    /// No padding: a policy is its bytes.
    unused: [u8; 6],
}

/// What to do when the next attempt would not fit before the deadline (spec 6).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OnDeadline {
    /// Give up at once instead of sleeping in vain.
    #[default]
    Stop,
    /// Sleep less, so that one last attempt has `min_attempt` of time left.
    Clip,
}

pub(crate) const NOT_PLAIN: u8 = 0;
pub(crate) const PLAIN: u8 = 1;
const PLAIN_WITH_DEADLINE: u8 = 2;
pub(crate) const STOP: u8 = 0;
pub(crate) const CLIP: u8 = 1;
pub(crate) const FLOOR: u8 = 0;
pub(crate) const REPLACE: u8 = 1;
pub(crate) const IGNORE: u8 = 2;
pub(crate) const CLAMP: u8 = 1;

/// langgraphgo's numbers, with full jitter and hints obeyed up to a minute.
const DEFAULT: Policy = Policy {
    stage: Stage { initial: 100_000_000, increment: 0, factor: 2.0, max: 5_000_000_000 },
    jitter_factor: 0.0,
    deadline: UNLIMITED,
    min_attempt: 0,
    attempt_timeout: UNLIMITED,
    hint_max: 60_000_000_000,
    attempts: 3,
    backoff: backoff::EXPONENTIAL,
    jitter: jitter::FULL,
    on_deadline: STOP,
    hint_mode: FLOOR,
    hint_over: STOP,
    plain: PLAIN,
    unused: [0; 6],
};

impl Default for Policy {
    fn default() -> Self {
        DEFAULT
    }
}

impl Policy {
    /// A builder that starts from the default policy.
    #[must_use]
    pub const fn builder() -> PolicyBuilder {
        PolicyBuilder { policy: DEFAULT, given: 0 }
    }

    /// How delays grow.
    #[must_use]
    pub const fn backoff(&self) -> Backoff {
        let Stage { initial, increment, factor, max } = self.stage;
        let (initial, max) = (Span::from_nanos(initial), Span::from_nanos(max));
        match self.backoff {
            backoff::LINEAR => Backoff::Linear { initial, increment: Span::from_nanos(increment), max },
            backoff::EXPONENTIAL => Backoff::Exponential { initial, factor, max },
            _ => Backoff::Constant { delay: initial },
        }
    }

    /// How delays are spread.
    #[must_use]
    pub const fn jitter(&self) -> Jitter {
        Jitter::from_flat(self.jitter, self.jitter_factor)
    }

    /// How many attempts there may be, the first one included; `None` for ever.
    #[must_use]
    pub const fn attempts(&self) -> Option<u32> {
        if self.attempts == FOREVER { None } else { Some(self.attempts) }
    }

    /// How long the whole operation may take, attempts included; `None` without a limit.
    #[must_use]
    pub const fn deadline(&self) -> Option<Span> {
        limit(self.deadline)
    }

    /// How much time an attempt must have left before the deadline to be worth starting.
    #[must_use]
    pub const fn min_attempt(&self) -> Span {
        Span::from_nanos(self.min_attempt)
    }

    /// What happens when the next attempt would not fit before the deadline.
    #[must_use]
    pub const fn on_deadline(&self) -> OnDeadline {
        if self.on_deadline == CLIP { OnDeadline::Clip } else { OnDeadline::Stop }
    }

    /// How long one attempt may take; `None` without a limit.
    #[must_use]
    pub const fn attempt_timeout(&self) -> Option<Span> {
        limit(self.attempt_timeout)
    }

    /// What is done with a server's hint.
    #[must_use]
    pub const fn hint_mode(&self) -> HintMode {
        match self.hint_mode {
            REPLACE => HintMode::Replace,
            IGNORE => HintMode::Ignore,
            _ => HintMode::Floor,
        }
    }

    /// The longest hint that is obeyed.
    #[must_use]
    pub const fn hint_max(&self) -> Span {
        Span::from_nanos(self.hint_max)
    }

    /// What is done with a longer one.
    #[must_use]
    pub const fn hint_over(&self) -> HintOver {
        if self.hint_over == CLAMP { HintOver::Clamp } else { HintOver::Stop }
    }

    /// Whether a failure without a hint needs nothing but doubling the delay and full jitter, in whole numbers: what most
    /// policies are, and the only decision that is made in line.
    const fn plainness(&self) -> u8 {
        let doubles = self.backoff == backoff::EXPONENTIAL && self.stage.factor == 2.0;
        match doubles && self.jitter == jitter::FULL && self.stage.max < jitter::SMALL {
            true if self.deadline == UNLIMITED => PLAIN,
            true => PLAIN_WITH_DEADLINE,
            false => NOT_PLAIN,
        }
    }

    /// How long the first attempt may take: the smaller of deadline and attempt timeout, `None` without either.
    ///
    /// The one sum a host makes by itself: it adds this to the time of its first attempt, to abort it.
    #[must_use]
    pub const fn first_limit(&self) -> Option<Span> {
        limit(if self.deadline < self.attempt_timeout { self.deadline } else { self.attempt_timeout })
    }
}

const fn limit(flat: u64) -> Option<Span> {
    if flat == UNLIMITED { None } else { Some(Span::from_nanos(flat)) }
}

/// A policy in the making. Methods of Rust are typed; other languages and documents use [`PolicyBuilder::set`].
#[derive(Clone, Copy, PartialEq, Debug)]
#[repr(C)]
pub struct PolicyBuilder {
    policy: Policy,
    /// One bit for each field that was set, by the field's number.
    given: u64,
}

impl PolicyBuilder {
    /// How delays grow; exponential from 100 ms by 2 up to 5 s unless set.
    #[must_use]
    pub const fn backoff(mut self, backoff: Backoff) -> Self {
        let (kind, initial, increment, factor, max) = match backoff {
            Backoff::Constant { delay } => (backoff::CONSTANT, delay, Span::ZERO, 1.0, Span::MAX),
            Backoff::Linear { initial, increment, max } => (backoff::LINEAR, initial, increment, 1.0, max),
            Backoff::Exponential { initial, factor, max } => (backoff::EXPONENTIAL, initial, Span::ZERO, factor, max),
        };
        let (initial, increment, max) = (initial.as_nanos(), increment.as_nanos(), max.as_nanos());
        self.policy.backoff = kind;
        self.policy.stage = Stage { initial, increment, factor, max };
        self.given &= !(Field::BackoffIncrement.bit() | Field::BackoffFactor.bit() | Field::BackoffMax.bit());
        if kind == backoff::LINEAR {
            self.given |= Field::BackoffIncrement.bit();
        }
        self
    }

    /// How delays are spread; full jitter unless set.
    #[must_use]
    pub const fn jitter(mut self, jitter: Jitter) -> Self {
        (self.policy.jitter, self.policy.jitter_factor) = jitter.flat();
        self.given &= !Field::JitterFactor.bit();
        if self.policy.jitter >= jitter::ADDITIVE {
            self.given |= Field::JitterFactor.bit();
        }
        self
    }

    /// How many attempts there may be, the first one included: 1 to 4294967294; 3 unless set.
    #[must_use]
    pub const fn attempts(mut self, attempts: u32) -> Self {
        // The number that means "for ever" is out of range like 0: saying so needs the word.
        self.policy.attempts = if attempts == FOREVER { 0 } else { attempts };
        self
    }

    /// No limit on attempts.
    #[must_use]
    pub const fn forever(mut self) -> Self {
        self.policy.attempts = FOREVER;
        self
    }

    /// How long the whole operation may take, attempts included: above 0; without a limit unless set.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.policy.deadline = Span::from_duration(deadline).as_nanos();
        self
    }

    /// How much time an attempt must have left before the deadline to be worth starting; 0 unless set.
    #[must_use]
    pub const fn min_attempt(mut self, min_attempt: Duration) -> Self {
        self.policy.min_attempt = Span::from_duration(min_attempt).as_nanos();
        self
    }

    /// What happens when the next attempt would not fit before the deadline; stop unless set.
    #[must_use]
    pub const fn on_deadline(mut self, on_deadline: OnDeadline) -> Self {
        self.policy.on_deadline = match on_deadline {
            OnDeadline::Stop => STOP,
            OnDeadline::Clip => CLIP,
        };
        self
    }

    /// How long one attempt may take: above 0; without a limit unless set.
    #[must_use]
    pub const fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.policy.attempt_timeout = Span::from_duration(timeout).as_nanos();
        self
    }

    /// What is done with a server's hint; floor unless set.
    #[must_use]
    pub const fn hint_mode(mut self, mode: HintMode) -> Self {
        self.policy.hint_mode = match mode {
            HintMode::Floor => FLOOR,
            HintMode::Replace => REPLACE,
            HintMode::Ignore => IGNORE,
        };
        self
    }

    /// The longest hint that is obeyed; 60 s unless set.
    #[must_use]
    pub const fn hint_max(mut self, max: Duration) -> Self {
        self.policy.hint_max = Span::from_duration(max).as_nanos();
        self
    }

    /// What is done with a longer one; stop unless set.
    #[must_use]
    pub const fn hint_over(mut self, over: HintOver) -> Self {
        self.policy.hint_over = match over {
            HintOver::Stop => STOP,
            HintOver::Clamp => CLAMP,
        };
        self
    }

    /// The policy, or the first rule that is broken (spec 3).
    ///
    /// # Errors
    /// A [`ConfigError`] that names field, value and rule.
    pub const fn build(self) -> Result<Policy, ConfigError> {
        let mut p = self.policy;
        if p.backoff == backoff::LINEAR && !self.has(Field::BackoffIncrement) {
            p.stage.increment = p.stage.initial;
        }
        if p.backoff == backoff::CONSTANT && !self.has(Field::BackoffMax) {
            p.stage.max = Span::MAX.as_nanos();
        }
        match self.broken_rule(&p) {
            Some(error) => Err(error),
            None => {
                p.plain = p.plainness();
                Ok(p)
            }
        }
    }

    const fn has(&self, field: Field) -> bool {
        self.given & field.bit() != 0
    }

    const fn broken_rule(&self, p: &Policy) -> Option<ConfigError> {
        let error = match () {
            () if self.has(Field::BackoffFactor) && p.backoff != backoff::EXPONENTIAL => {
                number(ErrorCode::NotForKind, Field::BackoffFactor, p.stage.factor)
            }
            () if self.has(Field::BackoffIncrement) && p.backoff != backoff::LINEAR => {
                span(ErrorCode::NotForKind, Field::BackoffIncrement, p.stage.increment)
            }
            () if self.has(Field::BackoffMax) && p.backoff == backoff::CONSTANT => {
                span(ErrorCode::NotForKind, Field::BackoffMax, p.stage.max)
            }
            () if !(p.stage.factor >= 0.0 && p.stage.factor < f64::INFINITY) => {
                number(ErrorCode::FactorRange, Field::BackoffFactor, p.stage.factor)
            }
            () if p.stage.max < p.stage.initial => span(ErrorCode::MaxBelowInitial, Field::BackoffMax, p.stage.max),
            () if self.has(Field::JitterFactor) && p.jitter < jitter::ADDITIVE => {
                number(ErrorCode::NotForKind, Field::JitterFactor, p.jitter_factor)
            }
            () if !self.has(Field::JitterFactor) && p.jitter >= jitter::ADDITIVE => {
                ConfigError::new(ErrorCode::JitterFactorMissing, Field::JitterFactor, Given::Unshown)
            }
            () if !(p.jitter_factor >= 0.0 && p.jitter_factor < f64::INFINITY)
                || (p.jitter == jitter::PROPORTIONAL && p.jitter_factor > 1.0) =>
            {
                number(ErrorCode::JitterFactorRange, Field::JitterFactor, p.jitter_factor)
            }
            () if p.attempts == 0 => number(ErrorCode::AttemptsRange, Field::Attempts, 0.0),
            () if p.deadline == 0 => span(ErrorCode::ZeroLimit, Field::Deadline, 0),
            () if p.attempt_timeout == 0 => span(ErrorCode::ZeroLimit, Field::AttemptTimeout, 0),
            () if p.min_attempt >= p.deadline => span(ErrorCode::MinAttemptRange, Field::MinAttempt, p.min_attempt),
            () if p.on_deadline == CLIP && p.min_attempt == 0 => {
                ConfigError::new(ErrorCode::ClipNeedsMinAttempt, Field::OnDeadline, Given::Unshown)
            }
            () => return None,
        };
        Some(error)
    }
}

const fn number(code: ErrorCode, field: Field, value: f64) -> ConfigError {
    ConfigError::new(code, field, Given::Number(value))
}

const fn span(code: ErrorCode, field: Field, nanos: u64) -> ConfigError {
    ConfigError::new(code, field, Given::Span(Span::from_nanos(nanos)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_policy_can_be_a_constant() {
        const POLICY: Policy = match Policy::builder().attempts(5).deadline(SECOND).build() {
            Ok(policy) => policy,
            Err(_) => Policy { attempts: 0, ..DEFAULT },
        };
        assert_eq!(POLICY.attempts(), Some(5));
        assert_eq!(POLICY.deadline(), Some(Span::from_secs(1)));
    }

    #[test]
    fn what_goes_in_comes_out() {
        let policy = Policy::builder()
            .backoff(Backoff::linear(SECOND, SECOND * 2).max(SECOND * 9))
            .jitter(Jitter::Proportional { factor: 0.25 })
            .forever()
            .min_attempt(SECOND)
            .on_deadline(OnDeadline::Clip)
            .attempt_timeout(SECOND * 4)
            .hint_mode(HintMode::Replace)
            .hint_max(SECOND * 5)
            .hint_over(HintOver::Clamp)
            .build()
            .unwrap();
        assert_eq!(policy.backoff(), Backoff::linear(SECOND, SECOND * 2).max(SECOND * 9));
        assert_eq!(policy.jitter(), Jitter::Proportional { factor: 0.25 });
        assert_eq!(policy.attempts(), None);
        assert_eq!(policy.first_limit(), Some(Span::from_secs(4)));
        assert_eq!(policy.hint_mode(), HintMode::Replace);
        assert_eq!(policy.hint_over(), HintOver::Clamp);
        assert_eq!(policy.on_deadline(), OnDeadline::Clip);
    }

    #[test]
    fn each_broken_rule_is_named() {
        let policy = Policy::builder;
        let backoff = |backoff| policy().backoff(backoff);
        let jitter = |jitter| policy().jitter(jitter);
        for (builder, code, text) in [
            (policy().attempts(0), 104, "attempts = 0: must be a whole number from 1 to 4294967294, or \"forever\""),
            (
                policy().attempts(u32::MAX),
                104,
                "attempts = 0: must be a whole number from 1 to 4294967294, or \"forever\"",
            ),
            (policy().deadline(Duration::ZERO), 107, "deadline = 0s: must be more than 0, or \"none\""),
            (policy().attempt_timeout(Duration::ZERO), 107, "attempt_timeout = 0s: must be more than 0, or \"none\""),
            (policy().deadline(SECOND).min_attempt(SECOND), 108, "min_attempt = 1s: must be below the deadline"),
            (policy().on_deadline(OnDeadline::Clip), 109, "on_deadline: \"clip\" needs a min_attempt above 0"),
            (
                backoff(Backoff::exponential(SECOND * 2, 2.0).max(SECOND)),
                106,
                "backoff.max = 1s: must not be below backoff.initial (it is 5s unless given)",
            ),
            (
                backoff(Backoff::exponential(SECOND, -1.0)),
                105,
                "backoff.factor = -1: must be a finite number from 0 on",
            ),
            (
                backoff(Backoff::exponential(SECOND, f64::NAN)),
                105,
                "backoff.factor = NaN: must be a finite number from 0 on",
            ),
            (
                jitter(Jitter::Proportional { factor: 1.5 }),
                110,
                "jitter.factor = 1.5: must be a finite number from 0 on, at most 1 for proportional jitter",
            ),
        ] {
            let error = builder.build().unwrap_err();
            assert_eq!((error.code.code(), std::format!("{error}").as_str()), (code, text));
        }
    }
}
