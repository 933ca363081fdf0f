//! A policy in another system's form: whether it can be said there, and its text.

use super::Form;
use super::said::{EXPONENTIAL, Item, Said};
use crate::decide::backoff::Backoff;
use crate::decide::grpc::GrpcCode;
use crate::decide::jitter;
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::describe::rules::Rules;
use crate::describe::rules::write::write_codes;
use crate::error::{Error, ErrorCode};
use crate::fields::Field;
use crate::json::{Open, Out, texts};
use crate::time::Span;
use core::fmt::{self, Write};

/// A policy that can be said in a system's form, ready to be written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Formed {
    form: Form,
    said: Said,
    /// The gRPC codes that are retried, one bit for each.
    codes: u32,
}

impl Form {
    /// The policy in this form. Only what reads back to the same decisions can be said.
    ///
    /// # Errors
    /// [`ErrorCode::NotInForm`] with the path of the first field that cannot be said: `deadline`, `retry_on`.
    pub fn of(self, policy: &Policy, rules: &Rules) -> Result<Formed, Error> {
        self.formed(policy, rules, (self.shape().said)(policy))
    }

    /// The policy and its guards in this form: gRPC's has a throttle and a hedge that takes all attempts, the others have
    /// none. Only what reads back to the same decisions can be said.
    ///
    /// # Errors
    /// As [`Form::of`], with the name of the guard (`breaker`) or the path of its field.
    pub fn of_guarded(self, policy: &Policy, rules: &Rules, guards: &Options) -> Result<Formed, Error> {
        let cannot = |field| Error::of_form(ErrorCode::NotInForm, field, self.cannot());
        let sayable: &[&str] = if self == Self::Grpc { &["budget", "hedge"] } else { &[] };
        if let Some(section) = guards.sections().find(|section| !sayable.contains(section)) {
            return Err(cannot(section));
        }
        if self != Self::Grpc {
            return self.of(policy, rules);
        }
        let said = super::grpc::said_guarded(policy, guards).map_err(cannot)?;
        self.formed(policy, rules, said)
    }

    fn formed(self, policy: &Policy, rules: &Rules, said: Said) -> Result<Formed, Error> {
        let cannot = |field| Error::of_form(ErrorCode::NotInForm, field, self.cannot());
        let mut read = (self.shape().policy)(&said).map_err(|error| {
            let counts = error.name.ends_with("Attempts") || error.name == "Steps";
            cannot(if counts { Field::Attempts.path() } else { "backoff" })
        })?;
        let hedged = said.has(Item::Hedges);
        if hedged {
            // There is no backoff where all attempts are in one round.
            (read.first, read.others, read.stages) = (policy.first, policy.others, policy.stages);
            (read.jitter, read.jitter_by, read.cap) = (policy.jitter, policy.jitter_by, policy.cap);
        }
        if let Some(field) = difference(&plain(policy), &plain(&read)) {
            return Err(cannot(field));
        }
        let codes = if hedged { rules.codes_alone() } else { None };
        let codes = codes.or_else(|| self.codes(rules)).ok_or(cannot("retry_on"))?;
        Ok(Formed { form: self, said, codes })
    }

    /// The codes that rules retry, and none for a form without codes; nothing if the form cannot say the rules.
    fn codes(self, rules: &Rules) -> Option<u32> {
        match self {
            // Without rules of its own a policy retries what gRPC's codes mean by themselves.
            Self::Grpc if *rules == Rules::NONE => Some(RETRIED),
            Self::Grpc => rules.codes_alone().filter(|codes| *codes != 0),
            Self::LanggraphgoGraph if rules.patterns_alone() => Some(0),
            Self::LanggraphgoGraph => None,
            _ if *rules == Rules::NONE => Some(0),
            _ => None,
        }
    }

    const fn cannot(self) -> &'static str {
        match self {
            Self::Grpc => "cannot be said in a gRPC retryPolicy",
            Self::Temporal => "cannot be said in a Temporal RetryPolicy",
            Self::Kubernetes => "cannot be said in a Kubernetes wait.Backoff",
            Self::Langgraphgo => "cannot be said in langgraphgo's RetryConfig",
            Self::LanggraphgoGraph => "cannot be said in langgraphgo's RetryPolicy",
            Self::Aster => "cannot be said in Aster's RetryPolicy",
        }
    }
}

const RETRIED: u32 = 1 << GrpcCode::DeadlineExceeded.code()
    | 1 << GrpcCode::ResourceExhausted.code()
    | 1 << GrpcCode::Unavailable.code();

/// The policy with what makes no difference set to one value.
fn plain(policy: &Policy) -> Policy {
    let mut plain = *policy;
    if plain.jitter == jitter::NONE && plain.cap == jitter::CAP_BEFORE_JITTER {
        plain.cap = jitter::CAP_KEEP_SPREAD;
    }
    plain
}

/// The first field in which two policies differ.
fn difference(a: &Policy, b: &Policy) -> Option<&'static str> {
    if (a.first, a.others, a.stages) != (b.first, b.others, b.stages) {
        return Some("backoff");
    }
    Field::ALL.iter().find(|field| a.number(**field) != b.number(**field)).map(|field| field.path())
}

