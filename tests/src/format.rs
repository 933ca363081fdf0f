//! The vector files as types: what is written is what is read.

use crate::adaptives::{AdaptiveCase, LatencyCase, StretchCase};
use crate::breakers::{BreakerCase, WindowCase};
use crate::budgets::BudgetCase;
use crate::chaos::ChaosCase;
use crate::gates::GateCase;
use crate::guarded::GuardedCase;
use crate::hints::HintCase;
use crate::layers::LayeredCase;
use crate::limiters::{BulkheadCase, LimiterCase};
use crate::logs::{LogCase, ReplayCase};
use crate::loop_backoffs::LoopBackoffCase;
use crate::nestings::NestedCase;
use crate::saves::{ResumeCase, SaveCase};
use crate::traces::TraceCase;
use crate::wheel::WheelCase;
use holdoff_core::{Cause, Decision, Failure, FailureKind, Hint, Outcome, Step, StopReason, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Map, Value};

/// The largest integer that every JSON reader keeps exactly.
const EXACT: u64 = 1 << 53;

/// A number of 64 bits: a JSON number up to 2^53, else decimal text; 2^64-1 is the word "never".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct N(pub u64);

impl Serialize for N {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            u64::MAX => out.serialize_str("never"),
            n if n <= EXACT => out.serialize_u64(n),
            n => out.serialize_str(&n.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for N {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let number = match Value::deserialize(input)? {
            Value::String(text) if text == "never" => Some(u64::MAX),
            Value::String(text) => text.parse().ok(),
            Value::Number(number) => number.as_u64().or_else(|| whole(number.as_f64()?)),
            _ => None,
        };
        number.map(Self).ok_or_else(|| de::Error::custom("a whole number below 2^64, or \"never\""))
    }
}

/// A whole number that is written with a fraction of nothing.
fn whole(real: f64) -> Option<u64> {
    (real.fract() == 0.0 && (0.0..=EXACT as f64).contains(&real)).then_some(real as u64)
}

/// A file of cases of one kind.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum File {
    /// Sessions of the loop machine.
    Call(Cases<CallCase>),
    /// Decisions of the machine for one failure at a time.
    Retry(Cases<RetryCase>),
    /// The delays of a policy.
    Schedule(Cases<ScheduleCase>),
    /// The delays of a policy when the draws are known.
    Backoff(Cases<BackoffCase>),
    /// Policy documents, good and bad.
    Policy(Cases<PolicyCase>),
    /// What an HTTP answer means.
    Http(Cases<HttpCase>),
    /// What header lines say about when to come back.
    Hint(Cases<HintCase>),
    /// Text that is a duration, or is not.
    Duration(Cases<DurationCase>),
    /// Seeds of a seeded program's operations.
    Seed(Cases<SeedCase>),
    /// What a document's rules make of errors.
    Classify(Cases<ClassifyCase>),
    /// Texts of policy documents, good and bad.
    Document(Cases<DocumentCase>),
    /// Texts in the forms of other systems, good and bad.
    Form(Cases<FormCase>),
    /// What is said about policies.
    Explain(Cases<ExplainCase>),
    /// States that are saved and resumed.
    Save(Cases<SaveCase>),
    /// States to resume from, good and bad.
    Resume(Cases<ResumeCase>),
    /// What a retry inside a retry does, as one machine.
    Layered(Cases<LayeredCase>),
    /// The delays of a backoff that begins again by itself.
    LoopBackoff(Cases<LoopBackoffCase>),
    /// Which attempts fail on purpose.
    Chaos(Cases<ChaosCase>),
    /// What gates make of failures and successes.
    KeyedGate(Cases<GateCase>),
    /// What an adaptive rate makes of answers.
    Adaptive(Cases<AdaptiveCase>),
    /// What delays become while much fails.
    Stretch(Cases<StretchCase>),
    /// The quantile of attempts' times.
    Latency(Cases<LatencyCase>),
    /// What a retry inside another one does.
    Nested(Cases<NestedCase>),
    /// What a budget allows.
    Budget(Cases<BudgetCase>),
    /// Calls under guards that they share.
    Guarded(Cases<GuardedCase>),
    /// What a window of time counts.
    BreakerWindow(Cases<WindowCase>),
    /// What a breaker does with calls.
    Breaker(Cases<BreakerCase>),
    /// Whom a limiter lets through.
    Limiter(Cases<LimiterCase>),
    /// Who enters a bulkhead.
    Bulkhead(Cases<BulkheadCase>),
    /// What the hooks of a loop are told.
    Trace(Cases<TraceCase>),
    /// What a recorded call writes down.
    Log(Cases<LogCase>),
    /// What a log makes.
    Replay(Cases<ReplayCase>),
    /// Which timers fall due.
    Wheel(Cases<WheelCase>),
}

