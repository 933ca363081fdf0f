//! Each guard's configuration from the options, with what stands for the fields that were not given (spec 32.4).

use super::Options;
use crate::decide::backoff::{self, RawStage};
use crate::decide::guards::breaker::config as breaker;
use crate::decide::guards::window::slot_length;
use crate::decide::guards::*;
use crate::decide::policy::Policy;
use crate::describe::preset::{OPEN_TIMES, Preset};
use crate::describe::write::write_field;
use crate::each_guard;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::{Field, Section, Takes};
use crate::json::Open;
use crate::time::Span;
use core::fmt;

/// The most calls that a document's log may be for: a host takes 8 bytes for each.
const LOGGED: u32 = 1_000_000;

/// A configuration that options may describe.
pub trait DescribedGuard: GuardConfig {
    /// Reads the guard's section; `None` without one.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    fn described(options: &Options) -> Result<Option<Self>, Error>;
}

/// Reads the configurations: a plain one by its numbers, any other by its function below.
macro_rules! described {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => { $(
        impl DescribedGuard for $config {
            fn described(options: &Options) -> Result<Option<Self>, Error> {
                described!(@ options $name $($words)?)
            }
        }
    )* };
    (@ $options:ident $name:ident plain) => {{
        let is_given = $options.any(<Self as GuardConfig>::SECTION);
        Ok(Self::of_fields(&|field| $options.or_default(field)).filter(|_| is_given))
    }};
    (@ $options:ident $name:ident $($words:ident)?) => { $options.$name() };
}
each_guard!(described);

impl Options {
    /// The options of the guards alone, those of the preset as if they had been given.
    pub fn guards(&self) -> Self {
        let mut guards = Self::NEW;
        for field in Field::ALL {
            if let Some(number) = self.number(*field).filter(|_| field.is_guards()) {
                guards.put(*field, number);
            }
        }
        for (place, number) in self.given().filter(|given| given.0.rule == OPEN_TIMES) {
            guards.add(place, number);
        }
        if self.is_foreign() {
            guards.without_budget_of_loops();
        }
        guards
    }

    /// True if no field of a guard is set and no preset with guards is chosen.
    pub fn has_no_guards(&self) -> bool {
        Section::GUARDS.iter().copied().all(|section| !self.any(section))
    }

