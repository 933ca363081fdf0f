//! Aster's retry of workflow tasks, `AsyncTaskRegistry`, on the loop machine: the host around it, with a virtual clock.
//!
//! The machine says when to try, how long to wait and when to stop. What the registry adds as a host is here: it appends
//! events, words its exceptions, and takes delays from a log when it replays one. Aster's milliseconds run as ticks.

use super::k8s::{truth, whole};
use super::{Recording, Verdict, aster_log};
use crate::format::ErrorWord;
use crate::options;
use holdoff_core::{
    Call, Failure, Hint, Outcome, Policy, Rng, Schedule, Span, Step, StopReason, Timestamp, Value as Setting,
};
use serde_json::{Value, json};

/// Kind `aster`.
pub(super) fn aster(case: &Recording) -> Result<Verdict, String> {
    match case.config["op"].as_str() {
        Some("calculateBackoff") => formula(case),
        Some("run" | "run_with_timeout") => flow(case),
        Some("restoreRetryState") => aster_log::restored(case),
        Some("scheduleRetry") => aster_log::schedule(case),
        Some("poll") => aster_log::poll(case),
        Some("nextInt" | "nextDouble") => aster_log::drawn(case),
        op => Err(format!("an unknown op: {op:?}")),
    }
}

/// A `RetryPolicy` as a policy: any strategy but exponential is linear, and what is added stays below half the base, however
/// long the delay is.
fn policy(config: &Value, attempts: Value) -> Result<Result<Policy, ErrorWord>, String> {
    let base = whole(config, "base_delay_ms")?;
    let is_exponential = config["strategy"].as_str().is_some_and(|name| name.eq_ignore_ascii_case("exponential"));
    let backoff = if is_exponential {
        // Aster multiplies in doubles from the first delay on.
        json!({ "kind": "exponential", "initial": ticks(base as f64 as i64), "factor": 2, "max": "none" })
    } else {
        json!({ "kind": "linear", "initial": ticks(base), "max": "none" })
    };
    let jitter = match bound(base) {
        0 => json!("none"),
        bound => json!({ "kind": "bounded", "bound": ticks(bound) }),
    };
    let mut document = json!({ "backoff": backoff, "jitter": jitter, "cap": "before_jitter", "attempts": attempts });
    if truth(config, "replay") {
        // A delay from the log is obeyed to the letter, whatever the policy says.
        document["jitter"] = json!("none");
        document["hint"] = json!({ "mode": "exact", "max": "none" });
    }
    if let Some(timeout) = config["timeout_ms"].as_i64() {
        document["attempt_timeout"] = ticks(timeout);
    }
    Ok(options::policy(&document.as_object().cloned().unwrap_or_default()))
}

fn ticks(count: i64) -> Value {
    json!(format!("{count}ns"))
}

/// What the jitter stays below.
fn bound(base: i64) -> i64 {
    (base / 2).max(0)
}

/// The largest bound of which a uniform says each number.
const UNIFORM: i64 = 1 << 50;

/// The uniform that the recorded number is: the middle of its place among as many as there are.
fn uniform(raw: Option<i64>, bound: i64) -> f64 {
    raw.filter(|_| bound > 0).map_or(0.0, |raw| (raw.rem_euclid(bound) as f64 + 0.5) / bound as f64)
}

/// A configuration outside the domain is refused by the name of what is wrong with it.
fn refused(config: &Value, made: Result<Policy, ErrorWord>) -> Result<Verdict, String> {
    let negative = whole(config, "base_delay_ms")? < 0;
    match made {
        Err(error) if negative && error.name == "not_a_duration" => Ok(Verdict::OutOfDomain),
        Err(error) if !negative && error.name == "attempts_range" => Ok(Verdict::OutOfDomain),
        other => Err(format!("a configuration outside the domain gives {other:?}")),
    }
}

