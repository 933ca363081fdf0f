//! The limit of attempts at once.

use super::{Kept, SharedGuard, Start};
use crate::convert::Returned;
use holdoff_core::{BulkheadConfig, Entry, QueuePlace};
use pyo3::prelude::*;
use pyo3::types::PyString;

#[doc = include_str!("../help/bulkhead.txt")]
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Bulkhead(pub(super) SharedGuard<BulkheadConfig>);

guard_class!(Bulkhead: BulkheadConfig, renew |_, kept| kept.state = holdoff_core::Bulkhead::new());

impl Bulkhead {
    /// Runs a transition that frees a place.
    fn freed(&self, py: Python<'_>, transition: impl FnOnce(&BulkheadConfig, &mut Kept<BulkheadConfig>)) {
        let entrant = self.0.with(|config, kept| {
            transition(config, kept);
            kept.entrant(config)
        });
        if let Some(first) = entrant {
            self.0.line.let_in(py, first);
        }
    }
}

fn word(py: Python<'_>, entry: Entry) -> PyResult<Bound<'_, PyAny>> {
    Ok(match entry {
        Entry::Entered => PyString::intern(py, "entered").into_any(),
        Entry::Queued(place) => place.as_raw().into_pyobject(py)?.into_any(),
        Entry::Refused => PyString::intern(py, "refused").into_any(),
    })
}

methods! { Bulkhead(self, py);
    shown "<Bulkhead {} of {} run, {} wait>", self.running(py), self.0.config.limit(), self.waiting(py);

    #[pyo3(text_signature = None)]
    new[config: Option<&Bound<'_, PyAny>> as "BulkheadConfig" = None](
        ; **fields as "Unpack[BulkheadFields]"
    ) -> PyResult<Self> = super::new(py, config, fields, Start::default());

    /// Pickled without the attempts that run: a copy in another process has places of its own.
    special __reduce__() -> Returned<'py> = super::pickled(py, self);

    /// Asks for a place: "entered", "refused", or a place in the queue.
    ref enter() -> PyResult<Bound<'py, PyAny>> as "Literal['entered', 'refused'] | int" =
        word(py, self.0.with(|config, kept| kept.state.enter(config, &mut kept.words)));

    /// The same for a waiter in the queue.
    ref enter_from(place: u32) -> PyResult<Bound<'py, PyAny>> as "Literal['entered', 'refused'] | int" =
        word(py, self.0.with(|config, kept| kept.state.enter_from(config, &mut kept.words, QueuePlace::from_raw(place))));

    /// An attempt that ran is done.
    ref leave() = self.freed(py, |_, kept| kept.leave());

    /// A waiter leaves the queue.
    ref leave_queue(place: u32) = self.freed(py, |config, kept| {
        kept.state.leave_queue(config, &mut kept.words, QueuePlace::from_raw(place));
    });

    /// How many attempts run.
    get running: u32 = self.0.with(|_, kept| kept.running());

    /// How many waiters are in the queue.
    get waiting: u32 = self.0.with(|_, kept| kept.waiting());
}
