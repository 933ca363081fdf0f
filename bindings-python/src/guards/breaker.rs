//! The circuit breaker.

use crate::parameters::{BreakerState, HintSpan, Now, Seed, Took};
use holdoff_core::{BreakerConfig, Error, Options, Permit, Span, Timestamp, Verdict};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

guard! {
    Breaker as breaker "breaker": holdoff_core::Breaker, BreakerConfig;
    fresh |builder, seed, now| builder.breaker()?.map(|config| (config, holdoff_core::Breaker::new(&config, seed, now)));
    save |config, state, now| state.save(config, now);
    restore |bytes, config, now| holdoff_core::Breaker::restore(bytes, config, now)?;
    new(*, seed: Seed, now: Now; **fields: "Unpack[BreakerFields]", config: "BreakerConfig");
    repr |config, state| "<Breaker {}, opened {} times>", state.state(config, super::clock_time()).name(), state.openings();

    impl {
        /// A call with this permit ended after `took` nanoseconds.
        #[pyo3(signature = (permit, failed = false, took = None, now = None))]
        fn record(&self, py: Python<'_>, permit: u32, failed: bool, took: Option<Took>, now: Now) -> PyResult<()> {
            let (permit, verdict) = (Permit::from_raw(permit), if failed { Verdict::Failure } else { Verdict::Success });
            let took = took.map_or(Span::ZERO, |took| took.0);
            self.0.at(py, now, |config, state, now| state.record(config, permit, now, verdict, took))
        }
    }

    at {
        /// A permit for a call; None when it may not run: ask again at `retry_at`.
        acquire() -> Option<u32> = |config, state, now| state.acquire(config, now).ok().map(Permit::as_raw);

        /// A call with this permit never ran, or ended without a result that counts.
        abandon(permit: u32) -> () = |config, state, now| state.abandon(config, Permit::from_raw(permit), now);

        /// The server asked for a pause of `span` nanoseconds: the breaker opens that long if its configuration says so.
        hint(span: HintSpan) -> () = |config, state, now| state.hint(config, now, span.0);

        /// Opens the breaker until it is reset or forced closed.
        isolate() -> () = |_, state, now| state.isolate(now);

        /// Closes the breaker.
        force_close() -> () = |_, state, now| state.force_close(now);

        /// Closes the breaker and forgets all results.
        reset() -> () = |_, state, now| state.reset(now);

        /// "closed", "open", "half_open" or "isolated".
        state() -> BreakerState = |config, state, now| BreakerState(state.state(config, now));

        /// Until when a call at that time would be refused; None when it would not be.
        refuses() -> Option<u64> = |config, state, now| state.refuses(config, now).map(Timestamp::as_nanos);

        /// How many calls the window holds, how many of them failed, and how many were slow.
        rates() -> (u32, u32, u32) = |config, state, now| state.rates(config, now);
    }

    get {
        /// When to ask again after a refusal; NEVER when nobody knows.
        retry_at: u64 = breaker.0.with(|_, state| state.retry_at().as_nanos());

        /// How often the breaker has opened.
        openings: u32 = breaker.0.with(|_, state| state.openings());
    }
}
