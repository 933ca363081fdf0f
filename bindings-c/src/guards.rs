//! What many calls share: guards in the caller's memory, each with its configuration beside its state.
//!
//! A set of guards is a struct of pointers, so that one budget may be in several sets. They are lent to the core for one
//! transition; who shares them between threads locks them for as long.

use crate::boundary::{Memory, drive, place, room, span};
use crate::options::{guards_of, holdoff_options};
use crate::problem::{holdoff_problem, report};
use core::ffi::{c_char, c_int};
use holdoff_core::{ConfigError, ErrorCode, Guards, GuardsBuilder, SaveError};

pub(crate) mod adaptive;
pub(crate) mod breaker;
pub(crate) mod budget;
pub(crate) mod bulkhead;
pub(crate) mod guarded;
pub(crate) mod hedge;
pub(crate) mod limiter;
pub(crate) mod nested;
pub(crate) mod stretch;

use adaptive::holdoff_adaptive;
use breaker::holdoff_breaker;
use budget::holdoff_budget;
use bulkhead::holdoff_bulkhead;
use hedge::holdoff_hedge;
use limiter::holdoff_limiter;
use stretch::holdoff_stretch;

/// A configuration and the state that belongs to it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Guard<C, S> {
    pub(crate) config: C,
    pub(crate) state: S,
}

/// The guards of a call: pointers to those that there are, NULL for the others. Zeroed it is no guard at all. A guard may be in
/// several sets.
///
/// Whatever takes guards asks them and changes them, for the one transition that it is. Threads that share a guard lock it for
/// as long: one mutex for all guards of a set will do, and holdoff_loop.h has a place for it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_guards {
    /// How many retries there may be for the calls there are.
    pub budget: *mut holdoff_budget,
    /// Whether the other side is well enough to be called.
    pub breaker: *mut holdoff_breaker,
    /// How many attempts there may be in a time.
    pub limiter: *mut holdoff_limiter,
    /// A rate that follows the other side's throttling.
    pub adaptive: *mut holdoff_adaptive,
    /// How many attempts there may be at once.
    pub bulkhead: *mut holdoff_bulkhead,
    /// Longer delays while much fails.
    pub stretch: *mut holdoff_stretch,
    /// A second attempt beside one that takes long.
    pub hedge: *mut holdoff_hedge,
}

/// Makes all guards that the options describe, in the memory that `guards` points to, and takes the others out of `guards`: their
/// pointers become NULL. So point to memory for each guard that a document may describe. The room (for a limiter of the kind
/// "log", see holdoff_limiter_init; NULL and 0 for none) is lent for as long as the limiter. `seed` is for the guards that draw:
/// from the operating system, or a fixed one to repeat a run.
///
/// Returns 0; or a HOLDOFF_ERROR_ number, HOLDOFF_ERROR_NO_ROOM for a guard that is described and has no memory included. Then
/// some guards may have been made, and `guards` is as it was. Either way `problem` (which may be NULL) says what is wrong, with
/// code 0 for nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_guards_init(
    guards: *mut holdoff_guards,
    options: *const holdoff_options,
    seed: u64,
    now: u64,
    room: *mut u64,
    room_length: usize,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let result = unsafe { all(guards, options, (seed, now), (room, room_length)) };
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

unsafe fn all(
    guards: *mut holdoff_guards,
    options: *const holdoff_options,
    (seed, now): (u64, u64),
    lent: (*mut u64, usize),
) -> Result<(), holdoff_problem> {
    if guards.is_null() {
        return Err(holdoff_problem::of_use(ErrorCode::NullPointer));
    }
    // SAFETY: the header's promise.
    let (builder, mut made) = unsafe { (guards_of(options)?, guards.read_unaligned()) };
    let at = holdoff_core::Timestamp::from_nanos(now);
    // SAFETY: the header's promise, for each of them.
    unsafe {
        one(&mut made.budget, "budget", budget::make(&builder, seed, at))?;
        one(&mut made.breaker, "breaker", breaker::make(&builder, seed, at))?;
        let limiter = limiter::make(&builder, at).map_err(|error| holdoff_problem::of_building(&error))?;
        if made.limiter.is_null() && limiter.is_some() {
            return Err(holdoff_problem::of_use(ErrorCode::NoRoom).at("limiter"));
        }
        match limiter {
            Some(limiter) => limiter::put(made.limiter, limiter, lent)?,
            None => made.limiter = core::ptr::null_mut(),
        }
        one(&mut made.adaptive, "adaptive", adaptive::make(&builder, at))?;
        one(&mut made.bulkhead, "bulkhead", bulkhead::make(&builder))?;
        one(&mut made.stretch, "stretch", stretch::make(&builder, at))?;
        one(&mut made.hedge, "hedge", hedge::make(&builder))?;
        guards.write_unaligned(made);
    }
    Ok(())
}

