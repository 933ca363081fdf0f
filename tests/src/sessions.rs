//! Random sessions of the loop machine, with everything a careless host may do: results of old attempts, ticks that come
//! early or twice, inputs after the end, clocks that jump back or to the end of time, extreme policies.

use crate::format::{CallCase, Case, Cases, Document, Event, FailureWord, File, N, StepWord};
use crate::options;
use crate::run;
use holdoff_core::{Failure, FailureKind, Hint, Step};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

/// `count` sessions drawn with `seed`, with the steps that the core takes.
pub fn sessions(seed: u64, count: usize) -> File {
    let mut runner = runner(seed);
    let strategy = session();
    let mut cases = Vec::with_capacity(count);
    while cases.len() < count {
        let Ok(tree) = strategy.new_tree(&mut runner) else { continue };
        let (document, seed, start, moves) = proptest::strategy::ValueTree::current(&tree);
        if let Some(case) = play(cases.len(), document, seed, start, &moves) {
            cases.push(case);
        }
    }
    File::Call(Cases { version: 1, source: format!("random sessions, seed {seed}"), cases })
}

/// What draws everything that is drawn with `seed`.
pub(crate) fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

/// What a random host does next. Times are mostly steps from the latest one, so that sessions get somewhere.
#[derive(Clone, Debug)]
enum Move {
    Succeed { ticket: Which, clock: Clock },
    Fail { ticket: Which, clock: Clock, failure: Failure },
    Tick { clock: Clock },
    Cancel { clock: Clock },
}

#[derive(Clone, Copy, Debug)]
enum Which {
    Awaited,
    Any(u64),
}

#[derive(Clone, Copy, Debug)]
enum Clock {
    Later(u64),
    AtTheNextStep(i8),
    Any(u64),
}

type Session = (Document, u64, (bool, u64), Vec<Move>);

fn session() -> impl Strategy<Value = Session> {
    let start = (any::<bool>(), instant());
    (policy_document(), any::<u64>(), start, prop::collection::vec(one_move(), 1..24))
}

fn instant() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..10_000_000_000u64, 1 => Just(0), 1 => any::<u64>(), 1 => Just(u64::MAX), 1 => Just(u64::MAX - 1)]
}

fn clock() -> impl Strategy<Value = Clock> {
    prop_oneof![
        5 => (0..3_000_000_000u64).prop_map(Clock::Later),
        6 => (-1..=1i8).prop_map(Clock::AtTheNextStep),
        1 => instant().prop_map(Clock::Any),
    ]
}

fn which() -> impl Strategy<Value = Which> {
    let odd = prop_oneof![3 => 0..6u64, 1 => any::<u64>()];
    prop_oneof![9 => Just(Which::Awaited), 1 => odd.prop_map(Which::Any)]
}

pub(crate) fn failure() -> impl Strategy<Value = Failure> {
    let kind = prop_oneof![
        8 => Just(FailureKind::Transient),
        4 => Just(FailureKind::Throttled),
        4 => Just(FailureKind::Timeout),
        1 => Just(FailureKind::Permanent),
    ];
    let hint = prop_oneof![
        12 => Just(Hint::NONE),
        6 => (0..90_000_000_000u64).prop_map(Hint::from_raw),
        1 => any::<u64>().prop_map(Hint::from_raw),
        1 => Just(Hint::NEVER),
    ];
    (kind, hint).prop_map(|(kind, hint)| Failure::new(kind).with_hint(hint))
}

fn one_move() -> impl Strategy<Value = Move> {
    prop_oneof![
        1 => (which(), clock()).prop_map(|(ticket, clock)| Move::Succeed { ticket, clock }),
        12 => (which(), clock(), failure()).prop_map(|(ticket, clock, failure)| Move::Fail { ticket, clock, failure }),
        12 => clock().prop_map(|clock| Move::Tick { clock }),
        1 => clock().prop_map(|clock| Move::Cancel { clock }),
    ]
}

pub(crate) fn span_text() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => (0..30_000u32).prop_map(|ms| json!(format!("{ms}ms"))),
        3 => (0..10_000_000_000u64).prop_map(|ns| json!(format!("{ns}ns"))),
        1 => (0..=i64::MAX as u64).prop_map(|ns| json!(format!("{ns}ns"))),
        1 => (0..9_999u32, 0..999u32).prop_map(|(s, ms)| json!(format!("{s}.{ms}s"))),
        1 => Just(json!("0s")),
    ]
}

