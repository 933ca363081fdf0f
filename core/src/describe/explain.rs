//! Explanations of policies, for people: how long each retry waits at least, typically and at most, and all of them together.
//!
//! The numbers are the machine's own: [`Retry`] is run three times, with every draw pinned to the bottom, the middle and the
//! top of its range. Attempts count as taking no time, so that what is shown is what the policy adds (spec 13).

use crate::decide::backoff::{Backoff, RawStage};
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::hint::HintMode;
use crate::decide::jitter::{self, Cap, Jitter};
use crate::decide::policy::{DeadlineFrom, DelayFrom, FOREVER, Limits, OnDeadline, Policy, RawRule, UNLIMITED};
use crate::decide::stage::Stage;
use crate::describe::options::Options;
use crate::describe::path::{COUNTED, Path};
use crate::time::Span;
use crate::words::words;
use core::fmt::{self, Display, Write};

words! {
    /// The place of a retry before or after the deadline, if attempts take no time.
    pub enum InTime: u32 {
        /// Whatever the draws.
        Always = 1 "always";
        /// If the draws are small enough.
        Sometimes = 2 "sometimes";
        /// Not even with the smallest draws.
        Never = 3 "never";
    }
}

/// One retry: what is waited before it, and until then in all. Nanoseconds, exactly; sums saturate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Row {
    /// The shortest delay, whatever the draws before.
    pub min: Span,
    /// The delay when every draw is 1/2.
    pub typical: Span,
    /// The longest delay, whatever the draws before.
    pub max: Span,
    /// The sum so far when every draw is at the short end.
    pub min_total: Span,
    /// The sum so far when every draw is 1/2.
    pub typical_total: Span,
    /// The sum so far when every draw is at the long end.
    pub max_total: Span,
    /// Which retry, from 1.
    pub retry: u32,
    /// The place of the retry before or after the deadline.
    pub in_time: InTime,
}

/// An explanation of a policy and its guards: its rows as data, and everything as text by `Display`.
#[derive(Clone, Copy, PartialEq, Debug)]
#[must_use]
pub struct Explanation {
    policy: Policy,
    guards: Options,
    /// One kind of failure; or transient, and every rule.
    kind: Option<FailureKind>,
    rows: Option<u32>,
}

impl Explanation {
    /// At most that many retries.
    pub const fn rows(mut self, rows: u32) -> Self {
        self.rows = Some(rows);
        self
    }

    /// After failures of that kind, for policies that wait differently after some. Unless set, the rows are those after
    /// transient failures, and the text has a table for each rule that changes decisions as well.
    pub const fn after(mut self, kind: FailureKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The text with the guards that go with the policy: a line for each behind the policy's words, and their lints.
    pub const fn guarded(mut self, guards: &Options) -> Self {
        self.guards = *guards;
        self
    }

    /// The retries, one by one.
    pub fn iter(&self) -> Rows {
        self.iter_after(self.first())
    }

    /// The failure of the first table.
    fn first(&self) -> Failure {
        Failure::new(self.kind.unwrap_or(FailureKind::Transient))
    }

    fn iter_after(&self, failure: Failure) -> Rows {
        let paths = [0, 1 << 31, u32::MAX].map(Path::pinned);
        Rows { policy: self.policy, failure, paths, retry: 0, left: self.rows_after(failure) }
    }

    /// The most rows of the table after such failures.
    fn rows_after(&self, failure: Failure) -> u32 {
        let usual = if self.policy.attempts_after(failure).is_none() { 10 } else { 100 };
        self.rows.unwrap_or(usual)
    }
}

impl Policy {
    /// All retries of the policy as data and as text, up to 100; 10 if it retries for ever.
    pub const fn explain(&self) -> Explanation {
        Explanation { policy: *self, guards: Options::NEW, kind: None, rows: None }
    }

    /// The attempts of an operation whose failures are all like this one; `None` for ever.
    fn attempts_after(&self, failure: Failure) -> Option<u32> {
        let limit = self.rule(failure).and_then(|(_, rule)| rule.limit()).unwrap_or(self.attempts);
        Some(limit.min(self.total)).filter(|limit| *limit != FOREVER)
    }

