//! The names of policies that other systems have by default, each with its source.
//!
//! A preset is a policy like any other, and guards where the system has some. Which errors the system retries is in
//! docs/internals/compat.md.

use crate::decide::backoff::{CONSTANT, DECORRELATED_V2, EXPONENTIAL};
use crate::decide::failure::FailureKind;
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{ADDITIVE, BOUNDED, CAP_BEFORE_JITTER, NONE, PROPORTIONAL, SUBTRACTIVE};
use crate::decide::policy::FOREVER;
use crate::describe::rules::Rules;
use crate::fields::{Field, millis, real, seconds};
use crate::time::Span;
use crate::words::words;
use core::time::Duration;

words! {
    /// A named policy.
    #[non_exhaustive]
    pub enum Preset: u8 {
        /// holdoff's own default: exponential from 100 ms by 2 up to 5 s, full jitter, 3 attempts.
        Default = 1 "default";
        /// langgraphgo's `DefaultRetryConfig`: 100 ms by 2 up to 5 s, 3 attempts, no jitter (graph/retry.go).
        Langgraphgo = 2 "langgraphgo";
        /// langgraphgo's graph-level `RetryPolicy` with exponential backoff: 1 s by 2 without a limit, no jitter; 3 retries as
        /// in its documentation (graph/state_graph.go).
        LanggraphgoGraph = 3 "langgraphgo-graph";
        /// client-go's `retry.DefaultBackoff`: 4 steps from 10 ms by 5, up to a tenth more (util/retry/util.go).
        Kubernetes = 4 "kubernetes";
        /// Aster's workflow retry: exponential from 1 s without a limit, up to half a second more; 3 attempts
        /// (docs/runtime/retry-semantics.md).
        Aster = 5 "aster";
        /// AWS SDKs' standard mode, the generation before 2026: full jitter of 1 s by 2 up to 20 s, 3 attempts; a hint of at
        /// most 20 s takes the place of the delay.
        AwsStandard20 = 6 "aws-standard-2.0";
        /// AWS SDKs' standard mode of 2026: 50 ms, and 1 s where the client was throttled, by 2 up to 20 s; a hint moves the
        /// delay at most 5 s.
        AwsStandard21 = 7 "aws-standard-2.1";
        /// gRPC's retryPolicy with the numbers of its proposal (A6): 100 ms by 2 up to 1 s, a fifth more or less, 4 attempts;
        /// a pushback is obeyed to the letter up to an hour, where gRPC has no limit.
        Grpc = 8 "grpc";
        /// Temporal's default RetryPolicy: 1 s by 2 up to 100 s, for ever, no jitter (docs.temporal.io, "Retry policies").
        Temporal = 9 "temporal";
        /// google-api-core's `Retry`: full jitter of 1 s by 2 up to 60 s, for 120 s (google/api_core/retry).
        GoogleCloud = 10 "google-cloud";
        /// resilience4j's `RetryConfig.ofDefaults()`: 500 ms, 3 attempts.
        Resilience4j = 11 "resilience4j";
        /// Polly as .NET's HTTP clients use it: decorrelated jitter v2 of 2 s, 3 retries; a
        /// Retry-After takes the place of the delay up to an hour, where Polly has no limit (Microsoft.Extensions.Http.Resilience, `HttpRetryStrategyOptions`).
        Polly = 12 "polly";
        /// Chromium's request throttler: two failures at no cost, then 700 ms by 1.4 up to 15 minutes, up to 0.4 of it less,
        /// for ever (net/url_request/url_request_throttler_entry.cc).
        Chromium = 13 "chromium";
        /// tenacity's `wait_random_exponential(multiplier=1, max=60)`: full jitter of 1 s by 2 up to 60 s, for ever.
        TenacityRandomExponential = 14 "tenacity-random-exponential";
        /// AWS SDKs' adaptive mode: the standard mode of before 2026 and its quota, at a rate that follows the server's
        /// throttling.
        AwsAdaptive = 15 "aws-adaptive";
        /// For language models, after OpenAI's and Anthropic's SDKs: full jitter of 500 ms by 2 up to 8 s, 3 attempts, 409 is retried,
        /// and a budget of 100 tokens (openai-python and anthropic-sdk-python, `_base_client.py`; their jitter is a quarter less).
        Llm = 16 "llm";
    }
}

