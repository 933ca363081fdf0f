//! Logs of calls: `log` files, what a recorder writes, and `replay` files, what a log makes.

use crate::format::{Case, Cases, Document, FailureWord, File, N, StepWord};
use crate::guarded::{Owned, guards};
use crate::options;
use crate::run::{all_same, same};
use crate::sessions::{policy_document, runner};
use holdoff_core::{
    Error, ErrorCode, Event, EventKind, EventReader, Failure, FailureKind, Hint, Notes, Options, Policy, Recorded,
    Recorder, Replay, ReplayError, ReplayMode, Step, Subject, Ticket, Timestamp, Value as Setting, ValueOwner,
};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json as object};

/// What happens to a recorded call, and its log.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct LogCase {
    /// The policy, and the guards in its sections.
    pub policy: Document,
    /// The seed of the call, and of the guards that draw.
    pub seed: N,
    /// The name of the task, lent to the JSON of every event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What happens.
    pub inputs: Vec<LogInput>,
    /// What the machine says to each.
    pub steps: Vec<StepWord>,
    /// All events as JSON.
    pub events: Vec<Value>,
    /// All events as bytes, in hexadecimal.
    pub bytes: String,
    /// When the call is saved at last.
    pub saved_at: N,
    /// The call as saved bytes, in hexadecimal.
    pub saved: String,
}

/// An input of a recorded call.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs, reason = "`ticket`, `now` and `text` mean the same in each")]
pub enum LogInput {
    /// The call begins.
    Begin { now: N },
    /// An attempt succeeded.
    Succeed { ticket: N, now: N },
    /// An attempt failed, with that text.
    Fail {
        ticket: N,
        now: N,
        failure: FailureWord,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// An attempt ended in a fault of the caller's own, with that text.
    Abandon {
        ticket: N,
        now: N,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
    },
    /// Time has passed.
    Tick { now: N },
    /// The caller cancels.
    Cancel { now: N },
    /// The process is gone. Another one reads the log's bytes, makes guards of its own and resumes.
    Resume { now: N, reruns: u32 },
}

/// A log, and the call that it makes.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct ReplayCase {
    /// The policy, and the guards in its sections.
    pub policy: Document,
    /// "follow" or "verify".
    pub mode: String,
    /// Whether another policy is no error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_policy: bool,
    /// The log as JSON; none when it is given as bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<Document>>,
    /// The log as bytes, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<String>,
    /// The error it must give; none for a log that is right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<LogError>,
    /// The call that it makes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    /// How it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
}

/// What is wrong with a log.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct LogError {
    /// The number.
    pub code: u16,
    /// The word.
    pub name: String,
    /// The event.
    pub sequence: u64,
    /// What the policy says in its place, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub computed: Option<Value>,
}

/// What a recorder shows.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct State {
    /// The step that holds.
    pub step: StepWord,
    /// The number of its latest event.
    pub sequence: u64,
    /// The attempt in flight, or the last that ran.
    pub attempt: u32,
    /// How often that was run again.
    pub reruns: u32,
    /// When the call is saved.
    pub saved_at: N,
    /// The call as saved bytes, in hexadecimal.
    pub saved: String,
}

/// How a call goes on, under new guards.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub struct Resume {
    /// When.
    pub now: N,
    /// How often an interrupted attempt runs again.
    pub reruns: u32,
    /// What the machine says.
    pub step: StepWord,
    /// The events of it, as JSON.
    pub events: Vec<Value>,
    /// The call after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
}

