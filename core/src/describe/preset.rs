//! Named policies: what other systems do when nobody tells them otherwise, each with its source.
//!
//! A preset is a policy like any other, and guards where the system has some. What it decides in ways that neither says
//! (which errors it retries) is in docs/compat.md.

use crate::decide::backoff::Backoff;
use crate::decide::failure::FailureKind;
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::Policy;
use crate::describe::options::Options;
use crate::fields::Field;
use crate::words::words;
use core::time::Duration;

words! {
    /// A named policy.
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
        /// a pushback is obeyed to the letter.
        Grpc = 8 "grpc";
        /// Temporal's default RetryPolicy: 1 s by 2 up to 100 s, for ever, no jitter (docs.temporal.io, "Retry policies").
        Temporal = 9 "temporal";
        /// google-api-core's `Retry`: full jitter of 1 s by 2 up to 60 s, for 120 s (google/api_core/retry).
        GoogleCloud = 10 "google-cloud";
        /// resilience4j's `RetryConfig.ofDefaults()`: 500 ms, 3 attempts.
        Resilience4j = 11 "resilience4j";
        /// Polly as .NET's HTTP clients use it: decorrelated jitter v2 of 2 s, 3 retries; a
        /// Retry-After takes the place of the delay (Microsoft.Extensions.Http.Resilience, `HttpRetryStrategyOptions`).
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

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Preset {
    /// Its policy.
    #[must_use]
    pub const fn policy(self) -> Policy {
        match self.options().build() {
            Ok(policy) => policy,
            // A test builds them all.
            Err(_) => Policy::DEFAULT,
        }
    }

    /// Its guards: the retry quota of the AWS SDKs, and the send rate of their adaptive mode. The others have none.
    #[must_use]
    pub fn guards(self) -> Options {
        Options::NEW.preset(self).guards()
    }

    /// The number of a field of its guards.
    pub(crate) fn guard(self, field: Field) -> Option<u64> {
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

    /// The policy of the preset with that number; the default one of any other.
    pub(crate) const fn policy_of(code: u8) -> Policy {
        match Self::from_code(code as u32) {
            Some(preset) => preset.policy(),
            None => Policy::DEFAULT,
        }
    }

    const fn options(self) -> Options {
        let plain = Policy::options().jitter(Jitter::None);
        let full = Policy::options();
        match self {
            Self::Default => full,
            Self::Langgraphgo => plain.backoff(Backoff::exponential(millis(100), 2.0).max(seconds(5))).attempts(3),
            Self::LanggraphgoGraph => plain.backoff(Backoff::exponential(seconds(1), 2.0)).attempts(4),
            Self::Kubernetes => full
                .backoff(Backoff::exponential(millis(10), 5.0))
                .jitter(Jitter::Additive { factor: 0.1 })
                .cap(Cap::BeforeJitter)
                .attempts(4),
            Self::Aster => full
                .backoff(Backoff::exponential(seconds(1), 2.0))
                .jitter(Jitter::Bounded { bound: crate::time::Span::from_millis(500) })
                .attempts(3),
            Self::AwsStandard20 | Self::AwsAdaptive => full
                .backoff(Backoff::exponential(seconds(1), 2.0).max(seconds(20)))
                .attempts(3)
                .hint_mode(HintMode::Exact)
                .hint_max(seconds(20))
                .hint_over(HintOver::Clamp),
            Self::AwsStandard21 => full
                .backoff(Backoff::exponential(millis(50), 2.0).max(seconds(20)))
                .on(FailureKind::Throttled, Backoff::exponential(seconds(1), 2.0).max(seconds(20)))
                .attempts(3)
                .hint_mode(HintMode::AtLeast)
                .hint_max(Duration::MAX)
                .hint_reach(seconds(5)),
            Self::Grpc => full
                .backoff(Backoff::exponential(millis(100), 2.0).max(seconds(1)))
                .jitter(Jitter::Proportional { factor: 0.2 })
                .cap(Cap::BeforeJitter)
                .attempts(4)
                .hint_mode(HintMode::Exact)
                .hint_max(Duration::MAX),
            Self::Temporal => plain.backoff(Backoff::exponential(seconds(1), 2.0).max(seconds(100))).forever(),
            Self::GoogleCloud => {
                full.backoff(Backoff::exponential(seconds(1), 2.0).max(seconds(60))).forever().deadline(seconds(120))
            }
            Self::Resilience4j => plain.backoff(Backoff::constant(millis(500))).attempts(3),
            Self::Polly => full
                .backoff(Backoff::decorrelated_v2(seconds(2)))
                .attempts(4)
                .hint_mode(HintMode::Exact)
                .hint_max(Duration::MAX),
            Self::Chromium => full
                .backoff(Backoff::constant(Duration::ZERO))
                .then(2, Backoff::exponential(millis(700), 1.4).max(seconds(900)))
                .jitter(Jitter::Subtractive { factor: 0.4 })
                .forever(),
            Self::TenacityRandomExponential => {
                full.backoff(Backoff::exponential(seconds(1), 2.0).max(seconds(60))).forever()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_a_valid_policy_under_its_name() {
        for (number, preset) in (1..).zip(Preset::ALL) {
            assert_eq!(preset.code(), number);
            assert_eq!(preset.options().build(), Ok(preset.policy()), "{preset:?}");
            assert_eq!(Preset::from_name(preset.name()), Some(preset));
        }
        assert_eq!(Preset::Default.policy(), Policy::default());
        assert_eq!(Preset::from_name("kubernets"), None);
    }

    #[test]
    fn a_preset_is_where_other_fields_start() {
        let aws = Policy::options().preset(Preset::AwsStandard21);
        assert_eq!(aws.build(), Ok(Preset::AwsStandard21.policy()));
        let more = aws.attempts(7).build().unwrap();
        assert_eq!(more, Policy { attempts: 7, ..Preset::AwsStandard21.policy() });
    }
}
