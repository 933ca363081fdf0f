//! Explanations of policies, for people: how long each retry waits at least, typically and at most, and all of them together.
//!
//! The numbers are the machine's own: [`Retry`] is run three times, with every draw pinned to the bottom, the middle and the
//! top of its range. Attempts count as taking no time, so that what is shown is what the policy adds (spec 13).

use crate::decide::backoff::Backoff;
use crate::decide::failure::{Failure, FailureKind};
use crate::decide::jitter;
use crate::decide::policy::{FOREVER, Policy, UNLIMITED};
use crate::decide::stage::Stage;
use crate::describe::lint::Lint;
use crate::describe::options::Options;
use crate::describe::path::{COUNTED, Path};
use crate::describe::policy_words::KindWords;
use crate::describe::rules::Rules;
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
    pub(crate) policy: Policy,
    guards: Options,
    /// One kind of failure; or transient, and every rule.
    kind: Option<FailureKind>,
    pub(crate) rows: Option<u32>,
    /// The lint of the rules that judge failures: they have one at most.
    of_rules: Option<Lint>,
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

    /// The lints of the rules that judge failures, behind those of the policy and its guards.
    pub fn judged(mut self, rules: &Rules) -> Self {
        self.of_rules = rules.lints().next();
        self
    }

    /// The retries after the first table's failures, one by one.
    pub fn iter(&self) -> Rows {
        self.first().rows()
    }

    /// The policy in words, three lines, and a line for each guard; the last line ends with a line feed.
    pub const fn words(&self) -> impl Display + '_ {
        Words(self)
    }

    /// The tables of the text: the first one, and one for each rule that changes decisions unless [`Self::after`] was called.
    pub fn tables(&self) -> impl Iterator<Item = Table> + '_ {
        let rules = self.policy.deciding_rules().filter(|_| self.kind.is_none());
        let ruled = rules.map(|(number, rule)| {
            let failure = Failure { rule: number, ..Failure::new(rule.retried_kind()) };
            Table { title: Some(Title { number, kinds: rule.taken_kinds() }), ..self.table(failure) }
        });
        core::iter::once(self.first()).chain(ruled)
    }

    /// The lints of the policy, its guards and its rules, in the order of their numbers.
    pub fn lints(&self) -> impl Iterator<Item = Lint> + '_ {
        self.guards.lints(&self.policy).chain(self.of_rules)
    }

    /// The same for a caller with a timeout of its own, see [`Options::lints_within`].
    pub fn lints_within(&self, timeout: Span) -> impl Iterator<Item = Lint> + '_ {
        self.guards.lints_within(&self.policy, timeout).chain(self.of_rules)
    }

    /// The first table: the retries after transient failures, or after those of the chosen kind.
    pub(crate) fn first(&self) -> Table {
        self.table(Failure::new(self.kind.unwrap_or(FailureKind::Transient)))
    }

    fn table(&self, failure: Failure) -> Table {
        let attempts = self.policy.attempts_after(failure);
        let most = self.rows.unwrap_or(if attempts.is_none() { 10 } else { 100 });
        Table { policy: self.policy, failure, most, attempts, title: None }
    }
}

/// The retries after one kind of failures, as rows and as text: a line of names, a line for each retry, and the number of the
/// retries that are not shown.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Table {
    policy: Policy,
    failure: Failure,
    /// The most rows.
    most: u32,
    /// The attempts of an operation whose failures are all of this kind; `None` for ever.
    attempts: Option<u32>,
    title: Option<Title>,
}

impl Table {
    /// The retries, one by one.
    pub fn rows(&self) -> Rows {
        let paths = [0, 1 << 31, u32::MAX].map(Path::pinned);
        Rows { policy: self.policy, failure: self.failure, paths, retry: 0, left: self.most }
    }

    /// The failures that the table is for; `None` for the first table.
    pub const fn title(&self) -> Option<impl Display> {
        self.title
    }

    /// The number of the retries that are not shown, in words; empty if all are.
    pub const fn ending(&self) -> impl Display {
        Ending(self.attempts, self.most)
    }
}

/// `after failures that rule 2 takes`.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Title {
    number: u8,
    kinds: Option<KindWords>,
}

impl Display for Title {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kinds {
            None => write!(f, "after failures that rule {} takes", self.number),
            Some(kinds) => write!(f, "after failures of kind {kinds}"),
        }
    }
}

/// `and 20 more`, of the attempts there are and the retries that are shown.
struct Ending(Option<u32>, u32);

impl Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.map(|attempts| attempts.saturating_sub(1).saturating_sub(self.1)) {
            None => f.write_str("and so on, for ever"),
            Some(0) if self.0 == Some(1) => f.write_str("no retries"),
            Some(0) => Ok(()),
            Some(more) => write!(f, "and {more} more"),
        }
    }
}

