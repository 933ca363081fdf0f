//! langgraphgo's node-level retry, `RetryNode.Execute`, on the loop machine: the host around it, with a virtual clock.
//!
//! The machine says when to try, how long to sleep and why to stop. What a `RetryNode` adds as a host is here: it looks at
//! its context before a try and while it waits, asks its predicate about errors, and words the error that it returns.

use super::k8s::{real, truth, whole_or};
use super::{Recording, Verdict};
use crate::format::{Document, ErrorWord};
use crate::options;
use holdoff_core::{
    Call, ErrorCode, Failure, Outcome, Policy, Schedule, Span, Step, StopReason, Timestamp, Value as Setting,
};
use serde_json::{Value, json};

/// When the caller's context ends, and what it says then.
pub(super) struct Context {
    pub(super) ends: Timestamp,
    is_deadline: bool,
}

impl Context {
    /// That of a case; one that never ends where the case says nothing of it.
    pub(super) fn of(config: &Value) -> Self {
        let ends = config["cancel_at"].as_u64().map_or(Timestamp::NEVER, Timestamp::from_nanos);
        Self { ends, is_deadline: truth(config, "cancel_is_deadline") }
    }

    pub(super) fn is_done(&self, now: Timestamp) -> bool {
        now >= self.ends
    }

    pub(super) const fn error(&self) -> &'static str {
        if self.is_deadline { "context deadline exceeded" } else { "context canceled" }
    }
}

/// A scripted node in virtual time: what was called and slept so far.
pub(super) struct Run<'a> {
    script: std::slice::Iter<'a, Value>,
    /// The time.
    pub(super) now: Timestamp,
    /// How often the node was called.
    pub(super) calls: usize,
    /// Every wait that was asked for.
    pub(super) delays: Vec<u64>,
}

impl<'a> Run<'a> {
    pub(super) fn new(script: &'a [Value], now: Timestamp) -> Self {
        Self { script: script.iter(), now, calls: 0, delays: Vec::new() }
    }

    /// Calls the node: what it returns, "ok" or the text of an error.
    pub(super) fn call(&mut self) -> Result<&'a str, String> {
        let input = self.script.next().ok_or("the node is called more often than recorded")?;
        self.calls += 1;
        self.now = self.now.after(Span::from_nanos(input["took"].as_u64().unwrap_or(0)));
        input["result"].as_str().ok_or_else(|| format!("a call without a result: {input}"))
    }

    /// Waits until then or until the context ends; whether that was first.
    pub(super) fn wait(&mut self, until: Timestamp, context: &Context) -> bool {
        self.delays.push(until.since(self.now).as_nanos());
        let cancelled = context.is_done(self.now) || context.ends < until;
        if !cancelled {
            self.now = until;
        } else if !context.is_done(self.now) {
            self.now = context.ends;
        }
        cancelled
    }
}

/// How an execution ended.
pub(super) enum End {
    Value,
    /// With an error of its own words, perhaps around another.
    Error {
        text: String,
        wraps: Option<String>,
        is_cancelled: bool,
    },
}

impl End {
    /// The end with an error that is not the context's.
    pub(super) fn failed(text: String, wraps: Option<String>) -> Self {
        Self::Error { text, wraps, is_cancelled: false }
    }

    /// What a recording of it says.
    pub(super) fn recorded(&self, run: &Run<'_>, context: &Context) -> Value {
        let now = run.now.as_nanos();
        match self {
            Self::Value => {
                json!({ "calls": run.calls, "delays": run.delays, "error": null, "value": "s!", "now": now })
            }
            Self::Error { text, wraps, is_cancelled } => json!({
                "calls": run.calls,
                "delays": run.delays,
                "error": text,
                "unwraps_to": wraps.as_ref().map(|text| [text]),
                "is_canceled": *is_cancelled && !context.is_deadline,
                "is_deadline": *is_cancelled && context.is_deadline,
                "value_is_zero": true,
                "now": now,
            }),
        }
    }
}

/// Whether what was recorded is what came. A recording leaves out what the case does not show.
pub(super) fn same(expected: &Value, got: &Value) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("expected {expected}, got {got}")) }
}

/// What a `RetryConfig`'s predicate says of an error.
fn failure(config: &Value, text: &str) -> Result<Failure, String> {
    let retryable = match config["retryable"].as_str() {
        None | Some("nil" | "all") => true,
        _ if truth(config, "config_nil") => true,
        Some("none") => false,
        Some(rule) => text == rule.strip_prefix("equals ").ok_or_else(|| format!("an unknown predicate: {rule}"))?,
    };
    Ok(if retryable { Failure::TRANSIENT } else { Failure::PERMANENT })
}

