//! States saved and resumed: the bytes and the JSON they become, and what the resumed machine decides.
//!
//! The bytes of a case are what every language writes and reads, so that a state saved in one resumes in another.

use crate::format::{Case, Cases, DecisionWord, Document, ErrorWord, Event, FailureAt, FailureWord, File, N, StepWord};
use crate::options;
use crate::run;
use anyhow::{Result, anyhow};
use holdoff_core::{
    Call, Error, ErrorCode, Failure, Hint, Policy, Retry, Saved, Span, Step, Timestamp, Value as Setting,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// A state and what becomes of it.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "machine", rename_all = "snake_case")]
pub enum SaveCase {
    /// Of the machine for one failure at a time.
    Retry(SavedRetry),
    /// Of the loop machine.
    Call(SavedCall),
}

/// Failures, a move to another clock, and the decisions about the failures after it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct SavedRetry {
    /// The policy.
    pub policy: Document,
    /// The seed.
    pub seed: N,
    /// When the first attempt began.
    pub started: N,
    /// What failed before, and when.
    pub failures: Vec<FailureAt>,
    /// When the state is saved.
    pub saved_at: N,
    /// The state as bytes, in hexadecimal.
    pub bytes: String,
    /// The state as JSON.
    pub json: Document,
    /// When it is resumed, on the other clock.
    pub resumed_at: N,
    /// What fails then.
    pub then: Vec<FailureAt>,
    /// What the machine says to each.
    pub decisions: Vec<DecisionWord>,
}

/// A session, a move to another clock, and the steps after it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct SavedCall {
    /// The policy.
    pub policy: Document,
    /// The seed.
    pub seed: N,
    /// What happens before.
    pub events: Vec<Event>,
    /// When the state is saved.
    pub saved_at: N,
    /// The state as bytes, in hexadecimal.
    pub bytes: String,
    /// The state as JSON.
    pub json: Document,
    /// When it is resumed, on the other clock.
    pub resumed_at: N,
    /// What happens then.
    pub then: Vec<Event>,
    /// What the machine says to each.
    pub steps: Vec<StepWord>,
}

/// A state that a machine is to resume from, and what is wrong with it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct ResumeCase {
    /// "retry" or "call".
    pub machine: String,
    /// The policy.
    pub policy: Document,
    /// Whether another policy is no error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
    /// The state as bytes, in hexadecimal; none when it is given as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// The state as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json: Option<Document>,
    /// The error it must give; none for a state that is right.
    pub error: Option<ErrorWord>,
}

fn at(n: N) -> Timestamp {
    Timestamp::from_nanos(n.0)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16).map(|digit| digit as u8);
    text.as_bytes().chunks(2).map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

/// Feeds a state the fields of its JSON, as every host does.
fn read(json: &Document) -> Result<Saved, ErrorWord> {
    let mut saved = Saved::EMPTY;
    for (name, value) in json {
        let setting = match value {
            Value::Null => Setting::Nothing,
            Value::String(text) => Setting::Text(text),
            Value::Number(number) => Setting::Number { value: number.as_f64().unwrap_or(f64::NAN), unit: 1.0 },
            _ => Setting::Other,
        };
        saved.set(name, setting).map_err(|error| word(&error, name))?;
    }
    Ok(saved)
}

fn word(error: &Error, given: &str) -> ErrorWord {
    ErrorWord {
        code: error.code.code(),
        name: error.code.name().to_owned(),
        path: if error.code == ErrorCode::UnknownStateField { given } else { error.name }.to_owned(),
        nearest: error.nearest.map(str::to_owned),
    }
}

fn written(saved: &Saved) -> Document {
    serde_json::from_str(&saved.to_string()).unwrap_or_default()
}

fn policy(document: &Document) -> Result<Policy, String> {
    options::policy(document).map_err(|error| format!("the policy is refused: {error:?}"))
}

