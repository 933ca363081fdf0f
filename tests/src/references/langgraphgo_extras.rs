//! The rest of langgraphgo's `retry.go`: its jittered retry on a schedule, its breaker and its limiter as configurations of
//! ours.
//!
//! The breaker has two quirks that ours has not: its limit of half-open calls counts all of them but the first, and not those
//! at once, and passing it opens it again with an old time. From such a call on the two go apart until they meet again. What
//! was recorded in between has to be what the original's own rules give, which are here for that alone: a wrong recording
//! is no deviation.

use super::k8s::whole_or;
use super::langgraphgo::{Context, End, Run, attempts, same};
use super::{Recording, Verdict};
use crate::format::{Document, ErrorWord};
use crate::options;
use holdoff_core::{
    Breaker, BreakerConfig, BreakerState, ErrorCode, FailureKind, Field, Limiter, LimiterConfig, Options, Policy,
    Schedule, Span, Timestamp, Value as Setting, Verdict as Answer,
};
use serde_json::{Value, json};

/// Kind `langgraphgo_extras`.
pub(super) fn extras(case: &Recording) -> Result<Verdict, String> {
    match case.config["op"].as_str() {
        Some("ExponentialBackoffRetry") => retry(case),
        Some("CircuitBreaker") => breaker(case),
        Some("RateLimiter") => limiter(case),
        other => Err(format!("an unknown operation: {other:?}")),
    }
}

fn policy(base: i64, tries: i64) -> Result<Policy, ErrorWord> {
    let document = json!({
        "backoff": { "kind": "exponential", "initial": format!("{base}ns"), "factor": 2, "max": "none" },
        "jitter": { "kind": "proportional", "factor": 0.25 },
        "cap": "before_jitter",
        "attempts": attempts(tries),
    });
    options::policy(&document.as_object().cloned().unwrap_or_default())
}

/// Whether a document is refused for this field and reason.
fn refused<T>(made: Result<T, ErrorWord>, path: &str, name: &str) -> Result<(), String> {
    match made {
        Err(error) if error.path == path && error.name == name => Ok(()),
        Err(error) => Err(format!("expected {name} of {path}, got {error:?}")),
        Ok(_) => Err(format!("expected {name} of {path}, and it is taken")),
    }
}

/// `ExponentialBackoffRetry`.
fn retry(case: &Recording) -> Result<Verdict, String> {
    let config = &case.config;
    let (base, tries) = (whole_or(config, "base_delay", 0)?, whole_or(config, "max_attempts", 0)?);
    let expected = case.expected.first().ok_or("nothing is expected")?;
    let context = Context::of(config);
    let mut run = Run::new(&case.inputs, Timestamp::ZERO);
    if tries < 1 {
        // An operation that is never tried: a wrong number of attempts here.
        refused(policy(base.max(0), tries), "attempts", "attempts_range")?;
        let end = End::failed("max attempts reached".to_owned(), None);
        return same(expected, &recorded(&end, &run, &context)).map(|()| Verdict::OutOfDomain);
    }
    let made = |base| policy(base, tries).map_err(|error| format!("the policy is refused: {error:?}"));
    if base < 0 {
        // Waits below zero are none; they are those of the positive number, mirrored.
        refused(policy(base, tries), "backoff.initial", "not_a_duration")?;
        let end = execute(config, &made(base.saturating_neg())?, &Context::of(&Value::Null), &mut run)?;
        let mirrored: Vec<_> = run.delays.iter().map(|delay| -i128::from(*delay)).collect();
        if context.ends != Timestamp::NEVER {
            // Without a wait there are other calls before a context ends.
            let alike = delays(expected).zip(&mirrored).all(|(recorded, got)| recorded == *got);
            return if alike {
                Ok(Verdict::OutOfDomain)
            } else {
                Err(format!("expected {expected}, got {mirrored:?}"))
            };
        }
        let mut got = recorded(&end, &run, &context);
        let took = case.inputs.iter().take(run.calls).filter_map(|input| input["took"].as_u64());
        (got["delays"], got["now"]) =
            (mirrored.iter().map(|delay| json!(*delay as i64)).collect(), json!(took.sum::<u64>()));
        return same(expected, &got).map(|()| Verdict::OutOfDomain);
    }
    let end = execute(config, &made(base)?, &context, &mut run)?;
    let got = recorded(&end, &run, &context);
    if !delays(expected).zip(0..).any(|(delay, doublings)| wraps(base, doublings, delay)) {
        return same(expected, &got).map(|()| Verdict::SAME);
    }
    saturated(config, base, expected, &run)
}

