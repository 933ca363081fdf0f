//! Setting a field by its name.
//!
//! Every language and every document configures a policy with (name, value) pairs. Looking the name up happens here once.

use super::Options;
use crate::decide::guards::breaker::config::OPEN_TIMES as MOST_OPEN_TIMES;
use crate::decide::stage_numbers::DELAYS;
use crate::describe::preset::{NO_STAGE, OPEN_TIMES, Place};
use crate::describe::rules::replaced::replaced;
use crate::describe::rules::set::refused;
use crate::describe::rules::{HostText, Rules};
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::{Field, Section, is_guard};
use crate::nearest::nearest;
use crate::value::Value;

impl Options {
    /// Sets the field called `name` to `value` (spec 3.3). [`Options::build`] and the functions that make a guard's
    /// configuration check that the fields fit together.
    ///
    /// A name is a path, `backoff.initial`; the items of a list have their index behind it, `backoff.delays[0]`, and so
    /// have the stages of a chain, `backoff[1].initial`, and the rules, `rules[0].if.http[1]`. Items come in the order of their
    /// indexes. Returns a text that the host has to store.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word: see [`ErrorCode`].
    pub fn set<'v>(&mut self, name: &str, value: Value<'v>) -> Result<Option<HostText<'v>>, Error> {
        if let Some(error) = replaced(name, value) {
            return Err(error);
        }
        match rule_of(name) {
            Some((rule, rest)) => self.set_in_rule(rule, rest, value),
            // spec 15.7
            None if name == "$schema" && matches!(value, Value::Text(_) | Value::Nothing) => Ok(None),
            None if name == "rules" => match value {
                Value::Nothing | Value::NoItems => Ok(None),
                _ => Err(refused(ErrorCode::NotAList, value, None)),
            },
            None => self.set_field(name, value).map(|()| None),
        }
    }

    /// Sets what follows `rules[0]` in a name.
    pub(crate) fn set_in_rule<'v>(
        &mut self,
        rule: u8,
        name: &str,
        value: Value<'v>,
    ) -> Result<Option<HostText<'v>>, Error> {
        let condition = name.strip_prefix("if").filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        if let Some(path) = condition {
            return self.rules.set_condition(rule, path, value);
        }
        let before = self.rules.begin(rule).map_err(Error::of_use)?;
        let set = self.set_of_rule(rule, name, value);
        if set.is_err() {
            self.rules.end(before);
        }
        set.map(|()| None)
    }

    /// The same for a rule that was begun, and any name but `if`.
    fn set_of_rule(&mut self, rule: u8, name: &str, value: Value<'_>) -> Result<(), Error> {
        match name {
            "" if matches!(value, Value::Empty | Value::Nothing) => {}
            "" => return Err(refused(ErrorCode::WrongType, value, None)),
            "retry" => self.rules.set_retry(rule, value)?,
            "attempts" => self.set_rule_attempts(rule, value).map_err(|error| error.of_rule(rule))?,
            _ => {
                let path = Path::read(name);
                let known = path.field().filter(|(field, _)| field.is_stages() || field.is_shared());
                let Some((field, in_stage)) = known else {
                    let near = nearest(name.split(['.', '[']).next().unwrap_or_default(), Rules::PARTS.into_iter());
                    return Err(Error { nearest: near, ..Error::of_use(ErrorCode::UnknownField) });
                };
                let place = |error: Error| Error { rule: Some(rule), ..error };
                self.set_at(&path, field, in_stage, Some(rule), value).map_err(place)?;
            }
        }
        Ok(())
    }

    fn set_rule_attempts(&mut self, rule: u8, value: Value<'_>) -> Result<(), Error> {
        let wrong = |value| Error::new(ErrorCode::RuleAttempts, Field::Attempts, value);
        let attempts = match value {
            Value::Nothing => return Ok(()),
            _ => Field::Attempts.read(value).map_err(|error| match error.code {
                ErrorCode::AttemptsRange => wrong(error.value),
                _ => error,
            })?,
        };
        if attempts > u64::from(u16::MAX) && attempts != u64::from(u32::MAX) {
            return Err(wrong(value.shown()));
        }
        self.give(Place::in_stage(rule.saturating_add(1), NO_STAGE, Field::Attempts), Field::Attempts, attempts)
    }

    /// These options with a field set, as in a document: a number, a text or a [`Duration`](core::time::Duration).
    ///
    /// ```
    /// use core::time::Duration;
    /// use holdoff_core::{Field, Options};
    ///
    /// let guards = Options::NEW
    ///     .with_field(Field::BreakerFailures, 3)?
    ///     .with_field(Field::BreakerOpenFor, Duration::from_secs(10))?
    ///     .with_field(Field::BreakerRefusal, "wait")?;
    /// assert!(guards.breaker()?.is_some());
    /// # Ok::<(), holdoff_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As of [`Options::set`].
    pub fn with_field<'v>(mut self, field: Field, value: impl Into<Value<'v>>) -> Result<Self, Error> {
        self.set_field(field.path(), value.into())?;
        Ok(self)
    }

    /// Gives a place its number, if there is room.
    fn give(&mut self, place: Place, field: Field, number: u64) -> Result<(), Error> {
        let full = || Error::new(ErrorCode::TooManyStages, field, Quantity::None);
        if self.give_number(place.rule, place.stage, place.field, number) { Ok(()) } else { Err(full()) }
    }

    /// [`Options::set`] for names that are not under `rules`.
    ///
    /// # Errors
    /// As of [`Options::set`].
    pub fn set_field(&mut self, name: &str, value: Value<'_>) -> Result<(), Error> {
        let path = Path::read(name);
        match path.field() {
            Some((field, in_stage)) => self.set_at(&path, field, in_stage, None, value),
            None => Err(path.unknown(name)),
        }
    }

    /// Sets a field of the policy, of a rule or of a stage.
    fn set_at(
        &mut self,
        path: &Path<'_>,
        field: Field,
        in_stage: bool,
        rule: Option<u8>,
        value: Value<'_>,
    ) -> Result<(), Error> {
        let place = |error: Error| Error { stage: path.stage, in_stage, item: path.item, ..error };
        if field == Field::BreakerOpenFor && (path.item.is_some() || value == Value::NoItems) {
            return self.set_open_time(path.item, value);
        }
        if path.item.is_some() && field != Field::BackoffDelays {
            return Err(Error { item: None, ..place(Error::new(ErrorCode::WrongType, field, value.shown())) });
        }
        let owner = rule.map_or(0, |rule| rule.saturating_add(1));
        if path.stage.is_some_and(|stage| !self.begin_stage(owner, stage)) {
            return Err(place(Error::new(ErrorCode::TooManyStages, Field::BackoffKind, Quantity::None)));
        }
        let group = path.item.is_none() && path.is_group();
        if value == Value::Nothing && path.item.is_none() || value == Value::Empty && group {
            return Ok(());
        }
        if let (Field::BudgetKind, "budget", Value::Number { .. }) = (field, path.parts.0, value) {
            // spec 32.2: a number is the capacity of the budget of loops
            let capacity = Field::BudgetCapacity.read(value)?;
            self.put(Field::BudgetKind, Field::BudgetKind.read(Value::Text("default"))?);
            self.put(Field::BudgetCapacity, capacity);
            return Ok(());
        }
        if !field.is_stages() && !in_stage {
            let number = field.read(value)?;
            if field == Field::BreakerOpenFor {
                self.remove(|place| place.rule == OPEN_TIMES);
            }
            return self.give(Place::in_stage(owner, NO_STAGE, field), field, number);
        }
        let index = path.stage.unwrap_or(0);
        let number = if field == Field::BackoffDelays { 0 } else { field.read(value).map_err(place)? };
        if !self.has_room(owner, index) {
            return Err(place(Error::new(ErrorCode::TooManyStages, field, Quantity::None)));
        }
        let slot = Place::in_stage(owner, index, field);
        if field == Field::BackoffDelays {
            return self.set_delay(slot, path.item, value).map_err(place);
        }
        self.give(slot, field, number).map_err(place)
    }

    /// Adds an open time to the list of a breaker.
    fn set_open_time(&mut self, item: Option<u8>, value: Value<'_>) -> Result<(), Error> {
        let field = Field::BreakerOpenFor;
        let place = |error: Error| Error { item, ..error };
        if value == Value::NoItems {
            return Err(Error::new(ErrorCode::DelaysMissing, field, Quantity::None));
        }
        let index = item.unwrap_or(0);
        if index != 0 && usize::from(index) != self.open_list().count() {
            return Err(Error::new(ErrorCode::WrongType, field, value.shown()));
        }
        let nanos = field.read(value).map_err(|error| place(Error { code: ErrorCode::NotADuration, ..error }))?;
        if usize::from(index) >= MOST_OPEN_TIMES {
            return Err(place(Error::new(ErrorCode::TooManyStages, field, Quantity::None)));
        }
        if index == 0 {
            self.remove(|place| place.rule == OPEN_TIMES);
            self.give(Place::of(field), field, nanos)?;
        }
        self.give(Place::in_stage(OPEN_TIMES, index, field), field, nanos)
    }

    /// Adds a delay to a list.
    fn set_delay(&mut self, place: Place, item: Option<u8>, value: Value<'_>) -> Result<(), Error> {
        let field = Field::BackoffDelays;
        if value == Value::NoItems {
            return Err(Error::new(ErrorCode::DelaysMissing, field, Quantity::None));
        }
        if item.map(usize::from) != Some(self.all_at(place).count()) {
            return Err(Error::new(ErrorCode::WrongType, field, value.shown()));
        }
        // The field itself takes a list, so that its rule would say nothing about an item.
        let nanos = field.read(value).map_err(|error| Error { code: ErrorCode::NotADuration, ..error })?;
        self.give(place, field, nanos)
    }
}

