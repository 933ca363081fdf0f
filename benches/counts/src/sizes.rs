//! How many bytes each state has: what a program keeps for every call, timer and host it talks to.

use holdoff_core::{
    Adaptive, Breaker, Budget, Bulkhead, Call, Event, GuardedCall, Latency, Limiter, Policy, Recorder, Retry, Schedule,
    Step, Stretch,
};

/// The types by name.
#[must_use]
pub fn all() -> [(&'static str, usize); 15] {
    [
        ("Retry", size_of::<Retry>()),
        ("Call", size_of::<Call>()),
        ("Policy", size_of::<Policy>()),
        ("Step", size_of::<Step>()),
        ("Schedule", size_of::<Schedule>()),
        ("Event", size_of::<Event>()),
        ("Recorder", size_of::<Recorder>()),
        ("GuardedCall", size_of::<GuardedCall>()),
        ("Budget", size_of::<Budget>()),
        ("Breaker", size_of::<Breaker>()),
        ("Limiter", size_of::<Limiter>()),
        ("Bulkhead", size_of::<Bulkhead>()),
        ("Adaptive", size_of::<Adaptive>()),
        ("Stretch", size_of::<Stretch>()),
        ("Latency", size_of::<Latency>()),
    ]
}