/// The waits of a recording.
fn delays(recorded: &Value) -> impl Iterator<Item = i128> {
    recorded["delays"].as_array().into_iter().flatten().filter_map(Value::as_i64).map(i128::from)
}

/// Whether the doubled delay leaves the range of an integer, or what was recorded shows that its jitter does.
fn wraps(base: i64, doublings: u32, recorded: i128) -> bool {
    let doubled = 1_i128.checked_shl(doublings.min(64)).unwrap_or(0) * i128::from(base);
    doubled > i128::from(i64::MAX) || recorded < 0
}

/// Where the original's delay leaves the range of an integer, ours stays at its end.
fn saturated(config: &Value, base: i64, expected: &Value, run: &Run<'_>) -> Result<Verdict, String> {
    let (mut deviations, mut spent) = (0, 0_u64);
    for (at, (recorded, got)) in delays(expected).zip(&run.delays).enumerate() {
        spent = spent.saturating_add(*got);
        if spent > Span::MAX.as_nanos() {
            // Waits that go past the end of time are as long as there is time.
            deviations += 1;
            continue;
        }
        let doublings = u32::try_from(at).unwrap_or(u32::MAX);
        let promised = if wraps(base, doublings, recorded) {
            deviations += 1;
            let most = i128::from(i64::MAX);
            let doubled = (1_i128 << doublings.min(64)).saturating_mul(i128::from(base)).min(most);
            let u = config["uniforms"][at].as_f64().unwrap_or_default();
            (doubled + ((doubled as f64 * 0.25) * (2.0 * u - 1.0)) as i128).min(most)
        } else {
            recorded
        };
        if promised != i128::from(*got) {
            return Err(format!("wait {at}: expected {promised}, got {got}"));
        }
    }
    if expected["calls"] != run.calls && config["cancel_at"].as_i64().unwrap_or(-1) < 0 {
        return Err(format!("expected {} calls, got {}", expected["calls"], run.calls));
    }
    Ok(Verdict::Same { deviations })
}

/// What a recording of it says. The value is what the function returns.
fn recorded(end: &End, run: &Run<'_>, context: &Context) -> Value {
    let mut got = end.recorded(run, context);
    if matches!(end, End::Value) {
        got["value"] = json!("ok");
    }
    got
}

/// The function's loop: no look at the context before a call, and the last error as it is.
fn execute(config: &Value, policy: &Policy, context: &Context, run: &mut Run<'_>) -> Result<End, String> {
    let mut schedule = Schedule::new(policy, 0);
    let mut draws = config["uniforms"].as_array().map_or(&[][..], Vec::as_slice).iter();
    loop {
        let last = run.call()?;
        if last == "ok" {
            return Ok(End::Value);
        }
        let before = schedule;
        if schedule.next().is_none() {
            return Ok(End::failed(last.to_owned(), None));
        }
        schedule = before;
        let u = draws.next().and_then(Value::as_f64).ok_or("there are more waits than draws")?;
        let delay = schedule.next_at(FailureKind::Transient, u).ok_or("a wait that is none")?;
        let until = run.now.after(delay);
        if run.wait(until, context) {
            return Ok(End::Error { text: context.error().to_owned(), wraps: None, is_cancelled: true });
        }
    }
}