    /// The budget; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn budget(&self) -> Result<Option<BudgetConfig>, Error> {
        let Some(kind) = self.kind(Section::BUDGET)? else { return Ok(None) };
        let (capacity, reward) = (self.count(Field::BudgetCapacity), self.real(Field::BudgetReward));
        let (ratio, window) = (self.real(Field::BudgetRatio), self.span(Field::BudgetWindow));
        let config = match kind {
            "token" => self.token_budget(capacity, reward),
            "default" => BudgetConfig::of_loops_with(capacity),
            "throttle" => BudgetConfig::throttle(capacity, reward),
            "ratio" => BudgetConfig::ratio(ratio, window, self.real(Field::BudgetMinPerSecond)),
            "share" => BudgetConfig::share(ratio, self.count(Field::BudgetMinConcurrency)),
            "requests" => BudgetConfig::requests(self.real(Field::BudgetK), window),
            _ => BudgetConfig::window(self.count(Field::BudgetLimit), window),
        };
        config.map(Some)
    }

    fn token_budget(&self, capacity: u32, reward: f64) -> Result<BudgetConfig, Error> {
        let mut config = BudgetConfig::token(capacity, self.retry_costs(), reward, self.real(Field::BudgetRefill))?
            .with_grace(self.span(Field::BudgetGrace));
        if self.is(Field::BudgetReturns, "all") {
            config = config.with_all_returned();
        }
        match self.number(Field::BudgetHintedCost) {
            Some(cost) => config.with_hinted_cost(cost as u32),
            None => Ok(config),
        }
    }

    /// The budget that a loop brings to calls of `policy` under these guards (spec 36.1): [`BudgetConfig::of_loops`], with the
    /// capacity of a budget of kind "default". `None` where they name another kind, be it "none"; and unless they name a budget,
    /// for every preset but the default one, and where the policy does not end by its attempts.
    pub fn budget_of_loops(&self, policy: &Policy) -> Option<BudgetConfig> {
        if self.names_budget() {
            let is_default = self.is(Field::BudgetKind, "default");
            return if is_default { self.budget().ok().flatten() } else { None };
        }
        (policy.ends_by_attempts() && !self.is_foreign()).then(BudgetConfig::of_loops)
    }

    /// The guards of a policy for its loop, which brings a budget of kind "default" by itself: these without such a budget.
    pub fn beside_loop(&self) -> Self {
        let mut guards = *self;
        if self.names_budget() && self.is(Field::BudgetKind, "default") {
            guards.remove(|place| Field::from_code(place.field).is_some_and(|field| Section::BUDGET.has(field)));
        }
        guards
    }

    /// True if a field of the budget is set, be it to "none".
    pub fn names_budget(&self) -> bool {
        self.any(Section::BUDGET)
    }

    /// The same options of another system's policy, to which a loop brings no budget (spec 36.1): unless they name a budget, they name
    /// "none".
    pub(crate) fn without_budget_of_loops(&mut self) -> &mut Self {
        if !self.names_budget() {
            self.put(Field::BudgetKind, 0);
        }
        self
    }

    /// True for the preset of another system.
    fn is_foreign(&self) -> bool {
        self.chosen().is_some_and(|preset| preset != Preset::Default)
    }

    /// The tokens that a retry costs after a transient failure, a timeout and throttling.
    pub(crate) fn retry_costs(&self) -> [u32; 3] {
        [Field::BudgetCost, Field::BudgetTimeoutCost, Field::BudgetThrottledCost].map(|field| self.count(field))
    }

    /// The circuit breaker; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn breaker(&self) -> Result<Option<BreakerConfig>, Error> {
        let Some(kind) = self.kind(Section::BREAKER)? else { return Ok(None) };
        let count = |field: Field| field.count(self.count(field));
        let real = |field: Field| field.number(self.real(field));
        let word = |field| self.or_default(field) as u8;
        self.check_kind(Section::OPEN_FOR, self.or_default(Field::BreakerOpenKind) as u8)?;
        let mut config = BreakerConfig::default();
        if kind == "consecutive" {
            config.failures = count(Field::BreakerFailures)?;
        } else {
            config.kind = if kind == "count" { breaker::COUNT } else { breaker::TIME };
            config.window = Field::BreakerWindow.span(self.span(Field::BreakerWindow))?;
            config.size = count(if kind == "count" { Field::BreakerSize } else { Field::BreakerSlots })?;
            config.slot_length = slot_length(self.span(Field::BreakerWindow), config.size);
            config.failure_rate = real(Field::BreakerFailureRate)?;
            config.failures = config.enough_of(config.size);
            let slow_after = self.span(Field::BreakerSlowAfter);
            if self.number(Field::BreakerSlowRate).is_some() {
                config.slow_rate = real(Field::BreakerSlowRate)?;
                if slow_after == Span::MAX {
                    return Err(Error::new(ErrorCode::FieldMissing, Field::BreakerSlowAfter, Quantity::None));
                }
            }
            if slow_after != Span::MAX {
                config.slow_after = slow_after.as_nanos();
            }
            config.min_calls = count(Field::BreakerMinCalls)?;
            if kind == "count" && config.min_calls > config.size {
                let given = Quantity::Number(config.min_calls.into());
                return Err(Error::new(ErrorCode::CountRange, Field::BreakerMinCalls, given));
            }
        }
        let open = self.open_times()?;
        if word(Field::BreakerReopen) != 0 && self.count(Field::BreakerProbeFailures) != 0 {
            let given = Quantity::Number(self.count(Field::BreakerProbeFailures).into());
            return Err(Error::new(ErrorCode::NotForKind, Field::BreakerProbeFailures, given));
        }
        Ok(Some(BreakerConfig {
            open,
            jitter: real(Field::BreakerJitter)?,
            probes: count(Field::BreakerProbes)?,
            successes: count(Field::BreakerSuccesses)?,
            reopen: word(Field::BreakerReopen),
            mode: word(Field::BreakerMode),
            hint: word(Field::BreakerHint),
            refusal: word(Field::BreakerRefusal),
            ramp: word(Field::BreakerRamp),
            probe_failures: self.count(Field::BreakerProbeFailures),
            more_open: {
                let mut more = [0; breaker::OPEN_TIMES - 1];
                more.iter_mut().zip(self.open_list().skip(1)).for_each(|(slot, nanos)| *slot = nanos);
                more
            },
            ..config
        }))
    }

    /// The times that the breaker stays open, as a stage of a backoff; of a list the first, and their number as its `times`.
    pub(crate) fn open_times(&self) -> Result<RawStage, Error> {
        let kind = self.or_default(Field::BreakerOpenKind) as u8;
        self.check_kind(Section::OPEN_FOR, kind)?;
        let step = match kind {
            backoff::LINEAR => self.or_default(Field::BreakerOpenIncrement),
            backoff::EXPONENTIAL => self.or_default(Field::BreakerOpenFactor),
            backoff::POLYNOMIAL => self.or_default(Field::BreakerOpenExponent),
            _ => 0,
        };
        let (initial, max) = (self.or_default(Field::BreakerOpenFor), self.or_default(Field::BreakerOpenMax));
        let times = self.open_list().count() as u32;
        if times != 0 && kind != backoff::CONSTANT {
            return Err(Error::new(ErrorCode::NotForKind, Field::BreakerOpenFor, Quantity::None));
        }
        let stage = RawStage { initial, step, max, times, kind, ..RawStage::EMPTY };
        let Some((code, field, given)) = stage.broken(false) else { return Ok(stage) };
        let field = match field {
            Field::BackoffFactor => Field::BreakerOpenFactor,
            Field::BackoffExponent => Field::BreakerOpenExponent,
            _ => Field::BreakerOpenMax,
        };
        Err(Error::new(code, field, given))
    }

    /// The limiter; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn limiter(&self) -> Result<Option<LimiterConfig>, Error> {
        let Some(kind) = self.kind(Section::LIMITER)? else { return Ok(None) };
        let rate = self.real(Field::LimiterLimit);
        let (per, burst) = (self.span(Field::LimiterPer), self.count(Field::LimiterBurst));
        // The cast saturates, so that whatever is no whole number in range does not come back equal.
        let limit = rate as u32;
        let most = if kind == "log" { LOGGED } else { u32::MAX };
        if kind != "bucket" && !(f64::from(limit) == rate && limit != 0 && limit <= most) {
            return Err(Error::new(ErrorCode::CountRange, Field::LimiterLimit, Quantity::Number(rate)));
        }
        let config = match kind {
            "gcra" => LimiterConfig::gcra(limit, per, burst),
            "bucket" => LimiterConfig::bucket(rate, per, burst),
            "window" => LimiterConfig::window(limit, per),
            _ => LimiterConfig::log(limit, per),
        };
        config.map(|config| Some(config.with_refusal(self.refusal(Field::LimiterRefusal))))
    }

    /// The bulkhead; `None` where no field of it was given.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn bulkhead(&self) -> Result<Option<BulkheadConfig>, Error> {
        let Some(_) = self.kind(Section::BULKHEAD)? else { return Ok(None) };
        let (limit, queue) = (self.count(Field::BulkheadLimit), self.count(Field::BulkheadQueue));
        BulkheadConfig::new(limit, queue, self.span(Field::BulkheadMaxWait)).map(Some)
    }

    /// The adaptive rate; `None` where no field of it was given, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn adaptive(&self) -> Result<Option<AdaptiveConfig>, Error> {
        let Some(kind) = self.kind(Section::ADAPTIVE)? else { return Ok(None) };
        let (beta, min_rate) = (self.real(Field::AdaptiveBeta), self.real(Field::AdaptiveMinRate));
        let config = match kind {
            "aimd" => {
                let (max_rate, initial) = (self.real(Field::AdaptiveMaxRate), self.real(Field::AdaptiveInitialRate));
                AdaptiveConfig::aimd(beta, self.real(Field::AdaptiveIncrease), min_rate, max_rate, initial)
            }
            _ => {
                let (scale, smooth) = (self.real(Field::AdaptiveScale), self.real(Field::AdaptiveSmooth));
                AdaptiveConfig::cubic(beta, scale, smooth, min_rate)
            }
        };
        config.map(|config| Some(config.with_refusal(self.refusal(Field::AdaptiveRefusal))))
    }

    /// By how much delays are stretched; `None` where no field of it was given.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn stretch(&self) -> Result<Option<StretchConfig>, Error> {
        let Some(_) = self.kind(Section::STRETCH)? else { return Ok(None) };
        let (factor, window) = (self.real(Field::StretchFactor), self.span(Field::StretchWindow));
        StretchConfig::new(factor, window, self.count(Field::StretchMinCalls)).map(Some)
    }

    /// When a second attempt starts beside the first; `None` where no field of it was given.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn hedge(&self) -> Result<Option<HedgeConfig>, Error> {
        let Some(_) = self.kind(Section::HEDGE)? else { return Ok(None) };
        let percentile = self.number(Field::HedgePercentile).map(f64::from_bits);
        HedgeConfig::new(self.span(Field::HedgeDelay), percentile, self.count(Field::HedgeAttempts)).map(Some)
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
            "cap" => Nesting::Cap(Field::NestedCap.count(self.count(Field::NestedCap))?),
            _ => Nesting::Allow,
        };
        Ok(Some(nesting))
    }

    /// The first rule that is broken, whichever guard's: what a document's reader asks when it has all fields.
    ///
    /// # Errors
    /// See [`ErrorCode`].
    pub fn check_guards(&self) -> Result<(), Error> {
        Section::GUARDS.iter().copied().try_for_each(|section| self.describes(section).map(|_| ()))
    }

    /// True if there is a guard of that section.
    pub(crate) fn describes(&self, section: Section) -> Result<bool, Error> {
        macro_rules! describes {
            ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
                match section {
                    $(<$config as GuardConfig>::SECTION => <$config>::described(self)?.is_some(),)*
                    _ => self.nested()?.is_some(),
                }
            };
        }
        Ok(each_guard!(describes))
    }

    /// The number of a guard's field. An unset field has the preset's number in a section without any set field, and in a section
    /// whose kind (or first field, if it has no kind) is not set (spec 32.6).
    pub(crate) fn number(&self, field: Field) -> Option<u64> {
        if self.has(field) {
            return Some(self.at(field));
        }
        let preset = self.chosen()?;
        let section = Section::GUARDS.iter().copied().find(|section| section.has(field))?;
        if self.has(section.first) { None } else { preset.guard(field) }
    }

    /// The same with a guard of that section: its first field with a default is set to it.
    pub fn with_section(mut self, name: &str) -> Self {
        let section = Section::GUARDS.iter().find(|section| section.name == name);
        let field = section.and_then(|section| section.fields().find(|field| field.default().is_some()));
        if let Some((field, number)) = field.and_then(|field| Some((field, field.default()?))) {
            self.put(field, number);
        }
        self
    }

    /// True if one of a section's fields is set.
    pub(crate) fn any(&self, section: Section) -> bool {
        section.fields().any(|field| self.number(field).is_some())
    }

    /// The word for the kind of a section, empty for one without kinds; `None` if no field of it is set, and for "none".
    fn kind(&self, section: Section) -> Result<Option<&'static str>, Error> {
        if !self.any(section) {
            return Ok(None);
        }
        let has_kinds = matches!(section.first.takes(), Takes::Word(_));
        let kind = if has_kinds { self.or_default(section.first) as u8 } else { 1 };
        self.check_kind(section, kind)?;
        let mut needed = section.fields().filter(|field| field.fits(kind) && field.is_needed());
        if let Some(field) = needed.find(|field| self.number(*field).is_none()) {
            return Err(Error::new(ErrorCode::FieldMissing, field, Quantity::None));
        }
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
            if let Some(number) = self.number(field) {
                return Err(Error::new(ErrorCode::NotForKind, field, field.takes().shown(number)));
            }
        }
        Ok(())
    }

    /// The number of a guard's field, or its default: that of the kind, where the kinds differ (spec 32.4).
    pub(crate) fn or_default(&self, field: Field) -> u64 {
        if let Some(number) = self.number(field) {
            return number;
        }
        let (real, default) = (|field| self.real(field), field.default().unwrap_or(0));
        let rate = f64::from_bits(default);
        match field {
            Field::BudgetCapacity if self.is(Field::BudgetKind, "throttle") => 10,
            Field::BudgetCapacity if self.is(Field::BudgetKind, "default") => 20,
            Field::BudgetReward if self.is(Field::BudgetKind, "throttle") => 0.1_f64.to_bits(),
            Field::BudgetTimeoutCost | Field::BudgetThrottledCost => self.or_default(Field::BudgetCost),
            Field::BudgetRatio if self.is(Field::BudgetKind, "share") => 0.2_f64.to_bits(),
            Field::BudgetWindow if self.is(Field::BudgetKind, "requests") => Span::from_secs(120).as_nanos(),
            Field::BreakerMinCalls if self.is(Field::BreakerKind, "count") => {
                default.min(self.or_default(Field::BreakerSize))
            }
            Field::BreakerOpenIncrement => self.or_default(Field::BreakerOpenFor),
            Field::LimiterBurst => (real(Field::LimiterLimit) as u32).max(1).into(),
            Field::AdaptiveBeta if self.is(Field::AdaptiveKind, "aimd") => 0.5_f64.to_bits(),
            // The lowest and the highest rate give way to each other where one is not set, the initial one to both.
            Field::AdaptiveMinRate => {
                let most = self.number(Field::AdaptiveMaxRate).map(f64::from_bits).filter(|most| *most > 0.0);
                most.map_or(rate, |most| most.min(rate)).to_bits()
            }
            Field::AdaptiveMaxRate => rate.max(real(Field::AdaptiveMinRate)).to_bits(),
            Field::AdaptiveInitialRate => {
                rate.min(real(Field::AdaptiveMaxRate)).max(real(Field::AdaptiveMinRate)).to_bits()
            }
            _ => default,
        }
    }

    /// True if a field is, or stands for, that word.
    pub(crate) fn is(&self, field: Field, word: &str) -> bool {
        field.word(self.or_default(field) as u8) == word
    }

    pub(crate) fn count(&self, field: Field) -> u32 {
        self.or_default(field) as u32
    }

    pub(crate) fn real(&self, field: Field) -> f64 {
        f64::from_bits(self.or_default(field))
    }

    pub(crate) fn span(&self, field: Field) -> Span {
        Span::from_nanos(self.or_default(field))
    }

    fn refusal(&self, field: Field) -> Refusal {
        Refusal::read(self.or_default(field) as u8)
    }

    /// The names of the sections with set fields, except sections of kind "none".
    pub fn sections(&self) -> impl Iterator<Item = &'static str> {
        Section::GUARDS
            .iter()
            .copied()
            .filter(|section| self.any(*section) && !self.is(section.first, "none"))
            .map(|section| section.name)
    }

    /// The listed open times of a breaker.
    pub(crate) fn listed_open_times(&self) -> impl Iterator<Item = Span> {
        self.open_list().map(Span::from_nanos)
    }

    /// The same in nanoseconds.
    pub(super) fn open_list(&self) -> impl Iterator<Item = u64> {
        let listed = self.given().filter(|given| given.0.rule == OPEN_TIMES).map(|given| given.1);
        listed.take(breaker::OPEN_TIMES)
    }

    fn write_open_times(&self, name: &str, out: &mut Open<'_>) -> fmt::Result {
        let mut list = Open::new(out.field(name)?, '[')?;
        self.listed_open_times().try_for_each(|time| write!(list.item()?, "\"{time}\""))?;
        list.end(']')
    }

    /// Writes each section with set fields, so that it is read back to the same.
    pub(crate) fn write_guards(&self, document: &mut Open<'_>) -> fmt::Result {
        let mut sections = Section::GUARDS.iter().copied().filter(|section| self.any(*section));
        sections.try_for_each(|section| self.write_section(section, Open::new(document.field(section.name)?, '{')?))
    }

    /// Writes the set fields of a section. The times that a breaker stays open are a group in it.
    fn write_section(&self, section: Section, mut out: Open<'_>) -> fmt::Result {
        for field in section.fields() {
            let grouped = section != Section::OPEN_FOR && Section::OPEN_FOR.has(field);
            match self.number(field) {
                Some(_) if field == Field::BreakerOpenFor && self.open_list().next().is_some() && !grouped => {
                    self.write_open_times(name_in(section.name, field), &mut out)?;
                }
                Some(number) if !grouped => write_field(field, number, name_in(section.name, field), &mut out)?,
                _ if grouped && field == Section::OPEN_FOR.first && self.any(Section::OPEN_FOR) => {
                    self.write_section(Section::OPEN_FOR, Open::new(out.field("open_for")?, '{')?)?;
                }
                _ => {}
            }
        }
        out.end('}')
    }
}

/// The name of a field in a group. The time that may stand for a group has a name of its own in it.
fn name_in(group: &str, field: Field) -> &'static str {
    field.path().strip_prefix(group).map_or("", |rest| rest.strip_prefix('.').unwrap_or("initial"))
}
