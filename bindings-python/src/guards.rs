//! Guards that many calls share: each guard is a class of its own, with a lock around one transition of the core's machine.
//!
//! A lock is never held while Python runs, and several are taken in the order of the core's table.

use crate::convert::Returned;
use crate::parameters::{Now, Seed};
use crate::{clock, config, seeds};
use holdoff_core::{Document, Error, GuardConfig, Options, Timestamp};
use notify::Line;
use pyo3::PyClass;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::{PyBytes, PyDict};
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Declares that a class is that of a guard with this configuration; after a fork, `renew` begins the child's state anew.
macro_rules! guard_class {
    ($class:ident: $config:ty $(, renew |$of:pat_param, $state:ident| $renew:expr)?) => {
        impl $crate::guards::Guard for $class {
            type Config = $config;

            fn of(guard: $crate::guards::SharedGuard<$config>) -> Self {
                Self(guard$(.renewed_by(|$of, $state| $renew))?)
            }

            fn shared(&self) -> &$crate::guards::SharedGuard<$config> {
                &self.0
            }
        }
    };
}

/// Declares the class of a guard: construction, saving and `__repr__`, which are alike in all guards, and its own methods
/// in the sections of `methods!`.
///
/// `new` lists the optional parameters, `seed` and `now`, of guards that use them.
macro_rules! guard {
    (
        $class:ident($this:ident, $py:ident) $section:literal: $config:ty $(, renew |$n_config:pat_param, $n_state:ident| $renew:expr)?;
        new($(*, $($optional:ident: $type:ty),+;)? **fields: $fields:literal, config: $options:literal);
        repr |$p_config:pat_param, $p_state:pat_param| $format:literal, $($shown:expr),+;
        $($sections:tt)*
    ) => {
        #[doc = include_str!(concat!("../help/", $section, ".txt"))]
        #[pyclass(frozen, module = "holdoff")]
        pub(crate) struct $class(pub(super) $crate::guards::SharedGuard<$config>);

        guard_class!($class: $config $(, renew |$n_config, $n_state| $renew)?);

        methods! { $class($this, $py);
            #[pyo3(text_signature = None)]
            new[config: Option<&Bound<'_, PyAny>> as $options = None](
                $(; $($optional: $type = None),+)?; **fields as $fields
            ) -> PyResult<Self> = {
                #[allow(unused_mut)]
                let mut start = $crate::guards::Start::default();
                $($(start.$optional = $optional;)+)?
                $crate::guards::new($py, config, fields, start)
            };

            /// The state as bytes, for `restore`.
            ref save(now: Now = None) -> PyResult<Bound<'py, PyBytes>> =
                Ok(PyBytes::new($py, &$crate::guards::Guard::bytes($this, $crate::clock::at($py, now)?)));

            /// A guard with this configuration and a saved state.
            static restore(
                config: &Bound<'_, PyAny> as $options, state: &Bound<'_, PyBytes>, now: Now = None
            ) -> PyResult<Self> = $crate::guards::restored(config, state, now);

            special __repr__() -> String = $this.0.with(|$p_config, $p_state| format!($format, $($shown),+));

            /// Pickled with its state: a copy in another process goes on from there by itself.
            special __reduce__() -> $crate::convert::Returned<'py> = $crate::guards::pickled($py, $this);

            $($sections)*
        }
    };
}

// The guards use the macro above.
pub(crate) mod bulkhead;
pub(crate) mod guarded;
pub(crate) mod keyed;
pub(crate) mod locked;
pub(crate) mod loops;
pub(crate) mod nested;
pub(crate) mod notify;
pub(crate) mod set;

/// How many forks lie between this process and the first one that loaded the module.
static FORKS: AtomicU32 = AtomicU32::new(0);

functions! { py;
    /// This process is the child of a fork. No attempt of its parent's guards ends here, so they begin anew.
    fn forked() = {
        FORKS.fetch_add(1, Ordering::Relaxed);
        seeds::forget_sequence();
    };
}

