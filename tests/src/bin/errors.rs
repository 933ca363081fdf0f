//! Prints docs/errors.md: every number and word that crosses a language border, from the core's own tables.

use holdoff_core::{Cause, ErrorCode, FailureKind, Field, FlatStep, StopReason};

fn main() {
    println!("# Numbers and words\n");
    println!("The same in every language, never reused. Generated from the core by `cargo xtask generate`.\n");
    table("Stop reasons", "means", StopReason::ALL.map(|r| (r.code().into(), r.name(), r.describe())));
    println!("4 to 7 are kept for guards: budget, breaker, limiter, bulkhead.\n");
    table(
        "Failure kinds",
        "means",
        FailureKind::ALL.map(|kind| {
            let means = match kind {
                FailureKind::Transient => "may go away by itself",
                FailureKind::Throttled => "the server asked for less",
                FailureKind::Timeout => "no answer in time",
                FailureKind::Permanent => "will fail again; never retried",
            };
            (kind.code().into(), kind.name(), means)
        }),
    );
    table(
        "Causes of a sleep",
        "means",
        Cause::ALL.map(|cause| {
            let means = match cause {
                Cause::Backoff => "the policy's own delay",
                Cause::Hint => "a server's hint moved it",
                Cause::Clip => "the deadline cut it short",
            };
            (cause.code().into(), cause.name(), means)
        }),
    );
    table(
        "Steps",
        "means",
        [
            (FlatStep::ATTEMPT.into(), "attempt", "run the operation"),
            (FlatStep::SLEEP.into(), "sleep", "nothing is in flight: wait, then tick"),
            (FlatStep::WAIT.into(), "wait", "an attempt is in flight: keep what you are doing"),
            (FlatStep::STOP.into(), "stop", "it is over"),
        ],
    );
    table(
        "Outcomes",
        "means",
        [
            (FlatStep::SUCCEEDED.into(), "succeeded", "an attempt succeeded"),
            (FlatStep::GAVE_UP.into(), "gave_up", "no attempt succeeded and there will be no other"),
            (FlatStep::CANCELLED.into(), "cancelled", "the caller cancelled"),
        ],
    );
    table("Errors", "the rule that was broken", ErrorCode::ALL.map(|code| (code.code(), code.name(), code.rule(None))));
    println!("100 to 199 are about a configuration, 200 to 299 about what a machine was handed.\n");
    println!("## Policy fields\n\n| number | path | also written |\n|---|---|---|");
    let mut last = None;
    for &(_, field) in Field::names() {
        if last == Some(field) {
            continue;
        }
        last = Some(field);
        let names = Field::names().iter().filter(|known| known.1 == field && known.0 != field.path());
        let others: Vec<_> = names.map(|known| format!("`{}`", known.0)).collect();
        println!("| {} | `{}` | {} |", field.code(), field.path(), others.join(", "));
    }
}

fn table<const ROWS: usize>(title: &str, what: &str, rows: [(u16, &str, &str); ROWS]) {
    println!("## {title}\n\n| number | word | {what} |\n|---|---|---|");
    for (number, word, means) in rows {
        println!("| {number} | `{word}` | {means} |");
    }
    println!();
}