/// Saves and resumes a state by its bytes and by its JSON.
pub fn save(case: &SaveCase) -> Result<(), String> {
    match case {
        SaveCase::Retry(case) => {
            let policy = policy(&case.policy)?;
            let saved = retry(case, &policy)?.saved(&policy, at(case.saved_at));
            let [by_bytes, by_json] = states(&saved, &case.bytes, &case.json)?;
            for state in [by_bytes, by_json] {
                let retry = state.retry(&policy, at(case.resumed_at)).map_err(|error| error.to_string())?;
                run::all_same(&case.decisions, &decided(retry, &policy, &case.then)?)?;
            }
            Ok(())
        }
        SaveCase::Call(case) => {
            let policy = policy(&case.policy)?;
            let saved = call(case, &policy)?.saved(&policy, at(case.saved_at));
            let [by_bytes, by_json] = states(&saved, &case.bytes, &case.json)?;
            for state in [by_bytes, by_json] {
                let mut call = state.call(&policy, at(case.resumed_at)).map_err(|error| error.to_string())?;
                let step =
                    |event| run::next(&mut call, &policy, event).map(StepWord::from).ok_or("an event makes no sense");
                run::all_same(&case.steps, &case.then.iter().map(step).collect::<Result<Vec<_>, _>>()?)?;
            }
            Ok(())
        }
    }
}

/// The state that a case's bytes are and the one that its JSON is, after a look at what the machine makes.
fn states(saved: &Saved, bytes: &str, json: &Document) -> Result<[Saved; 2], String> {
    let (made, length) = saved.to_bytes().map_err(|error| error.to_string())?;
    run::same(&bytes.to_owned(), &hex(made.get(..length).unwrap_or_default()))?;
    run::same(json, &written(saved))?;
    let given = unhex(bytes).ok_or("the bytes are not hexadecimal")?;
    let by_bytes = Saved::from_bytes(&given).map_err(|error| error.to_string())?;
    let by_json = read(json).map_err(|error| format!("{error:?}"))?;
    run::same(&by_bytes, &by_json)?;
    Ok([by_bytes, by_json])
}

fn retry(case: &SavedRetry, policy: &Policy) -> Result<Retry, String> {
    let mut retry = Retry::new(case.seed.0, at(case.started));
    for one in &case.failures {
        retry.on_failure(policy, at(one.now), one.failure.failure().ok_or("an unknown failure kind")?);
    }
    Ok(retry)
}

fn decided(mut retry: Retry, policy: &Policy, then: &[FailureAt]) -> Result<Vec<DecisionWord>, String> {
    let mut decide = |one: &FailureAt| {
        let failure = one.failure.failure().ok_or("an unknown failure kind")?;
        Ok(retry.on_failure(policy, at(one.now), failure).into())
    };
    then.iter().map(&mut decide).collect()
}

fn call(case: &SavedCall, policy: &Policy) -> Result<Call, String> {
    let (first, rest) = case.events.split_first().ok_or("a call begins")?;
    let (mut call, _) = run::begin(policy, case.seed.0, first).ok_or("the first event is no beginning")?;
    for event in rest {
        run::next(&mut call, policy, event).ok_or("an event makes no sense")?;
    }
    Ok(call)
}

/// Resumes from a state that may be wrong.
pub fn resume(case: &ResumeCase) -> Result<(), String> {
    let policy = policy(&case.policy)?;
    let error = match (&case.bytes, &case.json) {
        (Some(bytes), None) => {
            let bytes = unhex(bytes).ok_or("the bytes are not hexadecimal")?;
            Saved::from_bytes(&bytes).map_err(|error| word(&error, ""))
        }
        (None, Some(json)) => read(json),
        _ => return Err("a state is bytes or JSON".to_owned()),
    }
    .and_then(|saved| {
        let saved = if case.forced { saved.forced(&policy) } else { saved };
        let resumed = match case.machine.as_str() {
            "retry" => saved.retry(&policy, Timestamp::ZERO).map(|_| ()),
            _ => saved.call(&policy, Timestamp::ZERO).map(|_| ()),
        };
        resumed.map_err(|error| word(&error, ""))
    })
    .err();
    run::same(&case.error, &error)
}