/// A factor that JSON carries exactly: shortest decimal forms of doubles are read back to the same bits everywhere.
pub(crate) fn factor(top: f64) -> impl Strategy<Value = Value> {
    prop_oneof![4 => 0.0..=top, 1 => Just(0.0), 1 => Just(1.0), 1 => Just(top)].prop_map(|factor| json!(factor))
}

fn backoff() -> impl Strategy<Value = Value> {
    let exponential = (span_text(), prop_oneof![4 => factor(4.0), 1 => factor(1e300)], prop::option::of(span_text()))
        .prop_map(|(initial, factor, max)| {
            json!({ "kind": "exponential", "initial": initial, "factor": factor, "max": max.unwrap_or(json!("none")) })
        });
    let linear = (span_text(), prop::option::of(span_text())).prop_map(
        |(initial, increment)| json!({ "kind": "linear", "initial": initial, "increment": increment, "max": "none" }),
    );
    let constant = span_text().prop_map(|delay| json!({ "kind": "constant", "delay": delay }));
    let polynomial = (span_text(), factor(4.0)).prop_map(
        |(initial, exponent)| json!({ "kind": "polynomial", "initial": initial, "exponent": exponent, "max": "none" }),
    );
    let list = prop::collection::vec(span_text(), 1..6).prop_map(|delays| json!({ "delays": delays }));
    let named = (prop::sample::select(vec!["fibonacci", "decorrelated", "decorrelated_v2"]), span_text())
        .prop_map(|(kind, initial)| json!({ "kind": kind, "initial": initial, "max": "none" }));
    let cautious = (prop::sample::select(vec!["decorrelated", "decorrelated_v2"]), 0..5_000u32)
        .prop_map(|(kind, ms)| json!({ "kind": kind, "initial": format!("{ms}ms"), "max": "5s" }));
    prop_oneof![
        4 => exponential, 2 => linear, 1 => constant, 1 => polynomial, 1 => list, 1 => named, 1 => cautious
    ]
}

/// One backoff, or stages one after the other; and rules with a backoff for one kind of failure.
fn backoffs() -> impl Strategy<Value = (Value, Vec<Value>)> {
    let on = prop::sample::select(vec!["throttled", "timeout", "transient"]);
    let stage = (backoff(), 1..5u32, prop::option::weighted(0.3, on));
    let chain = (prop::collection::vec(stage, 0..3), backoff()).prop_map(|(stages, last)| {
        let (mut own, mut tables) = (Vec::new(), Vec::<(&str, Vec<Value>)>::new());
        for (mut stage, times, on) in stages {
            if stage.get("delays").is_none() {
                stage["times"] = json!(times);
            }
            match on.map(|on| (on, tables.iter_mut().find(|table| table.0 == on))) {
                None => own.push(stage),
                Some((_, Some((_, stages)))) => stages.push(stage),
                Some((on, None)) => tables.push((on, vec![stage])),
            }
        }
        own.push(last);
        let is_ruled = !tables.is_empty();
        let rules = tables.into_iter().map(|(on, stages)| rule(on, stages)).collect();
        (if is_ruled { one_or_all(own) } else { json!(own) }, rules)
    });
    prop_oneof![3 => backoff().prop_map(|backoff| (backoff, Vec::new())), 1 => chain]
}

/// A rule for a kind of failure, whose backoff has no end, so that it counts nothing for itself.
fn rule(kind: &str, mut stages: Vec<Value>) -> Value {
    if let Some(last) = stages.last_mut() {
        match last.get("delays").and_then(Value::as_array).and_then(|delays| delays.last().cloned()) {
            Some(delay) => stages.push(json!({ "kind": "constant", "delay": delay })),
            None => {
                last.as_object_mut().map(|last| last.remove("times"));
            }
        }
    }
    json!({ "if": { "kinds": [kind] }, "backoff": one_or_all(stages) })
}

fn one_or_all(mut stages: Vec<Value>) -> Value {
    if stages.len() == 1 { stages.remove(0) } else { json!(stages) }
}

