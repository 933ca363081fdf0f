//! Pointers, the memory behind them, and bytes: everything that is unsafe about C.
//!
//! A machine lives in memory of the caller's as a magic word followed by its state. The magic word is checked before
//! anything else, so that zeroed, stale or foreign memory is an error and not a decision.

use core::ffi::CStr;
use holdoff_core::{
    BackoffKind, Cap, Direction, FailureKind, Growth, HintMode, HintOver, JitterKind, OnDeadline, Timer,
};

pub(crate) use core::ffi::{c_char, c_int};
pub(crate) use holdoff_core::{ErrorCode, Span, Timestamp};

/// Memory of the caller's that holds an `Inner`: behind a magic word, or alone if any content, zeroes included, is a machine.
///
/// # Safety
/// The type is `repr(C)`, aligned like a `u64`, and starts with the magic word if it has one; `inner` points into it, to a place
/// that is large enough and aligned for an `Inner`; every bit pattern there is an `Inner`.
pub(crate) unsafe trait Memory: Sized {
    /// The machine in the memory.
    type Inner;
    /// The word at the start, if there is one.
    const MAGIC: Option<u64>;
    /// The error for memory that starts with another word.
    const FOREIGN: ErrorCode;

    /// Points to the machine.
    fn inner(this: *mut Self) -> *mut Self::Inner;
}

/// Declares the memory of a machine, `name([u64; words]) holds Type, magic, error`, with more fields behind the words if it has
/// any, all or none of which the `Type` has as well; or, for a struct that is declared elsewhere, only `name holds Type, magic, error`. Memory without a magic word is only
/// `holds Type`.
macro_rules! memory {
    ($(#[$meta:meta])* $name:ident([u64; $words:literal] $(, $field:ident: $type:ty)*) holds $inner:ty, $magic:expr, $foreign:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct $name {
            magic: u64,
            state: [u64; $words],
            $($field: $type,)*
        }
        $crate::boundary::memory!($name holds $inner, $magic, $foreign);
        const _: () = assert!(size_of::<$inner>() == $words * 8 || size_of::<$inner>() == size_of::<$name>() - 8);
    };
    ($(#[$meta:meta])* $name:ident([u64; $words:literal]) holds $inner:ty) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct $name {
            state: [u64; $words],
        }
        $crate::boundary::memory!($name holds $inner);
    };
    ($name:ident holds $inner:ty, $magic:expr, $foreign:ident) => {
        $crate::boundary::memory!($name holds $inner, Some(u64::from_be_bytes(*$magic)), $foreign, core::mem::offset_of!($name, state));
        const _: () = assert!(core::mem::offset_of!($name, magic) == 0);
    };
    ($name:ident holds $inner:ty) => {
        $crate::boundary::memory!($name holds $inner, None, NullPointer, 0);
        const _: () = assert!(size_of::<$name>() == size_of::<$inner>());
    };
    ($name:ident holds $inner:ty, $magic:expr, $foreign:ident, $offset:expr) => {
        const _: () = assert!(size_of::<$inner>() <= size_of::<$name>() - $offset && $offset % 8 == 0);
        const _: () = assert!(align_of::<$inner>() <= align_of::<$name>());

        // SAFETY: the layout is asserted above; the core's machines are plain numbers, valid in every bit pattern.
        unsafe impl $crate::boundary::Memory for $name {
            type Inner = $inner;
            const MAGIC: Option<u64> = $magic;
            const FOREIGN: holdoff_core::ErrorCode = holdoff_core::ErrorCode::$foreign;

            fn inner(this: *mut Self) -> *mut $inner {
                this.wrapping_byte_add($offset).cast()
            }
        }
    };
}
pub(crate) use memory;