fn fields(value: Value) -> Document {
    match value {
        Value::Object(fields) => fields,
        _ => Document::new(),
    }
}

/// Every kind of backoff state, under the limits that depend on elapsed time.
fn policies() -> Vec<Value> {
    let steps = json!([
        { "kind": "constant", "delay": "1s", "times": 2 },
        { "kind": "exponential", "initial": "2s", "factor": 1.5, "max": "9s" },
    ]);
    let rules = json!([{ "if": { "kinds": ["throttled"] }, "backoff": { "kind": "constant", "delay": "5s" } }]);
    vec![
        json!({ "attempts": 6 }),
        json!({ "backoff": { "kind": "linear", "initial": "500ms", "max": "none" }, "jitter": "none", "attempts": 9, "deadline": "20s" }),
        json!({ "backoff": steps, "rules": rules, "jitter": { "kind": "proportional", "factor": 0.25 }, "attempts": "forever" }),
        json!({ "backoff": { "kind": "decorrelated", "initial": "700ms", "max": "8s" }, "attempts": 9, "deadline": "15s", "min_attempt": "2s", "on_deadline": "clip" }),
        json!({ "backoff": { "kind": "decorrelated_v2", "initial": "1s", "max": "30s" }, "attempts": 9, "attempt_timeout": "3s" }),
        json!({ "backoff": { "kind": "fibonacci", "initial": "333ms", "max": "none" }, "jitter": "equal", "attempts": 4, "deadline": "1h" }),
    ]
}

/// Where the clocks stand: the same time, a clock that began anew, one that is far ahead, one that is nearly over.
const CLOCKS: [u64; 4] = [12_000_000_000, 0, 1 << 60, u64::MAX - 30_000_000_000];

fn failure(number: usize) -> Failure {
    let asked = Hint::after(Span::from_millis(1500));
    let failures = [Failure::TRANSIENT, Failure::THROTTLED, Failure::TIMEOUT.with_hint(asked)];
    failures[number % failures.len()]
}

fn generated(name: String, case: SaveCase) -> Case<SaveCase> {
    Case::generated(name, case)
}

/// States of both machines after every number of failures, moved to clocks of every sort.
pub fn cases() -> Result<File> {
    let mut found = Vec::new();
    for (number, document) in policies().into_iter().enumerate() {
        let document = fields(document);
        let policy = options::policy(&document).map_err(|error| anyhow!("{error:?}"))?;
        for failures in 0..5 {
            let resumed_at = CLOCKS[(number + failures) % CLOCKS.len()];
            let case = saved_retry(&document, &policy, failures, resumed_at)?;
            let name = format!("policy {number}, {failures} failures, resumed at {resumed_at}");
            found.push(generated(name, SaveCase::Retry(case)));
        }
        for (moment, resumed_at) in MOMENTS.into_iter().zip(CLOCKS.into_iter().cycle().skip(number)) {
            let case = saved_call(&document, &policy, moment, resumed_at)?;
            let name = format!("policy {number}, {moment:?}, resumed at {resumed_at}");
            found.push(generated(name, SaveCase::Call(case)));
        }
    }
    let source = "generated by `cargo xtask generate` from the core".to_owned();
    Ok(File::Save(Cases { version: 1, source, cases: found }))
}