/// A configuration, and a state behind a lock.
pub(crate) struct Shared<C, S> {
    pub(crate) config: C,
    state: Mutex<S>,
    /// The number of forks when the state began.
    forks: AtomicU32,
    /// The code of the state that listeners heard last, of a breaker.
    heard: AtomicU8,
    /// The calls that wait for others.
    pub(crate) line: Arc<Line>,
    /// Begins a state anew that counts attempts which run.
    renew: Option<fn(&C, &mut S)>,
    /// The options that the configuration was read from, for pickle.
    pub(crate) options: Option<Arc<Options>>,
}

impl<C, S> Shared<C, S> {
    pub(crate) fn new(config: C, state: S) -> Self {
        let forks = AtomicU32::new(FORKS.load(Ordering::Relaxed));
        let (state, heard) = (Mutex::new(state), AtomicU8::new(0));
        Self { config, state, forks, heard, line: Arc::default(), renew: None, options: None }
    }

    /// The same; after a fork, that function begins the child's state anew.
    pub(crate) fn renewed_by(self, renew: fn(&C, &mut S)) -> Self {
        Self { renew: Some(renew), ..self }
    }

    #[inline]
    pub(crate) fn lock(&self) -> (&C, MutexGuard<'_, S>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let forks = FORKS.load(Ordering::Relaxed);
        if self.forks.load(Ordering::Relaxed) != forks {
            self.forks.store(forks, Ordering::Relaxed);
            if let Some(renew) = self.renew {
                renew(&self.config, &mut state);
            }
        }
        (&self.config, state)
    }

    /// Stores the code of the state that listeners hear. Returns the code before.
    pub(crate) fn hear(&self, code: u8) -> u8 {
        self.heard.swap(code, Ordering::Relaxed)
    }

    /// Runs one transition under the lock. It must not run Python.
    #[inline]
    pub(crate) fn with<T>(&self, transition: impl FnOnce(&C, &mut S) -> T) -> T {
        let (config, mut state) = self.lock();
        transition(config, &mut state)
    }

    /// The same at the time `now`, the clock's unless given.
    pub(crate) fn at<T>(
        &self,
        py: Python<'_>,
        now: Now,
        transition: impl FnOnce(&C, &mut S, Timestamp) -> T,
    ) -> PyResult<T> {
        let now = clock::at(py, now)?;
        Ok(self.with(|config, state| transition(config, state, now)))
    }
}

/// The state of a guard, and the words of a limiter's log or of a bulkhead's long queue.
pub(crate) struct Kept<C: GuardConfig> {
    pub(crate) state: C::State,
    pub(crate) words: Vec<u64>,
}

impl<C: GuardConfig> std::ops::Deref for Kept<C> {
    type Target = C::State;

    fn deref(&self) -> &C::State {
        &self.state
    }
}

impl<C: GuardConfig> std::ops::DerefMut for Kept<C> {
    fn deref_mut(&mut self) -> &mut C::State {
        &mut self.state
    }
}

/// A guard that calls share.
pub(crate) type SharedGuard<C> = Shared<C, Kept<C>>;

impl<C: GuardConfig> SharedGuard<C> {
    /// The guard in a state that has seen nothing.
    fn fresh(config: C, seed: u64, now: Timestamp) -> Self {
        let words = vec![0; config.words()];
        Self::new(config, Kept { state: config.state(seed, now), words })
    }
}

/// The class of a guard, for sets of guards.
pub(crate) trait Guard: PyClass<Frozen = True> + Into<PyClassInitializer<Self>> + Sync {
    type Config: GuardConfig;

    /// The name of its section in a document.
    const SECTION: &'static str = Self::Config::SECTION.name;

    fn of(guard: SharedGuard<Self::Config>) -> Self;

    fn shared(&self) -> &SharedGuard<Self::Config>;

