//! Guards that calls share, from any number of threads and tasks.

use crate::sleeper::{Clock, Loop, SYSTEM};
use crate::wakers::Wakers;
use holdoff_core::{
    Adaptive, AdaptiveConfig, Breaker, BreakerConfig, Budget, BudgetConfig, Bulkhead, BulkheadConfig, Error, Guards,
    HedgeConfig, Latency, Limiter, LimiterConfig, Options, Stretch, StretchConfig, Timestamp, Turn,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

/// One guard that calls share: its configuration and its state behind a lock. Clones are one guard.
#[derive(Debug)]
pub struct Shared<C, S>(Arc<(C, Mutex<Waited<S>>)>);

/// The state of a guard and the calls that wait for it.
#[derive(Debug)]
struct Waited<S> {
    state: S,
    /// The calls that wait for their turn; those in a bulkhead's queue each under its place.
    wakers: Wakers,
    /// The clock of the latest call.
    clock: Clock,
}

impl<S> Waited<S> {
    /// The time for a look at the state: now, or that of the latest call, as which an earlier time reads (spec 1.3).
    fn time(&self) -> Timestamp {
        self.clock.map_or(Timestamp::ZERO, |clock| clock())
    }
}

impl Waited<Breaker> {
    /// The wakers of the calls that the breaker lets through now, to be woken without the lock.
    fn let_through(&mut self, config: &BreakerConfig) -> Vec<Waker> {
        let count = self.state.admits(config);
        self.wakers.take_first(count)
    }
}

impl<C, S> Clone for Shared<C, S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C, S> Shared<C, S> {
    /// A guard in that state.
    pub fn new(config: C, state: S) -> Self {
        Self(Arc::new((config, Mutex::new(Waited { state, wakers: Wakers::default(), clock: SYSTEM }))))
    }

    /// Its configuration.
    pub fn config(&self) -> &C {
        &self.0.0
    }

    /// Looks at it or changes it, alone with it: what `f` does with another guard, or a call that it makes under one, may wait
    /// for ever. Time is that of the calls: [`System`](crate::time::System)'s clock unless they have another. A time before that of
    /// the latest call, such as [`Timestamp::ZERO`], reads as the latter.
    pub fn with<R>(&self, f: impl FnOnce(&C, &mut S) -> R) -> R {
        f(&self.0.0, &mut self.lock().state)
    }

    fn lock(&self) -> MutexGuard<'_, Waited<S>> {
        self.0.1.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A limiter and the times of its calls, if its kind keeps them.
#[derive(Clone, PartialEq, Debug)]
pub struct Limited {
    /// The state of the limiter.
    pub limiter: Limiter,
    /// The times of a log's calls; empty for other kinds.
    pub times: Vec<u64>,
}

impl Shared<BreakerConfig, Breaker> {
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
        let config = self.config();
        let mut guard = self.lock();
        #[cfg(any(feature = "tracing", feature = "metrics"))]
        let from = crate::change::state(config, &guard.state);
        change(&mut guard.state);
        #[cfg(any(feature = "tracing", feature = "metrics"))]
        let to = crate::change::state(config, &guard.state);
        let woken = guard.let_through(config);
        drop(guard);
        #[cfg(any(feature = "tracing", feature = "metrics"))]
        crate::change::changed(from, to);
        woken.into_iter().for_each(Waker::wake);
    }
}

impl Shared<BudgetConfig, Budget> {
    /// The balance now, by the clock of the calls; of a sleeper's own clock as of the latest call. See [`Budget::balance`].
    pub fn balance(&self) -> f64 {
        let guard = self.lock();
        guard.state.balance(self.config(), guard.time())
    }
}

/// The guards of calls to one place: any of them, shared by every call that is given a clone of the set.
///
/// ```
/// use holdoff::core::{BudgetConfig, Field, Options};
/// use holdoff::{Policy, SharedGuards};
///
/// let breaker = Options::NEW.with_field(Field::BreakerFailures, 3)?.with_field(Field::BreakerOpenFor, "10s")?;
/// let guards = SharedGuards::of(&breaker, 7)?.with_budget(BudgetConfig::default());
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
    budget: Option<Shared<BudgetConfig, Budget>>,
    breaker: Option<Shared<BreakerConfig, Breaker>>,
    limiter: Option<Shared<LimiterConfig, Limited>>,
    adaptive: Option<Shared<AdaptiveConfig, Adaptive>>,
    bulkhead: Option<Shared<BulkheadConfig, Places>>,
    stretch: Option<Shared<StretchConfig, Stretch>>,
    hedge: Option<Shared<HedgeConfig, Latency>>,
}

