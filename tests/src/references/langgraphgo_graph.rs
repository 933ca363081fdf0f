//! langgraphgo's graph-level retry on the loop machine, the layered one where a node retries by itself, and the schedule.
//!
//! The graph is the host: which node runs after which, the context that is looked at in waits alone, and errors in its
//! words. A recording gives the results of nodes but not the edges; the ones it needs are told from its error.

use super::k8s::whole_or;
use super::langgraphgo::{Context, End, NodeRetry, Run, attempts, same};
use super::{Recording, Verdict};
use crate::classify::{Classifier, Known};
use crate::format::ErrorWord;
use crate::options;
use holdoff_core::{Call, Failure, Layered, Layers, Outcome, Policy, Schedule, Span, Step, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Kind `langgraphgo_graph`.
pub(super) fn graph(case: &Recording) -> Result<Verdict, String> {
    match case.config["op"].as_str() {
        Some("calculateBackoffDelay") => delays(case),
        Some("executeNodeWithRetry") => execute(case),
        Some("Invoke") => invoke(case),
        other => Err(format!("an unknown operation: {other:?}")),
    }
}

/// A graph's `RetryPolicy`; none is one try.
struct Retrying {
    policy: Policy,
    classifier: Classifier,
}

impl Retrying {
    fn new(config: &Value) -> Result<Result<Self, ErrorWord>, String> {
        let patterns = config["retryable_errors"].as_array().cloned().unwrap_or_default();
        let rules = json!({ "rules": [
            { "if": { "patterns": patterns }, "retry": true },
            { "if": {}, "retry": false },
        ] });
        let classifier = Classifier::new(&rules.as_object().cloned().unwrap_or_default())?;
        let retries = whole_or(config, "max_retries", 0)?;
        let made = policy(config["strategy"].as_str().unwrap_or_default(), retries.saturating_add(1));
        Ok(made.map(|policy| Self { policy, classifier }))
    }

    /// What the patterns make of an error.
    fn failure(&self, text: &str) -> Failure {
        self.classifier.judge(&Known::text(text), Failure::TRANSIENT)
    }
}

/// A backoff strategy, of which an unknown one is the fixed one. The base delay is a second, and nothing caps it.
fn policy(strategy: &str, tries: i64) -> Result<Policy, ErrorWord> {
    let backoff = match strategy {
        "exponential" => json!({ "kind": "exponential", "initial": "1s", "factor": 2, "max": "none" }),
        "linear" => json!({ "kind": "linear", "initial": "1s", "increment": "1s", "max": "none" }),
        _ => json!({ "kind": "constant", "delay": "1s" }),
    };
    let document = json!({ "backoff": backoff, "jitter": "none", "attempts": attempts(tries) });
    options::policy(&document.as_object().cloned().unwrap_or_default())
}

/// Fewer than no retries are no attempt at all, which the original takes for a success and we refuse.
fn refused(config: &Value, error: &ErrorWord) -> Result<Verdict, String> {
    let is_negative = config["max_retries"].as_i64().is_some_and(|retries| retries < 0);
    if is_negative && error.name == "attempts_range" {
        Ok(Verdict::OutOfDomain)
    } else {
        Err(format!("the policy is refused: {error:?}"))
    }
}

/// `calculateBackoffDelay`: where the original wraps, ours saturates.
fn delays(case: &Recording) -> Result<Verdict, String> {
    let policy =
        policy(case.config["strategy"].as_str().unwrap_or_default(), 2).map_err(|error| format!("{error:?}"))?;
    let mut deviations = 0;
    for (_, (input, expected)) in case.steps()? {
        let attempt = input.as_u64().and_then(|attempt| u32::try_from(attempt).ok()).ok_or("a negative attempt")?;
        let delay = Schedule::base_at(&policy, attempt);
        match expected.as_i64() {
            Some(recorded) if u64::try_from(recorded) == Ok(delay.as_nanos()) => {}
            Some(_) if delay == Span::MAX => deviations += 1,
            other => return Err(format!("attempt {attempt}: expected {other:?}, got {delay:?}")),
        }
    }
    Ok(Verdict::Same { deviations })
}

/// `executeNodeWithRetry`.
fn execute(case: &Recording) -> Result<Verdict, String> {
    let config = &case.config;
    let retrying = match Retrying::new(&config["policy"])? {
        Ok(retrying) => retrying,
        Err(error) => return refused(&config["policy"], &error),
    };
    let context = Context::of(config);
    let mut run = Run::new(&case.inputs, Timestamp::ZERO);
    let end = match call(&retrying, &context, &mut run)? {
        Ended::Value(_) => End::Value,
        Ended::Error(text) => End::failed(text, None),
        Ended::Cancelled => End::Error { text: context.error().to_owned(), wraps: None, is_cancelled: true },
    };
    let expected = case.expected.first().ok_or("nothing is expected")?;
    let got = end.recorded(&run, &context);
    match run.delays.iter().position(|delay| *delay >= WRAPS.as_nanos()) {
        Some(last) if *expected != got => wrapped(expected, &got, last, &context),
        _ => same(expected, &got).map(|()| Verdict::SAME),
    }
}

/// The longest exponential wait that is one in the original: the clock leaves the range of an integer with it, and then so
/// do the delays.
const WRAPS: Span = Span::from_secs(1 << 33);

/// A run that leaves the range of an integer with a wait is the same up to there, and has as many calls unless it is cancelled.
fn wrapped(expected: &Value, got: &Value, last: usize, context: &Context) -> Result<Verdict, String> {
    let waits =
        |run: &Value| run["delays"].as_array().map(|delays| delays.iter().take(last + 1).cloned().collect::<Vec<_>>());
    let ends = |run: &Value| [&run["calls"], &run["error"]].map(Value::clone);
    if waits(expected) == waits(got) && (context.ends != Timestamp::NEVER || ends(expected) == ends(got)) {
        return Ok(Verdict::Same { deviations: 1 });
    }
    same(expected, got).map(|()| Verdict::SAME)
}

/// How the calls of one node ended.
enum Ended {
    /// With what the node returned.
    Value(String),
    /// With the last error as it is.
    Error(String),
    /// With the context's error.
    Cancelled,
}

/// What a node returned, if that is no error.
fn value(result: &str) -> Option<&str> {
    (result == "ok" || result.starts_with("goto:")).then_some(result)
}

/// A node under the graph's policy.
fn call(retrying: &Retrying, context: &Context, run: &mut Run<'_>) -> Result<Ended, String> {
    let policy = &retrying.policy;
    let (mut call, mut step) = Call::begin(policy, 0, run.now);
    let mut last = "";
    loop {
        step = match step {
            Step::Attempt { ticket, .. } => {
                last = run.call()?;
                match value(last) {
                    Some(_) => call.succeed(ticket, run.now),
                    None => call.fail(policy, ticket, run.now, retrying.failure(last)),
                }
            }
            Step::Sleep { until, .. } => {
                let cancelled = run.wait(until, context);
                if cancelled { call.cancel(run.now) } else { call.tick(policy, run.now) }
            }
            Step::Stop(Outcome::Succeeded) => return Ok(Ended::Value(last.to_owned())),
            Step::Stop(Outcome::GaveUp { .. }) => return Ok(Ended::Error(last.to_owned())),
            Step::Stop(Outcome::Cancelled) => return Ok(Ended::Cancelled),
            other @ Step::Wait { .. } => return Err(format!("unexpected: {other:?}")),
        };
    }
}

/// A `RetryNode` under the graph's policy, which judges the text of the error that the node returns.
fn layered(retrying: &Retrying, node: &NodeRetry<'_>, run: &mut Run<'_>) -> Result<Ended, String> {
    let layers = Layers::new(retrying.policy, node.policy, None).map_err(|error| error.to_string())?;
    let context = Context::of(&Value::Null);
    let (mut layered, mut step) = Layered::begin(&layers, 0, run.now);
    let mut last = String::new();
    loop {
        step = match step {
            Step::Attempt { ticket, .. } => {
                let result = run.call()?;
                if let Some(value) = value(result) {
                    last = value.to_owned();
                    layered.succeed(ticket, run.now)
                } else {
                    let failure = node.failure(result)?;
                    match layered.would_give_up(&layers, ticket, run.now, failure) {
                        Some(reason) => {
                            last = node.worded(reason, result)?;
                            layered.fail_as(&layers, ticket, run.now, failure, Some(retrying.failure(&last)))
                        }
                        None => layered.fail(&layers, ticket, run.now, failure),
                    }
                }
            }
            Step::Sleep { until, .. } => {
                run.wait(until, &context);
                layered.tick(&layers, run.now)
            }
            Step::Stop(Outcome::Succeeded) => return Ok(Ended::Value(last)),
            Step::Stop(Outcome::GaveUp { .. }) => return Ok(Ended::Error(last)),
            other => return Err(format!("unexpected: {other:?}")),
        };
    }
}

/// The `RetryConfig` of a node: any object of the configuration that is one, for all nodes or by the node's name.
fn node_config<'a>(config: &'a Value, node: &str) -> Option<&'a Value> {
    let is_config = |value: &&Value| value.get("max_attempts").is_some();
    let objects = config.as_object()?.values().filter(|value| value.is_object());
    objects.into_iter().find_map(|value| Some(value).into_iter().chain(value.get(node)).find(is_config))
}

