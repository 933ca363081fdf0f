//! One timer for many sleeps.

use crate::guards::Shared;
use crate::parameters::{DueTime, Time, TimerNumber};
use holdoff_core::{TimerKey, Timestamp};
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// Timers, the next one due first. Times are nanoseconds since any epoch. May be shared by threads.
#[pyclass(frozen, module = "holdoff.machines")]
pub(crate) struct Wheel(Shared<(), holdoff_core::Wheel>);

methods! { Wheel(self, py);
    shown "<Wheel of {}>", self.__len__(py);

    new() -> Self = Self(Shared::new((), holdoff_core::Wheel::new()));

    /// A number that no other pending timer has, below the most timers that were ever pending at once since the wheel was
    /// made or cleared: the index of a list with an item for each timer.
    static index(key: TimerNumber) -> u32 = key.0.index();

    /// When the next timer is due; None when there is no timer, or no timer that ever fires.
    get next_wake: Option<u64> = self.0.with(|(), wheel| wheel.next_wake().map(Timestamp::as_nanos));

    /// How many timers are pending, those included that never fire.
    special __len__() -> usize = self.0.with(|(), wheel| wheel.len());

    /// Add a timer that is due at that time. NEVER never fires. The key is an int that no earlier timer had.
    ref insert(at: DueTime) -> PyResult<u64> = {
        let key = self.0.with(|(), wheel| wheel.insert(at.0));
        key.map(TimerKey::as_raw).map_err(|full| PyMemoryError::new_err(full.to_string()))
    };

    /// Cancel a timer: returns True if it was pending, and neither fired nor cancelled before.
    ref cancel(key: TimerNumber) -> bool = self.0.with(|(), wheel| wheel.cancel(key.0));

    /// The next timer that is due at that time, and when it was due; None when no timer is. By time, and then as they were
    /// added.
    ref pop(now: Time) -> Option<(u64, u64)> =
        self.0.with(|(), wheel| wheel.pop(now.0).map(|(key, at)| (key.as_raw(), at.as_nanos())));

    /// Cancel all timers.
    ref clear() = self.0.with(|(), wheel| wheel.clear());
}
