//! Explanations of policies, for people.
#![allow(unsafe_code)]

use super::{Memory, with};
use core::fmt;
use holdoff_core::{Explanation, FailureKind, Lint, Nesting, Options, Policy, Preset, Quantity, Span};

/// `policy` explained: at most `rows` retries, `u32::MAX` for as many as usual, after failures of that kind, 0 for all.
fn explanation(memory: &Memory, rows: u32, kind: u32) -> Explanation {
    let mut explanation = memory.policy.explain().guarded(&memory.builder);
    if rows != u32::MAX {
        explanation = explanation.rows(rows);
    }
    match FailureKind::from_code(kind) {
        Some(kind) => explanation.after(kind),
        None => explanation,
    }
}

/// The explanation as text, with the guards of `builder`; its length.
#[unsafe(no_mangle)]
extern "C" fn explain(rows: u32, kind: u32) -> u32 {
    with(|memory| {
        let explanation = explanation(memory, rows, kind);
        memory.text.say(&explanation)
    })
}

/// The retries from `from` on into `rows`; how many.
#[unsafe(no_mangle)]
extern "C" fn explain_rows(rows: u32, kind: u32, from: u32) -> u32 {
    with(|memory| {
        let found = explanation(memory, rows, kind).iter().skip(from as usize);
        let mut count = 0;
        for (place, row) in memory.rows.iter_mut().zip(found) {
            let spans = [row.min, row.typical, row.max, row.min_total, row.typical_total, row.max_total];
            let [a, b, c, d, e, f] = spans.map(|span| span.as_nanos());
            *place = [a, b, c, d, e, f, row.retry.into(), row.in_time as u64];
            count += 1;
        }
        count
    })
}

/// The lints of `policy` with the guards of `builder`, five lines each: number, word, text, and the two numbers in it: a time
/// in nanoseconds behind `t`, another number behind `n`. Of waiting for it for the span in slot 0 at most, too, where that is
/// not 2^64-1. The length.
#[unsafe(no_mangle)]
extern "C" fn lints() -> u32 {
    with(|memory| {
        let (policy, guards, timeout) = (memory.policy, memory.builder, memory.limit(0));
        memory.text.say(&Lints(&policy, &guards, timeout))
    })
}

struct Lints<'p>(&'p Policy, &'p Options, Option<Span>);

impl fmt::Display for Lints<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(policy, guards, timeout) = self;
        match timeout {
            None => guards.lints(policy).try_for_each(|lint| Line(lint).fmt(f)),
            Some(timeout) => guards.lints_within(policy, *timeout).try_for_each(|lint| Line(lint).fmt(f)),
        }
    }
}

struct Line(Lint);

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lint @ Lint { kind, found, limit } = self.0;
        writeln!(f, "{}\n{}\n{lint}\n{}\n{}", kind.code(), kind.name(), Number(found), Number(limit))
    }
}

/// How long the sleeps of `policy` take together, into slot 0; 0 if they have no end.
#[unsafe(no_mangle)]
extern "C" fn total_wait() -> u32 {
    with(|memory| {
        let total = memory.policy.total_wait();
        memory.leave([total.unwrap_or_default().as_nanos()]);
        total.is_some().into()
    })
}

/// Notes `policy` and the nesting of `builder` as number `at` of the retries that [`lint_nested`] looks at; 0 if there are too
/// many.
#[unsafe(no_mangle)]
extern "C" fn nest(at: u32) -> u32 {
    with(|memory| {
        let (mode, cap) = match memory.builder.nested().ok().flatten().unwrap_or_default() {
            Nesting::Allow => (0, 0),
            Nesting::Innermost => (1, 0),
            Nesting::Outermost => (2, 0),
            Nesting::Cap(cap) => (3, cap),
        };
        let attempts = memory.policy.attempts().unwrap_or(0);
        let Some([first, second, third, ..]) = memory.rows.get_mut(at as usize) else { return 0 };
        (*first, *second, *third) = (attempts.into(), mode, cap.into());
        1
    })
}

/// The lints of `count` retries, each inside the one before it: as [`lints`]. The length.
#[unsafe(no_mangle)]
extern "C" fn lint_nested(count: u32) -> u32 {
    with(|memory| {
        let retries = memory.rows.iter().take(count as usize).map(|[attempts, mode, cap, ..]| {
            let nesting = match mode {
                1 => Nesting::Innermost,
                2 => Nesting::Outermost,
                3 => Nesting::Cap(*cap as u32),
                _ => Nesting::Allow,
            };
            (Some(*attempts as u32).filter(|attempts| *attempts > 0), nesting)
        });
        match Lint::nested(retries) {
            Some(lint) => memory.text.say(&Line(lint)),
            None => 0,
        }
    })
}

struct Number(Quantity);

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Quantity::None => Ok(()),
            Quantity::Span(span) => write!(f, "t{}", span.as_nanos()),
            Quantity::Number(number) => write!(f, "n{number}"),
        }
    }
}

/// The names of the presets, one a line. The length.
#[unsafe(no_mangle)]
extern "C" fn presets() -> u32 {
    with(|memory| memory.text.say(&Presets))
}

struct Presets;

impl fmt::Display for Presets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Preset::ALL.into_iter().try_for_each(|preset| writeln!(f, "{}", preset.name()))
    }
}