/// `CircuitBreaker` as a configuration: a threshold below 1 is one of 1, and without room for more calls the first one is
/// the only one.
fn breaker_config(config: &Value) -> Result<BreakerConfig, String> {
    let threshold = |name: &str| whole_or(config, name, 0).map(|count| u32::try_from(count.max(1)).unwrap_or(u32::MAX));
    let timeout = whole_or(config, "timeout", 0)?;
    if timeout < 0 {
        let document = json!({ "breaker": { "open_for": format!("{timeout}ns") } });
        let document: Document = document.as_object().cloned().unwrap_or_default();
        refused(options::guarded(&document), "breaker.open_for.initial", "not_a_duration")
            .or_else(|_| refused(options::guarded(&document), "breaker.open_for", "not_a_duration"))?;
    }
    let fields = [
        (Field::BreakerFailures, threshold("failure_threshold")?.into()),
        // It is open for the timeout, that instant included.
        (Field::BreakerOpenFor, Setting::Nanos(timeout.saturating_add(1).max(0).unsigned_abs())),
        (Field::BreakerProbes, threshold("half_open_max_calls")?.into()),
        (Field::BreakerSuccesses, threshold("success_threshold")?.into()),
        (Field::BreakerReopen, "streak".into()),
    ];
    let options = fields.into_iter().try_fold(Options::NEW, |options, (field, value)| options.with_field(field, value));
    let config = options.and_then(|options| options.breaker()).map_err(|error| error.to_string())?;
    config.ok_or_else(|| "no breaker is described".to_owned())
}

fn breaker(case: &Recording) -> Result<Verdict, String> {
    let config = breaker_config(&case.config)?;
    let node = case.config["node"].as_str().unwrap_or("N");
    let timeout = whole_or(&case.config, "timeout", 0)?;
    let mut breaker = Breaker::new(&config, 0, Timestamp::ZERO);
    let mut original = Original::new(&case.config)?;
    let (mut apart, mut deviations) = (false, 0);
    for (at, (input, expected)) in case.steps()? {
        let start = input["at"].as_u64().ok_or_else(|| format!("a call without a time: {input}"))?;
        let took = input["took"].as_u64().unwrap_or(0);
        let result = input["result"].as_str().ok_or_else(|| format!("a call without a result: {input}"))?;
        let mut now = Timestamp::from_nanos(start);
        let permit = breaker.acquire(&config, now);
        let error = match permit {
            Ok(permit) => {
                now = now.after(Span::from_nanos(took));
                let (answer, error) = match result {
                    "ok" => (Answer::Success, Value::Null),
                    text => (Answer::Failure, json!(format!("circuit breaker error in {node}: {text}"))),
                };
                breaker.record(&config, permit, now, answer, Span::from_nanos(took));
                error
            }
            Err(_) => json!(format!("circuit breaker open for {node}")),
        };
        let (failures, ..) = breaker.rates(&config, now);
        let state = breaker.state(&config, now);
        let got = json!({ "error": error, "ran": permit.is_ok(), "state": state.name(), "failures": failures });
        let theirs = original.call(node, start, took, result);
        let shown = |name: &str| expected[name] == got[name];
        if !["error", "ran", "state", "failures"].into_iter().all(shown) {
            // Without a time to be open it reads as half-open from the first instant on.
            let at_once = timeout < 0 && state == BreakerState::HalfOpen && expected["state"] == "open";
            if !(apart || original.passed_its_limit || at_once) || *expected != theirs {
                return Err(format!("input {at}: expected {expected}, got {got}"));
            }
            deviations += 1;
        }
        apart = (apart || original.passed_its_limit) && !original.is_as(state, failures, breaker.retry_at());
    }
    Ok(Verdict::Same { deviations })
}

