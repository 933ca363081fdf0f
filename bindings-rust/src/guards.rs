//! Guards that calls share, from any number of threads and tasks.

use crate::sleeper::{Clock, Loop, SYSTEM};
use crate::wakers::Wakers;
use holdoff_core::{
    Breaker, BreakerConfig, BreakerState, BudgetConfig, Bulkhead, Error, GuardConfig, Guards, Options, Timestamp, Turn,
    each_guard,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// One guard that calls share: its configuration and its state behind a lock. Clones are one guard.
pub struct Shared<C: GuardConfig>(Arc<(C, Mutex<Waited<C>>)>);

/// The state of a guard and the calls that wait for it.
struct Waited<C: GuardConfig> {
    state: C::State,
    /// The times of a limiter's log, or the places of a bulkhead's long queue.
    words: Vec<u64>,
    /// The calls that wait for their turn; those in a bulkhead's queue each under its place.
    wakers: Wakers,
    /// The clock of the latest call.
    clock: Clock,
}

impl<C: GuardConfig> Waited<C> {
    /// The time for a look at the state: now, or that of the latest call, as which an earlier time reads (spec 1.3).
    fn time(&self) -> Timestamp {
        self.clock.map_or(Timestamp::ZERO, |clock| clock())
    }
}

impl<C: GuardConfig> Clone for Shared<C> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: GuardConfig> std::fmt::Debug for Shared<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Shared").field(&C::SECTION.name).finish()
    }
}

impl<C: GuardConfig> Shared<C> {
    /// A guard that has seen nothing.
    pub fn new(config: C) -> Self {
        Self::seeded(config, crate::seed::next(Timestamp::ZERO))
    }

    /// The same with the seed of a guard that draws.
    pub fn seeded(config: C, seed: u64) -> Self {
        let (state, words) = (config.state(seed, Timestamp::ZERO), vec![0; config.words()]);
        Self(Arc::new((config, Mutex::new(Waited { state, words, wakers: Wakers::default(), clock: SYSTEM }))))
    }

    /// Its configuration.
    pub fn config(&self) -> &C {
        &self.0.0
    }

    /// Looks at it or changes it, alone with it: what `f` does with another guard, or a call that it makes under one, may wait
    /// for ever. `f` gets the configuration and the state, and the words of a limiter or a bulkhead. Time is that of the calls:
    /// [`System`](crate::time::System)'s clock unless they have another. A time before that of the latest call, such as
    /// [`Timestamp::ZERO`], reads as the latter.
    pub fn with<R>(&self, f: impl FnOnce(C::Lent<'_>) -> R) -> R {
        let Waited { state, words, .. } = &mut *self.lock();
        f(self.0.0.lend(state, words))
    }

    fn lock(&self) -> MutexGuard<'_, Waited<C>> {
        self.0.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Alone with it by the clock of a loop.
    fn lock_by(&self, clock: Clock) -> (&C, MutexGuard<'_, Waited<C>>) {
        let mut guard = self.lock();
        guard.clock = clock;
        (self.config(), guard)
    }

    /// The state as bytes.
    fn save(&self, now: Timestamp) -> Vec<u8> {
        let Waited { state, words, .. } = &*self.lock();
        let mut bytes = vec![0; self.config().saved()];
        self.config().save(state, words, now, &mut bytes);
        bytes
    }

    /// Reads a saved state, if it is a guard that is saved; takes it up if that is kept.
    fn restore(&self, bytes: &[u8], now: Timestamp, is_kept: bool) -> Result<(), Error> {
        if self.config().saved() == 0 {
            return Ok(());
        }
        let mut words = vec![0; self.config().words()];
        let state = self.config().restore(bytes, &mut words, now)?;
        if is_kept {
            let waited = &mut *self.lock();
            (waited.state, waited.words) = (state, words);
        }
        Ok(())
    }

    /// True if all sets have it, or if only this set holds it and it is at rest by the time of its calls.
    fn rests(&self, made: Option<&Self>) -> bool {
        if made.is_some_and(|made| Arc::ptr_eq(&made.0, &self.0)) {
            return true;
        }
        let guard = &mut *self.lock();
        let now = guard.time();
        Arc::strong_count(&self.0) == 1 && C::is_at_rest(&self.0.0.lend(&mut guard.state, &mut guard.words), now)
    }
}

impl Shared<BreakerConfig> {
    /// The breaker's state now, by the clock of the calls; of a sleeper's own clock as of the latest call.
    pub fn state(&self) -> holdoff_core::BreakerState {
        let guard = self.lock();
        guard.state.state(self.config(), guard.time())
    }

    /// Opens it until [`Shared::reset`].
    pub fn isolate(&self) {
        self.change(|breaker| breaker.isolate(Timestamp::ZERO));
    }

    /// Closes it.
    pub fn force_close(&self) {
        self.change(|breaker| breaker.force_close(Timestamp::ZERO));
    }