/// The longest hint where a preset's system has no limit: no header may park a client for years (spec 7.19).
pub(crate) const LONGEST_HINT: Duration = Duration::from_secs(3600);

/// The place of a number: in a policy or a guard, in a rule, or in a stage of one of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub(crate) struct Place {
    /// 0 for the policy and the guards, else the number of the rule, or [`OPEN_TIMES`].
    pub(crate) rule: u8,
    /// The index of the stage, or [`NO_STAGE`].
    pub(crate) stage: u8,
    /// The number of the field; 0 where a stage of a list of stages begins.
    pub(crate) field: u8,
}

/// The stage of a number that no stage has.
pub(crate) const NO_STAGE: u8 = u8::MAX;
/// The rule of a breaker's open times where they are a list, whose items are its stages.
pub(crate) const OPEN_TIMES: u8 = u8::MAX;

impl Place {
    /// The place of a field of the policy or of a guard.
    pub(crate) const fn of(field: Field) -> Self {
        Self::in_stage(0, NO_STAGE, field)
    }

    pub(crate) const fn in_stage(rule: u8, stage: u8, field: Field) -> Self {
        Self { rule, stage, field: field.code() }
    }

    /// The place that says that a stage is one of a list of stages.
    pub(crate) const fn begins(rule: u8, stage: u8) -> Self {
        Self { rule, stage, field: 0 }
    }

    pub(crate) const fn is_in_stage(self) -> bool {
        self.stage != NO_STAGE && self.rule != OPEN_TIMES
    }
}

/// `Field = number`, of the policy, its first stage or a guard; `[rule, stage] Field = number` of another stage; before them
/// `@exponential(first delay, factor, longest delay)` for a whole backoff.
macro_rules! numbers {
    (@place [$rule:literal, $stage:literal] $field:ident) => { Place::in_stage($rule, $stage, Field::$field) };
    (@place $field:ident) => {
        Place::in_stage(0, if Field::$field.is_stages() { 0 } else { NO_STAGE }, Field::$field)
    };
    ($(@exponential($initial:expr, $factor:literal, $max:expr),)? $($([$rule:literal, $stage:literal])? $field:ident = $number:expr),* $(,)?) => {
        &const { [
            $(
                (numbers!(@place BackoffKind), EXPONENTIAL as u64), (numbers!(@place BackoffInitial), $initial),
                (numbers!(@place BackoffFactor), real($factor)), (numbers!(@place BackoffMax), $max),
            )?
            $((numbers!(@place $([$rule, $stage])? $field), $number as u64)),*
        ] }
    };
}

/// The number of the budget's kind "token".
const TOKEN: u64 = 1;
/// The number of the budget's kind "default".
const OF_LOOPS: u64 = 7;
/// A backoff without a longest delay.
const UNBOUNDED: u64 = Span::MAX.as_nanos();
const LONGEST: u64 = LONGEST_HINT.as_secs() * 1_000_000_000;

