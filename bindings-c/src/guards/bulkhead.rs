//! How many calls there may be at once.

use crate::*;

/// Entry: run, and say holdoff_bulkhead_leave afterwards.
pub const HOLDOFF_ENTERED: u32 = 1;
/// Entry: wait, and ask holdoff_bulkhead_enter_from when a call has left, or say holdoff_bulkhead_leave_queue.
pub const HOLDOFF_QUEUED: u32 = 2;
/// Entry: neither, as many run and wait as there may be.
pub const HOLDOFF_REFUSED: u32 = 3;

extern_c! {
    /// A bulkhead, its configuration and its state: 64 bytes, and for a queue above 64 the memory of its places. May be
    /// moved; a copy shares the places. Zeroed memory is none: no call enters. The content is the library's.
    ///
    /// Calls enter in the order in which they asked. The bulkhead knows no time: the caller limits its own wait.
    guard holdoff_bulkhead([u64; 5], words: *mut u64, length: usize) as bulkhead = Guard { config, state, words: [words] }
        in BulkheadConfig, b"hoBulkh1";

    /// Makes the bulkhead that the options describe under "bulkhead", empty. A queue above 64 needs `length` words in
    /// `words`, at least holdoff_guards_words(options), for as long as the bulkhead is used; for a shorter one `words` may be
    /// NULL and `length` 0.
    ///
    /// Returns 0 and writes `bulkhead`; or a HOLDOFF_ERROR_ number (HOLDOFF_ERROR_NO_ROOM included) and a problem, see
    /// holdoff_budget_init.
    report holdoff_bulkhead_init(bulkhead: *mut holdoff_bulkhead, options, words, length) =
        put_with_words(bulkhead, section(options, 0, Timestamp::ZERO)?, &mut Words::new(words, length)).map_err(no_words::<BulkheadConfig>)?;

    /// Asks for a new call. Its place in the queue is written to `place` (which may be NULL).
    ///
    /// Returns HOLDOFF_ENTERED, HOLDOFF_QUEUED or HOLDOFF_REFUSED; the last for memory without a bulkhead.
    get_mut holdoff_bulkhead_enter(place: *mut QueuePlace) -> u32 =
        entry(state.enter(config, words.get(config)), place), else HOLDOFF_REFUSED;

    /// Asks again for a call that waits in the queue.
    ///
    /// Returns HOLDOFF_ENTERED, HOLDOFF_QUEUED for the same place, or HOLDOFF_REFUSED for a place that nobody holds and for
    /// memory without a bulkhead.
    get_mut holdoff_bulkhead_enter_from(place: QueuePlace) -> u32 =
        entry(state.enter_from(config, words.get(config), place), core::ptr::null_mut()), else HOLDOFF_REFUSED;

    /// Ends a call that ran, with any result.
    change holdoff_bulkhead_leave() = state.leave();

    /// Takes a call that waits out of the queue.
    change holdoff_bulkhead_leave_queue(place: QueuePlace) = state.leave_queue(config, words.get(config), place);

    /// Tells which call in the queue may go on now, and writes its place to `place` (which may be NULL): wake that call, which asks
    /// by holdoff_bulkhead_enter_from or ticks its holdoff_guarded_call. Ask again when it has entered.
    ///
    /// Returns whether there is one; false for memory without a bulkhead.
    fn holdoff_bulkhead_entrant(bulkhead: *const holdoff_bulkhead, place: *mut QueuePlace) -> bool =
        write_some(place, get(bulkhead).ok().and_then(|Guard { config, state, .. }| state.entrant(config)));

    /// Returns the number of calls that run; 0 for memory without a bulkhead.
    get holdoff_bulkhead_running() -> u32 = state.running(), else 0;

    /// Returns the number of calls that wait; 0 for memory without a bulkhead.
    get holdoff_bulkhead_waiting() -> u32 = state.waiting(), else 0;

    /// Returns how many calls may run at once; 0 for memory without a bulkhead.
    get holdoff_bulkhead_limit() -> u32 = config.limit(), else 0;

    /// Returns how long a call waits at most, in nanoseconds; 0 for memory without a bulkhead.
    get holdoff_bulkhead_max_wait() -> Span = config.max_wait(), else Span::ZERO;
}

unsafe fn entry(entry: Entry, place: *mut QueuePlace) -> u32 {
    match entry {
        Entry::Entered => HOLDOFF_ENTERED,
        Entry::Queued(queued) => {
            // SAFETY: passed on.
            unsafe { write(place, queued) };
            HOLDOFF_QUEUED
        }
        Entry::Refused => HOLDOFF_REFUSED,
    }
}