/// The error that a `RetryNode` returns when it gives up.
fn worded(policy: &Policy, node: &str, reason: StopReason, last: &str) -> Result<String, String> {
    match reason {
        StopReason::Permanent => Ok(format!("non-retryable error in {node}: {last}")),
        StopReason::Attempts => {
            let attempts = policy.attempts().ok_or("it stops after no number of attempts")?;
            Ok(format!("max retries ({attempts}) exceeded for {node}: {last}"))
        }
        other => Err(format!("no RetryNode stops for this reason: {other}")),
    }
}

fn nanos(value: i64) -> Value {
    json!(format!("{value}ns"))
}

fn exponential(initial: i64, factor: f64, max: Value) -> Value {
    json!({ "kind": "exponential", "initial": nanos(initial), "factor": factor, "max": max })
}

/// As many attempts as a policy counts, which is for ever if there are more.
pub(super) fn attempts(count: i64) -> Value {
    if count > u32::MAX.into() { json!("forever") } else { json!(count) }
}

fn made(backoff: Value, tries: i64) -> Result<Policy, ErrorWord> {
    let document = json!({ "backoff": backoff, "jitter": "none", "attempts": attempts(tries) });
    options::policy(&document.as_object().cloned().unwrap_or_default())
}

/// A `RetryConfig` as a policy.
///
/// `MaxDelay` holds from the second delay on, so one below `InitialDelay` is a chain: the first delay once, and then what it
/// grows to, at most `MaxDelay`.
fn node_policy(config: &Value) -> Result<Result<Policy, ErrorWord>, String> {
    if truth(config, "config_nil") {
        let document: Document = [("preset".to_owned(), json!("langgraphgo"))].into_iter().collect();
        return Ok(options::policy(&document));
    }
    let (initial, max) = (whole_or(config, "initial_delay", 0)?, whole_or(config, "max_delay", 0)?);
    let (factor, tries) = (real(config, "backoff_factor")?, whole_or(config, "max_attempts", 0)?);
    if max >= initial || max < 0 {
        return Ok(made(exponential(initial, factor, nanos(max)), tries));
    }
    let grown = |policy: Policy| Schedule::base_at(&policy, 1).as_nanos();
    Ok(made(exponential(initial, factor, json!("none")), tries).and_then(|policy| {
        let second = i64::try_from(grown(policy)).unwrap_or(i64::MAX).min(max);
        let first = json!({ "kind": "constant", "delay": nanos(initial), "times": 1 });
        made(json!([first, exponential(second, factor, nanos(max))]), tries)
    }))
}

/// Which fields of a `RetryConfig` are outside the domain, and the errors that they must give.
fn faults(config: &Value) -> Result<Vec<(&'static str, &'static str)>, String> {
    if truth(config, "config_nil") {
        return Ok(Vec::new());
    }
    let factor = real(config, "backoff_factor")?;
    Ok([
        (whole_or(config, "max_attempts", 0)? < 1, ("attempts", "attempts_range")),
        (whole_or(config, "initial_delay", 0)? < 0, ("backoff.initial", "not_a_duration")),
        (whole_or(config, "max_delay", 0)? < 0, ("backoff.max", "not_a_duration")),
        (!factor.is_finite() || factor < 0.0, ("backoff.factor", "factor_range")),
    ]
    .into_iter()
    .filter_map(|(is_fault, fault)| is_fault.then_some(fault))
    .collect())
}

/// A configuration outside the domain is refused by the name of a field that is wrong in it.
fn refused(config: &Value, faults: &[(&str, &str)]) -> Result<Verdict, String> {
    let factor = real(config, "backoff_factor")?;
    if !factor.is_finite() {
        // No document can say it, but a program can.
        let mut builder = Policy::options();
        let set = builder.set("backoff.factor", Setting::Number { value: factor, unit: 1.0 });
        let code = set.and_then(|_| builder.build().map(|_| ())).map_err(|error| error.code);
        return match code {
            Err(ErrorCode::FactorRange) => Ok(Verdict::OutOfDomain),
            other => Err(format!("a factor of {factor} gives {other:?}")),
        };
    }
    match node_policy(config)? {
        Err(error) if faults.contains(&(error.path.as_str(), error.name.as_str())) => Ok(Verdict::OutOfDomain),
        other => Err(format!("expected one of {faults:?}, got {other:?}")),
    }
}

