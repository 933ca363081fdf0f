//! What outlives an operation: a gate that closes after failures, one a key, and a bucket of tokens.

use crate::config::{self, span, span_or_none};
use crate::convert;
use crate::seeds::Draws;
use holdoff_core::{Direction, GateOptions, Growth, Span, Timestamp};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How the delays of a gate grow, checked once.
#[pyclass(frozen, eq, module = "holdoff")]
#[derive(PartialEq)]
pub(crate) struct GateConfig(holdoff_core::GateConfig);

#[pymethods]
impl GateConfig {
    #[new]
    #[pyo3(signature = (
        *, initial = None, factor = 2.0, max = None, jitter = 0.0, direction = "up", growth = "power", grace = 0,
        grace_delay = None, ahead = false, forgives = None, rest = None, quiet = None, keep = None,
        keep_failed = None, quantum = None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn new(
        py: Python<'_>,
        initial: Option<&Bound<'_, PyAny>>,
        factor: f64,
        max: Option<&Bound<'_, PyAny>>,
        jitter: f64,
        direction: &str,
        growth: &str,
        grace: u32,
        grace_delay: Option<&Bound<'_, PyAny>>,
        ahead: bool,
        forgives: Option<&Bound<'_, PyAny>>,
        rest: Option<&Bound<'_, PyAny>>,
        quiet: Option<&Bound<'_, PyAny>>,
        keep: Option<&Bound<'_, PyAny>>,
        keep_failed: Option<&Bound<'_, PyAny>>,
        quantum: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let given = GateOptions::default();
        let or = |name: &str, value: Option<&Bound<'_, PyAny>>, none: Span| {
            value.map_or(Ok(none), |value| span(name, value))
        };
        // "none" is a word of its own here, since what is not given is five minutes.
        let kept = |name: &str, value: Option<&Bound<'_, PyAny>>, none: Option<Span>| {
            if value.is_none() { Ok(none) } else { span_or_none(name, value) }
        };
        let options = GateOptions {
            initial: or("initial", initial, given.initial)?,
            factor,
            max: match max {
                None => given.max,
                max => span_or_none("max", max)?.unwrap_or(Span::MAX),
            },
            jitter,
            direction: match direction {
                "up" => Direction::Up,
                "down" => Direction::Down,
                other => return Err(PyValueError::new_err(format!("direction = {other:?}: must be one of up, down"))),
            },
            growth: match growth {
                "power" => Growth::Power,
                "feedback" => Growth::Feedback,
                other => {
                    return Err(PyValueError::new_err(format!("growth = {other:?}: must be one of power, feedback")));
                }
            },
            grace,
            grace_delay: or("grace_delay", grace_delay, given.grace_delay)?,
            ahead,
            forgives: forgives.map_or(Ok(given.forgives), self::forgives)?,
            rest: or("rest", rest, given.rest)?,
            quiet: span_or_none("quiet", quiet)?,
            keep: kept("keep", keep, given.keep)?,
            keep_failed: kept("keep_failed", keep_failed, given.keep_failed)?,
            quantum: or("quantum", quantum, given.quantum)?,
        };
        config::valid(py, options.build()).map(Self)
    }

    /// An entry of Kubernetes' flowcontrol.Backoff; quiet stands for its HasExpiredFunc, twice max unless given.
    #[staticmethod]
    #[pyo3(signature = (initial, max, *, max_jitter = 0.0, quiet = None))]
    fn flowcontrol(
        initial: &Bound<'_, PyAny>,
        max: &Bound<'_, PyAny>,
        max_jitter: f64,
        quiet: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let made = holdoff_core::GateConfig::flowcontrol(span("initial", initial)?, span("max", max)?, max_jitter);
        let made = config::valid(initial.py(), made)?;
        Ok(Self(match quiet {
            Some(quiet) => made.with_quiet(span("quiet", quiet)?),
            None => made,
        }))
    }

    /// An item of Kubernetes' ItemExponentialFailureRateLimiter.
    #[staticmethod]
    fn item_exponential(base: &Bound<'_, PyAny>, max: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(holdoff_core::GateConfig::item_exponential(span("base", base)?, span("max", max)?)))
    }

    /// An item of Kubernetes' ItemFastSlowRateLimiter.
    #[staticmethod]
    fn fast_slow(fast: &Bound<'_, PyAny>, slow: &Bound<'_, PyAny>, max_fast_attempts: i64) -> PyResult<Self> {
        Ok(Self(holdoff_core::GateConfig::fast_slow(span("fast", fast)?, span("slow", slow)?, max_fast_attempts)))
    }

    /// Chromium's net::BackoffEntry, from the fields of its policy; times in milliseconds, None for its -1.
    #[staticmethod]
    #[pyo3(signature = (
        *, initial_delay_ms, multiply_factor, jitter_factor, maximum_backoff_ms = None, entry_lifetime_ms = None,
        errors_to_ignore = 0, always_use_initial_delay = false
    ))]
    #[allow(clippy::too_many_arguments)]
    fn chromium(
        py: Python<'_>,
        initial_delay_ms: u64,
        multiply_factor: f64,
        jitter_factor: f64,
        maximum_backoff_ms: Option<u64>,
        entry_lifetime_ms: Option<u64>,
        errors_to_ignore: u32,
        always_use_initial_delay: bool,
    ) -> PyResult<Self> {
        let made = holdoff_core::GateConfig::chromium(
            initial_delay_ms,
            multiply_factor,
            jitter_factor,
            maximum_backoff_ms,
            entry_lifetime_ms,
            errors_to_ignore,
            always_use_initial_delay,
        );
        config::valid(py, made).map(Self)
    }

    fn __repr__(&self) -> String {
        format!("<{:?}>", self.0)
    }
}

