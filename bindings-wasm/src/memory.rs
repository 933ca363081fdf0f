//! Memory that one export at a time works on.
#![allow(unsafe_code)]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
#[cfg(any(feature = "hot", feature = "guards"))]
use holdoff_core::{Failure, FailureKind, Hint};

/// One thread's memory.
#[repr(transparent)]
pub(crate) struct Shared<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: a wasm module without shared memory has one thread.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// Memory that begins with a value.
    #[cfg(feature = "wheel")]
    pub(crate) const fn new(value: T) -> Self {
        Self(UnsafeCell::new(MaybeUninit::new(value)))
    }

    /// Memory full of zeroes.
    ///
    /// # Safety
    /// Every bit pattern is a value of `T`, and no function that works on it calls out of the module.
    #[cfg(not(feature = "wheel"))]
    pub(crate) const unsafe fn zeroed() -> Self {
        Self(UnsafeCell::new(MaybeUninit::zeroed()))
    }

    /// Works on it. Not to be nested.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the exports are the only callers, each calls once, and none calls out of the module; so there is no
        // second reference. Whatever JavaScript wrote is valid: no field that it sees has an invalid bit pattern.
        work(unsafe { (*self.0.get()).assume_init_mut() })
    }

    /// The address, which never changes.
    pub(crate) fn address(&self) -> usize {
        self.0.get() as usize
    }
}

/// Exports functions that work on the memory of their module, `fn name(numbers) -> number = |memory, now| what is done;`. A
/// function that takes the time asks the memory for it first.
#[cfg(not(feature = "wheel"))]
macro_rules! exports {
    ($(
        $(#[doc = $doc:literal])+
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $out:ty)? = |$memory:ident $(, $now:ident)?| $body:expr;
    )+) => {
        $(
            $(#[doc = $doc])+
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) $(-> $out)? {
                with(|$memory| {
                    $(let $now = $memory.now();)?
                    $body
                })
            }
        )+
    };
}
#[cfg(not(feature = "wheel"))]
pub(crate) use exports;

/// The failure of a kind, with the number of its rule above it.
#[cfg(any(feature = "hot", feature = "guards"))]
pub(crate) fn failure_of(kind: u32, hint: Hint) -> Failure {
    let rule = (kind >> 8) as u8;
    let kind = FailureKind::from_code(kind & 255).unwrap_or(FailureKind::Permanent);
    Failure { rule, ..Failure::new(kind).with_hint(hint) }
}