/// The cases of a file and where they come from.
#[derive(Serialize, Deserialize)]
pub struct Cases<T> {
    /// The version of the format; the first one unless given.
    #[serde(default = "first")]
    pub version: u32,
    /// Where the cases come from.
    #[serde(default)]
    pub source: String,
    /// The cases.
    pub cases: Vec<Case<T>>,
}

const fn first() -> u32 {
    1
}

/// One case: what every kind has, and what its own kind has.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct Case<T> {
    /// What the case shows.
    pub name: String,
    /// Worked out by hand from the rules, not generated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_hand: bool,
    /// The rules of docs/spec.md that the case shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The rest.
    #[serde(flatten)]
    pub given: T,
}

impl<T> Case<T> {
    /// A case that the core made.
    pub fn generated(name: String, given: T) -> Self {
        Self { name, by_hand: false, rules: Vec::new(), given }
    }
}

/// A policy document.
pub type Document = Map<String, Value>;

/// A session of the loop machine: one step for each event.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct CallCase {
    /// The policy.
    pub policy: Document,
    /// The seed.
    pub seed: N,
    /// What happens.
    pub events: Vec<Event>,
    /// What the machine says to each.
    pub steps: Vec<Option<StepWord>>,
}

/// An input of the loop machine.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// The call begins.
    Begin {
        /// The time.
        now: N,
    },
    /// The call's first attempt already runs; says no step.
    Underway {
        /// Since when.
        started: N,
    },
    /// An attempt succeeded.
    Succeed {
        /// Which.
        ticket: N,
        /// The time.
        now: N,
    },
    /// An attempt failed.
    Fail {
        /// Which.
        ticket: N,
        /// The time.
        now: N,
        /// How.
        failure: FailureWord,
    },
    /// Time has passed.
    Tick {
        /// The time.
        now: N,
    },
    /// The caller cancels.
    Cancel {
        /// The time.
        now: N,
    },
}

/// A failure in words.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct FailureWord {
    kind: String,
    hint: HintWord,
    /// The number of the rule that takes it; none takes a failure of which nothing is said but its kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<u8>,
}

/// A hint: "none", "never", or nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HintWord(pub Hint);

impl Serialize for HintWord {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0.span() {
            Some(span) => N(span.as_nanos()).serialize(out),
            None => out.serialize_str(if self.0.is_never() { "never" } else { "none" }),
        }
    }
}

impl<'de> Deserialize<'de> for HintWord {
    fn deserialize<D: Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        match Value::deserialize(input)? {
            Value::String(text) if text == "none" => Ok(Self(Hint::NONE)),
            Value::String(text) if text == "never" => Ok(Self(Hint::NEVER)),
            value => N::deserialize(value).map(|n| Self(Hint::from_raw(n.0))).map_err(de::Error::custom),
        }
    }
}

impl From<Failure> for FailureWord {
    fn from(failure: Failure) -> Self {
        let rule = Some(failure.rule).filter(|rule| *rule != 0);
        Self { kind: failure.kind.name().to_owned(), hint: HintWord(failure.hint), rule }
    }
}

impl FailureWord {
    /// The failure, unless its kind is no kind.
    pub fn failure(&self) -> Option<Failure> {
        let kind = FailureKind::ALL.into_iter().find(|kind| kind.name() == self.kind)?;
        Some(Failure { rule: self.rule.unwrap_or(0), ..Failure::new(kind).with_hint(self.hint.0) })
    }
}

