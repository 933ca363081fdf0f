//! The delays of many calls at once, as an array of numpy.

use crate::parameters::Kind;
use holdoff_core::{Decision, Failure, FailureKind, Policy, Retry, Span, Timestamp, seed_at};
use pyo3::exceptions::{PyImportError, PyModuleNotFoundError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyByteArray;

/// The most calls: each has a seed and a row.
const MOST_CALLS: u32 = 10_000_000;
/// The most retries of a call.
const MOST_RETRIES: u32 = 1000;
/// The most numbers in an array: 800 MB.
const MOST_CELLS: u64 = 100_000_000;

/// The calls to simulate.
#[derive(Clone, Copy)]
pub(crate) struct Simulation {
    pub(crate) calls: u32,
    /// The seed of the first call and of those after it.
    pub(crate) seed: u64,
    /// The most retries of a call.
    pub(crate) retries: Option<u32>,
    pub(crate) after: Option<Kind>,
    /// How long each attempt takes.
    pub(crate) attempt: Span,
}

impl Simulation {
    /// The delays in milliseconds as a row for each call: NaN behind the last delay of a call.
    pub(crate) fn run<'py>(self, py: Python<'py>, policy: &Policy) -> PyResult<Bound<'py, PyAny>> {
        let numpy = py.import("numpy").map_err(|error| match error.is_instance_of::<PyModuleNotFoundError>(py) {
            true => PyImportError::new_err("simulate needs numpy: pip install \"holdoff[numpy]\""),
            false => error,
        })?;
        if !(1..=MOST_CALLS).contains(&self.calls) {
            let message = format!("calls = {}: must be a whole number from 1 to {MOST_CALLS}", self.calls);
            return Err(PyValueError::new_err(message));
        }
        let retries = self.retries.unwrap_or(if policy.attempts().is_none() { 10 } else { 100 });
        if retries > MOST_RETRIES {
            let message = format!("retries = {retries}: must be a whole number from 0 to {MOST_RETRIES}");
            return Err(PyValueError::new_err(message));
        }
        let Some((delays, ends)) = py.detach(|| self.delays(policy, retries)) else {
            let message = format!("calls = {}: makes an array of more than {MOST_CELLS} numbers", self.calls);
            return Err(PyValueError::new_err(message));
        };
        let starts = || std::iter::once(0).chain(ends.iter().copied());
        let columns = starts().zip(&ends).map(|(start, end)| end - start).max().unwrap_or_default();
        let bytes = ends.len().saturating_mul(columns).saturating_mul(size_of::<f64>());
        let array = PyByteArray::new_with(py, bytes, |bytes| {
            let mut cells = bytes.chunks_exact_mut(size_of::<f64>());
            for (start, end) in starts().zip(&ends) {
                let row =
                    delays.get(start..*end).unwrap_or_default().iter().copied().chain(std::iter::repeat(f64::NAN));
                for (delay, cell) in row.take(columns).zip(&mut cells) {
                    cell.copy_from_slice(&delay.to_ne_bytes());
                }
            }
            Ok(())
        })?;
        numpy.call_method1("frombuffer", (array,))?.call_method1("reshape", (ends.len(), columns))
    }

    /// The delays of all calls one after the other, and the end of each call in that list; `None` for too many.
    fn delays(self, policy: &Policy, most: u32) -> Option<(Vec<f64>, Vec<usize>)> {
        let failure = Failure::new(self.after.map_or(FailureKind::Transient, |kind| kind.0));
        let (mut delays, mut ends, mut columns) = (Vec::new(), Vec::new(), 0);
        for call in 0..u64::from(self.calls) {
            let mut now = Timestamp::ZERO;
            let mut retry = Retry::new(seed_at(self.seed, call), now);
            for _ in 0..most {
                now = now.after(self.attempt);
                let Decision::Sleep { until, .. } = retry.on_failure(policy, now, failure) else { break };
                delays.push(until.since(now).as_nanos() as f64 / 1e6);
                now = until;
            }
            columns = columns.max(delays.len() - ends.last().copied().unwrap_or_default());
            if u64::from(self.calls) * columns as u64 > MOST_CELLS {
                return None;
            }
            ends.push(delays.len());
        }
        Some((delays, ends))
    }
}
