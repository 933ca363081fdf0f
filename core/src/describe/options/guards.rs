//! Each guard's configuration from the options, with what stands for the fields that were not given (spec 32.4).

use super::Options;
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
use crate::describe::preset::Preset;
use crate::describe::write::write_field;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::{Field, Section, Takes};
use crate::json::Open;
use crate::time::Span;
use core::fmt;

/// The most calls that a document's log may be for: a host takes 8 bytes for each.
const LOGGED: u32 = 1_000_000;

impl Options {
    /// The preset, if one was given.
    pub fn chosen_preset(&self) -> Option<Preset> {
        Preset::ALL.into_iter().find(|preset| preset.code() == self.preset_code())
    }

    /// The options of the guards alone, those of the preset as if they had been given.
    pub fn guards(&self) -> Self {
        let mut guards = Self::NEW;
        for field in Field::ALL {
            if let Some(number) = self.given(*field).filter(|_| field.is_guards()) {
                guards.put(*field, number);
            }
        }
        guards
    }

    /// True if no field of a guard is set and no preset with guards is chosen.
    pub fn has_no_guards(&self) -> bool {
        Section::GUARDS.into_iter().all(|section| !self.any(section))
    }

    /// The budget; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn budget(&self) -> Result<Option<BudgetConfig>, Error> {
        self.budget_kind()?.map(BudgetConfig::new).transpose()
    }

    /// The kind and numbers of the budget.
    pub(crate) fn budget_kind(&self) -> Result<Option<BudgetKind>, Error> {
        let Some(kind) = self.kind(Section::BUDGET)? else { return Ok(None) };
        let window = self.span(Field::BudgetWindow);
        Ok(Some(match kind {
            "token" => {
                let cost = self.whole(Field::BudgetCost);
                BudgetKind::Token {
                    capacity: self.whole(Field::BudgetCapacity),
                    cost,
                    timeout_cost: self.whole_or(Field::BudgetTimeoutCost, cost),
                    throttled_cost: self.whole_or(Field::BudgetThrottledCost, cost),
                    reward: self.real(Field::BudgetReward),
                    refill: self.real(Field::BudgetRefill),
                }
            }
            "throttle" => BudgetKind::Throttle {
                capacity: self.whole_or(Field::BudgetCapacity, 10),
                reward: self.real_or(Field::BudgetReward, 0.1),
            },
            "ratio" => BudgetKind::Ratio {
                ratio: self.real(Field::BudgetRatio),
                window,
                min_per_second: self.real(Field::BudgetMinPerSecond),
            },
            "share" => BudgetKind::Share {
                ratio: self.real_or(Field::BudgetRatio, 0.2),
                min_concurrency: self.whole(Field::BudgetMinConcurrency),
            },
            "requests" => BudgetKind::Requests {
                k: self.real(Field::BudgetK),
                window: self.span_or(Field::BudgetWindow, Span::from_secs(120)),
            },
            "window" => {
                BudgetKind::Window { limit: self.needed(Field::BudgetLimit).map(|limit| limit as u32)?, window }
            }
            _ => return Ok(None),
        }))
    }

    /// The circuit breaker; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn breaker(&self) -> Result<Option<BreakerConfig>, Error> {
        self.breaker_options()?.map(|options| options.build()).transpose()
    }

    /// The checked options of the breaker.
    pub(crate) fn breaker_options(&self) -> Result<Option<BreakerOptions>, Error> {
        let Some(kind) = self.kind(Section::BREAKER)? else { return Ok(None) };
        let failure_rate = self.real(Field::BreakerFailureRate);
        let slow_rate = self.given(Field::BreakerSlowRate).map(f64::from_bits);
        let min_calls = self.whole(Field::BreakerMinCalls);
        let trip = match kind {
            "consecutive" => Trip::Consecutive { failures: self.whole(Field::BreakerFailures) },
            "count" => {
                let size = self.whole(Field::BreakerSize);
                let min_calls = self.whole_or(Field::BreakerMinCalls, min_calls.min(size));
                Trip::Count { size, min_calls, failure_rate, slow_rate }
            }
            "time" => Trip::Time {
                window: self.span(Field::BreakerWindow),
                slots: self.whole(Field::BreakerSlots),
                min_calls,
                failure_rate,
                slow_rate,
            },
            _ => return Ok(None),
        };
        Ok(Some(BreakerOptions {
            trip,
            slow_after: Some(self.span(Field::BreakerSlowAfter)).filter(|after| *after != Span::MAX),
            open_for: self.open_for()?,
            jitter: self.real(Field::BreakerJitter),
            probes: self.whole(Field::BreakerProbes),
            successes: self.whole(Field::BreakerSuccesses),
            reopen: if self.second(Field::BreakerReopen) { Reopen::Streak } else { Reopen::First },
            mode: if self.second(Field::BreakerMode) { BreakerMode::Observe } else { BreakerMode::Enforce },
            opens_on_hint: self.second(Field::BreakerHint),
            refusal: self.refusal(Field::BreakerRefusal),
        }))
    }

    /// How long the breaker stays open.
    fn open_for(&self) -> Result<Backoff, Error> {
        let kind = self.or(Field::BreakerOpenKind) as u8;
        self.check_kind(Section::OPEN_FOR, kind)?;
        let initial = self.span(Field::BreakerOpenFor);
        let max = self.span(Field::BreakerOpenMax);
        Ok(match kind {
            backoff::LINEAR => {
                Backoff::Linear { initial, increment: self.span_or(Field::BreakerOpenIncrement, initial), max }
            }
            backoff::EXPONENTIAL => Backoff::Exponential { initial, factor: self.real(Field::BreakerOpenFactor), max },
            backoff::POLYNOMIAL => {
                Backoff::Polynomial { initial, exponent: self.real(Field::BreakerOpenExponent), max }
            }
            backoff::FIBONACCI => Backoff::Fibonacci { initial, max },
            _ => Backoff::Constant { delay: initial },
        })
    }

    /// The limiter; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn limiter(&self) -> Result<Option<LimiterConfig>, Error> {
        let Some(kind) = self.kind(Section::LIMITER)? else { return Ok(None) };
        let rate = f64::from_bits(self.needed(Field::LimiterLimit)?);
        let per = self.span(Field::LimiterPer);
        // The cast saturates, so that whatever is no whole number in range does not come back equal.
        let limit = rate as u32;
        let most = if kind == "log" { LOGGED } else { u32::MAX };
        if kind != "bucket" && !(f64::from(limit) == rate && limit != 0 && limit <= most) {
            return Err(Error::new(ErrorCode::CountRange, Field::LimiterLimit, Quantity::Number(rate)));
        }
        let burst = self.whole_or(Field::LimiterBurst, limit.max(1));
        let kind = match kind {
            "gcra" => LimiterKind::Gcra { limit, per, burst },
            "bucket" => LimiterKind::Bucket { limit: rate, per, burst },
            "window" => LimiterKind::Window { limit, per },
            _ => LimiterKind::Log { limit, per },
        };
        LimiterConfig::new(kind, self.refusal(Field::LimiterRefusal)).map(Some)
    }

    /// The bulkhead; `None` where no field of it was given.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn bulkhead(&self) -> Result<Option<BulkheadConfig>, Error> {
        if !self.any(Section::BULKHEAD) {
            return Ok(None);
        }
        let limit = self.needed(Field::BulkheadLimit)? as u32;
        BulkheadConfig::new(limit, self.whole(Field::BulkheadQueue), self.span(Field::BulkheadMaxWait)).map(Some)
    }

    /// The adaptive rate; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn adaptive(&self) -> Result<Option<AdaptiveConfig>, Error> {
        let kind = match self.kind(Section::ADAPTIVE)? {
            None => return Ok(None),
            Some("aimd") => {
                // The lowest and the highest rate give way to each other where one is not given, the initial one to both.
                let (mut least, mut most) = (self.real(Field::AdaptiveMinRate), self.real(Field::AdaptiveMaxRate));
                if self.given(Field::AdaptiveMinRate).is_none() && most > 0.0 {
                    least = least.min(most);
                }
                if self.given(Field::AdaptiveMaxRate).is_none() {
                    most = most.max(least);
                }
                let initial = self.real(Field::AdaptiveInitialRate);
                AdaptiveKind::Aimd {
                    beta: self.real_or(Field::AdaptiveBeta, 0.5),
                    increase: self.real(Field::AdaptiveIncrease),
                    min_rate: least,
                    max_rate: most,
                    initial_rate: self.real_or(Field::AdaptiveInitialRate, initial.min(most).max(least)),
                }
            }
            Some(_) => AdaptiveKind::Cubic {
                beta: self.real(Field::AdaptiveBeta),
                scale: self.real(Field::AdaptiveScale),
                smooth: self.real(Field::AdaptiveSmooth),
                min_rate: self.real(Field::AdaptiveMinRate),
            },
        };
        AdaptiveConfig::new(kind, self.refusal(Field::AdaptiveRefusal)).map(Some)
    }

    /// By how much delays are stretched; `None` where no field of it was given.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn stretch(&self) -> Result<Option<StretchConfig>, Error> {
        if !self.any(Section::STRETCH) {
            return Ok(None);
        }
        let factor = f64::from_bits(self.needed(Field::StretchFactor)?);
        StretchConfig::new(factor, self.span(Field::StretchWindow), self.whole(Field::StretchMinCalls)).map(Some)
    }

    /// When a second attempt starts beside the first; `None` where no field of it was given.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn hedge(&self) -> Result<Option<HedgeConfig>, Error> {
        if !self.any(Section::HEDGE) {
            return Ok(None);
        }
        let delay = Span::from_nanos(self.needed(Field::HedgeDelay)?);
        let percentile = self.given(Field::HedgePercentile).map(f64::from_bits);
        HedgeConfig::new(delay, percentile, self.whole(Field::HedgeAttempts)).map(Some)
    }

    /// The behaviour of a retry inside another one; `None` if no field of it is set.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn nested(&self) -> Result<Option<Nesting>, Error> {
        let Some(mode) = self.kind(Section::NESTED)? else { return Ok(None) };
        let nesting = match mode {
            "innermost" => Nesting::Innermost,
            "outermost" => Nesting::Outermost,
            "cap" => Nesting::Cap(self.needed(Field::NestedCap)? as u32),
            _ => Nesting::Allow,
        };
        nesting.checked().map(Some)
    }

    /// The first rule that is broken, whichever guard's: what a document's reader asks when it has all fields.
    ///
    /// # Errors
    /// See [`ErrorCode`].
    pub fn check_guards(&self) -> Result<(), Error> {
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

    /// The number of a guard's field. An unset field has the preset's number in a section without any set field, and in a section
    /// whose kind (or first field, if it has no kind) is not set (spec 32.6).
    fn given(&self, field: Field) -> Option<u64> {
        if self.has(field) {
            return Some(self.at(field));
        }
        let preset = self.chosen_preset()?;
        let section = Section::GUARDS.into_iter().find(|section| section.has(field))?;
        if self.has(section.first) { None } else { preset.guard(field) }
    }

    /// True if one of a section's fields is set.
    fn any(&self, section: Section) -> bool {
        section.fields().any(|field| self.given(field).is_some())
    }

    /// The word for the kind of a section; `None` where no field of it was given, and for "none".
    fn kind(&self, section: Section) -> Result<Option<&'static str>, Error> {
        if !self.any(section) {
            return Ok(None);
        }
        let kind = self.or(section.first) as u8;
        self.check_kind(section, kind)?;
        Ok(Some(section.first.word(kind)).filter(|word| *word != "none"))
    }

    /// True if the kind uses every field of the section that is set.
    fn check_kind(&self, section: Section, kind: u8) -> Result<(), Error> {
        let fits = |field: Field| match section {
            // Which of these a kind of open time has a use for is another question.
            Section::BREAKER if Section::OPEN_FOR.has(field) => kind != 0,
            _ => field.fits(kind),
        };
        for field in section.fields().filter(|field| *field != section.first && !fits(*field)) {
            if let Some(number) = self.given(field) {
                return Err(Error::new(ErrorCode::NotForKind, field, field.takes().shown(number)));
            }
        }
        Ok(())
    }

    /// The number of a field that its section cannot do without.
    fn needed(&self, field: Field) -> Result<u64, Error> {
        self.given(field).ok_or(Error::new(ErrorCode::FieldMissing, field, Quantity::None))
    }

    /// The number of a field that was given, or its default.
    fn or(&self, field: Field) -> u64 {
        self.given(field).or(field.default()).unwrap_or(0)
    }

    fn whole(&self, field: Field) -> u32 {
        self.or(field) as u32
    }

    fn whole_or(&self, field: Field, unless: u32) -> u32 {
        self.given(field).map_or(unless, |number| number as u32)
    }

    fn real(&self, field: Field) -> f64 {
        f64::from_bits(self.or(field))
    }

    fn real_or(&self, field: Field, unless: f64) -> f64 {
        self.given(field).map_or(unless, f64::from_bits)
    }

    fn span(&self, field: Field) -> Span {
        Span::from_nanos(self.or(field))
    }

    fn span_or(&self, field: Field, unless: Span) -> Span {
        self.given(field).map_or(unless, Span::from_nanos)
    }

    /// True if a field that takes two words has the second.
    fn second(&self, field: Field) -> bool {
        self.or(field) == 1
    }

    fn refusal(&self, field: Field) -> Refusal {
        if self.second(field) { Refusal::Wait } else { Refusal::Stop }
    }

    /// The names of the sections with set fields, except sections of kind "none".
    pub(crate) fn sections(&self) -> impl Iterator<Item = &'static str> {
        let none = |section: Section| {
            let first = self.given(section.first);
            matches!(section.first.takes(), Takes::Word(_))
                && first.is_some_and(|kind| section.first.word(kind as u8) == "none")
        };
        Section::GUARDS
            .into_iter()
            .filter(move |section| self.any(*section) && !none(*section))
            .map(|section| section.name)
    }

    /// Writes each section with set fields, so that it is read back to the same.
    pub(crate) fn write_guards(&self, document: &mut Open<'_>) -> fmt::Result {
        for section in Section::GUARDS.into_iter().filter(|section| self.any(*section)) {
            let mut out = Open::new(document.field(section.name)?, '{')?;
            let mut times = None;
            for field in section.fields() {
                let Some(number) = self.given(field) else { continue };
                if !Section::OPEN_FOR.has(field) {
                    write_field(field, number, name_in(section.name, field), &mut out)?;
                } else if times.is_none() {
                    times = Some(());
                    let mut group = Open::new(out.field("open_for")?, '{')?;
                    for field in Section::OPEN_FOR.fields() {
                        if let Some(number) = self.given(field) {
                            write_field(field, number, name_in(Section::OPEN_FOR.name, field), &mut group)?;
                        }
                    }
                    group.end('}')?;
                }
            }
            out.end('}')?;
        }
        Ok(())
    }
}

/// The name of a field in a group. The time that may stand for a group has a name of its own in it.
fn name_in(group: &str, field: Field) -> &'static str {
    field.path().strip_prefix(group).map_or("", |rest| rest.strip_prefix('.').unwrap_or("initial"))
}
