//! Explanations of policies, for people: how long each retry waits at least, typically and at most, and all of them together.
//!
//! The numbers are the machine's own: [`Retry`] is run three times, with every draw pinned to the bottom, the middle and the
//! top of its range. Attempts count as taking no time, so that what is shown is what the policy adds (spec 13).

use crate::decide::backoff::{Backoff, Stage};
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{self, Cap, Jitter};
use crate::decide::policy::{OnDeadline, Policy, UNLIMITED};
use crate::describe::lint::Lint;
use crate::describe::options::Options;
use crate::describe::path::{COUNTED, Path};
use crate::time::Span;
use crate::words::words;
use core::fmt;

words! {
    /// Whether a retry comes before the deadline, if attempts take no time.
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

/// An explanation of a policy: its rows as data, and everything as text by `Display`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Explanation {
    policy: Policy,
    /// One kind of failure, or transient and every kind that has stages of its own.
    kind: Option<FailureKind>,
    rows: u32,
}

impl Explanation {
    /// How many retries are shown of a policy that retries for ever, unless a number is given.
    pub const ROWS: u32 = 10;
    /// How many retries are shown at most, unless a number is given.
    pub const MOST: u32 = 100;

    /// All retries of `policy`, up to [`Explanation::MOST`]; [`Explanation::ROWS`] if it retries for ever.
    pub const fn of(policy: &Policy) -> Self {
        let rows = if policy.attempts().is_none() { Self::ROWS } else { Self::MOST };
        Self { policy: *policy, kind: None, rows }
    }

    /// At most that many retries.
    #[must_use]
    pub const fn rows(mut self, rows: u32) -> Self {
        self.rows = rows;
        self
    }

    /// After failures of that kind, for policies that wait differently after some. Unless set, the rows are those after
    /// transient failures, and the text has a table for each kind that has delays of its own as well.
    #[must_use]
    pub const fn after(mut self, kind: FailureKind) -> Self {
        self.kind = Some(kind);
        self
    }

    /// The text with the guards that go with the policy.
    pub const fn guarded(self, guards: &Options) -> GuardedExplanation<'_> {
        GuardedExplanation { explanation: self, guards }
    }

    /// The retries, one by one.
    pub fn iter(&self) -> Rows {
        self.iter_after(self.kind.unwrap_or(FailureKind::Transient))
    }

    fn iter_after(&self, kind: FailureKind) -> Rows {
        let paths = [0, 1 << 31, u32::MAX].map(Path::pinned);
        Rows { policy: self.policy, failure: Failure::new(kind), paths, retry: 0, left: self.rows }
    }

    /// How many retries are not shown; `None` without an end.
    fn more(&self) -> Option<u32> {
        Some(self.policy.attempts()?.saturating_sub(1).saturating_sub(self.rows))
    }
}

impl IntoIterator for &Explanation {
    type Item = Row;
    type IntoIter = Rows;

    fn into_iter(self) -> Rows {
        self.iter()
    }
}

impl Policy {
    /// The delays of the policy, as data and as text: see [`Explanation`].
    pub const fn explain(&self) -> Explanation {
        Explanation::of(self)
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

/// The policy in words, a table of its retries, and what the linter says.
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
        self.policy.words().fmt(f)?;
        self.tables(f)?;
        warnings(f, self.policy.lints())
    }
}

/// An explanation of a policy and its guards, by `Display`: as that of the policy, with a line for each guard behind the
/// policy's words, and what the linter says of both.
#[derive(Clone, Copy, Debug)]
pub struct GuardedExplanation<'g> {
    explanation: Explanation,
    guards: &'g Options,
}

impl fmt::Display for GuardedExplanation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = &self.explanation.policy;
        policy.words().fmt(f)?;
        fmt::write(&mut Lines(f, true), format_args!("{}", self.guards.guard_words()))?;
        self.explanation.tables(f)?;
        warnings(f, self.guards.lints(policy))
    }
}

