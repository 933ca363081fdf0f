//! The circuit breaker.

use crate::parameters::{BreakerState, HintSpan, Now, Seed, Took};
use holdoff_core::{BreakerConfig, Error, Options, Permit, Span, Timestamp, Verdict};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

guard! {
    Breaker(self, py) "breaker": holdoff_core::Breaker, BreakerConfig;
    fresh |builder, seed, now| builder.breaker()?.map(|config| (config, holdoff_core::Breaker::new(&config, seed, now)));
    save |config, state, now| state.save(config, now);
    restore |bytes, config, now| holdoff_core::Breaker::restore(bytes, config, now)?;
    new(*, seed: Seed, now: Now; **fields: "Unpack[BreakerFields]", config: "BreakerConfig");
    repr |config, state| "<Breaker {}, opened {} times>", state.state(config, super::clock_time()).name(), state.openings();

    /// A call with this permit ended after `took` nanoseconds.
    ref record(permit: u32, failed: bool = false, took: Option<Took> = None, now: Now = None) -> PyResult<()> = {
        let verdict = if failed { Verdict::Failure } else { Verdict::Success };
        let (permit, took) = (Permit::from_raw(permit), took.map_or(Span::ZERO, |took| took.0));
        self.0.at(py, now, |config, state, now| state.record(config, permit, now, verdict, took))
    };

    /// A permit for a call; None when it may not run: ask again at `retry_at`.
    at acquire() -> Option<u32> = |config, state, now| state.acquire(config, now).ok().map(Permit::as_raw);

    /// A call with this permit never ran, or ended without a result that counts.
    at abandon(permit: u32) -> () = |config, state, now| state.abandon(config, Permit::from_raw(permit), now);

    /// The server asked for a pause of `span` nanoseconds: the breaker opens that long if its configuration says so.
    at hint(span: HintSpan) -> () = |config, state, now| state.hint(config, now, span.0);

    /// Opens the breaker until it is reset or forced closed.
    at isolate() -> () = |_, state, now| state.isolate(now);

    /// Closes the breaker.
    at force_close() -> () = |_, state, now| state.force_close(now);

    /// Closes the breaker and forgets all results.
    at reset() -> () = |_, state, now| state.reset(now);

    /// "closed", "open", "half_open" or "isolated".
    at state() -> BreakerState = |config, state, now| BreakerState(state.state(config, now));

    /// Until when a call at that time would be refused; None when it would not be.
    at refuses() -> Option<u64> = |config, state, now| state.refuses(config, now).map(Timestamp::as_nanos);

    /// How many calls the window holds, how many of them failed, and how many were slow.
    at rates() -> (u32, u32, u32) = |config, state, now| state.rates(config, now);

    /// When to ask again after a refusal; NEVER when nobody knows.
    get retry_at: u64 = self.0.with(|_, state| state.retry_at().as_nanos());

    /// How often the breaker has opened.
    get openings: u32 = self.0.with(|_, state| state.openings());
}
