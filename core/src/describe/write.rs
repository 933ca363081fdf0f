//! A policy as a document: the text that reads back to the same policy, without a heap.
//!
//! Backoff, jitter and attempts are always said, so that a reader of the document need not know what the default is; of the
//! rest only what differs from it.

use crate::decide::backoff::{self, Flat};
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::{OnDeadline, Policy, UNLIMITED};
use crate::describe::guards::GuardsBuilder;
use crate::describe::rules::{Operations, Rules};
use crate::field::Field;
use crate::json::{Open, Out, texts};
use crate::time::Span;
use core::fmt::{self, Write};

impl Policy {
    /// Writes the policy as a JSON document of version 1 that reads back to the same policy, and to rules that say nothing.
    ///
    /// # Errors
    /// What `out` says when it takes no more.
    pub fn to_json(&self, out: &mut dyn Write) -> fmt::Result {
        write_document(self, &Rules::NONE, [], [], out)
    }
}

/// Writes a policy, its `retry_on` and the patterns that the host keeps of it as a JSON document of version 1 that reads
/// back to the same. Patterns of a list that the rules do not know of are left out.
///
/// # Errors
/// What `out` says when it takes no more.
pub fn write_document<'p>(
    policy: &Policy,
    rules: &Rules,
    patterns: impl IntoIterator<Item = &'p str>,
    non_idempotent_patterns: impl IntoIterator<Item = &'p str>,
    out: &mut dyn Write,
) -> fmt::Result {
    write(policy, rules, patterns, non_idempotent_patterns, out, |_| Ok(()))
}

/// Writes a document as [`write_document`] does, with its guards: every field that was given, a preset's included.
///
/// # Errors
/// What `out` says when it takes no more.
pub fn write_guarded<'p>(
    policy: &Policy,
    rules: &Rules,
    guards: &GuardsBuilder,
    patterns: impl IntoIterator<Item = &'p str>,
    non_idempotent_patterns: impl IntoIterator<Item = &'p str>,
    out: &mut dyn Write,
) -> fmt::Result {
    write(policy, rules, patterns, non_idempotent_patterns, out, |document| guards.write(document))
}

fn write<'p>(
    policy: &Policy,
    rules: &Rules,
    patterns: impl IntoIterator<Item = &'p str>,
    non_idempotent_patterns: impl IntoIterator<Item = &'p str>,
    out: &mut dyn Write,
    guards: impl FnOnce(&mut Open<'_>) -> fmt::Result,
) -> fmt::Result {
    let mut document = Open::new(out, '{')?;
    document.whole("version", 1)?;
    stages(policy, document.field("backoff")?)?;
    jitter(policy, &mut document)?;
    if policy.cap() != Cap::KeepSpread {
        document.text("cap", Field::Cap.word(policy.cap))?;
    }
    match policy.attempts() {
        Some(attempts) => document.whole("attempts", attempts.into())?,
        None => document.text("attempts", "forever")?,
    }
    limits(policy, &mut document)?;
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
    guards(&mut document)?;
    document.end('}')
}

/// One stage as an object, several as a list. Parts of one list are told together.
fn stages(policy: &Policy, out: Out<'_>) -> fmt::Result {
    let mut rest: &[Flat] = &policy.others;
    let mut left = usize::from(policy.stages).saturating_sub(1);
    let mut next = Some(&policy.first);
    let mut take = move || {
        let (first, tail) = rest.split_first()?;
        rest = tail;
        left = left.checked_sub(1)?;
        Some(first)
    };
    let mut list = None;
    let mut out = Some(out);
    while let Some(first) = next {
        // A part of a list that is full may go on in the next one.
        let mut parts = [Some(first), None, None, None, None, None];
        let mut last = first;
        next = take();
        for part in parts.iter_mut().skip(1) {
            let Some(more) = next.filter(|more| continues(last, more)) else { break };
            (*part, last, next) = (Some(more), more, take());
        }
        if list.is_none() && next.is_none() {
            return out.take().map_or(Ok(()), |out| stage(first, &parts, out));
        }
        if let Some(out) = out.take() {
            list = Some(Open::new(out, '[')?);
        }
        if let Some(list) = &mut list {
            stage(first, &parts, list.item()?)?;
        }
    }
    list.map_or(Ok(()), |list| list.end(']'))
}

