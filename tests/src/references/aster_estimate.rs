//! Aster's linter of retries, `checkRetrySemantics`, on a policy's sum and lints: how long all waits take, and whether that is
//! too long. Only the words are here.

use super::k8s::whole_or;
use super::{Recording, Verdict};
use crate::format::ErrorWord;
use crate::options;
use holdoff_core::{LintKind, Policy};
use serde_json::{Value, json};

/// The base delay of every clause, in milliseconds.
const BASE: i64 = 1000;

/// Kind `aster_estimate`.
pub(super) fn estimate(case: &Recording) -> Result<Verdict, String> {
    let one: fn(&Value, &Value, &Value) -> Result<bool, String> =
        if case.config["op"] == "describeDuration" { described } else { linted };
    let mut deviations = 0;
    for (at, (input, expected)) in case.steps()? {
        let is_example = one(&case.config, input, expected).map_err(|why| format!("input {at}: {why}"))?;
        deviations += usize::from(!is_example);
    }
    Ok(Verdict::Same { deviations })
}

fn same(expected: &Value, got: &Value) -> Result<bool, String> {
    if expected == got { Ok(true) } else { Err(format!("expected {expected}, got {got}")) }
}

fn described(_: &Value, input: &Value, expected: &Value) -> Result<bool, String> {
    let ms = input.as_u64();
    if ms.is_none() && input != "Infinity" {
        return Err(format!("no number of milliseconds: {input}"));
    }
    same(expected, &json!(words(ms)))
}

/// The policy of a `retry` clause, with milliseconds in this unit: no jitter, since the sum is one without.
fn policy(config: &Value, attempts: &Value, unit: &str) -> Result<Result<Policy, ErrorWord>, String> {
    let initial = format!("{}{unit}", whole_or(config, "base_ms", BASE)?);
    let backoff = if config["backoff"] == "linear" {
        json!({ "kind": "linear", "initial": initial, "max": "none" })
    } else {
        json!({ "kind": "exponential", "initial": initial, "factor": 2, "max": "none" })
    };
    let mut document = json!({ "backoff": backoff, "jitter": "none", "attempts": attempts });
    if whole_or(config, "timeout_ms", 0)? > 0 {
        document["deadline"] = json!(format!("{}{unit}", config["timeout_ms"]));
    }
    Ok(options::policy(&document.as_object().cloned().unwrap_or_default()))
}

/// One number of attempts; whether the original's result is an example.
fn linted(config: &Value, attempts: &Value, expected: &Value) -> Result<bool, String> {
    let linted = match policy(config, attempts, "ms")? {
        Ok(policy) => policy,
        Err(error) if attempts.as_i64().is_some_and(|number| number < 1) && error.name == "attempts_range" => {
            return Ok(false);
        }
        Err(error) => return Err(format!("the policy is refused: {error:?}")),
    };
    // A sum in milliseconds may be longer than any span: there they run as ticks.
    let ticks = policy(config, attempts, "ns")?.map_err(|error| format!("the policy is refused: {error:?}"))?;
    let total = ticks.total_wait().ok_or("there is no end")?.as_nanos();
    // Aster does not sum up more than 30 exponential waits and says infinity; the sum is finite and ours is it.
    let is_example = expected["estimate_ms"] != "Infinity";
    let shown = is_example.then_some(total);
    let clause = format!("retry(backoff={}, maxAttempts={attempts})", config["backoff"].as_str().unwrap_or_default());
    let found = |kind| linted.lints().find(|lint| lint.kind == kind);
    let lint = [LintKind::WaitAboveDeadline, LintKind::ManyAttempts, LintKind::LongWait].into_iter().find_map(found);
    let warning = lint.map(|lint| match lint.kind {
        LintKind::WaitAboveDeadline => {
            format!(
                "{clause} 预估累计等待 {}，超过 timeout={}",
                words(shown),
                words(linted.deadline().map(|deadline| deadline.as_nanos() / 1_000_000))
            )
        }
        LintKind::ManyAttempts => format!("{clause} 预计累计等待 {}，建议最多 10 次", words(shown)),
        _ => {
            let limit = if config["backoff"] == "linear" { "300秒" } else { "15分钟" };
            format!("{clause} 预计累计等待 {}，超过推荐窗口 {limit}", words(shown))
        }
    });
    let estimate = shown.map_or(json!("Infinity"), |total| json!(total));
    if !is_example && linted.deadline().is_some() && found(LintKind::WaitAboveDeadline).is_none() {
        // Infinity is above every timeout, and the sum is not above this one.
        return Ok(false);
    }
    same(expected, &json!({ "estimate_ms": estimate, "warning": warning })).map(|_| is_example)
}

/// A duration in Aster's words: the nearest of the unit that suits it.
fn words(ms: Option<u64>) -> String {
    let Some(ms) = ms else { return "不可估算".to_owned() };
    let nearest = |unit: u64| ms.saturating_add(unit / 2) / unit;
    match ms {
        0..1_000 => format!("{ms}ms"),
        1_000..600_000 => format!("{}秒", nearest(1_000)),
        600_000..3_600_000 => format!("{}分钟", nearest(60_000)),
        3_600_000..86_400_000 => format!("{}小时", nearest(3_600_000)),
        _ => format!("{}天", nearest(86_400_000)),
    }
}
