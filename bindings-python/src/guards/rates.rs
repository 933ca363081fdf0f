//! Limits of attempts in a time: a fixed limit, and a rate that follows the server's throttling.

use super::{Shared, Start};
use crate::parameters::{Now, OrDefault as _, ThrottleTime};
use holdoff_core::{AdaptiveConfig, AdaptiveStart, Error, LimiterConfig, Options, Timestamp};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

fn saved(config: &LimiterConfig, (state, log): &(holdoff_core::Limiter, Vec<u64>), now: Timestamp) -> Vec<u8> {
    let mut bytes = vec![0; holdoff_core::Limiter::saved(config)];
    let length = state.save(config, log, now, &mut bytes);
    bytes.truncate(length.unwrap_or(0));
    bytes
}

fn restored(bytes: &[u8], config: &LimiterConfig, now: Timestamp) -> Result<(holdoff_core::Limiter, Vec<u64>), Error> {
    let mut log = vec![0; config.log_capacity()];
    Ok((holdoff_core::Limiter::restore(bytes, config, &mut log, now)?, log))
}

guard! {
    Limiter as limiter "limiter": (holdoff_core::Limiter, Vec<u64>), LimiterConfig;
    fresh |builder, _, now| builder.limiter()?.map(|config| {
        (config, (holdoff_core::Limiter::new(&config, now), vec![0; config.log_capacity()]))
    });
    save |config, state, now| saved(config, state, now);
    restore |bytes, config, now| restored(bytes, config, now)?;
    new(*, now: Now; **fields: "Unpack[LimiterFields]", config: "LimiterConfig");
    repr |config, _| "<Limiter of {} in {}>", config.limit(), config.per();

    at {
        /// Takes `count` attempts; returns True if they were there. If not, nothing is taken.
        take(count: u32 = 1) -> bool = |config, (state, log), now| state.take(config, log, count, now).is_ok();

        /// When they would be there if nothing else is taken; None for now, NEVER for more than there can be.
        refuses(count: u32 = 1) -> Option<u64> =
            |config, (state, log), now| state.refuses(config, log, count, now).map(Timestamp::as_nanos);

        /// Returns unused ones.
        give_back(count: u32 = 1) -> () = |config, (state, log), now| state.give_back(config, log, count, now);
    }
}

guard! {
    Adaptive as rate "adaptive": holdoff_core::Adaptive, AdaptiveConfig;
    fresh |builder, _, now| builder.adaptive()?.map(|config| (config, holdoff_core::Adaptive::new(&config, now)));
    save |config, state, now| state.save(config, now);
    restore |bytes, config, now| holdoff_core::Adaptive::restore(bytes, config, now)?;
    new(*, now: Now; **fields: "Unpack[AdaptiveFields]", config: "AdaptiveConfig");
    repr |_, state| "<Adaptive {} calls a second>", state.rate();

    impl {
        /// A guard in the middle of its life: rates in calls a second, `throttled_at` in nanoseconds.
        #[staticmethod]
        #[pyo3(signature = (
            config: "AdaptiveConfig", *, rate = 0.0, tokens = 0.0, measured = 0.0, last_max_rate = 0.0,
            throttled_at = None, limits = true, now = None
        ))]
        #[allow(clippy::too_many_arguments)]
        fn started(
            py: Python<'_>,
            config: &Bound<'_, PyAny>,
            rate: f64,
            tokens: f64,
            measured: f64,
            last_max_rate: f64,
            throttled_at: Option<ThrottleTime>,
            limits: bool,
            now: Now,
        ) -> PyResult<Self> {
            let config = *super::new::<Self>(py, Some(config), None, Start { seed: None, now })?.0.config();
            let now = now.or_default(py)?;
            let throttled_at = throttled_at.map_or(now, |at| at.0);
            let start = AdaptiveStart { rate, tokens, measured, last_max_rate, throttled_at, limits };
            Ok(Self(Shared::new(config, holdoff_core::Adaptive::started(&config, start, now))))
        }
    }

    at {
        /// Takes `cost` tokens; returns True if they were there. If not, nothing is taken.
        take(cost: f64 = 1.0) -> bool = |config, state, now| state.take(config, cost, now).is_ok();

        /// When they would be there if nothing else is taken; None for now, NEVER for more than there can be.
        refuses(cost: f64 = 1.0) -> Option<u64> =
            |config, state, now| state.clone().take(config, cost, now).err().map(Timestamp::as_nanos);

        /// An answer came: adjusts the rate.
        update(throttled: bool = false) -> () = |config, state, now| state.update(config, now, throttled);

        /// Returns unused ones.
        give_back(cost: f64 = 1.0) -> () = |config, state, now| state.give_back(config, cost, now);

        /// The tokens at that time.
        tokens() -> f64 = |_, state, now| state.tokens(now);
    }

    get {
        /// Calls a second.
        rate: f64 = rate.0.with(|_, state| state.rate());

        /// The measured rate of answers, a second.
        measured: f64 = rate.0.with(|_, state| state.measured());

        /// True once it limits.
        limits: bool = rate.0.with(|_, state| state.limits());
    }
}