fn at(n: N) -> Timestamp {
    Timestamp::from_nanos(n.0)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Result<Vec<u8>, String> {
    let byte = |at| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (0..text.len()).step_by(2).map(byte).collect::<Option<_>>().ok_or_else(|| "not hexadecimal".to_owned())
}

fn json(event: &Event, notes: &Notes<'_>) -> Result<Value, String> {
    serde_json::from_str(&event.json(notes).to_string()).map_err(|error| error.to_string())
}

/// An event from the fields of its JSON, as every host reads it, and its texts.
fn read(fields: &Document) -> Result<(Event, Option<String>, Option<String>), Error> {
    let mut event = Event::EMPTY;
    let (mut task, mut failure) = (None, None);
    let mut set = |name: &str, value: &Value| {
        let setting = match value {
            Value::Null => Setting::Nothing,
            Value::String(text) => Setting::Text(text),
            Value::Number(number) => match number.as_u64() {
                Some(whole) => Setting::Nanos(whole),
                None => Setting::Number { value: number.as_f64().unwrap_or(f64::NAN), unit: 1.0 },
            },
            _ => Setting::Other,
        };
        match event.set(name, setting)? {
            ValueOwner::Event => {}
            ValueOwner::Task => task = value.as_str().map(str::to_owned),
            ValueOwner::Failure => failure = value.as_str().map(str::to_owned),
        }
        Ok(())
    };
    for (name, value) in fields {
        match value.as_object().filter(|_| name == "payload") {
            Some(payload) => {
                payload.iter().try_for_each(|(name, value)| set(&format!("payload.{name}"), value))?;
            }
            None => set(name, value)?,
        }
    }
    Ok((event.check()?, task, failure))
}

/// What a host keeps of a call: its log in both forms.
#[derive(Default)]
struct Written {
    events: Vec<Value>,
    bytes: Vec<u8>,
}

impl Written {
    fn write(&mut self, said: &Recorded, task: Option<&str>, failure: Option<&str>) -> Result<Step, String> {
        for event in said.events.iter() {
            self.events.push(json(event, &Notes { task, failure })?);
            let text = failure.filter(|_| event.kind() == EventKind::AttemptFailed).unwrap_or_default();
            let mut room = vec![0; Event::MOST_BYTES + text.len()];
            let length = event.to_bytes(text, &mut room).ok_or("there is room")?;
            self.bytes.extend_from_slice(&room[..length]);
        }
        Ok(said.step)
    }
}

/// A recorded call, its guards and its log.
struct Session {
    policy: Policy,
    builder: Options,
    seed: u64,
    guards: Owned,
    call: Recorder,
    log: Written,
}

impl Session {
    fn begin(document: &Document, seed: u64, now: N, task: Option<&str>) -> Result<(Self, Step), String> {
        let (policy, builder) = options::guarded(document).map_err(|error| format!("refused: {error:?}"))?;
        let mut guards = Owned::new(&builder, seed, at(now)).map_err(|error| error.to_string())?;
        let (call, said) = Recorder::begin(&policy, &mut guards.lend(), seed, at(now));
        let mut log = Written::default();
        let step = log.write(&said, task, None)?;
        Ok((Self { policy, builder, seed, guards, call, log }, step))
    }

    fn put(&mut self, input: &LogInput, task: Option<&str>) -> Result<Step, String> {
        let Self { policy, builder, seed, guards, call, log } = self;
        let ticket = |ticket: &N| Ticket::from_raw(ticket.0);
        let (said, text) = match input {
            LogInput::Begin { .. } => return Err("a call begins once".to_owned()),
            LogInput::Succeed { ticket: of, now } => (call.succeed(&mut guards.lend(), ticket(of), at(*now)), None),
            LogInput::Fail { ticket: of, now, failure, text } => {
                let failure = failure.failure().ok_or("no such kind of failure")?;
                (call.fail(policy, &mut guards.lend(), ticket(of), at(*now), failure), text.as_deref())
            }
            LogInput::Abandon { ticket: of, now, text } => {
                (call.abandon(&mut guards.lend(), ticket(of), at(*now)), text.as_deref())
            }
            LogInput::Tick { now } => (call.tick(policy, &mut guards.lend(), at(*now)), None),
            LogInput::Cancel { now } => (call.cancel(&mut guards.lend(), at(*now)), None),
            LogInput::Resume { now, reruns } => {
                let replayed =
                    replayed(policy, &log.bytes, ReplayMode::Verify, false).map_err(|error| error.to_string())?;
                same(&replayed.call(), &call.call())?;
                *call = replayed;
                *guards = Owned::new(builder, *seed, at(*now)).map_err(|error| error.to_string())?;
                (call.resume(policy, &mut guards.lend(), at(*now), *reruns), None)
            }
        };
        log.write(&said, task, text)
    }
}

/// What is wrong with an event or a log.
enum Wrong {
    Event(Error),
    Log(Box<ReplayError>),
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Event(error) => error.fmt(f),
            Self::Log(error) => error.fmt(f),
        }
    }
}