/// The original's breaker, to tell what it makes of calls after its limit from a wrong recording.
struct Original {
    failure_threshold: i64,
    success_threshold: i64,
    timeout: i64,
    most: i64,
    state: BreakerState,
    failures: i64,
    successes: i64,
    calls: i64,
    last_failure: i64,
    /// The latest call found the limit of half-open calls.
    passed_its_limit: bool,
}

impl Original {
    fn new(config: &Value) -> Result<Self, String> {
        Ok(Self {
            failure_threshold: whole_or(config, "failure_threshold", 0)?,
            success_threshold: whole_or(config, "success_threshold", 0)?,
            timeout: whole_or(config, "timeout", 0)?,
            most: whole_or(config, "half_open_max_calls", 0)?,
            state: BreakerState::Closed,
            failures: 0,
            successes: 0,
            calls: 0,
            last_failure: 0,
            passed_its_limit: false,
        })
    }

    /// What is recorded of a call.
    fn call(&mut self, node: &str, start: u64, took: u64, result: &str) -> Value {
        let start = i64::try_from(start).unwrap_or(i64::MAX);
        self.passed_its_limit = false;
        let refused = match self.state {
            BreakerState::Open if start.saturating_sub(self.last_failure) > self.timeout => {
                (self.state, self.calls) = (BreakerState::HalfOpen, 0);
                None
            }
            BreakerState::Open => Some("open"),
            BreakerState::HalfOpen if self.calls >= self.most => {
                self.state = BreakerState::Open;
                self.passed_its_limit = true;
                Some("half-open limit reached")
            }
            BreakerState::HalfOpen => {
                self.calls += 1;
                None
            }
            _ => None,
        };
        let error = match refused {
            Some(why) => json!(format!("circuit breaker {why} for {node}")),
            None if result == "ok" => {
                (self.successes, self.failures) = (self.successes + 1, 0);
                if self.state == BreakerState::HalfOpen && self.successes >= self.success_threshold {
                    self.state = BreakerState::Closed;
                }
                Value::Null
            }
            None => {
                (self.failures, self.successes) = (self.failures + 1, 0);
                self.last_failure = start.saturating_add(i64::try_from(took).unwrap_or(i64::MAX));
                if self.failures >= self.failure_threshold {
                    self.state = BreakerState::Open;
                }
                json!(format!("circuit breaker error in {node}: {result}"))
            }
        };
        json!({
            "error": error,
            "ran": refused.is_none(),
            "state": self.state.name(),
            "failures": self.failures,
            "successes": self.successes,
            "half_open_calls": self.calls,
        })
    }

    /// Whether it and ours have met again: what both do from here on is the same.
    fn is_as(&self, state: BreakerState, failures: u32, retry_at: Timestamp) -> bool {
        let until = self.last_failure.saturating_add(self.timeout).saturating_add(1).max(0).unsigned_abs();
        let in_state = match state {
            BreakerState::Closed => true,
            BreakerState::Open => retry_at.as_nanos() == until,
            _ => false,
        };
        in_state && state == self.state && self.failures == i64::from(failures)
    }
}

/// `RateLimiter`: a sliding log.
fn limiter(case: &Recording) -> Result<Verdict, String> {
    let (most, window) = (whole_or(&case.config, "max_calls", 0)?, whole_or(&case.config, "window", 0)?);
    let node = case.config["node"].as_str().unwrap_or("N");
    // A window below zero is as good as none.
    let per = Span::from_nanos(window.max(0).unsigned_abs());
    let limit = u32::try_from(most.max(0)).unwrap_or(u32::MAX);
    let config = match LimiterConfig::log(limit, per) {
        // There it panics.
        Err(error) if most < 1 && error.code == ErrorCode::CountRange => return Ok(Verdict::OutOfDomain),
        other => other.map_err(|error| error.to_string())?,
    };
    let mut room = vec![0; config.words().min(case.inputs.len())];
    let mut limiter = Limiter::new(&config, Timestamp::ZERO);
    for (at, (input, expected)) in case.steps()? {
        let now = input.as_u64().or(input["at"].as_u64()).ok_or_else(|| format!("no time: {input}"))?;
        let now = Timestamp::from_nanos(now);
        let taken = limiter.take(&config, &mut room, 1, now);
        let error = taken.err().map(|retry_at| {
            let after = duration(retry_at.since(now).as_nanos());
            format!("rate limit exceeded for {node}, retry after {after}")
        });
        let got = json!({ "error": error, "ran": taken.is_ok() });
        same(expected, &got).map_err(|difference| format!("input {at}: {difference}"))?;
    }
    Ok(Verdict::SAME)
}

