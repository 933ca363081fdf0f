//! Each guard's configuration from the fields that were given, with what stands for those that were not (spec 32.4).

use super::table::{self, Takes};
use super::{GuardsBuilder, bit};
use crate::decide::backoff::{self, Backoff};
use crate::decide::guards::Refusal;
use crate::decide::guards::adaptive::{AdaptiveConfig, AdaptiveKind};
use crate::decide::guards::breaker::config::{BreakerConfig, BreakerMode, BreakerOptions, Reopen, Trip};
use crate::decide::guards::budget::{BudgetConfig, BudgetKind};
use crate::decide::guards::bulkhead::BulkheadConfig;
use crate::decide::guards::latency::HedgeConfig;
use crate::decide::guards::limiter::{LimiterConfig, LimiterKind};
use crate::decide::guards::nested::Nesting;
use crate::decide::guards::stretch::StretchConfig;
use crate::error::{ConfigError, ErrorCode, Given};
use crate::field::Field;
use crate::time::Span;

/// How far back a budget or a breaker looks, and a stretch, unless its section says so.
const BUDGET_WINDOW: Span = Span::from_secs(10);
const REQUESTS_WINDOW: Span = Span::from_secs(120);
const BREAKER_WINDOW: Span = Span::from_secs(30);
const STRETCH_WINDOW: Span = Span::from_secs(30);
/// The most calls that a document's log may be for: a host takes 8 bytes for each.
const LOGGED: u32 = 1_000_000;
/// Below how many calls no share counts, unless the section says so.
const ENOUGH: u32 = 10;

