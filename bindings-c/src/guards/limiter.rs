//! How many calls there may be in a time.

use super::{Guard, described};
use crate::boundary::{answer, drive, look, memory, place, room as bytes_room, span};
use crate::errors::status;
use crate::options::{guards_of, holdoff_options};
use crate::problem::{holdoff_problem, report};
use core::ffi::{c_char, c_int};
use holdoff_core::{ConfigError, ErrorCode, GuardsBuilder, Limiter, LimiterConfig, Timestamp};

/// A limiter, its configuration and its state: 104 bytes, and for the kind "log" the room that was lent to it. May be moved; a
/// copy shares the room. Zeroed memory is no limiter: it lets nobody through. The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_limiter {
    magic: u64,
    state: [u64; 10],
    room: *mut u64,
    room_length: usize,
}

memory!(holdoff_limiter: Guard<LimiterConfig, Limiter>, u64::from_be_bytes(*b"hoLimit1"), ErrorCode::NotAGuard);
const _: () = assert!(size_of::<Guard<LimiterConfig, Limiter>>() == 10 * 8);

pub(crate) fn make(
    builder: &GuardsBuilder,
    now: Timestamp,
) -> Result<Option<Guard<LimiterConfig, Limiter>>, ConfigError> {
    Ok(builder.limiter()?.map(|config| Guard { config, state: Limiter::new(&config, now) }))
}

/// Puts a limiter into the caller's memory, with its room.
///
/// # Safety
/// `limiter` is null or points to memory of the size of a limiter.
pub(crate) unsafe fn put(
    limiter: *mut holdoff_limiter,
    made: Guard<LimiterConfig, Limiter>,
    (room, length): (*mut u64, usize),
) -> Result<(), holdoff_problem> {
    let needed = made.config.room();
    if needed > 0 && (room.is_null() || !room.is_aligned() || length < needed) {
        return Err(holdoff_problem::of_use(ErrorCode::NoRoom).at("limiter.limit"));
    }
    // SAFETY: passed on.
    unsafe { place(limiter, made) }.map_err(holdoff_problem::of_use)?;
    if needed > 0 {
        // SAFETY: the limiter was just placed there.
        unsafe { ((*limiter).room, (*limiter).room_length) = (room, needed) };
    }
    Ok(())
}

/// The parts of a limiter that is there.
///
/// # Safety
/// `limiter` is null or points to a limiter that nothing else touches while the answer lives.
pub(crate) unsafe fn parts<'a>(
    limiter: *mut holdoff_limiter,
) -> Result<(&'a LimiterConfig, &'a mut Limiter, &'a mut [u64]), ErrorCode> {
    // SAFETY: passed on.
    let Guard { config, state } = unsafe { drive(limiter) }?;
    // SAFETY: the limiter is there; the room is none of its state.
    let (room, length) = unsafe { ((&raw const (*limiter).room).read(), (&raw const (*limiter).room_length).read()) };
    if room.is_null() || !room.is_aligned() {
        return Ok((config, state, &mut []));
    }
    // SAFETY: lent with the limiter; not more than it needs, and not more than a slice may be.
    Ok((config, state, unsafe { core::slice::from_raw_parts_mut(room, length.min(config.room())) }))
}

/// How many words of room the limiter needs that the options describe: the limit of a "log", 0 for any other, for none, and for
/// options that have a problem.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_limiter_room(options: *const holdoff_options) -> usize {
    // SAFETY: the header's promise.
    let builder = unsafe { guards_of(options) };
    builder.ok().and_then(|builder| builder.limiter().ok()?).map_or(0, |config| config.room())
}

/// Makes the limiter that the options describe under "limiter", which has let nothing through. The kind "log" needs room for
/// holdoff_limiter_room(options) words, lent for as long as the limiter is used; for others `room` may be NULL and
/// `room_length` 0.
///
/// Returns 0 and writes `limiter`; or a HOLDOFF_ERROR_ number (HOLDOFF_ERROR_NO_ROOM included) and a problem, see
/// holdoff_budget_init.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_limiter_init(
    limiter: *mut holdoff_limiter,
    options: *const holdoff_options,
    now: u64,
    room: *mut u64,
    room_length: usize,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let made = unsafe { described(options, "limiter", |builder| make(builder, Timestamp::from_nanos(now))) };
    // SAFETY: the header's promise.
    let result = made.and_then(|made| unsafe { put(limiter, made, (room, room_length)) });
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}