/// Kind `langgraphgo_retrynode`.
pub(super) fn retry_node(case: &Recording) -> Result<Verdict, String> {
    let config = &case.config;
    let faults = faults(config)?;
    if !faults.is_empty() {
        return refused(config, &faults);
    }
    let policy = node_policy(config)?.map_err(|error| format!("the policy is refused: {error:?}"))?;
    let context = Context::of(config);
    let mut run = Run::new(&case.inputs, Timestamp::ZERO);
    let end = execute(config, &policy, &context, &mut run)?;
    let expected = case.expected.first().ok_or("nothing is expected")?;
    if case.is_impl_defined() {
        return saturated(config, expected, &context, &run);
    }
    same(expected, &end.recorded(&run, &context)).map(|()| Verdict::SAME)
}

/// Where the original's product leaves the range of an integer, ours is the longest delay.
fn saturated(config: &Value, expected: &Value, context: &Context, run: &Run<'_>) -> Result<Verdict, String> {
    let max = whole_or(config, "max_delay", 0)?;
    let recorded = expected["delays"].as_array().map_or(&[][..], Vec::as_slice);
    let mut promised: Vec<_> =
        recorded.iter().filter_map(Value::as_i64).map(|delay| if delay < 0 { max } else { delay }).collect();
    let got: Vec<_> = run.delays.iter().map(|delay| *delay as i64).collect();
    if context.ends != Timestamp::NEVER {
        // A context ends in the wait that the original skips.
        promised.truncate(got.len());
    }
    let clock = got.iter().scan(0_u64, |clock, delay| {
        *clock = clock.saturating_add(*delay as u64);
        Some(*clock)
    });
    // Waits that go past the end of time are as long as there is time.
    let in_time = clock.take_while(|clock| *clock < Span::MAX.as_nanos()).count() + 1;
    let (promised, got) = (promised.get(..in_time).unwrap_or(&promised), got.get(..in_time).unwrap_or(&got));
    if promised == got { Ok(Verdict::OutOfDomain) } else { Err(format!("expected {promised:?}, got {got:?}")) }
}

/// `RetryNode.Execute`.
fn execute(config: &Value, policy: &Policy, context: &Context, run: &mut Run<'_>) -> Result<End, String> {
    let node = config["node"].as_str().unwrap_or_default();
    let cancelled = |call: &mut Call, now, during: &str| {
        let error = context.error().to_owned();
        match call.cancel(now) {
            Step::Stop(Outcome::Cancelled) => Ok(End::Error {
                text: format!("retry cancelled{during}: {error}"),
                wraps: Some(error),
                is_cancelled: true,
            }),
            other => Err(format!("cancelled, and told {other:?}")),
        }
    };
    let (mut call, mut step) = Call::begin(policy, 0, run.now);
    let mut last = "";
    loop {
        step = match step {
            Step::Attempt { .. } if context.is_done(run.now) => return cancelled(&mut call, run.now, ""),
            Step::Attempt { ticket, .. } => {
                last = run.call()?;
                match last {
                    "ok" => call.succeed(ticket, run.now),
                    text => call.fail(policy, ticket, run.now, failure(config, text)?),
                }
            }
            Step::Sleep { until, .. } => {
                if run.wait(until, context) {
                    return cancelled(&mut call, run.now, " during backoff");
                }
                call.tick(policy, run.now)
            }
            Step::Stop(Outcome::Succeeded) => return Ok(End::Value),
            Step::Stop(Outcome::GaveUp { reason, .. }) => {
                return Ok(End::failed(worded(policy, node, reason, last)?, Some(last.to_owned())));
            }
            other => return Err(format!("unexpected: {other:?}")),
        };
    }
}

/// A node that is a `RetryNode` of its own inside a graph's policy.
pub(super) struct NodeRetry<'a> {
    config: &'a Value,
    name: &'a str,
    pub(super) policy: Policy,
}

impl<'a> NodeRetry<'a> {
    /// The node with that `RetryConfig`.
    pub(super) fn new(config: &'a Value, name: &'a str) -> Result<Self, String> {
        let policy = node_policy(config)?.map_err(|error| format!("the node's policy is refused: {error:?}"))?;
        Ok(Self { config, name, policy })
    }

    pub(super) fn failure(&self, text: &str) -> Result<Failure, String> {
        failure(self.config, text)
    }

    /// The error that the graph sees.
    pub(super) fn worded(&self, reason: StopReason, last: &str) -> Result<String, String> {
        worded(&self.policy, self.name, reason, last)
    }
}