impl Preset {
    /// The numbers of its policy, with a whole backoff, jitter and attempts, and of its guards: the retry quota of the AWS SDKs, and
    /// the send rate of their adaptive mode. The others have no guards.
    pub(crate) const fn numbers(self) -> &'static [(Place, u64)] {
        match self {
            Self::Default => numbers![@exponential(millis(100), 2.0, seconds(5)),],
            Self::Langgraphgo => numbers![
                @exponential(millis(100), 2.0, seconds(5)), JitterKind = NONE, Attempts = 3,
            ],
            Self::LanggraphgoGraph => {
                numbers![@exponential(seconds(1), 2.0, UNBOUNDED), JitterKind = NONE, Attempts = 4]
            }
            Self::Kubernetes => numbers![
                @exponential(millis(10), 5.0, UNBOUNDED), JitterKind = ADDITIVE, JitterFactor = real(0.1),
                Cap = CAP_BEFORE_JITTER, Attempts = 4,
            ],
            Self::Aster => numbers![
                @exponential(seconds(1), 2.0, UNBOUNDED), JitterKind = BOUNDED, JitterBound = millis(500), Attempts = 3,
            ],
            Self::AwsStandard20 => numbers![
                @exponential(seconds(1), 2.0, seconds(20)), Attempts = 3, HintMode = HintMode::Exact, HintMax = seconds(20),
                HintOver = HintOver::Clamp, BudgetKind = TOKEN, BudgetCapacity = 500, BudgetCost = 5, BudgetTimeoutCost = 10,
                BudgetThrottledCost = 5, BudgetReward = real(1.0),
            ],
            // The numbers of the standard mode, and a cubic rate that calls wait for.
            Self::AwsAdaptive => numbers![
                @exponential(seconds(1), 2.0, seconds(20)), Attempts = 3, HintMode = HintMode::Exact, HintMax = seconds(20),
                HintOver = HintOver::Clamp, BudgetKind = TOKEN, BudgetCapacity = 500, BudgetCost = 5, BudgetTimeoutCost = 10,
                BudgetThrottledCost = 5, BudgetReward = real(1.0), AdaptiveKind = 1, AdaptiveRefusal = 1,
            ],
            Self::AwsStandard21 => numbers![
                @exponential(millis(50), 2.0, seconds(20)), [1, 0] BackoffKind = EXPONENTIAL,
                [1, 0] BackoffInitial = seconds(1), [1, 0] BackoffFactor = real(2.0), [1, 0] BackoffMax = seconds(20),
                Attempts = 3, HintMode = HintMode::AtLeast, HintMax = UNBOUNDED, HintReach = seconds(5), BudgetKind = TOKEN,
                BudgetCapacity = 500, BudgetCost = 14, BudgetTimeoutCost = 14, BudgetThrottledCost = 5,
                BudgetReward = real(1.0),
            ],
            Self::Grpc => numbers![
                @exponential(millis(100), 2.0, seconds(1)), JitterKind = PROPORTIONAL, JitterFactor = real(0.2),
                Cap = CAP_BEFORE_JITTER, Attempts = 4, HintMode = HintMode::Exact, HintMax = LONGEST,
            ],
            Self::Temporal => numbers![
                @exponential(seconds(1), 2.0, seconds(100)), JitterKind = NONE, Attempts = FOREVER,
            ],
            Self::GoogleCloud => numbers![
                @exponential(seconds(1), 2.0, seconds(60)), Attempts = FOREVER, Deadline = seconds(120),
            ],
            Self::Resilience4j => {
                numbers![BackoffKind = CONSTANT, BackoffInitial = millis(500), JitterKind = NONE, Attempts = 3,]
            }
            Self::Polly => numbers![
                BackoffKind = DECORRELATED_V2,
                BackoffInitial = seconds(2),
                BackoffMax = UNBOUNDED,
                JitterKind = NONE,
                Attempts = 4,
                HintMode = HintMode::Exact,
                HintMax = LONGEST,
            ],
            Self::Chromium => numbers![
                BackoffKind = CONSTANT, BackoffInitial = 0, BackoffTimes = 2, [0, 1] BackoffKind = EXPONENTIAL,
                [0, 1] BackoffInitial = millis(700), [0, 1] BackoffFactor = real(1.4), [0, 1] BackoffMax = seconds(900),
                JitterKind = SUBTRACTIVE, JitterFactor = real(0.4), Attempts = FOREVER,
            ],
            Self::TenacityRandomExponential => numbers![@exponential(seconds(1), 2.0, seconds(60)), Attempts = FOREVER],
            Self::Llm => numbers![
                @exponential(millis(500), 2.0, seconds(8)), Attempts = 3, BudgetKind = OF_LOOPS, BudgetCapacity = 100,
            ],
        }
    }

    /// Its rules.
    pub(crate) fn rules(self) -> Rules {
        let mut rules = Rules::NONE;
        if let Some(kind) = self.ruled_kind() {
            rules.add_kind(kind);
        }
        if self == Self::Llm {
            rules.add_retried_status(409);
        }
        rules
    }

    /// The kind of failures that its only rule takes.
    pub(crate) fn ruled_kind(self) -> Option<FailureKind> {
        (self == Self::AwsStandard21).then_some(FailureKind::Throttled)
    }

    /// The number of a field of its guards; `None` where it has no such guard or the field has its default.
    pub fn guard(self, field: Field) -> Option<u64> {
        let place = Place::of(field);
        self.numbers().iter().find(|given| given.0 == place && field.is_guards()).map(|given| given.1)
    }
}