/// A bulkhead and the memory of its queue.
#[derive(Clone, PartialEq, Debug)]
pub struct Places {
    /// The counts of running and waiting calls.
    pub bulkhead: Bulkhead,
    /// The places of a queue above 64; empty for a shorter one.
    pub words: Vec<u64>,
}

impl Places {
    /// An empty bulkhead.
    pub fn new(config: &BulkheadConfig) -> Self {
        Self { bulkhead: Bulkhead::new(), words: vec![0; config.words()] }
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

    /// The guards of options or of a document, made with `seed` for the guards that draw; see [`seed`](crate::testing::seed()).
    ///
    /// # Errors
    /// The [`Error`] of the first guard that cannot be.
    pub fn of(guards: &Options, seed: u64) -> Result<Self, Error> {
        let mut set = Self::new();
        if let Some(config) = guards.budget()? {
            set.budget = Some(Shared::new(config, Budget::new(&config, seed, Timestamp::ZERO)));
        }
        if let Some(config) = guards.breaker()? {
            set.breaker = Some(Shared::new(config, Breaker::new(&config, seed, Timestamp::ZERO)));
        }
        if let Some(config) = guards.limiter()? {
            set = set.with_limiter(config);
        }
        if let Some(config) = guards.adaptive()? {
            set = set.with_adaptive(config);
        }
        if let Some(config) = guards.bulkhead()? {
            set = set.with_bulkhead(config);
        }
        if let Some(config) = guards.stretch()? {
            set = set.with_stretch(config);
        }
        if let Some(config) = guards.hedge()? {
            set = set.with_hedge(config);
        }
        Ok(set)
    }

    /// With a budget of its own.
    #[must_use]
    pub fn with_budget(self, config: BudgetConfig) -> Self {
        self.with_shared_budget(&Shared::new(
            config,
            Budget::new(&config, crate::seed::next(Timestamp::ZERO), Timestamp::ZERO),
        ))
    }

    /// With a budget that other sets have too.
    #[must_use]
    pub fn with_shared_budget(mut self, budget: &Shared<BudgetConfig, Budget>) -> Self {
        self.budget = Some(budget.clone());
        self
    }

    /// With a breaker of its own.
    #[must_use]
    pub fn with_breaker(self, config: BreakerConfig) -> Self {
        self.with_shared_breaker(&Shared::new(
            config,
            Breaker::new(&config, crate::seed::next(Timestamp::ZERO), Timestamp::ZERO),
        ))
    }

    /// With a breaker that other sets have too.
    #[must_use]
    pub fn with_shared_breaker(mut self, breaker: &Shared<BreakerConfig, Breaker>) -> Self {
        self.breaker = Some(breaker.clone());
        self
    }

    /// With a limiter of its own.
    #[must_use]
    pub fn with_limiter(self, config: LimiterConfig) -> Self {
        let limited = Limited { limiter: Limiter::new(&config, Timestamp::ZERO), times: vec![0; config.words()] };
        self.with_shared_limiter(&Shared::new(config, limited))
    }

    /// With a limiter that other sets have too.
    #[must_use]
    pub fn with_shared_limiter(mut self, limiter: &Shared<LimiterConfig, Limited>) -> Self {
        self.limiter = Some(limiter.clone());
        self
    }

    /// With an adaptive rate of its own.
    #[must_use]
    pub fn with_adaptive(self, config: AdaptiveConfig) -> Self {
        self.with_shared_adaptive(&Shared::new(config, Adaptive::new(&config, Timestamp::ZERO)))
    }

    /// With an adaptive rate that other sets have too.
    #[must_use]
    pub fn with_shared_adaptive(mut self, adaptive: &Shared<AdaptiveConfig, Adaptive>) -> Self {
        self.adaptive = Some(adaptive.clone());
        self
    }

    /// With a bulkhead of its own.
    #[must_use]
    pub fn with_bulkhead(self, config: BulkheadConfig) -> Self {
        self.with_shared_bulkhead(&Shared::new(config, Places::new(&config)))
    }

    /// With a bulkhead that other sets have too.
    #[must_use]
    pub fn with_shared_bulkhead(mut self, bulkhead: &Shared<BulkheadConfig, Places>) -> Self {
        self.bulkhead = Some(bulkhead.clone());
        self
    }

    /// With delays that are stretched while much fails.
    #[must_use]
    pub fn with_stretch(mut self, config: StretchConfig) -> Self {
        self.stretch = Some(Shared::new(config, Stretch::new(&config, Timestamp::ZERO)));
        self
    }

    /// With hedging, for calls that are awaited and for [`call_in_threads`](crate::builder::Retrying::call_in_threads). The attempts of any
    /// other blocking call run one after the other. Hedge only operations that may run twice.
    #[must_use]
    pub fn with_hedge(mut self, config: HedgeConfig) -> Self {
        self.hedge = Some(Shared::new(config, Latency::new()));
        self
    }

    /// True if there is no guard in it.
    #[cfg(feature = "tower")]
    pub(crate) const fn is_empty(&self) -> bool {
        let Self { budget, breaker, limiter, adaptive, bulkhead, stretch, hedge } = self;
        budget.is_none()
            && breaker.is_none()
            && limiter.is_none()
            && adaptive.is_none()
            && bulkhead.is_none()
            && stretch.is_none()
            && hedge.is_none()
    }

    /// Its budget.
    pub const fn budget(&self) -> Option<&Shared<BudgetConfig, Budget>> {
        self.budget.as_ref()
    }

    /// Its breaker.
    pub const fn breaker(&self) -> Option<&Shared<BreakerConfig, Breaker>> {
        self.breaker.as_ref()
    }

    /// Its limiter.
    pub const fn limiter(&self) -> Option<&Shared<LimiterConfig, Limited>> {
        self.limiter.as_ref()
    }

    /// Its adaptive rate.
    pub const fn adaptive(&self) -> Option<&Shared<AdaptiveConfig, Adaptive>> {
        self.adaptive.as_ref()
    }

    /// Its bulkhead.
    pub const fn bulkhead(&self) -> Option<&Shared<BulkheadConfig, Places>> {
        self.bulkhead.as_ref()
    }

    /// True if a store of sets may drop this one (spec 21.5): nobody else holds it, and its guards are at rest. A guard that the set
    /// `made` before has, too, is one of all sets.
    pub(crate) fn is_at_rest(&self, made: &Self) -> bool {
        rests(&self.budget, &made.budget, |config, state, now| state.is_at_rest(config, now))
            && rests(&self.breaker, &made.breaker, |config, state, now| state.is_at_rest(config, now))
            && rests(&self.limiter, &made.limiter, |config, Limited { limiter, times }, now| {
                limiter.is_at_rest(config, times, now)
            })
            && rests(&self.adaptive, &made.adaptive, |config, state, now| state.is_at_rest(config, now))
            && rests(&self.bulkhead, &made.bulkhead, |_, places, _| places.bulkhead.is_at_rest())
            && rests(&self.stretch, &made.stretch, |config, state, now| state.is_at_rest(config, now))
            && rests(&self.hedge, &made.hedge, |_, _, _| true)
    }

    /// Locks all of them for one transition of a call, and wakes the calls that can go on because of it. Locked in this order
    /// always, so that two sets with a guard in common cannot wait for each other.
    pub(crate) fn with_guards<R>(&self, host: Loop, f: impl FnOnce(&mut Guards<'_>) -> R) -> R {
        let mut budget = self.budget.as_ref().map(|guard| (guard.config(), guard.lock()));
        let mut breaker = self.breaker.as_ref().map(|guard| (guard.config(), guard.lock()));
        budget.iter_mut().for_each(|(_, guard)| guard.clock = host.clock);
        breaker.iter_mut().for_each(|(_, guard)| guard.clock = host.clock);
        let mut limiter = self.limiter.as_ref().map(|guard| (guard.config(), guard.lock()));
        let mut adaptive = self.adaptive.as_ref().map(|guard| (guard.config(), guard.lock()));
        let mut bulkhead = self.bulkhead.as_ref().map(|guard| (guard.config(), guard.lock()));
        let mut stretch = self.stretch.as_ref().map(|guard| (guard.config(), guard.lock()));
        limiter.iter_mut().for_each(|(_, guard)| guard.clock = host.clock);
        adaptive.iter_mut().for_each(|(_, guard)| guard.clock = host.clock);
        stretch.iter_mut().for_each(|(_, guard)| guard.clock = host.clock);
        let mut hedge = self.hedge.as_ref().filter(|_| host.hedging).map(|guard| (guard.config(), guard.lock()));
        #[cfg(any(feature = "tracing", feature = "metrics"))]
        let state = breaker.as_ref().map(|(config, guard)| crate::change::state(config, &guard.state));
        let used = |Places { bulkhead, .. }: &Places| (bulkhead.running(), bulkhead.waiting());
        let before = bulkhead.as_ref().map(|(_, guard)| used(&guard.state));
        let answer = f(&mut Guards {
            budget: budget.as_mut().map(|(config, guard)| (*config, &mut guard.state)),
            breaker: breaker.as_mut().map(|(config, guard)| (*config, &mut guard.state)),
            limiter: limiter.as_mut().map(|(config, guard)| {
                let Limited { limiter, times } = &mut guard.state;
                (*config, limiter, times.as_mut_slice())
            }),
            adaptive: adaptive.as_mut().map(|(config, guard)| (*config, &mut guard.state)),
            bulkhead: bulkhead.as_mut().map(|(config, guard)| {
                let Places { bulkhead, words } = &mut guard.state;
                (*config, bulkhead, words.as_mut_slice())
            }),
            stretch: stretch.as_mut().map(|(config, guard)| (*config, &mut guard.state)),
            hedge: hedge.as_mut().map(|(config, guard)| (*config, &mut guard.state)),
        });
        let entrant = match (&mut bulkhead, before) {
            (Some((config, guard)), Some((running, waiting))) => {
                let (runs, waits) = used(&guard.state);
                let entrant = guard.state.bulkhead.entrant(config).filter(|_| runs < running || waits < waiting);
                // A first one without a waker is about to ask anyway, and wakes the next one then.
                entrant.and_then(|first| guard.wakers.remove(first.as_raw().into()))
            }
            _ => None,
        };
        let mut woken = breaker.as_mut().map_or_else(Vec::new, |(config, guard)| guard.let_through(config));
        if let Some((_, guard)) = &mut limiter {
            let count = guard.state.limiter.to_wake();
            woken.extend(guard.wakers.take_first(count));
        }
        if let Some((_, guard)) = &mut adaptive {
            let count = guard.state.to_wake();
            woken.extend(guard.wakers.take_first(count));
        }
        #[cfg(any(feature = "tracing", feature = "metrics"))]
        let change = state.zip(breaker.as_ref().map(|(config, guard)| crate::change::state(config, &guard.state)));
        drop((budget, breaker, limiter, adaptive, bulkhead, stretch, hedge));
        #[cfg(any(feature = "tracing", feature = "metrics"))]
        change.into_iter().for_each(|(from, to)| crate::change::changed(from, to));
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

    /// The states of the guards, as bytes by the names of their sections (spec 31), at `now` on their clock.
    pub fn save(&self, now: Timestamp) -> Vec<(&'static str, Vec<u8>)> {
        let mut saved = Vec::new();
        if let Some(guard) = &self.budget {
            saved.push(("budget", guard.with(|config, state| state.save(config, now).to_vec())));
        }
        if let Some(guard) = &self.breaker {
            saved.push(("breaker", guard.with(|config, state| state.save(config, now).to_vec())));
        }
        if let Some(guard) = &self.limiter {
            saved.push((
                "limiter",
                guard.with(|config, Limited { limiter, times }| {
                    let mut bytes = vec![0; Limiter::saved(config)];
                    limiter.save(config, times, now, &mut bytes);
                    bytes
                }),
            ));
        }
        if let Some(guard) = &self.adaptive {
            saved.push(("adaptive", guard.with(|config, state| state.save(config, now).to_vec())));
        }
        if let Some(guard) = &self.stretch {
            saved.push(("stretch", guard.with(|config, state| state.save(config, now).to_vec())));
        }
        if let Some(guard) = &self.hedge {
            saved.push(("hedge", guard.with(|_, state| state.save().to_vec())));
        }
        saved
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
        let mut restored: Vec<Box<dyn FnOnce() + '_>> = Vec::new();
        for (name, bytes) in saved {
            let bytes = bytes.as_ref();
            let named = |error| (name, error);
            match name {
                "budget" => take_up(&mut restored, &self.budget, |config| Budget::restore(bytes, config, now)),
                "breaker" => take_up(&mut restored, &self.breaker, |config| Breaker::restore(bytes, config, now)),
                "limiter" => take_up(&mut restored, &self.limiter, |config| {
                    let mut times = vec![0; config.words()];
                    let limiter = Limiter::restore(bytes, config, &mut times, now)?;
                    Ok(Limited { limiter, times })
                }),
                "adaptive" => take_up(&mut restored, &self.adaptive, |config| Adaptive::restore(bytes, config, now)),
                "stretch" => take_up(&mut restored, &self.stretch, |config| Stretch::restore(bytes, config, now)),
                "hedge" => take_up(&mut restored, &self.hedge, |_| Latency::restore(bytes)),
                _ => Ok(()),
            }
            .map_err(named)?;
        }
        restored.into_iter().for_each(|take_up| take_up());
        Ok(())
    }
}

/// True if there is no guard, if all sets have it, or if only this set holds it and it is at rest by the time of its calls.
fn rests<C, S>(
    guard: &Option<Shared<C, S>>,
    made: &Option<Shared<C, S>>,
    is_at_rest: impl FnOnce(&C, &S, Timestamp) -> bool,
) -> bool {
    let Some(Shared(guard)) = guard else { return true };
    if made.as_ref().is_some_and(|made| Arc::ptr_eq(&made.0, guard)) {
        return true;
    }
    let waited = guard.1.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::strong_count(guard) == 1 && is_at_rest(&guard.0, &waited.state, waited.time())
}

/// Reads the state of a guard, if there is one, and notes how to take it up.
fn take_up<'g, C, S>(
    restored: &mut Vec<Box<dyn FnOnce() + 'g>>,
    guard: &'g Option<Shared<C, S>>,
    read: impl FnOnce(&C) -> Result<S, Error>,
) -> Result<(), Error>
where
    S: 'g,
{
    if let Some(guard) = guard {
        let state = read(guard.config())?;
        restored.push(Box::new(move || guard.lock().state = state));
    }
    Ok(())
}
