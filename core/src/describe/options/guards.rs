//! Each guard's configuration from the options, with what stands for the fields that were not given (spec 32.4).

use super::Options;
use crate::decide::backoff::{self, BackoffNumbers};
use crate::decide::guards::breaker::config as breaker;
use crate::decide::guards::guard::GuardFields;
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

/// Declares how options describe each guard.
macro_rules! described {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        impl Options { $(
            $(#[$doc])*
            ///
            /// `None` if no field of it is set, or its kind is "none".
            ///
            /// # Errors
            /// The first rule that its fields break (spec 32.5).
            pub fn $name(&self) -> Result<Option<$config>, Error> {
                self.guard()
            }
        )* }
    };
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

    /// The guard with that configuration; `None` if no field of it is set, or its kind is "none".
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn guard<C: GuardConfig>(&self) -> Result<Option<C>, Error> {
        self.kind(C::SECTION)?.map(|kind| C::of_fields(kind, self)).transpose()
    }

    /// The behaviour of a retry inside another one; `None` if no field of it is set.
    ///
    /// # Errors
    /// The first rule that its fields break (spec 32.5).
    pub fn nested(&self) -> Result<Option<Nesting>, Error> {
        let Some(mode) = self.kind(Section::NESTED)? else { return Ok(None) };
        let cap = if mode == 3 { Field::NestedCap.count(self.count(Field::NestedCap))? } else { 0 };
        Ok(Some(Nesting::of(mode.into(), cap)))
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
                    $(<$config as GuardConfig>::SECTION => self.guard::<$config>()?.is_some(),)*
                    _ => self.nested()?.is_some(),
                }
            };
        }
        Ok(each_guard!(describes))
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

    /// The number of the kind of a section, 1 for one without kinds; `None` if no field of it is set, and for "none".
    fn kind(&self, section: Section) -> Result<Option<u8>, Error> {
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
        Ok(Some(kind).filter(|kind| section.first.word(*kind) != "none"))
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

impl GuardFields for Options {
    /// The number of a guard's field. An unset field has the preset's number in a section without any set field, and in a section
    /// whose kind (or first field, if it has no kind) is not set (spec 32.6).
    fn number(&self, field: Field) -> Option<u64> {
        if self.has(field) {
            return Some(self.at(field));
        }
        let preset = self.chosen()?;
        let section = Section::GUARDS.iter().copied().find(|section| section.has(field))?;
        if self.has(section.first) { None } else { preset.guard(field) }
    }

    fn or_default(&self, field: Field) -> u64 {
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

    fn check_kind(&self, section: Section, kind: u8) -> Result<(), Error> {
        let fits = |field: Field| match section {
            // Which of these a kind of open time has a use for is another question.
            Section::BREAKER if Section::OPEN_FOR.has(field) => kind != 0,
            _ => field.fits(kind),
        };
        for field in section.fields().filter(|field| *field != section.first && !fits(*field)) {
            if let Some(number) = self.number(field) {
                return Err(Error::new(ErrorCode::NotForKind, field, field.shown(number)));
            }
        }
        Ok(())
    }

    fn open_times(&self, more: &mut [u64]) -> Result<BackoffNumbers, Error> {
        let kind = self.or_default(Field::BreakerOpenKind) as u8;
        self.check_kind(Section::OPEN_FOR, kind)?;
        let step = match kind {
            backoff::LINEAR => self.or_default(Field::BreakerOpenIncrement),
            backoff::EXPONENTIAL => self.or_default(Field::BreakerOpenFactor),
            backoff::POLYNOMIAL => self.or_default(Field::BreakerOpenExponent),
            _ => 0,
        };
        more.iter_mut().zip(self.open_list().skip(1)).for_each(|(slot, nanos)| *slot = nanos);
        let (initial, max) = (self.or_default(Field::BreakerOpenFor), self.or_default(Field::BreakerOpenMax));
        let times = self.open_list().count() as u32;
        if times != 0 && kind != backoff::CONSTANT {
            return Err(Error::new(ErrorCode::NotForKind, Field::BreakerOpenFor, Quantity::None));
        }
        let stage = BackoffNumbers { initial, step, max, times, kind, ..BackoffNumbers::EMPTY };
        let Some((code, field, given)) = stage.broken(false) else { return Ok(stage) };
        let field = match field {
            Field::BackoffFactor => Field::BreakerOpenFactor,
            Field::BackoffExponent => Field::BreakerOpenExponent,
            _ => Field::BreakerOpenMax,
        };
        Err(Error::new(code, field, given))
    }
}

/// The name of a field in a group. The time that may stand for a group has a name of its own in it.
fn name_in(group: &str, field: Field) -> &'static str {
    field.path().strip_prefix(group).map_or("", |rest| rest.strip_prefix('.').unwrap_or("initial"))
}
