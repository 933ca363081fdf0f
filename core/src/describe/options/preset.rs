//! The policies and guards of the presets.

use super::Options;
use crate::decide::backoff::Backoff;
use crate::decide::failure::FailureKind;
use crate::decide::hint::{HintMode, HintOver};
use crate::decide::jitter::{Cap, Jitter};
use crate::decide::policy::Policy;
use crate::describe::preset::{LONGEST_HINT, Preset};
use crate::time::Span;
use core::time::Duration;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Preset {
    /// Its policy. That of a preset with rules needs the feature `rules`, without which [`Options::build`] refuses the preset.
    pub const fn policy(self) -> Policy {
        match self.options().build_any() {
            Ok(policy) => policy,
            // A test builds them all.
            Err(_) => Policy::DEFAULT,
        }
    }

    /// Its rules.
    pub(crate) const fn preset_rules(self) -> crate::describe::rules::Rules {
        self.options().rules
    }

    /// Its guards: the retry quota of the AWS SDKs, and the send rate of their adaptive mode. The others have none.
    pub fn guards(self) -> Options {
        Options::NEW.preset(self).guards()
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
                .jitter(Jitter::Bounded { bound: Span::from_millis(500) })
                .attempts(3),
            Self::AwsStandard20 | Self::AwsAdaptive => full
                .backoff(Backoff::exponential(seconds(1), 2.0).max(seconds(20)))
                .attempts(3)
                .hint_mode(HintMode::Exact)
                .hint_max(seconds(20))
                .hint_over(HintOver::Clamp),
            Self::AwsStandard21 => full
                .backoff(Backoff::exponential(millis(50), 2.0).max(seconds(20)))
                .backoff_after(FailureKind::Throttled, Backoff::exponential(seconds(1), 2.0).max(seconds(20)))
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
                .hint_max(LONGEST_HINT),
            Self::Temporal => plain.backoff(Backoff::exponential(seconds(1), 2.0).max(seconds(100))).forever(),
            Self::GoogleCloud => {
                full.backoff(Backoff::exponential(seconds(1), 2.0).max(seconds(60))).deadline(seconds(120))
            }
            Self::Resilience4j => plain.backoff(Backoff::constant(millis(500))).attempts(3),
            Self::Polly => full
                .backoff(Backoff::decorrelated_v2(seconds(2)))
                .attempts(4)
                .hint_mode(HintMode::Exact)
                .hint_max(LONGEST_HINT),
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

#[cfg(all(test, feature = "powers", feature = "rules"))]
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