fn replayed(policy: &Policy, bytes: &[u8], mode: ReplayMode, any_policy: bool) -> Result<Recorder, Wrong> {
    replay(policy, EventReader::new(bytes).map(|read| read.map(|(event, _)| event)), mode, any_policy)
}

fn replay(
    policy: &Policy,
    events: impl Iterator<Item = Result<Event, Error>>,
    mode: ReplayMode,
    any_policy: bool,
) -> Result<Recorder, Wrong> {
    let mut replay = if any_policy { Replay::new(mode).any_policy() } else { Replay::new(mode) };
    for event in events {
        let expected = |mut error: Error| {
            if error.sequence() == 0 {
                error.subject = Subject::Event(replay.expected());
            }
            error
        };
        let event = event.map_err(expected).map_err(Wrong::Event)?;
        replay.apply(policy, &event).map_err(Box::new).map_err(Wrong::Log)?;
    }
    replay.finish().map_err(Box::new).map_err(Wrong::Log)
}

/// What a case's inputs lead to: its expectations as they should be.
fn played(case: &LogCase) -> Result<LogCase, String> {
    let Some((LogInput::Begin { now }, rest)) = case.inputs.split_first() else {
        return Err("a call begins with `begin`".to_owned());
    };
    let task = case.task.as_deref();
    let (mut session, first) = Session::begin(&case.policy, case.seed.0, *now, task)?;
    let mut steps = vec![first.into()];
    for input in rest {
        steps.push(session.put(input, task)?.into());
    }
    let Session { policy, call, log, .. } = session;
    let back = replayed(&policy, &log.bytes, ReplayMode::Verify, false).map_err(|error| error.to_string())?;
    same(&call.call(), &back.call())?;
    for (fields, bytes) in log.events.iter().zip(EventReader::new(&log.bytes)) {
        let fields = fields.as_object().ok_or("an event is an object")?;
        let (event, of, text) = read(fields).map_err(|error| error.to_string())?;
        let (other, other_text) = bytes.map_err(|error| error.to_string())?;
        same(&other, &event)?;
        same(&task.map(str::to_owned), &of)?;
        if event.kind() == EventKind::AttemptFailed {
            same(&text.unwrap_or_default(), &other_text.to_owned())?;
        }
    }
    let saved = hex(&call.call().save(&policy, at(case.saved_at)));
    Ok(LogCase { steps, events: log.events, bytes: hex(&log.bytes), saved, ..case.clone() })
}

/// Runs a case of what a recorder writes.
pub fn log(case: &LogCase) -> Result<(), String> {
    let got = played(case)?;
    all_same(&case.steps, &got.steps)?;
    let lines = |events: &[Value]| events.iter().map(Value::to_string).collect::<Vec<_>>();
    all_same(&lines(&case.events), &lines(&got.events))?;
    same(&case.bytes, &got.bytes)?;
    same(&case.saved, &got.saved)
}

fn shown(policy: &Policy, call: &Recorder, saved_at: N) -> State {
    State {
        step: call.step().into(),
        sequence: call.sequence(),
        attempt: call.attempt(),
        reruns: call.reruns(),
        saved_at,
        saved: hex(&call.call().save(policy, at(saved_at))),
    }
}

fn word(code: ErrorCode, sequence: u64, computed: Option<Value>) -> LogError {
    LogError { code: code.code(), name: code.name().to_owned(), sequence, computed }
}