impl GuardsBuilder {
    /// The budget; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn budget(&self) -> Result<Option<BudgetConfig>, ConfigError> {
        self.budget_kind()?.map(BudgetConfig::new).transpose()
    }

    /// What the budget's configuration is made of.
    pub(crate) fn budget_kind(&self) -> Result<Option<BudgetKind>, ConfigError> {
        let Some(kind) = self.kind(Field::BudgetKind, Field::BudgetLimit, table::RATIO) else { return Ok(None) };
        self.suits(Field::BudgetKind, Field::BudgetLimit, budget_fields(kind))?;
        let ratio = |unless| self.real(Field::BudgetRatio, unless);
        let window = |unless| self.span(Field::BudgetWindow, unless);
        Ok(Some(match kind {
            table::TOKEN => {
                let cost = self.whole(Field::BudgetCost, 5);
                BudgetKind::Token {
                    capacity: self.whole(Field::BudgetCapacity, 500),
                    cost,
                    timeout_cost: self.whole(Field::BudgetTimeoutCost, cost),
                    throttled_cost: self.whole(Field::BudgetThrottledCost, cost),
                    reward: self.real(Field::BudgetReward, 1.0),
                    refill: self.real(Field::BudgetRefill, 0.0),
                }
            }
            table::THROTTLE => BudgetKind::Throttle {
                capacity: self.whole(Field::BudgetCapacity, 10),
                reward: self.real(Field::BudgetReward, 0.1),
            },
            table::RATIO => BudgetKind::Ratio {
                ratio: ratio(0.1),
                window: window(BUDGET_WINDOW),
                min_per_second: self.real(Field::BudgetMinPerSecond, 0.1),
            },
            table::SHARE => {
                BudgetKind::Share { ratio: ratio(0.2), min_concurrency: self.whole(Field::BudgetMinConcurrency, 3) }
            }
            table::REQUESTS => {
                BudgetKind::Requests { k: self.real(Field::BudgetK, 2.0), window: window(REQUESTS_WINDOW) }
            }
            table::WINDOW => {
                BudgetKind::Window { limit: self.needed(Field::BudgetLimit)?, window: window(BUDGET_WINDOW) }
            }
            _ => return Ok(None),
        }))
    }

    /// The circuit breaker; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn breaker(&self) -> Result<Option<BreakerConfig>, ConfigError> {
        self.breaker_options()?.map(|options| options.build()).transpose()
    }

    /// What the breaker's configuration is made of.
    pub(crate) fn breaker_options(&self) -> Result<Option<BreakerOptions>, ConfigError> {
        let Some(kind) = self.kind(Field::BreakerKind, Field::BreakerRefusal, table::CONSECUTIVE) else {
            return Ok(None);
        };
        self.suits(Field::BreakerKind, Field::BreakerRefusal, breaker_fields(kind))?;
        let failure_rate = self.real(Field::BreakerFailureRate, 0.5);
        let slow_rate = self.given(Field::BreakerSlowRate).map(f64::from_bits);
        let min_calls = |most: u32| self.whole(Field::BreakerMinCalls, ENOUGH.min(most));
        let trip = match kind {
            table::CONSECUTIVE => Trip::Consecutive { failures: self.whole(Field::BreakerFailures, 5) },
            table::COUNT => {
                let size = self.whole(Field::BreakerSize, 100);
                Trip::Count { size, min_calls: min_calls(size), failure_rate, slow_rate }
            }
            table::TIME => Trip::Time {
                window: self.span(Field::BreakerWindow, BREAKER_WINDOW),
                slots: self.whole(Field::BreakerSlots, 10),
                min_calls: min_calls(ENOUGH),
                failure_rate,
                slow_rate,
            },
            _ => return Ok(None),
        };
        Ok(Some(BreakerOptions {
            trip,
            slow_after: self.given(Field::BreakerSlowAfter).map(Span::from_nanos).filter(|after| *after != Span::MAX),
            open_for: self.open_for()?,
            jitter: self.real(Field::BreakerJitter, 0.0),
            probes: self.whole(Field::BreakerProbes, 1),
            successes: self.whole(Field::BreakerSuccesses, 1),
            reopen: if self.second(Field::BreakerReopen) { Reopen::Streak } else { Reopen::First },
            mode: if self.second(Field::BreakerMode) { BreakerMode::Observe } else { BreakerMode::Enforce },
            opens_on_hint: self.second(Field::BreakerHint),
            refusal: self.refusal(Field::BreakerRefusal),
        }))
    }

    /// How long the breaker stays open.
    fn open_for(&self) -> Result<Backoff, ConfigError> {
        let kind = self.given(Field::BreakerOpenKind).and_then(|kind| u8::try_from(kind).ok());
        let kind = kind.unwrap_or(backoff::CONSTANT);
        let fields: &[Field] = match kind {
            backoff::LINEAR => &[Field::BreakerOpenFor, Field::BreakerOpenIncrement, Field::BreakerOpenMax],
            backoff::EXPONENTIAL => &[Field::BreakerOpenFor, Field::BreakerOpenFactor, Field::BreakerOpenMax],
            backoff::POLYNOMIAL => &[Field::BreakerOpenFor, Field::BreakerOpenExponent, Field::BreakerOpenMax],
            backoff::FIBONACCI => &[Field::BreakerOpenFor, Field::BreakerOpenMax],
            _ => &[Field::BreakerOpenFor],
        };
        self.suits(Field::BreakerOpenKind, Field::BreakerOpenMax, fields)?;
        let initial = self.span(Field::BreakerOpenFor, Span::from_secs(30));
        let max = self.span(Field::BreakerOpenMax, Span::MAX);
        Ok(match kind {
            backoff::LINEAR => {
                Backoff::Linear { initial, increment: self.span(Field::BreakerOpenIncrement, initial), max }
            }
            backoff::EXPONENTIAL => {
                Backoff::Exponential { initial, factor: self.real(Field::BreakerOpenFactor, 2.0), max }
            }
            backoff::POLYNOMIAL => {
                Backoff::Polynomial { initial, exponent: self.real(Field::BreakerOpenExponent, 2.0), max }
            }
            backoff::FIBONACCI => Backoff::Fibonacci { initial, max },
            _ => Backoff::Constant { delay: initial },
        })
    }

    /// The limiter; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn limiter(&self) -> Result<Option<LimiterConfig>, ConfigError> {
        let Some(kind) = self.kind(Field::LimiterKind, Field::LimiterRefusal, table::GCRA) else { return Ok(None) };
        let fields: &[Field] = match kind {
            table::GCRA | table::BUCKET => {
                &[Field::LimiterLimit, Field::LimiterPer, Field::LimiterBurst, Field::LimiterRefusal]
            }
            table::NONE => &[],
            _ => &[Field::LimiterLimit, Field::LimiterPer, Field::LimiterRefusal],
        };
        self.suits(Field::LimiterKind, Field::LimiterRefusal, fields)?;
        if kind == table::NONE {
            return Ok(None);
        }
        let missing = ConfigError::new(ErrorCode::FieldMissing, Field::LimiterLimit, Given::Unshown);
        let rate = self.given(Field::LimiterLimit).map(f64::from_bits).ok_or(missing)?;
        let per = self.span(Field::LimiterPer, Span::from_secs(1));
        // The cast saturates, so that whatever is no whole number in range does not come back equal.
        let limit = rate as u32;
        let most = if kind == table::LOG { LOGGED } else { u32::MAX };
        if kind != table::BUCKET && !(f64::from(limit) == rate && limit != 0 && limit <= most) {
            return Err(ConfigError::new(ErrorCode::CountRange, Field::LimiterLimit, Given::Number(rate)));
        }
        let burst = self.whole(Field::LimiterBurst, limit.max(1));
        let kind = match kind {
            table::GCRA => LimiterKind::Gcra { limit, per, burst },
            table::BUCKET => LimiterKind::Bucket { limit: rate, per, burst },
            table::WINDOW => LimiterKind::Window { limit, per },
            _ => LimiterKind::Log { limit, per },
        };
        LimiterConfig::new(kind, self.refusal(Field::LimiterRefusal)).map(Some)
    }

    /// The bulkhead; `None` where no field of it was given.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn bulkhead(&self) -> Result<Option<BulkheadConfig>, ConfigError> {
        if !self.any(Field::BulkheadLimit, Field::BulkheadMaxWait) {
            return Ok(None);
        }
        let limit = self.needed(Field::BulkheadLimit)?;
        let queue = self.whole(Field::BulkheadQueue, 0);
        BulkheadConfig::new(limit, queue, self.span(Field::BulkheadMaxWait, Span::MAX)).map(Some)
    }

    /// The adaptive rate; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn adaptive(&self) -> Result<Option<AdaptiveConfig>, ConfigError> {
        let Some(kind) = self.kind(Field::AdaptiveKind, Field::AdaptiveRefusal, table::CUBIC) else { return Ok(None) };
        let (preset, fields): (_, &[Field]) = match kind {
            table::CUBIC => (
                AdaptiveKind::CUBIC,
                &[
                    Field::AdaptiveBeta,
                    Field::AdaptiveScale,
                    Field::AdaptiveSmooth,
                    Field::AdaptiveMinRate,
                    Field::AdaptiveRefusal,
                ],
            ),
            table::AIMD => (
                AdaptiveKind::AIMD,
                &[
                    Field::AdaptiveBeta,
                    Field::AdaptiveIncrease,
                    Field::AdaptiveMinRate,
                    Field::AdaptiveMaxRate,
                    Field::AdaptiveInitialRate,
                    Field::AdaptiveRefusal,
                ],
            ),
            _ => (AdaptiveKind::CUBIC, &[]),
        };
        self.suits(Field::AdaptiveKind, Field::AdaptiveRefusal, fields)?;
        if kind == table::NONE {
            return Ok(None);
        }
        let kind = match preset {
            AdaptiveKind::Cubic { beta, scale, smooth, min_rate } => AdaptiveKind::Cubic {
                beta: self.real(Field::AdaptiveBeta, beta),
                scale: self.real(Field::AdaptiveScale, scale),
                smooth: self.real(Field::AdaptiveSmooth, smooth),
                min_rate: self.real(Field::AdaptiveMinRate, min_rate),
            },
            AdaptiveKind::Aimd { beta, increase, min_rate, max_rate, initial_rate } => {
                let least = self.real(Field::AdaptiveMinRate, min_rate);
                let most = self.real(Field::AdaptiveMaxRate, max_rate);
                // What is not given gives way to what is.
                let least = if self.has(Field::AdaptiveMinRate) {
                    least
                } else if most > 0.0 {
                    least.min(most)
                } else {
                    least
                };
                let most = if self.has(Field::AdaptiveMaxRate) { most } else { most.max(least) };
                AdaptiveKind::Aimd {
                    beta: self.real(Field::AdaptiveBeta, beta),
                    increase: self.real(Field::AdaptiveIncrease, increase),
                    min_rate: least,
                    max_rate: most,
                    initial_rate: self.real(Field::AdaptiveInitialRate, initial_rate.min(most).max(least)),
                }
            }
        };
        AdaptiveConfig::new(kind, self.refusal(Field::AdaptiveRefusal)).map(Some)
    }

    /// By how much delays are stretched; `None` where no field of it was given.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn stretch(&self) -> Result<Option<StretchConfig>, ConfigError> {
        if !self.any(Field::StretchFactor, Field::StretchMinCalls) {
            return Ok(None);
        }
        let missing = ConfigError::new(ErrorCode::FieldMissing, Field::StretchFactor, Given::Unshown);
        let factor = self.given(Field::StretchFactor).map(f64::from_bits).ok_or(missing)?;
        let window = self.span(Field::StretchWindow, STRETCH_WINDOW);
        StretchConfig::new(factor, window, self.whole(Field::StretchMinCalls, ENOUGH)).map(Some)
    }

    /// When a second attempt starts beside the first; `None` where no field of it was given.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn hedge(&self) -> Result<Option<HedgeConfig>, ConfigError> {
        if !self.any(Field::HedgeDelay, Field::HedgeAttempts) {
            return Ok(None);
        }
        let missing = ConfigError::new(ErrorCode::FieldMissing, Field::HedgeDelay, Given::Unshown);
        let delay = self.given(Field::HedgeDelay).map(Span::from_nanos).ok_or(missing)?;
        let percentile = self.given(Field::HedgePercentile).map(f64::from_bits);
        HedgeConfig::new(delay, percentile, self.whole(Field::HedgeAttempts, 2)).map(Some)
    }

    /// What a retry inside another one does; `None` where no field of it was given.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn nested(&self) -> Result<Option<Nesting>, ConfigError> {
        let Some(mode) = self.kind(Field::NestedMode, Field::NestedCap, table::ALLOW) else { return Ok(None) };
        self.suits(Field::NestedMode, Field::NestedCap, if mode == table::CAP { &[Field::NestedCap] } else { &[] })?;
        let nesting = match mode {
            table::INNERMOST => Nesting::Innermost,
            table::OUTERMOST => Nesting::Outermost,
            table::CAP => Nesting::Cap(self.needed(Field::NestedCap)?),
            _ => Nesting::Allow,
        };
        nesting.checked().map(Some)
    }

    /// The first rule that is broken, whichever guard's: what a document's reader asks when it has all fields.
    ///
    /// # Errors
    /// See [`ErrorCode`].
    pub fn check(&self) -> Result<(), ConfigError> {
        self.budget()?;
        self.breaker()?;
        self.limiter()?;
        self.bulkhead()?;
        self.adaptive()?;
        self.stretch()?;
        self.hedge()?;
        self.nested()?;
        Ok(())
    }

    pub(super) const fn has(&self, field: Field) -> bool {
        self.given & bit(field) != 0
    }

    /// Whether one of the fields from the first to the last was given.
    pub(super) const fn any(&self, first: Field, last: Field) -> bool {
        self.given & (bit(last).wrapping_shl(1).wrapping_sub(1) & !bit(first).wrapping_sub(1)) != 0
    }

    /// The number of a field that was given.
    pub(super) fn given(&self, field: Field) -> Option<u64> {
        if self.has(field) { Some(self.at(field)) } else { None }
    }

    /// The kind of a section, or that which it has unless it says so; `None` where no field of it was given.
    fn kind(&self, first: Field, last: Field, unless: u8) -> Option<u8> {
        if !self.any(first, last) {
            return None;
        }
        Some(self.given(first).map_or(unless, |kind| u8::try_from(kind).unwrap_or(table::NONE)))
    }

    /// Whether the kind has a use for all fields that were given, from behind `first` to `last`.
    fn suits(&self, first: Field, last: Field, useful: &[Field]) -> Result<(), ConfigError> {
        let all = useful.iter().fold(bit(first), |all, field| all | bit(*field));
        let own = bit(last).wrapping_shl(1).wrapping_sub(1) & !bit(first).wrapping_sub(1);
        let useless = self.given & own & !all;
        match table::NAMES.iter().find(|known| bit(known.1) & useless != 0) {
            Some(&(_, field)) => Err(ConfigError::new(ErrorCode::NotForKind, field, self.shown(field))),
            None => Ok(()),
        }
    }

    /// The value as errors show it.
    fn shown(&self, field: Field) -> Given {
        match table::takes(field) {
            Takes::Word => Given::Unshown,
            Takes::Span | Takes::SpanOrNone => Given::Span(Span::from_nanos(self.at(field))),
            Takes::Number => Given::Number(f64::from_bits(self.at(field))),
            Takes::Whole { .. } => Given::Number(f64::from(self.whole(field, 0))),
        }
    }

    fn needed(&self, field: Field) -> Result<u32, ConfigError> {
        if self.has(field) {
            return Ok(self.whole(field, 0));
        }
        Err(ConfigError::new(ErrorCode::FieldMissing, field, Given::Unshown))
    }

    fn whole(&self, field: Field, unless: u32) -> u32 {
        self.given(field).map_or(unless, |number| u32::try_from(number).unwrap_or(u32::MAX))
    }

    fn real(&self, field: Field, unless: f64) -> f64 {
        self.given(field).map_or(unless, f64::from_bits)
    }

    fn span(&self, field: Field, unless: Span) -> Span {
        self.given(field).map_or(unless, Span::from_nanos)
    }

    fn second(&self, field: Field) -> bool {
        self.given(field) == Some(table::SECOND.into())
    }

    fn refusal(&self, field: Field) -> Refusal {
        if self.second(field) { Refusal::Wait } else { Refusal::Stop }
    }
}

