//! How many calls there may be in a time.

use crate::*;

extern_c! {
    /// A limiter, its configuration and its state: 120 bytes, and for the kind "log" the memory of its log. May be
    /// moved; a copy shares the log. Zeroed memory is no limiter: it lets no call through. The content is the library's.
    guard holdoff_limiter([u64; 12], words: *mut u64, length: usize) as limiter = Guard { config, state, words: [words] }
        in LimiterConfig, b"hoLimit2";

    /// Makes the limiter that the options describe under "limiter", which has let nothing through. The kind "log" needs
    /// `length` words in `words`, at least holdoff_guards_words(options), for as long as the limiter is used; for other kinds
    /// `words` may be NULL and `length` 0.
    ///
    /// Returns 0 and writes `limiter`; or a HOLDOFF_ERROR_ number (HOLDOFF_ERROR_NO_ROOM included) and a problem, see
    /// holdoff_budget_init.
    report holdoff_limiter_init(limiter: *mut holdoff_limiter, options, now, words, length) =
        put_with_words(limiter, section(options, 0, now)?, &mut Words::new(words, length)).map_err(no_words::<LimiterConfig>)?;

    /// Takes `count` calls at `now`, or says when they may be made: in `retry_at` (which may be NULL), HOLDOFF_NEVER for
    /// more than there may ever be at once. A refusal changes nothing.
    ///
    /// Returns whether they may be made; false for memory without a limiter, at HOLDOFF_NEVER.
    get_mut holdoff_limiter_take(count: u32, now, retry_at: *mut Timestamp) -> bool =
        write_permission(&mut (), retry_at, state.take(config, words.get(config), count, now)), else refuse(retry_at);

    /// Tells whether `count` calls at `at` would be refused, and writes until when to `retry_at` (which may be NULL). True
    /// for memory without a limiter.
    get_mut holdoff_limiter_refuses(count: u32, at: Timestamp, retry_at: *mut Timestamp) -> bool =
        write_some(retry_at, state.refuses(config, words.get(config), count, at)), else !refuse(retry_at);

    /// Returns how many of the calls that wait in the limiter's line to wake, the longest waiting first: 1 when the call before them has
    /// begun or left, else 0; and 0 for memory without a limiter.
    get holdoff_limiter_to_wake() -> u32 = state.to_wake(), else 0;

    /// Gives back `count` calls that were taken and not made.
    change holdoff_limiter_give_back(count: u32, now) = state.give_back(config, words.get(config), count, now);

    /// Returns how many bytes holdoff_guard_save writes of a limiter: 44, and 8 for each call of a log's limit; 0 for
    /// memory without a limiter.
    get holdoff_limiter_saved() -> usize = config.saved(), else 0;
}
