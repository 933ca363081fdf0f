//! The names of policies that other systems have by default, each with its source.
//!
//! A preset is a policy like any other, and guards where the system has some. Which errors the system retries is in
//! docs/compat.md.

use crate::fields::Field;
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
    }
}

/// The longest hint where a preset's system has no limit: no header may park a client for years (spec 7.19).
pub(crate) const LONGEST_HINT: Duration = Duration::from_secs(3600);

impl Preset {
    /// The number of a field of its guards; `None` where it has no such guard or the field has its default.
    pub fn guard(self, field: Field) -> Option<u64> {
        let (cost, timeout_cost) = match self {
            Self::AwsStandard20 | Self::AwsAdaptive => (5, 10),
            Self::AwsStandard21 => (14, 14),
            _ => return None,
        };
        Some(match field {
            // A token budget.
            Field::BudgetKind => 1,
            Field::BudgetCapacity => 500,
            Field::BudgetCost => cost,
            Field::BudgetTimeoutCost => timeout_cost,
            Field::BudgetThrottledCost => 5,
            Field::BudgetReward => 1.0_f64.to_bits(),
            // A cubic rate that calls wait for.
            Field::AdaptiveKind | Field::AdaptiveRefusal if self == Self::AwsAdaptive => 1,
            _ => return None,
        })
    }
}
