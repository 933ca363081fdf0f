//! Kubernetes: `wait.Backoff` on the wait backoff. What a case's JSON says is read here for all its kinds.

use super::{Recording, Verdict};
use holdoff_core::{Error, ErrorCode, Options, Span, Value as Setting, WaitBackoff};
use serde_json::Value;
use std::fmt::Debug;

pub(super) fn same<T: PartialEq + Debug>(at: usize, what: &str, expected: &T, got: &T) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("input {at}: {what}: expected {expected:?}, got {got:?}")) }
}

/// A whole number of 64 bits.
pub(super) fn whole(from: &Value, name: &str) -> Result<i64, String> {
    from[name].as_i64().ok_or_else(|| format!("{name} is no whole number: {}", from[name]))
}

/// The same, with a number for a field that is not there.
pub(super) fn whole_or(from: &Value, name: &str, missing: i64) -> Result<i64, String> {
    if from[name].is_null() { Ok(missing) } else { whole(from, name) }
}

/// A number, or the word for one that JSON cannot write. A field that is not there is zero, as in Go.
pub(super) fn real(from: &Value, name: &str) -> Result<f64, String> {
    let value = &from[name];
    if value.is_null() {
        return Ok(0.0);
    }
    let word = value.as_str().and_then(|text| text.parse().ok());
    value.as_f64().or(word).ok_or_else(|| format!("{name} is no number: {value}"))
}

/// A truth value, false when it is not there.
pub(super) fn truth(from: &Value, name: &str) -> bool {
    from[name].as_bool().unwrap_or(false)
}

/// A Go duration, zero when it is not there; nothing when it is negative, which the core refuses for a span.
pub(super) fn span(from: &Value, name: &str) -> Result<Option<Span>, String> {
    let nanos = whole_or(from, name, 0)?;
    if let Ok(nanos) = u64::try_from(nanos) {
        return Ok(Some(Span::from_nanos(nanos)));
    }
    let mut options = Options::NEW;
    match options.set("backoff.initial", Setting::Number { value: nanos as f64, unit: 1.0 }) {
        Err(error) if error.code == ErrorCode::NotADuration => Ok(None),
        other => Err(format!("{name} of {nanos} gives {other:?}")),
    }
}

/// Counts the inputs whose recorded result is no example. No negative number goes into a case that runs, so a negative one
/// that comes out left the range of an integer.
#[derive(Default)]
pub(super) struct Wrapped(usize);

impl Wrapped {
    /// Whether one of the recorded numbers did.
    pub(super) fn is(&mut self, recorded: &[i64]) -> bool {
        let wrapped = recorded.iter().any(|nanos| *nanos < 0);
        self.0 += usize::from(wrapped);
        wrapped
    }

    /// Counts one more that follows from such a number.
    pub(super) fn add(&mut self) {
        self.0 += 1;
    }

    pub(super) fn verdict(&self) -> Verdict {
        Verdict::Same { deviations: self.0 }
    }
}

/// Outside the domain, as long as the core refuses what the configuration says.
pub(super) fn refused<T>(made: Option<Result<T, Error>>) -> Result<Verdict, String> {
    match made {
        None | Some(Err(_)) => Ok(Verdict::OutOfDomain),
        Some(Ok(_)) => Err("a configuration outside the domain is taken".to_owned()),
    }
}

/// The wait backoff of a `wait.Backoff`; nothing for a negative duration.
pub(super) fn wait_backoff(config: &Value) -> Result<Option<Result<WaitBackoff, Error>>, String> {
    let (factor, jitter) = (real(config, "factor")?, real(config, "jitter")?);
    let (steps, cap) = (whole_or(config, "steps", 0)?, whole_or(config, "cap", 0)?);
    Ok(span(config, "duration")?.map(|duration| WaitBackoff::kubernetes(duration, factor, jitter, steps, cap)))
}

/// Kind `k8s_backoff`.
pub(super) fn backoff(case: &Recording) -> Result<Verdict, String> {
    let config = &case.config;
    let made = if config["op"] == "Jitter" {
        let factor = real(config, "max_factor")?;
        span(config, "duration")?.map(|duration| WaitBackoff::kubernetes_jitter(duration, factor))
    } else if truth(config, "nil") {
        Some(Ok(WaitBackoff::default()))
    } else {
        wait_backoff(config)?
    };
    let Some(Ok(mut backoff)) = made else { return refused(made) };
    let (mut wrapped, mut is_lost) = (Wrapped::default(), false);
    for (at, (input, expected)) in case.steps()? {
        let u = input.as_f64();
        same(at, "whether a uniform is drawn", &u.is_some(), &backoff.draws())?;
        let delay = backoff.step(u.unwrap_or(0.0));
        let after = expected.get("duration_after").map(|_| whole(expected, "duration_after")).transpose()?;
        let recorded = whole(expected, "delay")?;
        if wrapped.is(&[recorded, after.unwrap_or(0)]) {
            // The duration went out of range, now or before, or else the sum of it and its jitter.
            if recorded >= 0 && !is_lost {
                same(at, "delay", &(recorded as u64), &delay.as_nanos())?;
            } else if !is_lost {
                same(at, "saturated delay", &Span::MAX, &delay)?;
            }
            if after.is_some_and(|after| after < 0) {
                is_lost = true;
                same(at, "saturated duration", &backoff.cap(), &backoff.duration())?;
            }
        } else {
            same(at, "delay", &(recorded as u64), &delay.as_nanos())?;
        }
        if let Some(after) = after.filter(|after| *after >= 0) {
            same(at, "duration after it", &(after as u64), &backoff.duration().as_nanos())?;
            same(at, "steps after it", &whole(expected, "steps_after")?, &(backoff.steps() as i64))?;
        }
    }
    Ok(wrapped.verdict())
}
