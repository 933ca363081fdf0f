//! A policy as a document: the text that reads back to the same policy, without a heap.
//!
//! Backoff, jitter and attempts are always said, so that a reader of the document need not know what the default is; of the
//! rest only what differs from it.

use crate::decide::backoff::{self, BackoffNumbers};
use crate::decide::jitter;
use crate::decide::policy::{FOREVER, Policy, RuleNumbers};
use crate::decide::stage_numbers::{CAP, Choices, HINT, JITTER, StageNumbers};
use crate::describe::options::Options;
use crate::describe::rules::{Rules, TextList};
use crate::fields::{Field, Takes};
use crate::json::{Open, Out};
use crate::time::Span;
use core::fmt::{self, Write};

/// The texts that a host has stored for a list of an alternative, handed one by one to a function.
pub type HostTexts<'t> = dyn FnMut(u8, TextList, &mut dyn FnMut(&str) -> fmt::Result) -> fmt::Result + 't;

impl Policy {
    /// Writes the policy as a JSON document of version 1. Of the conditions of its rules it has only kinds of failures: write the
    /// others with [`write_document`].
    ///
    /// # Errors
    /// The error of `out` when it takes no more.
    pub fn to_json(&self, out: &mut dyn Write) -> fmt::Result {
        write_document(self, &Rules::of_kinds(self), &Options::NEW, &mut |_, _, _| Ok(()), out)
    }
}

/// Writes a policy, its rules with the texts that the host has stored, and its guards as a JSON document of version 1
/// that reads back to the same: every field of a guard that is set, a preset's included.
///
/// # Errors
/// The error of `out` when it takes no more.
#[inline(never)] // A host that is compiled for speed would take it in, at three times the size.
pub fn write_document(
    policy: &Policy,
    rules: &Rules,
    guards: &Options,
    texts: &mut HostTexts<'_>,
    out: &mut dyn Write,
) -> fmt::Result {
    let mut document = Open::new(out, '{')?;
    document.integer("version", 1)?;
    stages(policy, policy.own_stages(), document.field("backoff")?)?;
    jitter(&policy.own, document.field("jitter")?)?;
    for field in Field::ALL.iter().copied().filter(|field| field.is_policys()) {
        let number = policy.number(field);
        if field == Field::Attempts || Some(number) != field.default() {
            write_field(field, number, field.path(), &mut document)?;
        }
    }
    if hints().any(|field| Some(policy.number(field)) != field.default()) {
        hint(&policy.own, document.field("hint")?)?;
    }
    if !rules.is_none() {
        let mut list = Open::new(document.field("rules")?, '[')?;
        for (number, raw) in (0..rules.count()).zip(&policy.rules) {
            rule(policy, rules, number, raw, texts, list.item()?)?;
        }
        list.end(']')?;
    }
    guards.write_guards(&mut document)?;
    document.end('}')
}

fn rule(
    policy: &Policy,
    rules: &Rules,
    number: u8,
    raw: &RuleNumbers,
    texts: &mut HostTexts<'_>,
    out: Out<'_>,
) -> fmt::Result {
    let mut object = Open::new(out, '{')?;
    rules.write(number, &mut object, |alternative, list, out| {
        let mut items = Open::new(out, '[')?;
        texts(alternative, list, &mut |text| crate::json::text(items.item()?, text))?;
        items.end(']')
    })?;
    if let Some(limit) = raw.limit() {
        write_field(Field::Attempts, limit.into(), "attempts", &mut object)?;
    }
    if raw.stages != 0 {
        stages(policy, policy.of_rule(raw), object.field("backoff")?)?;
    }
    choices(&raw.own, &mut object)?;
    object.end('}')
}

/// The jitter, cap and hint of a rule or a stage.
fn choices(choices: &Choices, object: &mut Open<'_>) -> fmt::Result {
    if choices.has(JITTER) {
        jitter(choices, object.field("jitter")?)?;
    }
    if choices.has(CAP) {
        write_field(Field::Cap, choices.cap.into(), "cap", object)?;
    }
    if choices.has(HINT) { hint(choices, object.field("hint")?) } else { Ok(()) }
}