/// How many failures a success takes back: a number, or "all".
fn forgives(value: &Bound<'_, PyAny>) -> PyResult<u32> {
    if value.is_instance_of::<PyString>() && value.eq("all")? { Ok(u32::MAX) } else { value.extract() }
}

/// One key's failures and until when it is closed. Times are ints of nanoseconds.
#[pyclass(module = "holdoff")]
pub(crate) struct Gate {
    machine: holdoff_core::Gate,
    draws: Draws,
}

#[pymethods]
impl Gate {
    #[new]
    #[pyo3(signature = (*, seed = None))]
    fn new(seed: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(Self { machine: holdoff_core::Gate::new(), draws: Draws::new(seed)? })
    }

    /// It failed; says for how long it closes. `event` is when what failed happened, now unless given; the uniform from
    /// [0, 1) is drawn unless it is given.
    #[pyo3(signature = (config, now, *, event = None, u = None))]
    fn failure(
        &mut self,
        config: &Bound<'_, GateConfig>,
        now: &Bound<'_, PyAny>,
        event: Option<&Bound<'_, PyAny>>,
        u: Option<f64>,
    ) -> PyResult<u64> {
        let (now, event) = times(now, event)?;
        fail(&mut self.machine, &mut self.draws, &config.get().0, event, now, u)
    }

    /// It succeeded: forgives what the configuration says a success forgives.
    fn success(&mut self, config: &Bound<'_, GateConfig>, now: &Bound<'_, PyAny>) -> PyResult<()> {
        self.machine.success(&config.get().0, convert::time("now", now)?);
        Ok(())
    }

    /// Opens then and at no other time, until a failure puts it off.
    fn release_at(&mut self, release: &Bound<'_, PyAny>) -> PyResult<()> {
        self.machine.release_at(convert::time("release", release)?);
        Ok(())
    }

    /// Starts anew.
    fn forget(&mut self) {
        self.machine.forget();
    }

