//! The cost of the next delay by the other shapes: eight delays from a new state on, each beside its floor.

use super::seed::seed;
use crate::delays::{INITIAL, MAX, eight_by_retry, eight_by_schedule, eight_of, numbers};
use crate::floor::Numbers;
use crate::peers::{backon, retry, tokio_retry2};
use crate::sample::Work;
use holdoff_core::{Backoff, Jitter, Policy, Rng, Span, WaitBackoff};
use rand_pcg::Lcg64Xsh32;
use rand_pcg::rand_core::Rng as _;
use std::hint::black_box;
use std::iter::from_fn;

pub(super) fn works() -> Vec<Work> {
    vec![none(), equal(), decorrelated(), wait_backoff()]
}

fn policy(backoff: Backoff, jitter: Jitter) -> Policy {
    black_box(Policy::options().backoff(backoff).jitter(jitter).forever().build().expect("checked numbers"))
}

fn exponential(jitter: Jitter) -> Policy {
    policy(Backoff::exponential(INITIAL, 2.0).max(MAX), jitter)
}

fn pcg(seed: u64) -> Lcg64Xsh32 {
    Lcg64Xsh32::new(seed, 0x0a02_bdbf_7bb3_c0a7)
}

/// Uniform below a bound, by one draw.
#[inline(always)]
fn below(rng: &mut Lcg64Xsh32, bound: u64) -> u64 {
    ((u128::from(rng.next_u32()) * u128::from(bound)) >> 32) as u64
}

/// A base delay that doubles.
#[inline(always)]
fn doubling(numbers: &Numbers) -> impl FnMut() -> u64 + use<> {
    let (mut base, max) = (numbers.initial, numbers.max);
    move || {
        let now = base;
        base = (now << 1).min(max);
        now
    }
}

/// Exponential, and nothing random.
fn none() -> Work {
    let (policy, numbers) = (exponential(Jitter::None), black_box(numbers()));
    let plain = backon::without_jitter().without_max_times();
    let (of_backon, of_retry, tokio) =
        (black_box(plain), black_box(retry::settings()), black_box(tokio_retry2::settings()));
    Work::new("8 delays, no jitter")
        .by("floor", move || {
            let mut base = doubling(black_box(&numbers));
            eight_of(from_fn(|| Some(base())));
        })
        .by("retry", move || eight_by_retry(black_box(&policy), seed()))
        .by("schedule", move || eight_by_schedule(black_box(&policy), seed()))
        .by("backon", move || eight_of(backon::delays(black_box(&of_backon), seed())))
        .by("tokio-retry2", move || eight_of(black_box(&tokio).clone()))
        .by("retry crate", move || eight_of(retry::without_jitter(black_box(&of_retry))))
}

/// Exponential, half of it random.
fn equal() -> Work {
    let (policy, numbers) = (exponential(Jitter::Equal), black_box(numbers()));
    Work::new("8 delays, equal jitter")
        .by("floor", move || {
            let (mut base, mut rng) = (doubling(black_box(&numbers)), pcg(seed()));
            eight_of(from_fn(|| {
                let base = base();
                let half = base >> 1;
                Some(half + below(&mut rng, base - half))
            }));
        })
        .by("retry", move || eight_by_retry(black_box(&policy), seed()))
        .by("schedule", move || eight_by_schedule(black_box(&policy), seed()))
}

/// Up to three times the delay before it (Brooker's decorrelated jitter).
fn decorrelated() -> Work {
    let backoff =
        Backoff::Decorrelated { initial: Span::from_duration(INITIAL), factor: 3.0, max: Span::from_duration(MAX) };
    let (policy, numbers) = (policy(backoff, Jitter::None), black_box(numbers()));
    Work::new("8 delays, decorrelated")
        .by("floor", move || {
            let numbers = black_box(&numbers);
            let (mut last, mut rng) = (numbers.initial, pcg(seed()));
            eight_of(from_fn(|| {
                last = (numbers.initial + below(&mut rng, 3 * last - numbers.initial)).min(numbers.max);
                Some(last)
            }));
        })
        .by("retry", move || eight_by_retry(black_box(&policy), seed()))
        .by("schedule", move || eight_by_schedule(black_box(&policy), seed()))
}

/// A value that is its own configuration, by up to a tenth longer.
fn wait_backoff() -> Work {
    let (initial, max) = (Span::from_duration(INITIAL), Span::from_duration(MAX));
    let (ours, numbers) =
        (black_box(WaitBackoff::new(initial, 2.0, 0.1, max, 100).expect("checked numbers")), black_box(numbers()));
    // A tenth of 2^32.
    let tenth = black_box(429_496_729_u64);
    Work::new("8 delays, wait backoff")
        .by("floor", move || {
            let (mut base, mut rng) = (doubling(black_box(&numbers)), pcg(seed()));
            eight_of(from_fn(|| {
                let base = base();
                let most = (u128::from(base) * u128::from(tenth)) >> 32;
                Some(base + below(&mut rng, most as u64))
            }));
        })
        .by("wait backoff", move || {
            let (mut ours, mut rng) = (*black_box(&ours), Rng::new(seed()));
            eight_of(from_fn(|| {
                let u = if ours.draws() { rng.uniform() } else { 0.0 };
                Some(ours.step(u))
            }));
        })
}