/// `calculateBackoff`: the delay after any attempt. One that would pass 2^63-1 stays there instead of wrapping.
fn formula(case: &Recording) -> Result<Verdict, String> {
    let base = whole(&case.config, "base_delay_ms")?;
    let policy = match policy(&case.config, json!("forever"))? {
        Ok(policy) if base >= 0 => policy,
        made => return refused(&case.config, made),
    };
    let mut deviations = 0;
    for (at, (input, expected)) in case.steps()? {
        // An attempt below the first reads as the first.
        let before = u32::try_from(whole(input, "attempt")?.max(1) - 1).map_err(|error| error.to_string())?;
        let (raw, bound, delay) = (input["raw"].as_i64(), bound(base), Schedule::base_at(&policy, before));
        let delay = if bound > UNIFORM {
            policy.jitter().apply_drawn(delay, raw.unwrap_or(0))
        } else {
            policy.jitter().apply_capped(delay, Span::MAX, policy.cap(), uniform(raw, bound))
        };
        let got = delay.as_nanos() as i64;
        match expected.as_i64() {
            Some(expected) if expected == got => {}
            Some(_) if delay == Span::MAX => deviations += 1,
            _ => return Err(format!("input {at}: expected {expected}, got {got}")),
        }
    }
    Ok(Verdict::Same { deviations })
}

/// The registry around one task.
struct Registry<'c> {
    config: &'c Value,
    policy: Policy,
    now: Timestamp,
    calls: u32,
    events: Vec<Value>,
}

/// How a call of the task ended.
enum Ended {
    Well,
    /// With an exception: its class and message.
    Threw {
        class: &'static str,
        message: Option<String>,
    },
    TimedOut,
}

impl Ended {
    /// "ok", "null:" for an exception without a message, "error:" for a `java.lang.Error`, which is wrapped.
    fn scripted(input: &Value) -> Result<Self, String> {
        let text = input.as_str().ok_or_else(|| format!("no result of a call: {input}"))?;
        Ok(match text.split_once(':') {
            _ if text == "ok" => Self::Well,
            Some(("error", rest)) => {
                Self::Threw { class: "Exception", message: Some(format!("java.lang.StackOverflowError: {rest}")) }
            }
            Some(("null", _)) => Self::Threw { class: "RuntimeException", message: None },
            _ => Self::Threw { class: "RuntimeException", message: Some(text.to_owned()) },
        })
    }

    /// The reason that goes into an event.
    fn reason(&self) -> String {
        match self {
            Self::Threw { class, message } => message.clone().unwrap_or_else(|| (*class).to_owned()),
            Self::TimedOut => "任务超时: t".to_owned(),
            Self::Well => String::new(),
        }
    }
}

/// `run` and `run_with_timeout`: a task that fails as scripted, with a virtual clock.
fn flow(case: &Recording) -> Result<Verdict, String> {
    let config = &case.config;
    let policy = match policy(config, config["max_attempts"].clone())? {
        Ok(policy) => policy,
        Err(error) => return refused(config, Err(error)),
    };
    let mut registry = Registry { config, policy, now: Timestamp::ZERO, calls: 0, events: Vec::new() };
    let mut got = registry.run(&case.inputs)?;
    let [expected] = case.expected.as_slice() else { return Err("one result is needed".to_owned()) };
    let deviations = adopt_wrapped(expected, &mut got);
    if *expected == got { Ok(Verdict::Same { deviations }) } else { Err(format!("expected {expected}, got {got}")) }
}

/// Takes over the recorded delay where it is a whole number and ours is the longest one; how often they differ.
fn adopt_wrapped(expected: &Value, got: &mut Value) -> usize {
    let recorded = expected["events"].as_array().into_iter().flatten().map(|event| &event["backoff_delay_ms"]);
    let events = got["events"].as_array_mut().into_iter().flatten();
    let mut differ = 0;
    for (recorded, event) in recorded.zip(events) {
        let delay = &mut event["backoff_delay_ms"];
        if *delay == Span::MAX.as_nanos() && recorded.is_i64() && delay != recorded {
            *delay = recorded.clone();
            differ += 1;
        }
    }
    differ
}

