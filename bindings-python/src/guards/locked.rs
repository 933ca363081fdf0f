//! The guards that are a configuration and a state behind a lock: budget, breaker, limiter, adaptive rate, stretch and hedge.

use super::Start;
use crate::clock;
use crate::parameters::{BreakerState, Delay, HintSpan, Kind, Now, Seed, ThrottleTime, Took};
use holdoff_core::{
    AdaptiveConfig, AdaptiveStart, BreakerConfig, BudgetConfig, FailureKind, GuardConfig as _, HedgeConfig,
    LimiterConfig, PauseConfig, Permit, Span, StretchConfig, Timestamp, Verdict, Withdrawal,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

fn or_transient(kind: Option<Kind>) -> FailureKind {
    kind.map_or(FailureKind::Transient, |kind| kind.0)
}

guard! {
    Budget(self, py) "budget": BudgetConfig, renew |config, kept| kept.state = config.state(0, Timestamp::ZERO);
    new(*, seed: Seed, now: Now; **fields: "Unpack[BudgetFields]", config: "BudgetConfig");
    repr |config, state| "<Budget {} left>", state.balance(config, super::clock_time());

    /// A paid retry has run.
    ref retried() = self.0.with(|config, state| state.retried(config));

    /// The call is over; with the payment of a retry that still runs, if any.
    ref end(withdrawal: Option<u32> = None) =
        self.0.with(|config, state| state.end(config, withdrawal.map(Withdrawal::from_raw)));

    /// An attempt failed, retried or not.
    at fail(kind: Option<Kind> = None) -> () = |config, state, now| state.fail(config, now, or_transient(kind));

    /// Pays for a retry after such a failure: returns the payment; None when there may be no retry.
    at withdraw(kind: Option<Kind> = None) -> Option<u32> =
        |config, kept, now| {
            let noted = kept.refusals();
            kept.withdraw(config, now, or_transient(kind), noted).map(Withdrawal::as_raw)
        };

    /// A call begins.
    at begin() -> () = |config, state, now| state.begin(config, now);

    /// An attempt, the first or a later one, is about to start: returns True if it may.
    at admit() -> bool = |config, state, now| state.admit(config, now);

    /// A paid retry will never run.
    at refund(withdrawal: u32) -> () = |config, state, now| state.refund(config, now, Withdrawal::from_raw(withdrawal));

    /// The call succeeded, with its payment if any.
    at succeed(withdrawal: Option<u32> = None) -> () =
        |config, state, now| state.succeed(config, now, withdrawal.map(Withdrawal::from_raw));

    /// How many tokens, or retries, are left.
    at balance() -> f64 = |config, state, now| state.balance(config, now);

    /// The chance that an attempt is refused: 0 except for a budget of requests.
    at rejection() -> f64 = |config, state, now| state.rejection(config, now);
}

guard! {
    Breaker(self, py) "breaker": BreakerConfig, renew |_, kept| kept.reset(Timestamp::ZERO);
    new(*, seed: Seed, now: Now; **fields: "Unpack[BreakerFields]", config: "BreakerConfig");
    repr |config, state| "<Breaker {}, opened {} times>", state.state(config, super::clock_time()).name(), state.openings();

    /// A call with this permit ended after `took` nanoseconds.
    ref record(permit: u32, failed: bool = false, took: Option<Took> = None, now: Now = None) -> PyResult<()> = {
        let verdict = if failed { Verdict::Failure } else { Verdict::Success };
        let (permit, took) = (Permit::from_raw(permit), took.map_or(Span::ZERO, |took| took.0));
        self.turned(py, now, |config, state, now| state.record(config, permit, now, verdict, took))
    };

    /// A permit for a call; None when it may not run: ask again at `retry_at`.
    at acquire() -> Option<u32> = |config, state, now| state.acquire(config, now).ok().map(Permit::as_raw);

    /// A call with this permit never ran, or ended without a result that counts.
    ref abandon(permit: u32, now: Now = None) -> PyResult<()> =
        self.turned(py, now, |config, state, now| state.abandon(config, Permit::from_raw(permit), now));

    /// The server asked for a pause of `span` nanoseconds: the breaker opens that long if its configuration says so.
    at hint(span: HintSpan) -> () = |config, state, now| state.hint(config, now, span.0);

    /// Opens the breaker until it is reset or forced closed.
    at isolate() -> () = |_, state, now| state.isolate(now);

    /// Closes the breaker.
    ref force_close(now: Now = None) -> PyResult<()> = self.turned(py, now, |_, state, now| state.force_close(now));

    /// Closes the breaker and forgets all results.
    ref reset(now: Now = None) -> PyResult<()> = self.turned(py, now, |_, state, now| state.reset(now));

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

impl Breaker {
    /// Runs a transition, and wakes those behind others whom the breaker lets through now.
    fn turned(
        &self,
        py: Python<'_>,
        now: Now,
        transition: impl FnOnce(&BreakerConfig, &mut holdoff_core::Breaker, Timestamp),
    ) -> PyResult<()> {
        let admits = self.0.at(py, now, |config, state, now| {
            let before = state.admits(config);
            transition(config, state, now);
            (before, state.admits(config))
        })?;
        self.0.line.let_through(py, admits);
        Ok(())
    }
}

guard! {
    Limiter(self, py) "limiter": LimiterConfig;
    new(*, now: Now; **fields: "Unpack[LimiterFields]", config: "LimiterConfig");
    repr |config, _| "<Limiter of {} in {}>", config.limit(), config.per();

    /// Takes `count` attempts; returns True if they were there. If not, nothing is taken.
    at take(count: u32 = 1) -> bool = |config, kept, now| kept.state.take(config, &mut kept.words, count, now).is_ok();

    /// When they would be there if nothing else is taken; None for now, NEVER for more than there can be.
    at refuses(count: u32 = 1) -> Option<u64> =
        |config, kept, now| kept.state.refuses(config, &kept.words, count, now).map(Timestamp::as_nanos);

    /// Returns unused ones.
    at give_back(count: u32 = 1) -> () = |config, kept, now| kept.state.give_back(config, &mut kept.words, count, now);
}

guard! {
    Adaptive(self, py) "adaptive": AdaptiveConfig;
    new(*, now: Now; **fields: "Unpack[AdaptiveFields]", config: "AdaptiveConfig");
    repr |_, state| "<Adaptive {} calls a second>", state.rate();

    /// A guard in the middle of its life: rates in calls a second, `throttled_at` in nanoseconds.
    static started(
        config: &Bound<'_, PyAny> as "AdaptiveConfig";
        rate: f64 = 0.0, tokens: f64 = 0.0, measured: f64 = 0.0, last_max_rate: f64 = 0.0,
        throttled_at: Option<ThrottleTime> = None, limits: bool = true, now: Now = None
    ) -> PyResult<Self> = {
        let made = super::new::<Self>(py, Some(config), None, Start { seed: None, now })?;
        let now = clock::at(py, now)?;
        let throttled_at = throttled_at.map_or(now, |at| at.0);
        let start = AdaptiveStart { rate, tokens, measured, last_max_rate, throttled_at, limits };
        made.0.with(|config, kept| kept.state = holdoff_core::Adaptive::started(config, start, now));
        Ok(made)
    };

    /// Takes `cost` tokens; returns True if they were there. If not, nothing is taken.
    at take(cost: f64 = 1.0) -> bool = |config, state, now| state.take(config, cost, now).is_ok();

    /// When they would be there if nothing else is taken; None for now, NEVER for more than there can be.
    at refuses(cost: f64 = 1.0) -> Option<u64> =
        |config, kept, now| kept.state.clone().take(config, cost, now).err().map(Timestamp::as_nanos);

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

guard! {
    Stretch(self, py) "stretch": StretchConfig;
    new(*, now: Now; **fields: "Unpack[StretchFields]", config: "StretchConfig");
    repr |config, _| "<Stretch up to {} times>", config.factor();

    /// An attempt ended.
    at record(failed: bool) -> () = |config, state, now| state.record(config, now, failed);

    /// The stretched delay, both in nanoseconds.
    at stretch(delay: Delay) -> u64 = |config, state, now| state.stretch(config, now, delay.0).as_nanos();

    /// How many attempts the window holds, and how many of them failed.
    at counts() -> (u32, u32) = |config, state, now| state.counts(config, now);
}

guard! {
    Hedge(self, py) "hedge": HedgeConfig;
    new(**fields: "Unpack[HedgeFields]", config: "HedgeConfig");
    repr |config, state| "<Hedge after {}>", config.delay(state);

    /// An attempt that succeeded took that many nanoseconds.
    ref record(took: Took) =
        self.0.with(|config, state| state.record(took.0, config.percentile().unwrap_or_default()));

    /// How long the percentile of attempts takes, in nanoseconds; None before the first.
    get quantile: Option<u64> = self.0.with(|_, state| state.quantile().map(Span::as_nanos));

    /// How many attempts have been recorded.
    get records: u32 = self.0.with(|_, state| state.records());

    /// How long after an attempt the next one starts beside it, in nanoseconds.
    get delay: u64 = self.0.with(|config, state| config.delay(state).as_nanos());

    /// How many attempts there may be at once.
    get attempts: u32 = self.0.config.attempts();
}

guard! {
    Pause(self, py) "pause": PauseConfig;
    new(*, now: Now; **fields: "Unpack[PauseFields]", config: "PauseConfig");
    repr |_, state| "<Pause {}>", state.refuses(super::clock_time()).map_or("open", |_| "closed");

    /// The server said not to come before `span` nanoseconds are over.
    at hint(span: HintSpan) -> () = |config, state, now| state.hint(config, now, span.0);

    /// The time from which an attempt may begin, in nanoseconds; None when it may begin now.
    at refuses() -> Option<u64> = |_, state, now| state.refuses(now).map(Timestamp::as_nanos);
}
