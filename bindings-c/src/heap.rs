//! The C program's heap, for what reads JSON and for timing wheels.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

struct Heap;

/// The alignment of malloc on every system.
const ALIGNED: usize = 8;

// SAFETY: malloc and its kin keep the same promises, for alignments that they know of; others lie within memory of theirs.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > ALIGNED {
            // SAFETY: no layout is so long that this overflows.
            return unsafe { aligned(layout) };
        }
        // SAFETY: any size is one for malloc.
        unsafe { malloc(layout.size()) }.cast()
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        let start = if layout.align() > ALIGNED {
            // SAFETY: `aligned` made it.
            unsafe { memory.cast::<*mut u8>().sub(1).read() }
        } else {
            memory
        };
        // SAFETY: it comes from malloc.
        unsafe { free(start.cast()) }
    }
}

/// Memory of an alignment that malloc does not know of: in the middle of some of malloc's, whose start lies before it.
///
/// # Safety
/// The size and the alignment together are no more than a size can be.
unsafe fn aligned(layout: Layout) -> *mut u8 {
    // SAFETY: any size is one for malloc.
    let start: *mut u8 = unsafe { malloc(layout.size() + layout.align()) }.cast();
    if start.is_null() {
        return start;
    }
    let ahead = layout.align() - start.addr() % layout.align();
    // SAFETY: from 8 to the alignment bytes ahead, so that a pointer fits before it and the size behind it.
    unsafe {
        let memory = start.add(ahead);
        memory.cast::<*mut u8>().sub(1).write(start);
        memory
    }
}

#[global_allocator]
static HEAP: Heap = Heap;