/// Runs a case of what a log makes.
pub fn run(case: &ReplayCase) -> Result<(), String> {
    let (policy, builder) = options::guarded(&case.policy).map_err(|error| format!("refused: {error:?}"))?;
    let mode = ReplayMode::ALL.into_iter().find(|mode| mode.name() == case.mode).ok_or("no such mode")?;
    let made = match (&case.events, &case.bytes) {
        (Some(events), None) => {
            let events = events.iter().map(|fields| read(fields).map(|(event, ..)| event));
            replay(&policy, events, mode, case.any_policy)
        }
        (None, Some(bytes)) => replayed(&policy, &unhex(bytes)?, mode, case.any_policy),
        _ => return Err("a log is either events or bytes".to_owned()),
    };
    let mut call = match made {
        Ok(call) => call,
        Err(wrong) => {
            let error = match wrong {
                Wrong::Event(error) => word(error.code, error.sequence(), None),
                Wrong::Log(error) => {
                    let computed = error.computed.map(|event| json(&event, &Notes::default())).transpose()?;
                    word(error.code, error.sequence, computed)
                }
            };
            return same(&case.error, &Some(error));
        }
    };
    same(&case.error, &None)?;
    if let Some(state) = &case.state {
        same(state, &shown(&policy, &call, state.saved_at))?;
    }
    let Some(resume) = &case.resume else { return Ok(()) };
    let mut guards = Owned::new(&builder, 0, at(resume.now)).map_err(|error| error.to_string())?;
    let said = call.resume(&policy, &mut guards.lend(), at(resume.now), resume.reruns);
    same(&resume.step, &said.step.into())?;
    let events = said.events.iter().map(|event| json(event, &Notes::default())).collect::<Result<Vec<_>, _>>()?;
    all_same(&resume.events, &events)?;
    resume.state.as_ref().map_or(Ok(()), |state| same(state, &shown(&policy, &call, state.saved_at)))
}

#[derive(Clone, Debug)]
enum What {
    Succeed,
    Fail(FailureWord, Option<String>),
    Abandon,
    Tick,
    Cancel,
    Resume(u32),
}

/// A random thing that happens: which attempt it says it is of, where that is not the right one, and when.
type Move = (What, Option<u64>, Option<u64>);

/// A failure that most calls go on after.
fn failure() -> impl Strategy<Value = Failure> {
    let kind = prop_oneof![
        6 => Just(FailureKind::Transient),
        3 => Just(FailureKind::Throttled),
        3 => Just(FailureKind::Timeout),
    ];
    let hint = prop_oneof![
        16 => Just(Hint::NONE),
        6 => (0..3_000_000_000_u64).prop_map(Hint::from_raw),
        1 => (0..90_000_000_000_u64).prop_map(Hint::from_raw),
        1 => Just(Hint::NEVER),
    ];
    let any = (kind, hint).prop_map(|(kind, hint)| Failure::new(kind).with_hint(hint));
    prop_oneof![19 => any, 1 => Just(Failure::PERMANENT)]
}

fn one_move() -> impl Strategy<Value = Move> {
    let text = prop::option::weighted(0.7, prop_oneof![Just("boom".to_owned()), "[a-z \"\\\\\u{e4}\u{20ac}]{0,24}"]);
    let what = prop_oneof![
        1 => Just(What::Succeed),
        12 => (failure(), text).prop_map(|(failure, text)| What::Fail(failure.into(), text)),
        1 => Just(What::Abandon),
        12 => Just(What::Tick),
        1 => Just(What::Cancel),
        5 => (0..3_u32).prop_map(What::Resume),
    ];
    let ticket = prop::option::weighted(0.05, 0..6_u64);
    let later = prop_oneof![5 => Just(None), 4 => (0..2_000_000_000_u64).prop_map(Some)];
    (what, ticket, later)
}

/// The policies of random logs.
const KNOWN: &str = include_str!("../vectors/holdoff/log_policies.json");