    /// How long all sleeps take together if no draw spreads them, as far as there is an end; a backoff that is its own jitter
    /// counts with its typical delays. The deadline is not looked at. Retries after the 4096th of
    /// another backoff than a linear one count as long as that one.
    pub fn total_wait(&self) -> Option<Span> {
        let retries = self.attempts()?.saturating_sub(1);
        let mut stages = self.stages();
        if let (Some(Stage { backoff: Backoff::Linear { initial, increment, max }, times, .. }), None) =
            (stages.next(), stages.next())
        {
            // Only a clipped delay may begin above the longest. After the last of the stage's delays that one stays.
            let [initial, increment, max] = [initial.min(max), increment, max].map(Span::as_nanos);
            let growing = times.map_or(retries, |times| times.min(retries));
            let last = increment.saturating_mul(u64::from(growing).saturating_sub(1)).saturating_add(initial).min(max);
            let rest = last.saturating_mul(u64::from(retries.saturating_sub(growing)));
            let sum = linear_sum([initial, increment, max], growing).as_nanos();
            return Some(Span::from_nanos(sum.saturating_add(rest)));
        }
        let unspread = Self { jitter: jitter::NONE, deadline: UNLIMITED, ..*self }.prepared();
        let mut path = Path::pinned(1 << 31);
        let mut last = Span::ZERO;
        let mut told = 0_u32;
        while told < retries.min(COUNTED)
            && let Some((delay, _)) = path.next(&unspread, Failure::TRANSIENT)
        {
            (told, last) = (told.saturating_add(1), delay);
        }
        let rest = last.as_nanos().saturating_mul(u64::from(retries.saturating_sub(told)));
        Some(Span::from_nanos(path.total.as_nanos().saturating_add(rest)))
    }
}

/// The sum of a linear backoff's first delays: those below the longest, and the longest.
fn linear_sum([initial, increment, max]: [u64; 3], retries: u32) -> Span {
    let retries = u128::from(retries);
    let [initial, increment, max] = [initial, increment, max].map(u128::from);
    let below = max
        .saturating_sub(initial)
        .checked_div(increment)
        .map_or(retries, |steps| steps.saturating_add(1).min(retries));
    let steps = below.saturating_mul(below.saturating_sub(1)) / 2;
    let growing = below.saturating_mul(initial).saturating_add(steps.saturating_mul(increment));
    let sum = growing.saturating_add(retries.saturating_sub(below).saturating_mul(max));
    Span::from_nanos(u64::try_from(sum).unwrap_or(u64::MAX))
}

/// The retries of an [`Explanation`], one by one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rows {
    policy: Policy,
    failure: Failure,
    paths: [Path; 3],
    retry: u32,
    left: u32,
}

impl Iterator for Rows {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        self.left = self.left.checked_sub(1)?;
        let Self { policy, failure, .. } = *self;
        let [low, middle, high] = &mut self.paths;
        // The next delay at the other end of its range, since what was drawn before may tell on it.
        let (low_high, high_low) = (low.drawing(high.draw), high.drawing(low.draw));
        let others = [low_high, high_low].map(|mut path| path.next(&policy, failure));
        let (first, second) = (low.next(&policy, failure)?, high.next(&policy, failure)?);
        let (typical, _) = middle.next(&policy, failure)?;
        let (mut min, mut max) = (first.0.min(second.0), first.0.max(second.0));
        for (delay, _) in others.into_iter().flatten() {
            (min, max) = (min.min(delay), max.max(delay));
        }
        self.retry = self.retry.saturating_add(1);
        // A jitter that takes away makes the longest delay of the smallest draw.
        Some(Row {
            min,
            typical,
            max,
            min_total: low.total.min(high.total),
            typical_total: middle.total,
            max_total: low.total.max(high.total),
            retry: self.retry,
            in_time: match (first.1, second.1) {
                (true, true) => InTime::Always,
                (false, false) => InTime::Never,
                _ => InTime::Sometimes,
            },
        })
    }
}