/// `Invoke`.
fn invoke(case: &Recording) -> Result<Verdict, String> {
    let expected = case.expected.first().ok_or("nothing is expected")?;
    if let Some(error) = expected.get("compile_error") {
        // A graph without an entry is refused before any node runs.
        return same(error, &json!("entry point not set")).map(|()| Verdict::SAME);
    }
    let retrying = match Retrying::new(&case.config["policy"])? {
        Ok(retrying) => retrying,
        Err(error) => return refused(&case.config["policy"], &error),
    };
    let graph = Graph::new(case, expected, &retrying)?;
    same(expected, &graph.run()?).map(|()| Verdict::SAME)
}

/// A graph of scripted nodes.
struct Graph<'a> {
    config: &'a Value,
    context: Context,
    retrying: &'a Retrying,
    /// In the order of the recording, which is that of a chain.
    nodes: Vec<(&'a str, &'a [Value])>,
    /// The node that no edge leads from, and the one that is not there but an edge leads to.
    loose: Option<&'a str>,
    missing: Option<&'a str>,
}

impl<'a> Graph<'a> {
    fn new(case: &'a Recording, expected: &'a Value, retrying: &'a Retrying) -> Result<Self, String> {
        let nodes = case.config["nodes"].as_object().ok_or("no nodes")?;
        let script = |(name, script): (&'a String, &'a Value)| Some((name.as_str(), script.as_array()?.as_slice()));
        let error = expected["error"].as_str().unwrap_or_default();
        Ok(Self {
            config: &case.config,
            context: Context::of(&case.config),
            retrying,
            nodes: nodes.iter().map(script).collect::<Option<_>>().ok_or("a node without a script")?,
            loose: error.strip_prefix("no outgoing edge found for node: "),
            missing: error.strip_prefix("node not found: "),
        })
    }

