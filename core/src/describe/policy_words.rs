//! A policy in words, for an explanation: backoff and jitter, attempts and limits, hints.

use crate::decide::backoff::{Backoff, BackoffNumbers};
use crate::decide::failure::FailureKind;
use crate::decide::hint::HintMode;
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::{DeadlineFrom, DelayFrom, Limits, OnDeadline, Policy, RuleNumbers};
use crate::decide::stage::Stage;
use crate::time::Span;
use core::fmt::{self, Display, Write};

/// The policy in words on one line.
impl fmt::Debug for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Policy(")?;
        write!(OneLine(f), "{self}")?;
        f.write_str(")")
    }
}

/// Writes `; ` for each line feed.
struct OneLine<'a, 'f>(&'a mut fmt::Formatter<'f>);

impl Write for OneLine<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for (at, line) in text.split('\n').enumerate() {
            self.0.write_str(if at == 0 { "" } else { "; " })?;
            self.0.write_str(line)?;
        }
        Ok(())
    }
}

/// The policy in words, three lines: backoff and jitter; attempts and limits; hints.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_stages(f, self.stages())?;
        self.write_rules(f)?;
        write_jitter(f, self)?;
        match self.attempts() {
            None => f.write_str("\nattempts for ever")?,
            Some(1) => f.write_str("\n1 attempt")?,
            Some(attempts) => write!(f, "\n{attempts} attempts")?,
        }
        match self.deadline() {
            None => f.write_str(", no deadline")?,
            Some(deadline) => write!(f, ", deadline {deadline}")?,
        }
        for (is_so, words) in [
            (self.deadline_from() == DeadlineFrom::FirstFailure, " from the first failure"),
            (!self.abort_at_deadline(), " for the start of attempts"),
            (self.limits() == Limits::Last, ", the last limit ends it"),
            (self.delay_from() == DelayFrom::Start, ", delays from the attempt's start"),
        ] {
            f.write_str(if is_so { words } else { "" })?;
        }
        around(f, ", ", self.total(), " attempts in all")?;
        around(f, ", begun anew by an attempt of ", self.reset_after(), "")?;
        around(f, ", at least ", some_time(self.min_attempt()), " for an attempt")?;
        f.write_str(if self.on_deadline() == OnDeadline::Clip { ", the last sleep clipped" } else { "" })?;
        around(f, ", attempt timeout ", self.attempt_timeout(), "")?;
        f.write_str("\nhints: ")?;
        write_hints(f, self)
    }
}

/// Writes a value with words around it, if there is one.
fn around(f: &mut fmt::Formatter<'_>, before: &str, value: Option<impl Display>, behind: &str) -> fmt::Result {
    value.map_or(Ok(()), |value| write!(f, "{before}{value}{behind}"))
}

/// A time that is not 0.
fn some_time(span: Span) -> Option<Span> {
    Some(span).filter(|span| *span != Span::ZERO)
}

/// Stages that follow one another.
fn write_stages(f: &mut fmt::Formatter<'_>, stages: impl Iterator<Item = Stage>) -> fmt::Result {
    let mut before = "";
    for stage in stages {
        write!(f, "{before}{stage}")?;
        before = ", then ";
    }
    Ok(())
}

impl Policy {
    /// The rules that change what a machine decides, each with the kinds that it is for, or its number.
    fn write_rules(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, rule) in self.deciding_rules() {
            match rule.taken_kinds() {
                None => write!(f, "; by rule {number}: ")?,
                Some(kinds) => write!(f, "; after {kinds}: ")?,
            }
            write_stages(f, self.stages_of(rule))?;
            let before = if rule.stages == 0 { "" } else { ", " };
            match rule.limit() {
                None if rule.stages == 0 => f.write_str("its own jitter, cap or hints")?,
                None => {}
                Some(u32::MAX) => write!(f, "{before}attempts for ever")?,
                Some(limit) => write!(f, "{before}attempts up to {limit}")?,
            }
        }
        Ok(())
    }

    /// The rules that change what a machine decides, with their numbers.
    pub(crate) fn deciding_rules(&self) -> impl Iterator<Item = (u8, &RuleNumbers)> {
        (1..).zip(&self.rules).filter(|(_, rule)| rule.decides())
    }
}

impl RuleNumbers {
    /// The kinds of failures that the rule takes whatever else is known of them, unless it takes none or all of them so.
    pub(crate) fn taken_kinds(&self) -> Option<KindWords> {
        Some(KindWords(self.kinds & 15)).filter(|kinds| !matches!(kinds.0, 0 | 15))
    }

    /// The first kind of failures that the rule retries by their kind; transient if there is none.
    pub(crate) fn retried_kind(&self) -> FailureKind {
        let kind = KindWords(self.kinds).all().next().filter(|kind| *kind != FailureKind::Permanent);
        kind.unwrap_or(FailureKind::Transient)
    }
}