/// The policy and its guards in words, a table of the retries, and the lints.
///
/// ```text
/// exponential backoff from 100ms by 2 up to 5s, full jitter
/// 3 attempts, no deadline
/// hints: floor up to 1m, stop above
///
/// retry         min     typical         max   total min     typical         max
///     1          0s        50ms       100ms          0s        50ms       100ms
///     2          0s       100ms       200ms          0s       150ms       300ms
/// ```
///
/// Times are rounded to four digits. It is the same text in every language.
impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line of guards ends with a line feed, the last line of a policy does not.
        write!(f, "{}\n{}\n", self.policy, self.guards.guard_words())?;
        self.table(f, self.first())?;
        for (number, rule) in self.policy.deciding_rules().filter(|_| self.kind.is_none()) {
            match rule.taken_kinds() {
                None => write!(f, "\n\nafter failures that rule {number} takes\n")?,
                Some(kinds) => write!(f, "\n\nafter failures of kind {kinds}\n")?,
            }
            self.table(f, Failure { rule: number, ..Failure::new(rule.retried_kind()) })?;
        }
        let mut before = "\n\n";
        for lint in self.guards.lints(&self.policy) {
            write!(f, "{before}{lint}")?;
            before = "\n";
        }
        Ok(())
    }
}

impl Explanation {
    fn table(&self, f: &mut fmt::Formatter<'_>, failure: Failure) -> fmt::Result {
        let limited = self.policy.deadline().is_some();
        let [min, typical, max] = ["min", "typical", "max"];
        write!(f, "retry {min:>11} {typical:>11} {max:>11}   total {min:>5} {typical:>11} {max:>11}")?;
        f.write_str(if limited { "  in time" } else { "" })?;
        for row in self.iter_after(failure) {
            let [min, typical, max] = [row.min, row.typical, row.max].map(Cell);
            let [min_total, typical_total, max_total] = [row.min_total, row.typical_total, row.max_total].map(Cell);
            write!(f, "\n{:>5}{min}{typical}{max}  {min_total}{typical_total}{max_total}", row.retry)?;
            if limited {
                write!(f, "  {}", row.in_time.name())?;
            }
        }
        let attempts = self.policy.attempts_after(failure);
        match attempts.map(|attempts| attempts.saturating_sub(1).saturating_sub(self.rows_after(failure))) {
            None => f.write_str("\nand so on, for ever"),
            Some(0) if attempts == Some(1) => f.write_str("\nno retries"),
            Some(0) => Ok(()),
            Some(more) => write!(f, "\nand {more} more"),
        }
    }
}

/// A span rounded to four digits, behind as many spaces as fill a column.
struct Cell(Span);

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = rounded(self.0);
        let mut length = Length(0);
        write!(length, "{span}")?;
        write!(f, " {:1$}{span}", "", 11_usize.saturating_sub(length.0))
    }
}

/// The length of a text that is written.
struct Length(usize);

impl Write for Length {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.saturating_add(text.len());
        Ok(())
    }
}