/// By numbers, for JavaScript, which reads names and values by itself. Rule 0 is the policy itself; stage 255 is none.
#[doc(hidden)]
impl Options {
    /// Begins a stage of a list of stages. False without room.
    pub fn begin_stage(&mut self, rule: u8, stage: u8) -> bool {
        self.has_room(rule, stage) && self.put_at(Place::begins(rule, stage), 0)
    }

    /// Gives a field its number; of a list one more delay. False without room.
    pub fn give_number(&mut self, rule: u8, stage: u8, field: u8, number: u64) -> bool {
        let place = Place { rule, stage, field };
        let is_delay = field == Field::BackoffDelays.code();
        let has_room = !place.is_in_stage() || self.has_room(rule, stage);
        let listed = || self.given().filter(|given| given.0.field == field).count();
        match has_room && !(is_delay && listed() >= DELAYS) {
            true if is_delay => self.add(place, number),
            true => self.put_at(place, number),
            false => false,
        }
    }

    /// How many delays a stage lists.
    pub fn listed(&self, rule: u8, stage: u8) -> u32 {
        self.all_at(Place::in_stage(rule, stage, Field::BackoffDelays)).count() as u32
    }
}

impl Field {
    /// Paths, with the names that other libraries have for them, without capitals and underscores.
    pub const PEERS: [(&str, &str); 11] = [
        (
            "attempts",
            "retries maxretries retry tries maxtries maxattempts stop numretries stopafterattempt limit numofattempts",
        ),
        ("deadline", "stopafterdelay maxtime maxelapsed maxelapsedtime maxduration totaltimeout maxretrytime"),
        ("attempt_timeout", "timeout pertrytimeout"),
        ("backoff", "wait"),
        (
            "backoff.initial",
            "delay base basedelay initialdelay interval mintimeout min sleep mindelay retrydelay startingdelay initialinterval",
        ),
        ("backoff.max", "maxdelay maxinterval maxtimeout backofflimit"),
        ("backoff.factor", "multiplier expbase coefficient backofffactor exponentialbase timemultiple"),
        ("jitter", "randomize"),
        ("rules", "retryif retryable statusforcelist statuscodes"),
        ("hint", "retryafter respectretryafter"),
        ("hint.max", "maxretryafter"),
    ];
}