/// One stage as an object, several as a list.
fn stages(policy: &Policy, records: &[StageNumbers], out: Out<'_>) -> fmt::Result {
    if let [record] = records {
        return stage(policy, record, out);
    }
    let mut list = Open::new(out, '[')?;
    for record in records {
        stage(policy, record, list.item()?)?;
    }
    list.end(']')
}

fn stage(policy: &Policy, record: &StageNumbers, out: Out<'_>) -> fmt::Result {
    let BackoffNumbers { initial, step, max, times, kind, .. } = record.stage;
    let mut stage = Open::new(out, '{')?;
    write_field(Field::BackoffKind, kind.into(), "kind", &mut stage)?;
    match kind {
        backoff::LIST => {
            let mut list = Open::new(stage.field("delays")?, '[')?;
            for delay in record.listed(&policy.delays) {
                write!(list.item()?, "\"{}\"", Span::from_nanos(*delay))?;
            }
            list.end(']')?;
        }
        backoff::CONSTANT => write_field(Field::BackoffInitial, initial, "delay", &mut stage)?,
        kind => {
            write_field(Field::BackoffInitial, initial, "initial", &mut stage)?;
            if let Some(field) = BackoffNumbers::step_of(kind) {
                write_field(field, step, last(field), &mut stage)?;
            }
            write_field(Field::BackoffMax, max, "max", &mut stage)?;
        }
    }
    if kind != backoff::LIST && times != 0 {
        write_field(Field::BackoffTimes, times.into(), "times", &mut stage)?;
    }
    for (field, number, _) in record.rare_numbers().into_iter().filter(|row| row.1 != row.2) {
        write_field(field, number, last(field), &mut stage)?;
    }
    choices(&record.own, &mut stage)?;
    stage.end('}')
}

fn jitter(own: &Choices, out: Out<'_>) -> fmt::Result {
    let field = match own.jitter {
        kind if jitter::has_factor(kind) => Field::JitterFactor,
        jitter::BOUNDED => Field::JitterBound,
        kind => return crate::json::text(out, Field::JitterKind.word(kind)),
    };
    let mut fields = Open::new(out, '{')?;
    write_field(Field::JitterKind, own.jitter.into(), "kind", &mut fields)?;
    write_field(field, own.jitter_by, last(field), &mut fields)?;
    if own.grows != 0 {
        write_field(Field::JitterGrows, 1, "grows", &mut fields)?;
    }
    fields.end('}')
}

/// The fields of the use of hints.
fn hints() -> impl Iterator<Item = Field> {
    Field::ALL.iter().copied().filter(|field| Choices::of(*field) == HINT)
}

fn hint(own: &Choices, out: Out<'_>) -> fmt::Result {
    let mut hint = Open::new(out, '{')?;
    for field in hints() {
        let number = own.number(field);
        if field == Field::HintMode || number != field.default() {
            write_field(field, number.unwrap_or_default(), last(field), &mut hint)?;
        }
    }
    hint.end('}')
}

/// The last name of a field's path.
fn last(field: Field) -> &'static str {
    field.path().rsplit_once('.').map_or(field.path(), |path| path.1)
}

/// Writes the number of a field under a name, as documents have it.
pub(super) fn write_field(field: Field, number: u64, name: &str, out: &mut Open<'_>) -> fmt::Result {
    match field.takes() {
        Takes::Word(_) => out.text(name, field.word(number as u8)),
        Takes::SpanOrNone { none, .. } if number == none => out.text(name, "none"),
        Takes::Span { .. } | Takes::SpanOrNone { .. } | Takes::SpanOrSpans(_) => {
            out.span(name, Span::from_nanos(number))
        }
        Takes::Flag => write!(out.field(name)?, "{}", number != 0),
        Takes::Number(_) => out.number(name, f64::from_bits(number)),
        Takes::Attempts if number == u64::from(FOREVER) => out.text(name, "forever"),
        _ => out.integer(name, number),
    }
}

#[cfg(all(test, feature = "alloc", feature = "powers", feature = "rules"))]
mod tests;