impl Registry<'_> {
    fn run(&mut self, inputs: &[Value]) -> Result<Value, String> {
        let (mut call, mut step) = self.begun()?;
        let mut last = Ended::Well;
        loop {
            step = match step {
                Step::Attempt { ticket, abort_at, .. } => {
                    last = self.attempt(inputs, abort_at)?;
                    let kind = match last {
                        Ended::Well => {
                            step = call.succeed(ticket, self.now);
                            continue;
                        }
                        Ended::Threw { .. } => Failure::TRANSIENT,
                        Ended::TimedOut => Failure::TIMEOUT,
                    };
                    match self.hint(call.attempt()) {
                        Some(hint) => call.fail(&self.policy, ticket, self.now, kind.with_hint(hint)),
                        // The registry throws where nobody hears it: the machine is not told, and waits for the attempt.
                        None => call.tick(&self.policy, self.now),
                    }
                }
                Step::Sleep { until, .. } => {
                    self.append(call.attempt(), until.since(self.now), &last.reason());
                    self.now = until;
                    call = self.resumed(&call)?;
                    call.tick(&self.policy, self.now)
                }
                Step::Wait { .. } | Step::Stop(_) => return Ok(self.report(&call, step, &last)),
            };
        }
    }

    /// The call as it begins: that of a log has failed before, and makes no more tries than the policy allows in all.
    fn begun(&mut self) -> Result<(Call, Step), String> {
        let (mut call, mut step) = Call::begin(&self.policy, self.seed()?, self.now);
        if !truth(self.config, "restore") {
            return Ok((call, step));
        }
        let log = self.config["log"].as_array().ok_or("no log")?;
        let counter = aster_log::counters(&Value::Null, log)?.get("t").copied().unwrap_or(1);
        let last = counter.min(self.policy.attempts().unwrap_or(u32::MAX));
        while call.attempt() < last {
            let Step::Attempt { ticket, .. } = step else { return Err(format!("no attempt before {last}")) };
            let Step::Sleep { until, .. } = call.fail(&self.policy, ticket, self.now, Failure::TRANSIENT) else {
                return Err(format!("no retry before {last}"));
            };
            self.now = until;
            call = self.resumed(&call)?;
            step = call.tick(&self.policy, self.now);
        }
        Ok((call, step))
    }

    /// Calls the task once.
    fn attempt(&mut self, inputs: &[Value], abort_at: Timestamp) -> Result<Ended, String> {
        let call = self.calls;
        self.calls += 1;
        if self.config["op"] == "run" {
            let input = inputs.get(call as usize).ok_or("the task is called more often than recorded")?;
            return Ended::scripted(input);
        }
        let slow = inputs.first().and_then(|input| input["slow_calls"].as_u64()).ok_or("how many calls are slow?")?;
        if u64::from(call) >= slow {
            return Ok(Ended::Well);
        }
        self.now = abort_at;
        Ok(Ended::TimedOut)
    }

    /// The seed whose next draw is the one recorded for the next event.
    fn seed(&self) -> Result<u64, String> {
        let bound = bound(whole(self.config, "base_delay_ms")?);
        let raw = self.config["raws"][self.events.len()].as_i64();
        Ok(Rng::about_to_draw((uniform(raw, bound) * 4_294_967_296.0) as u32).state())
    }

    /// The call after its sleep, its next draw the recorded one, with a clock that starts anew: the sum of all delays may
    /// be longer than time.
    fn resumed(&mut self, call: &Call) -> Result<Call, String> {
        let mut saved = call.saved(&self.policy, self.now);
        saved.set("seed", Setting::Nanos(self.seed()?)).map_err(|error| error.to_string())?;
        self.now = Timestamp::ZERO;
        saved.call(&self.policy, self.now).map_err(|error| error.to_string())
    }

    /// What the log says about the wait after an attempt: nothing unless it is replayed, and `None` if it should and does
    /// not, or if nobody is there to be told of a retry.
    fn hint(&self, attempt: u32) -> Option<Hint> {
        if self.policy.attempts().is_some_and(|all| attempt >= all) {
            return Some(Hint::NONE);
        }
        if self.config["op"] == "run" && self.config["workflow_id"].is_null() {
            return None;
        }
        if !truth(self.config, "replay") {
            return Some(Hint::NONE);
        }
        let log = self.config["log"].as_array().filter(|_| self.config["event_store"] != false)?;
        let is_about = |event: &&Value| {
            event["type"] == "RETRY_SCHEDULED"
                && event["taskId"] == "t"
                && event["attempt_number"].as_u64() == Some(u64::from(attempt) + 1)
                && !event["backoff_delay_ms"].is_null()
        };
        let delay = log.iter().find(is_about)?["backoff_delay_ms"].as_i64()?;
        Some(Hint::after(Span::from_nanos(delay.max(0) as u64)))
    }

    fn append(&mut self, attempt: u32, delay: Span, reason: &str) {
        let before = self.config["log"].as_array().map_or(0, Vec::len);
        self.events.push(json!({
            "seq": before + self.events.len() + 1,
            "type": "RETRY_SCHEDULED",
            "payload": { "reason": reason, "taskId": "t" },
            "attempt_number": attempt + 1,
            "backoff_delay_ms": delay.as_nanos(),
            "failure_reason": reason,
        }));
    }

    /// What a recording says about the end of the run.
    fn report(&self, call: &Call, step: Step, last: &Ended) -> Value {
        let (outcome, status) = match step {
            Step::Stop(Outcome::Succeeded) => ("ok", "COMPLETED"),
            Step::Stop(_) => ("throws", "FAILED"),
            _ => ("hangs", "RUNNING"),
        };
        let stored = self.config["event_store"] != false;
        let events = if stored { self.events.as_slice() } else { &[] };
        let mut report = json!({ "outcome": outcome, "calls": self.calls, "status": status, "events": events });
        if self.config["op"] == "run" {
            report["attempt_counter_after"] = if outcome == "hangs" { json!(call.attempt()) } else { Value::Null };
        }
        let Step::Stop(Outcome::GaveUp { reason, .. }) = step else { return report };
        let thrown = match last {
            Ended::Threw { class, message } if reason == StopReason::Attempts => json!({
                "class": "MaxRetriesExceededException",
                "message": format!(
                    "Max retries ({}) exceeded: {}", self.config["max_attempts"], message.as_deref().unwrap_or("null"),
                ),
                "max_attempts": self.config["max_attempts"],
                "failure_reason": message,
                "cause_class": class,
                "cause_message": message,
            }),
            _ => json!({
                "class": "RuntimeException",
                "message": "Async task execution failed",
                "cause_class": "TimeoutException",
                "cause_message": last.reason(),
            }),
        };
        report
            .as_object_mut()
            .into_iter()
            .for_each(|fields| fields.extend(thrown.as_object().cloned().unwrap_or_default()));
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The task is run with these results, and what became of it is held against how often it was called and how it ended.
    fn ends(changes: Value, results: &[&str], calls: u32, outcome: &str) {
        let mut config = json!({
            "op": "run", "max_attempts": 3, "strategy": "exponential", "base_delay_ms": 10, "raws": [0, 1, 2, 3],
            "workflow_id": "w", "event_store": true, "replay": false, "restore": false, "log": [],
        });
        config.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        let policy = policy(&config, config["max_attempts"].clone()).unwrap().unwrap();
        let mut registry = Registry { config: &config, policy, now: Timestamp::ZERO, calls: 0, events: Vec::new() };
        let results: Vec<_> = results.iter().map(|result| json!(result)).collect();
        let report = registry.run(&results).unwrap();
        assert_eq!((&report["calls"], &report["outcome"]), (&json!(calls), &json!(outcome)), "{changes}");
    }

    /// Of a log that says this of retries.
    fn restored(attempts: &[u32]) -> Value {
        let scheduled = |attempt: &u32| json!({ "type": "RETRY_SCHEDULED", "taskId": "t", "attempt_number": attempt });
        json!({ "restore": true, "log": attempts.iter().map(scheduled).collect::<Vec<_>>() })
    }

    #[test]
    fn tries_of_a_log_count() {
        ends(restored(&[]), &["a", "b", "c"], 3, "throws");
        ends(restored(&[2]), &["a", "b", "c"], 3, "throws");
        ends(restored(&[2, 3]), &["a", "b"], 2, "throws");
        ends(restored(&[4, 2]), &["a"], 1, "throws");
        ends(restored(&[u32::MAX]), &["a"], 1, "throws");
        ends(restored(&[u32::MAX]), &["ok"], 1, "ok");
    }

    #[test]
    fn who_has_nobody_to_tell_of_a_retry_waits_for_ever() {
        ends(json!({ "workflow_id": null }), &["a"], 1, "hangs");
        ends(json!({ "workflow_id": null }), &["ok"], 1, "ok");
        ends(json!({ "workflow_id": null, "max_attempts": 1 }), &["a"], 1, "throws");
        ends(json!({ "event_store": false }), &["a", "ok"], 2, "ok");
        ends(json!({ "event_store": false, "replay": true }), &["a", "ok"], 1, "hangs");
    }
}
