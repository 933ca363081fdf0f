//! A policy is built in the memory that its caller has for it: building takes little stack beside the policy and the options.
#![allow(unsafe_code, reason = "the test reads the stack that a call has left")]

use core::mem::MaybeUninit;
use core::time::Duration;
use holdoff_core::{Backoff, Options, Policy, Preset, Value};
use std::hint::black_box;

/// The most that a call may take, in bytes; half a kilobyte more where the compiler has not optimised it.
const MOST: usize = if cfg!(debug_assertions) { 2560 } else { 2048 };
/// What is looked at: less than a page, because a function with a larger frame touches each page itself.
const PAINTED: usize = 3072;
const PAINT: u8 = 0xA5;

/// Fills the stack below the caller with one byte.
#[inline(never)]
fn paint() {
    black_box(&mut [PAINT; PAINTED + 256]);
}

/// How many bytes below the caller have changed since [`paint`], up to the deepest one.
#[inline(never)]
fn changed() -> usize {
    let left = MaybeUninit::<[u8; PAINTED]>::uninit();
    let first = left.as_ptr().cast::<u8>();
    // SAFETY: within the array, whose bytes are what earlier calls left on the stack.
    let is_painted = |at: &usize| unsafe { first.add(*at).read_volatile() } == PAINT;
    PAINTED - (0..PAINTED).take_while(is_painted).count()
}

/// The bytes of stack that a call takes.
fn taken(call: impl FnOnce()) -> usize {
    paint();
    call();
    changed()
}

#[test]
fn a_preset_and_a_builder_take_two_kilobytes_beside_policy_and_options() {
    let mut policy = Box::new(Policy::DEFAULT);
    let mut options = Box::new(Options::NEW);
    let nothing = taken(|| {
        black_box(&mut policy);
    });
    // A build without the features has neither rules nor several stages.
    let is_whole = cfg!(all(feature = "powers", feature = "rules"));
    let name = if is_whole { Preset::AwsStandard21 } else { Preset::Kubernetes };
    let preset = taken(|| name.build_into(&mut policy).expect("a preset"));
    let builder = taken(|| {
        let backoff = Backoff::exponential(Duration::from_millis(50), 2.0).max(Duration::from_secs(10));
        options.preset(Preset::Grpc).backoff(backoff);
        if is_whole {
            options.then(3, Backoff::linear(Duration::ZERO, Duration::from_secs(1)));
        }
        options.attempts(9).deadline(Duration::from_secs(60)).build_into(&mut policy).expect("a policy");
    });
    let named = taken(|| {
        options.set("rules[0].if.http[0]", Value::Text("5xx")).expect("a condition");
        options.set("rules[0].backoff[1].max", Value::Text("20s")).expect("a field");
        options.set("breaker.open_for[0]", Value::Text("20s")).expect("a field");
    });
    println!("preset {preset}, builder {builder}, by name {named}, nothing {nothing} bytes");
    // A condition changes a copy of the rules, so that a wrong one leaves them as they were.
    for (call, more) in [(preset, 0), (builder, 0), (named, 720)] {
        assert!(call <= MOST + more, "preset {preset}, builder {builder}, by name {named}, nothing {nothing} bytes");
    }
}
