//! Memory that is asked for and may be refused.

use super::key::WheelFull;
use alloc::collections::BinaryHeap;
use alloc::vec::Vec;

/// Room for `more` values in a list, as a list grows: by doubling.
pub(super) fn amortised<T>(list: &mut Vec<T>, more: usize) -> Result<(), WheelFull> {
    asked(list.capacity(), list.len(), more)?;
    list.try_reserve(more).map_err(|_| WheelFull)
}

/// Room for exactly `more` values in a list.
pub(super) fn exact<T>(list: &mut Vec<T>, more: usize) -> Result<(), WheelFull> {
    asked(list.capacity(), list.len(), more)?;
    list.try_reserve_exact(more).map_err(|_| WheelFull)
}

/// Room for one more value in a heap.
pub(super) fn heap<T: Ord>(heap: &mut BinaryHeap<T>) -> Result<(), WheelFull> {
    asked(heap.capacity(), heap.len(), 1)?;
    heap.try_reserve(1).map_err(|_| WheelFull)
}

#[cfg(not(test))]
#[inline(always)]
#[expect(clippy::unnecessary_wraps, reason = "tests refuse")]
const fn asked(_: usize, _: usize, _: usize) -> Result<(), WheelFull> {
    Ok(())
}

#[cfg(test)]
pub(super) use refusing::{asked, refuse};

/// Tests take the memory away, because what happens then must lose nothing.
#[cfg(test)]
mod refusing {
    use super::WheelFull;
    use std::cell::Cell;

    std::thread_local! {
        static REFUSED: Cell<bool> = const { Cell::new(false) };
    }

    /// Refuses this thread memory from now on, or grants it again.
    pub(in super::super) fn refuse(refused: bool) {
        REFUSED.set(refused);
    }

    /// Fails if memory is refused and the capacity is used up.
    pub(in super::super) fn asked(capacity: usize, used: usize, more: usize) -> Result<(), WheelFull> {
        if REFUSED.get() && capacity - used < more { Err(WheelFull) } else { Ok(()) }
    }
}
