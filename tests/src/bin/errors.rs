//! Prints docs/errors.md: every number and word that crosses a language border, from the core's own tables.

use holdoff_core::{
    Answer, Cause, Ended, ErrorCode, EventKind, FailureKind, Field, FlatPeriodicStep, FlatStep, GuardsBuilder,
    LintKind, Preset, ReplayMode, StopReason,
};

fn main() {
    println!("# Numbers and words\n");
    println!("The same in every language, never reused. Generated from the core by `cargo xtask generate`.\n");
    table("Stop reasons", "means", StopReason::ALL.map(|r| (r.code().into(), r.name(), r.text())));
    table("Failure kinds", "means", FailureKind::ALL.map(|kind| (kind.code().into(), kind.name(), kind.text())));
    table("Causes of a sleep", "means", Cause::ALL.map(|cause| (cause.code().into(), cause.name(), cause.text())));
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
    table("Errors", "the rule that was broken", ErrorCode::ALL.map(|code| (code.code(), code.name(), code.text())));
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
    table("Answers to a run", "means", Answer::ALL.map(|answer| (answer.code().into(), answer.name(), answer.text())));
    table("Ends of a periodic", "means", Ended::ALL.map(|end| (end.code().into(), end.name(), end.text())));
    table("Events", "means", EventKind::ALL.map(|kind| (kind.code().into(), kind.name(), kind.text())));
    table("Modes of replaying", "means", ReplayMode::ALL.map(|mode| (mode.code().into(), mode.name(), mode.text())));
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
