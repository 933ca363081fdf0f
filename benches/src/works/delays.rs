//! What the next delay costs.

use super::seed;
use crate::delays::{self, decide};
use crate::floor::Floor;
use crate::peers::{backoff as peer_backoff, backon, exponential_backoff, failsafe, retry, tokio_retry2};
use crate::sample::Work;
use backoff::backoff::Backoff as _;
use holdoff_core::{Retry, Schedule, Timestamp};
use std::hint::black_box;
use std::iter::from_fn;

pub(super) fn works() -> Vec<Work> {
    vec![eight(), capped()]
}

/// From a new state on.
fn eight() -> Work {
    let (policy, numbers) = (black_box(delays::policy()), black_box(delays::numbers()));
    let settings = black_box(peer_backoff::settings());
    Work::new("8 delays")
        .by("floor", move || delays::eight_by_floor(&numbers, seed()))
        .by("retry", move || delays::eight_by_retry(&policy, seed()))
        .by("schedule", move || delays::eight_by_schedule(&policy, seed()))
        .by("call", move || delays::eight_by_call(&policy, seed()))
        .by("backon", || delays::eight_of(backon::delays(seed())))
        .by("backon, unseeded", || delays::eight_of(backon::delays_unseeded()))
        .by("tokio-retry2", || delays::eight_of(tokio_retry2::delays()))
        .by("retry crate", || delays::eight_of(retry::delays()))
        .by("backoff", move || {
            let mut backoff = settings.clone();
            delays::eight_of(from_fn(|| backoff.next_backoff()));
        })
        .by("exponential-backoff", || delays::eight_of(exponential_backoff::delays()))
        .by("failsafe", || delays::eight_of(failsafe::delays()))
}

/// One more, of a state whose delays have reached the cap.
fn capped() -> Work {
    let (policy, numbers) = (black_box(delays::policy()), black_box(delays::numbers()));
    let (mut floor, mut schedule) = (Floor::new(&numbers, seed()), Schedule::new(&policy, seed()));
    let (mut retry, mut now) = (Retry::new(seed(), Timestamp::ZERO), Timestamp::ZERO);
    let (mut seeded, mut unseeded) = (backon::delays(seed()), backon::delays_unseeded());
    let (mut tokio, mut of_retry, mut settings) = (tokio_retry2::delays(), retry::delays(), peer_backoff::settings());
    let (mut exponential, mut failsafe) = (exponential_backoff::delays(), failsafe::delays());
    Work::new("1 delay, capped")
        .by("floor", move || floor.delay())
        .by("retry", move || decide(&mut retry, &policy, &mut now))
        .by("schedule", move || schedule.next())
        .by("backon", move || seeded.next())
        .by("backon, unseeded", move || unseeded.next())
        .by("tokio-retry2", move || tokio.next())
        .by("retry crate", move || of_retry.next())
        .by("backoff", move || settings.next_backoff())
        .by("exponential-backoff", move || exponential.next())
        .by("failsafe", move || failsafe.next())
}
