//! The cost of one-time work: a policy built from choices that are known at run time only.

use crate::delays::{INITIAL, MAX};
use crate::floor::Numbers;
use crate::sample::Work;
use backoff::{ExponentialBackoff, ExponentialBackoffBuilder};
use backon::ExponentialBuilder;
use exponential_backoff::Backoff;
use holdoff_core::Policy;
use std::hint::black_box;

pub(super) fn works() -> Vec<Work> {
    let chosen = || black_box((INITIAL, MAX, 2.0, 4_u32));
    vec![
        Work::new("policy")
            .by("floor", move || {
                let (initial, max, factor, attempts) = chosen();
                let (initial, max) = (initial.as_nanos() as u64, max.as_nanos() as u64);
                let valid = initial <= max && attempts > 0 && factor >= 1.0;
                valid.then(|| Numbers { initial, max, retries: attempts - 1 })
            })
            .by("policy", move || {
                let (initial, max, factor, attempts) = chosen();
                let backoff = holdoff_core::Backoff::exponential(initial, factor).max(max);
                Policy::options().backoff(backoff).attempts(attempts).build()
            })
            .by("backon", move || {
                let (initial, max, factor, attempts) = chosen();
                let builder = ExponentialBuilder::new().with_min_delay(initial).with_max_delay(max).with_jitter();
                builder.with_factor(factor as f32).with_max_times(attempts as usize - 1)
            })
            .by("backoff", move || -> ExponentialBackoff {
                let (initial, max, factor, _) = chosen();
                let mut builder = ExponentialBackoffBuilder::new();
                builder.with_initial_interval(initial).with_max_interval(max).with_multiplier(factor);
                builder.with_max_elapsed_time(None).build()
            })
            .by("exponential-backoff", move || {
                let (initial, max, _, attempts) = chosen();
                Backoff::new(attempts, initial, max)
            }),
    ]
}