/// Lines that each end with a line feed, written as lines that each begin with one.
struct Lines<'f, 'o>(&'f mut fmt::Formatter<'o>, bool);

impl fmt::Write for Lines<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for part in text.split_inclusive('\n') {
            if core::mem::replace(&mut self.1, part.ends_with('\n')) {
                self.0.write_str("\n")?;
            }
            self.0.write_str(part.trim_end_matches('\n'))?;
        }
        Ok(())
    }
}

impl Explanation {
    fn table(&self, f: &mut fmt::Formatter<'_>, kind: FailureKind, title: &str) -> fmt::Result {
        let limited = self.policy.deadline().is_some();
        f.write_str("\n\n")?;
        if !title.is_empty() {
            writeln!(f, "after failures of kind {title}")?;
        }
        let [min, typical, max] = ["min", "typical", "max"];
        write!(f, "retry {min:>11} {typical:>11} {max:>11}   total {min:>5} {typical:>11} {max:>11}")?;
        f.write_str(if limited { "  in time" } else { "" })?;
        for row in self.iter_after(kind) {
            write!(f, "\n{:>5}", row.retry)?;
            for span in [row.min, row.typical, row.max] {
                write!(f, " {:>11}", Cell::of(span).text())?;
            }
            f.write_str("  ")?;
            for span in [row.min_total, row.typical_total, row.max_total] {
                write!(f, " {:>11}", Cell::of(span).text())?;
            }
            if limited {
                write!(f, "  {}", row.in_time.name())?;
            }
        }
        match self.more() {
            None => f.write_str("\nand so on, for ever"),
            Some(0) if self.policy.attempts() == Some(1) => f.write_str("\nno retries"),
            Some(0) => Ok(()),
            Some(more) => write!(f, "\nand {more} more"),
        }
    }

    fn tables(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = self.kind {
            return self.table(f, kind, "");
        }
        self.table(f, FailureKind::Transient, "")?;
        for kind in FailureKind::ALL {
            if self.policy.stages().any(|stage| stage.on == Some(kind)) {
                self.table(f, kind, kind.name())?;
            }
        }
        Ok(())
    }
}

fn warnings(f: &mut fmt::Formatter<'_>, lints: impl Iterator<Item = Lint>) -> fmt::Result {
    let mut before = "\n\n";
    for lint in lints {
        write!(f, "{before}{lint}")?;
        before = "\n";
    }
    Ok(())
}

/// A span as text to be aligned, rounded to four digits.
struct Cell {
    bytes: [u8; 24],
    length: usize,
}

impl Cell {
    fn of(span: Span) -> Self {
        let mut cell = Self { bytes: [0; 24], length: 0 };
        // A span's text is at most 21 bytes, and a longer one would be cut.
        let _ = fmt::write(&mut cell, format_args!("{}", rounded(span)));
        cell
    }

    fn text(&self) -> &str {
        self.bytes.get(..self.length).and_then(|bytes| str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

impl fmt::Write for Cell {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.length = end;
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

impl Policy {
    /// The policy in words, three lines: backoff and jitter; attempts and limits; hints.
    pub const fn words(&self) -> Words<'_> {
        Words(self)
    }
}

/// A policy in words, by `Display`.
#[derive(Clone, Copy, Debug)]
pub struct Words<'p>(&'p Policy);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let policy = self.0;
        let mut on = None;
        for (at, stage) in policy.stages().enumerate() {
            match () {
                () if at == 0 => {}
                () if stage.on == on => f.write_str(", then ")?,
                () => f.write_str("; ")?,
            }
            if stage.on != on {
                write!(f, "after {}: ", stage.on.map_or("others", FailureKind::name))?;
            }
            on = stage.on;
            Of(stage).fmt(f)?;
        }
        write_jitter(f, policy)?;
        match policy.attempts() {
            None => f.write_str("\nattempts for ever")?,
            Some(1) => f.write_str("\n1 attempt")?,
            Some(attempts) => write!(f, "\n{attempts} attempts")?,
        }
        match policy.deadline() {
            None => f.write_str(", no deadline")?,
            Some(deadline) => write!(f, ", deadline {deadline}")?,
        }
        if policy.min_attempt() != Span::ZERO {
            write!(f, ", at least {} for an attempt", policy.min_attempt())?;
        }
        if policy.on_deadline() == OnDeadline::Clip {
            f.write_str(", the last sleep clipped")?;
        }
        if let Some(timeout) = policy.attempt_timeout() {
            write!(f, ", attempt timeout {timeout}")?;
        }
        f.write_str("\nhints: ")?;
        write_hints(f, policy)
    }
}