/// Kinds of failures as bits, in words.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct KindWords(u8);

impl KindWords {
    fn all(&self) -> impl Iterator<Item = FailureKind> {
        let kinds = u32::from(self.0) << 1;
        FailureKind::ALL.into_iter().filter(move |kind| kinds >> kind.code() & 1 == 1)
    }
}

impl Display for KindWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for kind in self.all() {
            write!(f, "{before}{}", kind.name())?;
            before = " and ";
        }
        Ok(())
    }
}

fn write_hints(f: &mut fmt::Formatter<'_>, policy: &Policy) -> fmt::Result {
    match policy.hint_mode() {
        HintMode::Ignore => return f.write_str("ignored"),
        mode => f.write_str(mode.name())?,
    }
    if policy.hint_max() != Span::MAX {
        write!(f, " up to {}, {} above", policy.hint_max(), policy.hint_over().name())?;
    }
    around(f, ", at most ", policy.hint_reach(), " beyond the delay")
}

fn write_jitter(f: &mut fmt::Formatter<'_>, policy: &Policy) -> fmt::Result {
    match policy.jitter() {
        Jitter::None if policy.is_random() => f.write_str(", its own jitter"),
        jitter => write!(f, ", {}", JitterWords(jitter)),
    }?;
    if policy.own.grows != 0 {
        f.write_str(" that grows")?;
    }
    f.write_str(match policy.cap() {
        Cap::KeepSpread => "",
        Cap::BeforeJitter => ", capped before jitter",
        Cap::Clip => ", clipped after jitter",
    })
}

/// A jitter in words.
struct JitterWords(Jitter);

impl Display for JitterWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Jitter::None => f.write_str("no jitter"),
            Jitter::Full => f.write_str("full jitter"),
            Jitter::Equal => f.write_str("equal jitter"),
            Jitter::Additive { factor } => write!(f, "additive jitter {factor}"),
            Jitter::Proportional { factor } => write!(f, "proportional jitter {factor}"),
            Jitter::Bounded { bound } => write!(f, "bounded jitter {bound}"),
            Jitter::Subtractive { factor } => write!(f, "subtractive jitter {factor}"),
        }
    }
}

/// How long each time, of something that need not be a backoff's delay.
pub(crate) fn write_growth(f: &mut fmt::Formatter<'_>, backoff: Backoff) -> fmt::Result {
    match backoff {
        Backoff::Constant { delay } => write!(f, "{delay}"),
        _ => write_backoff(f, backoff),
    }
}

fn write_backoff(f: &mut fmt::Formatter<'_>, backoff: Backoff) -> fmt::Result {
    match backoff {
        Backoff::Constant { delay } => write!(f, "constant backoff of {delay}"),
        Backoff::Linear { initial, increment, .. } => write!(f, "linear backoff from {initial} by {increment}"),
        Backoff::Exponential { initial, factor, .. } => write!(f, "exponential backoff from {initial} by {factor}"),
        Backoff::Polynomial { initial, exponent, .. } => {
            write!(f, "polynomial backoff from {initial} with exponent {exponent}")
        }
        Backoff::Fibonacci { initial, .. } => write!(f, "Fibonacci backoff from {initial}"),
        Backoff::Decorrelated { initial, factor, .. } => write!(f, "decorrelated backoff from {initial} by {factor}"),
        Backoff::DecorrelatedV2 { initial, .. } => write!(f, "decorrelated backoff v2 of {initial}"),
    }?;
    let longest = Span::from_nanos(BackoffNumbers::of(backoff).max);
    around(f, " up to ", Some(longest).filter(|longest| *longest != Span::MAX), "")
}

/// The backoff in words, and for how many delays: `linear backoff from 1s by 2s up to 9s 3 times`.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_backoff(f, self.backoff)?;
        around(f, " with first index ", Some(self.from).filter(|from| *from != 1), "")?;
        around(f, " at least ", some_time(self.floor), "")?;
        around(f, " plus ", some_time(self.offset), "")?;
        match self.times {
            Some(1) => f.write_str(" once")?,
            times => around(f, " ", times, " times")?,
        }
        around(f, " until ", self.until, "")?;
        around(f, " with ", self.jitter.map(JitterWords), "")?;
        around(f, " with cap ", self.cap, "")?;
        f.write_str(if self.repeats { ", again and again" } else { "" })
    }
}

impl Policy {
    /// True if any stage is its own jitter.
    pub(crate) fn is_random(&self) -> bool {
        self.stages()
            .any(|stage| matches!(stage.backoff, Backoff::Decorrelated { .. } | Backoff::DecorrelatedV2 { .. }))
    }
}