/// The policy and its guards in words.
struct Words<'e>(&'e Explanation);

impl Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line of guards ends with a line feed, the last line of a policy does not.
        write!(f, "{}\n{}", self.0.policy, self.0.guards.guard_words(&self.0.policy))
    }
}

impl Policy {
    /// All retries of the policy as data and as text, up to 100; 10 if it retries for ever.
    pub const fn explain(&self) -> Explanation {
        Explanation { policy: *self, guards: Options::NEW, kind: None, rows: None, of_rules: None }
    }

    /// The attempts of an operation whose failures are all like this one; `None` for ever.
    pub(crate) fn attempts_after(&self, failure: Failure) -> Option<u32> {
        let limit = self.rule(failure).and_then(|(_, rule)| rule.limit()).unwrap_or(self.attempts);
        Some(limit.min(self.total)).filter(|limit| *limit != FOREVER)
    }

    /// How long all sleeps take together if no draw spreads them, as far as there is an end; a backoff that is its own jitter
    /// counts with its typical delays. The deadline is not looked at. Retries after the 4096th of
    /// another backoff than a linear one count as long as that one.
    pub fn total_wait(&self) -> Option<Span> {
        self.total_wait_after(Failure::TRANSIENT)
    }

    /// The same sum for an operation whose failures are all like this one. If a rule takes them, a delay that the rule draws counts
    /// with its typical length.
    pub(crate) fn total_wait_after(&self, failure: Failure) -> Option<Span> {
        let retries = self.attempts_after(failure)?.saturating_sub(1);
        let mut stages = self.stages();
        if let (None, Some(Stage { backoff: Backoff::Linear { initial, increment, max }, times, .. }), None) =
            (self.rule(failure), stages.next(), stages.next())
        {
            // Only a clipped delay may begin above the longest. After the last of the stage's delays that one stays.
            let [initial, increment, max] = [initial.min(max), increment, max].map(Span::as_nanos);
            let growing = times.map_or(retries, |times| times.min(retries));
            let last = increment.saturating_mul(u64::from(growing).saturating_sub(1)).saturating_add(initial).min(max);
            let rest = last.saturating_mul(u64::from(retries.saturating_sub(growing)));
            let sum = linear_sum([initial, increment, max], growing).as_nanos();
            return Some(Span::from_nanos(sum.saturating_add(rest)));
        }
        let mut unspread = Self { deadline: UNLIMITED, ..*self };
        unspread.own.jitter = jitter::NONE;
        unspread.prepare();
        let mut path = Path::pinned(1 << 31);
        let mut last = Span::ZERO;
        let mut told = 0_u32;
        while told < retries.min(COUNTED)
            && let Some((delay, _)) = path.next(&unspread, failure)
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
        let (low_high, high_low) = (Path { draw: high.draw, ..*low }, Path { draw: low.draw, ..*high });
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
impl Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.words())?;
        let mut before = "\n";
        for table in self.tables() {
            f.write_str(before)?;
            if let Some(title) = table.title() {
                writeln!(f, "{title}")?;
            }
            write!(f, "{table}")?;
            before = "\n\n";
        }
        for lint in self.lints() {
            write!(f, "{before}{lint}")?;
            before = "\n";
        }
        Ok(())
    }
}

impl Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limited = self.policy.deadline().is_some();
        let [min, typical, max] = ["min", "typical", "max"];
        write!(f, "retry {min:>11} {typical:>11} {max:>11}   total {min:>5} {typical:>11} {max:>11}")?;
        f.write_str(if limited { "  in time" } else { "" })?;
        for row in self.rows() {
            let [min, typical, max] = [row.min, row.typical, row.max].map(Cell);
            let [min_total, typical_total, max_total] = [row.min_total, row.typical_total, row.max_total].map(Cell);
            write!(f, "\n{:>5}{min}{typical}{max}  {min_total}{typical_total}{max_total}", row.retry)?;
            if limited {
                write!(f, "  {}", row.in_time.name())?;
            }
        }
        let (ending, mut length) = (self.ending(), Length(0));
        write!(length, "{ending}")?;
        if length.0 > 0 { write!(f, "\n{ending}") } else { Ok(()) }
    }
}

/// A span rounded to four digits, behind as many spaces as fill a column.
struct Cell(Span);

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let span = self.0.rounded();
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

impl Span {
    /// The nearest span that has four digits, for people.
    #[must_use]
    pub fn rounded(self) -> Self {
        let nanos = self.as_nanos();
        let (mut left, mut unit) = (nanos, 1_u64);
        while left >= 10_000 {
            (left, unit) = (left / 10, unit.saturating_mul(10));
        }
        let up = nanos.saturating_add(unit / 2);
        Self::from_nanos(up.saturating_sub(up.checked_rem(unit).unwrap_or_default()))
    }
}

#[cfg(all(test, feature = "powers", feature = "rules"))]
mod tests;
