//! One guard: its configuration beside its state, and how options make it.

use crate::*;

/// A configuration and the state that belongs to it, and the caller's words that the state is kept in where it has no end.
#[repr(C)]
pub(crate) struct Guard<C: StoredGuard> {
    pub(crate) config: C,
    pub(crate) state: C::State,
    pub(crate) words: C::Words,
}

impl<C: StoredGuard> Guard<C> {
    /// The configuration, the state and the words.
    pub(crate) fn parts(&mut self) -> (&C, &mut C::State, &mut [u64]) {
        let words = self.words.as_ref().first().copied().unwrap_or_default();
        // SAFETY: the header makes the caller promise that they are there as long as the guard; no more than it took.
        let words = unsafe { words.get(&self.config) };
        (&self.config, &mut self.state, words)
    }

    /// Lends the guard to a call.
    pub(crate) fn lend(&mut self) -> C::Lent<'_> {
        let (config, state, words) = self.parts();
        config.lend(state, words)
    }
}

/// A configuration whose guard has memory of C's.
pub(crate) trait StoredGuard: GuardConfig {
    /// One if the guard keeps words of the caller's, else none.
    type Words: Copy + Default + AsRef<[Words]> + AsMut<[Words]>;

    /// Makes a guard that has seen nothing, without the words that it needs.
    fn guard(self, seed: u64, now: Timestamp) -> Guard<Self> {
        Guard { state: self.state(seed, now), config: self, words: Self::Words::default() }
    }
}

/// Stores a guard of a checked configuration, which has seen nothing.
///
/// # Safety
/// `memory` is null or points to memory of its type.
pub(crate) unsafe fn put_guard<C: StoredGuard, M: Memory<Inner = Guard<C>>>(
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
pub(crate) unsafe fn put_with_words<C: StoredGuard, M: Memory<Inner = Guard<C>>>(
    memory: *mut M,
    mut guard: Guard<C>,
    words: &mut Words,
) -> Result<(), ErrorCode> {
    guard.words.as_mut().fill(words.take(guard.config.words()).ok_or(ErrorCode::NoRoom)?);
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
pub(crate) unsafe fn section<C: StoredGuard>(
    options: *const holdoff_options,
    seed: u64,
    now: Timestamp,
) -> Result<Guard<C>, holdoff_problem> {
    // SAFETY: passed on.
    let config = unsafe { sound(options) }?.guard::<C>()?;
    let config = config.ok_or_else(|| holdoff_problem::about(ErrorCode::FieldMissing, C::SECTION.name))?;
    Ok(config.guard(seed, now))
}
