//! A retry inside a retry, with one cap and one deadline over both.

use crate::boundary::{drive, look, memory, place};
use crate::errors::status;
use crate::failure::holdoff_failure;
use crate::policy::holdoff_policy;
use crate::step::holdoff_step;
use core::ffi::c_int;
use holdoff_core::{ErrorCode, Failure, Layered, Layers, Level, StopReason, Ticket, Timestamp};

/// Level: the inner level gave up for a reason after which the outer one does not go on.
pub const HOLDOFF_LEVEL_INNER: u32 = 1;
/// Level: the outer level gave up.
pub const HOLDOFF_LEVEL_OUTER: u32 = 2;
/// Level: a level would have gone on, but the cap over both is reached.
pub const HOLDOFF_LEVEL_CAP: u32 = 3;

const _: () = assert!(
    HOLDOFF_LEVEL_INNER == Level::Inner as u32
        && HOLDOFF_LEVEL_OUTER == Level::Outer as u32
        && HOLDOFF_LEVEL_CAP == Level::Cap as u32
);

/// The policies of a retry inside a retry and what is between them: 528 bytes, to be shared by any number of layered calls and
/// never written to by them. The content is the library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_layers {
    magic: u64,
    state: [u64; 65],
}

memory!(holdoff_layers: Layers, u64::from_be_bytes(*b"hoLayrs1"), ErrorCode::NotAPolicy);
const _: () = assert!(size_of::<Layers>() == 65 * 8);

/// Makes two levels with at most `attempts` attempts over both of them: 1 to 4294967294, the first one included; 0 for no cap
/// but what the two policies allow, multiplied. The outer policy's deadline is shared. Copies the policies.
///
/// Returns 0, HOLDOFF_ERROR_ATTEMPTS_RANGE, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layers_init(
    layers: *mut holdoff_layers,
    outer: *const holdoff_policy,
    inner: *const holdoff_policy,
    attempts: u32,
) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { look(outer).and_then(|outer| Ok((outer, look(inner)?))) }.and_then(|(outer, inner)| {
        let made = match attempts {
            0 => Ok(Layers::uncapped(*outer, *inner)),
            attempts => Layers::new(*outer, *inner, attempts).map_err(|error| error.code),
        };
        // SAFETY: the header's promise.
        unsafe { place(layers, made?) }
    }))
}

/// Says whether the outer level goes on when the inner one gave up for a HOLDOFF_REASON_ number. Unless set it does after
/// attempts, deadline and hint, and does not after a permanent failure.
///
/// Returns 0, HOLDOFF_ERROR_UNKNOWN_WORD for an unknown reason, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layers_go_on_after(layers: *mut holdoff_layers, reason: u32, goes_on: bool) -> c_int {
    // SAFETY: the header's promise.
    status(unsafe { drive(layers) }.and_then(|layers| {
        let known = StopReason::ALL.into_iter().find(|known| u32::from(known.code()) == reason);
        *layers = layers.go_on_after(known.ok_or(ErrorCode::UnknownWord)?, goes_on);
        Ok(())
    }))
}

/// The most attempts there can be over both levels; 0 without a limit, and for memory that holds no layers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layers_attempts(layers: *const holdoff_layers) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(layers) }.ok().and_then(Layers::attempts).unwrap_or(0)
}

/// A call inside a call: 168 bytes. Driven step for step like a holdoff_call, and with the same promises; tickets count the
/// attempts over both levels. When the inner level gives up, the outer one takes that for its failure. The content is the
/// library's.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct holdoff_layered {
    magic: u64,
    state: [u64; 20],
}

memory!(holdoff_layered: Layered, u64::from_be_bytes(*b"hoLayrd1"), ErrorCode::NotACall);

/// Begins at `now` with the first attempt of both levels. The seed decides the jitter of both.
///
/// Returns the first step: attempt 1, to be aborted at `at`; for wrong use HOLDOFF_STOP with HOLDOFF_INVALID.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_begin(
    layered: *mut holdoff_layered,
    layers: *const holdoff_layers,
    seed: u64,
    now: u64,
) -> holdoff_step {
    // SAFETY: the header's promise.
    let step = unsafe { look(layers) }.and_then(|layers| {
        let (begun, step) = Layered::begin(layers, seed, Timestamp::from_nanos(now));
        // SAFETY: the header's promise.
        unsafe { place(layered, begun) }.map(|()| step)
    });
    step.into()
}