/// To the nearest that has four digits.
fn rounded(span: Span) -> Span {
    let nanos = span.as_nanos();
    let (mut left, mut unit) = (nanos, 1_u64);
    while left >= 10_000 {
        (left, unit) = (left / 10, unit.saturating_mul(10));
    }
    let up = nanos.saturating_add(unit / 2);
    Span::from_nanos(up.saturating_sub(up.checked_rem(unit).unwrap_or_default()))
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
        let total = self.total();
        for (is_so, words) in [
            (self.deadline_from() == DeadlineFrom::FirstFailure, " from the first failure"),
            (!self.aborts_at_deadline(), " for the start of attempts"),
            (self.limits() == Limits::Last, ", the last limit ends it"),
            (self.delay_from() == DelayFrom::Start, ", delays from the attempt's start"),
        ] {
            f.write_str(if is_so { words } else { "" })?;
        }
        if let Some(total) = total {
            write!(f, ", {total} attempts in all")?;
        }
        if let Some(time) = self.reset_after() {
            write!(f, ", begun anew by an attempt of {time}")?;
        }
        if self.min_attempt() != Span::ZERO {
            write!(f, ", at least {} for an attempt", self.min_attempt())?;
        }
        if self.on_deadline() == OnDeadline::Clip {
            f.write_str(", the last sleep clipped")?;
        }
        if let Some(timeout) = self.attempt_timeout() {
            write!(f, ", attempt timeout {timeout}")?;
        }
        f.write_str("\nhints: ")?;
        write_hints(f, self)
    }
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
    fn deciding_rules(&self) -> impl Iterator<Item = (u8, &RawRule)> {
        (1..).zip(&self.rules).filter(|(_, rule)| rule.decides())
    }
}

impl RawRule {
    /// The kinds of failures that the rule takes whatever else is known of them, unless it takes none or all of them so.
    fn taken_kinds(&self) -> Option<KindWords> {
        Some(KindWords(self.kinds & 15)).filter(|kinds| !matches!(kinds.0, 0 | 15))
    }

    /// The first kind of failures that the rule retries by their kind; transient if there is none.
    fn retried_kind(&self) -> FailureKind {
        let kind = KindWords(self.kinds).all().next().filter(|kind| *kind != FailureKind::Permanent);
        kind.unwrap_or(FailureKind::Transient)
    }
}

/// Kinds of failures as bits, in words.
struct KindWords(u8);

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
    match policy.hint_reach() {
        Some(reach) => write!(f, ", at most {reach} beyond the delay"),
        None => Ok(()),
    }
}

fn write_jitter(f: &mut fmt::Formatter<'_>, policy: &Policy) -> fmt::Result {
    match policy.jitter() {
        Jitter::None if policy.is_random() => f.write_str(", its own jitter"),
        jitter => write!(f, ", {}", JitterWords(jitter)),
    }?;
    if policy.grows != 0 {
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
        _ => RawStage::of(backoff).part().fmt(f),
    }
}

/// The backoff in words, and for how many delays: `linear backoff from 1s by 2s up to 9s 3 times`.
impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.backoff {
            Backoff::Constant { delay } => write!(f, "constant backoff of {delay}"),
            Backoff::Linear { initial, increment, .. } => write!(f, "linear backoff from {initial} by {increment}"),
            Backoff::Exponential { initial, factor, .. } => write!(f, "exponential backoff from {initial} by {factor}"),
            Backoff::Polynomial { initial, exponent, .. } => {
                write!(f, "polynomial backoff from {initial} with exponent {exponent}")
            }
            Backoff::Fibonacci { initial, .. } => write!(f, "Fibonacci backoff from {initial}"),
            Backoff::Decorrelated { initial, factor, .. } => {
                write!(f, "decorrelated backoff from {initial} by {factor}")
            }
            Backoff::DecorrelatedV2 { initial, .. } => write!(f, "decorrelated backoff v2 of {initial}"),
        }?;
        let longest = Span::from_nanos(RawStage::of(self.backoff).max);
        if longest != Span::MAX {
            write!(f, " up to {longest}")?;
        }
        if self.from != 1 {
            write!(f, " with first index {}", self.from)?;
        }
        if self.floor != Span::ZERO {
            write!(f, " at least {}", self.floor)?;
        }
        if self.offset != Span::ZERO {
            write!(f, " plus {}", self.offset)?;
        }
        match self.times {
            None => {}
            Some(1) => f.write_str(" once")?,
            Some(times) => write!(f, " {times} times")?,
        }
        if let Some(until) = self.until {
            write!(f, " until {until}")?;
        }
        if let Some(jitter) = self.jitter {
            write!(f, " with {}", JitterWords(jitter))?;
        }
        if let Some(cap) = self.cap {
            write!(f, " with cap {}", cap.name())?;
        }
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

#[cfg(test)]
mod tests;