    /// Whether it is open at that time.
    fn is_open(&self, now: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.machine.is_open(convert::time("now", now)?))
    }

    /// Whether a failure of something at that time would draw a uniform.
    fn draws(&self, config: &Bound<'_, GateConfig>, event: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.machine.draws(&config.get().0, convert::time("event", event)?))
    }

    /// Whether the delay of the last failure, counted from then, still covers something that happened at that time.
    fn covers(&self, config: &Bound<'_, GateConfig>, event: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.machine.covers(&config.get().0, convert::time("event", event)?))
    }

    /// Whether less time than the delay of the last failure has passed since something that happened at that time.
    fn covers_since(
        &self,
        config: &Bound<'_, GateConfig>,
        event: &Bound<'_, PyAny>,
        now: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (event, now) = (convert::time("event", event)?, convert::time("now", now)?);
        Ok(self.machine.covers_since(&config.get().0, event, now))
    }

    /// Whether it can be thrown away at that time.
    fn is_discardable(&self, config: &Bound<'_, GateConfig>, now: &Bound<'_, PyAny>) -> PyResult<bool> {
        Ok(self.machine.is_discardable(&config.get().0, convert::time("now", now)?))
    }

    /// How many failures count now.
    #[getter]
    fn failures(&self) -> u64 {
        self.machine.failures()
    }

    /// What the last failure was answered with, in nanoseconds; 0 when none counts.
    #[getter]
    fn delay(&self) -> u64 {
        self.machine.delay().as_nanos()
    }

    /// When it opens or opened.
    #[getter]
    fn release(&self) -> u64 {
        self.machine.release().as_nanos()
    }

    fn __repr__(&self) -> String {
        format!("<Gate after {} failures, open from {}>", self.machine.failures(), self.machine.release().as_nanos())
    }
}

fn times(now: &Bound<'_, PyAny>, event: Option<&Bound<'_, PyAny>>) -> PyResult<(Timestamp, Timestamp)> {
    let now = convert::time("now", now)?;
    Ok((now, event.map_or(Ok(now), |event| convert::time("event", event))?))
}

fn fail(
    gate: &mut holdoff_core::Gate,
    draws: &mut Draws,
    config: &holdoff_core::GateConfig,
    event: Timestamp,
    now: Timestamp,
    u: Option<f64>,
) -> PyResult<u64> {
    let u = draws.take(u, gate.draws(config, event))?;
    Ok(gate.failure_of(config, event, now, u).as_nanos())
}

/// One gate a key, bounded: the key used longest ago is given up for a new one. May be shared by threads.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Keyed {
    config: holdoff_core::GateConfig,
    gates: Mutex<(holdoff_core::Keyed<String, holdoff_core::Gate>, Draws)>,
}

impl Keyed {
    fn gates(&self) -> MutexGuard<'_, (holdoff_core::Keyed<String, holdoff_core::Gate>, Draws)> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Keyed {
    /// At most that many keys; those unused for more than `idle` are forgotten.
    #[new]
    #[pyo3(signature = (config, *, most = 65536, idle = None, seed = None))]
    fn new(
        config: &Bound<'_, GateConfig>,
        most: usize,
        idle: Option<&Bound<'_, PyAny>>,
        seed: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let idle = span_or_none("idle", idle)?.unwrap_or(Span::MAX);
        let gates = Mutex::new((holdoff_core::Keyed::new(most, idle), Draws::new(seed)?));
        Ok(Self { config: config.get().0, gates })
    }

    /// Something with this key failed; says for how long it closes. As Gate.failure.
    #[pyo3(signature = (key, now, *, event = None, u = None))]
    fn failure(
        &self,
        key: String,
        now: &Bound<'_, PyAny>,
        event: Option<&Bound<'_, PyAny>>,
        u: Option<f64>,
    ) -> PyResult<u64> {
        let (now, event) = times(now, event)?;
        let (gates, draws) = &mut *self.gates();
        fail(gates.entry(key, now, holdoff_core::Gate::new), draws, &self.config, event, now, u)
    }

    /// Something with this key succeeded.
    fn success(&self, key: &str, now: &Bound<'_, PyAny>) -> PyResult<()> {
        let now = convert::time("now", now)?;
        let (gates, _) = &mut *self.gates();
        let mut new = holdoff_core::Gate::new();
        new.success(&self.config, now);
        // A gate that is open and knows of no failure is as good as none.
        if gates.peek(key, now).is_some() || !new.is_open(now) {
            gates.entry(key.to_owned(), now, holdoff_core::Gate::new).success(&self.config, now);
        }
        Ok(())
    }