    /// Closes it and forgets what it knew.
    pub fn reset(&self) {
        self.change(|breaker| breaker.reset(Timestamp::ZERO));
    }

    fn change(&self, change: impl FnOnce(&mut Breaker)) {
        let host = Loop { clock: self.lock().clock, hedging: false };
        SharedGuards::new().with_shared(self).with_guards(host, |guards| {
            if let Some((_, breaker)) = &mut guards.breaker {
                change(breaker);
            }
        });
    }
}

impl Shared<BudgetConfig> {
    /// The balance now, by the clock of the calls; of a sleeper's own clock as of the latest call. See [`Budget::balance`](holdoff_core::Budget::balance).
    pub fn balance(&self) -> f64 {
        let guard = self.lock();
        guard.state.balance(self.config(), guard.time())
    }
}

/// Declares the set of all guards.
macro_rules! shared_guards {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        /// The guards of calls to one place: any of them, shared by every call that is given a clone of the set.
        ///
        /// ```
        /// use holdoff::core::{BudgetConfig, Field, Options};
        /// use holdoff::{Policy, SharedGuards};
        ///
        /// let breaker = Options::NEW.with_field(Field::BreakerFailures, 3)?.with_field(Field::BreakerOpenFor, "10s")?;
        /// let guards = SharedGuards::of(&breaker, 7)?.with(BudgetConfig::default());
        /// let policy = Policy::default();
        /// for _ in 0..2 {
        ///     let answer = holdoff::retry(&policy, || Err::<(), _>("down"))
        ///         .sleeper(holdoff::testing::VirtualTime::new())
        ///         .guards(&guards)
        ///         .call();
        ///     println!("{}", answer.unwrap_err()); // the second one is refused before it begins
        /// }
        /// # Ok::<(), holdoff::Error>(())
        /// ```
        ///
        /// [`SharedGuards::of`] makes the guards that options or a document describe, and one guard is shared between sets by
        /// giving its [`Shared`] to each.
        #[derive(Clone, Default, Debug)]
        pub struct SharedGuards {
            $($name: Option<Shared<$config>>,)*
        }

        /// A configuration whose guard a set may have.
        pub trait Member: GuardConfig {
            #[doc(hidden)]
            fn place(set: &mut SharedGuards) -> &mut Option<Shared<Self>>;
        }

        $(impl Member for $config {
            fn place(set: &mut SharedGuards) -> &mut Option<Shared<Self>> {
                &mut set.$name
            }
        })*

        /// All guards of a set, locked.
        struct Locked<'g> {
            $($name: Option<(&'g $config, MutexGuard<'g, Waited<$config>>)>,)*
        }

        impl Locked<'_> {
            fn parts(&mut self) -> Guards<'_> {
                Guards { $(
                    $name: self.$name.as_mut().map(|(config, guard)| {
                        let Waited { state, words, .. } = &mut **guard;
                        config.lend(state, words)
                    }),
                )* }
            }
        }

        impl SharedGuards {
            /// The guards of options or of a document, made with `seed` for the guards that draw; see [`seed`](crate::testing::seed()).
            ///
            /// # Errors
            /// The [`Error`] of the first guard that cannot be.
            pub fn of(guards: &Options, seed: u64) -> Result<Self, Error> {
                Ok(Self { $($name: guards.guard::<$config>()?.map(|config| Shared::seeded(config, seed)),)* })
            }

            /// True if there is no guard in it.
            #[cfg(feature = "tower")]
            pub(crate) const fn is_empty(&self) -> bool {
                true $(&& self.$name.is_none())*
            }

            /// True if a store of sets may drop this one (spec 21.5): nobody else holds it, and its guards are at rest. A guard that the set
            /// `made` before has, too, is one of all sets.
            pub(crate) fn is_at_rest(&self, made: &Self) -> bool {
                true $(&& self.$name.as_ref().is_none_or(|guard| guard.rests(made.$name.as_ref())))*
            }

            /// All of them, locked in this order always, so that two sets with a guard in common cannot wait for each other.
            fn lock(&self, clock: Clock) -> Locked<'_> {
                Locked { $($name: self.$name.as_ref().map(|guard| guard.lock_by(clock)),)* }
            }

            /// The states of the guards, as bytes by the names of their sections (spec 31), at `now` on their clock.
            pub fn save(&self, now: Timestamp) -> Vec<(&'static str, Vec<u8>)> {
                let saved = [$(self.$name.as_ref().map(|guard| (stringify!($name), guard.save(now)))),*];
                saved.into_iter().flatten().filter(|(_, bytes)| !bytes.is_empty()).collect()
            }

            /// Takes up what [`SharedGuards::save`] saved, in whatever language, on a clock that reads `now`. Names of guards that this set
            /// does not have are passed over; none of it changes when one cannot be read.
            ///
            /// # Errors
            /// The [`Error`] of the first guard that cannot be restored, with its name.
            pub fn restore<'n, B: AsRef<[u8]>>(
                &self,
                saved: impl IntoIterator<Item = (&'n str, B)>,
                now: Timestamp,
            ) -> Result<(), (&'n str, Error)> {
                let saved: Vec<_> = saved.into_iter().collect();
                // Nothing changes before all can be read.
                for is_kept in [false, true] {
                    for (name, bytes) in &saved {
                        match *name {
                            $(stringify!($name) => {
                                self.$name.as_ref().map_or(Ok(()), |guard| guard.restore(bytes.as_ref(), now, is_kept))
                            })*
                            _ => Ok(()),
                        }
                        .map_err(|error| (*name, error))?;
                    }
                }
                Ok(())
            }

            $(
                $(#[$doc])*
                pub const fn $name(&self) -> Option<&Shared<$config>> {
                    self.$name.as_ref()
                }
            )*
        }
    };
}
each_guard!(shared_guards);