/// The fields of an exponential policy in most forms; of a chain whose first delay comes once, that delay and what follows.
/// A constant delay is an exponential one with factor 1, and a missing limit is 0.
pub(super) fn exponential(policy: &Policy) -> Said {
    let mut said = Said::NOTHING;
    let mut stages = policy.stages().map(|stage| stage.backoff);
    let (mut first, then) = (stages.next(), stages.next());
    if let (Some(Backoff::Constant { delay }), Some(next)) = (first, then) {
        said.initial = delay.as_nanos();
        first = match next {
            Backoff::Constant { delay } => Some(Backoff::Exponential { initial: delay, factor: 1.0, max: delay }),
            other => Some(other),
        };
    }
    let initial = match first {
        Some(Backoff::Constant { delay }) => {
            said.factor = 1.0;
            delay
        }
        Some(Backoff::Exponential { initial, factor, max }) => {
            (said.factor, said.max) = (factor, max.as_nanos());
            initial
        }
        _ => Span::ZERO,
    };
    if then.is_none() {
        said.initial = initial.as_nanos();
    }
    said.attempts = policy.attempts().map_or(0, u64::from);
    for item in [Item::Initial, Item::Max, Item::Factor, Item::Attempts] {
        said.give(item);
    }
    said
}

impl Formed {
    /// The form.
    pub const fn form(&self) -> Form {
        self.form
    }

    /// Writes the system's JSON text. `patterns` are those of `retry_on.patterns` (langgraphgo's graph), `types` the names of
    /// the types of errors that are never retried (Temporal); other forms have neither.
    ///
    /// A service config says the policy for every method. Go's times are whole nanoseconds, which is how Go writes and reads
    /// them.
    ///
    /// # Errors
    /// What `out` says when it takes no more.
    pub fn write<'t>(
        &self,
        patterns: impl IntoIterator<Item = &'t str>,
        types: impl IntoIterator<Item = &'t str>,
        out: &mut dyn Write,
    ) -> fmt::Result {
        let said = &self.said;
        let mut object = Open::new(out, '{')?;
        match self.form {
            Form::Grpc => self.write_grpc(&mut object)?,
            Form::Temporal => {
                seconds(object.field("initialInterval")?, said.initial)?;
                object.number("backoffCoefficient", said.factor)?;
                seconds(object.field("maximumInterval")?, said.max)?;
                object.whole("maximumAttempts", said.attempts)?;
                let mut types = types.into_iter().peekable();
                if types.peek().is_some() {
                    texts(object.field("nonRetryableErrorTypes")?, types)?;
                }
            }
            Form::Kubernetes => {
                object.whole("Duration", said.initial)?;
                object.number("Factor", said.factor)?;
                object.number("Jitter", said.jitter)?;
                object.whole("Steps", said.attempts)?;
                object.whole("Cap", if said.max == Span::MAX.as_nanos() { 0 } else { said.max })?;
            }
            Form::Langgraphgo => {
                object.whole("MaxAttempts", said.attempts)?;
                object.whole("InitialDelay", said.initial)?;
                object.whole("MaxDelay", said.max)?;
                object.number("BackoffFactor", said.factor)?;
            }
            Form::LanggraphgoGraph => {
                object.whole("MaxRetries", said.attempts)?;
                object.whole("BackoffStrategy", said.strategy.into())?;
                texts(object.field("RetryableErrors")?, patterns.into_iter())?;
            }
            Form::Aster => {
                object.whole("maxAttempts", said.attempts)?;
                object.text("backoff", if said.strategy == EXPONENTIAL { "exponential" } else { "linear" })?;
                object.whole("baseDelayMs", said.initial / super::aster::MILLI)?;
            }
        }
        object.end('}')
    }

    fn write_grpc(&self, config: &mut Open<'_>) -> fmt::Result {
        let said = &self.said;
        if said.has(Item::Tokens) {
            let mut throttle = Open::new(config.field("retryThrottling")?, '{')?;
            throttle.whole("maxTokens", said.tokens)?;
            throttle.number("tokenRatio", said.ratio)?;
            throttle.end('}')?;
        }
        let mut list = Open::new(config.field("methodConfig")?, '[')?;
        let mut entry = Open::new(list.item()?, '{')?;
        entry.field("name")?.write_str("[{}]")?;
        if said.has(Item::Deadline) {
            seconds(entry.field("timeout")?, said.deadline)?;
        }
        if said.has(Item::Hedges) {
            let mut policy = Open::new(entry.field("hedgingPolicy")?, '{')?;
            policy.whole("maxAttempts", said.attempts)?;
            seconds(policy.field("hedgingDelay")?, said.delay)?;
            write_codes(self.codes, policy.field("nonFatalStatusCodes")?)?;
            policy.end('}')?;
            entry.end('}')?;
            return list.end(']');
        }
        let mut policy = Open::new(entry.field("retryPolicy")?, '{')?;
        policy.whole("maxAttempts", said.attempts)?;
        seconds(policy.field("initialBackoff")?, said.initial)?;
        seconds(policy.field("maxBackoff")?, said.max)?;
        policy.number("backoffMultiplier", said.factor)?;
        write_codes(self.codes, policy.field("retryableStatusCodes")?)?;
        policy.end('}')?;
        entry.end('}')?;
        list.end(']')
    }
}

/// A time as protobuf writes it: seconds with three, six or nine decimals if any, and an `s`.
fn seconds(out: Out<'_>, nanos: u64) -> fmt::Result {
    let (whole, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    match () {
        () if rest == 0 => write!(out, "\"{whole}s\""),
        () if rest % 1_000_000 == 0 => write!(out, "\"{whole}.{:03}s\"", rest / 1_000_000),
        () if rest % 1_000 == 0 => write!(out, "\"{whole}.{:06}s\"", rest / 1_000),
        () => write!(out, "\"{whole}.{rest:09}s\""),
    }
}
