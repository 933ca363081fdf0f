//! A policy as a document: the text that reads back to the same policy, without a heap.
//!
//! Backoff, jitter and attempts are always said, so that a reader of the document need not know what the default is; of the
//! rest only what differs from it.

use crate::decide::backoff::{self, RawStage};
use crate::decide::jitter;
use crate::decide::policy::{FOREVER, Policy};
use crate::describe::options::Options;
use crate::describe::rules::{Operations, Rules};
use crate::fields::{Field, Takes};
use crate::json::{Open, Out, texts};
use crate::time::Span;
use core::fmt::{self, Write};

/// The fields that stand by themselves, behind the jitter.
const LIMITS: [Field; 6] =
    [Field::Cap, Field::Attempts, Field::Deadline, Field::MinAttempt, Field::OnDeadline, Field::AttemptTimeout];
const HINT: [Field; 4] = [Field::HintMode, Field::HintMax, Field::HintOver, Field::HintReach];

impl Policy {
    /// Writes the policy as a JSON document of version 1 that reads back to the same policy, and to rules that say nothing.
    ///
    /// # Errors
    /// The error of `out` when it takes no more.
    pub fn to_json(&self, out: &mut dyn Write) -> fmt::Result {
        write_document(self, &Rules::NONE, &Options::NEW, [], [], out)
    }
}

/// Writes a policy, its `retry_on` with the patterns that the host has stored, and its guards as a JSON document of version 1
/// that reads back to the same: every field of a guard that is set, a preset's included. Patterns of a list that the rules do
/// not have are left out.
///
/// # Errors
/// The error of `out` when it takes no more.
pub fn write_document<'p>(
    policy: &Policy,
    rules: &Rules,
    guards: &Options,
    patterns: impl IntoIterator<Item = &'p str>,
    non_idempotent_patterns: impl IntoIterator<Item = &'p str>,
    out: &mut dyn Write,
) -> fmt::Result {
    let mut document = Open::new(out, '{')?;
    document.integer("version", 1)?;
    stages(policy, document.field("backoff")?)?;
    jitter(policy, &mut document)?;
    for field in LIMITS {
        let number = policy.number(field);
        if field == Field::Attempts || Some(number) != field.default() {
            write_field(field, number, field.path(), &mut document)?;
        }
    }
    hint(policy, &mut document)?;
    if *rules != Rules::NONE {
        let mut retry_on = Open::new(document.field("retry_on")?, '{')?;
        rules.write(Operations::All, &mut retry_on, |out| texts(out, patterns.into_iter()))?;
        if rules.tells_apart() {
            let mut other = Open::new(retry_on.field("non_idempotent")?, '{')?;
            let patterns = |out: Out<'_>| texts(out, non_idempotent_patterns.into_iter());
            rules.write(Operations::NonIdempotent, &mut other, patterns)?;
            other.end('}')?;
        }
        retry_on.end('}')?;
    }
    guards.write_guards(&mut document)?;
    document.end('}')
}

/// One stage as an object, several as a list. Parts of one list are written together.
fn stages(policy: &Policy, out: Out<'_>) -> fmt::Result {
    let all = policy.raw_stages();
    let used = all.get(..policy.stages.max(1).into()).unwrap_or(&all);
    if used.chunk_by(continues).count() == 1 {
        return stage(used, out);
    }
    let mut list = Open::new(out, '[')?;
    for parts in used.chunk_by(continues) {
        stage(parts, list.item()?)?;
    }
    list.end(']')
}

/// True if two parts are of one list: a full part may go on in the next.
fn continues(part: &RawStage, next: &RawStage) -> bool {
    part.kind == backoff::LIST && next.kind == backoff::LIST && part.on == next.on && part.times == 3
}

fn stage(parts: &[RawStage], out: Out<'_>) -> fmt::Result {
    let Some(first) = parts.first() else { return Ok(()) };
    let mut stage = Open::new(out, '{')?;
    write_field(Field::BackoffKind, first.kind.into(), "kind", &mut stage)?;
    match first.kind {
        backoff::LIST => {
            let mut list = Open::new(stage.field("delays")?, '[')?;
            for part in parts {
                for n in 0..part.times.min(3) {
                    write!(list.item()?, "\"{}\"", Span::from_nanos(part.at(n, u64::MAX)))?;
                }
            }
            list.end(']')?;
        }
        backoff::CONSTANT => write_field(Field::BackoffInitial, first.initial, "delay", &mut stage)?,
        kind => {
            write_field(Field::BackoffInitial, first.initial, "initial", &mut stage)?;
            if let Some(field) = RawStage::step_of(kind) {
                write_field(field, first.step, last(field), &mut stage)?;
            }
            write_field(Field::BackoffMax, first.max, "max", &mut stage)?;
        }
    }
    if first.times != 0 && first.kind != backoff::LIST {
        write_field(Field::BackoffTimes, first.times.into(), "times", &mut stage)?;
    }
    if first.on != 0 {
        write_field(Field::BackoffOn, first.on.into(), "on", &mut stage)?;
    }
    stage.end('}')
}

fn jitter(policy: &Policy, document: &mut Open<'_>) -> fmt::Result {
    let field = match policy.jitter {
        kind if jitter::has_factor(kind) => Field::JitterFactor,
        jitter::BOUNDED => Field::JitterBound,
        kind => return write_field(Field::JitterKind, kind.into(), "jitter", document),
    };
    let mut fields = Open::new(document.field("jitter")?, '{')?;
    for field in [Field::JitterKind, field] {
        write_field(field, policy.number(field), last(field), &mut fields)?;
    }
    fields.end('}')
}

fn hint(policy: &Policy, document: &mut Open<'_>) -> fmt::Result {
    let differs = |field: &Field| Some(policy.number(*field)) != field.default();
    if !HINT.iter().any(differs) {
        return Ok(());
    }
    let mut hint = Open::new(document.field("hint")?, '{')?;
    for field in HINT.into_iter().filter(|field| *field == Field::HintMode || differs(field)) {
        write_field(field, policy.number(field), last(field), &mut hint)?;
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
        Takes::Span { .. } | Takes::SpanOrNone { .. } => out.span(name, Span::from_nanos(number)),
        Takes::Number(_) => out.number(name, f64::from_bits(number)),
        Takes::Attempts if number == u64::from(FOREVER) => out.text(name, "forever"),
        _ => out.integer(name, number),
    }
}

#[cfg(test)]
mod tests;
