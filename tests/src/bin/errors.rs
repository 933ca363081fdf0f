//! Prints docs/errors.md: every number and word that crosses a language border, from the core's own tables.

use holdoff_core::{
    Answer, Cause, Ended, ErrorCode, EventKind, FailureKind, Field, FlatPeriodicStep, FlatStep, GuardsBuilder,
    LintKind, Preset, ReplayMode, StopReason,
};

fn main() {
    println!("# Numbers and words\n");
    println!("The same in every language, never reused. Generated from the core by `cargo xtask generate`.\n");
    table("Stop reasons", "means", StopReason::ALL.map(|r| (r.code().into(), r.name(), r.describe())));
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
                Cause::Breaker => "the circuit breaker lets nobody through before",
                Cause::Limiter => "the rate limit has room then",
                Cause::Bulkhead => "until then at most, for a place in the bulkhead",
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
    println!(
        "100 to 199 are about a configuration, a saved state or a log, 200 to 299 about what a machine was handed.\n"
    );
    table("Lints", "means", LintKind::ALL.map(|lint| (lint.code(), lint.name(), lint.text())));
    table(
        "Steps of a periodic",
        "means",
        [
            (FlatPeriodicStep::RUN.into(), "run", "run it, then tell how it ended"),
            (FlatPeriodicStep::SLEEP.into(), "sleep", "nothing runs: wait, then tick"),
            (FlatPeriodicStep::WAIT.into(), "wait", "a run is in flight: keep what you are doing"),
            (FlatPeriodicStep::STOP.into(), "stop", "it is over"),
        ],
    );
    table(
        "Answers to a run",
        "means",
        Answer::ALL.map(|answer| {
            let means = match answer {
                Answer::Again => "not done: run again",
                Answer::Done => "done",
                Answer::Failed => "it cannot be done",
            };
            (answer.code().into(), answer.name(), means)
        }),
    );
    table(
        "Ends of a periodic",
        "means",
        Ended::ALL.map(|end| {
            let means = match end {
                Ended::Cancelled => "the caller cancelled",
                Ended::Done => "a run was done",
                Ended::Failed => "a run failed",
                Ended::Deadline => "the time was up",
                Ended::Steps => "the steps were used up",
            };
            (end.code().into(), end.name(), means)
        }),
    );
    table(
        "Events",
        "means",
        EventKind::ALL.map(|kind| {
            let means = match kind {
                EventKind::Started => "the call began",
                EventKind::AttemptFailed => "an attempt failed",
                EventKind::RetryScheduled => "there will be another attempt, at a time",
                EventKind::Resumed => "an attempt began that was due, or that was interrupted",
                EventKind::Succeeded => "an attempt succeeded: the end",
                EventKind::GaveUp => "there will be no other attempt: the end",
                EventKind::Cancelled => "the caller cancelled: the end",
            };
            (kind.code().into(), kind.name(), means)
        }),
    );
    table(
        "Modes of replaying",
        "means",
        ReplayMode::ALL.map(|mode| {
            let means = match mode {
                ReplayMode::Follow => "what the log says counts",
                ReplayMode::Verify => "where the log and the policy differ is an error",
            };
            (mode.code().into(), mode.name(), means)
        }),
    );
    println!("## Presets\n\n| number | name |\n|---|---|");
    for preset in Preset::ALL {
        println!("| {} | `{}` |", preset.code(), preset.name());
    }
    println!();
    fields("Policy fields", Field::names());
    println!();
    fields("Guard fields", GuardsBuilder::names());
}

/// The fields with their names, those of a field one after the other and its path first.
fn fields(title: &str, names: &[(&str, Field)]) {
    println!("## {title}\n\n| number | path | also written |\n|---|---|---|");
    let mut last = None;
    for &(_, field) in names {
        if last == Some(field) {
            continue;
        }
        last = Some(field);
        let others = names.iter().filter(|known| known.1 == field && known.0 != field.path());
        let others: Vec<_> = others.map(|known| format!("`{}`", known.0)).collect();
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
