//! Machines that outlive an operation: a gate that closes after failures, a gate for each key, and a bucket of tokens.

use crate::config;
use crate::convert::choice;
use crate::guards::Shared;
use crate::parameters::{Duration, EventTime, Limit, ReleaseTime, Seed, SpanOr as _, Time};
use crate::seeds::Draws;
use holdoff_core::{Direction, GateOptions, Growth, Span, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// How the delays of a gate grow, checked once.
#[pyclass(frozen, eq, module = "holdoff.machines")]
#[derive(PartialEq)]
pub(crate) struct GateConfig(holdoff_core::GateConfig);

methods! { GateConfig(self, py);
    shown "<{:?}>", self.0;

    new(;
        initial: Option<Duration<'_, '_>> = None, factor: f64 = 2.0, max: Option<Limit<'_, '_>> = None,
        jitter: f64 = 0.0, direction: &str as "Literal['up', 'down']" = "up",
        growth: &str as "Literal['power', 'feedback']" = "power", grace: u32 = 0,
        grace_delay: Option<Duration<'_, '_>> = None, ahead: bool = false,
        forgives: Option<&Bound<'_, PyAny>> as "int | Literal['all'] | None" = None,
        rest: Option<Duration<'_, '_>> = None, quiet: Option<Limit<'_, '_>> = None,
        keep: Option<Limit<'_, '_>> = None, keep_failed: Option<Limit<'_, '_>> = None,
        quantum: Option<Duration<'_, '_>> = None
    ) -> PyResult<Self> = {
        let default = GateOptions::default();
        let options = GateOptions {
            factor, jitter, grace, ahead,
            initial: initial.span_or("initial", default.initial)?,
            max: max.span_or("max", default.max)?,
            direction: choice("direction", direction, &Direction::ALL, Direction::name)?,
            growth: choice("growth", growth, &Growth::ALL, Growth::name)?,
            grace_delay: grace_delay.span_or("grace_delay", default.grace_delay)?,
            forgives: forgives.map_or(Ok(default.forgives), self::forgives)?,
            rest: rest.span_or("rest", default.rest)?,
            // Without the option the default holds; "none" is no limit.
            quiet: quiet.map_or(Ok(None), |limit| limit.span("quiet"))?,
            keep: keep.map_or(Ok(default.keep), |limit| limit.span("keep"))?,
            keep_failed: keep_failed.map_or(Ok(default.keep_failed), |limit| limit.span("keep_failed"))?,
            quantum: quantum.span_or("quantum", default.quantum)?,
        };
        config::valid(py, options.build()).map(Self)
    };

    /// An entry of Kubernetes' flowcontrol.Backoff; quiet stands for its HasExpiredFunc, twice max unless given.
    static flowcontrol(
        initial: Duration<'_, '_>, max: Duration<'_, '_>;
        max_jitter: f64 = 0.0, quiet: Option<Duration<'_, '_>> = None
    ) -> PyResult<Self> = {
        let made = holdoff_core::GateConfig::flowcontrol(initial.span("initial")?, max.span("max")?, max_jitter);
        let made = config::valid(py, made)?;
        Ok(Self(quiet.map_or(Ok(made), |quiet| quiet.span("quiet").map(|quiet| made.with_quiet(quiet)))?))
    };

    /// Chromium's net::BackoffEntry, from the fields of its policy; times in milliseconds, None for its -1.
    static chromium(;
        initial_delay_ms: u64, multiply_factor: f64, jitter_factor: f64, maximum_backoff_ms: Option<u64> = None,
        entry_lifetime_ms: Option<u64> = None, errors_to_ignore: u32 = 0, always_use_initial_delay: bool = false
    ) -> PyResult<Self> = config::valid(py, holdoff_core::GateConfig::chromium(
        initial_delay_ms, multiply_factor, jitter_factor, maximum_backoff_ms, entry_lifetime_ms, errors_to_ignore,
        always_use_initial_delay
    )).map(Self);

    /// An item of Kubernetes' ItemExponentialFailureRateLimiter.
    static item_exponential(base: Duration<'_, '_>, max: Duration<'_, '_>) -> PyResult<Self> =
        Ok(Self(holdoff_core::GateConfig::item_exponential(base.span("base")?, max.span("max")?)));

    /// An item of Kubernetes' ItemFastSlowRateLimiter.
    static fast_slow(fast: Duration<'_, '_>, slow: Duration<'_, '_>, max_fast_attempts: i64) -> PyResult<Self> =
        Ok(Self(holdoff_core::GateConfig::fast_slow(fast.span("fast")?, slow.span("slow")?, max_fast_attempts)));
}

/// How many failures a success takes back: a number, or "all".
fn forgives(value: &Bound<'_, PyAny>) -> PyResult<u32> {
    if value.is_instance_of::<PyString>() && value.eq("all")? { Ok(u32::MAX) } else { value.extract() }
}

/// The failures of one key, and until when it is closed. Times are ints of nanoseconds.
#[pyclass(module = "holdoff.machines")]
pub(crate) struct Gate {
    machine: holdoff_core::Gate,
    draws: Draws,
}

methods! { Gate(self, py);
    shown "<Gate after {} failures, open from {}>", self.machine.failures(), self.machine.release().as_nanos();

    new(; seed: Seed = None) -> Self = Self { machine: holdoff_core::Gate::new(), draws: Draws::new(seed) };

    /// A failure: returns for how long the gate closes. `event` is when the failed operation happened, now unless given.
    mut failure(config: &GateConfig, now: Time; event: Option<EventTime> = None) -> PyResult<u64> =
        fail(&mut self.machine, &mut self.draws, &config.0, now, event);

    /// A success: forgives as many failures as the configuration says.
    mut success(config: &GateConfig, now: Time) = self.machine.success(&config.0, now.0);

    /// Opens at that time and at no other, until the next failure.
    mut release_at(release: ReleaseTime) = self.machine.release_at(release.0);

    /// Starts anew.
    mut forget() = self.machine.forget();

    /// True if the gate is open at that time.
    ref is_open(now: Time) -> bool = self.machine.is_open(now.0);

    /// True if a failure at that time would draw a uniform.
    ref draws(config: &GateConfig, event: EventTime) -> bool = self.machine.draws(&config.0, event.0);

    /// True if the delay of the last failure, counted from the failure, covers an event at that time.
    ref covers(config: &GateConfig, event: EventTime) -> bool = self.machine.covers(&config.0, event.0);

    /// True if less time than the delay of the last failure has passed since an event at that time.
    ref covers_since(config: &GateConfig, event: EventTime, now: Time) -> bool =
        self.machine.covers_since(&config.0, event.0, now.0);

    /// True if the gate can be thrown away at that time.
    ref is_discardable(config: &GateConfig, now: Time) -> bool = self.machine.is_discardable(&config.0, now.0);

    /// How many failures count now.
    get failures: u64 = self.machine.failures();

    /// The delay of the last failure, in nanoseconds; 0 when no failure counts.
    get delay: u64 = self.machine.delay().as_nanos();

    /// When the gate opens or opened.
    get release: u64 = self.machine.release().as_nanos();
}

fn fail(
    gate: &mut holdoff_core::Gate,
    draws: &mut Draws,
    config: &holdoff_core::GateConfig,
    now: Time,
    event: Option<EventTime>,
) -> PyResult<u64> {
    let event = event.map_or(now.0, |event| event.0);
    let uniform = draws.uniform(gate.draws(config, event))?;
    Ok(gate.failure_of(config, event, now.0, uniform).as_nanos())
}

/// Gates by their keys, and the draws of all.
type Gates = (holdoff_core::Keyed<String, holdoff_core::Gate>, Draws);

/// A gate for each key, bounded: a new key replaces the key used longest ago. May be shared by threads.
#[pyclass(frozen, module = "holdoff.machines")]
pub(crate) struct Keyed(Shared<holdoff_core::GateConfig, Gates>);

methods! { Keyed(self, py);
    shown "<Keyed {} keys>", self.__len__(py);

    /// At most `most` keys; keys unused for more than `idle` are forgotten.
    new(
        config: &GateConfig; most: usize = 65536, idle: Option<Limit<'_, '_>> = None, seed: Seed = None
    ) -> PyResult<Self> = {
        let gates = holdoff_core::Keyed::new(most, idle.span_or("idle", Span::MAX)?);
        Ok(Self(Shared::new(config.0, (gates, Draws::new(seed)))))
    };

    special __len__() -> usize = self.0.with(|_, (gates, _)| gates.len());

    /// A failure of this key: returns for how long it closes. As Gate.failure.
    ref failure(key: String, now: Time; event: Option<EventTime> = None) -> PyResult<u64> =
        self.0.with(|config, (gates, draws)| fail(gates.entry(key, now.0, holdoff_core::Gate::new), draws, config, now, event));

    /// A success of this key.
    ref success(key: &str, now: Time) = self.0.with(|config, (gates, _)| {
        let mut new = holdoff_core::Gate::new();
        new.success(config, now.0);
        // An open gate without failures need not be stored.
        if gates.peek(key, now.0).is_some() || !new.is_open(now.0) {
            gates.entry(key.to_owned(), now.0, holdoff_core::Gate::new).success(config, now.0);
        }
    });

    /// Opens the key at that time and at no other, until its next failure.
    ref release_at(key: String, now: Time, release: ReleaseTime) =
        self.0.with(|_, (gates, _)| gates.entry(key, now.0, holdoff_core::Gate::new).release_at(release.0));

    /// True if the key is open at that time.
    ref is_open(key: &str, now: Time) -> bool =
        self.0.with(|_, (gates, _)| gates.peek(key, now.0).is_none_or(|gate| gate.is_open(now.0)));

    /// A copy of the key's gate; None when there is no gate.
    ref peek(key: &str, now: Time) -> Option<Gate> = self.0.with(|_, (gates, _)| {
        gates.peek(key, now.0).map(|gate| Gate { machine: *gate, draws: Draws::default() })
    });

    /// Forgets the key; returns True if it was known.
    ref forget(key: &str) -> bool = self.0.with(|_, (gates, _)| gates.remove(key)).is_some();

    /// Throws away idle keys and discardable gates; returns how many.
    ref collect(now: Time) -> usize = self.0.with(|config, (gates, _)| {
        gates.collect_idle(now.0) + gates.retain(|_, gate| !gate.is_discardable(config, now.0))
    });

    /// The keys in their order.
    ref keys() -> Vec<String> = self.0.with(|_, (gates, _)| gates.iter().map(|(key, _)| key.clone()).collect());
}

/// Tokens that drip into a bucket: `rate` in each `per`, and at most `burst` at once. May be shared by threads.
#[pyclass(frozen, module = "holdoff.machines")]
pub(crate) struct Bucket(Shared<holdoff_core::BucketConfig, holdoff_core::Bucket>);

methods! { Bucket(self, py);
    /// A full bucket.
    new(
        rate: f64, burst: u64; per: Option<Duration<'_, '_>> = None, now: Option<Time> = None
    ) -> PyResult<Self> = {
        let per = per.span_or("per", Span::from_secs(1))?;
        let config = config::valid(py, holdoff_core::BucketConfig::new(rate, per, burst))?;
        let now = now.map_or(Timestamp::ZERO, |now| now.0);
        Ok(Self(Shared::new(config, holdoff_core::Bucket::full(&config, now))))
    };

    /// Takes `count` tokens; returns how many nanoseconds it takes until they are there. None, and nothing is taken, for
    /// more than a burst or when it takes longer than `longest`; with 0 only tokens that are there are taken.
    ref reserve(now: Time, count: u64 = 1; longest: Option<Limit<'_, '_>> = None) -> PyResult<Option<u64>> = {
        let longest = longest.span_or("longest", Span::MAX)?;
        Ok(self.0.with(|config, tokens| tokens.reserve_within(config, count, now.0, longest).map(Span::as_nanos)))
    };

    /// The tokens at that time; negative while tokens are reserved that are not there yet.
    ref tokens(now: Time) -> f64 = self.0.with(|config, tokens| tokens.tokens_at(config, now.0));
}
