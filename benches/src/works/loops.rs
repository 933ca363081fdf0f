//! The cost of the loop around an operation that fails so many times.

use super::seed::seed;
use crate::loops::{self, at_once};
use crate::peers::{backoff as peer_backoff, backon, exponential_backoff, retry, tokio_retry2};
use crate::sample::Work;
use holdoff::SharedPolicy;
use std::hint::black_box;
use tokio::runtime::Builder;

/// How many failures the works have.
const FAILURES: [u32; 3] = [0, 1, 3];

pub(super) fn works() -> Vec<Work> {
    FAILURES.into_iter().map(blocking).chain(FAILURES.into_iter().map(futures)).collect()
}

fn blocking(failures: u32) -> Work {
    let (policy, numbers) = (black_box(loops::policy()), black_box(loops::numbers()));
    let shared = black_box(SharedPolicy::new(policy));
    let (of_backon, of_retry) = (black_box(backon::settings()), black_box(retry::settings()));
    let (of_backoff, exponential) = (black_box(peer_backoff::settings()), black_box(exponential_backoff::settings(4)));
    let fails = move || black_box(failures);
    let work = Work::new(format!("loop, {failures} failures"))
        .by("floor", move || loops::floor::<true>(black_box(&numbers), fails(), seed()))
        .by("floor, 32 bits", move || loops::floor::<false>(black_box(&numbers), fails(), seed()))
        .by("bare", move || loops::bare(fails()))
        .by("retry", move || loops::by_retry(black_box(&policy), fails(), seed()))
        .by("call", move || loops::by_call(black_box(&policy), fails(), seed()))
        .by("holdoff", move || loops::by_holdoff(black_box(&policy), fails(), seed()))
        .by("holdoff, clock", move || loops::by_holdoff_and_clock(black_box(&policy), fails(), seed()))
        .by("holdoff, constants", move || loops::by_holdoff(const { &loops::policy() }, fails(), seed()))
        .by("backon", move || backon::call(black_box(&of_backon), fails(), seed()))
        .by("backon, constants", move || backon::call(&backon::settings(), fails(), seed()))
        .by("backon, unseeded", move || backon::call_unseeded(black_box(&of_backon), fails()))
        .by("retry crate", move || retry::call(black_box(&of_retry), fails()))
        .by("backoff", move || peer_backoff::call(black_box(&of_backoff), fails()))
        .by("exponential-backoff", move || exponential_backoff::call(black_box(&exponential), fails()));
    if failures > 0 {
        // They would soon spend the budget.
        return work;
    }
    work.by("holdoff, shared", move || loops::by_shared(black_box(&shared), fails(), seed()))
}

/// Polled by hand: none of them is ever pending, and no runtime is measured.
fn futures(failures: u32) -> Work {
    // The runtime that tokio's timer belongs to. The thread stays inside of it, as a task's does.
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    std::mem::forget(Box::leak(Box::new(runtime)).enter());
    let (policy, numbers) = (black_box(loops::policy()), black_box(loops::numbers()));
    let (of_backon, tokio) = (black_box(backon::settings()), black_box(tokio_retry2::settings()));
    let fails = move || black_box(failures);
    Work::new(format!("async loop, {failures} failures"))
        .by("floor", move || at_once(loops::floor_async(black_box(&numbers), fails(), seed())))
        .by("bare", move || at_once(loops::bare_async(fails())))
        .by("holdoff", move || at_once(loops::by_holdoff_async(black_box(&policy), fails(), seed())))
        .by("backon", move || at_once(backon::call_async(black_box(&of_backon), fails(), seed())))
        .by("tokio-retry2", move || at_once(tokio_retry2::call(black_box(&tokio), fails())))
}