/// Guards that one call alone is refused by.
fn tight() -> Vec<Document> {
    let sections = [
        object!({ "breaker": { "failures": 1, "open_for": "700ms", "refusal": "wait" } }),
        object!({ "breaker": { "failures": 2, "open_for": "5s", "refusal": "stop" } }),
        object!({ "limiter": { "kind": "window", "limit": 1, "per": "3s", "refusal": "wait" } }),
        object!({ "limiter": { "kind": "gcra", "limit": 1, "per": "1s", "burst": 2, "refusal": "stop" } }),
        object!({ "adaptive": { "kind": "aimd", "initial_rate": 1, "refusal": "wait" } }),
        object!({ "budget": { "kind": "token", "capacity": 10, "cost": 5 } }),
        object!({ "budget": { "kind": "requests", "k": 1.1 }, "bulkhead": 1 }),
        object!({ "stretch": { "factor": 4, "min_calls": 1 } }),
    ];
    sections.into_iter().filter_map(|section| section.as_object().cloned()).collect()
}

/// `count` random logs drawn with `seed`, half of them under guards.
pub fn logs(seed: u64, count: usize) -> File {
    let mut runner = runner(seed);
    let known: Vec<Document> = serde_json::from_str(KNOWN).unwrap_or_default();
    let document = prop_oneof![2 => prop::sample::select(known), 1 => policy_document()];
    let sections = prop::option::weighted(0.5, prop_oneof![2 => prop::sample::select(tight()), 1 => guards()]);
    let start = 1_700_000_000_000_000_000..1_700_000_001_000_000_000_u64;
    let moves = prop::collection::vec(one_move(), 4..20);
    let task = prop::option::weighted(0.8, Just("charge".to_owned()));
    let strategy = (document, sections, any::<u64>(), start, task, moves);
    let mut cases: Vec<Case<LogCase>> = Vec::with_capacity(count);
    while cases.len() < count {
        let Ok(tree) = strategy.new_tree(&mut runner) else { continue };
        let (mut policy, sections, seed, start, task, moves) = proptest::strategy::ValueTree::current(&tree);
        policy.extend(sections.unwrap_or_default());
        if let Ok(case) = random(policy, seed, start, task, &moves) {
            cases.push(Case::generated(format!("log {}", cases.len()), case));
        }
    }
    File::Log(Cases { version: 1, source: format!("random logs, seed {seed}"), cases })
}

fn random(policy: Document, seed: u64, start: u64, task: Option<String>, moves: &[Move]) -> Result<LogCase, String> {
    let (mut session, mut step) = Session::begin(&policy, seed, N(start), task.as_deref())?;
    let mut inputs = vec![LogInput::Begin { now: N(start) }];
    let mut now = start;
    for (what, ticket, later) in moves {
        now = match (step, later) {
            (_, Some(later)) => now.saturating_add(*later),
            (Step::Sleep { until, .. }, None) => now.max(until.as_nanos()),
            _ => now,
        };
        let ticket = N(ticket.unwrap_or_else(|| session.call.attempt().into()));
        let at = N(now);
        let asleep = matches!(step, Step::Sleep { .. }) && later.is_none();
        let input = match what {
            What::Fail(..) | What::Succeed if asleep => LogInput::Tick { now: at },
            What::Succeed => LogInput::Succeed { ticket, now: at },
            What::Fail(failure, text) => {
                LogInput::Fail { ticket, now: at, failure: failure.clone(), text: text.clone() }
            }
            What::Abandon => LogInput::Abandon { ticket, now: at, text: Some("a fault".to_owned()) },
            What::Tick => LogInput::Tick { now: at },
            What::Cancel => LogInput::Cancel { now: at },
            What::Resume(reruns) => LogInput::Resume { now: at, reruns: *reruns },
        };
        step = session.put(&input, task.as_deref())?;
        inputs.push(input);
    }
    let case = LogCase {
        policy,
        seed: N(seed),
        task,
        inputs,
        steps: Vec::new(),
        events: Vec::new(),
        bytes: String::new(),
        saved_at: N(now),
        saved: String::new(),
    };
    played(&case)
}
