//! Guards that keep words in memory that the caller lends: the times of a limiter's log, the places of a bulkhead's long queue.

use crate::*;

/// A guard with words of the caller's memory beside its state.
pub(crate) trait Stored: Memory<Inner = Guard<Self::Settings, Self::State>> {
    /// Its configuration.
    type Settings;
    /// Its state.
    type State;
    /// The field that says how many words it needs.
    const FIELD: &'static str;

    /// How many words it needs.
    fn needed(config: &Self::Settings) -> usize;

    /// Points to the pointer to the words and to their number.
    fn fields(this: *mut Self) -> (*mut *mut u64, *mut usize);
}

/// Declares that a guard keeps words, as many as its field says.
macro_rules! stored {
    ($memory:ident: $config:ty, $state:ty, by $field:literal) => {
        impl $crate::guards::storage::Stored for $memory {
            type Settings = $config;
            type State = $state;
            const FIELD: &'static str = $field;

            fn needed(config: &$config) -> usize {
                config.words()
            }

            fn fields(this: *mut Self) -> (*mut *mut u64, *mut usize) {
                (
                    this.wrapping_byte_add(core::mem::offset_of!($memory, words)).cast(),
                    this.wrapping_byte_add(core::mem::offset_of!($memory, length)).cast(),
                )
            }
        }
    };
}
pub(crate) use stored;

/// The words that the caller lends, from the next one on that no guard has.
pub(crate) struct Words {
    at: *mut u64,
    left: usize,
}

impl Words {
    /// The caller's memory; NULL and 0 for none.
    pub(crate) const fn new(words: *mut u64, length: usize) -> Self {
        Self { at: words, left: length }
    }

    /// Takes so many words. `None` if fewer are left.
    fn take(&mut self, count: usize) -> Option<*mut u64> {
        if count == 0 {
            return Some(core::ptr::null_mut());
        }
        let (at, rest) = (self.at, self.left.checked_sub(count)?);
        if at.is_null() || !at.is_aligned() {
            return None;
        }
        (self.at, self.left) = (at.wrapping_add(count), rest);
        Some(at)
    }
}

/// Stores a guard in the caller's memory, with the words that it needs.
///
/// # Safety
/// `memory` is null or points to memory of that type.
pub(crate) unsafe fn store_with<M: Stored>(memory: *mut M, made: M::Inner, words: &mut Words) -> Result<(), ErrorCode> {
    let needed = M::needed(&made.config);
    let at = words.take(needed).ok_or(ErrorCode::NoRoom)?;
    // SAFETY: passed on; the guard was just stored there.
    unsafe {
        store(memory, made)?;
        let (to, length) = M::fields(memory);
        (*to, *length) = (at, needed);
    }
    Ok(())
}

/// The problem of a guard without enough words, at the field that says how many it needs.
pub(crate) fn about_words<M: Stored>(code: ErrorCode) -> holdoff_problem {
    let problem = holdoff_problem::from(code);
    if matches!(code, ErrorCode::NoRoom) { problem.at(&M::FIELD) } else { problem }
}

/// A guard's configuration, its state and its words.
pub(crate) type Parts<'a, M> = (&'a <M as Stored>::Settings, &'a mut <M as Stored>::State, &'a mut [u64]);

/// The parts of a guard that is there.
///
/// # Safety
/// `memory` is null or points to a guard that nothing else touches while the answer lives.
pub(crate) unsafe fn parts<'a, M: Stored + 'a>(memory: *mut M) -> Result<Parts<'a, M>, ErrorCode> {
    // SAFETY: passed on.
    let Guard { config, state } = unsafe { get_mut(memory) }?;
    let (at, length) = M::fields(memory);
    // SAFETY: the guard is there; these fields are none of its state.
    let (at, length) = unsafe { (at.read(), length.read()) };
    if at.is_null() || !at.is_aligned() {
        return Ok((config, state, &mut []));
    }
    // SAFETY: borrowed for as long as the guard is; not more than it needs, and not more than a slice may be.
    Ok((config, state, unsafe { core::slice::from_raw_parts_mut(at, length.min(M::needed(config))) }))
}
