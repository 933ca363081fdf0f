//! Setting a field by its name.
//!
//! Every language and every document configures a policy with (name, value) pairs. Looking the name up happens here once.

use super::builder::{PolicyBuilder, nth};
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::Cap;
use crate::decide::policy::{FOREVER, OnDeadline, UNLIMITED};
use crate::decide::stages::COUNTED;
use crate::describe::guards::{SECTIONS, is_guard};
use crate::describe::preset::Preset;
use crate::describe::rules::Kept;
use crate::error::{ConfigError, ErrorCode, Given};
use crate::field::{BACKOFFS, Field, JITTERS, KINDS, NAMES};
use crate::nearest::nearest;
use crate::time::Span;
use crate::value::{Value, number, shown, span, span_or_none, whole, word};

/// What the rules of classification are under.
const RETRY_ON: &str = "retry_on";

impl PolicyBuilder {
    /// Sets the field called `name` to `value` (spec 3.3). Whether the fields fit together is the question of
    /// [`PolicyBuilder::build`].
    ///
    /// Of a name under a guard's it says [`Kept::Guard`] and looks no further: the pair is for a
    /// [`GuardsBuilder`](crate::GuardsBuilder).
    ///
    /// A name is a path, `backoff.initial`; the items of a list have their index behind it, `backoff.delays[0]`, and so
    /// have the stages of a chain, `backoff[1].initial`. Items come in the order of their indexes.
    ///
    /// # Errors
    /// An unknown name, a value of the wrong type or out of range, an unknown word: see [`ErrorCode`].
    pub fn set<'v>(&mut self, name: &str, value: Value<'v>) -> Result<Kept<'v>, ConfigError> {
        if is_guard(name) {
            return Ok(Kept::Guard);
        }
        match name.strip_prefix(RETRY_ON) {
            Some("") => self.rules.set("", value),
            Some(rest) => match rest.strip_prefix('.') {
                Some(list) if !list.is_empty() => self.rules.set(list, value),
                _ => self.set_field(name, value).map(|()| Kept::All),
            },
            None => self.set_field(name, value).map(|()| Kept::All),
        }
    }

    fn set_field(&mut self, name: &str, value: Value<'_>) -> Result<(), ConfigError> {
        let path = Path::read(name);
        let Some(field) = path.field() else {
            return Err(ConfigError { nearest: path.nearest(name), ..ConfigError::of_use(ErrorCode::UnknownField) });
        };
        let place = |error: ConfigError| ConfigError { stage: path.stage, item: path.item, ..error };
        let group = path.item.is_none() && is_group(path.base());
        if path.item.is_some() && field != Field::BackoffDelays {
            return Err(ConfigError {
                stage: path.stage,
                ..ConfigError::new(ErrorCode::WrongType, field, shown(value))
            });
        }
        if let Some(stage) = path.stage {
            self.begin(stage).map_err(place)?;
        }
        if value == Value::Nothing && path.item.is_none() || value == Value::Empty && group {
            return Ok(());
        }
        if field.is_of_stage() {
            self.set_of_stage(path, field, value).map_err(place)
        } else {
            self.set_of_policy(field, value)
        }
    }

    /// Makes sure that there is a stage with that index.
    fn begin(&mut self, stage: u8) -> Result<(), ConfigError> {
        if nth(&mut self.drafts, stage).is_none() {
            return Err(ConfigError::new(ErrorCode::TooManyStages, Field::BackoffKind, Given::Unshown));
        }
        self.chained = 1;
        self.more = self.more.max(stage);
        Ok(())
    }

    fn set_of_stage(&mut self, path: Path<'_>, field: Field, value: Value<'_>) -> Result<(), ConfigError> {
        let index = path.stage.unwrap_or(0);
        if field == Field::BackoffDelays {
            return self.set_delay(index, path.item, value);
        }
        let wrong = ConfigError::new(ErrorCode::WrongType, field, shown(value));
        let draft = nth(&mut self.drafts, index).ok_or(wrong)?;
        match field {
            Field::BackoffInitial => draft.initial = span(field, value)?,
            Field::BackoffFactor | Field::BackoffExponent => draft.factor = number(field, value)?,
            Field::BackoffIncrement => draft.increment = span(field, value)?,
            Field::BackoffMax => draft.max = span_or_none(field, value, Span::MAX.as_nanos())?,
            Field::BackoffTimes => draft.times = times(value)?,
            Field::BackoffOn => draft.on = word(field, value, KINDS)?,
            _ => draft.kind = word(field, value, BACKOFFS)?,
        }
        draft.give(field);
        Ok(())
    }

    /// Adds a delay to a list, or says that there are none.
    fn set_delay(&mut self, stage: u8, item: Option<u8>, value: Value<'_>) -> Result<(), ConfigError> {
        let field = Field::BackoffDelays;
        if value == Value::NoItems {
            return Err(ConfigError::new(ErrorCode::DelaysMissing, field, Given::Unshown));
        }
        let known = self.delay_of.iter().take(usize::from(self.listed)).filter(|of| **of == stage).count();
        if item.map(usize::from) != Some(known) {
            return Err(ConfigError::new(ErrorCode::WrongType, field, shown(value)));
        }
        // The field itself takes a list, so that its rule would say nothing about an item.
        let nanos = span(field, value).map_err(|error| ConfigError { code: ErrorCode::NotADuration, ..error })?;
        if !self.list(stage, nanos) {
            return Err(ConfigError::new(ErrorCode::TooManyStages, field, Given::Unshown));
        }
        if let Some(draft) = nth(&mut self.drafts, stage) {
            draft.give(field);
        }
        Ok(())
    }

    fn set_of_policy(&mut self, field: Field, value: Value<'_>) -> Result<(), ConfigError> {
        let policy = &mut self.policy;
        match field {
            Field::JitterKind => policy.jitter = word(field, value, JITTERS)?,
            Field::JitterFactor => policy.jitter_by = number(field, value)?.to_bits(),
            Field::JitterBound => policy.jitter_by = span(field, value)?,
            Field::Cap => policy.cap = word(field, value, Cap::WORDS)?,
            Field::Attempts => policy.attempts = attempts(value)?,
            Field::Deadline => policy.deadline = span_or_none(field, value, UNLIMITED)?,
            Field::MinAttempt => policy.min_attempt = span(field, value)?,
            Field::OnDeadline => policy.on_deadline = word(field, value, OnDeadline::WORDS)?,
            Field::AttemptTimeout => policy.attempt_timeout = span_or_none(field, value, UNLIMITED)?,
            Field::HintMode => policy.hint_mode = word(field, value, HintMode::WORDS)?,
            Field::HintMax => policy.hint_max = span_or_none(field, value, Span::MAX.as_nanos())?,
            Field::HintOver => policy.hint_over = word(field, value, HintOver::WORDS)?,
            Field::HintReach => policy.hint_reach = span_or_none(field, value, UNLIMITED)?,
            Field::Version => version(value)?,
            _ => self.preset = preset(field, value)?,
        }
        self.given |= field.bit();
        Ok(())
    }
}