/// A step in words.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum StepWord {
    /// Run an attempt.
    Attempt {
        /// Its number.
        attempt: u32,
        /// When to abort it.
        abort_at: N,
        /// When to tick although it still runs.
        wake_at: N,
    },
    /// Sleep, then tick.
    Sleep {
        /// Until when.
        until: N,
        /// Why so long.
        cause: String,
    },
    /// Keep what you are doing.
    Wait {
        /// When to tick.
        until: N,
    },
    /// It is over.
    Stop {
        /// How.
        outcome: String,
        /// Gave up: why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Gave up: when another try might succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<N>,
    },
}

impl From<Step> for StepWord {
    fn from(step: Step) -> Self {
        let stop = |outcome: &str, why: Option<(StopReason, Timestamp)>| Self::Stop {
            outcome: outcome.to_owned(),
            reason: why.map(|(reason, _)| reason.name().to_owned()),
            retry_at: why.map(|(_, retry_at)| N(retry_at.as_nanos())),
        };
        match step {
            Step::Attempt { ticket, abort_at, wake_at } => Self::Attempt {
                attempt: ticket.attempt(),
                abort_at: N(abort_at.as_nanos()),
                wake_at: N(wake_at.as_nanos()),
            },
            Step::Sleep { until, cause } => Self::Sleep { until: N(until.as_nanos()), cause: word(cause) },
            Step::Wait { until } => Self::Wait { until: N(until.as_nanos()) },
            Step::Stop(Outcome::Succeeded) => stop("succeeded", None),
            Step::Stop(Outcome::Cancelled) => stop("cancelled", None),
            Step::Stop(Outcome::GaveUp { reason, retry_at }) => stop("gave_up", Some((reason, retry_at))),
        }
    }
}

fn word(cause: Cause) -> String {
    cause.name().to_owned()
}

/// One operation's failures and the decision about each.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct RetryCase {
    /// The policy.
    pub policy: Document,
    /// The seed.
    pub seed: N,
    /// When the first attempt began.
    pub started: N,
    /// What failed, and when.
    pub failures: Vec<EndAt>,
    /// What the machine says to each.
    pub decisions: Vec<DecisionWord>,
    /// For a policy with a budget: what it has after each, where that is known. All calls of the case share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<Vec<Option<f64>>>,
}

/// A failure and its time.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct FailureAt {
    /// The time.
    pub now: N,
    /// The failure.
    pub failure: FailureWord,
}

/// How an attempt ended and when.
#[derive(Serialize, Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub struct EndAt {
    /// The time.
    pub now: N,
    /// The failure; nothing for a success, which only a case with tokens has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureWord>,
    /// The attempt is the first of another call, which began at that time too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new_call: bool,
}

/// A decision in words.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum DecisionWord {
    /// Sleep, then try again.
    Sleep {
        /// Until when.
        until: N,
        /// Why so long.
        cause: String,
    },
    /// Do not try again.
    GiveUp {
        /// Why not.
        reason: String,
        /// When another try might succeed.
        retry_at: N,
    },
    /// The attempt succeeded.
    Succeeded,
}

impl From<Decision> for DecisionWord {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Sleep { until, cause } => Self::Sleep { until: N(until.as_nanos()), cause: word(cause) },
            Decision::GiveUp { reason, retry_at } => {
                Self::GiveUp { reason: reason.name().to_owned(), retry_at: N(retry_at.as_nanos()) }
            }
        }
    }
}

/// The first delays of a policy.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct ScheduleCase {
    /// The policy.
    pub policy: Document,
    /// The seed.
    pub seed: N,
    /// The first delays, in nanoseconds.
    pub delays: Vec<N>,
    /// Whether there is none after them.
    pub ends: bool,
}