/// Paths, with the names that libraries of Python have for them; no program in JavaScript carries these.
const PYTHON_PEERS: [(&str, &str); 8] = [
    ("attempts", "stopmaxattempt stopmaxattemptnumber"),
    ("deadline", "stopmaxdelay"),
    ("backoff", "waitstrategy"),
    ("backoff.initial", "waitfixed waitinitial waitmin"),
    ("backoff.max", "maxwait maxvalue waitmax waitexponentialmax backoffmax"),
    ("backoff.factor", "waitexpbase waitexponentialmultiplier"),
    ("jitter", "waitjitter backoffjitter waitrandom"),
    ("hint", "respectretryafterheader"),
];

/// The names by which others count retries.
const RETRIES: &str = "retries maxretries numretries";
/// The rule for such a name.
const ONE_MORE: &str = "is not a field of a policy; attempts count the first one: give one more than the retries";

/// True if a name is one of these names of peers, which have neither capitals nor underscores.
fn is_one_of(peers: &str, name: &str) -> bool {
    let plain = || name.bytes().filter(|byte| *byte != b'_').map(|byte| byte.to_ascii_lowercase());
    peers.split(' ').any(|peer| peer.bytes().eq(plain()))
}

/// The index of a rule in a name, and what follows it.
fn rule_of(name: &str) -> Option<(u8, &str)> {
    let (digits, rest) = name.strip_prefix("rules[")?.split_once(']')?;
    let rule = index(digits)?;
    match rest.strip_prefix('.') {
        Some(rest) => Some((rule, rest)),
        None => rest.is_empty().then_some((rule, "")),
    }
}

