//! What a policy does, for people.
#![allow(unsafe_code)]

use super::{Desk, with};
use core::fmt;
use holdoff_core::{Explanation, FailureKind, Given, GuardsBuilder, Lint, Policy, Preset};

/// `policy` explained: at most `rows` retries, `u32::MAX` for as many as usual, after failures of that kind, 0 for all.
fn explanation(desk: &Desk, rows: u32, kind: u32) -> Explanation {
    let mut explanation = Explanation::of(&desk.policy);
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
    with(|desk| {
        let (explanation, guards) = (explanation(desk, rows, kind), desk.builder);
        desk.text.say(&explanation.guarded(&guards))
    })
}

/// The retries from `from` on into `rows`; how many.
#[unsafe(no_mangle)]
extern "C" fn explain_rows(rows: u32, kind: u32, from: u32) -> u32 {
    with(|desk| {
        let found = explanation(desk, rows, kind).iter().skip(from as usize);
        let mut count = 0;
        for (place, row) in desk.rows.iter_mut().zip(found) {
            let spans = [row.min, row.typical, row.max, row.min_total, row.typical_total, row.max_total];
            let [a, b, c, d, e, f] = spans.map(|span| span.as_nanos());
            *place = [a, b, c, d, e, f, row.retry.into(), row.in_time as u64];
            count += 1;
        }
        count
    })
}

/// What the linter says of `policy` with the guards of `builder`, five lines each: number, word, text, and the two numbers in it: a time
/// in nanoseconds behind `t`, another number behind `n`. The length.
#[unsafe(no_mangle)]
extern "C" fn lints() -> u32 {
    with(|desk| {
        let (policy, guards) = (desk.policy, desk.builder);
        desk.text.say(&Lints(&policy, &guards))
    })
}

struct Lints<'p>(&'p Policy, &'p GuardsBuilder);

impl fmt::Display for Lints<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1.lints(self.0).try_for_each(|lint| {
            let Lint { kind, found, limit } = lint;
            writeln!(f, "{}\n{}\n{lint}\n{}\n{}", kind.code(), kind.name(), Plain(found), Plain(limit))
        })
    }
}

struct Plain(Given);

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Given::Unshown => Ok(()),
            Given::Span(span) => write!(f, "t{}", span.as_nanos()),
            Given::Number(number) => write!(f, "n{number}"),
        }
    }
}

/// The names of the presets, one a line. The length.
#[unsafe(no_mangle)]
extern "C" fn presets() -> u32 {
    with(|desk| desk.text.say(&Presets))
}

struct Presets;

impl fmt::Display for Presets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Preset::ALL.into_iter().try_for_each(|preset| writeln!(f, "{}", preset.name()))
    }
}
