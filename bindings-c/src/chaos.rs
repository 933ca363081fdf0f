//! Failures and delays on purpose.

use crate::*;

extern_c! {
    /// Which attempts fail on purpose and how long each is held up, for tests and staging: 48 bytes, no state. Attempts are
    /// counted from 0 by the program, over all operations. May be copied. The content is the library's.
    memory holdoff_chaos([u64; 5]) as chaos holds Chaos, b"hoChaos1", NotACall;

    /// Makes a chaos that lets a share `failure_rate` of all attempts fail, and holds up a share `latency_rate` for `shortest_ns`
    /// to `longest_ns`. Both rates are from 0 to 1.
    ///
    /// Returns 0, HOLDOFF_ERROR_SHARE_RANGE, HOLDOFF_ERROR_TIME_RANGE for a longest time below the shortest, or
    /// HOLDOFF_ERROR_NULL_POINTER.
    init holdoff_chaos_init(seed: u64, failure_rate: f64, latency_rate: f64, shortest_ns: u64, longest_ns: u64) =
        Chaos::new(seed, failure_rate, latency_rate, span(shortest_ns), span(longest_ns))?;

    /// Tells whether attempt `k` fails on purpose; false for memory without a chaos.
    get holdoff_chaos_fails(k: u64) -> bool = chaos.fails(k), else false;

    /// Returns the nanoseconds by which attempt `k` is held up before anything else happens in it; 0 for memory without a
    /// chaos.
    get holdoff_chaos_latency(k: u64) -> u64 = chaos.latency(k).as_nanos(), else 0;
}