/// A field's name with the indexes in it.
#[derive(Clone, Copy)]
struct Path<'n> {
    /// The name before the index of the stage and the rest behind it: `backoff` and `.max`, or all of it and nothing.
    parts: (&'n str, &'n str),
    stage: Option<u8>,
    item: Option<u8>,
}

impl<'n> Path<'n> {
    fn read(name: &'n str) -> Self {
        let (name, item) = indexed(name);
        if item.is_some() && name == BACKOFF {
            return Self { parts: (name, ""), stage: item, item: None };
        }
        if let Some(dot) = name.find('.')
            && let Some((before, behind)) = name.split_at_checked(dot)
            && let (BACKOFF, stage) = indexed(before)
        {
            return Self { parts: (BACKOFF, behind), stage, item };
        }
        Self { parts: (name, ""), stage: None, item }
    }

    /// The field, and whether a stage has it beside the policy.
    fn field(&self) -> Option<(Field, bool)> {
        let is = |name: &str| name.strip_prefix(self.parts.0) == Some(self.parts.1);
        let known = Field::names().find(|known| is(known.0)).map(|known| (known.1, false));
        let inner = self.parts.1.strip_prefix('.').filter(|_| self.parts.0 == BACKOFF);
        known.or_else(|| {
            let shared = Field::names().find(|known| Some(known.0) == inner && known.1.is_shared());
            shared.map(|known| (known.1, true))
        })
    }

    /// True if there are fields behind the name.
    fn is_group(&self) -> bool {
        match self.parts {
            (BACKOFF, behind) => behind.is_empty() || is_group(behind.trim_start_matches('.')),
            (name, _) => is_group(name),
        }
    }

    /// The error about a name that no field has.
    #[cold]
    #[inline(never)]
    fn unknown(&self, name: &str) -> Error {
        let special_rule = is_one_of(RETRIES, self.parts.0).then_some(ONE_MORE);
        Error { nearest: self.nearest(name), special_rule, ..Error::of_use(ErrorCode::UnknownField) }
    }

    /// The valid name nearest to an unknown one.
    fn nearest(&self, name: &str) -> Option<&'static str> {
        let guards = is_guard(name);
        let names = Field::names().filter(|known| known.1.is_guards() == guards).map(|known| known.0);
        let sections = || Section::GUARDS.iter().map(|section| section.name);
        if guards {
            return nearest(self.parts.0, names);
        }
        let in_backoff = self.parts.1.strip_prefix('.').filter(|_| self.parts.0 == BACKOFF);
        let (theirs, group) = in_backoff.map_or((self.parts.0, ""), |field| (field, "backoff."));
        let mut known = Field::PEERS.iter().chain(&PYTHON_PEERS);
        if let Some((meant, _)) = known.find(|(meant, peers)| meant.starts_with(group) && is_one_of(peers, theirs)) {
            return Some(meant);
        }
        if self.stage.is_none() {
            let near = nearest(name, names.clone().chain(["rules"]).chain(sections()));
            // A misspelled field of a section, or a field without its section.
            return near.or_else(|| match name.split_once('.') {
                Some((section, _)) => nearest(section, sections()),
                None => names.clone().find(|known| known.split_once('.').is_some_and(|(_, field)| field == name)),
            });
        }
        let behind = |known: &'static str| known.strip_prefix("backoff.");
        let near = nearest(self.parts.1.trim_start_matches('.'), names.clone().filter_map(behind))?;
        names.clone().find(|known| behind(known) == Some(near))
    }
}

/// The name of the backoff, whose stages have fields.
const BACKOFF: &str = "backoff";

/// A name and the index behind it, `delays[3]`.
fn indexed(name: &str) -> (&str, Option<u8>) {
    let inner = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    match inner.and_then(|(base, digits)| Some((base, index(digits)?))) {
        Some((base, index)) => (base, Some(index)),
        None => (name, None),
    }
}

/// An index, which has one way to be written.
fn index(digits: &str) -> Option<u8> {
    let is_usual = digits == "0" || digits.starts_with(|first: char| matches!(first, '1'..='9'));
    digits.parse().ok().filter(|_| is_usual)
}

/// True if there are fields "`name`.something".
fn is_group(name: &str) -> bool {
    Field::names().any(|known| known.0.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}
