//! Guards, which many calls share, in the caller's memory: each has its configuration beside its state.
//!
//! A set of guards is a struct of pointers, so that one budget may be in several sets. The core borrows
//! them for one transition; threads that share them hold a lock meanwhile.

use crate::*;

pub(crate) mod adaptive;
pub(crate) mod breaker;
pub(crate) mod budget;
pub(crate) mod bulkhead;
pub(crate) mod fields;
pub(crate) mod guard;
pub(crate) mod guarded;
pub(crate) mod limiter;
pub(crate) mod nested;
pub(crate) mod saved;
pub(crate) mod timing;

/// Declares the set of guards, and works on all of them.
macro_rules! guards {
    ($($(#[$doc:meta])* $name:ident: $class:ident $memory:ident, $config:ty, $state:ty $(, $words:ident)?;)*) => {
        /// The guards of a call: a pointer to each guard, or NULL for none. Zeroed it is no guard at all. A guard may be in
        /// several sets.
        ///
        /// Each function that takes guards reads and changes them. Threads that share a guard hold a lock meanwhile: one mutex for
        /// all guards of a set is enough, and holdoff_loop.h has a place for it.
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct holdoff_guards {
            $($(#[$doc])* pub $name: *mut $memory,)*
        }

        /// Memory for each guard that options may describe.
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub struct holdoff_guard_memory {
            $($(#[$doc])* pub $name: $memory,)*
        }

        /// The set of all guards in that memory.
        fn guards_in(memory: *mut holdoff_guard_memory) -> holdoff_guards {
            let at = |offset| if memory.is_null() { core::ptr::null_mut() } else { memory.wrapping_byte_add(offset) };
            holdoff_guards { $($name: at(core::mem::offset_of!(holdoff_guard_memory, $name)).cast(),)* }
        }

        /// How many words the guards need that the options describe.
        fn words(options: &Options) -> usize {
            0 $(+ options.guard::<$config>().ok().flatten().map_or(0, |config| config.words()))*
        }

        /// Makes each guard that is described, or forgets its memory.
        unsafe fn all(
            guards: *mut holdoff_guards,
            options: *const holdoff_options,
            (seed, now): (u64, Timestamp),
            words: &mut Words,
        ) -> Result<(), holdoff_problem> {
            // SAFETY: the header's promise, for the set and for each of its guards.
            unsafe {
                let mut made = read(guards).ok_or(ErrorCode::NullPointer)?;
                let options = sound(options)?;
                $(match options.guard::<$config>()? {
                    None => made.$name = core::ptr::null_mut(),
                    Some(_) if made.$name.is_null() => {
                        return Err(holdoff_problem::about(ErrorCode::NoRoom, <$config>::SECTION.name));
                    }
                    Some(config) => {
                        put_with_words(made.$name, config.guard(seed, now), words).map_err(no_words::<$config>)?;
                    }
                })*
                guards.write_unaligned(made);
            }
            Ok(())
        }

        /// Borrows the guards of the caller for one transition; none for a null pointer.
        ///
        /// # Safety
        /// Each pointer is null or points to memory of its type that nothing else touches while the guards are borrowed.
        #[inline(never)]
        pub(crate) unsafe fn borrow_guards(guards: *const holdoff_guards, borrowed: &mut Guards<'_>) -> Result<(), ErrorCode> {
            // SAFETY: passed on.
            let Some(guards) = (unsafe { read(guards) }) else { return Ok(()) };
            $(if !guards.$name.is_null() {
                // SAFETY: passed on. Two of one type cannot be the same memory, and memory begins with its type's word.
                borrowed.$name = Some(unsafe { get_mut(guards.$name) }?.lend());
            })*
            Ok(())
        }
    };
}
each_guard!(guards);

extern_c! {
    /// Returns how many words of memory the guards need that the options describe: as many as the limit of a limiter of the
    /// kind "log", and one for each 64 places of a bulkhead's queue above 64; 0 for other guards, and for options with a
    /// problem.
    fn holdoff_guards_words(options) -> usize = {
        let Ok(options) = sound(options) else { return 0 };
        words(options)
    };

    /// Returns the set of all guards in that memory, to be made by holdoff_guards_init; no guards for NULL.
    fn holdoff_guards_in(memory: *mut holdoff_guard_memory) -> holdoff_guards = guards_in(memory);

    /// Makes all guards that the options describe, in the memory that `guards` points to, and takes the others out of
    /// `guards`: their pointers become NULL. So point to memory for each guard that a document may describe: holdoff_guards_in does. `words` has room
    /// for `length` words, at least holdoff_guards_words(options) (NULL and 0 for none), and is in use for as long as the guards.
    /// `seed` is for the guards that draw: from the operating system, or a fixed one to repeat a run.
    ///
    /// Returns 0; or a HOLDOFF_ERROR_ number, or HOLDOFF_ERROR_NO_ROOM for a guard that is described and has no memory.
    /// Then some guards may have been made, and `guards` is as it was. Either way `problem` (which may be NULL) says what
    /// is wrong, with code 0 for nothing.
    report holdoff_guards_init(guards: *mut holdoff_guards, options, seed, now, words, length) =
        all(guards, options, (seed, now), &mut Words::new(words, length))?;

    /// Tells whether nothing that protects a server is lost when the guards are made anew at `now`: no call runs or waits in the
    /// bulkhead, the breaker is closed and counts no failure, the budget and the limiter are full. A program that keeps guards by
    /// host, tenant or another key drops only guards at rest to make room; while none are, further keys share one set.
    ///
    /// Returns whether they are at rest; true without guards, false if a pointer in `guards` points to no guard.
    fn holdoff_guards_at_rest(guards, now) -> bool = {
        let mut borrowed = Guards::none();
        borrow_guards(guards, &mut borrowed).is_ok_and(|()| borrowed.is_at_rest(now))
    };
}