    /// A new guard of the options' section; none without a section.
    fn fresh(options: &Arc<Options>, seed: u64, now: Timestamp) -> Result<Option<Self>, Error> {
        let made = options.guard::<Self::Config>()?.map(|config| SharedGuard::fresh(config, seed, now));
        Ok(made.map(|guard| Self::of(Shared { options: Some(Arc::clone(options)), ..guard })))
    }

    /// The state as bytes.
    fn bytes(&self, now: Timestamp) -> Vec<u8> {
        self.shared().with(|config, Kept { state, words }| {
            let mut bytes = vec![0; config.saved()];
            config.save(state, words, now, &mut bytes);
            bytes
        })
    }

    /// A guard with the same configuration and the saved state.
    fn resumed(&self, bytes: &[u8], now: Timestamp) -> Result<Self, Error> {
        let Shared { config, options, .. } = self.shared();
        let mut words = vec![0; config.words()];
        let state = config.restore(bytes, &mut words, now)?;
        Ok(Self::of(Shared { options: options.clone(), ..Shared::new(*config, Kept { state, words }) }))
    }
}

/// The parts of a guard for pickle: its section, a document and its state.
fn pickled<'py, G: Guard>(py: Python<'py>, guard: &G) -> Returned<'py> {
    let Some(options) = &guard.shared().options else {
        return Err(PyTypeError::new_err(format!("this {} cannot be pickled: its options are not known", G::SECTION)));
    };
    let document = Document { guards: **options, ..Document::default() }.to_json();
    let state = PyBytes::new(py, &guard.bytes(clock::now(py)?));
    let make = py.import("holdoff._holdoff")?.getattr("unpickled_guard")?;
    Ok((make, (G::SECTION, document, state)).into_pyobject(py)?.into_any())
}

/// The guard of a document, with a saved state.
fn unpickled<'py, G: Guard>(document: &Document, state: &Bound<'py, PyBytes>) -> Returned<'py> {
    let (py, options) = (state.py(), Arc::new(document.guards));
    let now = clock::now(py)?;
    let guard = config::valid(py, G::fresh(&options, seeds::from_system()?, now))?;
    let guard = guard.ok_or_else(|| PyTypeError::new_err(format!("no {} was pickled", G::SECTION)))?;
    let state = state.as_bytes();
    let guard = if state.is_empty() { guard } else { config::valid(py, guard.resumed(state, now))? };
    Ok(Bound::new(py, guard)?.into_any())
}

/// The seed and the time that a guard starts with.
#[derive(Clone, Copy, Default)]
struct Start {
    seed: Seed,
    now: Now,
}

/// A guard with this configuration: an option of a policy, or fields by their names.
fn new<G: Guard>(
    py: Python<'_>,
    config: Option<&Bound<'_, PyAny>>,
    fields: Option<&Bound<'_, PyDict>>,
    start: Start,
) -> PyResult<G> {
    let builder = config::guard(py, G::SECTION, config, fields.map(|fields| fields.as_mapping()))?;
    let builder = Arc::new(builder);
    let guard = G::fresh(&builder, seeds::of(start.seed)?, clock::at(py, start.now)?);
    config::valid(py, guard)?
        .ok_or_else(|| PyTypeError::new_err(format!("there is no {} of kind \"none\"; leave it out", G::SECTION)))
}

fn restored<G: Guard>(config: &Bound<'_, PyAny>, bytes: &Bound<'_, PyBytes>, now: Now) -> PyResult<G> {
    let py = config.py();
    let guard: G = new(py, Some(config), None, Start { seed: None, now })?;
    config::valid(py, guard.resumed(bytes.as_bytes(), clock::at(py, now)?))
}

/// The time of the clock, for a `__repr__`.
fn clock_time() -> Timestamp {
    Python::attach(clock::now).unwrap_or(Timestamp::ZERO)
}
