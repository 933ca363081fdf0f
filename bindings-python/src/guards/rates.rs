//! Limits of attempts in a time: a fixed limit, and a rate that follows the server's throttling.

use super::{Shared, Start};
use crate::parameters::{Now, OrDefault as _, ThrottleTime};
use holdoff_core::{AdaptiveConfig, AdaptiveStart, Error, LimiterConfig, Options, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

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
    Limiter(self, py) "limiter": (holdoff_core::Limiter, Vec<u64>), LimiterConfig;
    fresh |builder, _, now| builder.limiter()?.map(|config| {
        (config, (holdoff_core::Limiter::new(&config, now), vec![0; config.log_capacity()]))
    });
    save |config, state, now| saved(config, state, now);
    restore |bytes, config, now| restored(bytes, config, now)?;
    new(*, now: Now; **fields: "Unpack[LimiterFields]", config: "LimiterConfig");
    repr |config, _| "<Limiter of {} in {}>", config.limit(), config.per();

    /// Takes `count` attempts; returns True if they were there. If not, nothing is taken.
    at take(count: u32 = 1) -> bool = |config, (state, log), now| state.take(config, log, count, now).is_ok();

    /// When they would be there if nothing else is taken; None for now, NEVER for more than there can be.
    at refuses(count: u32 = 1) -> Option<u64> =
        |config, (state, log), now| state.refuses(config, log, count, now).map(Timestamp::as_nanos);

    /// Returns unused ones.
    at give_back(count: u32 = 1) -> () = |config, (state, log), now| state.give_back(config, log, count, now);
}

guard! {
    Adaptive(self, py) "adaptive": holdoff_core::Adaptive, AdaptiveConfig;
    fresh |builder, _, now| builder.adaptive()?.map(|config| (config, holdoff_core::Adaptive::new(&config, now)));
    save |config, state, now| state.save(config, now);
    restore |bytes, config, now| holdoff_core::Adaptive::restore(bytes, config, now)?;
    new(*, now: Now; **fields: "Unpack[AdaptiveFields]", config: "AdaptiveConfig");
    repr |_, state| "<Adaptive {} calls a second>", state.rate();

    /// A guard in the middle of its life: rates in calls a second, `throttled_at` in nanoseconds.
    static started(
        config: &Bound<'_, PyAny> as "AdaptiveConfig";
        rate: f64 = 0.0, tokens: f64 = 0.0, measured: f64 = 0.0, last_max_rate: f64 = 0.0,
        throttled_at: Option<ThrottleTime> = None, limits: bool = true, now: Now = None
    ) -> PyResult<Self> = {
        let config = *super::new::<Self>(py, Some(config), None, Start { seed: None, now })?.0.config();
        let now = now.or_default(py)?;
        let throttled_at = throttled_at.map_or(now, |at| at.0);
        let start = AdaptiveStart { rate, tokens, measured, last_max_rate, throttled_at, limits };
        Ok(Self(Shared::new(config, holdoff_core::Adaptive::started(&config, start, now))))
    };

    /// Takes `cost` tokens; returns True if they were there. If not, nothing is taken.
    at take(cost: f64 = 1.0) -> bool = |config, state, now| state.take(config, cost, now).is_ok();

    /// When they would be there if nothing else is taken; None for now, NEVER for more than there can be.
    at refuses(cost: f64 = 1.0) -> Option<u64> =
        |config, state, now| state.clone().take(config, cost, now).err().map(Timestamp::as_nanos);

    /// An answer came: adjusts the rate.
    at update(throttled: bool = false) -> () = |config, state, now| state.update(config, now, throttled);

    /// Returns unused ones.
    at give_back(cost: f64 = 1.0) -> () = |config, state, now| state.give_back(config, cost, now);

    /// The tokens at that time.
    at tokens() -> f64 = |_, state, now| state.tokens(now);

    /// Calls a second.
    get rate: f64 = self.0.with(|_, state| state.rate());

    /// The measured rate of answers, a second.
    get measured: f64 = self.0.with(|_, state| state.measured());

    /// True once it limits.
    get limits: bool = self.0.with(|_, state| state.limits());
}