    /// The node where it starts: the one that says where to go on, else the first.
    fn entry(&self) -> Result<&'a str, String> {
        let goes =
            |script: &[Value]| script.iter().any(|call| goto(call["result"].as_str().unwrap_or_default()).is_some());
        let found = self.nodes.iter().find(|node| goes(node.1)).or_else(|| self.nodes.first());
        found.map(|node| node.0).ok_or_else(|| "a graph without nodes".to_owned())
    }

    /// The node after another in a chain, which a graph without commands is.
    fn next(&self, name: &str, commanded: bool) -> Result<Option<&'a str>, String> {
        if self.loose == Some(name) {
            return Err(format!("no outgoing edge found for node: {name}"));
        }
        let mut names = self.nodes.iter().map(|node| node.0).skip_while(|known| *known != name).skip(1);
        Ok(if commanded { None } else { names.next() }.or(self.missing))
    }

    /// Step by step: all active nodes at once, each with its own attempts, and the step ends with the last of them.
    fn run(&self) -> Result<Value, String> {
        let mut runs: BTreeMap<&str, Run<'_>> = BTreeMap::new();
        let mut now = Timestamp::ZERO;
        let (mut active, mut commanded) = (vec![self.entry()?.to_owned()], false);
        let mut state = "<nil>".to_owned();
        let mut error = None;
        while error.is_none() && !active.is_empty() {
            let (mut end, mut following) = (now, Vec::new());
            let mut commands = Vec::new();
            for name in &active {
                let Some((name, script)) = self.nodes.iter().find(|node| node.0 == name).copied() else {
                    error = error.or(Some(format!("node not found: {name}")));
                    continue;
                };
                let run = runs.entry(name).or_insert_with(|| Run::new(script, now));
                run.now = now;
                match self.node(name, run)? {
                    Ended::Value(result) => {
                        state = name.to_owned();
                        commands.extend(goto(&result).unwrap_or_default());
                        following.push(name);
                    }
                    Ended::Error(text) => error = error.or(Some(format!("error in node {name}: {text}"))),
                    Ended::Cancelled => {
                        error = error.or(Some(format!("error in node {name}: {}", self.context.error())));
                    }
                }
                end = end.max(run.now);
            }
            now = end;
            commanded |= !commands.is_empty();
            active = commands;
            if active.is_empty() && error.is_none() {
                for name in following {
                    match self.next(name, commanded) {
                        Ok(next) => active.extend(next.map(str::to_owned)),
                        Err(text) => error = error.or(Some(text)),
                    }
                }
            }
        }
        let calls: BTreeMap<_, _> = runs.iter().map(|(name, run)| (*name, run.calls)).collect();
        let mut delays: Vec<_> = runs.values().flat_map(|run| run.delays.iter().copied()).collect();
        delays.sort_unstable();
        Ok(match error {
            None => json!({ "calls": calls, "delays_sorted": delays, "error": null, "state": state }),
            Some(error) => json!({
                "calls": calls,
                "delays_sorted": delays,
                "error": error,
                "is_graph_interrupt": false,
                "state": "<nil>",
            }),
        })
    }

    fn node(&self, name: &str, run: &mut Run<'_>) -> Result<Ended, String> {
        match node_config(self.config, name) {
            Some(config) => layered(self.retrying, &NodeRetry::new(config, name)?, run),
            None => call(self.retrying, &self.context, run),
        }
    }
}

