//! Setting a field by its name.
//!
//! Every language and every document configures a policy with (name, value) pairs. Looking the name up happens here once.

use super::{Options, nth};
use crate::describe::rules::HostText;
use crate::error::{Error, ErrorCode, Quantity};
use crate::fields::{Field, Section, is_guard};
use crate::nearest::nearest;
use crate::value::Value;

/// The path that the rules of classification are under.
const RETRY_ON: &str = "retry_on";

impl Options {
    /// Sets the field called `name` to `value` (spec 3.3). [`Options::build`] and the functions that make a guard's
    /// configuration check that the fields fit together.
    ///
    /// A name is a path, `backoff.initial`; the items of a list have their index behind it, `backoff.delays[0]`, and so
    /// have the stages of a chain, `backoff[1].initial`. Items come in the order of their indexes.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word: see [`ErrorCode`].
    pub fn set<'v>(&mut self, name: &str, value: Value<'v>) -> Result<Option<HostText<'v>>, Error> {
        let list = name.strip_prefix(RETRY_ON).filter(|rest| *rest != ".");
        match list.and_then(|rest| if rest.is_empty() { Some("") } else { rest.strip_prefix('.') }) {
            Some(list) => self.rules.set(list, value),
            None => self.set_field(name, value).map(|()| None),
        }
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

    /// [`Options::set`] for names that are not under `retry_on`.
    ///
    /// # Errors
    /// As of [`Options::set`].
    pub fn set_field(&mut self, name: &str, value: Value<'_>) -> Result<(), Error> {
        let path = Path::read(name);
        let Some(field) = path.field() else {
            return Err(Error { nearest: path.nearest(name), ..Error::of_use(ErrorCode::UnknownField) });
        };
        let place = |error: Error| Error { stage: path.stage, item: path.item, ..error };
        if path.item.is_some() && field != Field::BackoffDelays {
            return Err(Error { stage: path.stage, ..Error::new(ErrorCode::WrongType, field, value.shown()) });
        }
        if let Some(stage) = path.stage {
            self.begin(stage).map_err(place)?;
        }
        let group = path.item.is_none() && is_group(path.base());
        if value == Value::Nothing && path.item.is_none() || value == Value::Empty && group {
            return Ok(());
        }
        let stage = path.stage.unwrap_or(0);
        if field == Field::BackoffDelays {
            self.set_delay(stage, path.item, value).map_err(place)?;
        } else if !field.is_stages() {
            self.put(field, field.read(value)?);
        } else if let Some(options) = nth(&mut self.stages, stage.into()) {
            options.put(field, field.read(value).map_err(place)?);
        }
        Ok(())
    }

    /// Makes sure that there is a stage with that index.
    fn begin(&mut self, stage: u8) -> Result<(), Error> {
        if nth(&mut self.stages, stage.into()).is_none() {
            return Err(Error::new(ErrorCode::TooManyStages, Field::BackoffKind, Quantity::None));
        }
        self.chained = 1;
        self.more = self.more.max(stage);
        Ok(())
    }

    /// Adds a delay to a list.
    fn set_delay(&mut self, stage: u8, item: Option<u8>, value: Value<'_>) -> Result<(), Error> {
        let field = Field::BackoffDelays;
        if value == Value::NoItems {
            return Err(Error::new(ErrorCode::DelaysMissing, field, Quantity::None));
        }
        let known = self.delay_of.iter().take(self.listed.into()).filter(|of| **of == stage).count();
        if item.map(usize::from) != Some(known) {
            return Err(Error::new(ErrorCode::WrongType, field, value.shown()));
        }
        // The field itself takes a list, so that its rule would say nothing about an item.
        let nanos = field.read(value).map_err(|error| Error { code: ErrorCode::NotADuration, ..error })?;
        if !self.list(stage, nanos) {
            return Err(Error::new(ErrorCode::TooManyStages, field, Quantity::None));
        }
        if let Some(options) = nth(&mut self.stages, stage.into()) {
            options.put(field, 0);
        }
        Ok(())
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
        if item.is_some() && name == "backoff" {
            return Self { parts: (name, ""), stage: item, item: None };
        }
        if let Some(dot) = name.find('.')
            && let Some((before, behind)) = name.split_at_checked(dot)
            && let ("backoff", Some(stage)) = indexed(before)
        {
            return Self { parts: ("backoff", behind), stage: Some(stage), item };
        }
        Self { parts: (name, ""), stage: None, item }
    }

    /// The name without a field behind the stage.
    fn base(&self) -> &'n str {
        if self.parts.1.is_empty() { self.parts.0 } else { "" }
    }

    fn field(&self) -> Option<Field> {
        let is = |name: &str| name.strip_prefix(self.parts.0) == Some(self.parts.1);
        Field::names().find(|known| is(known.0)).map(|known| known.1)
    }

    /// The valid name nearest to an unknown one.
    fn nearest(&self, name: &str) -> Option<&'static str> {
        let guards = is_guard(name);
        let names = Field::names().filter(|known| known.1.is_guards() == guards).map(|known| known.0);
        let sections = || Section::GUARDS.iter().map(|section| section.name);
        if guards {
            return nearest(self.parts.0, names);
        }
        if self.stage.is_none() {
            let near = nearest(name, names.clone().chain([RETRY_ON]).chain(sections()));
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

/// A name and the index behind it, `delays[3]`.
fn indexed(name: &str) -> (&str, Option<u8>) {
    let inner = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    // A number has one way to be written here.
    let digits = |index: &str| index == "0" || index.starts_with(|first: char| matches!(first, '1'..='9'));
    match inner.and_then(|(base, index)| Some((base, index.parse().ok().filter(|_| digits(index))?))) {
        Some((base, index)) => (base, Some(index)),
        None => (name, None),
    }
}

/// True if there are fields "`name`.something".
fn is_group(name: &str) -> bool {
    Field::names().any(|known| known.0.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}