/// The first delays of a policy when the draws are known.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct BackoffCase {
    /// Where the delays are published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The policy.
    pub policy: Document,
    /// What each delay's draw is; 0 where there is none.
    #[serde(default)]
    pub uniforms: Vec<Option<f64>>,
    /// The kind of each failure; transient where there is none.
    #[serde(default)]
    pub kinds: Vec<String>,
    /// The first delays, in nanoseconds.
    pub delays: Vec<N>,
    /// By how many nanoseconds a delay may differ: what the source rounds to.
    #[serde(default)]
    pub within: Option<N>,
    /// Whether there is none after them, if the case says so.
    #[serde(default)]
    pub ends: Option<bool>,
}

/// A policy document and what is wrong with it, if anything.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct PolicyCase {
    /// The document.
    pub policy: Document,
    /// The error it must give; none for a good one.
    pub error: Option<ErrorWord>,
}

/// A configuration error in words.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct ErrorWord {
    /// Its number.
    pub code: u16,
    /// Its name.
    pub name: String,
    /// The field's path; the name as it was given when it is no field.
    pub path: String,
    /// The nearest valid name.
    pub nearest: Option<String>,
}

/// A policy, and what is said about it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct ExplainCase {
    /// The document.
    pub policy: Document,
    /// The lines of its explanation, with its lints.
    pub lines: Vec<String>,
    /// The sum of all its sleeps without jitter; null without an end.
    pub total_wait: Option<N>,
}

/// The text of a policy document and what is wrong with it, if anything.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct DocumentCase {
    /// The text.
    pub text: String,
    /// The error it must give; none for a good one.
    pub error: Option<WrongWord>,
}

/// A text in another system's form, and the policy that it means or what is wrong with it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct FormCase {
    /// The name of the form.
    pub form: String,
    /// The number of the policy to read, if one is chosen.
    pub entry: Option<u32>,
    /// The text.
    pub text: String,
    /// The document that means the same; none for a bad text.
    pub document: Option<Document>,
    /// The error it must give; none for a good one.
    pub error: Option<WrongWord>,
}

/// What is wrong with a document, in words.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(deny_unknown_fields)]
pub struct WrongWord {
    /// Its number.
    pub code: u16,
    /// Its name.
    pub name: String,
    /// Where it is; empty where it is the document as a whole.
    pub path: String,
    /// The nearest valid name.
    pub nearest: Option<String>,
    /// The rule that was broken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
}

/// An HTTP answer and what it means.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct HttpCase {
    /// The status.
    pub status: u32,
    /// The value of the `Retry-After` header, if there is one.
    pub retry_after: Option<String>,
    /// The failure; none for an answer that is no failure.
    pub failure: Option<FailureWord>,
}

/// A text and the duration it is.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct DurationCase {
    /// The text.
    pub text: String,
    /// The nanoseconds; none for a text that is no duration.
    pub nanos: Option<N>,
}

/// A program's seed and the seed of one of its operations.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct SeedCase {
    /// The program's seed.
    pub n: N,
    /// Which failing operation, from 0.
    pub k: N,
    /// Its seed.
    pub seed: N,
}

/// A document's rules, an error, and what becomes of it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub struct ClassifyCase {
    /// The document.
    pub policy: Document,
    /// The error's HTTP status.
    pub http: Option<u16>,
    /// The error's gRPC code.
    pub grpc: Option<u8>,
    /// The error's text.
    pub message: String,
    /// Its codes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub codes: Vec<String>,
    /// The names of its type, and of those it derives from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Whether the operation can run twice without harm.
    pub idempotent: bool,
    /// Whether the request was never sent.
    #[serde(default, skip_serializing_if = "is_false")]
    pub unsent: bool,
    /// Whether it is an error of the program itself.
    #[serde(default, skip_serializing_if = "is_false")]
    pub program_fault: bool,
    /// The value of the header `x-should-retry`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub should_retry: Option<bool>,
    /// The number of the rule that takes it, 0 for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<u8>,
    /// What the error is without rules.
    pub failure: FailureWord,
    /// What it is with them.
    pub judged: FailureWord,
}

fn is_false(flag: &bool) -> bool {
    !flag
}