/// A field's name with the indexes in it.
#[derive(Clone, Copy)]
struct Path<'n> {
    /// What is before the index of the stage, and what is behind it: `backoff` and `.max`, or the whole and nothing.
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
        if let Some((before, rest)) = name.split_once('.')
            && let ("backoff", Some(stage)) = indexed(before)
        {
            let behind = name.get(name.len().saturating_sub(rest.len()).saturating_sub(1)..).unwrap_or_default();
            return Self { parts: ("backoff", behind), stage: Some(stage), item };
        }
        Self { parts: (name, ""), stage: None, item }
    }

    /// What the name is without a field behind the stage.
    fn base(&self) -> &'n str {
        if self.parts.1.is_empty() { self.parts.0 } else { "" }
    }

    fn is(&self, name: &str) -> bool {
        name.strip_prefix(self.parts.0) == Some(self.parts.1)
    }

    fn field(&self) -> Option<Field> {
        NAMES.iter().find(|known| self.is(known.0)).map(|known| known.1)
    }

    fn nearest(&self, name: &str) -> Option<&'static str> {
        if self.stage.is_none() {
            let near = nearest(name, NAMES.iter().map(|known| known.0).chain([RETRY_ON]).chain(SECTIONS));
            // A field of a section that is misspelled, or one that is given without its section.
            return near.or_else(|| match name.split_once('.') {
                Some((section, _)) => nearest(section, SECTIONS.into_iter()),
                None => NAMES.iter().map(|known| known.0).find(|known| is_within(known, name)),
            });
        }
        let behind = |known: &'static str| known.strip_prefix("backoff.");
        let near = nearest(self.parts.1.trim_start_matches('.'), NAMES.iter().filter_map(|known| behind(known.0)))?;
        NAMES.iter().map(|known| known.0).find(|known| behind(known) == Some(near))
    }
}

/// A name and the index behind it, `delays[3]`.
pub(crate) fn indexed(name: &str) -> (&str, Option<u8>) {
    let inner = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    // A number has one way to be written here.
    let plain = |index: &str| index == "0" || index.starts_with(|first: char| matches!(first, '1'..='9'));
    match inner.and_then(|(base, index)| Some((base, index.parse().ok().filter(|_| plain(index))?))) {
        Some((base, index)) => (base, Some(index)),
        None => (name, None),
    }
}

fn preset(field: Field, value: Value<'_>) -> Result<u8, ConfigError> {
    let Value::Text(text) = value else {
        return Err(ConfigError::new(ErrorCode::WrongType, field, shown(value)));
    };
    Preset::from_name(text).map(Preset::code).ok_or_else(|| {
        let nearest = nearest(text, Preset::ALL.iter().map(|preset| preset.name()));
        ConfigError { nearest, ..ConfigError::new(ErrorCode::UnknownWord, field, Given::Unshown) }
    })
}

fn version(value: Value<'_>) -> Result<(), ConfigError> {
    match value {
        Value::Number { value: 1.0, .. } => Ok(()),
        _ => Err(ConfigError::new(ErrorCode::DocumentVersion, Field::Version, shown(value))),
    }
}

fn times(value: Value<'_>) -> Result<u32, ConfigError> {
    whole(ErrorCode::TimesRange, Field::BackoffTimes, value, 1, COUNTED)
}

fn attempts(value: Value<'_>) -> Result<u32, ConfigError> {
    match value {
        Value::Text("forever") => Ok(FOREVER),
        Value::Text(text) => {
            let nearest = nearest(text, core::iter::once("forever"));
            Err(ConfigError { nearest, ..ConfigError::new(ErrorCode::UnknownWord, Field::Attempts, Given::Unshown) })
        }
        _ => whole(ErrorCode::AttemptsRange, Field::Attempts, value, 1, FOREVER.saturating_sub(1)),
    }
}

/// Whether a path is "something.`name`".
fn is_within(path: &str, name: &str) -> bool {
    path.split_once('.').is_some_and(|(_, field)| field == name)
}

/// Whether there are fields "`name`.something".
fn is_group(name: &str) -> bool {
    NAMES.iter().any(|known| known.0.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
}

#[cfg(test)]
mod tests;