fn saved_retry(document: &Document, policy: &Policy, failures: usize, resumed_at: u64) -> Result<SavedRetry> {
    let one = |number: usize, now: u64| FailureAt { now: N(now), failure: FailureWord::from(failure(number)) };
    let mut case = SavedRetry {
        policy: document.clone(),
        seed: N(0x9e37_79b9_7f4a_7c15 ^ failures as u64),
        started: N(10_000_000_000),
        failures: (0..failures).map(|number| one(number, 10_500_000_000 + 1_700_000_000 * number as u64)).collect(),
        // Later than the latest failure, or before it: a clock that ran backwards.
        saved_at: N(if failures == 3 { 11_000_000_000 } else { 10_900_000_001 + 1_700_000_000 * failures as u64 }),
        bytes: String::new(),
        json: Document::new(),
        resumed_at: N(resumed_at),
        then: (failures..failures + 4)
            .zip(1..)
            .map(|(number, step)| one(number, resumed_at.saturating_add(2_000_000_000 * step)))
            .collect(),
        decisions: Vec::new(),
    };
    let before = retry(&case, policy).map_err(|error| anyhow!(error))?;
    let saved = before.saved(policy, at(case.saved_at));
    (case.bytes, case.json) = (hex(&before.save(policy, at(case.saved_at))), written(&saved));
    let resumed = saved.retry(policy, at(case.resumed_at))?;
    case.decisions = decided(resumed, policy, &case.then).map_err(|error| anyhow!(error))?;
    Ok(case)
}

/// What a call is doing when it is saved.
#[derive(Clone, Copy, Debug)]
enum Moment {
    Running,
    Asleep,
    Overslept,
    RunningAgain,
    Succeeded,
    Cancelled,
    GaveUp,
}

const MOMENTS: [Moment; 7] = [
    Moment::Running,
    Moment::Asleep,
    Moment::Overslept,
    Moment::RunningAgain,
    Moment::Succeeded,
    Moment::Cancelled,
    Moment::GaveUp,
];

fn saved_call(document: &Document, policy: &Policy, moment: Moment, resumed_at: u64) -> Result<SavedCall> {
    let began = 5_000_000_000;
    let failed = 5_400_000_000;
    let fail =
        |ticket, now, failure| Event::Fail { ticket: N(ticket), now: N(now), failure: FailureWord::from(failure) };
    let first = fail(1, failed, failure(0));
    let late = failed + 6_000_000_000;
    let begin = Event::Begin { now: N(began) };
    let (events, saved_at) = match moment {
        Moment::Running => (vec![begin], failed),
        Moment::Asleep => (vec![begin, first], failed + 1_000),
        Moment::Overslept => (vec![begin, first], late),
        Moment::RunningAgain => (vec![begin, first, Event::Tick { now: N(late) }], late + 7),
        Moment::Succeeded => (vec![begin, Event::Succeed { ticket: N(1), now: N(failed) }], late),
        Moment::Cancelled => (vec![begin, first, Event::Cancel { now: N(late) }], late),
        Moment::GaveUp => {
            let asked = Failure::THROTTLED.with_hint(Hint::after(Span::from_secs(90)));
            (vec![begin, fail(1, failed, asked)], failed + 30_000_000_000)
        }
    };
    let mut case = SavedCall {
        policy: document.clone(),
        seed: N(42),
        events,
        saved_at: N(saved_at),
        bytes: String::new(),
        json: Document::new(),
        resumed_at: N(resumed_at),
        then: Vec::new(),
        steps: Vec::new(),
    };
    let before = call(&case, policy).map_err(|error| anyhow!(error))?;
    let saved = before.saved(policy, at(case.saved_at));
    (case.bytes, case.json) = (hex(&before.save(policy, at(case.saved_at))), written(&saved));
    let mut resumed = saved.call(policy, at(case.resumed_at))?;
    let mut event = Event::Tick { now: case.resumed_at };
    let mut now = resumed_at;
    for number in 0..6 {
        let step = run::next(&mut resumed, policy, &event).ok_or_else(|| anyhow!("an event that makes sense"))?;
        case.then.push(event);
        case.steps.push(step.into());
        event = match step {
            Step::Attempt { ticket, .. } => {
                now = now.saturating_add(250_000_000);
                fail(ticket.as_raw(), now, failure(number))
            }
            Step::Sleep { until, .. } => {
                now = until.as_nanos();
                Event::Tick { now: N(now) }
            }
            Step::Wait { .. } | Step::Stop(_) => break,
        };
    }
    Ok(case)
}