/// Where a command goes, each node once.
fn goto(result: &str) -> Option<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for name in result.strip_prefix("goto:")?.split(',').filter(|name| *name != "END") {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(case: Value) -> Result<usize, String> {
        match graph(&serde_json::from_value(case).unwrap())? {
            Verdict::Same { deviations } => Ok(deviations),
            Verdict::OutOfDomain => Err("outside the domain".to_owned()),
        }
    }

    /// A node that retries once after 100 ms in a graph that does so twice after 1 s, for errors with this text.
    fn nested(results: &[&str], pattern: &str, expected: Value) -> Value {
        let calls: Vec<_> = results.iter().map(|result| json!({ "result": result })).collect();
        let retry = json!({
            "max_attempts": 2, "initial_delay": 100_000_000, "max_delay": 5_000_000_000_u64, "backoff_factor": 2,
            "config_nil": false, "retryable": "equals transient",
        });
        json!({
            "name": "nested",
            "config": {
                "op": "Invoke",
                "nodes": { "a": calls },
                "policy": { "max_retries": 2, "strategy": "fixed", "retryable_errors": [pattern] },
                "node_retry": { "a": retry },
            },
            "expected": [expected],
        })
    }

    #[test]
    fn exponential_delays_saturate_where_the_original_wraps() {
        let attempts: Vec<u32> = (0..=70).collect();
        let wrapped = |attempt: &u32| 1_i64.checked_shl(*attempt).unwrap_or(0).wrapping_mul(1_000_000_000);
        let recorded: Vec<_> = attempts.iter().map(wrapped).collect();
        let config = json!({ "op": "calculateBackoffDelay", "strategy": "exponential" });
        let mut case = json!({ "name": "wraps", "config": config, "inputs": attempts, "expected": recorded });
        assert_eq!(run(case.clone()), Ok(37));
        case["expected"][33] = json!(1);
        assert!(run(case).is_err());
    }

    #[test]
    fn linear_delays_have_no_limit() {
        let expected: Vec<u64> = (1..=71).map(|second| second * 1_000_000_000).collect();
        let inputs: Vec<u32> = (0..=70).collect();
        let config = json!({ "op": "calculateBackoffDelay", "strategy": "linear" });
        assert_eq!(run(json!({ "name": "linear", "config": config, "inputs": inputs, "expected": expected })), Ok(0));
    }

    #[test]
    fn a_graph_retries_a_whole_node_that_retries_by_itself() {
        let calls = ["transient", "transient", "transient", "transient", "ok"];
        let delays = [100_000_000_u64, 100_000_000, 1_000_000_000, 1_000_000_000];
        let expected = json!({ "calls": { "a": 5 }, "delays_sorted": delays, "error": null, "state": "a" });
        assert_eq!(run(nested(&calls, "max retries (2) exceeded for a", expected)), Ok(0));
    }

    #[test]
    fn the_patterns_of_a_graph_see_the_words_of_the_node() {
        let expected = |calls: usize, delays: &[u64], error: &str| {
            json!({
                "calls": { "a": calls }, "delays_sorted": delays, "error": error,
                "is_graph_interrupt": false, "state": "<nil>",
            })
        };
        let error = "error in node a: non-retryable error in a: fatal";
        let seen = expected(3, &[1_000_000_000, 1_000_000_000], error);
        assert_eq!(run(nested(&["fatal", "fatal", "fatal"], "non-retryable", seen)), Ok(0));
        assert_eq!(run(nested(&["fatal"], "max retries", expected(1, &[], error))), Ok(0));
        let error = "error in node a: max retries (2) exceeded for a: transient";
        let seen = expected(2, &[100_000_000], error);
        assert_eq!(run(nested(&["transient", "transient"], "fatal", seen)), Ok(0));
    }
}