/// Makes a guard that is described, or forgets its memory.
///
/// # Safety
/// The pointer is null or points to memory of its type.
unsafe fn one<M: Memory>(
    memory: &mut *mut M,
    section: &str,
    made: Result<Option<M::Inner>, ConfigError>,
) -> Result<(), holdoff_problem> {
    match made.map_err(|error| holdoff_problem::of_building(&error))? {
        None => *memory = core::ptr::null_mut(),
        Some(_) if memory.is_null() => return Err(holdoff_problem::of_use(ErrorCode::NoRoom).at(section)),
        // SAFETY: passed on.
        Some(made) => unsafe { place(*memory, made) }.map_err(holdoff_problem::of_use)?,
    }
    Ok(())
}

/// Makes the one guard that the options describe in a section.
///
/// # Safety
/// The pointers are null or point to memory of their types.
pub(crate) unsafe fn init<M: Memory>(
    memory: *mut M,
    options: *const holdoff_options,
    problem: *mut holdoff_problem,
    section: &str,
    make: impl FnOnce(&GuardsBuilder) -> Result<Option<M::Inner>, ConfigError>,
) -> c_int {
    // SAFETY: passed on.
    let result = unsafe { described(options, section, make) }.and_then(|made| {
        // SAFETY: passed on.
        unsafe { place(memory, made) }.map_err(holdoff_problem::of_use)
    });
    // SAFETY: passed on.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// What the options describe in a section; that they describe nothing there is an error.
///
/// # Safety
/// `options` is null or points to options.
pub(crate) unsafe fn described<T>(
    options: *const holdoff_options,
    section: &str,
    make: impl FnOnce(&GuardsBuilder) -> Result<Option<T>, ConfigError>,
) -> Result<T, holdoff_problem> {
    // SAFETY: passed on.
    let builder = unsafe { guards_of(options) }?;
    let made = make(&builder).map_err(|error| holdoff_problem::of_building(&error))?;
    made.ok_or(holdoff_problem::of_use(ErrorCode::FieldMissing).at(section))
}

/// Writes a saved guard to where the caller wants it; how many bytes it has, 0 when there is none or it does not fit.
///
/// # Safety
/// `bytes` is null or points to `size` bytes.
pub(crate) unsafe fn saved<B: AsRef<[u8]>>(made: Result<B, ErrorCode>, bytes: *mut c_char, size: usize) -> usize {
    let Ok(made) = made else { return 0 };
    let made = made.as_ref();
    // SAFETY: passed on.
    match unsafe { room(bytes, size) }.get_mut(..made.len()) {
        Some(room) => {
            room.copy_from_slice(made);
            made.len()
        }
        None => 0,
    }
}

/// Puts what a guard's bytes say into a guard that is there, in the place of its state.
///
/// # Safety
/// The pointers are null or point to memory of their types, `bytes` to `length` of them.
pub(crate) unsafe fn restored<M: Memory>(
    memory: *mut M,
    bytes: *const c_char,
    length: usize,
    problem: *mut holdoff_problem,
    restore: impl FnOnce(&[u8], &mut M::Inner) -> Result<(), SaveError>,
) -> c_int {
    // SAFETY: passed on.
    let both =
        unsafe { drive(memory).and_then(|inner| Ok((span(bytes, length).ok_or(ErrorCode::NullPointer)?, inner))) };
    let result = both
        .map_err(holdoff_problem::of_use)
        .and_then(|(bytes, inner)| restore(bytes, inner).map_err(|error| holdoff_problem::of_state(&error)));
    // SAFETY: passed on.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// The guards of the caller's, lent to `lent` for one transition; none for a null pointer.
///
/// # Safety
/// Each pointer is null or points to memory of its type that nothing else touches while the guards are lent.
pub(crate) unsafe fn lend(guards: *const holdoff_guards, lent: &mut Guards<'_>) -> Result<(), ErrorCode> {
    if guards.is_null() {
        return Ok(());
    }
    // SAFETY: not null; passed on.
    let guards = unsafe { guards.read_unaligned() };
    /// Lends a guard that there is, in its two parts.
    macro_rules! part {
        ($name:ident) => {
            if !guards.$name.is_null() {
                // SAFETY: passed on. Two of one type cannot be the same memory, and memory begins with its type's word.
                let Guard { config, state } = unsafe { drive(guards.$name) }?;
                lent.$name = Some((&*config, state));
            }
        };
    }
    part!(budget);
    part!(breaker);
    if !guards.limiter.is_null() {
        // SAFETY: passed on.
        lent.limiter = Some(unsafe { limiter::parts(guards.limiter) }?);
    }
    part!(adaptive);
    part!(bulkhead);
    part!(stretch);
    part!(hedge);
    Ok(())
}