    /// The key opens then and at no other time, until a failure puts it off.
    fn release_at(&self, key: String, now: &Bound<'_, PyAny>, release: &Bound<'_, PyAny>) -> PyResult<()> {
        let (now, release) = (convert::time("now", now)?, convert::time("release", release)?);
        self.gates().0.entry(key, now, holdoff_core::Gate::new).release_at(release);
        Ok(())
    }

    /// Whether the key is open at that time.
    fn is_open(&self, key: &str, now: &Bound<'_, PyAny>) -> PyResult<bool> {
        let now = convert::time("now", now)?;
        Ok(self.gates().0.peek(key, now).is_none_or(|gate| gate.is_open(now)))
    }

    /// A copy of the key's gate, to look at; None when there is none.
    fn peek(&self, key: &str, now: &Bound<'_, PyAny>) -> PyResult<Option<Gate>> {
        let now = convert::time("now", now)?;
        Ok(self.gates().0.peek(key, now).map(|gate| Gate { machine: *gate, draws: Draws::default() }))
    }

    /// Forgets the key; whether there was one.
    fn forget(&self, key: &str) -> bool {
        self.gates().0.remove(key).is_some()
    }

    /// Throws away what can be at that time: keys that are idle, and gates that are discardable. Says how many.
    fn collect(&self, now: &Bound<'_, PyAny>) -> PyResult<usize> {
        let now = convert::time("now", now)?;
        let (gates, _) = &mut *self.gates();
        let idle = gates.collect_idle(now);
        Ok(idle + gates.retain(|_, gate| !gate.is_discardable(&self.config, now)))
    }

    /// The keys in their order.
    fn keys(&self) -> Vec<String> {
        self.gates().0.iter().map(|(key, _)| key.clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.gates().0.len()
    }

    fn __repr__(&self) -> String {
        format!("<Keyed {} keys>", self.__len__())
    }
}

/// Tokens that drip into a bucket: so many each `per`, and so many at once. May be shared by threads.
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Bucket {
    config: holdoff_core::BucketConfig,
    tokens: Mutex<holdoff_core::Bucket>,
}

#[pymethods]
impl Bucket {
    /// A full bucket.
    #[new]
    #[pyo3(signature = (rate, burst, *, per = None, now = None))]
    fn new(
        py: Python<'_>,
        rate: f64,
        burst: u64,
        per: Option<&Bound<'_, PyAny>>,
        now: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let per = per.map_or(Ok(Span::from_secs(1)), |per| span("per", per))?;
        let config = config::valid(py, holdoff_core::BucketConfig::new(rate, per, burst))?;
        Ok(Self { config, tokens: Mutex::new(holdoff_core::Bucket::full(&config, convert::now(now)?)) })
    }

    /// Takes that many tokens and says how many nanoseconds they take to be there. None, and nothing is taken, for more than
    /// a burst or when it takes longer than `longest`; 0 takes only what is there.
    #[pyo3(signature = (now, count = 1, *, longest = None))]
    fn reserve(&self, now: &Bound<'_, PyAny>, count: u64, longest: Option<&Bound<'_, PyAny>>) -> PyResult<Option<u64>> {
        let now = convert::time("now", now)?;
        let longest = span_or_none("longest", longest)?.unwrap_or(Span::MAX);
        let mut tokens = self.tokens.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(tokens.reserve_within(&self.config, count, now, longest).map(Span::as_nanos))
    }

    /// The tokens there are at that time; negative while some are reserved that are not there yet.
    fn tokens(&self, now: &Bound<'_, PyAny>) -> PyResult<f64> {
        let now = convert::time("now", now)?;
        Ok(self.tokens.lock().unwrap_or_else(PoisonError::into_inner).tokens_at(&self.config, now))
    }
}
