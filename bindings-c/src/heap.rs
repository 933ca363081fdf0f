//! The C program's heap, for what reads JSON and for timing wheels.

use core::alloc::{GlobalAlloc, Layout};
use core::ffi::c_void;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn realloc(memory: *mut c_void, size: usize) -> *mut c_void;
    fn free(memory: *mut c_void);
}

struct Heap;

/// What malloc aligns to everywhere.
const ALIGNED: usize = 8;

// SAFETY: malloc and its kin keep the same promises, for alignments that they know of; others get no memory.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > ALIGNED {
            return core::ptr::null_mut();
        }
        // SAFETY: any size is one for malloc.
        unsafe { malloc(layout.size()) }.cast()
    }

    unsafe fn dealloc(&self, memory: *mut u8, _: Layout) {
        // SAFETY: it comes from malloc.
        unsafe { free(memory.cast()) }
    }

    unsafe fn realloc(&self, memory: *mut u8, _: Layout, size: usize) -> *mut u8 {
        // SAFETY: it comes from malloc, so that its alignment is one that realloc keeps.
        unsafe { realloc(memory.cast(), size) }.cast()
    }
}

#[global_allocator]
static HEAP: Heap = Heap;