/// The fields that a kind of budget has a use for.
const fn budget_fields(kind: u8) -> &'static [Field] {
    match kind {
        table::TOKEN => &[
            Field::BudgetCapacity,
            Field::BudgetCost,
            Field::BudgetTimeoutCost,
            Field::BudgetThrottledCost,
            Field::BudgetReward,
            Field::BudgetRefill,
        ],
        table::THROTTLE => &[Field::BudgetCapacity, Field::BudgetReward],
        table::RATIO => &[Field::BudgetRatio, Field::BudgetWindow, Field::BudgetMinPerSecond],
        table::SHARE => &[Field::BudgetRatio, Field::BudgetMinConcurrency],
        table::REQUESTS => &[Field::BudgetK, Field::BudgetWindow],
        table::WINDOW => &[Field::BudgetLimit, Field::BudgetWindow],
        _ => &[],
    }
}

/// The fields that a kind of breaker has a use for.
const fn breaker_fields(kind: u8) -> &'static [Field] {
    macro_rules! with_common {
        ($($own:expr),*) => {
            &[
                $($own,)*
                Field::BreakerOpenKind,
                Field::BreakerOpenFor,
                Field::BreakerOpenFactor,
                Field::BreakerOpenIncrement,
                Field::BreakerOpenExponent,
                Field::BreakerOpenMax,
                Field::BreakerJitter,
                Field::BreakerProbes,
                Field::BreakerSuccesses,
                Field::BreakerMode,
                Field::BreakerHint,
                Field::BreakerRefusal,
            ]
        };
    }
    match kind {
        table::CONSECUTIVE => with_common!(Field::BreakerFailures, Field::BreakerReopen),
        table::COUNT => with_common!(
            Field::BreakerSize,
            Field::BreakerFailureRate,
            Field::BreakerSlowAfter,
            Field::BreakerSlowRate,
            Field::BreakerMinCalls
        ),
        table::TIME => with_common!(
            Field::BreakerWindow,
            Field::BreakerSlots,
            Field::BreakerFailureRate,
            Field::BreakerSlowAfter,
            Field::BreakerSlowRate,
            Field::BreakerMinCalls
        ),
        _ => &[],
    }
}