/// Declares numbers of the header, each with the core's number that it has to equal: `NAME: type = literal is expression`.
macro_rules! numbers {
    ($($(#[$meta:meta])* $name:ident: $type:ty = $value:literal is $core:expr;)*) => { $(
        $(#[$meta])*
        pub const $name: $type = $value;
        const _: () = assert!($name as u64 == $core as u64);
    )* };
}
pub(crate) use numbers;

/// Declares a struct of plain numbers, and how it is made of a value of the core's: `name from value: Type { field: type =
/// expression }`; or, for a struct that goes both ways, `name mirrors Type { field: type = field of the core }`, where [`AsNumber`]
/// says how each type is written as a number.
macro_rules! c_struct {
    ($(#[$meta:meta])* $name:ident { $($(#[doc = $doc:literal])* $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct $name {
            $($(#[doc = $doc])* pub $field: $type,)*
        }
    };
    ($(#[$meta:meta])* $name:ident from $value:ident: $core:ty {
        $($(#[doc = $doc:literal])* $field:ident: $type:ty = $body:expr,)*
    }) => {
        $crate::boundary::c_struct!($(#[$meta])* $name { $($(#[doc = $doc])* $field: $type,)* });

        impl From<$core> for $name {
            fn from($value: $core) -> Self {
                Self { $($field: $body),* }
            }
        }
    };
    ($(#[$meta:meta])* $name:ident mirrors $core:ident {
        $($(#[doc = $doc:literal])* $field:ident: $type:ty = $of:ident,)*
    }) => {
        $crate::boundary::c_struct! {
            $(#[$meta])*
            $name from value: $core { $($(#[doc = $doc])* $field: $type = $crate::boundary::AsNumber::to_number(value.$of),)* }
        }

        impl TryFrom<$name> for $core {
            type Error = ErrorCode;

            fn try_from(value: $name) -> Result<Self, ErrorCode> {
                Ok(Self { $($of: $crate::boundary::AsNumber::from_number(value.$field)?),* })
            }
        }
    };
}
pub(crate) use c_struct;

/// A type of the core's that a number stands for.
pub(crate) trait AsNumber<N>: Sized {
    fn to_number(self) -> N;
    fn from_number(number: N) -> Result<Self, ErrorCode>;
}

/// Declares what numbers stand for: `Type as number = expression, back again`.
macro_rules! as_numbers {
    ($($core:ty as $number:ty = |$value:ident| $to:expr, $from:expr;)*) => { $(
        impl AsNumber<$number> for $core {
            fn to_number(self) -> $number {
                let $value = self;
                $to
            }

            fn from_number($value: $number) -> Result<Self, ErrorCode> {
                $from
            }
        }
    )* };
}

as_numbers! {
    f64 as f64 = |number| number, Ok(number);
    u32 as u32 = |number| number, Ok(number);
    bool as u8 = |yes| yes.into(), Ok(yes != 0);
    bool as u32 = |yes| yes.into(), Ok(yes != 0);
    Timestamp as Timestamp = |at| at, Ok(at);
    Span as u64 = |length| length.as_nanos(), Ok(span(length));
    Option<Span> as u64 = |limit| limit.map_or(u64::MAX, Span::as_nanos), Ok((limit != u64::MAX).then(|| span(limit)));
    Option<u32> as u32 = |count| count.unwrap_or(u32::MAX), Ok(Some(count).filter(|count| *count != u32::MAX));
    BackoffKind as u8 = |word| word.code(), word_of(Self::from_code(word.into()));
    JitterKind as u8 = |word| word.code(), word_of(Self::from_code(word.into()));
    Cap as u8 = |word| word.code(), word_of(Self::from_code(word.into()));
    OnDeadline as u8 = |word| word.code(), word_of(Self::from_code(word.into()));
    HintMode as u8 = |word| word.code(), word_of(Self::from_code(word.into()));
    HintOver as u8 = |word| word.code(), word_of(Self::from_code(word.into()));
    Direction as u8 = |word| word.code(), Ok(if word == 0 { Self::Up } else { Self::Down });
    Growth as u8 = |word| word.code(), Ok(if word == 0 { Self::Power } else { Self::Feedback });
    Timer as u32 = |word| word.code().into(), word_of(Self::from_code(word));
}

/// Returns the word with a number, or the error for a number that its table does not have.
pub(crate) fn word_of<T>(word: Option<T>) -> Result<T, ErrorCode> {
    word.ok_or(ErrorCode::UnknownWord)
}

/// Borrows the machine in the caller's memory.
///
/// # Safety
/// `memory` is null or points to an `M` that nothing writes to while the answer lives.
#[inline(always)]
pub(crate) unsafe fn get<'a, M: Memory>(memory: *const M) -> Result<&'a M::Inner, ErrorCode> {
    // SAFETY: passed on; the answer is only read.
    unsafe { machine(memory.cast_mut()).map(|inner| &*inner) }
}

/// Borrows the machine in the caller's memory, to change it.
///
/// # Safety
/// `memory` is null or points to an `M` that nothing else touches while the answer lives.
#[inline(always)]
pub(crate) unsafe fn get_mut<'a, M: Memory>(memory: *mut M) -> Result<&'a mut M::Inner, ErrorCode> {
    // SAFETY: passed on.
    unsafe { machine(memory).map(|inner| &mut *inner) }
}

#[inline(always)]
unsafe fn machine<M: Memory>(memory: *mut M) -> Result<*mut M::Inner, ErrorCode> {
    check_memory(memory)?;
    match M::MAGIC {
        // SAFETY: not null, and aligned; the caller vouches for the rest.
        Some(magic) if unsafe { memory.cast::<u64>().read() } != magic => Err(M::FOREIGN),
        _ => Ok(M::inner(memory)),
    }
}

/// Checks that memory is there and aligned, before anything is read from it or taken for it.
#[inline(always)]
pub(crate) fn check_memory<M: Memory>(memory: *const M) -> Result<(), ErrorCode> {
    match memory.is_null() {
        true => Err(ErrorCode::NullPointer),
        false if !memory.is_aligned() => Err(M::FOREIGN),
        false => Ok(()),
    }
}

/// Stores a machine in the caller's memory.
///
/// # Safety
/// `memory` is null or points to memory of the size of an `M`.
#[inline(always)]
pub(crate) unsafe fn store<M: Memory>(memory: *mut M, inner: M::Inner) -> Result<(), ErrorCode> {
    check_memory(memory)?;
    // SAFETY: not null and aligned; the caller vouches for the size.
    unsafe {
        // Memory without more than the magic word and the state has nothing else to clear.
        if size_of::<M>() > 8 + size_of::<M::Inner>() {
            memory.write_bytes(0, 1);
        }
        if let Some(magic) = M::MAGIC {
            memory.cast::<u64>().write(magic);
        }
        M::inner(memory).write(inner);
    }
    Ok(())
}

/// Tells whether all of the memory is zero, as of a machine that never began.
///
/// # Safety
/// `memory` is null or points to an `M`.
#[cold]
pub(crate) unsafe fn is_zeroed<M: Memory>(memory: *const M) -> bool {
    let words = memory.cast::<u64>();
    // SAFETY: not null and aligned; the index stays inside.
    check_memory(memory).is_ok() && (0..size_of::<M>() / 8).all(|at| unsafe { words.add(at).read() } == 0)
}

/// Returns a pointer that must not be null.
pub(crate) fn not_null<T>(pointer: *mut T) -> Result<*mut T, ErrorCode> {
    if pointer.is_null() { Err(ErrorCode::NullPointer) } else { Ok(pointer) }
}

/// Copies an optional argument; `None` for a null pointer.
///
/// # Safety
/// `value` is null or points to a `T`, aligned or not.
#[inline(always)]
pub(crate) unsafe fn read<T: Copy>(value: *const T) -> Option<T> {
    // SAFETY: not null; the caller vouches for the rest.
    (!value.is_null()).then(|| unsafe { value.read_unaligned() })
}

/// Writes an answer, unless the pointer is null.
///
/// # Safety
/// `out` is null or points to memory of the size of a `T`, aligned or not.
#[inline(always)]
pub(crate) unsafe fn write<T>(out: *mut T, value: T) {
    if !out.is_null() {
        // SAFETY: not null; the caller vouches for the rest.
        unsafe { out.write_unaligned(value) }
    }
}

/// Writes an answer if there is one, and returns whether there is.
///
/// # Safety
/// As for [`write`].
#[inline(always)]
pub(crate) unsafe fn write_some<T>(out: *mut T, value: Option<T>) -> bool {
    let found = value.is_some();
    if let Some(value) = value {
        // SAFETY: passed on.
        unsafe { write(out, value) }
    }
    found
}

/// Writes a permission to `out`, or the time to ask again to `retry_at`, and returns whether it is a permission.
///
/// # Safety
/// As for [`write`].
#[inline(always)]
pub(crate) unsafe fn write_permission<T: Copy>(
    out: *mut T,
    retry_at: *mut Timestamp,
    asked: Result<T, Timestamp>,
) -> bool {
    // SAFETY: passed on.
    unsafe {
        match asked {
            Ok(permission) => write(out, permission),
            Err(again) => write(retry_at, again),
        }
    }
    asked.is_ok()
}

/// Refuses for ever, as memory without a machine does, and returns false.
///
/// # Safety
/// As for [`write`].
#[cold]
pub(crate) unsafe fn refuse(retry_at: *mut Timestamp) -> bool {
    // SAFETY: passed on.
    unsafe { write(retry_at, Timestamp::NEVER) }
    false
}

/// Does something, and returns the number of its error, 0 for none.
pub(crate) fn status(work: impl FnOnce() -> Result<(), ErrorCode>) -> c_int {
    work().map_or_else(|code| c_int::from(code.code()), |()| 0)
}

/// Returns a length of time; the longest there is for a number above it.
pub(crate) const fn span(nanos: u64) -> Span {
    Span::from_nanos(nanos)
}

/// Returns the kind of failure with that number.
pub(crate) fn kind_of(kind: u32) -> Result<FailureKind, ErrorCode> {
    FailureKind::from_code(kind).ok_or(ErrorCode::UnknownFailureKind)
}

/// Borrows a buffer of the caller's; an empty one for a null pointer.
///
/// # Safety
/// `start` is null or points to `size` bytes that nothing else touches while the answer lives.
pub(crate) unsafe fn buffer<'a>(start: *mut c_char, size: usize) -> &'a mut [u8] {
    if start.is_null() {
        return &mut [];
    }
    // SAFETY: not null; the caller vouches for the rest; not more than a slice may be.
    unsafe { core::slice::from_raw_parts_mut(start.cast(), size.min(isize::MAX as usize)) }
}

/// Copies bytes into a buffer of the caller's. Returns how many; 0 when they do not fit.
///
/// # Safety
/// As for [`buffer`].
pub(crate) unsafe fn write_bytes(start: *mut c_char, size: usize, bytes: &[u8]) -> usize {
    // SAFETY: passed on.
    let copied = unsafe { buffer(start, size) }.get_mut(..bytes.len()).map(|buffer| buffer.copy_from_slice(bytes));
    copied.map_or(0, |()| bytes.len())
}

/// Borrows bytes of the caller's.
///
/// # Safety
/// `start` is null or points to `length` bytes that stay as they are while the answer lives.
pub(crate) unsafe fn slice<'a>(start: *const c_char, length: usize) -> Result<&'a [u8], ErrorCode> {
    if start.is_null() {
        return Err(ErrorCode::NullPointer);
    }
    // SAFETY: not null; the caller vouches for the rest; not more than a slice may be.
    Ok(unsafe { core::slice::from_raw_parts(start.cast(), length.min(isize::MAX as usize)) })
}

/// Borrows a text of the caller's. A text that is not UTF-8 reads as a character that no name, word or duration contains.
///
/// # Safety
/// `text` is null or points to bytes that end with a zero and stay as they are while the answer lives.
pub(crate) unsafe fn c_str<'a>(text: *const c_char) -> Option<&'a str> {
    // SAFETY: passed on.
    unsafe { c_bytes(text) }.map(|bytes| core::str::from_utf8(bytes).unwrap_or("\u{fffd}"))
}

/// Borrows the bytes of a text of the caller's.
///
/// # Safety
/// As for [`c_str`].
pub(crate) unsafe fn c_bytes<'a>(text: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: not null; the caller vouches for the rest.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_bytes())
}