/// A duration as Go writes it.
fn duration(nanos: u64) -> String {
    let part = |unit: u64, name: &str| {
        let text = format!("{}.{:09}", nanos / unit, u128::from(nanos % unit) * 1_000_000_000 / u128::from(unit));
        format!("{}{name}", text.trim_end_matches('0').trim_end_matches('.'))
    };
    let (minutes, seconds) = (nanos / 60_000_000_000, nanos % 60_000_000_000);
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => part(1, "ns"),
        1_000..1_000_000 => part(1_000, "µs"),
        1_000_000..1_000_000_000 => part(1_000_000, "ms"),
        1_000_000_000..60_000_000_000 => part(1_000_000_000, "s"),
        _ if minutes < 60 => format!("{minutes}m{}", of_minute(seconds)),
        _ => format!("{}h{}m{}", minutes / 60, minutes % 60, of_minute(seconds)),
    }
}

/// Seconds beside minutes: zero is written as well.
fn of_minute(nanos: u64) -> String {
    let text = format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_go_does() {
        for (nanos, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_100, "1.1µs"),
            (2_200_000, "2.2ms"),
            (3_300_000_000, "3.3s"),
            (50_000_000, "50ms"),
            (100_000_000_000, "1m40s"),
            (245_000_000_000, "4m5s"),
            (245_001_000_000, "4m5.001s"),
            (18_367_001_000_000, "5h6m7.001s"),
            (480_000_000_001, "8m0.000000001s"),
            (10_000_000_000, "10s"),
            (60_000_000_000, "1m0s"),
            (i64::MAX as u64, "2562047h47m16.854775807s"),
        ] {
            assert_eq!(duration(nanos), text);
        }
    }

    fn recording(config: Value, inputs: Value, expected: Value) -> Recording {
        let text = json!({ "name": "x", "config": config, "inputs": inputs, "expected": expected });
        serde_json::from_value(text).unwrap()
    }

    /// The recorded file, each number, word and truth value of its expectations changed in turn: each is a failure.
    #[test]
    fn no_wrong_recording_passes_as_a_deviation() {
        let file = include_str!("../../vectors/references/langgraphgo_extras.json");
        let file: super::super::Recorded = serde_json::from_str(file).unwrap();
        let mut changed = 0;
        for case in &file.cases {
            for (at, expected) in case.expected.iter().enumerate() {
                for field in ["error", "ran", "state", "failures", "calls", "delays", "now"] {
                    let old = &expected[field];
                    let new = match old {
                        Value::Null if field != "error" => continue,
                        Value::Null => json!("boom"),
                        Value::Bool(truth) => json!(!truth),
                        Value::Number(number) => json!(number.as_i64().unwrap() + 1),
                        Value::Array(waits) if waits.is_empty() => continue,
                        Value::Array(waits) => waits.iter().map(|wait| wait.as_i64().unwrap() + 1).collect(),
                        Value::String(text) if text == "open" => json!("closed"),
                        _ => json!("open"),
                    };
                    let mut wrong: Vec<_> = case.expected.clone();
                    wrong[at][field] = new;
                    let wrong = recording(case.config.clone(), case.inputs.clone().into(), wrong.into());
                    assert!(extras(&wrong).is_err(), "{}: {field} of {at}", case.name);
                    changed += 1;
                }
            }
        }
        assert!(changed > 150, "{changed}");
    }
}
