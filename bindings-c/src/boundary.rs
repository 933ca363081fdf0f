//! Everything that is unsafe about C: pointers, the memory behind them, and text.
//!
//! A machine lives in memory of the caller's as a magic word followed by its state. The magic word is looked at before
//! anything else, so that zeroed, stale or foreign memory is an error and not a decision.

use core::ffi::{CStr, c_char};
use holdoff_core::ErrorCode;

/// Memory of the caller's that holds an `Inner` behind a magic word.
///
/// # Safety
/// The type is `repr(C)`, aligned like a `u64` and starts with the magic word; `inner` points into it, to a place that is
/// large enough and aligned for an `Inner`; every bit pattern there is an `Inner`.
pub(crate) unsafe trait Memory: Sized {
    /// What the memory holds.
    type Inner: Copy;
    /// The word it starts with.
    const MAGIC: u64;
    /// What to say of memory that starts with another.
    const FOREIGN: ErrorCode;

    /// Where the state is.
    fn inner(this: *mut Self) -> *mut Self::Inner;
}

/// Declares the memory of a machine: `memory!(holdoff_call: Call, magic, foreign)`.
macro_rules! memory {
    ($name:ident: $inner:ty, $magic:expr, $foreign:expr) => {
        const _: () = {
            let room = size_of::<$name>() - core::mem::offset_of!($name, state);
            assert!(size_of::<$inner>() <= room && align_of::<$inner>() <= 8);
            assert!(core::mem::offset_of!($name, magic) == 0 && core::mem::offset_of!($name, state) % 8 == 0);
        };

        // SAFETY: the layout is asserted above; the core's machines are plain numbers of which every pattern is valid.
        unsafe impl $crate::boundary::Memory for $name {
            type Inner = $inner;
            const MAGIC: u64 = $magic;
            const FOREIGN: holdoff_core::ErrorCode = $foreign;

            fn inner(this: *mut Self) -> *mut $inner {
                this.wrapping_byte_add(core::mem::offset_of!($name, state)).cast()
            }
        }
    };
}
pub(crate) use memory;

/// The machine in the caller's memory, to be looked at.
///
/// # Safety
/// `memory` is null or points to an `M` that nothing writes to while the answer lives.
#[inline(always)]
pub(crate) unsafe fn look<'a, M: Memory>(memory: *const M) -> Result<&'a M::Inner, ErrorCode> {
    // SAFETY: passed on; a shared look is all that becomes of it.
    unsafe { reach(memory.cast_mut()).map(|inner| &*inner) }
}

/// The machine in the caller's memory, to be driven.
///
/// # Safety
/// `memory` is null or points to an `M` that nothing else touches while the answer lives.
#[inline(always)]
pub(crate) unsafe fn drive<'a, M: Memory>(memory: *mut M) -> Result<&'a mut M::Inner, ErrorCode> {
    // SAFETY: passed on.
    unsafe { reach(memory).map(|inner| &mut *inner) }
}

/// A machine to be driven and what it is driven with, if both are there: for the common path, which leaves errors to another.
///
/// # Safety
/// As for [`drive`] and [`look`].
#[inline(always)]
pub(crate) unsafe fn both<'a, M: Memory, P: Memory>(
    memory: *mut M,
    policy: *const P,
) -> Option<(&'a mut M::Inner, &'a P::Inner)> {
    // SAFETY: passed on.
    unsafe { Some((drive(memory).ok()?, look(policy).ok()?)) }
}

#[inline(always)]
unsafe fn reach<M: Memory>(memory: *mut M) -> Result<*mut M::Inner, ErrorCode> {
    if memory.is_null() {
        return Err(ErrorCode::NullPointer);
    }
    // SAFETY: not null, and aligned where it is read; the caller vouches for the rest.
    if !memory.is_aligned() || unsafe { memory.cast::<u64>().read() } != M::MAGIC {
        return Err(M::FOREIGN);
    }
    Ok(M::inner(memory))
}

