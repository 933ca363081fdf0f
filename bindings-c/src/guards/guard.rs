//! One guard: its configuration beside its state, and how options make it.

use crate::*;

/// A configuration and the state that belongs to it, and the caller's words that the state is kept in where it has no end.
#[repr(C)]
pub(crate) struct Guard<C: GuardConfig> {
    pub(crate) config: C,
    pub(crate) state: C::State,
    pub(crate) words: C::Words,
}

impl<C: GuardConfig> Guard<C> {
    /// The configuration and the state.
    pub(crate) fn pair(&mut self) -> (&C, &mut C::State) {
        (&self.config, &mut self.state)
    }
}

impl<C: GuardConfig<Words = Words>> Guard<C> {
    /// The configuration, the state and the words.
    pub(crate) fn parts(&mut self) -> (&C, &mut C::State, &mut [u64]) {
        // SAFETY: the header makes the caller promise that they are there as long as the guard; no more than it took.
        let words = unsafe { self.words.get(&self.config) };
        (&self.config, &mut self.state, words)
    }
}

/// A configuration that options describe in a section of their own.
pub(crate) trait GuardConfig: Sized {
    /// The state that belongs to it.
    type State;
    /// `Words` if the guard keeps words of the caller's, else nothing.
    type Words: Default;
    /// The name of the section.
    const SECTION: &'static str;

    /// The field that says how many words it needs.
    const WORDS: &'static str = "";

    /// Reads the section of options, if there is one.
    fn described(options: &Options) -> Result<Option<Self>, Error>;

    /// Makes the state of a guard that has seen nothing.
    fn state(&self, seed: u64, now: Timestamp) -> Self::State;

    /// How many words it needs.
    fn words(&self) -> usize {
        0
    }

    /// Makes a guard that has seen nothing, without the words that it needs.
    fn guard(self, seed: u64, now: Timestamp) -> Guard<Self> {
        Guard { state: self.state(seed, now), config: self, words: Self::Words::default() }
    }
}

/// Declares the section of each configuration, its words and the field that says how many it needs, and its state at first.
macro_rules! guard_configs {
    ($($section:ident: $config:ident, $words:tt $(by $field:literal)?,
        $state:ident = |$of:pat_param, $seed:pat_param, $now:pat_param| $new:expr;)*) => { $(
        impl GuardConfig for $config {
            type State = $state;
            type Words = $words;
            const SECTION: &'static str = stringify!($section);

            fn described(options: &Options) -> Result<Option<Self>, Error> {
                options.$section()
            }

            fn state(&self, $seed: u64, $now: Timestamp) -> $state {
                let $of = self;
                $new
            }

            $(
                const WORDS: &'static str = $field;

                fn words(&self) -> usize {
                    self.words()
                }
            )?
        }
    )* };
}

guard_configs! {
    budget: BudgetConfig, (), Budget = |config, seed, now| Budget::new(config, seed, now);
    breaker: BreakerConfig, (), Breaker = |config, seed, now| Breaker::new(config, seed, now);
    limiter: LimiterConfig, Words by "limiter.limit", Limiter = |config, _, now| Limiter::new(config, now);
    adaptive: AdaptiveConfig, (), Adaptive = |config, _, now| Adaptive::new(config, now);
    bulkhead: BulkheadConfig, Words by "bulkhead.queue", Bulkhead = |_, _, _| Bulkhead::new();
    stretch: StretchConfig, (), Stretch = |config, _, now| Stretch::new(config, now);
    hedge: HedgeConfig, (), Latency = |_, _, _| Latency::new();
}

/// Stores a guard of a checked configuration, which has seen nothing.
///
/// # Safety
/// `memory` is null or points to memory of its type.
pub(crate) unsafe fn put_guard<C: GuardConfig, M: Memory<Inner = Guard<C>>>(
    memory: *mut M,
    config: Result<C, Error>,
    seed: u64,
    now: Timestamp,
) -> Result<(), ErrorCode> {
    // SAFETY: passed on.
    unsafe { store(memory, config?.guard(seed, now)) }
}

/// Stores a guard with the words that it needs, from the words that no guard has yet.
///
/// # Safety
/// `memory` is null or points to memory of its type.
#[inline(never)]
pub(crate) unsafe fn put_with_words<C: GuardConfig<Words = Words>, M: Memory<Inner = Guard<C>>>(
    memory: *mut M,
    mut guard: Guard<C>,
    words: &mut Words,
) -> Result<(), ErrorCode> {
    guard.words = words.take(guard.config.words()).ok_or(ErrorCode::NoRoom)?;
    // SAFETY: passed on.
    unsafe { store(memory, guard) }
}

/// Returns the problem of a guard without enough words, at the field that says how many it needs.
pub(crate) fn no_words<C: GuardConfig>(code: ErrorCode) -> holdoff_problem {
    if matches!(code, ErrorCode::NoRoom) { holdoff_problem::about(code, C::WORDS) } else { code.into() }
}

/// Words of the caller's memory: those of a guard, for the times of a limiter's log or the places of a bulkhead's long queue, or
/// the words that no guard has yet.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Words {
    at: *mut u64,
    length: usize,
}

/// No words.
impl Default for Words {
    fn default() -> Self {
        Self::new(core::ptr::null_mut(), 0)
    }
}

impl Words {
    /// The caller's memory; NULL and 0 for none.
    pub(crate) const fn new(at: *mut u64, length: usize) -> Self {
        Self { at, length }
    }

    /// Takes so many words away. `None` if fewer are left.
    pub(crate) fn take(&mut self, count: usize) -> Option<Self> {
        if count == 0 {
            return Some(Self::default());
        }
        let (at, rest) = (self.at, self.length.checked_sub(count)?);
        if at.is_null() || !at.is_aligned() {
            return None;
        }
        *self = Self::new(at.wrapping_add(count), rest);
        Some(Self::new(at, count))
    }

    /// Borrows the words, at most as many as the configuration needs.
    ///
    /// # Safety
    /// They are the words of a guard, which nothing else touches while the answer lives.
    #[inline(never)]
    pub(crate) unsafe fn get<'a, C: GuardConfig>(self, config: &C) -> &'a mut [u64] {
        if self.at.is_null() || !self.at.is_aligned() {
            return &mut [];
        }
        // SAFETY: passed on; not more than the guard needs, and not more than a slice may be.
        unsafe { core::slice::from_raw_parts_mut(self.at, self.length.min(config.words())) }
    }
}

/// Makes the guard that the options describe in its section; an empty section is an error.
///
/// # Safety
/// `options` is null or points to options.
pub(crate) unsafe fn section<C: GuardConfig>(
    options: *const holdoff_options,
    seed: u64,
    now: Timestamp,
) -> Result<Guard<C>, holdoff_problem> {
    // SAFETY: passed on.
    let config = C::described(unsafe { sound(options) }?)?;
    let config = config.ok_or_else(|| holdoff_problem::about(ErrorCode::FieldMissing, C::SECTION))?;
    Ok(config.guard(seed, now))
}
