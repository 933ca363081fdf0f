//! How large the machines are: small enough to keep a million of them.

use holdoff_core::{
    Adaptive, Breaker, Budget, Bulkhead, Call, Decision, Event, GuardedCall, Latency, Limiter, Policy, RawStep,
    Recorder, Retry, Schedule, Step, Stretch,
};

#[test]
fn the_machines_are_small() {
    for (name, size, most) in [
        ("Retry", size_of::<Retry>(), 64),
        ("Policy", size_of::<Policy>(), 2600),
        ("Step", size_of::<Step>(), 24),
        ("RawStep", size_of::<RawStep>(), 24),
        ("Decision", size_of::<Decision>(), 16),
        ("Call", size_of::<Call>(), 96),
        ("Schedule", size_of::<Schedule>(), 2600),
        ("GuardedCall", size_of::<GuardedCall>(), 200),
        ("Budget", size_of::<Budget>(), 128),
        ("Breaker", size_of::<Breaker>(), 208),
        ("Limiter", size_of::<Limiter>(), 40),
        ("Bulkhead", size_of::<Bulkhead>(), 24),
        ("Adaptive", size_of::<Adaptive>(), 80),
        ("Stretch", size_of::<Stretch>(), 144),
        ("Latency", size_of::<Latency>(), 16),
        ("Event", size_of::<Event>(), 64),
        ("Recorder", size_of::<Recorder>(), 232),
    ] {
        println!("{name} is {size} bytes, at most {most}");
        assert!(size <= most, "{name} is {size} bytes");
    }
}