/// Puts a machine into the caller's memory.
///
/// # Safety
/// `memory` is null or points to memory of the size of an `M`.
#[inline(always)]
pub(crate) unsafe fn place<M: Memory>(memory: *mut M, inner: M::Inner) -> Result<(), ErrorCode> {
    if memory.is_null() {
        return Err(ErrorCode::NullPointer);
    }
    if !memory.is_aligned() {
        return Err(M::FOREIGN);
    }
    // SAFETY: not null and aligned; the caller vouches for the size.
    unsafe {
        // What is only the magic word and the state has nothing else to clear.
        if size_of::<M>() > 8 + size_of::<M::Inner>() {
            memory.write_bytes(0, 1);
        }
        memory.cast::<u64>().write(M::MAGIC);
        M::inner(memory).write(inner);
    }
    Ok(())
}

/// Whether all of the memory is zero: what a machine that never began looks like.
///
/// # Safety
/// `memory` is null or points to an `M`.
#[cold]
pub(crate) unsafe fn is_zeroed<M: Memory>(memory: *const M) -> bool {
    if memory.is_null() || !memory.is_aligned() {
        return false;
    }
    let words = memory.cast::<u64>();
    // SAFETY: not null and aligned; the index stays inside.
    (0..size_of::<M>() / 8).all(|at| unsafe { words.add(at).read() } == 0)
}

/// Writes an answer to where the caller wants it, if anywhere.
///
/// # Safety
/// `place` is null or points to memory of the size of a `T`, aligned or not.
#[inline(always)]
pub(crate) unsafe fn answer<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { place.write_unaligned(value) }
    }
}

/// Something of the caller's that needs no magic word, because zeroes and any other content are one; to be looked at.
///
/// # Safety
/// `place` is null or points to an `Outer` that is an `Inner`, of which every bit pattern is valid, and which nothing writes
/// to while the answer lives.
pub(crate) unsafe fn look_plain<'a, Outer, Inner>(place: *const Outer) -> Result<&'a Inner, ErrorCode> {
    // SAFETY: passed on; a shared look is all that becomes of it.
    unsafe { drive_plain(place.cast_mut()).map(|inner| &*inner) }
}

/// The same to be driven.
///
/// # Safety
/// As for [`look_plain`]; nothing else touches it while the answer lives.
pub(crate) unsafe fn drive_plain<'a, Outer, Inner>(place: *mut Outer) -> Result<&'a mut Inner, ErrorCode> {
    const { assert!(size_of::<Outer>() == size_of::<Inner>() && align_of::<Outer>() == align_of::<Inner>()) };
    if place.is_null() || !place.is_aligned() {
        return Err(ErrorCode::NullPointer);
    }
    // SAFETY: not null, aligned, of the same size; the caller vouches for the rest.
    Ok(unsafe { &mut *place.cast() })
}

/// Room of the caller's to keep bytes in; none without a pointer.
///
/// # Safety
/// `start` is null or points to `size` bytes that nothing else touches while the answer lives.
pub(crate) unsafe fn room<'a>(start: *mut c_char, size: usize) -> &'a mut [u8] {
    if start.is_null() {
        return &mut [];
    }
    // SAFETY: not null; the caller vouches for the rest; not more than a slice may be.
    unsafe { core::slice::from_raw_parts_mut(start.cast(), size.min(isize::MAX as usize)) }
}

/// Bytes of the caller's; nothing without a pointer.
///
/// # Safety
/// `start` is null or points to `size` bytes that stay as they are while the answer lives.
pub(crate) unsafe fn span<'a>(start: *const c_char, size: usize) -> Option<&'a [u8]> {
    if start.is_null() {
        return None;
    }
    // SAFETY: not null; the caller vouches for the rest; not more than a slice may be.
    Some(unsafe { core::slice::from_raw_parts(start.cast(), size.min(isize::MAX as usize)) })
}

/// A text of the caller's. What is no UTF-8 reads as a character that no name, word or duration has in it.
///
/// # Safety
/// `text` is null or points to bytes that end with a zero and stay as they are while the answer lives.
pub(crate) unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    // SAFETY: passed on.
    unsafe { bytes(text) }.map(|bytes| core::str::from_utf8(bytes).unwrap_or("\u{fffd}"))
}

/// The bytes of a text of the caller's.
///
/// # Safety
/// As for [`text`].
pub(crate) unsafe fn bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null; the caller vouches for the rest.
    Some(unsafe { CStr::from_ptr(text) }.to_bytes())
}