/// Takes `count` calls at `now`, or says when they may be made: in `retry_at` (which may be NULL), HOLDOFF_NEVER for more than
/// there may ever be at once. A refusal changes nothing.
///
/// Returns whether they may be made; false for memory that holds no limiter, at HOLDOFF_NEVER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_limiter_take(
    limiter: *mut holdoff_limiter,
    count: u32,
    now: u64,
    retry_at: *mut u64,
) -> bool {
    // SAFETY: the header's promise.
    let parts = unsafe { parts(limiter) }.map_err(|_| Timestamp::NEVER);
    let taken = parts.and_then(|(config, state, room)| state.take(config, room, count, Timestamp::from_nanos(now)));
    if let Err(again) = taken {
        // SAFETY: the header's promise.
        unsafe { answer(retry_at, again.as_nanos()) }
    }
    taken.is_ok()
}

/// Whether `count` calls at `at` would be refused, as things stand, and then until when, which is written to `retry_at` (which
/// may be NULL). True for memory that holds no limiter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_limiter_refuses(
    limiter: *mut holdoff_limiter,
    count: u32,
    at: u64,
    retry_at: *mut u64,
) -> bool {
    // SAFETY: the header's promise.
    let refused = unsafe { parts(limiter) }.map_or(Some(Timestamp::NEVER), |(config, state, room)| {
        state.refuses(config, room, count, Timestamp::from_nanos(at))
    });
    if let Some(again) = refused {
        // SAFETY: the header's promise.
        unsafe { answer(retry_at, again.as_nanos()) }
    }
    refused.is_some()
}

/// Gives back `count` calls that were taken and not made.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_limiter_give_back(limiter: *mut holdoff_limiter, count: u32, now: u64) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { parts(limiter) }.map(|(config, state, room)| {
        state.give_back(config, room, count, Timestamp::from_nanos(now));
    }))
}

/// How many bytes holdoff_limiter_save makes of a limiter: 44, and 8 for each call of a log's limit. 0 for memory that holds no
/// limiter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_limiter_saved(limiter: *const holdoff_limiter) -> usize {
    // SAFETY: the header's promise.
    unsafe { look(limiter) }.map_or(0, |guard| Limiter::saved(&guard.config))
}

/// Writes the limiter's state at `now` as bytes that last to `bytes`, which has room for `size`.
///
/// Returns how many there are; 0 when they do not fit, and for memory that holds no limiter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_limiter_save(
    limiter: *mut holdoff_limiter,
    now: u64,
    bytes: *mut c_char,
    size: usize,
) -> usize {
    // SAFETY: the header's promise.
    let (parts, out) = unsafe { (parts(limiter), bytes_room(bytes, size)) };
    let made = parts.ok().and_then(|(config, state, room)| state.save(config, room, Timestamp::from_nanos(now), out));
    made.unwrap_or(0)
}

/// Gives a limiter that was made the state that bytes say, on a clock that reads `now`, and fills the room of a log; see
/// holdoff_budget_restore. A log's limit may not have changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_limiter_restore(
    limiter: *mut holdoff_limiter,
    bytes: *const c_char,
    length: usize,
    now: u64,
    problem: *mut holdoff_problem,
) -> c_int {
    // SAFETY: the header's promise.
    let both =
        unsafe { parts(limiter).and_then(|parts| Ok((span(bytes, length).ok_or(ErrorCode::NullPointer)?, parts))) };
    let result = both.map_err(holdoff_problem::of_use).and_then(|(bytes, (config, state, room))| {
        let restored = Limiter::restore(bytes, config, room, Timestamp::from_nanos(now));
        restored.map(|restored| *state = restored).map_err(|error| holdoff_problem::of_state(&error))
    });
    // SAFETY: the header's promise.
    unsafe { report(problem, result.err().unwrap_or(holdoff_problem::NONE)) }
}
