//! The size of each state in bytes, beside the peers' and the floors'. Memory on the heap does not count.

use crate::floor::Floor;
use crate::guards::{Bits, Even, Run};
use crate::loops;
use crate::peers::{backoff, backon, exponential_backoff, failsafe, governor, retry, tokio_retry2};
use crate::sample::Row;
use ::governor::clock::QuantaClock;
use holdoff_core::{
    Adaptive, Breaker, Bucket, Budget, Bulkhead, Call, Event, Gate, GuardedCall, Latency, Layered, Limiter,
    LoopBackoff, Periodic, Policy, Recorder, Retry, Schedule, Stretch, WaitBackoff,
};

/// One work for each kind of state.
#[must_use]
pub fn rows() -> Vec<Row> {
    let (policy, settings) = (loops::policy(), backon::settings());
    let sizes: [(&str, &[(&'static str, usize)]); 7] = [
        (
            "bytes, a retry",
            &[
                ("floor", size_of::<Floor>()),
                ("retry", size_of::<Retry>()),
                ("call", size_of::<Call>()),
                ("backon", size_of_val(&backon::delays(&settings, 7))),
                ("tokio-retry2", size_of_val(&tokio_retry2::delays(&tokio_retry2::settings()))),
                ("retry crate", size_of_val(&retry::delays(&retry::settings()))),
                ("backoff", size_of_val(&backoff::settings())),
                ("exponential-backoff", size_of_val(&exponential_backoff::delays(&exponential_backoff::settings(4)))),
                ("failsafe", size_of_val(&failsafe::delays())),
            ],
        ),
        (
            "bytes, a future",
            &[("holdoff", size_of_val(&loops::future(&policy))), ("backon", size_of_val(&backon::future(&settings)))],
        ),
        (
            "bytes, a policy",
            &[
                ("floor", size_of::<crate::floor::Numbers>()),
                ("policy", size_of::<Policy>()),
                ("backon", size_of_val(&settings)),
                ("exponential-backoff", size_of_val(&exponential_backoff::settings(4))),
            ],
        ),
        (
            "bytes, a breaker",
            &[
                ("floor", size_of::<Run>()),
                ("floor, 128 outcomes", size_of::<Bits>()),
                ("breaker", size_of::<Breaker>()),
                ("failsafe", size_of_val(&failsafe::consecutive())),
            ],
        ),
        (
            "bytes, a limiter",
            &[
                ("floor", size_of::<u64>()),
                ("floor and settings", size_of::<Even>()),
                ("limiter", size_of::<Limiter>()),
                ("governor", size_of_val(&governor::direct(QuantaClock::default()))),
            ],
        ),
        (
            "bytes, other guards",
            &[
                ("bucket", size_of::<Bucket>()),
                ("budget", size_of::<Budget>()),
                ("bulkhead", size_of::<Bulkhead>()),
                ("adaptive", size_of::<Adaptive>()),
                ("latency", size_of::<Latency>()),
                ("stretch", size_of::<Stretch>()),
                ("gate", size_of::<Gate>()),
            ],
        ),
        (
            "bytes, other machines",
            &[
                ("schedule", size_of::<Schedule>()),
                ("wait backoff", size_of::<WaitBackoff>()),
                ("loop backoff", size_of::<LoopBackoff>()),
                ("periodic", size_of::<Periodic>()),
                ("layered", size_of::<Layered>()),
                ("guarded", size_of::<GuardedCall>()),
                ("recorder", size_of::<Recorder>()),
                ("event", size_of::<Event>()),
            ],
        ),
    ];
    let row = |work: &str, (who, bytes): (&'static str, usize)| Row::of(work, who, "bytes", bytes as f64);
    sizes.iter().flat_map(|(work, sizes)| sizes.iter().map(move |size| row(work, *size))).collect()
}