/// Whether two parts are of one list.
fn continues(part: &Flat, next: &Flat) -> bool {
    part.kind == backoff::LIST && next.kind == backoff::LIST && part.on == next.on && part.times == 3
}

fn stage(first: &Flat, parts: &[Option<&Flat>], out: Out<'_>) -> fmt::Result {
    let span = Span::from_nanos;
    let mut stage = Open::new(out, '{')?;
    stage.text("kind", Field::BackoffKind.word(first.kind))?;
    match first.kind {
        backoff::LIST => {
            let mut list = Open::new(stage.field("delays")?, '[')?;
            for part in parts.iter().flatten() {
                for n in 0..part.times.min(3) {
                    write!(list.item()?, "\"{}\"", span(part.at(n, u64::MAX)))?;
                }
            }
            list.end(']')?;
        }
        backoff::LINEAR
        | backoff::EXPONENTIAL
        | backoff::POLYNOMIAL
        | backoff::FIBONACCI
        | backoff::DECORRELATED
        | backoff::DECORRELATED_V2 => {
            stage.span("initial", span(first.initial))?;
            match first.kind {
                backoff::LINEAR => stage.span("increment", span(first.step))?,
                backoff::POLYNOMIAL => stage.number("exponent", first.factor())?,
                backoff::EXPONENTIAL | backoff::DECORRELATED => stage.number("factor", first.factor())?,
                _ => {}
            }
            stage.span_or_none("max", span(first.max))?;
        }
        _ => stage.span("delay", span(first.initial))?,
    }
    if first.times != 0 && first.kind != backoff::LIST {
        stage.whole("times", first.times.into())?;
    }
    if let Some(kind) = crate::FailureKind::from_code(first.on.into()) {
        stage.text("on", kind.name())?;
    }
    stage.end('}')
}

fn jitter(policy: &Policy, document: &mut Open<'_>) -> fmt::Result {
    let word = Field::JitterKind.word(policy.jitter);
    let (factor, bound) = match policy.jitter() {
        Jitter::None | Jitter::Full | Jitter::Equal => return document.text("jitter", word),
        Jitter::Additive { factor } | Jitter::Proportional { factor } | Jitter::Subtractive { factor } => {
            (Some(factor), None)
        }
        Jitter::Bounded { bound } => (None, Some(bound)),
    };
    let mut fields = Open::new(document.field("jitter")?, '{')?;
    fields.text("kind", word)?;
    if let Some(factor) = factor {
        fields.number("factor", factor)?;
    }
    if let Some(bound) = bound {
        fields.span("bound", bound)?;
    }
    fields.end('}')
}

fn limits(policy: &Policy, document: &mut Open<'_>) -> fmt::Result {
    if let Some(deadline) = policy.deadline() {
        document.span("deadline", deadline)?;
    }
    if policy.min_attempt() != Span::ZERO {
        document.span("min_attempt", policy.min_attempt())?;
    }
    if policy.on_deadline() == OnDeadline::Clip {
        document.text("on_deadline", Field::OnDeadline.word(policy.on_deadline))?;
    }
    if let Some(timeout) = policy.attempt_timeout() {
        document.span("attempt_timeout", timeout)?;
    }
    Ok(())
}

fn hint(policy: &Policy, document: &mut Open<'_>) -> fmt::Result {
    let default = Policy::DEFAULT;
    let said = |policy: &Policy| (policy.hint_mode, policy.hint_max, policy.hint_over, policy.hint_reach);
    if said(policy) == said(&default) {
        return Ok(());
    }
    let mut hint = Open::new(document.field("hint")?, '{')?;
    hint.text("mode", Field::HintMode.word(policy.hint_mode))?;
    if policy.hint_max != default.hint_max {
        hint.span_or_none("max", policy.hint_max())?;
    }
    if policy.hint_over != default.hint_over {
        hint.text("over", Field::HintOver.word(policy.hint_over))?;
    }
    if policy.hint_reach != UNLIMITED {
        hint.span("reach", Span::from_nanos(policy.hint_reach))?;
    }
    hint.end('}')
}

#[cfg(test)]
mod tests;
