//! How large the machines are: small enough to keep a million of them.

use holdoff_core::{Call, Decision, FlatStep, Policy, Retry, Schedule, Step};

#[test]
fn the_machines_are_small() {
    for (name, size, most) in [
        ("Retry", size_of::<Retry>(), 48),
        ("Policy", size_of::<Policy>(), 256),
        ("Step", size_of::<Step>(), 24),
        ("FlatStep", size_of::<FlatStep>(), 24),
        ("Decision", size_of::<Decision>(), 16),
        ("Call", size_of::<Call>(), 64),
        ("Schedule", size_of::<Schedule>(), 304),
    ] {
        println!("{name} is {size} bytes, at most {most}");
        assert!(size <= most, "{name} is {size} bytes");
    }
}