/// Makes one whose first attempt, HOLDOFF_FIRST_TICKET, already runs since `started`: the lazy way in, after a failure.
///
/// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_POLICY.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_underway(
    layered: *mut holdoff_layered,
    layers: *const holdoff_layers,
    seed: u64,
    started: u64,
) -> c_int {
    let started = Timestamp::from_nanos(started);
    // SAFETY: the header's promise.
    status(unsafe { look(layers).and_then(|layers| place(layered, Layered::underway(layers, seed, started))) })
}

/// The attempt with this ticket succeeded at `now`.
///
/// Returns the step that holds now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_succeed(layered: *mut holdoff_layered, ticket: u64, now: u64) -> holdoff_step {
    // SAFETY: the header's promise.
    let step = unsafe { drive(layered) };
    step.map(|layered| layered.succeed(Ticket::from_raw(ticket), Timestamp::from_nanos(now))).into()
}

/// The attempt with this ticket failed at `now`.
///
/// Returns the step that holds now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_fail(
    layered: *mut holdoff_layered,
    layers: *const holdoff_layers,
    ticket: u64,
    now: u64,
    failure: holdoff_failure,
) -> holdoff_step {
    // SAFETY: the header's promise.
    let step = unsafe { drive(layered).and_then(|layered| Ok((layered, look(layers)?))) };
    step.and_then(|(layered, layers)| {
        let (ticket, now) = (Ticket::from_raw(ticket), Timestamp::from_nanos(now));
        Ok(layered.fail(layers, ticket, now, Failure::try_from(failure)?))
    })
    .into()
}

/// holdoff_layered_fail for a host that judges the inner level's error anew: `outward` is what the outer level is told if the
/// inner one gives up now, whatever the reason. A permanent one ends it.
///
/// Returns the step that holds now.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_fail_as(
    layered: *mut holdoff_layered,
    layers: *const holdoff_layers,
    ticket: u64,
    now: u64,
    failure: holdoff_failure,
    outward: holdoff_failure,
) -> holdoff_step {
    // SAFETY: the header's promise.
    let step = unsafe { drive(layered).and_then(|layered| Ok((layered, look(layers)?))) };
    step.and_then(|(layered, layers)| {
        let (ticket, now) = (Ticket::from_raw(ticket), Timestamp::from_nanos(now));
        Ok(layered.fail_as(layers, ticket, now, Failure::try_from(failure)?, Failure::try_from(outward)?))
    })
    .into()
}

/// Nothing but time has passed.
///
/// Returns the step that holds at `now`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_tick(
    layered: *mut holdoff_layered,
    layers: *const holdoff_layers,
    now: u64,
) -> holdoff_step {
    // SAFETY: the header's promise.
    let step = unsafe { drive(layered).and_then(|layered| Ok((layered, look(layers)?))) };
    step.map(|(layered, layers)| layered.tick(layers, Timestamp::from_nanos(now))).into()
}

/// The caller wants no more of it, whatever is going on.
///
/// Returns HOLDOFF_STOP: HOLDOFF_CANCELLED, or how it had ended before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_cancel(layered: *mut holdoff_layered, now: u64) -> holdoff_step {
    // SAFETY: the header's promise.
    unsafe { drive(layered) }.map(|layered| layered.cancel(Timestamp::from_nanos(now))).into()
}

/// The attempt in flight or the last one that ran, over both levels, from 1; 0 for memory that holds none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_attempt(layered: *const holdoff_layered) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(layered) }.map_or(0, Layered::attempt)
}

/// The attempt of the outer level, from 1; 0 for memory that holds none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_outer_attempt(layered: *const holdoff_layered) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(layered) }.map_or(0, Layered::outer_attempt)
}

/// The attempt of the inner level in this attempt of the outer, from 1; 0 for memory that holds none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_inner_attempt(layered: *const holdoff_layered) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(layered) }.map_or(0, Layered::inner_attempt)
}

/// Which level gave up, a HOLDOFF_LEVEL_ number; 0 unless one did.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_stopped_by(layered: *const holdoff_layered) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(layered) }.ok().and_then(Layered::stopped_by).map_or(0, |level| level as u32)
}

/// Why the inner level last gave up, whether or not the outer one went on: a HOLDOFF_REASON_ number; 0 when it has not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn holdoff_layered_inner_reason(layered: *const holdoff_layered) -> u32 {
    // SAFETY: the header's promise.
    unsafe { look(layered) }.ok().and_then(Layered::inner_reason).map_or(0, |reason| u32::from(reason.code()))
}