fn jitter() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!("none")),
        Just(json!("full")),
        Just(json!("equal")),
        factor(3.0).prop_map(|factor| json!({ "kind": "additive", "factor": factor })),
        factor(1e300).prop_map(|factor| json!({ "kind": "additive", "factor": factor })),
        factor(1.0).prop_map(|factor| json!({ "kind": "proportional", "factor": factor })),
        factor(1.0).prop_map(|factor| json!({ "kind": "subtractive", "factor": factor })),
        span_text().prop_map(|bound| json!({ "kind": "bounded", "bound": bound })),
    ]
}

pub(crate) fn policy_document() -> impl Strategy<Value = Document> {
    let attempts = prop_oneof![6 => (1..12u32).prop_map(|n| json!(n)), 1 => Just(json!("forever")), 1 => Just(json!(4_294_967_294u32))];
    let limit = || prop_oneof![3 => Just(json!("none")), 3 => span_text()];
    let hint = (
        prop::sample::select(vec!["floor", "replace", "ignore", "exact", "at_least"]),
        limit(),
        prop::sample::select(vec!["stop", "clamp"]),
        limit(),
    );
    let hint =
        hint.prop_map(|(mode, max, over, reach)| json!({ "mode": mode, "max": max, "over": over, "reach": reach }));
    let cap = prop::sample::select(vec!["keep_spread", "keep_spread", "before_jitter", "clip"]);
    let on_deadline = prop::sample::select(vec!["stop", "clip"]);
    ((backoffs(), cap), jitter(), attempts, limit(), limit(), prop::option::of(span_text()), on_deadline, hint)
        .prop_map(
            |(((backoff, rules), cap), jitter, attempts, deadline, attempt_timeout, min_attempt, on_deadline, hint)| {
                // A backoff that is its own jitter takes no other.
                let own =
                    rules.is_empty() && backoff["kind"].as_str().is_some_and(|kind| kind.starts_with("decorrelated"));
                let document = json!({
                    "backoff": backoff,
                    "jitter": if own { Value::Null } else { jitter },
                    "cap": cap,
                    "attempts": attempts,
                    "deadline": deadline,
                    "attempt_timeout": attempt_timeout,
                    "min_attempt": min_attempt,
                    "on_deadline": on_deadline,
                    "hint": hint,
                    "rules": if rules.is_empty() { Value::Null } else { json!(rules) },
                });
                match document {
                    Value::Object(fields) => fields.into_iter().filter(|(_, value)| !value.is_null()).collect(),
                    _ => Document::new(),
                }
            },
        )
}

/// Plays the moves against the core, which gives the times they refer to. Nothing when the policy is not valid.
fn play(number: usize, policy: Document, seed: u64, start: (bool, u64), moves: &[Move]) -> Option<Case<CallCase>> {
    let checked = options::policy(&policy).ok()?;
    let (lazily, start) = start;
    let first = if lazily { Event::Underway { started: N(start) } } else { Event::Begin { now: N(start) } };
    let (mut call, mut step) = run::begin(&checked, seed, &first)?;
    let mut events = vec![first];
    let mut steps = vec![step.map(StepWord::from)];
    let mut now = start;
    let mut awaited = 1;
    for one in moves {
        let next = match step {
            Some(Step::Attempt { abort_at, .. }) => abort_at.as_nanos(),
            Some(Step::Sleep { until, .. }) => until.as_nanos(),
            _ => now,
        };
        let mut read = |clock: Clock| {
            now = match clock {
                Clock::Later(by) => now.saturating_add(by),
                Clock::AtTheNextStep(by) => next.saturating_add_signed(i64::from(by)),
                Clock::Any(at) => at,
            };
            N(now)
        };
        let ticket = |which: Which| match which {
            Which::Awaited => N(awaited),
            Which::Any(number) => N(number),
        };
        let event = match *one {
            Move::Succeed { ticket: which, clock } => Event::Succeed { ticket: ticket(which), now: read(clock) },
            Move::Fail { ticket: which, clock, failure } => {
                Event::Fail { ticket: ticket(which), now: read(clock), failure: FailureWord::from(failure) }
            }
            Move::Tick { clock } => Event::Tick { now: read(clock) },
            Move::Cancel { clock } => Event::Cancel { now: read(clock) },
        };
        step = Some(run::next(&mut call, &checked, &event)?);
        if let Some(Step::Attempt { ticket, .. }) = step {
            awaited = ticket.as_raw();
        }
        events.push(event);
        steps.push(step.map(StepWord::from));
    }
    Some(Case::generated(format!("session {number}"), CallCase { policy, seed: N(seed), events, steps }))
}
