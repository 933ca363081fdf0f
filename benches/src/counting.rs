//! The system's memory, counted.
//!
//! Counted without a lock, which would cost allocating code more than the memory does: with several threads at once the
//! numbers are wrong.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// An allocator that knows how many bytes are in use.
#[derive(Debug)]
pub struct Counting;

impl Counting {
    /// How many bytes are in use.
    #[must_use]
    pub fn bytes() -> usize {
        NOW.load(Relaxed)
    }

    /// The most bytes that were in use at once since [`Counting::begin`].
    #[must_use]
    pub fn most() -> usize {
        MOST.load(Relaxed)
    }

    /// Forgets the most bytes, and says how many are in use.
    pub fn begin() -> usize {
        MOST.store(Self::bytes(), Relaxed);
        Self::bytes()
    }

    #[inline(always)]
    fn grew(bytes: usize) {
        let now = NOW.load(Relaxed).wrapping_add(bytes);
        NOW.store(now, Relaxed);
        if now > MOST.load(Relaxed) {
            MOST.store(now, Relaxed);
        }
    }

    #[inline(always)]
    fn shrank(bytes: usize) {
        NOW.store(NOW.load(Relaxed).wrapping_sub(bytes), Relaxed);
    }
}

#[expect(unsafe_code, reason = "an allocator is unsafe, and this one does what the system's does")]
// SAFETY: every call is handed on as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::grew(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::shrank(layout.size());
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are in use while one is copied to the other.
        Self::grew(size);
        // SAFETY: the caller's promise.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        Self::shrank(layout.size());
        moved
    }
}
