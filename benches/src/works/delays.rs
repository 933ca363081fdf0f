//! The cost of the next delay.

use super::seed::seed;
use crate::delays::{self, decide};
use crate::floor::Floor;
use crate::peers::{backoff as peer_backoff, backon, exponential_backoff, failsafe, retry, tokio_retry2};
use crate::sample::Work;
use backoff::backoff::Backoff as _;
use holdoff_core::{Policy, Preset, Retry, Schedule, Timestamp};
use std::hint::black_box;
use std::iter::from_fn;

pub(super) fn works() -> Vec<Work> {
    let mut works = vec![eight(), capped()];
    // Three kinds have floors of their own in `jitters`.
    let with_floor = ["no jitter", "equal jitter", "decorrelated"];
    let kinds = delays::KINDS.iter().enumerate().filter(|(_, name)| !with_floor.contains(name));
    works.extend(kinds.map(|(kind, name)| other(name, delays::kind(kind))));
    works.extend(Preset::ALL.map(|preset| {
        let policy = Policy::options().preset(preset).forever().build().expect("a preset");
        other(&format!("preset {}", preset.name()), policy)
    }));
    works
}

/// Eight delays under another policy, beside the floor of full jitter.
fn other(name: &str, policy: Policy) -> Work {
    let (policy, numbers) = (black_box(policy), black_box(delays::numbers()));
    Work::new(format!("8 delays, {name}"))
        .by("floor", move || delays::eight_by_floor::<true>(black_box(&numbers), seed()))
        .by("retry", move || delays::eight_by_retry(black_box(&policy), seed()))
        .by("call", move || delays::eight_by_call(black_box(&policy), seed()))
}

/// From a new state on.
fn eight() -> Work {
    let (policy, numbers) = (black_box(delays::policy()), black_box(delays::numbers()));
    let (of_backon, tokio) = (black_box(backon::settings().without_max_times()), black_box(tokio_retry2::settings()));
    let (of_retry, of_backoff) = (black_box(retry::settings()), black_box(peer_backoff::settings()));
    let (exponential, failsafe) = (black_box(exponential_backoff::settings(u32::MAX)), black_box(failsafe::delays()));
    Work::new("8 delays")
        .by("floor", move || delays::eight_by_floor::<true>(black_box(&numbers), seed()))
        .by("floor, 32 bits", move || delays::eight_by_floor::<false>(black_box(&numbers), seed()))
        .by("retry", move || delays::eight_by_retry(black_box(&policy), seed()))
        .by("schedule", move || delays::eight_by_schedule(black_box(&policy), seed()))
        .by("call", move || delays::eight_by_call(black_box(&policy), seed()))
        .by("backon", move || delays::eight_of(backon::delays(black_box(&of_backon), seed())))
        .by("backon, unseeded", move || delays::eight_of(backon::delays_unseeded(black_box(&of_backon))))
        .by("tokio-retry2", move || delays::eight_of(tokio_retry2::delays(black_box(&tokio))))
        .by("retry crate", move || delays::eight_of(retry::delays(black_box(&of_retry))))
        .by("backoff", move || {
            let mut backoff = of_backoff.clone();
            delays::eight_of(from_fn(|| backoff.next_backoff()));
        })
        .by("exponential-backoff", move || delays::eight_of(exponential_backoff::delays(black_box(&exponential))))
        .by("failsafe", move || delays::eight_of(failsafe.clone()))
}

/// One more, of a state whose delays have reached the cap.
fn capped() -> Work {
    let (policy, numbers) = (black_box(delays::policy()), black_box(delays::numbers()));
    let (mut floor, mut narrow) = (Floor::<true>::new(&numbers, seed()), Floor::<false>::new(&numbers, seed()));
    let mut schedule = Schedule::new(&policy, seed());
    let (mut retry, mut now) = (Retry::new(seed(), Timestamp::ZERO), Timestamp::ZERO);
    let settings = black_box(backon::settings().without_max_times());
    let (mut seeded, mut unseeded) = (backon::delays(&settings, seed()), backon::delays_unseeded(&settings));
    let mut tokio = tokio_retry2::delays(&black_box(tokio_retry2::settings()));
    let mut of_retry = retry::delays(&black_box(retry::settings()));
    let mut of_backoff = black_box(peer_backoff::settings());
    let mut exponential = exponential_backoff::delays(&black_box(exponential_backoff::settings(u32::MAX)));
    let mut failsafe = black_box(failsafe::delays());
    Work::new("1 delay, capped")
        .by("floor", move || black_box(&mut floor).delay())
        .by("floor, 32 bits", move || black_box(&mut narrow).delay())
        .by("retry", move || decide(black_box(&mut retry), black_box(&policy), &mut now))
        .by("schedule", move || black_box(&mut schedule).next())
        .by("backon", move || black_box(&mut seeded).next())
        .by("backon, unseeded", move || black_box(&mut unseeded).next())
        .by("tokio-retry2", move || black_box(&mut tokio).next())
        .by("retry crate", move || black_box(&mut of_retry).next())
        .by("backoff", move || black_box(&mut of_backoff).next_backoff())
        .by("exponential-backoff", move || black_box(&mut exponential).next())
        .by("failsafe", move || black_box(&mut failsafe).next())
}