impl Locked<'_> {
    /// The state of the breaker at the latest time that it has seen.
    fn breaker_state(&self) -> Option<BreakerState> {
        self.breaker.as_ref().map(|(config, guard)| guard.state.state(config, Timestamp::ZERO))
    }
}

/// Where a call waits for others, and the key of its waker once it has one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    pub(crate) turn: Turn,
    pub(crate) key: Option<u64>,
}

impl SharedGuards {
    /// No guards.
    pub fn new() -> Self {
        Self::default()
    }

    /// With a guard of its own.
    ///
    /// A hedge is for calls that are awaited and for [`call_in_threads`](crate::builder::Retrying::call_in_threads). The attempts of any
    /// other blocking call run one after the other. Hedge only operations that may run twice.
    #[must_use]
    pub fn with(self, config: impl Member) -> Self {
        self.with_shared(&Shared::new(config))
    }

    /// With a guard that other sets have too.
    #[must_use]
    pub fn with_shared(mut self, guard: &Shared<impl Member>) -> Self {
        *Member::place(&mut self) = Some(guard.clone());
        self
    }

    /// Locks all of them for one transition of a call, and wakes the calls that can go on because of it.
    pub(crate) fn with_guards<R>(&self, host: Loop, f: impl FnOnce(&mut Guards<'_>) -> R) -> R {
        let mut locked = self.lock(host.clock);
        if !host.hedging {
            locked.hedge = None;
        }
        let state = locked.breaker_state();
        let used = |bulkhead: &Bulkhead| (bulkhead.running(), bulkhead.waiting());
        let before = locked.bulkhead.as_ref().map(|(_, guard)| used(&guard.state));
        let answer = f(&mut locked.parts());
        let entrant = match (&mut locked.bulkhead, before) {
            (Some((config, guard)), Some((running, waiting))) => {
                let (runs, waits) = used(&guard.state);
                let entrant = guard.state.entrant(config).filter(|_| runs < running || waits < waiting);
                // A first one without a waker is about to ask anyway, and wakes the next one then.
                entrant.and_then(|first| guard.wakers.remove(first.as_raw().into()))
            }
            _ => None,
        };
        let mut woken = Vec::new();
        if let Some((config, guard)) = &mut locked.breaker {
            let count = guard.state.admits(config);
            woken.extend(guard.wakers.take_first(count));
        }
        if let Some((_, guard)) = &mut locked.limiter {
            let count = guard.state.to_wake();
            woken.extend(guard.wakers.take_first(count));
        }
        if let Some((_, guard)) = &mut locked.adaptive {
            let count = guard.state.to_wake();
            woken.extend(guard.wakers.take_first(count));
        }
        let changed = locked.breaker_state();
        drop(locked);
        crate::change::changed(state, changed);
        entrant.into_iter().chain(woken).for_each(Waker::wake);
        answer
    }

    /// Has `waker` woken when the call can go on that waits in that line.
    pub(crate) fn wait(&self, line: &mut Line, waker: &Waker) {
        let before = self.waiting(line.turn, |wakers| wakers.put(&mut line.key, waker));
        drop(before);
    }

    pub(crate) fn stop_waiting(&self, line: Line) {
        let waker = self.waiting(line.turn, |wakers| wakers.remove(line.key?));
        drop(waker);
    }

    /// The calls that wait at that guard; what it returns is to be dropped without the lock.
    fn waiting(&self, turn: Turn, change: impl FnOnce(&mut Wakers) -> Option<Waker>) -> Option<Waker> {
        match turn {
            Turn::Bulkhead(_) => change(&mut self.bulkhead.as_ref()?.lock().wakers),
            Turn::Breaker => change(&mut self.breaker.as_ref()?.lock().wakers),
            Turn::Limiter => change(&mut self.limiter.as_ref()?.lock().wakers),
            Turn::Adaptive => change(&mut self.adaptive.as_ref()?.lock().wakers),
        }
    }
}
