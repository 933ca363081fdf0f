//! How many calls there may be at once.

use crate::*;

/// Entry: run, and say holdoff_bulkhead_leave afterwards.
pub const HOLDOFF_ENTERED: u32 = 1;
/// Entry: wait, and ask holdoff_bulkhead_enter_from when a call has left, or say holdoff_bulkhead_leave_queue.
pub const HOLDOFF_QUEUED: u32 = 2;
/// Entry: neither, as many run and wait as there may be.
pub const HOLDOFF_REFUSED: u32 = 3;

memory! {
    /// A bulkhead, its configuration and its state: 40 bytes. May be copied and moved. Zeroed memory is none: no call
    /// enters. The content is the library's.
    ///
    /// Calls enter in the order in which they asked. The bulkhead knows no time: the caller limits its own wait.
    holdoff_bulkhead([u64; 4]) holds Guard<BulkheadConfig, Bulkhead>, b"hoBulkh1", NotAGuard
}

described!(holdoff_bulkhead in bulkhead: BulkheadConfig, |_, _, _| Bulkhead::new());

extern_c! {
    /// Makes the bulkhead that the options describe under "bulkhead", empty.
    ///
    /// Returns 0 and writes `bulkhead`; or a HOLDOFF_ERROR_ number and a problem, see holdoff_budget_init.
    fn holdoff_bulkhead_init(bulkhead: *mut holdoff_bulkhead, options: *const holdoff_options,
        problem: *mut holdoff_problem) -> c_int =
        init(bulkhead, options, 0, Timestamp::ZERO, problem);

    /// Asks for a new call. Its place in the queue is written to `place` (which may be NULL).
    ///
    /// Returns HOLDOFF_ENTERED, HOLDOFF_QUEUED or HOLDOFF_REFUSED; the last for memory without a bulkhead.
    fn holdoff_bulkhead_enter(bulkhead: *mut holdoff_bulkhead, place: *mut QueuePlace) -> u32 =
        entry(change(bulkhead, |config, state| state.enter(config)), place);

    /// Asks again for a call that waits in the queue.
    ///
    /// Returns HOLDOFF_ENTERED, HOLDOFF_QUEUED for the same place, or HOLDOFF_REFUSED for a place that nobody holds and for
    /// memory without a bulkhead.
    fn holdoff_bulkhead_enter_from(bulkhead: *mut holdoff_bulkhead, place: QueuePlace) -> u32 = {
        let entered = change(bulkhead, |config, state| state.enter_from(config, place));
        entry(entered, core::ptr::null_mut())
    };

    /// Ends a call that ran, with any result.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_bulkhead_leave(bulkhead: *mut holdoff_bulkhead) -> c_int =
        tell(bulkhead, |_, state| state.leave());

    /// Takes a call that waits out of the queue.
    ///
    /// Returns 0, HOLDOFF_ERROR_NULL_POINTER or HOLDOFF_ERROR_NOT_A_GUARD.
    fn holdoff_bulkhead_leave_queue(bulkhead: *mut holdoff_bulkhead, place: QueuePlace) -> c_int =
        tell(bulkhead, |_, state| state.leave_queue(place));

    /// Returns the number of calls that run; 0 for memory without a bulkhead.
    fn holdoff_bulkhead_running(bulkhead: *const holdoff_bulkhead) -> u32 =
        get(bulkhead).map_or(0, |guard| guard.state.running());

    /// Returns the number of calls that wait; 0 for memory without a bulkhead.
    fn holdoff_bulkhead_waiting(bulkhead: *const holdoff_bulkhead) -> u32 =
        get(bulkhead).map_or(0, |guard| guard.state.waiting());

    /// Returns how many calls may run at once; 0 for memory without a bulkhead.
    fn holdoff_bulkhead_limit(bulkhead: *const holdoff_bulkhead) -> u32 =
        get(bulkhead).map_or(0, |guard| guard.config.limit());

    /// Returns how long a call waits at most, in nanoseconds; 0 for memory without a bulkhead.
    fn holdoff_bulkhead_max_wait(bulkhead: *const holdoff_bulkhead) -> Span =
        get(bulkhead).map_or(Span::ZERO, |guard| guard.config.max_wait());
}

unsafe fn entry(entry: Result<Entry, ErrorCode>, place: *mut QueuePlace) -> u32 {
    match entry {
        Ok(Entry::Entered) => HOLDOFF_ENTERED,
        Ok(Entry::Queued(queued)) => {
            // SAFETY: passed on.
            unsafe { write(place, queued) };
            HOLDOFF_QUEUED
        }
        Ok(Entry::Refused) | Err(_) => HOLDOFF_REFUSED,
    }
}
