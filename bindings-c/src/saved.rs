//! A state that outlives its process: as bytes, as JSON, and back.

use crate::*;

/// The number of bytes of a saved retry.
pub const HOLDOFF_SAVED_RETRY: usize = 80;
/// The number of bytes of a saved call; the most that holdoff_saved_bytes writes.
pub const HOLDOFF_SAVED_CALL: usize = 96;
const _: () = assert!(HOLDOFF_SAVED_RETRY == Retry::SAVED && HOLDOFF_SAVED_CALL == Call::SAVED);

extern_c! {
    /// A saved state between a machine and the bytes or the JSON that last: 96 bytes. It holds no instant, only how long
    /// ago the operation began and how long its sleep still lasts, so that it resumes on another clock, machine and in
    /// another language with the same next decision. The content is the library's.
    ///
    /// An attempt in flight is not saved: resuming takes it for a timeout.
    memory holdoff_saved([u64; 11]) as saved holds Saved, b"hoSaved1", NotACall;

    /// Saves a retry as it is at `now` under its policy.
    ///
    /// Returns 0, or a HOLDOFF_ERROR_ number from 200 on and leaves `saved` as it was.
    status holdoff_retry_save(retry: *const holdoff_retry, policy, now, saved: *mut holdoff_saved) =
        store(saved, get(retry)?.saved(get(policy)?, now))?;

    /// Saves a call as it is at `now` under its policy.
    ///
    /// Returns 0, or a HOLDOFF_ERROR_ number from 200 on and leaves `saved` as it was.
    status holdoff_call_save(call: *const holdoff_call, policy, now, saved: *mut holdoff_saved) =
        store(saved, get(call)?.saved(get(policy)?, now))?;

    /// Makes a retry of what holdoff_retry_save saved under the same policy, on a clock that reads `now`.
    ///
    /// Returns 0 and writes `retry`; or HOLDOFF_ERROR_STATE_POLICY, HOLDOFF_ERROR_STATE_KIND or another HOLDOFF_ERROR_
    /// number and leaves it as it was. Either way `problem` (which may be NULL) says what is wrong, with code 0 for
    /// nothing.
    report holdoff_retry_resume(retry: *mut holdoff_retry, saved: *const holdoff_saved, policy, now) =
        store(retry, get(saved)?.retry(get(policy)?, now)?)?;

    /// Makes a call of what holdoff_call_save saved under the same policy, on a clock that reads `now`. Go on with
    /// holdoff_call_tick. An attempt that was in flight has failed now, as a timeout.
    ///
    /// Returns 0 and writes `call`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_retry_resume.
    report holdoff_call_resume(call: *mut holdoff_call, saved: *const holdoff_saved, policy, now) =
        store(call, get(saved)?.call(get(policy)?, now)?)?;

    /// Saves a call under guards as it is at `now`, as holdoff_call_save does: what it holds of its guards is not in it.
    ///
    /// Returns 0, or a HOLDOFF_ERROR_ number from 200 on and leaves `saved` as it was.
    status holdoff_guarded_call_save(call: *const holdoff_guarded_call, policy, now, saved: *mut holdoff_saved) =
        store(saved, get(call)?.call().saved(get(policy)?, now))?;

    /// Makes a call under guards of a call that was saved under the same policy, with or without guards, on a clock that
    /// reads `now`; see holdoff_call_resume. It begins for these guards (NULL for none); a retry that it sleeps for counts
    /// as paid, and it asks its guards again at the next holdoff_guarded_call_tick, which is the next thing to call.
    ///
    /// Returns 0 and writes `call`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_retry_resume.
    report holdoff_guarded_call_resume(call: *mut holdoff_guarded_call, saved: *const holdoff_saved, policy, guards, now) = {
        let mut borrowed = Guards::none();
        borrow_guards(guards, &mut borrowed)?;
        let (saved, policy) = (get(saved)?, get(policy)?);
        check_memory(call)?;
        let resumed = saved.call(policy, now)?;
        store(call, GuardedCall::resume(policy, &mut borrowed, &resumed, now))?;
    };

    /// Reads the bytes that holdoff_saved_bytes or another language's save made.
    ///
    /// Returns 0 and writes `saved`; or HOLDOFF_ERROR_NOT_A_STATE, HOLDOFF_ERROR_STATE_LENGTH, HOLDOFF_ERROR_STATE_VERSION,
    /// HOLDOFF_ERROR_STATE_KIND, HOLDOFF_ERROR_STATE_DAMAGED or HOLDOFF_ERROR_NULL_POINTER, and leaves it as it was. Either
    /// way `problem` (which may be NULL) says what is wrong, with code 0 for nothing.
    make holdoff_saved_from_bytes(bytes: *const c_char, length) = Saved::from_bytes(slice(bytes, length)?)?;

    /// Writes the state as bytes that last, HOLDOFF_SAVED_RETRY or HOLDOFF_SAVED_CALL of them, to `bytes`, which has room
    /// for `size`.
    ///
    /// Returns how many there are; 0 when they do not fit, and for memory without a saved state.
    get holdoff_saved_bytes(bytes: *mut c_char, size) -> usize =
        saved.to_bytes().map_or(0, |(state, length)| write_bytes(bytes, size, &state[..length])), else 0;

    /// Writes the state as JSON in one line into `text`, at most `size` bytes with the zero at its end; 512 are always
    /// enough.
    ///
    /// Returns the length of the whole line without the zero, as snprintf does; 0 for memory without a saved state.
    fn holdoff_saved_json(saved: *const holdoff_saved, text: *mut c_char, size) -> c_int =
        print(text, size, get(saved).ok());

    /// Reads the JSON that holdoff_saved_json or another language's save made: text of `length` bytes (a zero at its end
    /// need not be there). Takes memory as holdoff_options_read_json does.
    ///
    /// Returns 0 and writes `saved`; or a HOLDOFF_ERROR_ number and leaves it as it was. Either way `problem` (which may be
    /// NULL) says what is wrong, with code 0 for nothing. Fields that are missing or contradict each other are an error of
    /// resuming.
    #[cfg(feature = "json")]
    make holdoff_saved_from_json(text: *const c_char, length) = {
        let mut state = Saved::EMPTY;
        json::read_json(slice(text, length)?, json::STATE, &mut |path, value| {
            state.set(path, value).map_err(|error| holdoff_problem::from(error).named(path))
        })?;
        state
    };

    /// Counts the `away_ns` nanoseconds between save and resume: against the deadline, and as sleep. Without this call they
    /// do not count.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_CALL.
    get_mut holdoff_saved_age(away_ns: u64) = *saved = saved.aged(span(away_ns));

    /// Lets the state resume under this policy although it was saved under another: for a policy that has changed
    /// harmlessly.
    ///
    /// Returns 0, or a HOLDOFF_ERROR_ number from 200 on.
    get_mut holdoff_saved_force(policy) = *saved = saved.forced(get(policy)?);

    /// Tells whether it is the state of a call; false for that of a retry, and for memory without a saved state.
    get holdoff_saved_is_call() -> bool = saved.is_call(), else false;

    /// Returns the fingerprint of the policy that it was saved under, see holdoff_policy_fingerprint; 0 for memory without
    /// a saved state.
    get holdoff_saved_fingerprint() -> u64 = saved.policy(), else 0;
}
