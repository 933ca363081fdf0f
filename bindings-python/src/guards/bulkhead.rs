//! The limit of attempts at once.

use super::{Guard, Shared, Start};
use crate::convert::Returned;
use holdoff_core::{BulkheadConfig, Entry, Error, Options, QueuePlace, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::Arc;

#[doc = include_str!("../help/bulkhead.txt")]
#[pyclass(frozen, module = "holdoff")]
pub(crate) struct Bulkhead(pub(super) Shared<BulkheadConfig, Places>);

/// The state, and the words of a long queue.
pub(super) type Places = (holdoff_core::Bulkhead, Vec<u64>);

impl Bulkhead {
    fn of(config: BulkheadConfig) -> Self {
        let shared = Shared::new(config, (holdoff_core::Bulkhead::new(), vec![0; config.words()]));
        Self(shared.renewed_by(|_, (state, _)| *state = holdoff_core::Bulkhead::new()))
    }

    /// Runs a transition that frees a place.
    fn freed(&self, py: Python<'_>, transition: impl FnOnce(&BulkheadConfig, &mut Places)) {
        let entrant = self.0.with(|config, places| {
            transition(config, places);
            places.0.entrant(config)
        });
        if let Some(first) = entrant {
            self.0.line.let_in(py, first);
        }
    }
}

impl Guard for Bulkhead {
    const SECTION: &'static str = "bulkhead";

    fn fresh(builder: &Options, _seed: u64, _now: Timestamp) -> Result<Option<Self>, Error> {
        Ok(builder.bulkhead()?.map(Self::of))
    }

    fn bytes(&self, _now: Timestamp) -> Vec<u8> {
        Vec::new()
    }

    fn resumed(&self, _bytes: &[u8], _now: Timestamp) -> Result<Self, Error> {
        Ok(Self::of(self.0.config))
    }

    fn of_options(mut self, options: &Arc<Options>) -> Self {
        self.0.options = Some(Arc::clone(options));
        self
    }

    fn options(&self) -> Option<&Arc<Options>> {
        self.0.options.as_ref()
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
        word(py, self.0.with(|config, (bulkhead, words)| bulkhead.enter(config, words)));

    /// The same for a waiter in the queue.
    ref enter_from(place: u32) -> PyResult<Bound<'py, PyAny>> as "Literal['entered', 'refused'] | int" =
        word(py, self.0.with(|config, (state, words)| state.enter_from(config, words, QueuePlace::from_raw(place))));

    /// An attempt that ran is done.
    ref leave() = self.freed(py, |_, (bulkhead, _)| bulkhead.leave());

    /// A waiter leaves the queue.
    ref leave_queue(place: u32) = self.freed(py, |config, (bulkhead, words)| {
        bulkhead.leave_queue(config, words, QueuePlace::from_raw(place));
    });

    /// How many attempts run.
    get running: u32 = self.0.with(|_, (bulkhead, _)| bulkhead.running());

    /// How many waiters are in the queue.
    get waiting: u32 = self.0.with(|_, (bulkhead, _)| bulkhead.waiting());
}