fn write_hints(f: &mut fmt::Formatter<'_>, policy: &Policy) -> fmt::Result {
    f.write_str(match policy.hint_mode() {
        HintMode::Ignore => return f.write_str("ignored"),
        HintMode::Floor => "floor",
        HintMode::Replace => "replace",
        HintMode::Exact => "exact",
        HintMode::AtLeast => "at_least",
    })?;
    if policy.hint_max() != Span::MAX {
        let over = match policy.hint_over() {
            HintOver::Stop => "stop",
            HintOver::Clamp => "clamp",
        };
        write!(f, " up to {}, {over} above", policy.hint_max())?;
    }
    match policy.hint_reach() {
        Some(reach) => write!(f, ", at most {reach} beyond the delay"),
        None => Ok(()),
    }
}

fn write_jitter(f: &mut fmt::Formatter<'_>, policy: &Policy) -> fmt::Result {
    match policy.jitter() {
        Jitter::None if policy.is_random() => f.write_str(", its own jitter"),
        Jitter::None => f.write_str(", no jitter"),
        Jitter::Full => f.write_str(", full jitter"),
        Jitter::Equal => f.write_str(", equal jitter"),
        Jitter::Additive { factor } => write!(f, ", additive jitter {factor}"),
        Jitter::Proportional { factor } => write!(f, ", proportional jitter {factor}"),
        Jitter::Bounded { bound } => write!(f, ", bounded jitter {bound}"),
        Jitter::Subtractive { factor } => write!(f, ", subtractive jitter {factor}"),
    }?;
    f.write_str(match policy.cap() {
        Cap::KeepSpread => "",
        Cap::BeforeJitter => ", capped before jitter",
        Cap::Clip => ", clipped after jitter",
    })
}

/// How long each time, of something that need not be a backoff's delay.
pub(crate) fn write_growth(f: &mut fmt::Formatter<'_>, backoff: Backoff) -> fmt::Result {
    match backoff {
        Backoff::Constant { delay } => write!(f, "{delay}"),
        _ => write!(f, "{}", Of(Stage { backoff, times: None, on: None })),
    }
}

struct Of(Stage);

impl fmt::Display for Of {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stage { backoff, times, .. } = self.0;
        let longest = match backoff {
            Backoff::Constant { delay } => {
                write!(f, "constant backoff of {delay}")?;
                Span::MAX
            }
            Backoff::Linear { initial, increment, max } => {
                write!(f, "linear backoff from {initial} by {increment}")?;
                max
            }
            Backoff::Exponential { initial, factor, max } => {
                write!(f, "exponential backoff from {initial} by {factor}")?;
                max
            }
            Backoff::Polynomial { initial, exponent, max } => {
                write!(f, "polynomial backoff from {initial} with exponent {exponent}")?;
                max
            }
            Backoff::Fibonacci { initial, max } => {
                write!(f, "Fibonacci backoff from {initial}")?;
                max
            }
            Backoff::Decorrelated { initial, factor, max } => {
                write!(f, "decorrelated backoff from {initial} by {factor}")?;
                max
            }
            Backoff::DecorrelatedV2 { initial, max } => {
                write!(f, "decorrelated backoff v2 of {initial}")?;
                max
            }
        };
        if longest != Span::MAX {
            write!(f, " up to {longest}")?;
        }
        match times {
            None => Ok(()),
            Some(1) => f.write_str(" once"),
            Some(times) => write!(f, " {times} times"),
        }
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
